"""Opening books of any game: of games, of positions, or in a format of the game's own."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import azcore
from azcore.errors import AzcoreError, SettingError
from azcore.game import Book, Game
from azcore.storage.books import choose, read_book

GAMES = """[Result "1-0"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 1-0

[Result "0-1"]

1. e4 c5 0-1

[Result "0-1"]

1. Nf3 e5 2. e4 Nc6 3. Bc4 0-1
"""


@pytest.fixture(name="chess", scope="module")
def chess_fixture() -> Game:
    return azcore.make("chess")


def known(game: Game, book: Book, *moves: str) -> dict[str, float]:
    state = game.initial_state()
    for move in moves:
        state = game.step(state, game.text_to_action(state, move))
    return {game.action_to_text(state, action): weight for action, weight in book.actions(state)}


def test_a_book_of_games_counts_who_played_what(chess: Game, tmp_path: Path) -> None:
    (tmp_path / "games.pgn").write_text(GAMES)
    book = read_book(chess, str(tmp_path / "games.pgn"), "engine.book", plies=5)
    assert list(known(chess, book).items()) == [("e2e4", 2), ("g1f3", 1)]
    assert known(chess, book, "e2e4") == {"e7e5": 1, "c7c5": 1}
    # Another order of the same moves is the same position.
    assert known(chess, book, "e2e4", "e7e5", "g1f3") == {"b8c6": 2}
    assert known(chess, book, "g1f3", "e7e5", "e2e4", "b8c6") == {"f1b5": 1, "f1c4": 1}
    assert known(chess, book, "d2d4") == {}
    book = read_book(chess, str(tmp_path / "games.pgn"), "engine.book", plies=1)
    assert known(chess, book, "e2e4") == {}


def test_a_book_of_sgf_is_for_go(tmp_path: Path) -> None:
    go = azcore.make("go", board_size=3)
    (tmp_path / "games.sgf").write_text("(;GM[1]SZ[3]KM[7.5];B[bb];W[aa])")
    book = read_book(go, str(tmp_path / "games.sgf"), "engine.book", plies=20)
    assert known(go, book) == {"B2": 1}
    assert known(go, book, "B2") == {"A3": 1}


def test_a_book_of_positions_names_moves(tmp_path: Path) -> None:
    game = azcore.make("tic_tac_toe")
    (tmp_path / "book.epd").write_text(".../.../... x bm b2 a1;\n.../.X./... o bm a1;\n")
    book = read_book(game, str(tmp_path / "book.epd"), "engine.book", plies=20)
    assert known(game, book) == {"a1": 1, "b2": 1}
    assert known(game, book, "b2") == {"a1": 1}


def test_moves_are_drawn_by_weight() -> None:
    found = [(7, 3.0), (4, 1.0)]
    drawn = [choose(found, np.random.default_rng(seed)) for seed in range(400)]
    assert 0.65 < drawn.count(7) / 400 < 0.85
    assert choose(found, None) == 7


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.pgn", None, "engine.book must be a file, got .*none.pgn"),
        ("bad.pgn", b"1. e5 e4", "engine.book must be a file with games or positions"),
        ("bad.pgn", b'[FEN "none"]\n*', "bad.pgn, game 1: .* got 1 words in 'none'"),
        ("bad.epd", b"not chess", "bad.epd, line 1: chess: a FEN is placement"),
        ("empty.epd", b"# nothing\n", "engine.book must be a file with games or positions"),
        ("bytes.epd", b"\xfd\xfe", "bytes.epd, line 1: chess: a FEN is placement"),
        ("cut.bin", b"123", "cut.bin"),
        ("empty.bin", b"", "entries of 16 bytes, got 0 bytes"),
        ("text.bin", b"nothing of the sort is in this file at all, it is text", "text.bin"),
        (
            "noise.bin",
            bytes(range(255, -1, -1)),
            "entries of a Polyglot book must be in ascending order",
        ),
    ],
)
def test_what_is_no_book_is_refused(
    chess: Game, tmp_path: Path, name: str, content: bytes | None, says: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(AzcoreError, match=says) as caught:
        read_book(chess, str(tmp_path / name), "engine.book", plies=20)
    assert "\n" not in str(caught.value)


def test_a_missing_folder_is_no_book(chess: Game, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=re.escape(f"must be a file, got '{tmp_path}'")):
        read_book(chess, str(tmp_path), "engine.book", plies=1)
