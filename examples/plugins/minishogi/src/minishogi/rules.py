"""The rules of minishogi, shogi on 5 × 5, as functions of one NumPy record, for azcore to compile.

Start with `STATE`, then read `legal_actions` and `step`.

* The board is stored as the player to move sees it, and turned after every move, so no rule depends
  on the colour: "forward" is always one row up, and the own pieces are always 1 to 10. Cell 0 is
  the far left corner; cells count row by row. `notation.py` turns cells into squares.
* Action: plane × 25 + cell, as in AlphaZero's shogi on a smaller board. The cell is where a move
  begins or a drop ends. Planes 0 to 31 are 8 directions (N NE E SE S SW W NW) × 4 distances, 32 to
  63 the same with promotion, 64 to 68 drops of pawn, silver, gold, bishop and rook.
* The position that occurs for the fourth time ends the game: White wins, or Black if all of White's
  moves since the first time gave check. A player who cannot move loses. So only the limit of plies
  can make a draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

BLACK, WHITE = 0, 1  # seats: Black (sente) moves first
SIZE, NUM_CELLS = 5, 25
MOST_PLIES = 256  # then the game is a draw

# Types of pieces, the first five can be in hand.
PAWN, SILVER, GOLD, BISHOP, ROOK, KING, TOKIN, PROMOTED_SILVER, HORSE, DRAGON = range(10)
NUM_TYPES, NUM_HAND_TYPES = 10, 5
PROMOTED = np.array([TOKIN, PROMOTED_SILVER, GOLD, HORSE, DRAGON, KING, 6, 7, 8, 9])
HAND_TYPE = np.array([PAWN, SILVER, GOLD, BISHOP, ROOK, KING, PAWN, SILVER, BISHOP, ROOK])
WORTH = (1, 5, 6, 8, 10, 0, 7, 6, 10, 12)  # by type, in pawns, as in azcore's shogi
SUPPLY = 2  # of each type in a set, on the board and in hands

ROW_STEP = np.array([-1, -1, 0, 1, 1, 1, 0, -1])  # N NE E SE S SW W NW; bit 2 flipped: opposite
COLUMN_STEP = np.array([0, 1, 1, 1, 0, -1, -1, -1])
MOST_STEPS = SIZE - 1
_GOLD = (1, 1, 1, 0, 1, 0, 1, 1)
REACH = np.array(  # [type, direction]: how many cells far
    [
        (1, 0, 0, 0, 0, 0, 0, 0),
        (1, 1, 0, 1, 0, 1, 0, 1),
        _GOLD,
        (0, 4, 0, 4, 0, 4, 0, 4),
        (4, 0, 4, 0, 4, 0, 4, 0),
        (1, 1, 1, 1, 1, 1, 1, 1),
        _GOLD,
        _GOLD,
        (1, 4, 1, 4, 1, 4, 1, 4),
        (4, 1, 4, 1, 4, 1, 4, 1),
    ]
)

NUM_MOVE_PLANES = 8 * MOST_STEPS
DROP_PLANE = 2 * NUM_MOVE_PLANES
NUM_PLANES = DROP_PLANE + NUM_HAND_TYPES
NUM_ACTIONS = NUM_PLANES * NUM_CELLS
_MOST_LISTED = 256  # no position has more legal actions

NOT_ENDED, REPETITION, PERPETUAL_CHECK = range(3)  # `ended`; a mate and the limit are not stored

STATE = [
    # Hashes of the positions so far; those with the same seat to move are contiguous.
    ("positions", np.int64, (2, MOST_PLIES // 2 + 1)),
    ("board", np.int8, (NUM_CELLS,)),  # 0 empty, 1 + type own, 11 + type the opponent's
    ("hands", np.int8, (2, NUM_HAND_TYPES)),  # count by seat and type
    ("check_run", np.int16, (2,)),  # consecutive moves of each seat that gave check
    ("latest", np.int16),  # plies since the first known position
    ("ply", np.int16),
    ("player", np.int8),  # seat to move
    ("repeats", np.int8),  # how often the position had occurred before
    ("ended", np.int8),
    ("in_check", np.bool_),  # whether the player to move is
    ("last_cell", np.int8),  # where the last move ended, as the player to move sees it; -1: none
]

# Zobrist numbers of a piece on a cell (as Black or White to move sees it) and of a count in a hand.
_numbers = np.random.PCG64(20181207).random_raw(2 * 21 * 25 + 2 * 5 * 3).view(np.int64)
PIECE_HASH = _numbers[: 2 * 21 * 25].reshape(2, 21, 25)
HAND_HASH = _numbers[2 * 21 * 25 :].reshape(2, 5, 3)
# Used only by `position_key`: earlier occurrences up to 3, and `ended`.
_numbers = np.random.PCG64(20181208).random_raw(4 + 3).view(np.int64)
REPEAT_HASH, ENDED_HASH = _numbers[:4], _numbers[4:]


def current_player(state: Any) -> int:
    return int(state.player)


def legal_actions(state: Any, actions: Any) -> int:
    listed = np.zeros(_MOST_LISTED, np.int64)
    count = list_moves(state.board, listed, False)
    count = list_drops(state, listed, count, False)
    listed[:count].sort()
    for i in range(count):
        actions[i] = listed[i]
    return count


def step(state: Any, action: int) -> None:
    player = int(state.player)
    board = state.board
    plane, cell = action // NUM_CELLS, action % NUM_CELLS
    if plane >= DROP_PLANE:
        piece = plane - DROP_PLANE
        state.hands[player, piece] -= 1
        target = cell
    else:
        target = target_of(plane, cell)
        piece = board[cell] - 1
        board[cell] = 0
        if board[target] > 0:
            state.hands[player, HAND_TYPE[board[target] - 1 - NUM_TYPES]] += 1
        if plane >= NUM_MOVE_PLANES:
            piece = PROMOTED[piece]
    board[target] = 1 + piece
    turn(board)
    state.last_cell = NUM_CELLS - 1 - target
    state.ply += 1
    state.player = 1 - player
    state.in_check = is_attacked(board, king_of(board))
    state.check_run[player] = state.check_run[player] + 1 if state.in_check else 0
    remember_position(state)


def is_terminal(state: Any) -> bool:
    return state.ended != NOT_ENDED or state.ply >= MOST_PLIES or not has_action(state)


def outcome(state: Any) -> int:
    if state.ended != NOT_ENDED:
        return 1 if state.ended == PERPETUAL_CHECK else -1
    # A mate on the last ply counts.
    return 0 if has_action(state) else 2 * int(state.player) - 1


def position_key(state: Any) -> int:
    # Board, hands, seat, how often the position has occurred before, and whether that ended the
    # game. Other earlier positions and checks are left out.
    return int(hash_of(state) ^ REPEAT_HASH[state.repeats] ^ ENDED_HASH[state.ended])


# -- helpers -----------------------------------------------------------------------------------


@register_jitable
def target_of(plane: int, cell: int) -> int:
    """The cell where a move ends; -1 beyond the edge."""
    kind = plane % NUM_MOVE_PLANES
    direction, steps = kind // MOST_STEPS, kind % MOST_STEPS + 1
    row = cell // SIZE + ROW_STEP[direction] * steps
    column = cell % SIZE + COLUMN_STEP[direction] * steps
    if row < 0 or row >= SIZE or column < 0 or column >= SIZE:
        return -1
    return int(SIZE * row + column)


@register_jitable
def turn(board: Any) -> None:
    """Show a board as the other player sees it."""
    for cell in range(NUM_CELLS // 2 + 1):
        other = NUM_CELLS - 1 - cell
        here, there = board[cell], board[other]
        board[cell] = swapped(there)
        board[other] = swapped(here)


@register_jitable
def swapped(code: int) -> int:
    """A cell's content with the owners exchanged."""
    if code == 0:
        return 0
    return code + NUM_TYPES if code <= NUM_TYPES else code - NUM_TYPES


