"""The rules of chess as functions of one NumPy record, for azcore to compile.

Start with `STATE`, which defines a position, then read `step` and `legal_actions`. `encoding.py`
has the planes that the network sees, `notation.py` the texts, and `game.py` ties the three
together.

Boards are 64-bit sets, bit `cell` = row × 8 + column. The state is in White's view:

         a  b  c  d  e  f  g  h
      8  0  1  2  3  4  5  6  7
      7  8  9 10 11 12 13 14 15
      ..                             rows 2 to 6 continue likewise
      1 56 57 58 59 60 61 62 63

Move generation uses the view of the player to move, which for Black is the board mirrored top to
bottom (a1 is 0, h8 is 63): own pawns always move up, and the king still starts on the e file.

Actions are numbered plane × 64 + from-cell, both in the view of the player to move. The planes:

    as a queen moves, 1 to 7 cells       as a knight moves      underpromotion
                                                                        left  on  right
    NW 49-55   N  0-6    NE  7-13         .  63   .  56   .     knight   64   65   66
    W  42-48      ♕      E  14-20        62   .   .   .  57     bishop   67   68   69
    SW 35-41   S 28-34   SE 21-27         .   .   ♘   .   .     rook     70   71   72
                                         61   .   .   .  58
                                          .  60   .  59   .

A pawn that reaches the last row on one of the first 56 becomes a queen; castling is the king's move
two cells to the east or west. The from-cells of a plane form one board, so `legal_actions` finds
them for all pieces at once, by shifting, and in ascending order.

Shifts are 64-bit rotations, so that one loop serves all directions; `STAYS` clears the bits that
wrapped around. Every number combined with a board is np.uint64, since numba turns a mix with other
integers into a float. Everything also runs as plain Python (NUMBA_DISABLE_JIT=1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from azcore.bits import lowest_bit

NUM_PLANES = 73
KNIGHT_PLANE = 56
UNDERPROMOTION_PLANE = 64

# Indices of a position's boards: six kinds of pieces, then all pieces of each seat.
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
NOTHING = 6  # the kind of an empty cell
PIECES_OF = 6  # + seat
WORTH = (1, 3, 3, 5, 9, 0)  # by kind, in pawns, as most primers have it

# Bits of `castling`; the same two, 2 bits higher, for Black.
KING_SIDE, QUEEN_SIDE = 1, 2

NUM_BOARDS = 8  # positions stored for the network: this one and the seven before it
FIFTY_MOVES = 100  # plies without a capture or pawn move that end the game
MAX_PLIES = 12_000  # the fifty-move rule ends every game sooner

STATE = [
    # Boards of the last eight positions, the one after ply p in row p % 8; zeros before the start.
    ("boards", np.uint64, (NUM_BOARDS, 8)),
    # Hash of the position at each value of the clock, from 0 to the current one. Positions before
    # the last capture or pawn move cannot recur. Those that a FEN omits are 0, no position's hash.
    ("hashes", np.uint64, (FIFTY_MOVES + 1,)),
    ("hash", np.uint64),  # of pieces, castling, en passant; the clock's parity implies the seat
    ("ply", np.int16),  # even: seat 0, White, is to move
    ("max_plies", np.int16),  # setting: the game is a draw after this many
    ("last_action", np.int16),  # -1 at the start
    # How often each of the last eight positions had occurred before, rows as in `boards`.
    ("repetitions", np.int8, (NUM_BOARDS,)),
    ("clock", np.int8),  # plies since a capture or pawn move
    ("castling", np.int8),  # rights left
    # The cell that a pawn has just passed over, White's view; -1 unless it can legally be captured
    # there: only then is en passant part of a position's identity (FIDE 9.2.3).
    ("en_passant", np.int8),
]

# -- tables ------------------------------------------------------------------------------------

NORTH, NORTH_EAST, EAST, SOUTH_EAST, SOUTH, SOUTH_WEST, WEST, NORTH_WEST = range(8)
# (row, column) of one step; the first eight are the queen's directions, the others the knight's.
STEPS = (
    *((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1)),
    *((-2, 1), (-1, 2), (1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1)),
)
KNIGHT_STEP = 8  # index of a knight's first step

ONE = np.uint64(1)
NO_CELLS = np.uint64(0)
ALL_CELLS = np.uint64(2**64 - 1)
LIGHT_CELLS = np.uint64(0xAA55AA55AA55AA55)
ROW_0 = np.uint64(0xFF)
ROW_5 = np.uint64(0xFF << 40)
WORD = np.uint64(64)  # bits


def _cells(cells: list[tuple[int, int]]) -> int:
    """The set of the given (row, column) that are on the board."""
    return sum(1 << 8 * r + c for r, c in cells if r in range(8) and c in range(8))


def _reached(steps: tuple[tuple[int, int], ...], distances: int) -> list[int]:
    """For each cell, the set that these steps reach, repeated up to `distances` times."""
    return [
        _cells([(i // 8 + n * r, i % 8 + n * c) for r, c in steps for n in range(1, distances + 1)])
        for i in range(64)
    ]


def _between(one: int, other: int) -> int:
    """The cells strictly between two cells on a common line; otherwise none."""
    rows, columns = other // 8 - one // 8, other % 8 - one % 8
    length = max(abs(rows), abs(columns))
    if length == 0 or (rows and columns and abs(rows) != abs(columns)):
        return 0
    r, c = rows // length, columns // length
    return _cells([(one // 8 + n * r, one % 8 + n * c) for n in range(1, length)])


# The rotation that moves a board one step, and the cells where a piece can then be.
SHIFTS = np.array([(8 * r + c) % 64 for r, c in STEPS], np.uint64)
STAYS = np.array(
    [_cells([(i // 8 + r, i % 8 + c) for i in range(64)]) for r, c in STEPS], np.uint64
)
# [direction, distance]: the rotation that undoes this many steps.
BACK = np.array([[-n * (8 * r + c) % 64 for n in range(8)] for r, c in STEPS], np.uint64)
# [axis, cell]: the line through a cell, without the cell; a direction's axis is direction % 4.
LINES = np.array([_reached((STEPS[i], STEPS[i + 4]), 7) for i in range(4)], np.uint64)
BETWEEN = np.array([[_between(i, j) for j in range(64)] for i in range(64)], np.uint64)
KING_REACH = np.array(_reached(STEPS[:8], 1), np.uint64)
KNIGHT_REACH = np.array(_reached(STEPS[8:], 1), np.uint64)
PAWN_REACH = np.array(_reached((STEPS[NORTH_WEST], STEPS[NORTH_EAST]), 1), np.uint64)

# Added to an action's from-cell, by plane.
OFFSETS = np.array(
    [(8 * r + c) * n for r, c in STEPS[:8] for n in range(1, 8)]
    + [8 * r + c for r, c in STEPS[8:]]
    + [-9, -8, -7] * 3
)
# Castling rights that remain when a piece leaves or enters a cell (White's view): the initial cells
# of kings and rooks lose theirs.
RIGHTS_KEPT = np.full(64, 15)
for _cell, _lost in ((60, 3), (63, 1), (56, 2), (4, 12), (7, 4), (0, 8)):
    RIGHTS_KEPT[_cell] -= _lost

# Zobrist numbers; the generator's raw stream is the same in every version of NumPy. A game of 512
# plies compares fewer than 2**16 pairs of positions: the probability of a false repetition is below
# 2**-48.
_raw = np.random.PCG64(20181207).random_raw(2 * 6 * 64 + 16 + 64)
PIECE_HASH = _raw[:768].reshape(2, 6, 64)  # [seat, kind, cell in White's view]
CASTLING_HASH = _raw[768:784]
EN_PASSANT_HASH = _raw[784:]  # by cell
# Used only by `position_key`: Black to move, the clock, earlier occurrences.
_raw = np.random.PCG64(20181208).random_raw(1 + FIFTY_MOVES + 1 + 3)
BLACK_HASH = _raw[0]
CLOCK_HASH = _raw[1 : FIFTY_MOVES + 2]
REPETITION_HASH = _raw[FIFTY_MOVES + 2 :]


# -- the rules ---------------------------------------------------------------------------------
# `current_player`, `legal_actions`, `step`, `is_terminal`, `outcome`, `position_key`; `observe` is
# in encoding.py. Arguments and results are described in azcore/game/compiled.py.


def current_player(state: Any) -> int:
    return int(state.ply) & 1


def legal_actions(state: Any, actions: Any) -> int:
    view = view_of(state)
    checkers, pinned, target = checks_and_pins(view)
    safe = ~(attacked_cells(view) | view.own)
    passing = en_passant_sources(state, view)
    count = 0
    left = straight = right = NO_CELLS  # pawns that can promote, by direction
    for direction in range(8):
        # A pinned piece moves only on its line to the king.
        free = ~pinned | LINES[direction & 3, view.king_cell]
        # Pawns and king move one cell, or two in a pawn's first step and in castling.
        near = shifted(view.king, direction) & safe
        far = NO_CELLS
        if direction in (NORTH, NORTH_EAST, NORTH_WEST):
            steps = pawn_steps(view, direction, free)
            near |= steps & target
            if direction == NORTH:
                far = shifted(steps & ROW_5, NORTH) & view.empty & target
                straight = rotated(steps & target & ROW_0, BACK[NORTH, 1])
            elif direction == NORTH_EAST:
                near |= shifted(passing, direction) & en_passant_cell(state)
                right = rotated(steps & target & ROW_0, BACK[NORTH_EAST, 1])
            else:
                near |= shifted(passing, direction) & en_passant_cell(state)
                left = rotated(steps & target & ROW_0, BACK[NORTH_WEST, 1])
        elif not checkers:
            if direction == EAST:
                far = castling_king_side(state, view, safe)
            elif direction == WEST:
                far = castling_queen_side(state, view, safe)
        # Sliding pieces advance cell by cell until all are blocked.
        sliders = (view.diagonal if direction & 1 else view.straight) & free
        plane = 7 * direction
        for distance in range(1, 8):
            sliders = shifted(sliders, direction)
            landing = (sliders & target) | near
            sources = rotated(landing, BACK[direction, distance])
            count = write_actions(actions, count, plane, sources)
            sliders &= view.empty
            near, far = far, NO_CELLS
            if not sliders | near:
                break
            plane += 1
    knights = view.knights & ~pinned
    if knights:
        for i in range(8):
            landing = shifted(knights, KNIGHT_STEP + i) & target
            sources = rotated(landing, BACK[KNIGHT_STEP + i, 1])
            count = write_actions(actions, count, KNIGHT_PLANE + i, sources)
    if left | straight | right:
        for plane in range(UNDERPROMOTION_PLANE, NUM_PLANES, 3):
            count = write_actions(actions, count, plane, left)
            count = write_actions(actions, count, plane + 1, straight)
            count = write_actions(actions, count, plane + 2, right)
    return count


def step(state: Any, action: int) -> None:
    player = int(state.ply) & 1
    boards = state.boards
    now = (int(state.ply) + 1) & 7
    for i in range(8):
        boards[now, i] = boards[now - 1, i]  # row -1 is the last
    plane = action >> 6
    mirror = 56 * player
    start = (action & 63) ^ mirror
    end = ((action & 63) + int(OFFSETS[plane])) ^ mirror
    kind = kind_at(state, now, start)
    captured = kind_at(state, now, end)
    passed = -1
    state.clock += 1
    if captured != NOTHING:
        toggle(state, now, 1 - player, captured, end)
        state.clock = 0
    toggle(state, now, player, kind, start)
    if kind == PAWN:
        state.clock = 0
        if plane >= UNDERPROMOTION_PLANE:
            kind = KNIGHT + (plane - UNDERPROMOTION_PLANE) // 3
        elif end < 8 or end >= 56:
            kind = QUEEN
        elif end == state.en_passant:
            toggle(state, now, 1 - player, PAWN, end + 8 - 16 * player)
        elif abs(end - start) == 16:
            passed = (start + end) >> 1
    elif kind == KING and abs(end - start) == 2:
        toggle(state, now, player, ROOK, end + 1 if end > start else end - 2)
        toggle(state, now, player, ROOK, end - 1 if end > start else end + 1)
    toggle(state, now, player, kind, end)
    state.hash ^= CASTLING_HASH[state.castling]
    state.castling &= RIGHTS_KEPT[start] & RIGHTS_KEPT[end]
    state.hash ^= CASTLING_HASH[state.castling]
    state.ply += 1
    state.last_action = action
    set_en_passant(state, passed)
    remember_position(state)


def is_terminal(state: Any) -> bool:
    return is_drawn(state) or not has_legal_action(state)


def outcome(state: Any) -> int:
    if not is_checkmate(state):
        return 0
    return 1 if int(state.ply) & 1 else -1  # with Black to move, White has won


def position_key(state: Any) -> Any:
    # The content of a FEN except the move number, and how often the position has occurred before.
    # It omits other earlier positions.
    key = state.hash ^ CLOCK_HASH[state.clock]
    if int(state.ply) & 1:
        key ^= BLACK_HASH
    return key ^ REPETITION_HASH[min(int(state.repetitions[int(state.ply) & 7]), 2)]


# -- ends of the game --------------------------------------------------------------------------


@register_jitable
def is_drawn(state: Any) -> bool:
    """Whether repetition, fifty moves, material or the ply limit ends the game, without a claim.

    It is a draw unless the player to move is checkmated, which takes precedence.
    """
    return (
        state.clock >= FIFTY_MOVES
        or state.repetitions[int(state.ply) & 7] >= 2
        or state.ply >= state.max_plies
        or is_insufficient(state)
    )


@register_jitable
def is_insufficient(state: Any) -> bool:
    """Whether besides the kings there is at most one knight, or only bishops on one cell colour.

    Then no sequence of moves leads to mate. Blocked positions without a mate are not detected.
    """
    now = int(state.ply) & 7
    boards = state.boards
    if boards[now, PAWN] | boards[now, ROOK] | boards[now, QUEEN]:
        return False
    knights, bishops = boards[now, KNIGHT], boards[now, BISHOP]
    if knights:
        return not bishops and not knights & (knights - ONE)
    return not bishops & LIGHT_CELLS or not bishops & ~LIGHT_CELLS


@register_jitable
def is_checkmate(state: Any) -> bool:
    return is_check(state) and not has_legal_action(state)


@register_jitable
def is_check(state: Any) -> bool:
    """Whether the player to move is in check."""
    view = view_of(state)
    return is_attacked(view, view.own | view.other, ALL_CELLS)


@register_jitable
def has_legal_action(state: Any) -> bool:
    """Whether there is a legal move, ignoring draws; stops at the first one found."""
    view = view_of(state)
    _, pinned, target = checks_and_pins(view)
    for direction in range(8):
        free = ~pinned | LINES[direction & 3, view.king_cell]
        if direction in (NORTH, NORTH_EAST, NORTH_WEST):
            steps = pawn_steps(view, direction, free)
            if direction == NORTH:
                steps |= shifted(steps & ROW_5, NORTH) & view.empty
            if steps & target:
                return True
        sliders = (view.diagonal if direction & 1 else view.straight) & free
        if rays(sliders, direction, view.empty) & target:
            return True
    knights = view.knights & ~pinned
    while knights:
        if KNIGHT_REACH[lowest_bit(knights)] & target:
            return True
        knights &= knights - ONE
    if KING_REACH[view.king_cell] & ~view.own & ~attacked_cells(view):
        return True
    return bool(en_passant_sources(state, view))  # castling is never the only legal move


# -- the view of the player to move ------------------------------------------------------------


class View(NamedTuple):
    """The board as the player to move sees it: np.uint64 sets of cells, queens in two of them."""

    own: Any
    other: Any  # the opponent's pieces
    empty: Any
    king: Any
    king_cell: int
    pawns: Any
    knights: Any
    diagonal: Any  # bishops and queens
    straight: Any  # rooks and queens
    other_king: Any
    other_pawns: Any
    other_knights: Any
    other_diagonal: Any
    other_straight: Any


@register_jitable
def view_of(state: Any) -> View:
    player = int(state.ply) & 1
    now = int(state.ply) & 7
    boards = state.boards
    own = seen_by(player, boards[now, PIECES_OF + player])
    other = seen_by(player, boards[now, PIECES_OF + 1 - player])
    pawns = seen_by(player, boards[now, PAWN])
    knights = seen_by(player, boards[now, KNIGHT])
    diagonal = seen_by(player, boards[now, BISHOP] | boards[now, QUEEN])
    straight = seen_by(player, boards[now, ROOK] | boards[now, QUEEN])
    kings = seen_by(player, boards[now, KING])
    return View(
        own,
        other,
        ~(own | other),
        kings & own,
        lowest_bit(kings & own),
        pawns & own,
        knights & own,
        diagonal & own,
        straight & own,
        kings & other,
        pawns & other,
        knights & other,
        diagonal & other,
        straight & other,
    )


@register_jitable
def checks_and_pins(view: View) -> tuple[Any, Any, Any]:
    """The checkers, the pinned own pieces, and the target cells of own pieces except the king.

    Targets hold no own piece. In check they are the cells that end it: none if two pieces check.
    """
    checkers = KNIGHT_REACH[view.king_cell] & view.other_knights
    checkers |= PAWN_REACH[view.king_cell] & view.other_pawns
    blocking = pinned = NO_CELLS
    snipers = on_lines(view)
    while snipers:
        between = BETWEEN[view.king_cell, lowest_bit(snipers)]
        blockers = between & ~view.empty
        if not blockers:
            checkers |= snipers & ~(snipers - ONE)
            blocking |= between
        elif not blockers & (blockers - ONE):
            pinned |= blockers & view.own
        snipers &= snipers - ONE
    target = ~view.own
    if checkers:
        target = NO_CELLS if checkers & (checkers - ONE) else checkers | blocking
    return checkers, pinned, target


@register_jitable
def on_lines(view: View) -> Any:
    """The opponent's sliding pieces that would attack our king on an empty board."""
    cell = view.king_cell
    straight = (LINES[NORTH, cell] | LINES[EAST, cell]) & view.other_straight
    diagonal = (LINES[NORTH_EAST, cell] | LINES[SOUTH_EAST, cell]) & view.other_diagonal
    return straight | diagonal


