"""The texts of chess: moves, positions, drawn boards, PGN and books."""

from __future__ import annotations

import io
import math
import struct
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import chess.polyglot
import numpy as np
import pytest

import azcore
from azcore.errors import AmbiguousTextError, GameError, IllegalActionError, InvalidTextError
from azcore.game import Transcript
from azcore.storage.transcripts import format_named
from azcore.testing import random_game
from transcript_kit import actions_read, transcript_text

notation, books = (import_module(f"azcore.games.chess.{name}") for name in ("notation", "book"))
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


def played(game: Any, state: Any, moves: str) -> Any:
    for move in moves.split():
        state = game.step(state, game.text_to_action(state, move))
    return state


# -- moves -------------------------------------------------------------------------------------


def test_every_action_has_a_text_of_its_own() -> None:
    game = azcore.make("chess")
    for text in (START, "r3k2r/1P6/8/8/8/8/1p6/R3K2R b KQkq - 0 1"):
        state = game.state_from_text(text)
        texts = [game.action_to_text(state, action) for action in range(game.num_actions)]
        assert len(set(texts)) == game.num_actions
        assert all(text.isascii() and text.isprintable() for text in texts)


@pytest.mark.parametrize(
    ("text", "uci"),
    [
        ("e2e4", "e2e4"),
        (" e2e4\n", "e2e4"),
        ("E2E4", "e2e4"),
        ("e4", "e2e4"),
        ("e2-e4", "e2e4"),
        ("Nf3", "g1f3"),
        ("Ngf3", "g1f3"),
        ("N1f3", "g1f3"),
        ("Ng1f3", "g1f3"),
        ("Nf3+", "g1f3"),  # a sign of check that is not so is forgiven
    ],
)
def test_moves_are_read_as_people_write_them(text: str, uci: str) -> None:
    game = azcore.make("chess")
    state = game.initial_state()
    assert game.action_to_text(state, game.text_to_action(state, text)) == uci


@pytest.mark.parametrize(
    ("position", "text", "uci"),
    [
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "O-O", "e1g1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "0-0-0", "e1c1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "O-O-O", "e8c8"),
        ("r3k3/1P6/8/8/8/8/8/4K3 w - - 0 1", "bxa8=N", "b7a8n"),
        ("r3k3/1P6/8/8/8/8/8/4K3 w - - 0 1", "b8Q+", "b7b8q"),
        ("r3k3/1P6/8/8/8/8/8/4K3 w - - 0 1", "b7b8Q", "b7b8q"),
        ("4k3/8/8/2p5/1P6/8/8/4K3 w - - 0 1", "bxc5", "b4c5"),
        ("4k3/8/8/2p5/1P1B4/8/8/4K3 w - - 0 1", "B4c5", "d4c5"),  # a bishop, so not b4c5
        ("4k3/8/8/2p5/1P1B4/8/8/4K3 w - - 0 1", "B4xc5", "d4c5"),
        ("4k3/8/8/2p5/1P1B4/8/8/4K3 w - - 0 1", "b4c5", "b4c5"),
    ],
)
def test_special_moves_in_san(position: str, text: str, uci: str) -> None:
    game = azcore.make("chess")
    state = game.state_from_text(position)
    action = game.text_to_action(state, text)
    assert game.action_to_text(state, action) == uci


@pytest.mark.parametrize(
    "text", ["", "e2", "e2e9", "i2i4", "e2e4e5", "e7e8k", "Zf3", "Nf9", "O-O-O-O", "--", "0000"]
)
def test_what_is_no_move_is_refused(text: str) -> None:
    game = azcore.make("chess")
    wanted = IllegalActionError if text == "e2" else InvalidTextError  # a pawn's move to e2
    with pytest.raises(wanted, match="chess: "):
        game.text_to_action(game.initial_state(), text)


@pytest.mark.parametrize("text", ["e2e5", "e7e5", "e1g1", "a1a1", "e2e4q", "Nd2", "exd3", "O-O"])
def test_illegal_moves_are_named(text: str) -> None:
    game = azcore.make("chess")
    with pytest.raises(IllegalActionError, match=f"chess: {text} is not legal here"):
        game.text_to_action(game.initial_state(), text)


