"""The rules of Go: whole games against a slow second implementation, and situations drawn.

Every test marked `rules` is run a second time as plain Python, so those are short.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import GameError, IllegalActionError

from .slow_go import SlowGo


def rows_of(game: Any, state: Any) -> list[str]:
    return ["".join(".XO"[stone] for stone in row) for row in game.stones(state)]


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
    size: int,
    suicide: bool,
    games: int,
    look: int = 1,
    pass_rate: float = 0.0,
    seed: int = 0,
    **others: Any,
) -> int:
    """Play random games, comparing everything on the way; how many plies they were.

    All legal actions are compared every `look` plies, boards and planes on each. With `others`,
    settings, games begin in the start states in turn.
    """
    game: Any = azcore.make("go", board_size=size, komi=0.5, suicide=suicide, **others)
    kinds = [(n, komi) for n in game.sizes for komi in game.komis]
    starts = game.start_states()
    assert len(starts) == len(kinds)
    rng = np.random.default_rng([seed, size, suicide])
    plies = 0
    for number in range(games):
        state, (used, komi) = starts[number % len(starts)], kinds[number % len(kinds)]
        slow = SlowGo(used, suicide, size, komi)
        while not slow.over():
            mask = game.legal_action_mask(state)
            if plies % look == 0:
                assert set(np.flatnonzero(mask)) == slow.legal(), game.render(state)
                planes = slow.planes(several=bool(others))
                assert np.array_equal(game.observation(state), planes), game.render(state)
            assert not game.is_terminal(state)
            assert game.current_player(state) == "XO".index(slow.colour)
            # Games full of captures and repetitions: no pass that is not forced, or hardly one.
            plays = np.flatnonzero(mask[:-1])
            action = size * size
            if len(plays) and rng.random() >= pass_rate:
                action = int(rng.choice(plays))
            state = game.step(state, action)
            slow.play(action)
            assert rows_of(game, state)[size - used :] == [
                row.ljust(size, ".") for row in slow.rows()
            ]
            plies += 1
        assert game.is_terminal(state)
        assert not game.legal_action_mask(state).any()
        assert game.score(state) == slow.lead() - komi
        assert game.ownership(state).tolist() == slow.array(slow.owners())
        assert game.outcome(state) == np.sign(slow.lead() - komi)
    return plies


@pytest.mark.parametrize("suicide", [False, True])
@pytest.mark.parametrize(
    ("size", "games", "look"),
    [(2, 100, 1), (3, 75, 1), (4, 20, 1), (5, 8, 1), (6, 3, 1), (7, 2, 2), (9, 2, 4)],
)
def test_games_agree_with_the_slow_rules(size: int, games: int, look: int, suicide: bool) -> None:
    compare_games(size, suicide, games, look)
    compare_games(size, suicide, games, look, pass_rate=0.1, seed=1)


@pytest.mark.parametrize("suicide", [False, True])
@pytest.mark.parametrize(
    ("size", "games", "look", "sizes"), [(3, 40, 1, [2]), (5, 12, 1, [2, 4]), (9, 6, 3, [5, 7])]
)
def test_games_of_several_kinds_agree_with_the_slow_rules(
    size: int, games: int, look: int, suicide: bool, sizes: list[int]
) -> None:
    others = {"other_sizes": sizes, "other_komis": [-3, 5.5]}
    compare_games(size, suicide, games, look, pass_rate=0.1, **others)
    compare_games(size, suicide, games, look, other_komis=[2])


@pytest.mark.parametrize(("size", "look", "suicide"), [(13, 12, True), (19, 60, False)])
def test_large_games_agree_with_the_slow_rules(size: int, look: int, suicide: bool) -> None:
    assert compare_games(size, suicide, 1, look) > size * size


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


@pytest.mark.long(short="tests/games/go/test_rules.py::test_number_of_positions_on_two_by_two")
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
def test_a_play_elsewhere_lifts_the_ban_for_good() -> None:
    game = azcore.make("go", board_size=5)
    state = drawn(game, ".XO../XO.O./.XO../...../..... b")
    assert not is_legal(game, played(game, state, "C4"), "B4")
    state = played(game, state, "C4 A1 pass B4")  # White has A1 more: another board
    assert not is_legal(game, state, "C4")  # the board after A1
    assert is_legal(game, played(game, state, "pass E1"), "C4")


@pytest.mark.rules
def test_snapback_takes_back_more() -> None:
    game = azcore.make("go", board_size=5)
    state = drawn(
        game,
        """
        O..X.
        OOOX.
        XXXX.
        .....
        ..... b
        """,
    )
    state = played(game, state, "B5 C5")
    assert rows_of(game, state)[:2] == ["O.OX.", "OOOX."]
    state = played(game, state, "B5")
    assert rows_of(game, state)[:2] == [".X.X.", "...X."]
    assert list(state.prisoners) == [5, 1]


SEND_TWO = """
    OXXX.
    OOOXX
    ...O.
    ..... """


@pytest.mark.rules
def test_superko_looks_at_the_board_alone() -> None:
    # White sends two, Black takes them, and White would take one back: the board is the first one
    # again. White was to move then and Black would be now, which makes no difference.
    game = azcore.make("go", board_size=5)
    state = played(game, drawn(game, ".O.X." + SEND_TWO + "w"), "C5 A5")
    assert rows_of(game, state)[0] == "X..X."
    assert not is_legal(game, state, "B5")
    assert is_legal(game, played(game, state, "A1 E1"), "B5")


@pytest.mark.rules
def test_superko_with_a_pass_in_between() -> None:
    game = azcore.make("go", board_size=5)
    state = played(game, drawn(game, "X..X." + SEND_TWO + "w"), "B5 pass C5")
    assert rows_of(game, state)[0] == ".OOX."
    assert not is_legal(game, state, "A5")


@pytest.mark.rules
def test_superko_forbids_a_play_that_captures_nothing() -> None:
    game = azcore.make("go", board_size=5)
    state = played(game, drawn(game, ".OOX." + SEND_TWO + "b"), "A5 B5 pass")
    assert rows_of(game, state)[0] == ".O.X."
    assert not is_legal(game, state, "C5")


@pytest.mark.rules
def test_superko_knows_the_empty_board() -> None:
    game = azcore.make("go", board_size=2, suicide=True)
    state = played(game, game.initial_state(), "A1 pass B2 pass A2 pass")
    assert not is_legal(game, state, "B1")  # the whole board would die and be empty again


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


# -- suicide -----------------------------------------------------------------------------------


@pytest.mark.rules
def test_suicide_of_two_stones_is_a_setting() -> None:
    picture = """
        X.O
        OOO
        ... b
        """
    strict = azcore.make("go", board_size=3)
    assert not is_legal(strict, drawn(strict, picture), "B3")
    game = azcore.make("go", board_size=3, suicide=True)
    state = played(game, drawn(game, picture), "B3")
    assert rows_of(game, state) == ["..O", "OOO", "..."]
    assert list(state.prisoners) == [0, 2]


@pytest.mark.rules
@pytest.mark.parametrize("suicide", [False, True])
def test_suicide_of_one_stone_repeats_the_board(suicide: bool) -> None:
    game = azcore.make("go", board_size=3, suicide=suicide)
    assert not is_legal(game, drawn(game, ".O./O../... b"), "A3")
    assert is_legal(game, drawn(game, ".O./O../... w"), "A3")


@pytest.mark.rules
def test_suicide_obeys_superko() -> None:
    game = azcore.make("go", board_size=3, suicide=True)
    state = drawn(game, "..O/OOO/... b")
    state = played(game, state, "A3 pass")
    assert not is_legal(game, state, "B3")


@pytest.mark.rules
def test_a_capture_is_no_suicide() -> None:
    game = azcore.make("go", board_size=3)
    state = played(game, drawn(game, ".OX/OX./X.. b"), "A3")
    assert rows_of(game, state) == ["X.X", ".X.", "X.."]


# -- the end and the score ---------------------------------------------------------------------


@pytest.mark.rules
def test_two_passes_end_the_game() -> None:
    game = azcore.make("go", board_size=5)
    state = played(game, game.initial_state(), "pass A1 pass")
    assert not game.is_terminal(state)
    state = played(game, state, "pass")
    assert game.is_terminal(state)
    assert not game.legal_action_mask(state).any()
    assert game.score(state) == -25 - 7.5
    assert game.outcome(state) == -1


@pytest.mark.rules
def test_plies_are_limited() -> None:
    game = azcore.make("go", board_size=2, komi=0)
    assert game.max_game_length == 8
    state = played(game, game.initial_state(), "A1 pass B2 pass A2 B1 A2")
    assert not game.is_terminal(state)
    state = played(game, state, "pass")
    assert game.is_terminal(state)
    assert game.score(state) == 0


@pytest.mark.rules
@pytest.mark.parametrize(
    ("lead", "picture"),
    [
        (0, "...../...../...../...../....."),
        (25, "...../...../..X../...../....."),
        (0, "..X../...../...../...../..O.."),  # every other point reaches both
        (-5, ".XO../.XO../.XO../.XO../.XO.."),
        (5, "..XO./..XO./..XO./..XO./..XO."),
        (22, "XXXXX/X.XXX/XXXXX/XXXXX/XXX.O"),
    ],
)
def test_area(lead: int, picture: str) -> None:
    game = azcore.make("go", board_size=5, komi=0)
    assert game.score(drawn(game, picture + " b passes=2")) == lead


@pytest.mark.rules
def test_liberties_shared_in_seki_count_for_nobody() -> None:
    game = azcore.make("go", board_size=5, komi=0)
    state = drawn(
        game,
        """
        XO.XO
        XO.XO
        XOOXO
        .OXX.
        XOXXO b passes=2
        """,
    )
    assert game.score(state) == 11 - 10


@pytest.mark.rules
@pytest.mark.parametrize(
    ("komi", "score", "outcome"), [(4.5, 0.5, 1), (5, 0.0, 0), (5.0, 0.0, 0), (5.5, -0.5, -1)]
)
def test_komi_decides_or_draws(komi: float, score: float, outcome: int) -> None:
    game = azcore.make("go", board_size=5, komi=komi)
    state = drawn(game, "..XO./..XO./..XO./..XO./..XO. b passes=2")
    assert game.score(state) == score
    assert game.outcome(state) == outcome


# -- settings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"board_size": 1}, "board_size must be a whole number from 2 to 19, got 1"),
        ({"board_size": 20}, "got 20"),
        ({"board_size": True}, "got True"),
        ({"board_size": 9.0}, "got 9.0"),
        ({"board_size": "9"}, "got '9'"),
        ({"komi": 0.25}, "komi must be a whole or half number from -361 to 361, got 0.25"),
        ({"komi": float("nan")}, "got nan"),
        ({"komi": float("inf")}, "got inf"),
        ({"komi": 1000}, "got 1000"),
        ({"komi": "7.5"}, "got '7.5'"),
        ({"komi": True}, "got True"),
        ({"suicide": 1}, "suicide must be true or false, got 1"),
        ({"handicap": 2}, "no setting 'handicap'"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(GameError, match=re.escape(message)):
        azcore.make("go", **settings)


def test_settings_and_facts() -> None:
    game = azcore.make("go", board_size=19, komi=7)
    # Neither other komi nor other sizes: records and weights without them stay readable.
    assert game.settings == {"board_size": 19, "komi": 7.0, "suicide": False, "first_pass": 0.0}
    assert game.num_actions == 362
    assert game.observation_shape == (17, 19, 19)
    assert game.max_game_length == 722
    assert game.dirichlet_alpha == pytest.approx(0.03)
    assert len(game.symmetries) == 7


def test_first_pass_forbids_passing_until_then() -> None:
    game = azcore.make("go", board_size=3, first_pass=5 / 9)
    state = game.initial_state()
    for ply, text in enumerate(["A1", "C3", "B1", "C2", "A2"]):
        assert not game.legal_action_mask(state)[9], ply
        state = game.step(state, game.text_to_action(state, text))
    assert game.legal_action_mask(state)[9]
    # Nothing but a pass: a board of two points in which every play is suicide or superko.
    tiny = azcore.make("go", board_size=2, first_pass=2)
    rng = np.random.default_rng(1)
    alone = 0
    for _ in range(200):
        state = tiny.initial_state()
        while not tiny.is_terminal(state):
            legal = np.flatnonzero(tiny.legal_action_mask(state))
            alone += len(legal) == 1 and legal[0] == 4 and state.ply < 8
            assert state.ply >= 8 or len(legal) == 1 or 4 not in legal
            state = tiny.step(state, int(rng.choice(legal)))
    assert alone > 0
