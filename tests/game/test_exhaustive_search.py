"""Forced wins by the rules alone: compiled lines against plain ones, and what a fault shows.

`tests/selfplay/test_matches_reference.py` holds them to a textbook search of every line.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.game import Game
from azcore.game.batch import make_batch
from azcore.game.exhaustive_search import decide, list_actions, make_line, nothing_decided
from azcore.game.positions import Paths, only_roots

STARTS = Path(__file__).parents[2] / "examples/starts"
POSITIONS = {
    "tic_tac_toe": None,
    "chess": "chess_before_mate.epd",
    "shogi": "shogi_before_mate.sfen",
}


def near_the_end(game: Game, file: str | None) -> list[Any]:
    """Positions in which something may be decided, of either player."""
    rng = np.random.default_rng(5)
    states = []
    lines = [None] * 6 if file is None else (STARTS / file).read_text().splitlines()[:6]
    for line in lines:
        state = game.initial_state() if line is None else game.state_from_text(line)
        while not game.is_terminal(state) and len(states) < 24:
            states.append(state)
            state = game.step(state, int(rng.choice(np.flatnonzero(game.legal_action_mask(state)))))
            if line is not None and len(states) % 3 == 0:
                break
    return states


@pytest.mark.parametrize("name", POSITIONS)
def test_compiled_lines_decide_what_plain_ones_do(name: str) -> None:
    game = azcore.make(name)
    states = near_the_end(game, POSITIONS[name])
    batch, found = make_batch(game, len(states)), nothing_decided(len(states))
    for row, state in enumerate(states):
        batch.set(row, state)
    results = set()
    for plies in (2, 1, 3):
        asked = np.arange(len(states)) != 1
        roots = np.where(asked, np.arange(len(states)), -1).astype(np.int32)
        batch.decide(only_roots(roots), plies, found)
        for row, state in enumerate(states):
            result, action = decide(game, state, plies) if asked[row] else (0, -1)
            assert found.result[row] == result
            if result:
                assert (found.action[row], found.player[row]) == (
                    action,
                    game.current_player(state),
                )
            results.add(result)
    assert {0, 1} <= results


def test_positions_at_the_end_of_a_path_are_decided_like_roots() -> None:
    game = azcore.make("tic_tac_toe")
    batch, found = make_batch(game, 2), nothing_decided(3)
    paths = np.array([[0, 3, 1, 4], [0, 3, 8, 4], [4, 0, 8, 0]], np.int32)
    roots, lengths = np.array([1, 0, -1], np.int32), np.array([4, 4, 3], np.int32)
    batch.decide(Paths(roots, paths, lengths), plies=1, out=found)
    assert found.result.tolist() == [1, 0, 0]  # X has 0 and 1
    assert (found.action[0], found.player[0]) == (2, 0)


@pytest.mark.parametrize(
    "listed", [[-1], [0, 1, 2, 3], [0, 1, 9], [-5]], ids=["none", "many", "high", "low"]
)
def test_a_list_of_actions_that_breaks_its_promise_decides_nothing(listed: list[int]) -> None:
    """Another kernel reports it, with the position; this one must not read what is not there."""

    def legal_actions(_state: Any, out: Any) -> int:
        out[: min(3, len(listed))] = listed[:3]
        return -1 if listed == [-1] else len(listed)

    rules = SimpleNamespace(current_player=lambda _state: 0, legal_actions=legal_actions)
    line = make_line(np.zeros(1, np.int64), plies=1, num_actions=3)
    at = np.zeros(3, np.int64)
    list_actions(rules, at, 0, 0, line)
    assert line.num_legal[0] == 0