@register_jitable
def is_attacked(view: View, occupied: Any, remaining: Any) -> bool:
    """Whether our king is attacked if these cells are occupied and these opposing pieces remain."""
    attackers = KNIGHT_REACH[view.king_cell] & view.other_knights
    attackers |= PAWN_REACH[view.king_cell] & view.other_pawns
    if attackers & remaining:
        return True
    snipers = on_lines(view)
    while snipers:
        if not BETWEEN[view.king_cell, lowest_bit(snipers)] & occupied:
            return True
        snipers &= snipers - ONE
    return False


@register_jitable
def attacked_cells(view: View) -> Any:
    """The cells the opponent attacks, including those that only our own king would shield."""
    attacked = shifted(view.other_pawns, SOUTH_EAST) | shifted(view.other_pawns, SOUTH_WEST)
    attacked |= KING_REACH[lowest_bit(view.other_king)]
    knights = view.other_knights
    while knights:
        attacked |= KNIGHT_REACH[lowest_bit(knights)]
        knights &= knights - ONE
    empty = view.empty | view.king
    for direction in range(8):
        sliders = view.other_diagonal if direction & 1 else view.other_straight
        attacked |= rays(sliders, direction, empty)
    return attacked


@register_jitable
def pawn_steps(view: View, direction: int, free: Any) -> Any:
    """The cells that pawns among `free` reach in one of three directions, ignoring check."""
    enterable = view.empty if direction == NORTH else view.other
    return shifted(view.pawns & free, direction) & enterable


