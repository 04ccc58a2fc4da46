"""Hex: the contract, a winner found another way, and facts of the rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import azcore
from azcore import AzcoreError, Game
from azcore.testing import check_game, check_position, perft


@pytest.fixture(scope="module")
def game() -> Game:
    return azcore.make("hex", size=4)


@pytest.fixture(scope="module")
def swapping() -> Game:
    return azcore.make("hex", size=3, swap=True)


def test_keeps_the_contract(game: Game, swapping: Game) -> None:
    check_game(game, num_positions=100)
    check_game(swapping, num_positions=100)


def test_perft(game: Game) -> None:
    assert [perft(game, depth) for depth in (1, 2, 3)] == [16, 240, 3360]


def test_every_full_board_has_one_winner_found_by_walking(game: Game) -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        state = game.initial_state()
        while not game.is_terminal(state):
            assert not any(connected(state.stones.tolist(), seat) for seat in (0, 1))
            state = game.step(state, int(rng.choice(game.legal_action_mask(state).nonzero()[0])))
        stones = state.stones.tolist()
        assert game.outcome(state) == connected(stones, 0) - connected(stones, 1) != 0


def connected(stones: list[list[int]], seat: int) -> bool:
    """Whether a seat has a chain from side to side, by walking from the first one."""
    size = len(stones)
    own = {(r, c) for r in range(size) for c in range(size) if stones[r][c] == 1 + seat}
    walk = [cell for cell in own if cell[seat] == 0]
    seen = set(walk)
    for row, column in walk:
        for r, c in ((row - 1, column), (row - 1, column + 1), (row, column - 1)):
            # The three other neighbours are opposite to these.
            for cell in ((r, c), (2 * row - r, 2 * column - c)):
                if cell in own and cell not in seen:
                    seen.add(cell)
                    walk.append(cell)
    return any(cell[seat] == size - 1 for cell in seen)


@pytest.mark.parametrize(
    ("moves", "outcome"),
    [
        ("a1 b1 a2 b2 a3 b3 a4", 1),
        ("b4 a1 b3 c3 c2 d2 c1", 1),  # down along a slanted chain
        ("a1 a2 b1 b2 c1 c2 d1 d2", -1),
        ("a1 a2 b2 b3 c3 c4 d4", 0),  # such a diagonal does not connect
    ],
)
def test_chains(game: Game, moves: str, outcome: int) -> None:
    if outcome:
        state = check_position(game, moves=moves.split(), terminal=True, outcome=outcome, legal=[])
        assert game.termination(state) == "sides connected"
    else:
        check_position(game, moves=moves.split(), terminal=False)


def test_a_swap_moves_the_stone_to_the_mirrored_cell(game: Game, swapping: Game) -> None:
    state = check_position(swapping, moves=["b1", "swap"], player=0, illegal=["swap"])
    assert swapping.state_to_text(state) == ".../O../... x"
    assert swapping.state_from_text(".../O../... x").stones.tolist() == state.stones.tolist()
    with pytest.raises(AzcoreError, match="alternate"):
        swapping.state_from_text(".../.../... o")
    check_position(swapping, moves=["b1", "a1"], illegal=["swap"])
    check_position(game, moves=["b1"], illegal=["swap"])


def test_the_player_to_move_always_connects_top_and_bottom(game: Game) -> None:
    state = check_position(game, moves=["c1", "d2"], player=0)
    assert cells(game.observation(state)) == ([(0, 2)], [(1, 3)])
    state = check_position(game, moves=["c1", "d2", "a4"], player=1)
    assert cells(game.observation(state)) == ([(3, 1)], [(0, 3), (2, 0)])
    assert game.text_to_action(state, "b1") == 4


def cells(planes: Any) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    own, others = (list(zip(*map(list, plane.nonzero()), strict=True)) for plane in planes[:2])
    return own, others


def test_the_board_is_of_hexagons_and_marks_the_chain_that_wins(game: Game) -> None:
    state = check_position(game, moves=["b4", "a1", "b3", "c3", "c2", "d2", "c1"])
    board = game.board(state)
    assert board is not None
    assert (board.layout.kind, set(board.marks)) == ("hexagons", {"b4", "b3", "c2", "c1"})
    assert board.last == ("c1",)
    assert [side for side, seat in board.layout.borders.items() if seat == 1] == ["left", "right"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("X.../..../..../.... x", "alternate"),
        ("..../..../..../O... x", "alternate"),
        ("X..O/X..O/X..O/X..O x", "connected its sides already"),
        ("..../..../.... x", "4 rows of 4 cells"),
    ],
)
def test_refuses_impossible_positions(game: Game, text: str, sentence: str) -> None:
    with pytest.raises(AzcoreError, match=sentence):
        game.state_from_text(text)


@pytest.mark.parametrize("text", ["a0", "e1", "a5", "4a", ""])
def test_refuses_what_is_no_cell(game: Game, text: str) -> None:
    with pytest.raises(AzcoreError, match="a cell, a1 to d4, or swap"):
        game.text_to_action(game.initial_state(), text)


@pytest.mark.parametrize("settings", [{"size": 2}, {"size": True}, {"swap": 1}])
def test_refuses_other_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(AzcoreError, match="must be"):
        azcore.make("hex", **settings)
