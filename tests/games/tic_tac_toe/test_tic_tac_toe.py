"""Tic-tac-toe, compiled and plain: known counts, drawn boards, texts, and one against the other."""

import numpy as np
import pytest

import azcore
from azcore.errors import IllegalActionError, InvalidTextError
from azcore.testing import check_game, check_playthrough, check_position, random_states

pytestmark = pytest.mark.rules

PLAYTHROUGH = """\
{"name": "tic_tac_toe", "settings": {}, "version": 1}
0 0 0-8 0fc2bb52 4 b2
1 1 0-3,5-8 5ed9c581 5 c2
2 0 0-3,6-8 c6910fdb 7 b1
3 1 0-3,6,8 0030a484 8 c1
4 0 0-3,6 e559dc5d 0 a3
5 1 1-3,6 48f5b783 1 b3
6 0 2-3,6 ad9b5b6c 6 a1
7 1 2-3 53a4af03 3 a2
8 0 2 a937d78c 2 c3
9 1 - 7b30c484 outcome +1
"""


@pytest.fixture(params=["tic_tac_toe", "tic_tac_toe_plain"])
def game(request):
    return azcore.make(request.param)


def test_the_game_tree_has_the_known_counts():
    # Known numbers: 5,478 positions; of the finished ones 626 won by X, 316 by O, 16 drawn.
    # The plain form is counted; further down the compiled one agrees with it.
    game = azcore.make("tic_tac_toe_plain")
    outcomes = {}
    waiting = [game.initial_state()]
    seen = set(waiting)
    while waiting:
        state = waiting.pop()
        if game.is_terminal(state):
            outcomes[game.outcome(state)] = outcomes.get(game.outcome(state), 0) + 1
        for action in np.flatnonzero(game.legal_action_mask(state)).tolist():
            successor = game.step(state, action)
            if successor not in seen:
                seen.add(successor)
                waiting.append(successor)
    assert len(seen) == 5478
    assert outcomes == {1: 626, -1: 316, 0: 16}


@pytest.mark.parametrize("line", ["abc 3", "abc 2", "abc 1", "a 321", "b 321", "c 321", "/", "\\"])
@pytest.mark.parametrize("seat", [0, 1])
def test_each_line_wins_for_each_seat(game, line, seat):
    diagonals = {"/": ["a1", "b2", "c3"], "\\": ["a3", "b2", "c1"]}
    columns, _, rows = line.partition(" ")
    mine = diagonals.get(line) or [column + row for column in columns for row in rows]
    others = [c + r for c in "abc" for r in "123" if c + r not in mine]
    # Any two, or three, of the other cells that make no line themselves.
    theirs = next(
        [x, y, z]
        for x in others
        for y in others
        for z in others
        if len({x, y, z}) == 3 and len({x[0], y[0], z[0]}) == 2 and len({x[1], y[1], z[1]}) > 1
    )
    pairs = zip(mine, theirs, strict=True) if seat == 0 else zip(theirs, mine, strict=True)
    moves = [text for pair in pairs for text in pair][: 5 if seat == 0 else 6]
    check_position(game, moves=moves, terminal=True, outcome=1 - 2 * seat, legal=[])


def test_a_full_board_without_a_line_is_a_draw(game):
    check_position(
        game, moves=["b2", "a1", "c3", "a3", "a2", "c2", "b3", "b1", "c1"], terminal=True, outcome=0
    )


def test_the_player_to_move_sees_own_stones_first(game):
    x, o = [[0, 0, 0], [0, 1, 0], [0, 0, 0]], [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    check_position(game, moves=["b2"], player=1, illegal=["b2"], planes={0: np.zeros((3, 3)), 1: x})
    check_position(game, moves=["b2", "c3"], player=0, planes={0: x, 1: o})
    check_position(game, text="..O/.X./... x", player=0, planes={0: x, 1: o})


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".../.../...",
        ".../.../... o",  # X begins
        "X../.../... x",
        "XX./.../... x",
        "XX./O../... x",
        "XXX/OO./... x",  # X moved twice
        "XXX/OOO/... x",  # two winners
        "OOO/XX./X.. o",
        ".../.../..  x",
        ".../.../.... x",
        ".../.../... X",
        ".../.../... x\n",
        ".../.../..é x",
        ".../.../... x x",
    ],
)
def test_impossible_positions_are_refused(game, text):
    with pytest.raises(InvalidTextError):
        game.state_from_text(text)


def test_texts_of_actions(game):
    state = game.initial_state()
    texts = [game.action_to_text(state, action) for action in range(9)]
    assert texts == ["a3", "b3", "c3", "a2", "b2", "c2", "a1", "b1", "c1"]
    state = game.step(state, game.text_to_action(state, "b2"))
    with pytest.raises(IllegalActionError, match="b2"):
        game.text_to_action(state, "b2")
    with pytest.raises(IllegalActionError, match="0 to 8"):
        game.step(state, 9)
    for text in ("d1", "a4", "a0", "A1", "1a", "a1 ", "a", "a11", "a²"):
        with pytest.raises(InvalidTextError, match="column"):
            game.text_to_action(state, text)


def test_the_board_is_drawn_with_its_coordinates(game):
    state = game.state_from_text("XO./.X./... o")
    assert game.render(state) == "3 X O .\n2 . X .\n1 . . .\n  a b c"


def test_both_forms_agree():
    compiled, plain = azcore.make("tic_tac_toe"), azcore.make("tic_tac_toe_plain")
    check_game(compiled, oracle=plain, num_positions=500)
    for fact in ("version", "settings", "num_actions", "observation_shape", "dirichlet_alpha"):
        assert getattr(compiled, fact) == getattr(plain, fact)
    for state in random_states(plain, 300, np.random.default_rng(0)):
        text = plain.state_to_text(state)
        twin = compiled.state_from_text(text)
        assert compiled.state_to_text(twin) == text
        assert compiled.render(twin) == plain.render(state)
        assert np.array_equal(compiled.observation(twin), plain.observation(state))


def test_a_recorded_game_is_described_as_it_was():
    check_playthrough(azcore.make("tic_tac_toe"), PLAYTHROUGH)
    plain = PLAYTHROUGH.replace("tic_tac_toe", "tic_tac_toe_plain")
    check_playthrough(azcore.make("tic_tac_toe_plain"), plain)