@pytest.mark.parametrize(
    ("position", "text", "message"),
    [
        ("4k3/8/8/8/8/5N2/8/1N2K3 w - - 0 1", "Nd2", "Nd2 may mean any of N(bd2, Nfd2|fd2, Nbd2)"),
        ("4k3/8/8/8/R7/8/8/R3K3 w - - 0 1", "Ra2", "R(1a2, R4a2|4a2, R1a2)"),
        ("r3k3/1P6/8/8/8/8/8/4K3 w - - 0 1", "b8", "b8 needs the piece .* such as b8=Q"),
        ("r3k3/1P6/8/8/8/8/8/4K3 w - - 0 1", "bxa8+", "needs the piece .* such as bxa8=Q"),
        ("r3k3/1P6/8/8/8/8/8/4K3 w - - 0 1", "b7b8", "b7b8 needs the piece .* such as b7b8q"),
    ],
)
def test_ambiguous_moves_are_refused(position: str, text: str, message: str) -> None:
    game = azcore.make("chess")
    with pytest.raises(AmbiguousTextError, match=message):
        game.text_to_action(game.state_from_text(position), text)


def test_moves_are_written_in_san() -> None:
    game = azcore.make("chess")
    rng = np.random.default_rng(4)
    state = game.initial_state()
    for action in random_game(game, rng)[:120]:
        san = game.action_to_notation(state, action)
        assert game.text_to_action(state, san) == action
        state = game.step(state, action)
    with pytest.raises(IllegalActionError, match="not legal"):
        game.action_to_notation(game.initial_state(), 0)
    mate = played(game, game.initial_state(), "f2f3 e7e5 g2g4")
    assert game.action_to_notation(mate, game.text_to_action(mate, "d8h4")) == "Qh4#"


# -- positions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moves", "text"),
    [
        ("", START),
        ("e2e4", "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"),
        ("g1f3 g8f6", "rnbqkb1r/pppppppp/5n2/8/8/5N2/PPPPPPPP/RNBQKB1R w KQkq - 2 2"),
        (
            "e2e4 a7a6 e4e5 d7d5",  # the capture e5d6 is legal: its cell is named
            "rnbqkbnr/1pp1pppp/p7/3pP3/8/8/PPPP1PPP/RNBQKBNR w KQkq d6 0 3",
        ),
    ],
)
def test_positions_are_fen(moves: str, text: str) -> None:
    game = azcore.make("chess")
    state = played(game, game.initial_state(), moves)
    assert game.state_to_text(state) == text
    assert game.state_to_text(game.state_from_text(text)) == text


def test_fen_may_lack_its_counters_or_name_a_useless_cell() -> None:
    game = azcore.make("chess")
    state = game.state_from_text(" ".join(START.split()[:4]))
    assert game.state_to_text(state) == START
    state = game.state_from_text("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1")
    assert game.state_to_text(state).split()[3] == "-"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("0", "0 1"),
        ("0 0", "0 1"),
        ("12 300", "12 1"),  # no ply to play is left there
        ("12 257", "12 257"),  # the end, where games of azcore may stand
        ("120 60", "100 60"),
    ],
)
def test_counters_of_a_fen_are_what_others_write(given: str, kept: str) -> None:
    game = azcore.make("chess")
    state = game.state_from_text(f"4k3/7p/8/8/8/8/8/4K3 w - - {given}")
    assert game.state_to_text(state).split(" ", 4)[4] == kept


@pytest.mark.parametrize("name", ["chess", "chess_plain"])
@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("4k3/7p/8/8/8/8/8/4K3 w KQkq - 0 1", "- -"),
        ("4k3/8/8/8/8/8/8/4K2R w QKqk - 0 1", "K -"),
        ("r3k2r/8/8/8/8/8/8/3K3R b KQkq - 0 1", "kq -"),  # White's king is not at home
        ("4k3/7p/8/8/8/8/8/4K3 w - e6 0 1", "- -"),  # no pawn has passed it
        ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "- d6"),
        ("4k3/8/3n4/3pP3/8/8/8/4K3 w - d6 0 1", "- -"),  # something stands there
        ("4k3/8/8/3pP3/8/8/8/4K3 w - d3 0 1", "- -"),  # the wrong side's
        ("4k3/8/8/8/3pP3/8/8/4K3 b - e3 5 40", "- e3"),
    ],
)
def test_what_cannot_be_is_dropped_as_others_drop_it(name: str, given: str, kept: str) -> None:
    """GUIs write rights and en passant that are none; python-chess says which."""
    game = azcore.make(name)
    state = game.state_from_text(given)
    assert " ".join(game.state_to_text(state).split()[2:4]) == kept
    board = chess.Board(given)
    if not board.status() & chess.STATUS_INVALID_EP_SQUARE:
        legal = {move.uci() for move in board.legal_moves}
        actions = np.flatnonzero(game.legal_action_mask(state)).tolist()
        assert {game.action_to_text(state, action) for action in actions} == legal


