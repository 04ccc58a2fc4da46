"""The pages of documentation, their blocks of code, and a way to run these in seconds."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import azcore

ROOT = Path(__file__).parents[1]
PAGES = [
    *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("*.md") if path.stem != "CHANGELOG"),
    *sorted(
        str(path.relative_to(ROOT))
        for pattern in ("docs/*.md", "games/*/README.md", "examples/plugins/*/README.md")
        for path in ROOT.glob(pattern)
    ),
]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """The blocks of a page in a language, but those that show a file."""
    text = (ROOT / page).read_text()
    return [body for kind, rest, body in BLOCK.findall(text) if kind == language and not rest]


def commands(page: str) -> list[str]:
    """The lines of a page's blocks for a shell, without comments and what joins lines."""
    text = "\n".join(blocks(page, "sh")).replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training takes seconds where a page says minutes; matches and searches are short."""
    train, resume, arena, search = azcore.train, azcore.Run.resume, azcore.arena, azcore.search
    small = (
        "selfplay.num_games=16",
        "learner.steps_per_generation=5",
        "learner.batch_size=32",
        "network.blocks=1",
        "network.channels=8",
        "arena.games=2",
        "arena.num_simulations=4",
    )

    def briefly(game: Any, *changes: str, minutes: float, **settings: Any) -> Any:
        return train(game, *changes, *small, minutes=minutes / 30, quiet=True, **settings)

    def on(run: Any, *, minutes: float) -> Any:
        return resume(run, minutes=minutes / 30, quiet=True)

    def few(players: Any, **settings: Any) -> Any:
        return arena(players, **{**settings, "games": 2, "simulations": 4, "quiet": True})

    def hasty(*given: Any, simulations: int = 100, **settings: Any) -> Any:
        return search(*given, simulations=max(8, simulations // 20), **settings)

    monkeypatch.setattr(azcore, "train", briefly)
    monkeypatch.setattr(azcore.Run, "resume", on)
    monkeypatch.setattr(azcore, "arena", few)
    monkeypatch.setattr(azcore, "search", hasty)


def run_blocks(page: str, skip: Callable[[str], Any] = lambda _: False) -> dict[str, Any]:
    """Run a page's blocks of Python one after the other, as a reader does; their names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        if not skip(block):
            exec(compile(block, f"{page}: {block[:60]!r}", "exec"), names)
    return names
