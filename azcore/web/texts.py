"""Translations of the page's sentences: its own, and those of the games' packages.

Each table, `texts/LANGUAGE.json`, has English sentences with their translations; see
`static/language.js`. A game's package keeps its table next to the game's module, for its seats, its
summary and the ways in which its games end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from azcore.game.registry import installed_games
from azcore.plugins import package_folders

OWN = Path(__file__).with_name("static")


@cache
def texts(language: str) -> dict[str, str]:
    """English sentences and their translations, empty for English; the page's own come first."""
    tables = [folder / "texts" / f"{language}.json" for folder in _folders()]
    found: dict[str, str] = {}
    for table in tables:
        if table.is_file():
            found = json.loads(table.read_text(encoding="utf-8")) | found
    return found


def languages() -> list[str]:
    """Languages with a table for the page itself."""
    return sorted(table.stem for table in (OWN / "texts").glob("*.json"))


def _folders() -> Iterator[Path]:
    yield OWN
    packages = {point.module.rpartition(".")[0] for point in installed_games().values()}
    for package in sorted(packages - {""}):
        yield from package_folders(package)
