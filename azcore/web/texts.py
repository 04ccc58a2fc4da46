"""Translations of the page's sentences: its own, and those of the games' packages.

Each table, `texts/LANGUAGE.json`, has English sentences with their translations; see
`static/language.js`. A game's package keeps its table next to the game's module, for its seats, its
summary and the ways in which its games end.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from azcore.game.registry import installed_games
from azcore.plugins import package_folders

OWN = Path(__file__).with_name("static")


@cache
def texts(language: str) -> dict[str, str]:
    """English sentences and their translations, empty for English; the page's own come first."""
    found: dict[str, str] = {}
    for folder in _folders():
        found = _table(folder / "texts" / f"{language}.json") | found
    return found


def _table(path: Path) -> dict[str, str]:
    """The sentences of a table; none if it is missing or faulty, which affects only its game."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    rows = table.items() if isinstance(table, dict) else ()
    return {
        english: text
        for english, text in rows
        if isinstance(text, str) and re.search(r"\w", english)  # a gap alone matches any text
    }


def languages() -> list[str]:
    """Languages with a table for the page itself."""
    return sorted(table.stem for table in (OWN / "texts").glob("*.json"))


def _folders() -> Iterator[Path]:
    yield OWN
    packages = {point.module.rpartition(".")[0] for point in installed_games().values()}
    for package in sorted(packages - {""}):
        yield from package_folders(package)
