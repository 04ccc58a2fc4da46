"""Connect four solved: `python solver.py > solved.epd` writes positions with their best moves.

Alpha-beta search over bitboards laid out as in `rules.py`, but with its own rules. Moves that
let the opponent win at once are left out, the rest are tried from the middle, and values are
remembered in a table. Only the outcome counts, not how soon it comes.

The positions are those after 16 to 26 plies of random play in which some legal moves keep the
outcome that best play gives and others do not.
"""

from __future__ import annotations

import numpy as np
from numba import njit

COLUMNS, ROWS, STEP = 7, 6, 7
BOTTOM = sum(1 << STEP * column for column in range(COLUMNS))
BOARD = BOTTOM * ((1 << ROWS) - 1)
ORDER = np.array([3, 2, 4, 1, 5, 0, 6])
ENTRIES = 1 << 22  # of the table, 9 bytes each
Table = tuple[np.ndarray, np.ndarray]


@njit(cache=True)
def winning_cells(stones: int, occupied: int) -> int:
    """The empty cells at which one more stone makes four, whether it can fall there yet or not."""
    cells = (stones << 1) & (stones << 2) & (stones << 3)  # on top of three
    for step in (STEP - 1, STEP, STEP + 1):
        pair = (stones << step) & (stones << 2 * step)
        cells |= pair & (stones << 3 * step)
        cells |= pair & (stones >> step)
        pair = (stones >> step) & (stones >> 2 * step)
        cells |= pair & (stones >> 3 * step)
        cells |= pair & (stones << step)
    return cells & (BOARD ^ occupied)


@njit(cache=True)
def solved(
    mine: int, occupied: int, low: int, high: int, keys: np.ndarray, values: np.ndarray
) -> int:
    """The outcome for the side to move, between `low` and `high`: 1 wins, 0 draws, -1 loses.

    Args:
        mine: bitboard of the side to move.
        occupied: of both sides.
        low, high: where the answer need only be exact.
        keys, values: the table; a key is unique to a position.
    """
    open_cells = (occupied + BOTTOM) & BOARD
    if winning_cells(mine, occupied) & open_cells:
        return 1
    theirs = mine ^ occupied
    threats = winning_cells(theirs, occupied)
    forced = threats & open_cells
    if forced:
        if forced & (forced - 1):
            return -1  # two wins to stop at once
        open_cells = forced
    open_cells &= ~(threats >> 1)  # never below a cell where the opponent wins
    if open_cells == 0:
        return 0 if occupied == BOARD else -1
    key = mine + occupied + BOTTOM
    place = (key ^ (key >> 23)) % ENTRIES
    if keys[place] == key:
        known = values[place]  # 3 (low + 1) + (high + 1), bounds of the true outcome
        low, high = max(low, known // 3 - 1), min(high, known % 3 - 1)
        if low >= high:
            return low
    best, top = -1, low
    for column in ORDER:
        move = open_cells & (((1 << ROWS) - 1) << STEP * column)
        if move:
            value = -solved(theirs, occupied | move, -high, -top, keys, values)
            best, top = max(best, value), max(top, value)
            if top >= high:
                break
    least, most = -1, 1
    if best <= low:
        most = max(best, low)
    elif best >= high:
        least = best
    else:
        least = most = best
    keys[place], values[place] = key, 3 * (least + 1) + most + 1
    return best


def new_table() -> Table:
    return np.zeros(ENTRIES, np.int64), np.zeros(ENTRIES, np.int8)


def values_of_moves(mine: int, occupied: int, table: Table) -> dict[int, int]:
    """The outcome for the side to move after each legal column, with best play from there."""
    values = {}
    for column in range(COLUMNS):
        move = (occupied + (1 << STEP * column)) & ~occupied & (((1 << ROWS) - 1) << STEP * column)
        if not move:
            continue
        if winning_cells(mine, occupied) & move:
            values[column] = 1
        elif occupied | move == BOARD:
            values[column] = 0
        else:
            values[column] = -int(solved(mine ^ occupied, occupied | move, -1, 1, *table))
    return values


def text_of(mine: int, occupied: int) -> str:
    """The position as the game writes it."""
    plies = bin(occupied).count("1")
    letters = ("X", "O") if plies % 2 == 0 else ("O", "X")
    rows = []
    for row in reversed(range(ROWS)):
        bits = [STEP * column + row for column in range(COLUMNS)]
        rows.append(
            "".join(
                "." if not occupied >> bit & 1 else letters[0] if mine >> bit & 1 else letters[1]
                for bit in bits
            )
        )
    return f"{'/'.join(rows)} {'xo'[plies % 2]}"


def random_position(rng: np.random.Generator) -> tuple[int, int] | None:
    """The side to move's stones and all stones, after random plies; None: somebody has won."""
    mine = occupied = 0
    for _ in range(int(rng.integers(16, 27))):
        free = [c for c in range(COLUMNS) if not occupied >> (STEP * c + ROWS - 1) & 1]
        column = int(rng.choice(free))
        move = (occupied + (1 << STEP * column)) & ~occupied
        move &= ((1 << ROWS) - 1) << STEP * column
        if winning_cells(mine, occupied) & move:
            return None
        mine, occupied = mine ^ occupied, occupied | move
    return mine, occupied


def main(count: int = 1000) -> None:
    rng, table, seen = np.random.default_rng(7), new_table(), set()
    print("# Connect four after 16 to 26 random plies, solved; by solver.py")
    while len(seen) < count:
        position = random_position(rng)
        if position is None or position in seen:
            continue
        values = values_of_moves(*position, table)
        best = max(values.values())
        keep = [column for column, value in values.items() if value == best]
        if len(keep) == len(values):
            continue
        seen.add(position)
        print(f"{text_of(*position)} bm {' '.join(str(column + 1) for column in keep)};")


if __name__ == "__main__":
    main()
