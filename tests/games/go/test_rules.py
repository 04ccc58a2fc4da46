"""The rules of Go: whole games against a slow second implementation, and situations drawn.

Every test marked `rules` is run a second time as plain Python, so those are short.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import azcore
import numpy as np
import pytest
from azcore.errors import GameError, IllegalActionError

from .slow_go import SlowGo


def rows_of(game: Any, state: Any) -> list[str]:
    return ["".join(".XO"[stone] for stone in row) for row in game.board(state)]


def drawn(game: Any, picture: str) -> Any:
    """A state from rows drawn one below the other, and whose turn it is."""
    return game.state_from_text(picture)


def played(game: Any, state: Any, moves: str) -> Any:
    for move in moves.split():
        state = game.step(state, game.text_to_action(state, move))
    return state


def is_legal(game: Any, state: Any, move: str) -> bool:
    try:
        game.text_to_action(state, move)
    except IllegalActionError:
        return False
    return True


# -- whole games -------------------------------------------------------------------------------


def compare_games(
    size: int, suicide: bool, games: int, look: int = 1, pass_rate: float = 0.0, seed: int = 0
) -> int:
    """Play random games, comparing everything on the way; how many plies they were.

    All legal actions are compared every `look` plies, boards and planes on each.
    """
    game = azcore.make("go", board_size=size, komi=0.5, suicide=suicide)
    rng = np.random.default_rng([seed, size, suicide])
    plies = 0
    for _ in range(games):
        state, slow = game.initial_state(), SlowGo(size, suicide)
        while not slow.over():
            mask = game.legal_action_mask(state)
            if plies % look == 0:
                assert set(np.flatnonzero(mask)) == slow.legal(), game.render(state)
                assert np.array_equal(game.observation(state), slow.planes()), game.render(state)
            assert not game.is_terminal(state)
            assert game.current_player(state) == "XO".index(slow.colour)
            # Games full of captures and repetitions: no pass that is not forced, or hardly one.
            plays = np.flatnonzero(mask[:-1])
            action = size * size
            if len(plays) and rng.random() >= pass_rate:
                action = int(rng.choice(plays))
            state = game.step(state, action)
            slow.play(action)
            assert rows_of(game, state) == slow.rows()
            plies += 1
        assert game.is_terminal(state)
        assert not game.legal_action_mask(state).any()
        assert game.score(state) == slow.lead() - 0.5
        assert game.outcome(state) == np.sign(slow.lead() - 0.5)
    return plies


@pytest.mark.parametrize("suicide", [False, True])
@pytest.mark.parametrize(
    ("size", "games", "look"),
    [(2, 300, 1), (3, 200, 1), (4, 60, 1), (5, 30, 1), (6, 10, 1), (7, 8, 2), (9, 6, 4)],
)
def test_games_agree_with_the_slow_rules(size: int, games: int, look: int, suicide: bool) -> None:
    compare_games(size, suicide, games, look)
    compare_games(size, suicide, games, look, pass_rate=0.1, seed=1)


@pytest.mark.parametrize(("size", "look", "suicide"), [(13, 12, True), (19, 60, False)])
def test_large_games_agree_with_the_slow_rules(size: int, look: int, suicide: bool) -> None:
    assert compare_games(size, suicide, 2, look) > 2 * size * size


@pytest.mark.rules
@pytest.mark.parametrize("suicide", [False, True])
@pytest.mark.parametrize(("size", "games"), [(2, 10), (3, 6), (5, 1)])
def test_some_games_agree_with_the_slow_rules(size: int, games: int, suicide: bool) -> None:
    compare_games(size, suicide, games, pass_rate=0.05, seed=2)


@pytest.mark.parametrize("suicide", [False, True])
@pytest.mark.parametrize(("size", "depth"), [(2, 6), (3, 3)])
def test_every_line_of_play_agrees_with_the_slow_rules(
    size: int, depth: int, suicide: bool
) -> None:
    game = azcore.make("go", board_size=size, suicide=suicide)

    def count_fast(state: Any, left: int) -> int:
        actions = np.flatnonzero(game.legal_action_mask(state))
        if left == 1:
            return len(actions)
        return sum(count_fast(game.step(state, int(action)), left - 1) for action in actions)

    def count_slow(path: list[int], left: int) -> int:
        slow = SlowGo(size, suicide)
        for action in path:
            slow.play(action)
        actions = slow.legal()
        if left == 1:
            return len(actions)
        return sum(count_slow([*path, action], left - 1) for action in actions)

    assert count_fast(game.initial_state(), depth) == count_slow([], depth)


@pytest.mark.rules
def test_number_of_lines_on_two_by_two() -> None:
    # The count by hand: 5 first actions; after a pass 5 again, after each of 4 stones 3 and a pass.
    game = azcore.make("go", board_size=2)
    state = game.initial_state()
    second = [game.step(state, action) for action in range(5)]
    assert [game.legal_action_mask(after).sum() for after in second] == [4, 4, 4, 4, 5]


@pytest.mark.rules
def test_number_of_positions_on_two_by_two() -> None:
    # Tromp and Farnebäck, "Combinatorics of Go": 57 of the 81 pictures are legal positions.
    assert count_positions(2) == 57


@pytest.mark.slow
def test_number_of_positions_on_three_by_three() -> None:
    assert count_positions(3) == 12675  # the same table


def count_positions(size: int) -> int:
    game = azcore.make("go", board_size=size)
    count = 0
    for number in range(3 ** (size * size)):
        cells = [".XO"[number // 3**i % 3] for i in range(size * size)]
        rows = ["".join(cells[row * size : (row + 1) * size]) for row in range(size)]
        try:
            game.state_from_text("/".join(rows) + " b")
        except azcore.errors.InvalidTextError:
            continue
        count += 1
    return count


# -- captures, ko, superko ---------------------------------------------------------------------


@pytest.mark.rules
def test_capture_of_several_chains_at_once() -> None:
    game = azcore.make("go", board_size=5)
    state = drawn(
        game,
        """
        .XOX.
        XO.OX
        .XOX.
        ..X..
        ..... b
        """,
    )
    state = played(game, state, "C4")
    assert rows_of(game, state) == [".X.X.", "X.X.X", ".X.X.", "..X..", "....."]
    assert list(state.prisoners) == [4, 0]


@pytest.mark.rules
def test_ko_is_retaken_only_after_a_move_elsewhere() -> None:
    game = azcore.make("go", board_size=5)
    state = drawn(
        game,
        """
        .XO..
        XO.O.
        .XO..
        .....
        ..... b
        """,
    )
    state = played(game, state, "C4")
    assert rows_of(game, state)[1] == "X.XO."
    assert not is_legal(game, state, "B4")
    state = played(game, state, "A1 E1 B4")
    assert rows_of(game, state)[1] == "XO.O."
    assert not is_legal(game, state, "C4")


@pytest.mark.rules
def test_passes_lift_no_superko_ban() -> None:
    game = azcore.make("go", board_size=5)
    state = drawn(game, ".XO../XO.O./.XO../...../..... b")
    state = played(game, state, "C4 pass A1")
    assert is_legal(game, state, "B4")  # A1 makes it another board
    state = played(game, drawn(game, ".XO../XO.O./.XO../...../..... b"), "C4 pass")
    # Whoever is to move: Black cannot bring it back either, and White still cannot later.
    assert not is_legal(game, played(game, state, "pass"), "B4")


@pytest.mark.rules
def test_snapback_takes_two() -> None:
    game = azcore.make("go", board_size=5)
    state = drawn(
        game,
        """
        .XXO.
        XO.OX
        XOOOX
        XXXXX
        ..... w
        """,
    )
    # White fills to take nothing; instead Black throws in first.
    state = drawn(
        game,
        """
        XXOO.
        X.O.O
        XXOOO
        .....
        ..... w
        """,
    )
    assert not is_legal(game, state, "B4")  # suicide: Black's chain still has a liberty below
    state = drawn(
        game,
        """
        OOXX.
        .XO..
        XXO..
        .OO..
        ..... b
        """,
    )
    state = played(game, state, "A2 A4")
    assert rows_of(game, state)[0] == "OOXX."


@pytest.mark.rules
def test_send_two_return_one_ends() -> None:
    game = azcore.make("go", board_size=4)
    state = drawn(
        game,
        """
        .O.X
        OXXX
        OOXX
        .OX. w
        """,
    )
    del state


@pytest.mark.rules
def test_triple_ko_cannot_go_round() -> None:
    game = azcore.make("go", board_size=9)
    state = drawn(
        game,
        """
        .XO...XO.
        XO.O.X.XO
        .XO...XO.
        .........
        .XO......
        XO.O.....
        .XO......
        .........
        ......... b
        """,
    )
    start = rows_of(game, state)
    # Each takes a ko, and takes back what the other took: six plays back to the start.
    state = played(game, state, "C8 G8 C4 B8 H8")
    assert not is_legal(game, state, "B4")
    # Any other play first makes it another board.
    state = played(game, state, "E1 E9 B4")
    assert rows_of(game, state)[:4] == [".XO.X.XO.", *start[1:4]]


Situation = Callable[[Any], None]
