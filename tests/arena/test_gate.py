"""The gate: above the threshold a candidate becomes the best player, draws being half points."""

from __future__ import annotations

from typing import Any

import pytest

from azcore.arena.elo import MatchScore
from azcore.arena.gate import GateSettings, passes
from azcore.errors import SettingError
from azcore.settings import build

SETTINGS: dict[str, Any] = {
    "enabled": True,
    "every_generations": 1,
    "games": 400,
    "threshold": 0.55,
    "num_simulations": None,
    "opening_plies": 2,
}


@pytest.mark.parametrize(
    ("wins", "draws", "losses", "promoted"),
    [
        (221, 0, 179, True),  # 55.25 %
        (220, 0, 180, False),  # 55 % is not above it
        (21, 399, 0, False),  # 52.5 %, unbeaten
        (60, 340, 0, True),  # 57.5 %
        (0, 400, 0, False),
    ],
)
def test_who_passes(wins: int, draws: int, losses: int, promoted: bool) -> None:
    result = MatchScore(player="new", opponent="best", wins=wins, draws=draws, losses=losses)
    assert passes(result.score, 0.55) is promoted


@pytest.mark.parametrize(
    ("key", "value"),
    [("games", 3), ("every_generations", 0), ("threshold", 1.0), ("num_simulations", 0)],
)
def test_settings_out_of_range_are_refused(key: str, value: object) -> None:
    build(GateSettings, SETTINGS, "gate")
    with pytest.raises(SettingError, match=f"gate.{key} must be"):
        build(GateSettings, {**SETTINGS, key: value}, "gate")
