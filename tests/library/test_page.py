"""Every block of code in docs/library.md runs, and its table lists exactly the public names."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import azcore
from pages_kit import run_blocks, shorten

PAGE = (Path(__file__).parents[2] / "docs" / "library.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PYTHON = [body for language, body in BLOCKS if language == "python"]
OTHERS = {"import pyspiel": "pyspiel", "import pgx": "pgx", "import chess.engine": "chess"}


def of_others(block: str) -> str | None:
    """The library that a block shows beside azcore."""
    return next((name for words, name in OTHERS.items() if words in block), None)


def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a reader runs them, one after the other; but training takes seconds, not minutes."""
    monkeypatch.chdir(tmp_path)
    search, arena = azcore.search, azcore.arena
    shorten(monkeypatch)
    monkeypatch.setattr(azcore, "search", search)  # the page counts simulations
    monkeypatch.setattr(azcore, "arena", arena)
    names = run_blocks("docs/library.md", skip=of_others)
    assert names["found"].simulations == 253
    assert names["run"].metrics.height >= 1
    assert (tmp_path / "position.svg").exists()
    assert (tmp_path / "runs" / "first" / "report.html").exists()


@pytest.mark.parametrize("name", OTHERS.values())
def test_the_blocks_of_others_run_where_they_are_installed(name: str) -> None:
    (block,) = [block for block in PYTHON if of_others(block) == name]
    compile(block, name, "exec")
    assert len(block.splitlines()) <= 28
    pytest.importorskip(name, reason="azcore[peers] is not installed")
    if name == "chess" and shutil.which("stockfish") is None:
        pytest.skip("no stockfish is installed")
    exec(block, {})


def test_julia_is_four_lines_and_a_name() -> None:
    (block,) = [body for language, body in BLOCKS if language == "julia"]
    assert re.findall(r"Scripts\.(\w+)", block) == ["train", "explore", "play"]


def test_every_block_is_python_or_julia() -> None:
    assert {language for language, _ in BLOCKS} == {"python", "julia"}


def test_the_promise_lists_every_public_name() -> None:
    table = PAGE[PAGE.index("| Name | Is |") : PAGE.index("Values are in")]
    listed = set(re.findall(r"`(\w+)", table))
    assert set(azcore.__all__) - listed == {"Player"} - listed
