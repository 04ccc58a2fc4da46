"""What the network sees of a shogi position; whole games are compared in test_rules.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import azcore

from .test_rules import played

pytestmark = pytest.mark.rules


@pytest.fixture(name="game", scope="module")
def game_fixture() -> Any:
    return azcore.make("shogi")


def cells(plane: Any) -> list[tuple[int, int]]:
    """Row and column of each 1 of a plane."""
    return [(int(row), int(column)) for row, column in np.argwhere(plane == 1)]


def test_planes_of_the_start(game: Any) -> None:
    planes = game.observation(game.initial_state())
    assert planes.dtype == np.float32
    assert planes.shape == (362, 9, 9)
    own = {
        0: [(6, column) for column in range(9)],  # pawns
        1: [(8, 0), (8, 8)],  # lances
        2: [(8, 1), (8, 7)],  # knights
        3: [(8, 2), (8, 6)],  # silvers
        4: [(8, 3), (8, 5)],  # golds
        5: [(7, 1)],  # the bishop on 8h
        6: [(7, 7)],  # the rook on 2h
        7: [(8, 4)],  # the king
    }
    for plane, where in own.items():
        assert cells(planes[plane]) == where
        turned = sorted((8 - row, 8 - column) for row, column in where)
        assert cells(planes[14 + plane]) == turned
    assert planes[360].all()
    others = [*range(8, 14), *range(22, 360), 361]
    assert not planes[others].any()


def test_planes_after_some_moves_are_seen_by_the_player_to_move(game: Any) -> None:
    state = played(game, game.initial_state(), "7g7f 3c3d 8h2b+")
    planes = game.observation(state)  # White is to move and sees the board turned
    assert cells(planes[14 + 12]) == [(7, 1)]  # Black's horse, where White's bishop was
    assert cells(planes[5]) == []  # White's bishop
    assert cells(planes[45 + 5]) == [(7, 1)]  # one ply ago
    assert cells(planes[45 + 14 + 5]) == [(1, 7)]  # Black's bishop, unpromoted
    assert (planes[38 + 5] == 1).all()  # in Black's hand now
    assert not planes[31:38].any()
    assert not planes[45 + 31 : 45 + 45].any()  # but not one ply ago
    assert not planes[4 * 45 : 360].any()  # before the start
    assert cells(planes[3 * 45 + 14]) == [(2, column) for column in range(9)]
    assert not planes[360].any()  # White to move
    assert (planes[361] == 1).all()  # one full move was played
    state = played(game, state, "3a2b")
    planes = game.observation(state)
    assert cells(planes[14 + 3]) == [(0, 2), (1, 7)]  # White's silvers as Black sees them
    assert (planes[31 + 5] == 1).all()
    assert (planes[38 + 5] == 1).all()
    assert cells(planes[45 + 12]) == [(1, 7)]  # one ply ago the horse, now Black's own
    assert (planes[361] == 2).all()


def test_prisoners_are_counted(game: Any) -> None:
    sfen = "k8/9/9/9/9/9/9/9/4K4 b 2RB3P4n14p 1"
    for text, first, second in ((sfen, 31, 38), (sfen.replace(" b ", " w "), 38, 31)):
        planes = game.observation(game.state_from_text(text))
        held = planes[:, 0, 0]
        assert held[first : first + 7].tolist() == [3, 0, 0, 0, 0, 1, 2]
        assert held[second : second + 7].tolist() == [14, 0, 4, 0, 0, 0, 0]
        assert (planes[first] == 3).all()


def test_repetitions_are_marked_at_their_time(game: Any) -> None:
    cycle = "2h3h 8b7b 3h2h 7b8b "
    state = played(game, game.initial_state(), cycle * 2)
    planes = game.observation(state)
    # Now for the third time, the plies before for the second, four plies ago for the second.
    marks = [[int(planes[45 * step + 28 + i].all()) for i in range(3)] for step in range(8)]
    assert marks == [[1, 1, 0], *[[1, 0, 0]] * 4, *[[0, 0, 0]] * 3]
    state = played(game, state, cycle)  # the fourth time: over, and still to be seen
    planes = game.observation(state)
    assert [int(planes[28 + i].all()) for i in range(3)] == [1, 1, 1]
    marked = [28 + i for i in range(3)] + [45 + 28 + i for i in range(3)]
    values = planes[marked].reshape(6, -1)
    assert (values == values[:, :1]).all()


def test_the_move_count_stops_at_255(game: Any) -> None:
    for number, count in ((1, 0), (2, 0), (3, 1), (510, 254), (511, 255), (513, 255)):
        state = game.state_from_text(f"k8/9/9/9/9/9/9/9/4K4 b - {number}")
        assert (game.observation(state)[361] == count).all()


def test_the_largest_values_are_stated(game: Any) -> None:
    prisoners = [18, 4, 4, 4, 4, 2, 2]
    step = [1] * 31 + prisoners + prisoners
    assert list(game.observation_maximum) == step * 8 + [1, 255]


def test_left_and_right_exchanged_are_another_game_that_is_played_alike(game: Any) -> None:
    """The symmetry by squares: file 1 is file 9, for moves of both seats and for drops."""
    (symmetry,) = game.symmetries
    other = str.maketrans("123456789", "987654321")
    state, image = game.initial_state(), game.state_from_text(symmetry.start)
    assert game.observation(image)[5, 7, 7] == 1  # the bishop stands on 2h
    for move in ["7g7f", "3c3d", "8h2b+", "3a2b", "B*6e"]:
        action = game.text_to_action(state, move)
        mirrored = game.text_to_action(image, move.translate(other))
        assert symmetry.actions[mirrored] == action
        state, image = game.step(state, action), game.step(image, mirrored)
    seen, want = game.observation(image), game.observation(state)[:, :, ::-1]
    np.testing.assert_array_equal(seen, want)
