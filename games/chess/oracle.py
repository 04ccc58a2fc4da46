"""Chess by the library python-chess: a second, slow implementation of the same game.

Tests compare `rules.py` with it, and it explains actions and planes in terms of squares, files and
ranks. Rules come from python-chess; action numbers and planes are implemented again from their
description in README.md, and repetitions are counted here. This file imports the library; only the
registry name `chess_plain` loads this file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

import chess
import numpy as np

from azcore.errors import AmbiguousTextError, IllegalActionError, InvalidTextError
from azcore.game import BoolArray, Facts, FloatArray, Game, illegal_action_message, lead

from .game import check_settings

# One step as (files to the right, ranks forward), as the player to move sees it.
COMPASS = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
KNIGHT_JUMPS = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
UNDERPROMOTIONS = (chess.KNIGHT, chess.BISHOP, chess.ROOK)


@dataclass(frozen=True, eq=False, kw_only=True)
class Played:
    """A position and the facts about earlier ones that the game needs."""

    board: chess.Board
    counts: Counter[Hashable]  # occurrences of each position of the game, this one included
    recent: tuple[tuple[chess.Board, int], ...]  # newest first, at most 8, with earlier occurrences


class ChessPlain(Game):
    """Chess by python-chess, with the settings, action numbers, planes and texts of `Chess`."""

    def __init__(self, *, max_plies: int = 512) -> None:
        check_settings("chess_plain", max_plies)
        self.max_plies = max_plies
        super().__init__(
            Facts(
                name="chess_plain",
                version=1,
                settings={"max_plies": max_plies},
                num_actions=4672,
                action_planes=73,
                observation_shape=(119, 8, 8),
                observation_maximum=[1] * 113 + [255] + [1] * 4 + [100],
                max_game_length=max_plies,
                dirichlet_alpha=0.3,
                seat_names=("white", "black"),
                protocol="uci",
            ),
        )

    def initial_state(self) -> Played:
        return after(None, chess.Board())

    def current_player(self, state: Played) -> int:
        return 0 if state.board.turn == chess.WHITE else 1

    def legal_action_mask(self, state: Played) -> BoolArray:
        mask = np.zeros(self.num_actions, np.bool_)
        mask[list(self._moves(state))] = True
        return mask

    def step(self, state: Played, action: int) -> Played:
        moves = self._moves(state)
        if action not in moves:
            raise IllegalActionError(illegal_action_message(self, state, action))
        board = state.board.copy(stack=False)
        board.push(moves[action])
        board.clear_stack()
        return after(state, board)

    def is_terminal(self, state: Played) -> bool:
        return self._ending(state) is not None

    def outcome(self, state: Played) -> int:
        if not state.board.is_checkmate():
            return 0
        return -1 if state.board.turn == chess.WHITE else 1

    def material(self, state: Played) -> float:
        worth = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9}
        white, black = (
            sum(n * len(state.board.pieces(piece, colour)) for piece, n in worth.items())
            for colour in (chess.WHITE, chess.BLACK)
        )
        return lead(white, black)

    def termination(self, state: Played) -> str:
        return self._ending(state) or "not over"

    def observation(self, state: Played) -> FloatArray:
        planes = np.zeros(self.observation_shape, np.float32)
        us = state.board.turn
        for age, (board, earlier) in enumerate(state.recent):
            first = 14 * age
            for colour in (us, not us):
                for piece in chess.PIECE_TYPES:
                    for square in board.pieces(piece, colour):
                        planes[first, *row_and_column(square, us)] = 1
                    first += 1
            planes[first] = earlier >= 1
            planes[first + 1] = earlier >= 2
        planes[112] = us == chess.WHITE
        planes[113] = min(255, state.board.fullmove_number - 1)
        planes[114] = state.board.has_kingside_castling_rights(us)
        planes[115] = state.board.has_queenside_castling_rights(us)
        planes[116] = state.board.has_kingside_castling_rights(not us)
        planes[117] = state.board.has_queenside_castling_rights(not us)
        planes[118] = state.board.halfmove_clock
        return planes

    def action_to_text(self, state: Played, action: int) -> str:
        moves = {action_of(state.board, move): move for move in state.board.legal_moves}
        return moves[action].uci() if action in moves else f"#{action}"

    def action_to_notation(self, state: Played, action: int) -> str:
        moves = {action_of(state.board, move): move for move in state.board.legal_moves}
        return state.board.san(moves[action])

    def text_to_action(self, state: Played, text: str) -> int:
        word = text.strip()
        try:
            try:
                move = chess.Move.from_uci(word)
            except chess.InvalidMoveError:
                move = state.board.parse_san(word)
        except chess.AmbiguousMoveError as error:
            raise AmbiguousTextError(f"chess_plain: {word} may mean several moves") from error
        except chess.IllegalMoveError as error:
            raise IllegalActionError(f"chess_plain: {word} is not legal here") from error
        except chess.InvalidMoveError as error:
            raise InvalidTextError(f"chess_plain: not UCI and not SAN: {text[:20]!r}") from error
        if not move:
            raise InvalidTextError(f"chess_plain: not UCI and not SAN: {text[:20]!r}")
        for action, legal in self._moves(state).items():
            if move == legal:
                return action
        raise IllegalActionError(f"chess_plain: {word} is not legal here")

    def state_to_text(self, state: Played) -> str:
        return state.board.fen()

    def state_from_text(self, text: str) -> Played:
        words = text.split()
        try:
            if len(words) not in (4, 6) or not text.isascii():
                raise ValueError(f"{len(words)} words")
            board = chess.Board(" ".join(words))
        except ValueError as error:
            raise InvalidTextError(f"chess_plain: not a FEN: {text[:90]!r} ({error})") from error
        board.castling_rights = board.clean_castling_rights()
        if board.status() & chess.STATUS_INVALID_EP_SQUARE:
            board.ep_square = None
        if not board.is_valid() or board.halfmove_clock > 100 or board.ply() > self.max_plies:
            raise InvalidTextError(f"chess_plain: not a possible position: {text[:90]!r}")
        return after(None, board)

    def render(self, state: Played) -> str:
        player = "White" if state.board.turn == chess.WHITE else "Black"
        ending = self._ending(state)
        return f"{state.board}\n{f'{player} to move' if ending is None else ending}"

    def _ending(self, state: Played) -> str | None:
        """How the game ended; None if it is not over."""
        board = state.board
        if not any(board.legal_moves):
            return "checkmate" if board.is_check() else "stalemate"
        if board.is_insufficient_material():
            return "insufficient material"
        if state.recent[0][1] >= 2:
            return "threefold repetition"
        if board.halfmove_clock >= 100:
            return "fifty moves"
        if board.ply() >= self.max_plies:
            return "move limit"
        return None

    def _moves(self, state: Played) -> dict[int, chess.Move]:
        """Legal moves by action."""
        if self._ending(state) is not None:
            return {}
        return {action_of(state.board, move): move for move in state.board.legal_moves}


def after(earlier: Played | None, board: chess.Board) -> Played:
    """The state of a board that a move reached from `earlier`; None: the board is the start."""
    # The key includes player to move, castling rights, and en passant if the capture is legal.
    key = board._transposition_key()
    counts = Counter[Hashable]() if earlier is None else earlier.counts.copy()
    recent = () if earlier is None else earlier.recent
    occurred = counts[key]
    counts[key] += 1
    return Played(board=board, counts=counts, recent=((board, occurred), *recent)[:8])


def row_and_column(square: chess.Square, us: chess.Color) -> tuple[int, int]:
    """Row and column of a square for `us`: row 0 is the far rank, column 0 the a file."""
    rank, file = chess.square_rank(square), chess.square_file(square)
    return (7 - rank if us == chess.WHITE else rank), file


def action_of(board: chess.Board, move: chess.Move) -> int:
    """The number of a move: plane × 64 + the cell it starts from, as the player to move sees it."""
    row, column = row_and_column(move.from_square, board.turn)
    end_row, end_column = row_and_column(move.to_square, board.turn)
    right, forward = end_column - column, row - end_row
    if move.promotion in UNDERPROMOTIONS:
        plane = 64 + 3 * UNDERPROMOTIONS.index(move.promotion) + right + 1
    elif (right, forward) in KNIGHT_JUMPS:
        plane = 56 + KNIGHT_JUMPS.index((right, forward))
    else:
        distance = max(abs(right), abs(forward))
        direction = COMPASS.index((right // distance, forward // distance))
        plane = 7 * direction + distance - 1
    return 64 * plane + 8 * row + column
