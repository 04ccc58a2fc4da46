"""Forced wins by the rules alone: compiled lines against plain ones, and what a fault shows.

`tests/selfplay/test_matches_reference.py` holds them to a textbook search of every line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.game import Game
from azcore.game.batch import make_batch
from azcore.game.decided import decide, nothing_decided

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
        lengths = np.zeros(len(states), np.int32)
        batch.decide(roots, np.zeros((len(states), 0), np.int32), lengths, plies, found)
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
