"""Games are found by name among the installed packages."""

from __future__ import annotations

import pytest

import azcore
from azcore.errors import GameError


def test_finds_installed_games() -> None:
    assert {"go", "tic_tac_toe", "tic_tac_toe_plain"} <= set(azcore.installed_games())
    assert azcore.make("go", board_size=5).settings["board_size"] == 5


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("goo", {}, r"no game named 'goo' is installed \(did you mean go\?\)"),
        ("go", {"size": 9}, "go has no setting 'size'; it has board_size"),
        ("go", {"board_size": 1}, "got 1"),
        ("go", {"board_size": 20}, "got 20"),
        ("go", {"board_size": "9"}, "got '9'"),
    ],
)
def test_refuses(name: str, settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(GameError, match=sentence):
        azcore.make(name, **settings)  # type: ignore[arg-type]
