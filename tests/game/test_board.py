"""Boards: every game states its positions and clicks, and a mistake is refused in one sentence."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import GameError
from azcore.game import Board, Choice, Layout, Piece, Role
from azcore.testing import random_states

GAMES = [
    ("tic_tac_toe", {}),
    ("tic_tac_toe_plain", {}),
    ("go", {"board_size": 5}),
    ("chess", {}),
    ("shogi", {}),
]
ROLE = Role(name="man", letter="M")
LAYOUT = Layout(
    kind="cells",
    columns=("a", "b"),
    rows=("2", "1"),
    colours=("black", "white"),
    roles={"M": ROLE},
    hand=("M",),
    choices={"pass": Choice(words="Pass")},
)


def board(**changes: Any) -> Board:
    right = {
        "layout": LAYOUT,
        "pieces": (Piece("a1", 0, "M"),),
        "to_move": 0,
        "actions": {0: ("a1", "a2"), 1: ("a1", "b2"), 2: ("*M", "b1"), 3: ("pass",)},
        "hands": ({"M": 1}, {}),
    }
    return Board(**(right | changes))


def position(name: str, text: str, *moves: str) -> Board:
    game = azcore.make(name)
    state = game.state_from_text(text) if text else game.initial_state()
    for move in moves:
        state = game.step(state, game.text_to_action(state, move))
    shown = game.board(state)
    assert shown is not None
    return shown


def path(name: str, text: str, move: str) -> tuple[str, ...]:
    game = azcore.make(name)
    state = game.state_from_text(text)
    shown = game.board(state)
    assert shown is not None
    return shown.actions[game.text_to_action(state, move)]


# -- games ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "settings"), GAMES)
def test_boards_are_plain_data(name: str, settings: dict[str, Any]) -> None:
    game = azcore.make(name, **settings)
    assert game.has_board
    for state in random_states(game, 20, np.random.default_rng(1)):
        shown = game.board(state)
        assert shown is not None
        data = json.loads(json.dumps(dataclasses.asdict(shown)))
        assert len(data["pieces"]) == len(shown.pieces)
        assert {int(action) for action in data["actions"]} == set(shown.actions)


def test_a_game_need_not_have_boards() -> None:
    game = azcore.make("chess_plain")
    assert not game.has_board
    assert game.board(game.initial_state()) is None


def test_go() -> None:
    game = azcore.make("go", board_size=9)
    state = game.initial_state()
    for move in ("C3", "pass"):
        state = game.step(state, game.text_to_action(state, move))
    shown = game.board(state)
    assert shown is not None
    assert shown.pieces == (Piece("C3", 0, "stone"),)
    assert (shown.last, shown.to_move, shown.note) == ((), 0, "the last move was a pass")
    assert shown.actions[81] == ("pass",)
    assert shown.actions[0] == ("A9",)
    assert set(shown.layout.stars) == {"C3", "C7", "E5", "G3", "G7"}
    ended = game.step(state, 81)
    over = game.board(ended)
    assert over is not None
    assert (over.to_move, over.actions) == (None, {})


def test_chess() -> None:
    shown = position("chess", "", "e2e4", "e7e5", "d1h5", "g8f6", "h5f7")
    assert (shown.last, shown.check) == (("h5", "f7"), ("e8",))
    assert Piece("f7", 0, "Q") in shown.pieces
    assert list(shown.actions.values()) == [("e8", "f7")]
    promoting = "8/4P1k1/8/8/8/8/6K1/8 w - - 0 1"
    assert path("chess", promoting, "e7e8q") == ("e7", "e8", "q")
    assert path("chess", promoting, "e7e8n") == ("e7", "e8", "n")
    assert path("chess", promoting, "g2g3") == ("g2", "g3")
    assert path("chess", "4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1") == ("e1", "g1")


def test_chess_states_what_each_seat_has_taken() -> None:
    assert position("chess", "", "e2e4").taken == ({}, {})
    taken = position("chess", "", "e2e4", "d7d5", "e4d5", "d8d5", "b1c3", "a7a6", "c3d5").taken
    assert taken == ({"P": 1, "Q": 1}, {"P": 1})
    # A promoted pawn is no lost one, and a second queen is lost as a pawn.
    promoted = "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPP1/RNBQKBNQ w Qkq - 0 1"
    assert position("chess", promoted).taken == ({"Q": 1}, {"R": 1})
    lost = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPP1/RNBQKBNR w KQkq - 0 1"
    assert position("chess", lost).taken == ({}, {"P": 1})


def test_shogi() -> None:
    text = "4k4/9/2P6/9/9/9/9/9/4K4 b R2P 1"
    shown = position("shogi", text)
    assert shown.hands == ({"R": 1, "P": 2}, {})
    assert path("shogi", text, "R*5e") == ("*R", "5e")
    assert path("shogi", text, "7c7b+") == ("7c", "7b", "promote")
    assert path("shogi", text, "7c7b") == ("7c", "7b", "stay")
    # On the last rank a pawn has no choice, and is not asked.
    assert path("shogi", "4k4/2P6/9/9/9/9/9/9/4K4 b - 1", "7b7a+") == ("7b", "7a")
    dropped = position("shogi", text, "R*5e")
    assert (dropped.last, dropped.check) == (("5e",), ("5a",))
    promoted = position("shogi", text, "7c7b+")
    assert Piece("7b", 0, "+P") in promoted.pieces
    assert promoted.layout.roles["+P"].promoted


def test_tic_tac_toe_marks_the_line_that_wins() -> None:
    shown = position("tic_tac_toe", "", "a1", "b1", "a2", "b2", "a3")
    assert (shown.marks, shown.to_move) == (("a1", "a2", "a3"), None)


# -- places --------------------------------------------------------------------------------------


def test_places_between_others_are_named_after_their_ends() -> None:
    points = dataclasses.replace(LAYOUT, kind="lines")
    assert (points.across, points.down) == (3, 3)
    assert list(points.places) == [
        *("a2", "a2b2", "b2"),
        *("a2a1", "a2b1", "b2b1"),
        *("a1", "a1b1", "b1"),
    ]
    assert points.places["a2b1"] == (1, 1)
    cells = dataclasses.replace(LAYOUT, kind="gaps")
    assert cells.places == points.places
    assert board(layout=cells, actions={0: ("a2a1",)}).actions


# -- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"pieces": (Piece("c1", 0, "M"),)},
            "place of a piece must be a place, a2 to b1, got 'c1'",
        ),
        ({"pieces": (Piece("a1", 2, "M"),)}, "the seat of a piece must be 0 or 1, got 2"),
        ({"pieces": (Piece("a1", 0, "K"),)}, "the piece on a1 must be one of M, got 'K'"),
        ({"pieces": (Piece("a1", 0, "M"),) * 2}, "must be at most one, got two on a1"),
        ({"pieces": ("a1",)}, "a piece must be a Piece, got 'a1'"),
        ({"to_move": True}, "to_move must be 0 or 1, got True"),
        ({"last": ("e4",)}, "a place in last must be a place, a2 to b1, got 'e4'"),
        ({"check": ("",)}, "a place in check must be a place"),
        ({"marks": ("x",)}, "a place in marks must be a place"),
        ({"note": "two\nlines"}, "note must be one line of text"),
        ({"hands": ({},)}, "hands must be one for each seat"),
        ({"hands": ({"K": 1}, {})}, "a role in hand must be one of M, got 'K'"),
        ({"hands": ({"M": -1}, {})}, "the number of M in hand must be a whole number from 0"),
        ({"actions": {0: ()}}, "the clicks of action 0 must be a tuple of one or more, got ()"),
        ({"actions": {0: "a1"}}, "the clicks of action 0 must be a tuple"),
        ({"actions": {0: ("a3",)}}, "a click of action 0 must be a place, a choice, or *"),
        ({"taken": ({},)}, "taken must be one for each seat"),
        ({"taken": ({"K": 1}, {})}, "a role taken must be one of M, got 'K'"),
        ({"taken": ({}, {"M": True})}, "the number of M taken must be a whole number from 0"),
        ({"actions": {0: ("*M",)}, "hands": ({}, {"M": 1})}, "a click of action 0"),
        (
            {"actions": {0: ("a1",), 5: ("a1",)}},
            "a path of clicks must be that of one action, got ('a1',) for 0 and 5",
        ),
        (
            {"actions": {0: ("a1",), 5: ("a1", "a2")}},
            "path of action 0 must be no prefix of another, got ('a1',), which ('a1', 'a2') of",
        ),
        ({"layout": None}, "layout must be a Layout, got None"),
    ],
)
def test_a_board_checks_itself(changes: dict[str, Any], sentence: str) -> None:
    board()
    with pytest.raises(GameError) as caught:
        board(**changes)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"kind": "hexes"},
            "kind must be one of cells, points, hexagons, lines, gaps, got 'hexes'",
        ),
        (
            {"kind": "hexagons", "surface": "checkered"},
            "the surface of hexagons must be one of wood, paper, got 'checkered'",
        ),
        ({"borders": {"top": 0}}, "a border must be one of left, right, above, below, got 'top'"),
        ({"borders": {"left": 2}}, "the seat of a border must be 0 or 1, got 2"),
        ({"surface": "marble"}, "surface must be one of wood, checkered, paper, rack"),
        ({"labelled": ("top",)}, "a side of labels must be one of left, right, above, below"),
        ({"columns": ()}, "the number of columns must be 1 to 64, got 0"),
        ({"rows": ("1",) * 65}, "the number of rows must be 1 to 64, got 65"),
        ({"rows": ("1", "1")}, "the labels must be a different name for each place"),
        ({"columns": ("a", "\n")}, "a label of the columns must be 1 to 3 printable characters"),
        ({"colours": ("black", "black")}, "colours must be two different ones"),
        ({"colours": ("black", "beige")}, "a colour must be one of black, white, red"),
        ({"roles": {"M": "man"}}, "role M must be a Role, got 'man'"),
        ({"hand": ("K",)}, "a role in hand must be one of M, got 'K'"),
        ({"stars": ("e5",)}, "a star must be a place, a2 to b1, got 'e5'"),
        ({"choices": {"a1": Choice(words="Pass")}}, "the key of a choice must be no place"),
        ({"choices": {"q": Choice(words="Queen", role="Q")}}, "must be one of M, got 'Q'"),
        ({"choices": {"q": "Queen"}}, "choice q must be a Choice, got 'Queen'"),
    ],
)
def test_a_layout_checks_itself(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(GameError) as caught:
        dataclasses.replace(LAYOUT, **changes)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Role(name="", letter="M"), "a role's name must be 1 to 60 printable characters"),
        (lambda: Role(name="man", letter="Mann"), "a role's letter must be 1 to 3 printable"),
        (lambda: Role(name="man", letter="M", art=3), "a role's art must be text, got 3"),
        (lambda: Choice(words="\0"), "a choice's words must be 1 to 60 printable"),
    ],
)
def test_roles_and_choices_check_themselves(make: Any, sentence: str) -> None:
    with pytest.raises(GameError) as caught:
        make()
    assert sentence in str(caught.value)
