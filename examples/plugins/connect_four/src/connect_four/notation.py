"""Positions of connect four as text: six rows from the top with / between, then x or o to move."""

import re
from typing import Any

from azcore.errors import InvalidTextError

from .rules import COLUMNS, ROWS, STEP, has_four


def rows_of(state: Any) -> list[str]:
    """The rows of the board from the top, a letter for each cell."""
    x, o = state.stones
    rows = [range(row, STEP * COLUMNS, STEP) for row in reversed(range(ROWS))]  # their bits
    return ["".join(".XO"[(x >> bit & 1) + 2 * (o >> bit & 1)] for bit in row) for row in rows]


def state_to_text(state: Any) -> str:
    return f"{'/'.join(rows_of(state))} {'xo'[state.player]}"


def state_from_text(state: Any, text: str) -> Any:
    """Fill `state`, an empty board, with the position that `text` describes."""
    if not re.fullmatch("[.XO]{7}(/[.XO]{7}){5} [xo]", text):
        raise InvalidTextError(f"a position is six rows such as ...XO.. and x or o, got {text!r}")
    rows = text[:-2].split("/")[::-1]
    for column in range(COLUMNS):
        stack = "".join(row[column] for row in rows)
        if "." in stack.rstrip("."):
            raise InvalidTextError(f"a stone hangs in the air in column {column + 1} of {text!r}")
        for row, stone in enumerate(stack.rstrip(".")):
            state.stones["XO".index(stone)] |= 1 << STEP * column + row
    state.player = "xo".index(text[-1])
    if text.count("X") != text.count("O") + state.player:
        raise InvalidTextError(f"X and O alternate and X begins, which does not fit {text!r}")
    if has_four(state.stones[state.player]):
        raise InvalidTextError(f"the seat to move has four in a line already in {text!r}")
    return state