@register_jitable
def castling_king_side(state: Any, view: View, safe: Any) -> Any:
    """The cell two east of the king if castling there is legal; the king must not be in check."""
    right = int(state.castling) >> 2 * (int(state.ply) & 1) & KING_SIDE
    path = np.uint64(0b01100000 << 56)
    return np.uint64(1 << 62) if right and path & view.empty & safe == path else NO_CELLS


@register_jitable
def castling_queen_side(state: Any, view: View, safe: Any) -> Any:
    """The cell two west of the king, likewise; the rook may pass an attacked cell."""
    right = int(state.castling) >> 2 * (int(state.ply) & 1) & QUEEN_SIDE
    path, rook_path = np.uint64(0b00001100 << 56), np.uint64(0b00001110 << 56)
    clear = path & safe == path and rook_path & view.empty == rook_path
    return np.uint64(1 << 58) if right and clear else NO_CELLS


@register_jitable
def en_passant_cell(state: Any) -> Any:
    """The set of the cell where a pawn can be captured en passant, own view; else none."""
    if state.en_passant < 0:
        return NO_CELLS
    return bit(int(state.en_passant) ^ 56 * (int(state.ply) & 1))


@register_jitable
def en_passant_sources(state: Any, view: View) -> Any:
    """Own pawns that can legally capture en passant."""
    sources = NO_CELLS
    if state.en_passant < 0:
        return sources
    passed = en_passant_cell(state)
    captured = rotated(passed, SHIFTS[SOUTH])
    pawns = view.pawns & (shifted(passed, SOUTH_EAST) | shifted(passed, SOUTH_WEST))
    while pawns:
        pawn = pawns & ~(pawns - ONE)
        # Two pawns leave their lines at once, so pins are not enough: test the king itself.
        occupied = (view.own | view.other | passed) & ~(pawn | captured)
        if not is_attacked(view, occupied, ~captured):
            sources |= pawn
        pawns ^= pawn
    return sources


