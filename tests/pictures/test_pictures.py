"""Pictures are well-formed, say what they show, and run nothing, whatever a game puts into them."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import azcore
from azcore.errors import GameError, SettingError
from azcore.game import Board, Game, Layout, Piece, Role
from azcore.pictures import Hint, Layers, Picture, draw, draw_board, film, heat_of, line_of, shared
from azcore.pictures.files import save
from azcore.pictures.kanji import PATHS
from azcore.pictures.palette import BODIES
from azcore.pictures.staunton import DRAWINGS
from azcore.testing import random_states

SVG = "{http://www.w3.org/2000/svg}"
GAMES = [
    ("tic_tac_toe", {}),
    ("go", {"board_size": 2}),
    ("go", {"board_size": 9}),
    ("go", {"board_size": 19}),
    ("chess", {}),
    ("chess_plain", {}),
    ("shogi", {}),
]
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
HANDS = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
HARMLESS = {
    *("svg", "title", "desc", "style", "defs", "g", "use", "path", "rect", "circle", "text"),
    *("linearGradient", "radialGradient", "stop"),
}


def parsed(picture: Picture) -> ElementTree.Element:
    """The picture as a tree, after checking that nothing in it loads or runs anything."""
    root = ElementTree.fromstring(picture.svg)
    defined = {element.get("id") for element in root.iter() if element.get("id")}
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in HARMLESS
        for name, value in element.attrib.items():
            assert not name.lower().startswith("on"), name
            for reference in re.findall(r"url\((.*?)\)", value):
                assert reference[0] == "#"
                assert reference[1:] in defined
            if name.endswith("href"):
                assert value[0] == "#"
                assert value[1:] in defined
    assert root.get("role") == "img"
    assert (root[0].tag, root[1].tag) == (f"{SVG}title", f"{SVG}desc")
    assert root[0].text
    assert root[1].text
    return root


def uses(root: ElementTree.Element, part: str) -> Counter[str]:
    """How often each definition is used in a part of the picture."""
    group = [g for g in root.iter(f"{SVG}g") if g.get("class") == f"az-{part}"]
    return Counter(use.get("href", "") for g in group for use in g.iter(f"{SVG}use"))


def words_of(picture: Picture) -> str:
    text = parsed(picture)[1].text
    assert text is not None
    return text


def board_of(name: str, text: str) -> tuple[Game, Any, Board]:
    game = azcore.make(name)
    state = game.state_from_text(text)
    board = game.board(state)
    assert board is not None
    return game, state, board


@pytest.mark.parametrize(("name", "settings"), GAMES)
def test_any_position_has_a_picture(name: str, settings: dict[str, Any]) -> None:
    game = azcore.make(name, **settings)
    for i, state in enumerate(random_states(game, 12, np.random.default_rng(3))):
        board = game.board(state)
        for theme in ("auto", "light", "dark"):
            picture = draw(game, state, flip=i % 2 == 1, letters=i % 3 == 0, theme=theme)
            root = parsed(picture)
            if board is None:
                continue
            assert sum(uses(root, "pieces").values()) == len(board.pieces)
            assert picture.targets.keys() >= board.layout.places.keys()
            assert ("var(" in picture.svg) == (theme == "auto")


def test_pieces_are_where_they_stand_from_both_sides() -> None:
    _, _, board = board_of("chess", KIWIPETE)
    for flip in (False, True):
        picture = draw_board(board, ("white", "black"), flip=flip)
        pieces = next(g for g in parsed(picture).iter() if g.get("class") == "az-pieces")
        drawn = {(float(use.get("x", "")), float(use.get("y", ""))) for use in pieces}
        centres = set()
        for piece in board.pieces:
            left, top, width, height = picture.targets[piece.place]
            centres.add((left + width / 2, top + height / 2))
        assert drawn == centres
        a1, h8 = picture.targets["a1"], picture.targets["h8"]
        assert (a1[0] < h8[0], a1[1] > h8[1]) == (not flip, not flip)
    assert len(uses(parsed(picture), "pieces")) == 12


def test_labels_turn_with_the_board() -> None:
    _, _, board = board_of("chess", KIWIPETE)
    for flip in (False, True):
        root = parsed(draw_board(board, ("white", "black"), flip=flip))
        across = {t.text: float(t.get("x", "")) for t in root.iter(f"{SVG}text")}
        down = {t.text: float(t.get("y", "")) for t in root.iter(f"{SVG}text")}
        assert set(across) == set("abcdefgh12345678")
        assert (across["a"] < across["h"]) == (not flip)
        assert (down["1"] > down["8"]) == (not flip)


def test_a_position_is_said_in_words() -> None:
    game = azcore.make("go", board_size=9)
    state = game.initial_state()
    for move in ("C3", "G7", "D3"):
        state = game.step(state, game.text_to_action(state, move))
    words = words_of(draw(game, state))
    assert words == "Black stone C3, D3; white stone G7. Last action D3. White to move."
    _, _, board = board_of("chess", "4k3/8/8/8/7q/8/8/4K2R w K - 0 1")
    assert words_of(draw_board(board, ("white", "black"))) == (
        "White rook h1; white king e1; black queen h4; black king e8. In check e1. White to move."
    )
    _, _, board = board_of("shogi", HANDS)
    words = words_of(draw_board(board, ("black", "white")))
    assert "black tokin 4b" in words
    assert "Black in hand 1 rook, 1 gold; white in hand 1 gold, 1 silver, 1 knight, 5 pawn" in words
    game = azcore.make("tic_tac_toe")
    assert words_of(draw(game, game.initial_state())) == "No pieces. X to move."


def test_shogi_pieces_point_away_from_their_player_and_hands_lie_before_them() -> None:
    _, _, board = board_of("shogi", HANDS)
    for flip in (False, True):
        picture = draw_board(board, ("black", "white"), flip=flip)
        root = parsed(picture)
        definitions = {g.get("id"): g for g in root.iter(f"{SVG}g") if g.get("id")}
        place = {p.place: p for p in board.pieces}
        pieces = next(g for g in root.iter() if g.get("class") == "az-pieces")
        for piece, use in zip(board.pieces, pieces, strict=True):
            definition = definitions[use.get("href", "")[1:]]
            turned = any(g.get("transform") == "rotate(180)" for g in definition.iter())
            assert turned == ((piece.seat == 1) != flip), place
        hands = next(g for g in root.iter() if g.get("class") == "az-hands")
        heights = [float(g[-1].get("y") or g[0].get("y", "")) for g in hands]
        middle = picture.height / 2
        assert [(h > middle) for h in heights] == [not flip] * 2 + [flip] * 4
        counts = [t.text for t in hands.iter(f"{SVG}text")]
        assert counts == ["5"]
        top = picture.targets["*P"][1]
        assert (top > middle) == flip  # of White, who is to move


def test_promoted_pieces_differ_in_character_and_colour() -> None:
    _, _, board = board_of("shogi", HANDS)
    for letters, face in ((False, PATHS["promoted-pawn"]), (True, "+P")):
        svg = draw_board(board, ("black", "white"), letters=letters, theme="light").svg
        assert face in svg
        assert "#b8200f" in svg
    unpromoted = dataclasses.replace(
        board, pieces=tuple(p for p in board.pieces if "+" not in p.role)
    )
    assert "#b8200f" not in draw_board(unpromoted, ("black", "white"), theme="light").svg


def test_letters_replace_drawings() -> None:
    _, _, board = board_of("chess", KIWIPETE)
    drawn = draw_board(board, ("white", "black")).svg
    written = draw_board(board, ("white", "black"), letters=True)
    knight = DRAWINGS["knight"][0]
    assert knight in drawn
    assert knight not in written.svg
    assert {"K", "Q", "R", "B", "N", "P"} <= {t.text for t in parsed(written).iter(f"{SVG}text")}


def test_an_unknown_drawing_is_a_disc_with_the_letter() -> None:
    layout = Layout(
        kind="cells",
        columns=("a",),
        rows=("1",),
        colours=("green", "purple"),
        roles={"E": Role(name="elephant", letter="E", art="staunton-elephant")},
    )
    board = Board(layout=layout, pieces=(Piece("a1", 1, "E"),), to_move=0, actions={})
    root = parsed(draw_board(board, ("green", "purple")))
    assert "E" in [text.text for text in root.iter(f"{SVG}text")]


def test_what_strangers_write_stays_text() -> None:
    evil = '<script>alert(1)</script>" onload="x'
    layout = Layout(
        kind="cells",
        columns=("<b>",),
        rows=('"',),
        colours=("red", "blue"),
        roles={evil: Role(name=evil, letter="<&>", art=evil)},
        hand=(evil,),
    )
    board = Board(
        layout=layout,
        pieces=(Piece('<b>"', 0, evil),),
        to_move=0,
        actions={},
        hands=({evil: 2}, {}),
        note=evil,
    )
    layers = Layers(labels={'<b>"': evil}, heat=[Hint(path=('<b>"',), text=evil)])
    picture = draw_board(board, (evil, "b"), title=evil, layers=layers)
    assert evil in (parsed(picture)[1].text or "")
    assert "<script" not in picture.svg

    class Evil(type(azcore.make("tic_tac_toe_plain"))):  # type: ignore[misc]
        board = Game.board

        def render(self, state: Any) -> str:
            return evil + "\n\x01\x00]]>"

    game = Evil()
    parsed(draw(game, game.initial_state()))


def test_a_game_without_boards_shows_its_text_and_lists_its_actions() -> None:
    game = azcore.make("chess_plain")
    picture = draw(game, game.initial_state())
    lines = [text.text for text in parsed(picture).iter(f"{SVG}text")]
    assert lines[0] == "r n b q k b n r"
    assert len(picture.listed) == 20
    assert picture.targets == {}
    assert dict(picture.listed)[game.text_to_action(game.initial_state(), "e2e4")] == "e2e4"
    assert film(game, [game.initial_state()]) is None


def test_last_actions_checks_and_lines_are_marked_by_more_than_colour() -> None:
    game = azcore.make("chess")
    state = game.initial_state()
    for move in ("e2e4", "e7e5", "d1h5", "g8f6", "h5f7"):
        state = game.step(state, game.text_to_action(state, move))
    picture = draw(game, state)
    under = next(g for g in parsed(picture).iter() if g.get("class") == "az-under")
    assert [rect.get("stroke-dasharray") for rect in under] == ["14 9", None, None]
    over = next(g for g in parsed(picture).iter() if g.get("class") == "az-over")
    assert [text.text for text in over.iter(f"{SVG}text")] == ["+"]


# -- kinds of boards -----------------------------------------------------------------------------


def layout(kind: str, **changes: Any) -> Layout:
    facts: dict[str, Any] = {
        "kind": kind,
        "columns": ("a", "b", "c"),
        "rows": ("1", "2", "3"),
        "colours": ("red", "blue"),
        "roles": {"man": Role(name="man", letter="M")},
    }
    return Layout(**facts | changes)


def middle(box: tuple[float, float, float, float]) -> complex:
    left, top, width, height = box
    return complex(left + width / 2, top + height / 2)


@pytest.mark.parametrize("flip", [False, True])
def test_a_hexagon_has_six_neighbours_at_one_distance(flip: bool) -> None:
    board = Board(layout=layout("hexagons"), pieces=(), to_move=0, actions={}, last=("b2",))
    picture = draw_board(board, ("red", "blue"), flip=flip)
    at = {place: middle(box) for place, box in picture.targets.items()}
    near = {place for place in at if place != "b2" and abs(at[place] - at["b2"]) < 110}
    assert near == {"a2", "c2", "b1", "c1", "a3", "b3"}
    assert all(abs(abs(at[place] - at["b2"]) - 100) < 1 for place in near)
    assert ((at["b3"] - at["b2"]).real > 0) == (not flip)
    [mark] = [path for g in parsed(picture) if g.get("class") == "az-under" for path in g]
    assert mark.get("d", "").count("L") == 5


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("kind", ["cells", "hexagons", "gaps"])
def test_borders_turn_with_the_board_and_meet_at_its_corners(kind: str, flip: bool) -> None:
    borders = {"above": 0, "right": 1, "below": 0, "left": 1}
    board = Board(layout=layout(kind, borders=borders), pieces=(), to_move=0, actions={})
    picture = draw_board(board, ("red", "blue"), flip=flip, theme="light")
    lines = [
        (
            path.get("stroke"),
            [tuple(map(float, at.split())) for at in path.get("d", "")[1:].split("L")],
        )
        for path in parsed(picture)
        if path.get("stroke") in (BODIES["red"][0], BODIES["blue"][0])
    ]
    assert [colour for colour, _ in lines] == [BODIES["red"][0], BODIES["blue"][0]] * 2
    ends = [(points[0], points[-1]) for _, points in lines]
    assert [end for _, end in ends] == [ends[(i + 1) % 4][0] for i in range(4)]
    above, below = (max(y for _, y in lines[i][1]) for i in (0, 2))
    assert (above < below) == (not flip)


def test_a_piece_between_points_is_a_bar_along_its_line() -> None:
    places = ("a1b1", "a1a2", "a1b2")
    pieces = tuple(Piece(place, 0, "man") for place in places)
    board = Board(layout=layout("lines"), pieces=pieces, to_move=1, actions={7: ("c1c2",)})
    picture = draw_board(board, ("red", "blue"))
    root = parsed(picture)
    drawn = {element.get("id"): element for element in root.iter() if element.get("id")}
    group = next(g for g in root.iter() if g.get("class") == "az-pieces")
    shapes = []
    for use in group:
        [shape, *_] = drawn[use.get("href", "")[1:]]
        shapes.append((shape.tag.removeprefix(SVG), shape.get("width"), shape.get("height")))
    assert shapes == [("rect", "122", "18"), ("rect", "18", "122"), ("g", None, None)]
    assert "Red man a1b1, a1a2, a1b2." in words_of(picture)
    # The points themselves are too small to click, but boxes can hold pieces.
    assert len(picture.targets) == 25 - 9
    assert picture.targets["c1c2"][2:] == (40, 100)
    assert picture.targets["b2c3"][2:] == (100, 100)


def test_three_bars_in_a_row_of_gaps_are_a_wall_without_a_break() -> None:
    pieces = tuple(Piece(place, 0, "man") for place in ("a1a2", "a1b2", "b1b2"))
    board = Board(layout=layout("gaps"), pieces=pieces, to_move=1, actions={})
    picture = draw_board(board, ("red", "blue"))
    root = parsed(picture)
    drawn = {element.get("id"): element for element in root.iter() if element.get("id")}
    group = next(g for g in root.iter() if g.get("class") == "az-pieces")
    spans = []
    for use in group:
        half = float(drawn[use.get("href", "")[1:]][0].get("width", "")) / 2
        spans.append((float(use.get("x", "")) - half, float(use.get("x", "")) + half))
    assert [end for _, end in spans[:2]] == [start for start, _ in spans[1:]]


# -- layers --------------------------------------------------------------------------------------


def layer_of(picture: Picture) -> list[ElementTree.Element]:
    return [e for g in parsed(picture).iter() if g.get("class") == "az-layers" for e in g]


def test_heat_is_a_disc_on_a_point_and_an_arrow_between_cells() -> None:
    game = azcore.make("go", board_size=5)
    board = game.board(game.initial_state())
    assert board is not None
    hints = heat_of(board, {12: 0.6, 0: 0.3, 25: 0.1, 3: 0.001})  # 25 is a pass, 3 too faint
    assert [(hint.path, hint.weight, hint.text) for hint in hints] == [
        (("C3",), 1.0, "60"),
        (("A5",), 0.5, "30"),
    ]
    drawn = layer_of(draw(game, game.initial_state(), layers=Layers(heat=hints)))
    assert [e.tag.removeprefix(SVG) for e in drawn] == ["circle", "text"] * 2
    assert [e.text for e in drawn if e.text] == ["30", "60"]  # the strongest on top

    game, state, board = board_of("chess", "8/4P1k1/8/8/8/8/6K1/8 w - - 0 1")
    shares = {game.text_to_action(state, move): 0.3 for move in ("e7e8q", "e7e8r", "g2g3")}
    hints = heat_of(board, shares)
    assert [(hint.path, hint.text) for hint in hints] == [
        (("e7", "e8"), "60"),
        (("g2", "g3"), "30"),
    ]
    drawn = layer_of(draw(game, state, layers=Layers(heat=hints)))
    assert [e.tag.removeprefix(SVG) for e in drawn] == ["path", "circle", "text"] * 2


def test_a_line_is_numbered_and_short() -> None:
    game, state, _ = board_of("shogi", HANDS)
    first = game.text_to_action(state, "P*5e")
    then = game.text_to_action(game.step(state, first), "4b4a")
    hints = line_of(game, state, [first, then])
    assert [(hint.path, hint.text, hint.seat) for hint in hints] == [
        (("*P", "5e"), "1", 1),
        (("4b", "4a"), "2", 0),
    ]
    drawn = layer_of(draw(game, state, layers=Layers(line=hints)))
    assert [e.text for e in drawn if e.text] == ["2", "1"]
    assert len(line_of(game, state, [first, then], most=1)) == 1


def test_owners_are_squares_as_large_as_they_are_sure() -> None:
    game = azcore.make("go", board_size=3)
    layers = Layers(owner={"A1": 1.0, "B2": -0.25, "C3": 0.0}, labels={"C3": "x"})
    drawn = layer_of(draw(game, game.initial_state(), layers=layers))
    sides = [float(e.get("width", "")) for e in drawn if e.tag == f"{SVG}rect"]
    assert sides == [46, 23]
    assert len({e.get("fill") for e in drawn[:2]}) == 2
    assert drawn[-1].text == "x"


def test_refuses_unknown_places_and_themes() -> None:
    game = azcore.make("tic_tac_toe")
    state = game.initial_state()
    for layers in (Layers(labels={"e4": "x"}), Layers(owner={"e4": 1.0})):
        with pytest.raises(GameError, match="must be a place, a3 to c1, got 'e4'"):
            draw(game, state, layers=layers)
    with pytest.raises(GameError, match="theme must be one of auto, light, dark, got 'sepia'"):
        draw(game, state, theme="sepia")


# -- films ---------------------------------------------------------------------------------------


def plies_of(element: ElementTree.Element) -> set[int]:
    """When an element of a film is seen; the attribute is taken away."""
    spans = [span.split("-") for span in element.attrib.pop("data-on").split()]
    return {ply for ends in spans for ply in range(int(ends[0]), int(ends[-1]) + 1)}


@pytest.mark.parametrize(("name", "settings"), [g for g in GAMES if g[0] != "chess_plain"])
def test_a_film_shows_what_pictures_show(name: str, settings: dict[str, Any]) -> None:
    game = azcore.make(name, **settings)
    states = random_states(game, 60, np.random.default_rng(7))
    whole = film(game, states)
    assert whole is not None
    root = parsed(whole)
    parts = {part: [] for part in ("under", "shadows", "pieces", "over", "hands")}
    for group in root.iter(f"{SVG}g"):
        part = group.get("class", "").removeprefix("az-")
        if part in parts:
            for element in group:
                plies = plies_of(element)
                assert (element.attrib.pop("visibility", "") != "hidden") == (0 in plies)
                for key in ("data-what", "data-where"):
                    element.attrib.pop(key, None)
                parts[part].append((plies, ElementTree.tostring(element)))
    for ply, state in enumerate(states):
        one = parsed(draw(game, state))
        for part, elements in parts.items():
            shown = sorted(text for plies, text in elements if ply in plies)
            groups = [g for g in one.iter(f"{SVG}g") if g.get("class") == f"az-{part}"]
            assert shown == sorted(ElementTree.tostring(e) for g in groups for e in g), (ply, part)


def test_a_film_writes_a_standing_piece_once() -> None:
    game = azcore.make("go", board_size=19)
    states = [game.initial_state()]
    for ply in range(240):  # Black from the top, White from the bottom
        states.append(game.step(states[-1], 360 - ply // 2 if ply % 2 else ply // 2))
    whole = film(game, states)
    assert whole is not None
    assert whole.svg.count('data-what="black stone"') == 120
    assert 'data-on="1-240"' in whole.svg
    assert len(whole.svg) < 100_000


def test_a_film_shows_heat_and_owners_of_its_first_positions() -> None:
    game = azcore.make("go", board_size=5)
    states = [game.initial_state()]
    for action in (12, 0):
        states.append(game.step(states[-1], action))
    cells = np.zeros((5, 5), np.float32)
    cells[4, 0] = -1.0  # A1
    whole = film(game, states, heat=[{12: 0.6, 25: 0.4}, {0: 1.0}], owners=[cells, None, cells])
    assert whole is not None
    groups = {g.get("class"): g for g in parsed(whole).iter(f"{SVG}g")}
    heat, owner = list(groups["az-heat"]), list(groups["az-owner"])
    assert [plies_of(e) for e in (*heat, *owner)] == [{0}, {1}, {0, 2}]
    assert groups["az-heat"].get("visibility") == groups["az-owner"].get("visibility") == "hidden"
    targets = draw(game, states[0]).targets
    for element, place in zip((*heat, *owner), ("C3", "A5", "A1"), strict=True):
        left, top, width, height = targets[place]
        at = float(element.get("x", "")), float(element.get("y", ""))
        assert at == (left + width / 2, top + height / 2)
    assert heat[0].get("href") == heat[1].get("href")  # the strongest of its ply, both


def test_a_film_draws_arrows_of_moves_between_cells() -> None:
    game = azcore.make("chess")
    state = game.initial_state()
    moves = [game.text_to_action(state, move) for move in ("e2e4", "d2d4", "g1f3")]
    whole = film(game, [state], heat=[dict(zip(moves, (0.5, 0.5, 0.01), strict=True))])
    assert whole is not None
    root = parsed(whole)
    (heat,) = [g for g in root.iter(f"{SVG}g") if g.get("class") == "az-heat"]
    names = [use.get("href", "")[1:] for use in heat]
    assert len(names) == 3
    assert len(set(names)) == 2  # the same arrow from two places
    shapes = [g for g in root.iter(f"{SVG}g") if g.get("id") in names]
    assert {shape[0].tag for shape in shapes} == {f"{SVG}path"}


def test_bare_films_share_what_they_draw() -> None:
    game = azcore.make("shogi")
    states = random_states(game, 9, np.random.default_rng(2))
    films = [film(game, some, bare=True) for some in (states[:1], states)]
    bare = [one for one in films if one is not None]
    used = set(re.findall(r'href="#([^"]+)"', "".join(one.svg for one in bare)))
    page = shared(bare)
    made = re.findall(r' id="([^"]+)"', page)
    assert used <= set(made)
    assert len(set(made)) == len(made)
    assert not re.search(r"<defs|<style| id=", "".join(one.svg for one in bare))
    whole = film(game, states)
    assert whole is not None
    assert len(bare[1].svg) + 15_000 < len(whole.svg)


# -- files ---------------------------------------------------------------------------------------


def size_of_png(path: Path) -> tuple[int, int]:
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])


def test_a_picture_becomes_a_file(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    game = azcore.make("tic_tac_toe")
    picture = draw(game, game.initial_state(), theme="light")
    save(picture, tmp_path / "board.svg")
    assert (tmp_path / "board.svg").read_text() == picture.svg
    save(picture, tmp_path / "board.PNG", 120)
    width, height = size_of_png(tmp_path / "board.PNG")
    assert (width, height) == (120, round(120 * picture.height / picture.width))


def test_other_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = azcore.make("tic_tac_toe")
    picture = draw(game, game.initial_state(), theme="light")
    with pytest.raises(SettingError, match=r"must end in \.svg or \.png, got .*board\.gif"):
        save(picture, tmp_path / "board.gif")
    with pytest.raises(SettingError, match=r"none/board\.svg cannot be written: No such file"):
        save(picture, tmp_path / "none" / "board.svg")
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(SettingError, match=r'resvg-py: pip install "azcore\[png\]"; SVG needs'):
        save(picture, tmp_path / "board.png")
    assert list(tmp_path.iterdir()) == []


def test_pictures_of_different_games_can_share_a_page() -> None:
    defined: dict[str, bytes] = {}
    for name, settings in GAMES:
        game = azcore.make(name, **settings)
        for state in random_states(game, 3, np.random.default_rng(5)):
            for theme in ("auto", "dark"):
                for element in parsed(draw(game, state, theme=theme)).iter():
                    if element.get("id"):
                        text = ElementTree.tostring(element)
                        assert defined.setdefault(element.get("id", ""), text) == text


def test_a_notebook_shows_a_picture_of_moderate_size() -> None:
    game = azcore.make("tic_tac_toe")
    shown = draw(game, game.initial_state())._repr_html_()
    assert shown.startswith('<div style="max-width:30rem"><svg ')
    assert draw(game, game.initial_state())._repr_svg_() in shown
