"""The contract's own code: what constructors, `step` and batches refuse, and the shared cache."""

import os
import subprocess
import sys

import numpy as np
import pytest

import azcore
from azcore.errors import GameError, IllegalActionError
from azcore.game import Facts, Game, Symmetry
from azcore.game.batch import make_batch
from azcore.testing.view import content

PLAIN = type(azcore.make("tic_tac_toe_plain"))

GOOD = {
    "name": "bare",
    "version": 1,
    "settings": {},
    "num_actions": 9,
    "observation_shape": (2, 3, 3),
    "max_game_length": 9,
    "dirichlet_alpha": 1.0,
}


class Bare(PLAIN):
    """Tic-tac-toe with facts given from outside."""

    def __init__(self, **facts):
        Game.__init__(self, Facts(**facts))


def symmetry(cells, actions):
    return Symmetry(cells=np.array(cells, np.int32), actions=np.array(actions, np.int32))


def test_actions_without_a_cell_may_follow_the_planes():
    assert Bare(**{**GOOD, "num_actions": 10, "action_planes": 1}).action_planes == 1
    assert Bare(**{**GOOD, "num_actions": 20, "action_planes": 2}).action_planes == 2


@pytest.mark.parametrize("game", ["go", "chess", "shogi", "tic_tac_toe"])
def test_ages_of_planes_agree_with_their_names(game):
    game = azcore.make(game)
    for name, age in zip(game.plane_names, game.plane_ages, strict=True):
        last = name.rpartition(", ")[2]
        assert age == (int(last.split()[0]) if last.endswith(" ago") else 0), name


def test_good_facts_are_kept():
    game = Bare(**GOOD, symmetries=(symmetry(range(8, -1, -1), range(8, -1, -1)),))
    assert game.identity == {"name": "bare", "version": 1, "settings": {}}
    assert game.observation_shape == (2, 3, 3)


@pytest.mark.parametrize(
    ("fact", "value", "words"),
    [
        ("version", 0, "version must be a number above 0, got 0"),
        ("num_actions", 0, "num_actions must be a number above 0, got 0"),
        ("num_actions", 65_537, "num_actions must be at most 65,536, got 65,537"),
        ("max_game_length", -1, "max_game_length must be a number above 0, got -1"),
        ("dirichlet_alpha", 0.0, "dirichlet_alpha must be a number above 0, got 0.0"),
        ("dirichlet_alpha", float("nan"), "dirichlet_alpha must be a number above 0, got nan"),
        ("observation_shape", (3, 3), "observation_shape must be three positive sizes"),
        ("observation_shape", (2, 0, 3), "got (2, 0, 3)"),
        ("observation_maximum", [1], "must be 2 whole numbers from 1 to 255, got [1]"),
        ("observation_maximum", [1, 256], "must be 2 whole numbers from 1 to 255, got [1, 256]"),
        ("observation_maximum", [1, 0.5], "must be 2 whole numbers from 1 to 255, got [1, 0.5]"),
        ("plane_ages", [0], "must be 2 whole numbers from 0 to 255, one of them 0, or None"),
        ("plane_ages", [1, 1], "one of them 0, or None, got [1, 1]"),
        ("plane_ages", [0, -1], "one of them 0, or None, got [0, -1]"),
        (
            "action_planes",
            2,
            "action_planes must be 1 to num_actions / (H * W) = 1, or None, got 2",
        ),
        (
            "action_planes",
            0,
            "action_planes must be 1 to num_actions / (H * W) = 1, or None, got 0",
        ),
        ("score_maximum", 0.0, "score_maximum must be above 0, or None, got 0.0"),
        ("score_maximum", float("inf"), "score_maximum must be above 0, or None, got inf"),
        ("score_maximum", float("nan"), "score_maximum must be above 0, or None, got nan"),
        (
            "symmetries",
            (symmetry(range(8), range(9)),),
            "cells of symmetry 0 must be a permutation of 9 cells",
        ),
        (
            "symmetries",
            (symmetry(range(9), [0] * 9),),
            "actions of symmetry 0 must be a permutation of 9",
        ),
    ],
)
def test_a_bad_fact_is_refused_by_name(fact, value, words):
    with pytest.raises(GameError) as caught:
        Bare(**{**GOOD, fact: value})
    assert str(caught.value).startswith("bare: ")
    assert words in str(caught.value)


def test_compiled_step_refuses_illegal_actions():
    game = azcore.make("tic_tac_toe")
    state = game.step(game.initial_state(), 4)
    with pytest.raises(IllegalActionError, match=r"b2 \(action 4\) is not legal here"):
        game.step(state, 4)
    for beyond in (-1, 9):
        with pytest.raises(IllegalActionError, match=f"action must be 0 to 8, got {beyond}"):
            game.step(state, beyond)


def test_a_compiled_batch_refuses_foreign_states():
    batch = make_batch(azcore.make("tic_tac_toe"), 2)
    before = content(batch.get(1))
    plain = azcore.make("tic_tac_toe_plain").initial_state()
    go = azcore.make("go", board_size=2).initial_state()
    for foreign in (plain, go, None):
        with pytest.raises(GameError, match="must be a record of this game"):
            batch.set(1, foreign)
    assert content(batch.get(1)) == before


PLAY = """
import sys
import numpy as np
import azcore
from azcore.testing import random_game, record_playthrough

for size in sys.argv[1:]:
    game = azcore.make("go", board_size=int(size))
    print(record_playthrough(game, random_game(game, np.random.default_rng(1))))
"""


@pytest.mark.parametrize("row", [-1, 3, 50])
def test_a_batch_refuses_rows_that_it_has_not(row):
    """Compiled code would read and write beside the states."""
    batch = make_batch(azcore.make("tic_tac_toe"), 3)
    for ask in (batch.current_player, batch.is_terminal, batch.outcome):
        with pytest.raises(IndexError, match=f"a batch of 3 states has no row {row}"):
            ask(row)
    with pytest.raises(IndexError):
        batch.step(row, 4)
    batch.step(np.int32(1), np.int64(4))
    assert [batch.current_player(each) for each in range(3)] == [0, 1, 0]


def test_sizes_compiled_by_two_processes_are_loaded_together_by_a_third(tmp_path):
    # Without the digest in the names of record types (azcore/game/compilation.py), the third
    # process plays 3×3 with the rules of 2×2.
    def playthroughs(*sizes, **variables):
        command = [sys.executable, "-c", PLAY, *sizes]
        env = {**os.environ, **variables}
        return subprocess.run(
            command, env=env, check=True, text=True, stdout=subprocess.PIPE, timeout=60
        ).stdout

    def compiled(*sizes):
        return playthroughs(*sizes, NUMBA_CACHE_DIR=str(tmp_path), NUMBA_DISABLE_JIT="0")

    def stored():
        return sorted(tmp_path.rglob("*.nbc"))

    alone = compiled("2"), compiled("3")
    files = stored()
    together = compiled("2", "3")
    assert stored() == files != []  # it has loaded all, and compiled nothing
    assert together == "".join(alone)
    assert together == playthroughs("2", "3", NUMBA_DISABLE_JIT="1")