# -- the state ---------------------------------------------------------------------------------


@register_jitable
def kind_at(state: Any, now: int, cell: int) -> int:
    """PAWN to KING, or NOTHING; `now` is the row of `boards`, `cell` is White's view."""
    here = bit(cell)
    for kind in range(6):
        if state.boards[now, kind] & here:
            return kind
    return NOTHING


@register_jitable
def toggle(state: Any, now: int, seat: int, kind: int, cell: int) -> None:
    """Add or remove a piece on a cell of White's view, in the boards and the hash."""
    here = bit(cell)
    state.boards[now, kind] ^= here
    state.boards[now, PIECES_OF + seat] ^= here
    state.hash ^= PIECE_HASH[seat, kind, cell]


@register_jitable
def set_en_passant(state: Any, passed: int) -> None:
    """Store the cell that a pawn has just passed, -1 for none, if it can be captured there."""
    if state.en_passant >= 0:
        state.hash ^= EN_PASSANT_HASH[state.en_passant]
    state.en_passant = passed
    if passed >= 0:
        if en_passant_sources(state, view_of(state)):
            state.hash ^= EN_PASSANT_HASH[passed]
        else:
            state.en_passant = -1


@register_jitable
def remember_position(state: Any) -> None:
    """Count how often the position has occurred before, and add it to the list.

    Hashes an even number of plies back have the same player to move, and a position recurs after
    four plies at the earliest.
    """
    repetitions = 0
    for clock in range(int(state.clock) - 4, -1, -2):
        if state.hashes[clock] == state.hash:
            repetitions += 1
    state.repetitions[int(state.ply) & 7] = repetitions
    state.hashes[state.clock] = state.hash