@register_jitable
def king_of(board: Any) -> int:
    """The cell of the own king; -1 if there is none, as in a state that nobody has set up."""
    for cell in range(NUM_CELLS):
        if board[cell] == 1 + KING:
            return cell
    return -1


@register_jitable
def is_attacked(board: Any, cell: int) -> bool:
    """Whether a piece of the opponent attacks a cell; never one that is not there (-1)."""
    if cell < 0:
        return False
    for direction in range(8):
        row, column = cell // SIZE, cell % SIZE
        for distance in range(1, MOST_STEPS + 1):
            row += ROW_STEP[direction]
            column += COLUMN_STEP[direction]
            if row < 0 or row >= SIZE or column < 0 or column >= SIZE:
                break
            code = board[SIZE * row + column]
            if code == 0:
                continue
            # The opponent faces us, so this direction is the way its piece comes from there.
            if code > NUM_TYPES and REACH[code - 1 - NUM_TYPES, direction] >= distance:
                return True
            break
    return False


@register_jitable
def list_moves(board: Any, listed: Any, stop_at_first: bool) -> int:
    """Write the legal moves on the board (no drops); return their count.

    With `stop_at_first` nothing is written, and the result is above 0 if there is a move.
    """
    after = board.copy()
    king = king_of(board)
    count = 0
    for cell in range(NUM_CELLS):
        piece = board[cell] - 1
        if piece < 0 or piece >= NUM_TYPES:
            continue
        for direction in range(8):
            for steps in range(1, REACH[piece, direction] + 1):
                plane = MOST_STEPS * direction + steps - 1
                target = target_of(plane, cell)
                if target < 0 or 0 < board[target] <= NUM_TYPES:
                    break
                after[cell], after[target] = 0, board[cell]
                legal = not is_attacked(after, target if piece == KING else king)
                after[cell], after[target] = board[cell], board[target]
                if legal:
                    if stop_at_first:
                        return 1
                    if not (piece == PAWN and target < SIZE):  # which must promote
                        listed[count] = plane * NUM_CELLS + cell
                        count += 1
                    if PROMOTED[piece] != piece and (target < SIZE or cell < SIZE):
                        listed[count] = (NUM_MOVE_PLANES + plane) * NUM_CELLS + cell
                        count += 1
                if board[target] != 0:
                    break
    return count


