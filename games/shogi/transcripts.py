"""Shogi games as KIF and CSA transcripts, by the library cshogi (the extra `azcore[shogi]`).

`kif.py` and `csa.py` have one format each; this file has what they share.

Both formats hold a main line of moves with comments, names, place and date, and the reason for the
end. They begin at the usual start, with a handicap or in a position; variations and clock times are
skipped.

KIF is written and read as text; files are in UTF-8 (`.kifu`) or CP932 (`.kif`). cshogi writes the
moves and checks them against its board. Lines are parsed here, because cshogi's own readers of
whole games terminate the process on some damaged ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.errors import (
    AzcoreError,
    GameError,
    InvalidTextError,
    TranscriptError,
)
from azcore.game import Game, unplayable

from . import notation, rules

OFF_THE_BOARD = {
    **dict.fromkeys(("切れ負け", "時間切れ", "%TIME_UP"), "time"),
    **dict.fromkeys(("不戦敗", "不戦勝", "接続切れ"), "absence"),
}
NO_START = "a start that cannot be read"
BYTE_ORDER_MARK = "\ufeff"  # some editors write it first


def library() -> Any:
    """The module cshogi.

    Raises:
        GameError: cshogi is not installed.
    """
    try:
        import cshogi
        import cshogi.CSA
        import cshogi.KIF
    except ImportError as error:
        raise GameError(
            "shogi: KIF and CSA transcripts and the plain form need the library cshogi: "
            "pip install azcore[shogi] (not on Python 3.12, where it needs an old NumPy)"
        ) from error
    return cshogi


def lines_of(text: str) -> list[str]:
    """Lines as in both formats; Python's other line separators stay in the text."""
    text = text.removeprefix(BYTE_ORDER_MARK)
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def comment_lines(mark: str, comment: str) -> list[str]:
    return [mark + line for line in comment.split("\n")] if comment else []


def seat_0(game: Game, state: Any, outcome: int | None) -> int | None:
    """An outcome in the view of the seat to move as one in the view of seat 0."""
    if outcome is None:
        return None
    return outcome if game.current_player(state) == rules.BLACK else -outcome


def slashed(header: str, value: str) -> str:
    """A header's value, with a date in the form of Japanese transcripts, 2026/01/31."""
    whole = header == "date" and re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII)
    return value.replace("-", "/") if whole else value


def dashed(header: str, value: str) -> str:
    """The inverse of `slashed`."""
    whole = header == "date" and re.fullmatch(r"\d{4}/\d\d/\d\d", value.strip(), re.ASCII)
    return value.replace("/", "-") if whole else value


def is_usual(start: str | None) -> bool:
    return start in (None, "startpos", notation.START)


def start_of(game: Game, start: str | None) -> tuple[Any, Any]:
    """The state in which a game begins, and cshogi's board.

    Raises:
        TranscriptError: the rules refuse it.
    """
    if start is None or is_usual(start):
        return game.initial_state(), library().Board()
    try:
        state = game.state_from_text(start)
    except AzcoreError as error:
        why = str(error).removeprefix(f"{game.name}: ")
        raise TranscriptError(f"shogi: the game's start: {why}", NO_START) from error
    return state, library().Board(game.state_to_text(state))


def piece_code(piece: int, is_white: bool) -> int:
    """A piece as `notation.Position.board` has it."""
    return 1 + piece + rules.NUM_TYPES * is_white


def no_hands() -> npt.NDArray[np.int64]:
    return np.zeros((2, rules.NUM_HAND_TYPES), np.int64)


def sfen_of(board: npt.NDArray[np.int8], hands: npt.NDArray[np.int64], seat: int) -> str:
    """The SFEN of a position; the reader refuses hands that no set of pieces allows."""
    few = np.minimum(hands, 99).astype(np.int8)
    return notation.Position(board=board, hands=few, player=seat, ply=0).to_sfen()


def result_note(game: Game, state: Any, told: str, own: str, ends: Sequence[str]) -> str:
    """The end stated by a transcript, if the format has it and it agrees with the rules.

    Raises:
        InvalidTextError: the format does not have it, or the game ended otherwise.
    """
    if told not in ends:
        raise InvalidTextError(
            f"shogi: the result must be one of {', '.join(ends)}, got {told[:20]!r}"
        )
    if game.is_terminal(state) and told != own:
        raise InvalidTextError(
            f"shogi: the game is over by {game.termination(state)}, so its result must be {own}, "
            f"got {told}"
        )
    return told


def play_usi(game: Game, state: Any, actions: list[int], usi: str, form: str) -> Any:
    """Play one more move of a transcript.

    Raises:
        InvalidTextError: the move is not legal; the message gives its number.
    """
    try:
        action = game.text_to_action(state, usi)
    except AzcoreError as error:
        where = f"shogi: move {len(actions) + 1} of the {form} game"
        raise unplayable(game, state, where, error) from error
    actions.append(action)
    return game.step(state, action)