def set_up(
    state: Any,
    pieces: list[tuple[int, int, int]],
    castling: int,
    passed: int,
    clock: int,
    ply: int,
) -> None:
    """Fill a zeroed state with a position without history; the caller sets `max_plies`.

    Args:
        state: the state to fill.
        pieces: (seat, kind, cell in White's view) of each.
        castling: rights, KING_SIDE | QUEEN_SIDE and the same two bits higher for Black.
        passed: the cell, White's view, over which a pawn has just passed, or -1.
        clock: plies since a capture or pawn move.
        ply: even if White is to move.
    """
    for seat, kind, cell in pieces:
        toggle(state, ply & 7, seat, kind, cell)
    state.castling = castling
    state.hash ^= CASTLING_HASH[castling]
    state.clock = clock
    state.ply = ply
    state.last_action = -1
    state.en_passant = -1
    set_en_passant(state, passed)
    remember_position(state)


# -- sets of cells -----------------------------------------------------------------------------


@register_jitable
def bit(cell: int) -> Any:
    """The set of one cell."""
    return ONE << np.uint64(cell)


@register_jitable
def seen_by(player: int, board: Any) -> Any:
    """A board of White's view in the player's view: for Black mirrored top to bottom, bytewise."""
    if player == 0:
        return board
    half, quarter, eighth = np.uint64(32), np.uint64(16), np.uint64(8)
    low_words, low_bytes = np.uint64(0x0000FFFF0000FFFF), np.uint64(0x00FF00FF00FF00FF)
    board = board >> half | board << half
    board = board >> quarter & low_words | (board & low_words) << quarter
    return board >> eighth & low_bytes | (board & low_bytes) << eighth


@register_jitable
def rotated(board: Any, shift: Any) -> Any:
    """Bits rotated up by `shift`, np.uint64 from 1 to 63."""
    return board << shift | board >> (WORD - shift)


@register_jitable
def shifted(board: Any, direction: int) -> Any:
    """Every cell moved one step of `STEPS`; cells that leave the board are lost."""
    return rotated(board, SHIFTS[direction]) & STAYS[direction]


@register_jitable
def rays(sliders: Any, direction: int, empty: Any) -> Any:
    """The cells that sliding pieces reach in a direction, including the first occupied one."""
    # Doubling the reach three times covers the board (Kogge and Stone's prefix sums).
    shift = SHIFTS[direction]
    open_cells = empty & STAYS[direction]
    for _ in range(3):
        sliders |= open_cells & rotated(sliders, shift)
        open_cells &= rotated(open_cells, shift)
        shift = shift << ONE & np.uint64(63)
    return shifted(sliders, direction)


@register_jitable
def write_actions(actions: Any, count: int, plane: int, sources: Any) -> int:
    """Append the actions of one plane; return the new count."""
    while sources:
        actions[count] = 64 * plane + lowest_bit(sources)
        sources &= sources - ONE
        count += 1
    return count
