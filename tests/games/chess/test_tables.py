"""Syzygy tablebases of chess, on the real tables of a pawn, a queen and a rook against a king.

They are Ronald de Man's (github.com/syzygy1/tb), from the test data of python-chess.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import chess
import chess.syzygy
import pytest

import azcore
from azcore.errors import GameError
from azcore.game import Game, Tablebase

TABLES = Path(__file__).parents[2] / "data/syzygy"


@pytest.fixture(name="game", scope="module")
def game_fixture() -> Game:
    return azcore.make("chess")


@pytest.fixture(name="tables", scope="module")
def tables_fixture(game: Game) -> Tablebase:
    tables = game.tablebase(str(TABLES))
    assert tables is not None
    return tables


def texts(game: Game, state: Any, actions: tuple[int, ...]) -> list[str]:
    return [game.action_to_text(state, action) for action in actions]


@pytest.mark.parametrize(
    ("fen", "outcome", "best"),
    [
        ("8/4P3/8/8/8/8/k6K/8 w - - 0 1", 1, ["e7e8q", "e7e8r"]),
        ("8/8/8/8/8/8/1k3p2/7K b - - 0 1", -1, ["f2f1q", "f2f1r"]),
        ("k7/8/1K6/8/8/8/8/1R6 b - - 0 1", 1, ["a8b8"]),
        ("7k/8/5K2/8/8/8/8/6R1 w - - 0 1", 1, []),
        ("8/8/8/8/8/4k3/4P3/4K3 w - - 0 1", 0, ["e1d1", "e1f1"]),
        ("8/8/8/8/8/2k5/1R6/7K b - - 0 1", 0, ["c3b2"]),  # the rook is lost
        # Mate takes too long for what is left of the fifty moves, or just not.
        ("8/8/8/3k4/8/8/8/R3K3 w - - 80 90", 0, []),
        ("8/8/8/3k4/8/8/8/R3K3 w - - 60 90", 1, []),
    ],
)
def test_outcomes(game: Game, tables: Tablebase, fen: str, outcome: int, best: list[str]) -> None:
    state = game.state_from_text(fen)
    solved = tables.solve(state)
    assert solved is not None
    assert solved.outcome == outcome
    assert sorted(texts(game, state, solved.actions))[: len(best)] == sorted(best) or not best
    assert solved.actions


def test_what_is_in_no_table_is_unknown(game: Game, tables: Tablebase) -> None:
    assert tables.solve(game.initial_state()) is None
    for fen in (
        "8/8/8/3k4/8/8/8/RB2K3 w - - 0 1",
        "8/8/8/3k4/8/8/8/4K2R b K - 0 1",  # White may castle
    ):
        assert tables.solve(game.state_from_text(fen)) is None


def test_the_winner_wins_and_the_loser_resists(game: Game, tables: Tablebase) -> None:
    for fen in ("8/8/8/3k4/8/8/8/R3K3 w - - 0 1", "8/8/3k4/8/8/3K4/4P3/8 w - - 0 1"):
        state, plies = game.state_from_text(fen), 0
        while not game.is_terminal(state):
            solved = tables.solve(state)
            assert solved is not None
            assert solved.outcome == 1
            state, plies = game.step(state, solved.actions[0]), plies + 1
        assert game.termination(state) == "checkmate"
        assert plies > 20


def test_outcomes_are_those_of_the_tables(game: Game, tables: Tablebase) -> None:
    """Random positions with a fresh count of moves, where a table is asked for the root itself."""
    draw = random.Random(3)
    outcomes = set()
    with chess.syzygy.open_tablebase(str(TABLES)) as own:
        for piece in "PQRpqr" * 12:
            board = chess.Board(None)
            squares = draw.sample(range(8, 56), 3)
            for square, letter in zip(squares, ("K", "k", piece), strict=True):
                board.set_piece_at(square, chess.Piece.from_symbol(letter))
            board.turn = draw.random() < 0.5
            if not board.is_valid() or board.is_game_over():
                continue
            solved = tables.solve(game.state_from_text(board.fen()))
            wdl = own.probe_wdl(board)
            assert solved is not None
            assert solved.outcome == (1 if board.turn else -1) * (wdl // 2)
            outcomes.add(solved.outcome)
    assert outcomes == {-1, 0, 1}


def test_a_repetition_wins_nothing(game: Game, tables: Tablebase) -> None:
    """A move that the rules call a draw is no winning move, whatever the table says."""
    state = game.state_from_text("8/8/8/8/8/1k6/8/R3K3 w - - 0 1")
    first = tables.solve(state)
    assert first is not None
    best = game.action_to_text(state, first.actions[0])
    assert best == "a1c1"
    there, back = ["a1c1", "b3b4", "c1d1", "b4b3"], ["d1c1", "b3b4", "c1a1", "b4b3"]
    for move in there + back:  # a1c1 would bring about a position for the third time
        state = game.step(state, game.text_to_action(state, move))
    again = tables.solve(state)
    assert again is not None
    assert game.text_to_action(state, best) not in again.actions


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (None, b"", "must be a folder with Syzygy tables"),
        ("KRvK.rtbw", b"nothing" * 20, "KRvK.rtbw must be a Syzygy table, but is not"),
        ("notes.txt", b"nothing", "must be a folder with Syzygy tables"),
    ],
)
def test_what_is_no_table_is_refused(
    game: Game, tmp_path: Path, name: str | None, content: bytes, says: str
) -> None:
    if name is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(GameError, match=says):
        game.tablebase(str(tmp_path))
    with pytest.raises(GameError, match=r"nowhere cannot be read: No such file"):
        game.tablebase(str(tmp_path / "nowhere"))


def test_a_damaged_table_is_named(game: Game, tmp_path: Path) -> None:
    for file in TABLES.glob("KRvK.*"):
        shutil.copy(file, tmp_path)
    table = tmp_path / "KRvK.rtbz"
    content = table.read_bytes()
    table.write_bytes(content[:16] + bytes(len(content) - 16))
    tables = game.tablebase(str(tmp_path))
    assert tables is not None
    with pytest.raises(GameError, match=r"the tablebase .* is damaged: it has no outcome"):
        tables.solve(game.state_from_text("8/8/8/3k4/8/8/8/R3K3 w - - 0 1"))


def test_games_without_tables_have_none() -> None:
    assert azcore.make("tic_tac_toe").tablebase("anywhere") is None
