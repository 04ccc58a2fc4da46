"""Connect four: the contract, known counts, positions, and a comparison with a slow oracle."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import solver
from oracle import ConnectFourOracle

import azcore
from azcore import AzcoreError, Game
from azcore.testing import check_game, check_position, perft


@pytest.fixture(scope="module")
def game() -> Game:
    return azcore.make("connect_four")


def test_keeps_the_contract_and_agrees_with_its_oracle(game: Game) -> None:
    check_game(game, num_positions=500, oracle=ConnectFourOracle())


def test_perft(game: Game) -> None:
    # Counted by many programs: the first seven are powers of 7 minus the full columns and wins.
    counts = [7, 49, 343, 2401, 16807, 117649, 823536, 5673234, 39394572]
    assert [perft(game, depth) for depth in range(1, 10)] == counts


@pytest.mark.parametrize(
    ("moves", "outcome"),
    [
        ("1 1 2 2 3 3 4", 1),
        ("1 2 1 2 1 2 1", 1),
        ("1 2 2 3 3 4 3 4 4 7 4", 1),
        ("7 6 6 5 5 4 5 4 4 1 4", 1),
        ("7 1 1 2 2 3 3 7 4 4 7 1 7 1", 0),
        ("1 2 1 2 1 2 3 2", -1),
    ],
    ids=["row", "column", "rising", "falling", "nobody yet", "second player"],
)
def test_wins(game: Game, moves: str, outcome: int) -> None:
    if outcome:
        check_position(game, moves=moves.split(), terminal=True, outcome=outcome, legal=[])
    else:
        check_position(game, moves=moves.split(), terminal=False)


def test_lines_do_not_run_from_one_column_into_the_next(game: Game) -> None:
    text = "......./......X/X...O.X/X...O.O/X...O.O/O.X.X.O x"
    check_position(game, text=text, terminal=False, legal=list("1234567"))


def test_a_full_board_is_a_draw(game: Game) -> None:
    text = "OXOXOXO/XOXOXOX/XOXOXOX/OXOXOXO/OXOXOXO/XOXOXOX x"
    state = check_position(game, text=text, terminal=True, outcome=0, legal=[])
    assert game.termination(state) == "full board"


def test_a_full_column_is_closed(game: Game) -> None:
    state = check_position(game, moves=["1"] * 6, illegal=["1"], legal=list("234567"))
    assert game.state_to_text(state) == "O....../X....../O....../X....../O....../X...... x"
    assert game.render(state).splitlines()[-2:] == ["X . . . . . .", "1 2 3 4 5 6 7"]


def test_the_player_to_move_sees_own_stones_first(game: Game) -> None:
    state = check_position(game, moves=["4", "4", "1"], player=1)
    planes = game.observation(state)
    assert [tuple(map(int, cell)) for cell in zip(*planes[0].nonzero(), strict=True)] == [(4, 3)]
    assert [tuple(map(int, cell)) for cell in zip(*planes[1].nonzero(), strict=True)] == [
        (5, 0),
        (5, 3),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("......./......./......./......./......./...X... x", "alternate"),
        ("......./......./......./......./...X.../....... o", "in the air"),
        ("......./......./......./......./OOO..../XXXX... x", "alternate"),
        ("......./......./......./O....../OOO..../XXXX... x", "four in a line already"),
        ("......./......./......./......./....... x", "six rows"),
    ],
)
def test_refuses_impossible_positions(game: Game, text: str, sentence: str) -> None:
    with pytest.raises(AzcoreError, match=sentence):
        game.state_from_text(text)


def test_a_column_is_clicked_where_the_stone_lands(game: Game) -> None:
    state = check_position(game, moves=["4", "4", "3"])
    board = game.board(state)
    assert board is not None
    assert (board.actions[2], board.actions[3]) == (("3b",), ("4c",))
    assert board.marks == ()


def test_the_winning_four_are_marked(game: Game) -> None:
    state = check_position(game, moves=["1", "2", "2", "3", "3", "4", "3", "4", "4", "7", "4"])
    board = game.board(state)
    assert board is not None
    assert board.marks == ("1a", "2b", "3c", "4d")
    assert board.to_move is None


@pytest.mark.parametrize("text", ["0", "8", "11", "a", ""])
def test_refuses_what_is_no_column(game: Game, text: str) -> None:
    with pytest.raises(AzcoreError, match="a column, 1 to 7"):
        game.text_to_action(game.initial_state(), text)


def test_the_solver_agrees_with_minimax(game: Game) -> None:
    """Over the game's own rules, where ten cells are left."""
    rng, compared = np.random.default_rng(3), 0
    while compared < 40:
        state = game.initial_state()
        for _ in range(32):
            if not game.is_terminal(state):
                state = game.step(state, rng.choice(legal(game, state)))
        if game.is_terminal(state):
            continue
        mine, occupied = int(state.stones[state.player]), int(state.stones[0] | state.stones[1])
        values = {action: -minimax(game, game.step(state, action)) for action in legal(game, state)}
        assert solver.values_of_moves(mine, occupied, solver.new_table()) == values
        assert solver.text_of(mine, occupied) == game.state_to_text(state)
        compared += 1


def test_the_solved_positions_are_the_solvers(capsys: pytest.CaptureFixture[str]) -> None:
    lines = (Path(__file__).parent / "solved.epd").read_text().splitlines()
    assert len(set(lines)) == 1001
    solver.main(5)
    assert capsys.readouterr().out.splitlines() == lines[:6]


def legal(game: Game, state: Any) -> list[int]:
    return [int(action) for action in game.legal_action_mask(state).nonzero()[0]]


def minimax(game: Game, state: Any) -> int:
    """The outcome with best play, in the view of the player to move."""
    if game.is_terminal(state):
        outcome = game.outcome(state)
        return outcome if game.current_player(state) == 0 else -outcome
    best = -1
    for action in legal(game, state):
        best = max(best, -minimax(game, game.step(state, action)))
        if best == 1:
            break
    return best