def test_positions_keep_their_legal_actions() -> None:
    game = azcore.make("chess")
    for seed in range(4):
        state = game.initial_state()
        for action in random_game(game, np.random.default_rng(seed)):
            again = game.state_from_text(game.state_to_text(state))
            assert np.array_equal(game.legal_action_mask(again), game.legal_action_mask(state))
            assert game.state_to_text(again) == game.state_to_text(state)
            state = game.step(state, action)


KINGS = "4k3/8/8/8/8/8/8/4K3"
EMPTY = "8/8/8/8/8/8"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "0 words"),
        (KINGS, "1 words"),
        (f"{KINGS} w -", "3 words"),
        (f"{KINGS} w - - 0 1 x", "7 words"),
        ("4k3/8/8/8/8/8/4K3 w - - 0 1", "8 rows, got 7"),
        ("4k3/8/8/8/8/8/8/4K4 w - - 0 1", "rank 1 must be 8 cells"),
        ("4k3/8/8/8/8/8/9/4K3 w - - 0 1", "rank 2 must be 8 cells"),
        ("4k3/8/8/8/8/8/44/4K3 w - - 0 1", "rank 2 has two digits"),
        ("4k3/8/x7/8/8/8/8/4K3 w - - 0 1", "rank 6 must be 8 cells"),
        ("4k3/8/......../8/8/8/8/4K3 w - - 0 1", "rank 6 must be 8 cells"),
        (f"{KINGS} x - - 0 1", "w or b, got 'x'"),
        (f"{KINGS} wb - - 0 1", "w or b, got 'wb'"),
        (f"{KINGS} w KK - 0 1", "castling must be - or some of KQkq, got 'KK'"),
        (f"{KINGS} w - e4 0 1", "en passant must be"),
        ("8/8/8/8/8/8/8/4K3 w - - 0 1", "no black king"),
        ("4k3/8/8/8/8/8/8/8 w - - 0 1", "no white king"),
        ("4k3/8/8/8/8/8/4K3/4K3 w - - 0 1", "too many kings"),
        ("4k3/8/8/8/8/8/8/P3K3 w - - 0 1", "a pawn on the first or last rank"),
        ("4k3/8/8/8/8/8/8/K3R3 w - - 0 1", "not to move in check"),
        ("8/8/8/8/8/8/8/4Kk2 w - - 0 1", "in check"),
        ("4k3/8/P7/P7/P7/P7/PPPPP3/4K3 w - - 0 1", "too many white pawns"),
        (f"{KINGS} w - - -1 1", "progress must be a number, got '-1'"),
        (f"{KINGS} w - - ٣ 1", "progress must be a number, got '٣'"),
        (f"{KINGS} w - - 0 x", "move number must be a number, got 'x'"),
        (f"bqnbnrkr/{EMPTY}/BQNBNRKR w KQkq - 0 1", "a position of Chess960"),
        (f"{KINGS} w - - 0 1?", "got '1"),
    ],
)
def test_what_is_no_position_is_refused(text: str, message: str) -> None:
    game = azcore.make("chess")
    with pytest.raises(InvalidTextError, match=message):
        game.state_from_text(text)


