"""What shogi's transcripts, KIF (`kif.py`) and CSA (`csa.py`), have in common.

Both formats hold a main line of moves with comments, names, place and date, and the reason for the
end. They begin at the usual start, with a handicap or in a position; variations and clock times are
skipped. Squares are two digits, file and rank: 77 is 7g in USI.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from azcore.errors import AzcoreError, TranscriptError
from azcore.game import Game, MainLine

from . import notation, rules

OFF_THE_BOARD = {
    **dict.fromkeys(("切れ負け", "時間切れ", "%TIME_UP"), "time"),
    **dict.fromkeys(("不戦敗", "不戦勝", "接続切れ"), "absence"),
}
NO_START = "a start that cannot be read"
UNREADABLE = "a move that cannot be read"
_RANKS = str.maketrans("abcdefghi", "123456789")


class Move(NamedTuple):
    """A legal move, as transcripts state it."""

    source: str  # empty for a drop
    target: str
    piece: int  # type before the move
    after: int


def move_of(state: Any, action: int) -> Move:
    source, target, promotes = _squares(int(state.player), action)
    if source[1] == "*":
        piece = notation.LETTERS.index(source[0])
        return Move("", target, piece, piece)
    board = notation.position_of(state).board
    piece = (int(board[square(source)]) - 1) % rules.NUM_TYPES
    return Move(source, target, piece, int(rules.PROMOTED[piece]) if promotes else piece)


@cache  # at most 22,000 entries
def _squares(player: int, action: int) -> tuple[str, str, bool]:
    usi = notation.action_to_text(player, action).translate(_RANKS)
    return usi[:2], usi[2:4], usi[4:] == "+"


def moves_to(line: MainLine, target: str) -> dict[int, Move]:
    """The legal moves to a square, by action."""
    player = int(line.state.player)
    legal = np.flatnonzero(line.game.legal_action_mask(line.state)).tolist()
    there = [action for action in legal if _squares(player, action)[1] == target]
    return {action: move_of(line.state, action) for action in there}


def square(place: str) -> int:
    return 9 * int(place[1]) - int(place[0])


class Setup:
    """A position that a transcript sets up; the reader of SFEN checks it."""

    def __init__(self) -> None:
        self.board = np.zeros(81, np.int8)
        self.hands = np.zeros((2, rules.NUM_HAND_TYPES), np.int64)

    def put(self, place: str, piece: int, *, is_white: bool) -> None:
        self.board[square(place)] = 1 + piece + rules.NUM_TYPES * is_white

    def start(self, seat: int) -> str | None:
        """The position in SFEN; None: the usual start."""
        few = np.minimum(self.hands, 99).astype(np.int8)
        position = notation.Position(board=self.board, hands=few, player=seat, ply=0)
        sfen = position.to_sfen()
        return None if sfen == notation.START else sfen


def main_line(game: Game, form: str, start: str | None) -> MainLine:
    """A game's moves from a start.

    Raises:
        TranscriptError: the rules refuse the start.
    """
    try:
        return MainLine(game, form, None if start in ("startpos", notation.START) else start)
    except AzcoreError as error:
        why = str(error).removeprefix(f"{game.name}: ")
        raise TranscriptError(f"shogi: the game's start: {why}", NO_START) from error


def lines_of(text: str) -> list[str]:
    """Lines as in both formats; Python's other line separators stay in the text."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def comment_lines(mark: str, comment: str) -> list[str]:
    return [mark + line for line in comment.split("\n")] if comment else []


def seat_0(line: MainLine, outcome: int | None) -> int | None:
    """An outcome in the view of the seat to move as one in the view of seat 0."""
    if outcome is None:
        return None
    return outcome if line.game.current_player(line.state) == rules.BLACK else -outcome
