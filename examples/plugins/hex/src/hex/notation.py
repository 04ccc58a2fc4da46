"""Hex as text: cells such as c2; positions as rows from the top with / between, then x or o."""

import re
from typing import Any

from azcore.errors import InvalidTextError

from . import rules

LETTERS = "abcdefghijklmnopqrs"  # columns from the left; rows are numbers from the top
SWAP = "swap"


def cell_name(row: int, column: int) -> str:
    return f"{LETTERS[column]}{row + 1}"


def action_to_text(state: Any, action: int) -> str:
    size = len(state.stones)
    if action == size * size:
        return SWAP
    row, column = divmod(action, size)
    return cell_name(column, row) if state.player == 1 else cell_name(row, column)


def text_to_action(state: Any, text: str) -> int:
    size = len(state.stones)
    if text == SWAP:
        return size * size
    last = cell_name(size - 1, size - 1)
    cell = re.fullmatch("([a-s])([1-9][0-9]?)", text, re.ASCII)
    if cell is None or (column := LETTERS.index(cell[1])) >= size or int(cell[2]) > size:
        raise InvalidTextError(f"an action is a cell, a1 to {last}, or swap, got {text[:40]!r}")
    row = int(cell[2]) - 1
    return column * size + row if state.player == 1 else row * size + column


def rows_of(state: Any) -> list[str]:
    """The rows of the board from the top, a letter for each cell."""
    return ["".join(".XO"[stone] for stone in row) for row in state.stones.tolist()]


def state_to_text(state: Any) -> str:
    return f"{'/'.join(rows_of(state))} {'xo'[state.player]}"


def state_from_text(state: Any, text: str) -> Any:
    """Fill `state`, an empty board, with the position that `text` describes."""
    size = len(state.stones)
    row = f"[.XO]{{{size}}}"
    if not re.fullmatch(f"{row}(/{row}){{{size - 1}}} [xo]", text):
        raise InvalidTextError(
            f"a position is {size} rows of {size} cells such as ..X.O and x or o, got {text[:40]!r}"
        )
    player = "xo".index(text[-1])
    ahead = text.count("X") - text.count("O") - player  # a swap takes a stone from X
    if ahead != 0 and not (ahead == -1 and state.swap and "O" in text):
        raise InvalidTextError(f"X and O alternate and X begins, which does not fit {text!r}")
    for seat in (1 - player, player):
        state.player = seat
        for y, line in enumerate(text.split(" ")[0].split("/")):
            for x, stone in enumerate(line):
                if stone == "XO"[seat]:
                    rules.put(state, y, x)
    state.last = 0
    if state.winner == 1 + player:
        raise InvalidTextError(f"the seat to move has connected its sides already in {text!r}")
    return state
