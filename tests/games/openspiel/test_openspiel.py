"""Every game of OpenSpiel: played by the contract, or refused in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.commands.train import train
from azcore.errors import GameError, IllegalActionError, InvalidTextError
from azcore.game import Game
from azcore.testing import check_game, perft

pyspiel = pytest.importorskip("pyspiel")

PAGE = (Path(__file__).parents[3] / "docs/openspiel.md").read_text()
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|$", PAGE, re.MULTILINE))
PLAYED = sorted(name for name, verdict in ROWS.items() if verdict.startswith("plays"))
GRIDS = ("go", "gomoku", "havannah", "hex", "mnk", "othello", "tic_tac_toe", "y")
LINES = ("dots_and_boxes",)
REFUSED = sorted(set(ROWS) - set(PLAYED))


def make(spiel_id: str, **settings: Any) -> Game:
    return azcore.make("openspiel", id=spiel_id, **settings)


def played(game: Game, *texts: str) -> Any:
    state = game.initial_state()
    for text in texts:
        state = game.step(state, game.text_to_action(state, text))
    return state


def test_the_page_lists_every_game_of_openspiel() -> None:
    assert sorted(ROWS) == sorted(pyspiel.registered_names())
    assert len(PLAYED) > 30


def test_every_game_keeps_the_contract_for_a_few_plies() -> None:
    for name in PLAYED:
        game = make(name, max_plies=12)  # so short that each ends
        assert check_game(game, num_positions=12, seconds=1).positions >= 3, name
        shape = f"{game.num_actions:,} actions, {'×'.join(map(str, game.observation_shape))}"
        assert ROWS[name] == f"plays: {shape}"


# A grid, none, the same seat twice in a row, long games, many actions, many draws.
KINDS = ("othello", "nim", "dots_and_boxes", "chess", "lines_of_action", "tic_tac_toe")


@pytest.mark.parametrize("name", KINDS)
def test_keeps_the_contract_in_whole_games(name: str) -> None:
    assert check_game(make(name), num_positions=200, seconds=10).positions >= 20


@pytest.mark.long(
    short="tests/games/openspiel/test_openspiel.py::test_keeps_the_contract_in_whole_games"
)
def test_every_game_keeps_the_contract_in_whole_games() -> None:
    for name in PLAYED:
        assert check_game(make(name), num_positions=400, seconds=30).positions >= 20, name


def test_other_games_are_refused_in_words() -> None:
    for name in REFUSED:
        with pytest.raises(GameError, match=r"^[^\n]*$") as refusal:
            make(name)
        assert ROWS[name] in str(refusal.value)


@pytest.mark.parametrize(
    ("spiel_id", "words"),
    [
        ("hexx", "no game named 'hexx'; did you mean hex?"),
        ("", "no game named ''"),
        ("hex(", "cannot be loaded: Missing closing bracket"),
        ("hex(bord_size=3)", "cannot be loaded: Unknown parameter 'bord_size'"),
        ("hex(board_size=-3)", "its observation tensor has shape [9, -3, -3]"),
        ("hex(board_size=300)", "it has 90,000 actions, want 1 to 65,536"),
        ("clobber(rows=1,columns=1)", "it is over before the first move"),
        ("chess(chess960=True)", "it begins with a move of chance, want none"),
        ("chinese_checkers(players=3)", "it is for 3 players, want 2"),
        ("go(board_size=1)", "cannot be loaded: unsupported board size"),
        ("misere(game=efg_game(filename=/etc/passwd))", "it reads a file"),
    ],
)
def test_refuses_these_parameters(spiel_id: str, words: str) -> None:
    with pytest.raises(GameError, match=re.escape(words)):
        make(spiel_id)


def test_refuses_other_settings() -> None:
    with pytest.raises(GameError, match="id must be text such as"):
        make(7)  # type: ignore[arg-type]
    with pytest.raises(GameError, match=r"max_plies must be a whole number, 1 to 10,000, got 0"):
        make("hex", max_plies=0)


@pytest.mark.parametrize(
    "spiel_id",
    [
        "misere(game=tic_tac_toe())",
        "start_at(history=0;1;2,game=tic_tac_toe())",  # player 1 begins
        "dots_and_boxes(utility_margin=True)",
        "nim(pile_sizes=2;3)",
    ],
)
def test_plays_with_parameters(spiel_id: str) -> None:
    check_game(make(spiel_id), num_positions=60)


def test_the_first_to_move_is_seat_0_whoever_that_is() -> None:
    """OpenSpiel's player 1 begins here, and wins the middle column."""
    game = make("start_at(history=0;1;2,game=tic_tac_toe())")
    state, seats = game.initial_state(), []
    for action in (4, 3, 7):
        seats.append(game.current_player(state))
        state = game.step(state, action)
    assert seats == [0, 1, 0]
    assert (game.is_terminal(state), game.outcome(state)) == (True, 1)


def test_agrees_with_our_own_game() -> None:
    ours = azcore.make("tic_tac_toe")
    report = check_game(ours, oracle=make("tic_tac_toe"), num_positions=300)
    assert report.seat_0_wins
    assert report.seat_1_wins
    assert perft(make("tic_tac_toe"), 5) == perft(ours, 5)


def test_seats_are_turned_where_player_1_begins() -> None:
    game = make("chess")
    assert game.initial_state().current_player() == 1  # OpenSpiel's number of White
    assert game.current_player(game.initial_state()) == 0
    mated = played(game, "f3", "e5", "g4", "Qh4#")
    assert game.is_terminal(mated)
    assert game.outcome(mated) == -1
    assert game.termination(mated) == "second player won"
    assert game.current_player(mated) == 0  # would move next
    assert perft(game, 3) == 8902