def test_boards_are_drawn() -> None:
    game = azcore.make("chess")
    state = played(game, game.initial_state(), "e2e4 e7e5 f1c4 b8c6 d1h5 g8f6")
    assert game.render(state) == "\n".join(
        [
            "   a b c d e f g h",
            " 8 r . b q k b . r 8",
            " 7 p p p p . p p p 7",
            " 6 . . n . . n . . 6",
            " 5 . . . . p . . Q 5",
            " 4 . . B . P . . . 4",
            " 3 . . . . . . . . 3",
            " 2 P P P P . P P P 2",
            " 1 R N B . K . N R 1",
            "   a b c d e f g h",
            "Move 4, White to move, after g8f6",
        ]
    )
    state = played(game, state, "h5f7")
    assert game.render(state).endswith("The game is over, after h5f7: checkmate, 1-0")
    check = played(game, game.initial_state(), "e2e4 f7f6 d1h5")
    assert game.render(check).endswith("Move 2, Black to move, in check, after d1h5")


# -- PGN ---------------------------------------------------------------------------------------


def test_games_survive_pgn() -> None:
    game = azcore.make("chess")
    for seed in range(3):
        actions = random_game(game, np.random.default_rng(seed))
        text = transcript_text(
            game, "pgn", actions, comments=["first {move}", "", "[third] ; 1-0 *"]
        )
        assert actions_read(game, "pgn", text) == actions
        state = game.initial_state()
        for action in actions:
            state = game.step(state, action)
        result = {1: "1-0", 0: "1/2-1/2", -1: "0-1"}[game.outcome(state)]
        assert f'[Result "{result}"]' in text
        assert f'[Termination "{game.termination(state)}"]' in text
        assert "{ first \\(move\\) }" in text


def test_pgn_of_an_unfinished_game_has_a_result_only_if_told() -> None:
    game = azcore.make("chess")
    state = game.initial_state()
    action = game.text_to_action(state, "e2e4")
    assert transcript_text(game, "pgn", [action]).endswith("1. e4 *\n")
    assert transcript_text(game, "pgn", [action], result="1-0").endswith("1. e4 1-0\n")
    with pytest.raises(IllegalActionError, match="action 0"):
        transcript_text(game, "pgn", [action, 0])


@pytest.mark.parametrize("result", ["1-0", "0-1", "1/2-1/2", "*"])
def test_pgn_has_the_result_told(result: str) -> None:
    game = azcore.make("chess")
    text = transcript_text(game, "pgn", [], result=result)
    assert f'[Result "{result}"]' in text
    assert text.endswith(f"\n{result}\n")
    assert actions_read(game, "pgn", text) == []


@pytest.mark.parametrize("result", ["", "1", "1-0 ", "½-½", "0.5-0.5", "White wins", '*"]'])
def test_pgn_has_no_other_results(result: str) -> None:
    game = azcore.make("chess")
    with pytest.raises(InvalidTextError) as raised:
        transcript_text(game, "pgn", [], result=result)
    assert str(raised.value) == (
        f"chess: the result must be one of 1-0, 0-1, 1/2-1/2, *, got {result!r}"
    )


@pytest.mark.parametrize(
    ("moves", "ending", "own"),
    [
        ("f3 e5 g4 Qh4#", "checkmate", "0-1"),
        ("Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8", "threefold repetition", "1/2-1/2"),
    ],
)
def test_pgn_of_a_finished_game_has_its_own_result(moves: str, ending: str, own: str) -> None:
    game = azcore.make("chess")
    actions, state = [], game.initial_state()
    for move in moves.split():
        actions.append(game.text_to_action(state, move))
        state = game.step(state, actions[-1])
    assert transcript_text(game, "pgn", actions, result=own) == transcript_text(
        game, "pgn", actions
    )
    for result in {"1-0", "0-1", "1/2-1/2", "*"} - {own}:
        with pytest.raises(InvalidTextError) as raised:
            transcript_text(game, "pgn", actions, result=result)
        assert str(raised.value) == (
            f"chess: the game is over by {ending}, so its result must be {own}, got {result}"
        )


@pytest.mark.parametrize(
    "headers",
    [
        f'[SetUp "1"]\n[FEN "{START}"]',
        f'[FEN "{START}"]\n[SetUp "1"]',
        f'[FEN "{START}"]',
        f'[ FEN  " {START}" ]\n[SetUp "0"]',
        f'[FEN "{" ".join(START.split()[:4])}"]',
        '[SetUp "0"]',
    ],
)
def test_pgn_may_say_that_it_begins_at_the_initial_position(headers: str) -> None:
    game = azcore.make("chess")
    text = f'[Event "?"]\n{headers}\n[Result "*"]\n\n1. e4 e5 *\n'
    assert actions_read(game, "pgn", text) == actions_read(game, "pgn", "1. e4 e5")
    assert actions_read(game, "pgn", f"{headers}\n*") == []


