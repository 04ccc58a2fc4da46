"""Syzygy tablebases, read by python-chess.

A table knows for each position whether it is won under the rule of fifty moves (WDL), and how many
plies away the next capture or pawn move of the best play is (DTZ, "distance to zeroing"). Always
playing the winning move of the smallest distance wins.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azcore.errors import GameError
from azcore.game import Game, Solved, Tablebase

from .notation import legal_actions, to_board

if TYPE_CHECKING:
    import chess

# Halfmoves without a capture or pawn move that a win may take in total. FIDE draws after 100; DTZ
# may be one too small, so a result that depends on the last one is left open.
MOST_QUIET = 99
HANGS = 0.5  # a result between a draw and a win or a loss
MAGIC = {".rtbw": b"\x71\xe8\x23\x5d", ".rtbz": b"\xd7\x66\x0c\xa5"}
ZEROED = {2: 1, 1: 101, 0: 0, -1: -101, -2: -1}  # DTZ before a capture or pawn move, by the WDL


class Syzygy(Tablebase):
    """The tables in one folder, or in several separated by `:` as in UCI's SyzygyPath.

    Raises:
        GameError: no table is found, or a file is not a table.
    """

    def __init__(self, game: Game, path: str) -> None:
        import chess.syzygy

        self._game, self._path = game, path
        self._most_pieces = 0
        self._tables = chess.syzygy.Tablebase()
        for folder in path.split(os.pathsep):
            try:
                files = sorted(Path(folder).iterdir())
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                raise GameError(
                    f"{game.name}: the tablebase {folder} cannot be read: {reason}"
                ) from error
            for file in files:
                self._add(file)
        if not self._most_pieces:
            raise GameError(
                f"{game.name}: a tablebase must be a folder with Syzygy tables (*.rtbw, *.rtbz), "
                f"got {path}"
            )

    def _add(self, file: Path) -> None:
        if file.suffix not in MAGIC:
            return
        try:
            with file.open("rb") as opened:
                is_table = opened.read(4) == MAGIC[file.suffix] and file.stat().st_size % 64 == 16
        except OSError as error:
            raise GameError(
                f"{self._game.name}: the table {file} cannot be read: {error.strerror}"
            ) from error
        if not is_table:
            raise GameError(f"{self._game.name}: {file} must be a Syzygy table, but is not")
        if self._tables.add_file(str(file)):
            self._most_pieces = max(self._most_pieces, len(file.stem) - 1)

    def solve(self, state: Any) -> Solved | None:
        board = to_board(state)
        if len(board.piece_map()) > self._most_pieces:
            return None
        try:
            return self._solve(state, board)
        except KeyError:  # no table has it: one is missing, or a side may still castle
            return None
        except Exception as error:  # python-chess may raise anything for damaged files
            raise GameError(
                f"{self._game.name}: the tablebase {self._path} is damaged: it has no "
                f"outcome for {board.fen()} ({type(error).__name__}: {error})"
            ) from error

    def _solve(self, state: Any, board: chess.Board) -> Solved | None:
        """See `solve`; `board` is the same position.

        Raises:
            KeyError: it is not in the tables.
        """
        import chess

        distances: dict[int, int] = {}  # DTZ after each action, view of the player to move
        for action in legal_actions(self._game, state):
            after = self._game.step(state, action)
            if self._game.is_terminal(after):
                outcome = self._game.outcome(after)
                distances[action] = outcome if board.turn == chess.WHITE else -outcome
                continue
            board_after = to_board(after)
            if board_after.halfmove_clock == 0:
                distances[action] = ZEROED[-self._tables.probe_wdl(board_after)]
            else:
                distance = -self._tables.probe_dtz(board_after)
                distances[action] = distance + (distance > 0) - (distance < 0)
        quiet = board.halfmove_clock
        results = {action: _result(distance, quiet) for action, distance in distances.items()}
        most = max(results.values())
        if most in (-HANGS, HANGS):
            return None
        best = round(most)
        # Prefer the smallest distance among wins, the largest among losses.
        order = sorted(distances, key=lambda action: (abs(distances[action]) * best, action))
        return Solved(
            outcome=best if board.turn == chess.WHITE else -best,
            actions=tuple(action for action in order if results[action] == best),
        )


def _result(distance: int, quiet: int) -> float:
    """The result of an action, view of the player to move: -1, 0, 1, or between if uncertain.

    Args:
        distance: DTZ of the action; 1 is also a mate.
        quiet: halfmoves without a capture or pawn move before it.
    """
    plies = abs(distance)
    if plies == 0 or plies > 100:  # above 100: won, but not within the fifty moves
        return 0
    sign = 1 if distance > 0 else -1
    if (
        plies == 1 or plies + quiet <= MOST_QUIET
    ):  # 1: the action itself ends it, or zeroes the count
        return sign
    return sign * HANGS if plies + quiet <= MOST_QUIET + 2 else 0
