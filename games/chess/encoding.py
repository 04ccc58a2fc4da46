"""The network's input for a chess position. The rules are in `rules.py`.

AlphaZero's 119 planes of 8 × 8 (Silver et al. 2018, table S1), from the view of the player to move
now. Row 0 is the far rank; for Black the board is mirrored top to bottom, so the a file stays left:

    14 t + 0 .. 5    own pawns, knights, bishops, rooks, queens, king, t = 0 .. 7 plies ago
    14 t + 6 .. 11   the opponent's, likewise
    14 t + 12, 13    ones if the position t plies ago had occurred before: once or more, twice
    112              ones if White is to move
    113              full moves played since the start, at most 255
    114, 115         ones if the player to move may still castle: king side, queen side
    116, 117         likewise the opponent
    118              plies since a capture or pawn move, at most 100

Positions before the start of the game (or before the one read from text) are zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import rules

PLANES_PER_POSITION = 14
FIRST_COMMON = PLANES_PER_POSITION * rules.NUM_BOARDS
NUM_PLANES = FIRST_COMMON + 7
MOVE_COUNT_PLANE = FIRST_COMMON + 1
NO_PROGRESS_PLANE = FIRST_COMMON + 6
MOST_MOVES = 255

# The largest value of each plane.
MAXIMUM = [1] * NUM_PLANES
MAXIMUM[MOVE_COUNT_PLANE] = MOST_MOVES
MAXIMUM[NO_PROGRESS_PLANE] = rules.FIFTY_MOVES

_KINDS = ("pawns", "knights", "bishops", "rooks", "queens", "king")
_OF_A_POSITION = [
    *(f"own {kind}" for kind in _KINDS),
    *(f"opponent's {kind}" for kind in _KINDS),
    "occurred before",
    "occurred twice before",
]
_AGES = ["", ", 1 ply ago", *(f", {plies} plies ago" for plies in range(2, rules.NUM_BOARDS))]
PLANE_NAMES = [f"{name}{ago}" for ago in _AGES for name in _OF_A_POSITION] + [
    "White to move",
    "moves played",
    "may castle king side",
    "may castle queen side",
    "opponent may castle king side",
    "opponent may castle queen side",
    "plies without progress",
]

PLANE_AGES = [age for age in range(rules.NUM_BOARDS) for _ in _OF_A_POSITION] + [0] * 7

# The eight bits of a row as eight bytes, the lowest bit first in memory.
BYTES_OF_ROW = np.unpackbits(
    np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little"
).view(np.uint64)[:, 0]


def observe(state: Any, planes: Any) -> None:
    """Fill `planes`, uint8 [119, 8, 8] of zeros, from the view of the player to move."""
    ply = int(state.ply)
    player = ply & 1
    cells = planes.reshape(NUM_PLANES, 64)
    rows = planes.reshape(NUM_PLANES * 64).view(np.uint64)  # eight cells in each
    for age in range(rules.NUM_BOARDS):
        now = (ply - age) & 7
        plane = PLANES_PER_POSITION * age
        for seat in (player, 1 - player):
            pieces = state.boards[now, rules.PIECES_OF + seat]
            for kind in range(6):
                board = state.boards[now, kind] & pieces
                for row in range(8):
                    seen_row = 7 - row if player else row
                    bits = board >> np.uint64(8 * row) & np.uint64(255)
                    rows[8 * plane + seen_row] = BYTES_OF_ROW[bits]
                plane += 1
        for times in (1, 2):
            if state.repetitions[now] >= times:
                cells[plane] = 1
            plane += 1
    if player == 0:
        cells[FIRST_COMMON] = 1
    cells[MOVE_COUNT_PLANE] = min(ply >> 1, MOST_MOVES)
    for i in range(4):
        # Own rights first; Black's are the upper two bits.
        if int(state.castling) >> (i ^ 2 * player) & 1:
            cells[FIRST_COMMON + 2 + i] = 1
    cells[NO_PROGRESS_PLANE] = int(state.clock)