@register_jitable
def list_drops(state: Any, listed: Any, count: int, stop_at_first: bool) -> int:
    """Append the legal drops of the player to move; return the new count.

    With `stop_at_first` nothing is written, and the result is above 0 if there is a drop.
    """
    board = state.board
    after = board.copy()
    king = king_of(board)
    for piece in range(NUM_HAND_TYPES):
        if state.hands[state.player, piece] == 0:
            continue
        for cell in range(NUM_CELLS):
            if board[cell] != 0 or (piece == PAWN and not may_drop_pawn(board, cell)):
                continue
            after[cell] = 1 + piece
            legal = not (state.in_check and is_attacked(after, king))
            if legal and piece == PAWN and board[cell - SIZE] == 1 + NUM_TYPES + KING:
                legal = not is_mate(after)
            after[cell] = 0
            if legal:
                if stop_at_first:
                    return 1
                listed[count] = (DROP_PLANE + piece) * NUM_CELLS + cell
                count += 1
    return count


@register_jitable
def may_drop_pawn(board: Any, cell: int) -> bool:
    """Whether a pawn could move on from a cell, and the player has no other pawn on its file."""
    if cell < SIZE:
        return False
    on_file = 0
    for other in range(cell % SIZE, NUM_CELLS, SIZE):
        on_file += board[other] == 1 + PAWN
    return on_file == 0


@register_jitable
def is_mate(board: Any) -> bool:
    """Whether a pawn dropped in front of the opponent's king leaves it without a move.

    The check is given from the next cell, so no drop can answer it.
    """
    theirs = board.copy()
    turn(theirs)
    return list_moves(theirs, np.zeros(0, np.int64), True) == 0


@register_jitable
def has_action(state: Any) -> bool:
    """Whether the player to move has a legal action, ignoring the end of the game."""
    nothing = np.zeros(0, np.int64)
    return list_moves(state.board, nothing, True) > 0 or list_drops(state, nothing, 0, True) > 0


@register_jitable
def hash_of(state: Any) -> int:
    value = 0
    for cell in range(NUM_CELLS):
        if state.board[cell] != 0:
            value ^= PIECE_HASH[state.player, state.board[cell], cell]
    for seat in range(2):
        for piece in range(NUM_HAND_TYPES):
            value ^= HAND_HASH[seat, piece, state.hands[seat, piece]]
    return value


@register_jitable
def remember_position(state: Any) -> None:
    """Add the position to the list, count its occurrences, and end the game at the fourth."""
    state.latest += 1
    known = state.positions[state.latest & 1]
    latest = int(state.latest) >> 1
    now = hash_of(state)
    first, occurred = latest, 0
    for i in range(latest - 1, -1, -1):
        if known[i] == now:
            first = i
            occurred += 1
    known[latest] = now
    state.repeats = min(occurred, 3)
    state.ended = NOT_ENDED
    if occurred >= 3:
        checked = state.check_run[WHITE] >= latest - first
        state.ended = PERPETUAL_CHECK if checked else REPETITION


def set_up(state: Any, board: Any, hands: Any, player: int, ply: int) -> None:
    """Fill a zeroed state with a position, as the first known one.

    Args:
        state: a zeroed state.
        board: int8 [25], as the player to move sees it.
        hands: int8 [2, 5], count by seat and type.
        player: the seat to move.
        ply: the number of plies played before.
    """
    state.board[:] = board
    state.hands[:] = hands
    state.player, state.ply = player, ply
    state.latest, state.last_cell = -1, -1
    state.in_check = is_attacked(state.board, king_of(state.board))
    remember_position(state)