def test_the_last_plane_tells_who_moves() -> None:
    game = make("breakthrough")
    state = game.initial_state()
    assert not game.observation(state)[-1].any()
    state = game.step(state, int(np.flatnonzero(game.legal_action_mask(state))[0]))
    assert (game.observation(state)[-1] == 255).all()


def test_shares_become_whole_numbers() -> None:
    game = make("chess")  # counts plies without a capture as 1/101 each
    planes = game.observation(played(game, "Nf3", "Nf6"))
    assert {0, 255, round(255 * 2 / 101)} <= set(np.unique(planes).tolist())


def test_counts_stay_counts() -> None:
    game = make("mancala")
    assert game.observation_shape == (2, 1, 16)
    assert game.observation(game.initial_state())[0, 0, :3].tolist() == [0, 4, 4]


def test_a_long_game_is_a_draw() -> None:
    game = make("hex(board_size=5)", max_plies=3)
    state = game.initial_state()
    for action in (0, 1, 2):
        assert not game.is_terminal(state)
        state = game.step(state, action)
    assert game.is_terminal(state)
    assert (game.outcome(state), game.termination(state)) == (0, "too many plies")
    assert not game.legal_action_mask(state).any()


def test_texts() -> None:
    game = make("cursor_go(board_size=5)")
    state = played(game, "Place_Stone")  # a text with a blank
    assert re.fullmatch(r"1: \d", game.state_to_text(state))
    assert game.text_to_action(state, "#0") == 0
    with pytest.raises(IllegalActionError, match=r"#77 \(action 77\)|0 to 5, got 77"):
        game.text_to_action(state, "#77")
    with pytest.raises(InvalidTextError, match=r"OpenSpiel's text .* got 'z9'"):
        game.text_to_action(state, "z9")
    for text in ("1:", "2: 0", "1: 99", "1: 0 ", "1:  0", "0", "-1:", "1: \u0660"):
        with pytest.raises(InvalidTextError):
            game.state_from_text(text)


def test_boards_where_actions_are_cells_of_a_grid_or_lines() -> None:
    for name in PLAYED:
        game = make(name)
        has_board = name in GRIDS + LINES
        assert game.has_board == has_board
        assert (game.board(game.initial_state()) is not None) == has_board
    assert not make("hex(swap=True,board_size=4)").has_board  # a swap is no pass


def test_a_board_shows_flips_captures_and_passes() -> None:
    game = make("othello")
    board = game.board(played(game, "d3"))
    assert board is not None
    assert {(piece.place, piece.seat) for piece in board.pieces} == {
        ("d3", 0), ("d4", 0), ("d5", 0), ("e4", 0), ("e5", 1)
    }  # fmt: skip
    assert (board.last, board.to_move) == (("d3",), 1)
    game = make("go(board_size=5)")
    state = played(game, "B_b1", "W_a1", "B_a2", "W_PASS")
    board = game.board(state)
    assert board is not None
    assert sorted((piece.place, piece.seat) for piece in board.pieces) == [("a2", 0), ("b1", 0)]
    assert board.actions[25] == ("pass",)
    assert board.note == "the last move was a pass"
    assert game.state_to_text(state) == ".x.../x..../...../...../..... 4: 1 0 5 25"
    with pytest.raises(InvalidTextError, match=r"lead to \.x\.\.\./x"):
        game.state_from_text(".x.../...../...../...../..... 4: 1 0 5 25")


def test_hexagons_have_sides_that_belong_to_the_players_who_connect_them() -> None:
    game = make("hex(board_size=3)")
    state = played(game, "a1", "b1", "a2", "b2", "a3")
    board = game.board(state)
    assert board is not None
    assert board.layout.kind == "hexagons"
    assert game.outcome(state) == 1
    down = [piece.place for piece in board.pieces if piece.seat == 0]
    assert down == ["a1", "a2", "a3"]
    assert [side for side, seat in board.layout.borders.items() if seat == 0] == ["above", "below"]


def test_lines_between_points_and_the_boxes_that_they_enclose() -> None:
    game = make("dots_and_boxes(num_rows=1,num_cols=2)")
    state = played(game, "P1(h,0,0)", "P2(h,1,0)", "P1(v,0,0)", "P2(v,0,1)")
    board = game.board(state)
    assert board is not None
    assert {(piece.place, piece.seat, piece.role) for piece in board.pieces} == {
        ("a1b1", 0, "line"), ("a2b2", 1, "line"), ("a1a2", 0, "line"), ("b1b2", 1, "line"),
        ("a1b2", 1, "box"),
    }  # fmt: skip
    assert (board.last, board.to_move) == (("b1b2",), 1)  # whoever closes a box moves again
    assert set(board.actions.values()) == {("b1c1",), ("b2c2",), ("c1c2",)}
    assert game.state_to_text(state) == ".x.../xoo../.o... 4: 0 2 4 5"
    assert game.text_to_action(state, "P2(v,0,2)") == 6
    assert board.actions[6] == ("c1c2",)


def test_pictures_have_no_colours_of_a_terminal() -> None:
    game = make("twixt")
    assert "\x1b" in str(game.initial_state())
    assert "\x1b" not in game.render(game.initial_state())


@pytest.mark.parametrize("spiel_id", ["hex(board_size=3)", "nim"])
def test_trains(tiny: Callable[..., dict[str, Any]], tmp_path: Path, spiel_id: str) -> None:
    config = tiny("game=openspiel", f"game.id='{spiel_id}'", "trainer.max_steps=8", "run_dir=run")
    assert train(config) == 0
    assert (tmp_path / "run/report.html").is_file()