def test_pgn_of_others_is_read() -> None:
    game = azcore.make("chess")
    text = """
[Event "A \\"great\\" game [x]"]
[Result "1-0"]

1.e4! {best {by test} e5?! (1... c5 2. Nf3 (2. c3 $1) d6) 2 Bc4 $3 Nc6 ; a comment 9. Ke9
% an escaped line
3. Qh5 Nf6?? 4. Qxf7# 1-0

[Event "another"]

1. d4 *
"""
    actions = actions_read(game, "pgn", text)
    state = game.initial_state()
    texts = []
    for action in actions:
        texts.append(game.action_to_text(state, action))
        state = game.step(state, action)
    assert texts == ["e2e4", "e7e5", "f1c4", "b8c6", "d1h5", "g8f6", "h5f7"]
    assert len(actions_read(game, "pgn", "1. e4 1-0{resigns} 1. d4")) == 1
    assert actions_read(game, "pgn", "*") == []
    assert actions_read(game, "pgn", '[Event "?"]\n') == []
    assert len(actions_read(game, "pgn", "1. e4 d5 2. e5 f5 3. exf6e.p.+ *")) == 5


@pytest.mark.parametrize(
    ("tag", "movetext", "wanted"),
    [
        ('[Result "0 : 1"]', "1. e4 e5", {"outcome": -1}),
        ('[Termination "x won on time"]', "1. e4 e5 1-0", {"off_the_board": "time"}),
        ('[Termination "x won - game abandoned"]', "1. e4 e5 1-0", {"off_the_board": "absence"}),
        ('[Termination "checkmate"]', "1. e4 e5 1-0", {"off_the_board": ""}),
        (
            '[Event "x"]',
            "1. e4 {a {b} c} e5",
            {"ignored": ["a word that is not a move", "a } without its {"]},
        ),
        ('[Event "x"]', "1. e4 <> e5", {"ignored": ["a word that is not a move"]}),
        ('[Event "x"]', "1. e4= e5+/= $10 (1... --)", {"ignored": []}),
    ],
)
def test_what_is_odd_beside_the_moves_of_pgn(
    tag: str, movetext: str, wanted: dict[str, object]
) -> None:
    found = azcore.make("chess").transcript_formats()["pgn"].read(f"{tag}\n\n{movetext}\n")
    assert len(found.actions) == 2
    assert {name: getattr(found, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("", InvalidTextError, "not a readable PGN game"),
        ("none of this", InvalidTextError, "not a readable PGN game"),
        (f"{START} bm e4;", InvalidTextError, "not a readable PGN game"),
        ("1. e4 e5 2. @f3", InvalidTextError, "move 2\\. of the PGN game: .*'@f3'"),
        ("1. e4 e5 2. -- d5", InvalidTextError, "move 2\\. of the PGN game: .*'--'"),
        ("1. e4 e5 2. Zf3", InvalidTextError, "move 2\\. of the PGN game: .*'Zf3'"),
        ("1. e4 e4", InvalidTextError, "move 1\\.\\.\\. of the PGN game: e4 is not legal"),
        ("1. Nf3 a6 2. Nd4 h6 3. Nc3 h5 4. Nb5", InvalidTextError, "move 4\\. .*Nb5 may mean"),
        ("1. e4 e5 (2. Nf3", InvalidTextError, "unclosed"),
        ("1. e4 {never closed", InvalidTextError, "an unclosed {"),
        ('[SetUp "1"]\n*', InvalidTextError, "must have a FEN header"),
        ('[SetUp "1"]\n1. e4 *\n[FEN "' + START + '"]\n*', InvalidTextError, "a FEN header"),
        ('[FEN ""]\n*', InvalidTextError, "got 0 words"),
        ("1. f3 e5 2. g4 Qh4# 3. a3", InvalidTextError, "3\\. .* over \\(checkmate\\) before a3"),
    ],
)  # fmt: skip
def test_pgn_that_is_no_game_is_refused(text: str, kind: type[Exception], message: str) -> None:
    game = azcore.make("chess")
    with pytest.raises(kind, match=message):
        actions_read(game, "pgn", text)


