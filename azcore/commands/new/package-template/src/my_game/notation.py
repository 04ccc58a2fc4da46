"""Texts of My game: writes and reads actions and positions. Never compiled.

An action is a column and a row, `a1` at the bottom left. A position is the rows from the top, then
the seat to move, `X.O/.X./... o`. Its first word is the placement of the pieces alone: the kit
compares placements to see whether a position has been on the board before.
"""

import re
from typing import Any

from azcore.errors import InvalidTextError

from . import rules


def action_to_text(board_size: int, action: int) -> str:
    return f"{chr(ord('a') + action % board_size)}{board_size - action // board_size}"


def text_to_action(board_size: int, text: str) -> int:
    """The action in `text`, legal or not.

    Raises:
        InvalidTextError: it names no cell of the board.
    """
    if not re.fullmatch("[a-z][1-9][0-9]?", text):
        raise InvalidTextError(f"an action is a column and a row such as b2, got {text[:40]!r}")
    column, row = ord(text[0]) - ord("a"), board_size - int(text[1:])
    if not (column < board_size and row >= 0):
        last = action_to_text(board_size, board_size - 1)
        raise InvalidTextError(f"an action is one of a1 to {last}, got {text!r}")
    return row * board_size + column


def state_to_text(state: Any) -> str:
    rows = "/".join("".join(".XO"[stone] for stone in row) for row in state.board)
    return f"{rows} {'xo'[state.player]}"


def state_from_text(state: Any, text: str) -> Any:
    """Fill `state`, an initial position, with the position that `text` describes.

    Raises:
        InvalidTextError: not a position, or one that no game can reach.
    """
    size = state.board.shape[0]
    row = f"[.XO]{{{size}}}"
    if not re.fullmatch(f"{row}(/{row}){{{size - 1}}} [xo]", text):
        raise InvalidTextError(
            f"a position is {size} rows of {size} cells ., X or O from the top with / between, "
            f"then x or o to move, got {text[:60]!r}"
        )
    for r, cells in enumerate(text.split()[0].split("/")):
        for c, cell in enumerate(cells):
            state.board[r, c] = ".XO".index(cell)
    state.player = "xo".index(text[-1])
    if text.count("X") != text.count("O") + state.player:
        raise InvalidTextError(f"X and O alternate and X begins, which does not fit {text!r}")
    for r in range(size):
        for c in range(size):
            if state.board[r, c] != 0 and rules.in_line(state, r, c):
                if state.board[r, c] == state.player + 1:
                    raise InvalidTextError(f"the seat to move has already won in {text!r}")
                state.winner = state.board[r, c]
    return state


def render(state: Any) -> str:
    size = state.board.shape[0]
    lines = [
        f"{size - r:2} {' '.join('.XO'[stone] for stone in row)}"
        for r, row in enumerate(state.board)
    ]
    columns = " ".join(chr(ord("a") + c) for c in range(size))
    return "\n".join([*lines, f"   {columns}"])
