"""Shogi by the library cshogi: a second implementation of the same game, over Python objects.

It is slow and independent of `rules.py` and `encoding.py`: legal moves, checks and the declaration
of an entering king are cshogi's; repetition and planes are implemented here from their definitions.
Tests compare the compiled game with it; settings, action numbers, planes and texts are the same.

cshogi numbers squares file by file: 9 × (file - 1) + rank. It needs the extra `azcore[shogi]`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from azcore.errors import GameError, InvalidTextError
from azcore.game import BoolArray, Facts, FloatArray, Game, lead, require_legal

from . import notation
from .game import check_settings

_NUM_PLANES = 64 + 2 + 64 + 2 + 7  # planes of actions
_DIRECTIONS = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
_DROPPED = "PLNSGBR"
# cshogi's piece types 1 to 14 (pawn lance knight silver bishop rook gold king, then promoted pawn
# lance knight silver bishop rook) in the order of the planes, and its hands (.. silver gold ..).
_PLANE_OF_TYPE = {1: 0, 2: 1, 3: 2, 4: 3, 7: 4, 5: 5, 6: 6, 8: 7, 9: 8, 10: 9, 11: 10, 12: 11}
_PLANE_OF_TYPE |= {13: 12, 14: 13}
_WORTH = (0, 1, 3, 4, 5, 8, 10, 6, 0, 7, 6, 6, 6, 10, 12)  # by cshogi's type, in pawns


def _cell(square: int, seat: int) -> int:
    """Row × 9 + column of a cshogi square; row 0 is far and column 0 left, as `seat` sees it."""
    file, rank = divmod(square, 9)
    row, column = (rank, 8 - file) if seat == 0 else (8 - rank, file)
    return 9 * row + column


def _usi(square: int) -> str:
    return f"{square // 9 + 1}{'abcdefghi'[square % 9]}"


def _all_moves(seat: int) -> dict[str, int]:
    """The action number of every move or drop that some piece could make, by USI text."""
    moves = {}
    for source in range(81):
        start = _cell(source, seat)
        for target in range(81):
            end = _cell(target, seat)
            rows, columns = end // 9 - start // 9, end % 9 - start % 9
            length = max(abs(rows), abs(columns))
            if (rows, columns) in ((-2, -1), (-2, 1)):
                plane = 64 if columns < 0 else 65
            elif length and abs(rows) in (0, length) and abs(columns) in (0, length):
                way = (rows // length, columns // length)
                plane = 8 * _DIRECTIONS.index(way) + length - 1
            else:
                continue
            text = _usi(source) + _usi(target)
            moves[text] = 81 * plane + start
            moves[text + "+"] = 81 * (plane + 66) + start
        for piece, letter in enumerate(_DROPPED):
            moves[f"{letter}*{_usi(source)}"] = 81 * (132 + piece) + start
    return moves


_ACTIONS = (_all_moves(0), _all_moves(1))  # by seat
_TEXTS = tuple({action: text for text, action in actions.items()} for actions in _ACTIONS)


@dataclass(frozen=True, eq=False, kw_only=True)
class State:
    """One position with the history that rules and planes need; immutable."""

    board: Any  # cshogi.Board
    ply: int
    last_move: str  # USI; empty at the start
    positions: tuple[str, ...]  # each position so far, as SFEN without the move number
    checks: tuple[bool, ...]  # whether the player to move is in check, for each position so far
    # The last eight positions, newest first: pieces by square, hands by seat, earlier occurrences.
    steps: tuple[tuple[tuple[int, ...], tuple[tuple[int, ...], ...], int], ...]
    ending: str = ""  # the reason for the end
    result: int = 0  # its outcome, as Black sees it


def library() -> Any:
    """The module cshogi.

    Raises:
        GameError: cshogi is not installed.
    """
    try:
        import cshogi
    except ImportError as error:
        raise GameError(
            "shogi: the plain form needs the library cshogi: pip install 'azcore[shogi]' "
            "(not on Python 3.12, where it needs an old NumPy)"
        ) from error
    return cshogi


class ShogiPlain(Game):
    """Shogi by cshogi. Seat 0 is Black (sente).

    Args:
        max_plies: the game is a draw after this many plies, 1 to 10,000.
        entering_king: whether a player to move who may declare an entered king (27-point rule)
            wins.

    Raises:
        GameError: a setting has the wrong type or is out of range, or cshogi is not installed.
    """

    def __init__(self, *, max_plies: int = 512, entering_king: bool = False) -> None:
        check_settings("shogi_plain", max_plies, entering_king)
        self.cshogi = library()
        self.max_plies = max_plies
        self.entering_king = entering_king
        prisoners = [18, 4, 4, 4, 4, 2, 2]
        super().__init__(
            Facts(
                name="shogi_plain",
                version=1,
                settings={"max_plies": max_plies, "entering_king": entering_king},
                num_actions=_NUM_PLANES * 81,
                action_planes=_NUM_PLANES,
                observation_shape=(362, 9, 9),
                observation_maximum=([1] * 31 + prisoners + prisoners) * 8 + [1, 255],
                max_game_length=max_plies,
                dirichlet_alpha=0.15,  # AlphaZero's (Silver et al. 2018, Methods)
                protocol="usi",
            ),
        )

    def initial_state(self) -> State:
        return self._first(self.cshogi.Board(), 0)

    def _first(self, board: Any, ply: int) -> State:
        return self._judged(
            State(board=board, ply=ply, last_move="", positions=(), checks=(), steps=())
        )

    def _judged(self, before: State) -> State:
        """The state with its position added to the history, and ended if the rules require it."""
        board = before.board
        key = board.sfen().rsplit(" ", 1)[0]
        positions = (*before.positions, key)
        checks = (*before.checks, bool(board.is_check()))
        earlier = [i for i, known in enumerate(before.positions) if known == key]
        step = (tuple(board.pieces), tuple(map(tuple, board.pieces_in_hand)), len(earlier))
        ending, result = "", 0
        winner_to_move = 1 if board.turn == 0 else -1
        if len(earlier) == 3:
            # Moves after the first occurrence, latest first: the other seat's and ours in turn.
            since = checks[: earlier[0] : -1]
            other_checked, own_checked = all(since[0::2]), all(since[1::2])
            ending = "fourfold repetition"
            if other_checked != own_checked:
                ending = "perpetual check"
                result = winner_to_move if other_checked else -winner_to_move
        elif self.entering_king and board.is_nyugyoku():
            ending, result = "entering king", winner_to_move
        elif len(board.legal_moves) == 0:
            ending = "checkmate" if board.is_check() else "no legal move"
            result = -winner_to_move
        elif before.ply >= self.max_plies:
            ending = "move limit"
        return State(
            board=board,
            ply=before.ply,
            last_move=before.last_move,
            positions=positions,
            checks=checks,
            steps=(step, *before.steps)[:8],
            ending=ending,
            result=result,
        )

    def current_player(self, state: State) -> int:
        return int(state.board.turn)

    def legal_action_mask(self, state: State) -> BoolArray:
        mask = np.zeros(self.num_actions, np.bool_)
        if not state.ending:
            number = _ACTIONS[state.board.turn]
            for move in state.board.legal_moves:
                mask[number[self.cshogi.move_to_usi(move)]] = True
        return mask

    def step(self, state: State, action: int) -> State:
        require_legal(self, state, action)
        text = _TEXTS[state.board.turn][action]
        board = state.board.copy()
        board.push_usi(text)
        return self._judged(
            State(
                board=board,
                ply=state.ply + 1,
                last_move=text,
                positions=state.positions,
                checks=state.checks,
                steps=state.steps,
            )
        )

    def is_terminal(self, state: State) -> bool:
        return state.ending != ""

    def outcome(self, state: State) -> int:
        return state.result

    def material(self, state: State) -> float:
        worth = [0, 0]
        for piece in state.board.pieces:
            worth[piece // 16] += _WORTH[piece % 16]
        for seat, hand in enumerate(state.board.pieces_in_hand):
            for piece, count in zip((1, 2, 3, 4, 7, 5, 6), hand, strict=True):
                worth[seat] += count * _WORTH[piece]
        return lead(*worth)

    def can_declare_win(self, state: State) -> bool:
        """Whether the player to move may declare an entered king, whatever the setting."""
        return bool(state.board.is_nyugyoku())

    def termination(self, state: State) -> str:
        return state.ending

    def observation(self, state: State) -> FloatArray:
        planes = np.zeros((362, 81), np.float32)
        seat = state.board.turn
        for ago, (pieces, hands, occurred) in enumerate(state.steps):
            part = planes[45 * ago : 45 * ago + 45]
            for square, piece in enumerate(pieces):
                if piece:  # 16 more for White
                    half = 14 * (piece // 16 != seat)
                    part[half + _PLANE_OF_TYPE[piece % 16], _cell(square, seat)] = 1
            part[28 : 28 + occurred] = 1
            for side, hand in enumerate((hands[seat], hands[1 - seat])):
                for piece, count in enumerate(hand):
                    part[31 + 7 * side + piece] = count
        planes[360] = seat == 0
        planes[361] = min(state.ply // 2, 255)
        return planes.reshape(362, 9, 9)

    # -- texts ---------------------------------------------------------------------------------

    def action_to_text(self, state: State, action: int) -> str:
        texts = _TEXTS[self.current_player(state)]
        return texts.get(action, f"off the board ({action})")

    def text_to_action(self, state: State, text: str) -> int:
        action = _ACTIONS[state.board.turn].get(text.strip())
        if action is None:
            raise InvalidTextError(
                f"shogi_plain: a move is written like 7g7f, 8h2b+ or P*5e, got {text[:20]!r}"
            )
        return require_legal(self, state, action)

    def state_to_text(self, state: State) -> str:
        return f"{state.positions[-1]} {state.ply + 1}"

    def state_from_text(self, text: str) -> State:
        position = notation.read_sfen(text, self.max_plies)
        return self._first(self.cshogi.Board(sfen=position.to_sfen()), position.ply)

    def render(self, state: State) -> str:
        lines = [re.sub("^'", "", str(state.board)), self.state_to_text(state)]
        if state.last_move:
            lines.append(f"Move {state.ply}: {state.last_move}")
        if state.ending:
            winner = {1: "Black wins", 0: "draw", -1: "White wins"}[state.result]
            lines.append(f"The game is over: {winner} ({state.ending})")
        return "\n".join(lines)
