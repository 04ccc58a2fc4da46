"""What the network sees of a chess position; whole games are compared in test_rules.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import azcore


def played(game: Any, state: Any, moves: str) -> Any:
    for move in moves.split():
        state = game.step(state, game.text_to_action(state, move))
    return state


def drawn(planes: Any) -> list[str]:
    """Twelve planes of pieces as rows of letters: own pieces capital, the opponent's small."""
    rows = [["."] * 8 for _ in range(8)]
    for letter, plane in zip("PNBRQKpnbrqk", planes, strict=True):
        for row, column in np.argwhere(plane):
            assert rows[row][column] == "."
            rows[row][column] = letter
    return ["".join(row) for row in rows]


START = [
    "rnbqkbnr",
    "pppppppp",
    "........",
    "........",
    "........",
    "........",
    "PPPPPPPP",
    "RNBQKBNR",
]


@pytest.mark.rules
def test_planes_of_the_start() -> None:
    game = azcore.make("chess")
    planes = game.observation(game.initial_state())
    assert planes.dtype == np.float32
    assert drawn(planes[:12]) == START
    assert not planes[12:112].any()  # never seen before, and nothing before it
    assert [plane.min() for plane in planes[112:]] == [1, 0, 1, 1, 1, 1, 0]
    assert [plane.max() for plane in planes[112:]] == [1, 0, 1, 1, 1, 1, 0]


@pytest.mark.rules
def test_black_sees_the_board_mirrored_and_its_history_too() -> None:
    game = azcore.make("chess")
    state = played(game, game.initial_state(), "e2e4 e7e5 g1f3")
    planes = game.observation(state)
    now = [
        "RNBQKB.R",  # White's, the far row for Black; the king stays on the e file
        "PPPP.PPP",
        ".....N..",
        "....P...",
        "....p...",
        "........",
        "pppp.ppp",
        "rnbqkbnr",
    ]
    now = [row.swapcase() for row in now]
    assert drawn(planes[:12]) == now
    before = [*now[:2], "........", *now[3:]]
    before[0] = "rnbqkbnr"
    assert drawn(planes[14:26]) == before  # Black's own pieces first, though White was to move
    assert drawn(planes[42:54]) == START  # White's first move undone: seen by Black it is the same
    assert not planes[56:112].any()
    assert not planes[112].any()  # Black is to move
    assert (planes[113] == 1).all()  # one full move
    assert (planes[118] == 1).all()  # one ply since a pawn's


@pytest.mark.rules
def test_history_is_eight_positions() -> None:
    game = azcore.make("chess")
    state = played(game, game.initial_state(), "a2a3 a7a6 b2b3 b7b6 c2c3 c7c6 d2d3 d7d6")
    planes = game.observation(state)
    # Own pawns that have not moved, now and one to seven plies ago.
    unmoved = [int(planes[14 * age, 6].sum()) for age in range(8)]
    assert unmoved == [4, 4, 5, 5, 6, 6, 7, 7]
    assert planes[14 * 7 + 6].sum() == 8


@pytest.mark.rules
def test_repetition_planes() -> None:
    game = azcore.make("chess")
    cycle = "g1f3 g8f6 f3g1 f6g8"
    seen = []
    state = game.initial_state()
    for move in [*cycle.split(), *cycle.split()]:
        state = played(game, state, move)
        planes = game.observation(state)
        seen.append((planes[12].all(), planes[13].all()))
        assert planes[12].any() == planes[12].all()
        assert planes[13].any() == planes[13].all()
    once, twice = (True, False), (True, True)
    # The start comes back after four plies, and once more after eight, where the game ends.
    assert seen == [*[(False, False)] * 3, *[once] * 4, twice]
    planes = game.observation(state)
    ages = [(planes[14 * age + 12].all(), planes[14 * age + 13].all()) for age in range(8)]
    assert ages == [twice, *[once] * 4, *[(False, False)] * 3]


@pytest.mark.rules
def test_castling_planes_are_own_first() -> None:
    game = azcore.make("chess")
    for turn, want in (("w", [1, 0, 0, 1]), ("b", [0, 1, 1, 0])):
        state = game.state_from_text(f"r3k2r/8/8/8/8/8/8/R3K2R {turn} Kq - 0 1")
        planes = game.observation(state)
        assert [plane.all() for plane in planes[114:118]] == want
        assert [plane.any() for plane in planes[114:118]] == want


@pytest.mark.rules
def test_counters() -> None:
    game = azcore.make("chess", max_plies=12_000)
    for number, moves in ((1, 0), (200, 199), (256, 255), (257, 255), (6000, 255)):
        state = game.state_from_text(f"4k3/8/8/8/8/8/8/4K2R b - - 73 {number}")
        planes = game.observation(state)
        assert (planes[113] == moves).all()
        assert (planes[118] == 73).all()
    assert game.observation_maximum.tolist() == [1] * 113 + [255] + [1] * 4 + [100]


@pytest.mark.rules
def test_a_position_read_from_text_has_no_history() -> None:
    game = azcore.make("chess")
    state = game.state_from_text("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 5 20")
    assert not game.observation(state)[12:112].any()
    planes = game.observation(played(game, state, "e8e7"))
    assert drawn(planes[14:26])[0] == "r...k..r"
    assert not planes[28:112].any()
