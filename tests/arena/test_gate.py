"""The gate: above the threshold a candidate becomes the best player, draws being half points."""

from __future__ import annotations

from typing import Any

import pytest

from azcore.arena.elo import MatchScore
from azcore.arena.gate import GateSettings, decide, passes
from azcore.arena.match import MatchGame, MatchResult
from azcore.arena.sprt import SprtSettings, Verdict
from azcore.errors import SettingError
from azcore.settings import build

SETTINGS: dict[str, Any] = {
    "enabled": True,
    "every_generations": 1,
    "games": 400,
    "sprt": False,
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


def match_of(pairs: list[tuple[int, int]]) -> MatchResult:
    """Outcomes of pairs as seat 0 sees them; every game differs from the others."""
    games = [
        MatchGame(first_seat=seat, opening_plies=0, actions=[i, seat], outcome=outcome)
        for i, pair in enumerate(pairs)
        for seat, outcome in enumerate(pair)
    ]
    return MatchResult(first="new", second="best", games=games)


def test_the_test_decides_and_an_open_one_leaves_it_to_the_threshold() -> None:
    sprt = SprtSettings(elo0=0.0, elo1=70.0, alpha=0.05, beta=0.05, look_games=2)
    won, even, lost = (1, -1), (1, 1), (-1, 1)
    better = match_of([won] * 40)
    assert decide(better, 0.55, sprt) == (True, Verdict.BETTER)
    # The test is asked first: 75 % of the points would not be enough.
    assert decide(match_of([won, even] * 20), 0.9, sprt) == (True, Verdict.BETTER)
    assert decide(match_of([lost] * 40), 0.0, sprt) == (False, Verdict.NOT_BETTER)
    short = match_of([won, won, even])
    assert decide(short, 0.55, sprt) == (True, Verdict.OPEN)
    assert decide(short, 0.9, sprt) == (False, Verdict.OPEN)
    assert decide(short, 0.55, None) == (True, None)


def test_games_that_repeat_each_other_decide_nothing() -> None:
    sprt = SprtSettings(elo0=0.0, elo1=70.0, alpha=0.05, beta=0.05, look_games=2)
    one = match_of([(1, -1)])
    again = MatchResult(first="new", second="best", games=one.games * 40)
    assert again.distinct.pairs == 1
    assert decide(again, 0.55, sprt)[1] is Verdict.OPEN
