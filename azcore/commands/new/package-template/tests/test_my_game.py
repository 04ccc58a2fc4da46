"""My game keeps azcore's contract, and facts known to its author hold."""

import pytest

import azcore
from azcore import AzcoreError
from azcore.testing import check_game, check_position, perft


def test_keeps_the_contract() -> None:
    check_game(azcore.make("my_game"), num_positions=1000)


def test_another_size_keeps_it_too() -> None:
    check_game(azcore.make("my_game", board_size=3), num_positions=200)


def test_number_of_positions() -> None:
    # Counted by hand: nobody can win before ply 5, so 9 × 8 × 7 × 6 × 5 sequences of five plies.
    game = azcore.make("my_game", board_size=3)
    assert [perft(game, depth) for depth in (1, 2, 5)] == [9, 72, 15120]


@pytest.mark.parametrize(
    "moves",
    ["a1 a2 b1 b2 c1", "a1 b1 a2 b2 a3", "a1 b1 b2 c1 c3", "a3 b3 b2 c3 c1"],
    ids=["row", "column", "diagonal", "other diagonal"],
)
def test_a_line_wins(moves: str) -> None:
    game = azcore.make("my_game")
    check_position(game, moves=moves.split(), terminal=True, outcome=1, legal=[])


def test_the_player_to_move_sees_own_stones_first() -> None:
    game = azcore.make("my_game", board_size=3)
    stone, nothing = [[0, 0, 0], [0, 0, 0], [1, 0, 0]], [[0, 0, 0]] * 3
    check_position(game, moves=["a1"], player=1, illegal=["a1"], planes={0: nothing, 1: stone})


@pytest.mark.parametrize("text", ["X../.../... x", "XX./.../... o", "XXX/OO./... o x", ""])
def test_refuses_impossible_positions(text: str) -> None:
    with pytest.raises(AzcoreError):
        azcore.make("my_game", board_size=3).state_from_text(text)


@pytest.mark.parametrize("settings", [{"board_size": 1}, {"in_a_row": 9}, {"board_size": "4"}])
def test_refuses_settings(settings: dict[str, object]) -> None:
    with pytest.raises(AzcoreError, match="must be a whole number from 2 to"):
        azcore.make("my_game", **settings)  # type: ignore[arg-type]