# -- books -------------------------------------------------------------------------------------


def test_books_are_read(tmp_path: Path) -> None:
    game = azcore.make("chess")
    book = tmp_path / "book.bin"
    entries = []
    board = chess.Board("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    key = chess.polyglot.zobrist_hash(board)
    # to file, to row, from file, from row and promotion, 3 bits each; castling takes the own rook.
    for start, end, weight in (("e1", "h1", 3), ("e1", "e2", 7), ("a1", "a5", 0)):
        a, b = chess.parse_square(start), chess.parse_square(end)
        entries.append(struct.pack(">QHHI", key, a << 6 | b, weight, 0))
    book.write_bytes(b"".join(entries))
    state = game.state_from_text(board.fen())
    found = books.book_actions(game, state, book)
    texts = [(game.action_to_text(state, action), weight) for action, weight in found]
    assert texts == [("e1e2", 7), ("e1g1", 3)]  # a weight of 0: not to be played
    assert books.book_actions(game, game.initial_state(), book) == []


def test_books_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    game = azcore.make("chess")
    with pytest.raises(GameError, match=r"missing\.bin cannot be read"):
        books.book_actions(game, game.initial_state(), tmp_path / "missing.bin")
    (tmp_path / "cut.bin").write_bytes(b"123")
    with pytest.raises(GameError, match=r"cut\.bin cannot be read"):
        books.book_actions(game, game.initial_state(), tmp_path / "cut.bin")
    with pytest.raises(GameError, match=r"cannot be read: .*embedded null"):
        books.book_actions(game, game.initial_state(), "book\0")


def test_a_cold_start_does_not_load_python_chess() -> None:
    code = (
        "import sys, azcore; game = azcore.make('chess'); state = game.initial_state();"
        "game.step(state, game.text_to_action(state, 'e2e4')); assert 'chess' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pgn_looks_as_the_format_has_it() -> None:
    game: Any = azcore.make("chess")
    actions = actions_read(game, "pgn", "1. e4 e5 2. Nf3")
    assert transcript_text(game, "pgn", actions, ["one {x}", "", "\nthree"]) == (
        '[Event "?"]\n[Site "?"]\n[Date "????.??.??"]\n[Round "?"]\n[White "?"]\n[Black "?"]\n'
        '[Result "*"]\n\n1. e4 { one \\(x\\) } 1... e5 2. Nf3 { \nthree } *\n'
    )


def test_evaluations_in_pgn_are_those_of_lichess() -> None:
    """Pawns as White sees them, read by python-chess; and what azcore said comes back alone."""
    game = azcore.make("chess")
    comments = ["value +0.500 visits 8", "value +0.500", "well\nvalue -1.000", "[%eval 1.00] mine"]
    pgn, state, actions = format_named(game, "pgn"), game.initial_state(), []
    for text in ("e2e4", "e7e5", "g1f3", "b8c6"):
        actions.append(game.text_to_action(state, text))
        state = game.step(state, actions[-1])
    written = pgn.write(Transcript(actions=actions, comments=comments))
    assert "1. e4 { [%eval 2.98] value +0.500 visits 8 } 1... e5 { [%eval -2.98]" in " ".join(
        written.split()
    )
    read = chess.pgn.read_game(io.StringIO(written))
    assert read is not None
    pawns = [node.eval().white().score() for node in read.mainline()]  # type: ignore[union-attr]
    assert pawns == [298, -298, -2064, 100]
    for value, centipawns in ((0.5, 298), (-0.999, -2064)):  # as Lichess has it
        chances = 2 / (1 + math.exp(-0.00368208 * centipawns)) - 1
        assert chances == pytest.approx(value, abs=1e-3)
    assert list(pgn.read(written).comments) == comments


@pytest.mark.parametrize("name", ["chess", "chess_plain"])
def test_comments_have_moves_in_san(name: str) -> None:
    game = azcore.make(name)
    state = game.initial_state()
    action = game.text_to_action(state, "g1f3")
    assert game.action_to_notation(state, action) == "Nf3"
    assert game.text_to_action(state, "Nf3") == action
