"""The rules of shogi as functions of one NumPy record, for azcore to compile.

Start with `state_fields`, which defines a position, then read `step` and `legal_actions`.
`encoding.py` has the planes that the network sees, `notation.py` the texts, and `game.py` ties the
three together.

* Squares count 0 to 80 row by row, as Black sees the board. A cell is a square as one player (a
  `view`: seat 0 or 1) sees it: the same number for Black, 80 minus it for White. So "forward" is
  always the cell minus 9.

         9  8  7  6  5  4  3  2  1
      a  0  1  2  3  4  5  6  7  8
      b  9 10 11 12 13 14 15 16 17
      ..                                rows c to h continue likewise
      i 72 73 74 75 76 77 78 79 80

* Action: plane × 81 + cell, AlphaZero's 139 planes (Silver et al. 2018, table S2). The cell is
  where a move begins or a drop ends. The planes, in the view of the player to move:

      1 to 8 cells straight on          a knight's jump       drops

      NW 56-63   N  0-7    NE  8-15      64   .   65          132 pawn    136 gold
      W  48-55      .      E  16-23       .   .    .          133 lance   137 bishop
      SW 40-47   S 32-39   SE 24-31       .   N    .          134 knight  138 rook
                                                              135 silver
      66 more for the same with promotion: 66 to 131
* A set of cells is two integers: the 45 cells of rows 0 to 4, and the 36 of rows 5 to 8. The rules
  move all pieces of one direction at once, plane by plane, so actions come out in ascending order.
  Each set is stored in both views, so that no code depends on the colour.
* Four equal positions (board, hands, seat to move) end the game: in a draw, or in a loss for a seat
  whose moves between the first and the fourth all gave check. A player who cannot move loses. The
  longest game and the declaration of an entering king are settings.

Rules call only functions of this directory and of azcore.bits: edits elsewhere would not trigger
recompilation. Everything also runs as plain Python (NUMBA_DISABLE_JIT=1). All integers are signed:
numba turns a mix of int64 and uint64 into a float.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from azcore.bits import lowest_bit

BLACK = 0  # seats: Black (sente) moves first
WHITE = 1

# Types of pieces, in the order of AlphaZero's planes; the first seven can be in hand.
PAWN, LANCE, KNIGHT, SILVER, GOLD, BISHOP, ROOK, KING = range(8)
TOKIN, PROMOTED_LANCE, PROMOTED_KNIGHT, PROMOTED_SILVER, HORSE, DRAGON = range(8, 14)
NUM_TYPES = 14
NUM_HAND_TYPES = 7
# How many of each hand type there are on board and in hands together.
SUPPLY = (18, 4, 4, 4, 4, 2, 2)

# The type after promotion (the type itself if it has none), and as a prisoner (never a king).
PROMOTED = np.array([8, 9, 10, 11, 4, 12, 13, 7, 8, 9, 10, 11, 12, 13])
HAND_TYPE = np.array([0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 5, 6])

# By type, in pawns: Tanigawa Koji's values, as in https://en.wikipedia.org/wiki/Shogi_strategy.
WORTH = (1, 3, 4, 5, 6, 8, 10, 0, 7, 6, 6, 6, 10, 12)

NUM_CELLS = 81
# The square of a missing king, such as the attacker's in a mate problem. It indexes the last entry
# of tables by cell, which is empty; in White's view it is -1, also the last entry.
NO_KING = 81
NUM_MOVE_PLANES = 66  # 8 directions × 8 distances, and two knight's moves
KNIGHT_PLANE = 64  # the left one; the right one is next
DROP_PLANE = 2 * NUM_MOVE_PLANES
NUM_PLANES = DROP_PLANE + NUM_HAND_TYPES
NUM_ACTIONS = NUM_PLANES * NUM_CELLS

NUM_STEPS = 8  # positions stored for the network

# How a game ended other than by checkmate or its length (`ended`).
NOT_ENDED, REPETITION, BLACK_CHECKED, WHITE_CHECKED, ENTERED = range(5)

# No position has more than 593 legal actions. While listing, promotions are buffered behind them.
_MOST_ACTIONS = 600


def state_fields(max_plies: int) -> list[Any]:
    """NumPy fields of a position in games of at most `max_plies`.

    It is small because each simulation of a search copies one (5.7 kB with 512 plies).
    """
    # In steps of 512, so that not every setting needs compiled code of its own.
    most_pairs = 256 * -(-max_plies // 512)
    return [
        # Zobrist hashes of the positions so far; position i is at [i % 2, i // 2], so that those
        # with the same seat to move are contiguous. A game of 512 plies compares fewer than 2**16
        # pairs: the probability of a false repetition is below 2**-47.
        ("positions", np.int64, (2, most_pairs + 1)),
        ("hash", np.int64),  # the current position's hash
        # [view, owner, word, set]: the pieces of each seat as each seat sees them, see MEMBERS.
        ("sets", np.int64, (2, 2, 2, 12)),
        # The last eight positions, position i at i % 8. Boards: piece by square, 0 empty,
        # 1 + type Black, 15 + type White. Hands: count by seat and type. Repeats: how often the
        # position had occurred before, at most 3.
        ("boards", np.int8, (NUM_STEPS, NUM_CELLS)),
        ("hands", np.int8, (NUM_STEPS, 2, NUM_HAND_TYPES)),
        ("repeats", np.int8, (NUM_STEPS,)),
        ("kings", np.int8, (2,)),  # the king's square of each seat, or NO_KING
        ("check_run", np.int16, (2,)),  # consecutive moves of each seat that gave check
        ("latest", np.int16),  # index of the current position: plies since the first known one
        ("ply", np.int16),
        ("last_action", np.int16),  # -1 at the start
        ("player", np.int8),  # seat to move
        ("ended", np.int8),  # NOT_ENDED, REPETITION, ..
        ("in_check", np.bool_),  # whether the player to move is
        ("entering_king", np.bool_),  # setting: whether an entered king wins
        ("max_plies", np.int16),  # setting
    ]


# -- tables ------------------------------------------------------------------------------------

# Directions N NE E SE S SW W NW; the opposite one has bit 2 flipped, the axis is the low two bits.
_ROW_STEP = (-1, -1, 0, 1, 1, 1, 0, -1)
_COLUMN_STEP = (0, 1, 1, 1, 0, -1, -1, -1)
STEP = np.array([9 * row + column for row, column in zip(_ROW_STEP, _COLUMN_STEP, strict=True)])

_LOW_BITS, _HIGH_BITS = 45, 36
LOW = (1 << _LOW_BITS) - 1
HIGH = (1 << _HIGH_BITS) - 1

# The kinds of sets. First the pieces that reach a neighbouring cell: forward, diagonally forward,
# sideways or back, diagonally back; then knights and king; sliding pieces; sets for other purposes.
FRONT, FRONT_SLANT, SIDES, BACK_SLANT, KNIGHTS, KINGS = range(6)
LANCES, BISHOPS, ROOKS, PAWNS, PROMOTABLE, ALL = range(6, 12)
NUM_NEAR = 6  # FRONT to KINGS
# The set of pieces (other than the king) that reach a neighbour in each direction.
MOVERS = np.array([FRONT, FRONT_SLANT, SIDES, BACK_SLANT, SIDES, BACK_SLANT, SIDES, FRONT_SLANT])


def _words(cells: Any) -> list[int]:
    """A set of cells as its two integers."""
    bits = sum(1 << cell for cell in cells)
    return [bits & LOW, bits >> _LOW_BITS]


def _on_board(cell: int, row_step: int, column_step: int) -> int | None:
    row, column = cell // 9 + row_step, cell % 9 + column_step
    return 9 * row + column if 0 <= row < 9 and 0 <= column < 9 else None


def _ray(direction: int, cell: int) -> list[int]:
    """The cells from `cell` (excluded) to the edge of the board."""
    ray: list[int] = []
    at = _on_board(cell, _ROW_STEP[direction], _COLUMN_STEP[direction])
    while at is not None:
        ray.append(at)
        at = _on_board(at, _ROW_STEP[direction], _COLUMN_STEP[direction])
    return ray


def _member_masks() -> Any:
    """-1 where a type (first index) belongs to a set (second), else 0."""
    golds = (GOLD, TOKIN, PROMOTED_LANCE, PROMOTED_KNIGHT, PROMOTED_SILVER)
    members: dict[int, tuple[int, ...]] = {
        FRONT: (PAWN, LANCE, SILVER, *golds, ROOK, HORSE, DRAGON),
        FRONT_SLANT: (SILVER, *golds, BISHOP, HORSE, DRAGON),
        SIDES: (*golds, ROOK, HORSE, DRAGON),
        BACK_SLANT: (SILVER, BISHOP, HORSE, DRAGON),
        KNIGHTS: (KNIGHT,),
        KINGS: (KING,),
        LANCES: (LANCE,),
        BISHOPS: (BISHOP, HORSE),
        ROOKS: (ROOK, DRAGON),
        PAWNS: (PAWN,),
        PROMOTABLE: (PAWN, LANCE, KNIGHT, SILVER, BISHOP, ROOK),
        ALL: tuple(range(NUM_TYPES)),
    }
    table = np.zeros((NUM_TYPES, len(members)), np.int64)
    for kind, piece_types in members.items():
        table[list(piece_types), kind] = -1
    return table


def _attack_table() -> Any:
    """[cell, word, set]: the cells from which an opposing piece in that set may attack the cell."""
    table = np.zeros((NUM_CELLS + 1, 2, ROOKS + 1), np.int64)
    for cell in range(NUM_CELLS):
        rays = [_ray(direction, cell) for direction in range(8)]
        near: list[list[int]] = [[] for _ in range(NUM_NEAR)]
        for direction, ray in enumerate(rays):
            # The opponent faces us: a piece in front of the cell reaches it by moving forward.
            near[MOVERS[direction]] += ray[:1]
            near[KINGS] += ray[:1]
        jumps = (_on_board(cell, -2, -1), _on_board(cell, -2, 1))
        near[KNIGHTS] = [at for at in jumps if at is not None]
        far = [rays[0], [at for ray in rays[1::2] for at in ray], [*rays[0], *rays[2]]]
        far[2] += [*rays[4], *rays[6]]
        for kind, cells in enumerate(near + far):
            table[cell, :, kind] = _words(cells)
    return table


def _direction_table() -> Any:
    """[from, to]: the direction of one cell from another on a common line; 0 elsewhere."""
    table = np.zeros((NUM_CELLS, NUM_CELLS), np.int8)
    for cell in range(NUM_CELLS):
        for direction in range(8):
            table[cell, _ray(direction, cell)] = direction
    return table


MEMBERS = _member_masks()
ATTACKS = _attack_table()
DIRECTION = _direction_table()
# [direction, cell, word]: the cells from a cell (excluded) to the edge.
RAY = np.array([[*(_words(_ray(d, cell)) for cell in range(NUM_CELLS)), [0, 0]] for d in range(8)])
# [direction, word]: the cells whose neighbour in the direction is not beyond a side edge.
INNER = np.array(
    [_words(at for at in range(NUM_CELLS) if 0 <= at % 9 + _COLUMN_STEP[d] < 9) for d in range(8)]
)
# [row, word]: the cells of one row, and of the rows up to it (past the last: all).
ROW = np.array([_words(range(9 * row, 9 * row + 9)) for row in range(9)])
UP_TO_ROW = np.array([_words(range(min(9 * row + 9, NUM_CELLS))) for row in range(12)])
# One bit for the first column of each row: multiplied by nine bits of a row, it fills columns.
_FILE_LOW = sum(1 << 9 * row for row in range(5))
_FILE_HIGH = sum(1 << 9 * row for row in range(4))
# By type, the number of far rows where a piece cannot be dropped, as it could never move there.
DEAD_ROWS = np.array([1, 1, 2, 0, 0, 0, 0])

# Zobrist numbers of a piece on a square, of a count of pieces in a hand, and of White's turn. The
# generator's raw stream is the same in every version of NumPy.
_numbers = np.random.PCG64(20181207).random_raw(29 * 81 + 2 * 7 * 19 + 1).view(np.int64)
PIECE_HASH = _numbers[: 29 * 81].reshape(29, 81)  # [0] belongs to no piece and is not used
HAND_HASH = _numbers[29 * 81 : -1].reshape(2, 7, 19)
WHITE_HASH = int(_numbers[-1])
# Used only by `position_key`, [0] of each is 0: earlier occurrences up to 3, and `ended`.
_numbers = np.random.PCG64(20181208).random_raw(4 + 5).view(np.int64)
_numbers[[0, 4]] = 0
REPEAT_HASH = _numbers[:4]
ENDED_HASH = _numbers[4:]


# -- sets of cells -----------------------------------------------------------------------------


@register_jitable
def moved(low: int, high: int, direction: int) -> tuple[int, int]:
    """A set with every cell moved to its neighbour; cells that leave the board drop out."""
    low &= INNER[direction, 0]
    high &= INNER[direction, 1]
    step = STEP[direction]
    if step > 0:
        return low << step & LOW, (high << step | low >> _LOW_BITS - step) & HIGH
    return low >> -step | high << _LOW_BITS + step & LOW, high >> -step


@register_jitable
def list_actions(actions: Any, count: int, plane: int, low: int, high: int) -> int:
    """Append one action for each cell of a set; return the new count."""
    first = plane * NUM_CELLS
    while low != 0:
        actions[count] = first + lowest_bit(low)
        count += 1
        low &= low - 1
    first += _LOW_BITS
    while high != 0:
        actions[count] = first + lowest_bit(high)
        count += 1
        high &= high - 1
    return count


@register_jitable
def at_most_one(low: int, high: int) -> bool:
    """Whether a set has at most one cell."""
    return low & low - 1 | high & high - 1 == 0 and (low == 0 or high == 0)


@register_jitable
def between(one: int, other: int) -> tuple[int, int]:
    """The cells strictly between two on a common line."""
    direction = DIRECTION[one, other]
    back = direction ^ 4
    return (
        RAY[direction, one, 0] & RAY[back, other, 0],
        RAY[direction, one, 1] & RAY[back, other, 1],
    )


# -- the rules ---------------------------------------------------------------------------------
# `current_player`, `legal_actions`, `step`, `is_terminal`, `outcome`, `position_key`; `observe` is
# in encoding.py. Arguments and results are described in azcore/game/compiled.py.


def current_player(state: Any) -> int:
    return int(state.player)


def legal_actions(state: Any, actions: Any) -> int:
    count = list_moves(state, int(state.player), 0, 0, state.in_check, actions, False)
    return list_drops(state, actions, count)


def step(state: Any, action: int) -> None:
    player = int(state.player)
    before = state.latest & 7
    now = (state.latest + 1) & 7
    board = state.boards[now]
    hands = state.hands[now]
    for square in range(NUM_CELLS):
        board[square] = state.boards[before, square]
    for seat in range(2):
        for piece in range(NUM_HAND_TYPES):
            hands[seat, piece] = state.hands[before, seat, piece]
    plane = action // NUM_CELLS
    cell = action - plane * NUM_CELLS
    if plane >= DROP_PLANE:
        piece = plane - DROP_PLANE
        put_in_hand(state, hands, player, piece, -1)
        put(state, board, player, piece, square_of(cell, player))
    else:
        source = square_of(cell, player)
        square = square_of(target_cell(plane, cell), player)
        piece = board[source] - 1 - NUM_TYPES * player
        remove(state, board, player, piece, source)
        if board[square] != 0:
            prisoner = board[square] - 1 - NUM_TYPES * (1 - player)
            remove(state, board, 1 - player, prisoner, square)
            put_in_hand(state, hands, player, HAND_TYPE[prisoner], 1)
        if plane >= NUM_MOVE_PLANES:
            piece = PROMOTED[piece]
        if piece == KING:
            state.kings[player] = square
        put(state, board, player, piece, square)
    state.last_action = action
    state.ply += 1
    state.player = 1 - player
    state.hash ^= WHITE_HASH
    state.in_check = is_attacked(state, 1 - player)
    state.check_run[player] = state.check_run[player] + 1 if state.in_check else 0
    remember_position(state)


def is_terminal(state: Any) -> bool:
    if state.ended != NOT_ENDED or state.ply >= state.max_plies:
        return True
    return not has_action(state)


def outcome(state: Any) -> int:
    if state.ended == REPETITION:
        return 0
    if state.ended == BLACK_CHECKED:
        return -1
    if state.ended == WHITE_CHECKED:
        return 1
    if state.ended == ENTERED:
        return 1 - 2 * int(state.player)
    # A mate on the last ply counts.
    return 0 if has_action(state) else 2 * int(state.player) - 1


def position_key(state: Any) -> int:
    # Board, hands, seat, how often the position has occurred before, and whether that ended the
    # game. It omits other earlier positions and checks.
    repeats = int(state.repeats[state.latest & 7])
    return state.hash ^ REPEAT_HASH[repeats] ^ ENDED_HASH[state.ended]  # type: ignore[no-any-return]


# -- helpers of the rules ----------------------------------------------------------------------


@register_jitable
def square_of(cell: int, view: int) -> int:
    """The square of a cell, and the cell of a square."""
    # int: 1 << cell needs more bits than an int8.
    return int(cell) if view == BLACK else 80 - int(cell)


@register_jitable
def target_cell(plane: int, cell: int) -> int:
    """The cell where the move of a legal action ends."""
    kind = plane if plane < NUM_MOVE_PLANES else plane - NUM_MOVE_PLANES
    if kind >= KNIGHT_PLANE:
        return cell - 19 + 2 * (kind - KNIGHT_PLANE)
    return cell + STEP[kind >> 3] * ((kind & 7) + 1)  # type: ignore[no-any-return]


@register_jitable
def put(state: Any, board: Any, owner: int, piece: int, square: int) -> None:
    """Put a piece on an empty square."""
    code = 1 + piece + NUM_TYPES * owner
    board[square] = code
    state.hash ^= PIECE_HASH[code, square]
    flip_sets(state, owner, piece, square)


@register_jitable
def remove(state: Any, board: Any, owner: int, piece: int, square: int) -> None:
    """Take a piece off its square."""
    state.hash ^= PIECE_HASH[board[square], square]
    board[square] = 0
    flip_sets(state, owner, piece, square)


@register_jitable
def flip_sets(state: Any, owner: int, piece: int, square: int) -> None:
    """Add a piece to the sets of its type, or remove it."""
    for view in range(2):
        cell = square_of(square, view)
        word = 0 if cell < _LOW_BITS else 1
        bit = 1 << cell - _LOW_BITS * word
        for kind in range(ALL + 1):  # without branches, so that it is vectorised
            state.sets[view, owner, word, kind] ^= bit & MEMBERS[piece, kind]


@register_jitable
def put_in_hand(state: Any, hands: Any, seat: int, piece: int, change: int) -> None:
    """Change the number of pieces of a type in a seat's hand."""
    count = hands[seat, piece]
    hands[seat, piece] = count + change
    state.hash ^= HAND_HASH[seat, piece, count] ^ HAND_HASH[seat, piece, count + change]


@register_jitable
def remember_position(state: Any) -> None:
    """Add the position to the list, count its occurrences, and end the game if required."""
    state.latest += 1
    latest = int(state.latest)
    known = state.positions[latest & 1]
    occurred = 0
    for i in range(latest >> 1):  # no early exit, so that it is vectorised
        occurred += known[i] == state.hash
    known[latest >> 1] = state.hash
    state.repeats[latest & 7] = min(occurred, 3)
    state.ended = NOT_ENDED
    if occurred >= 3:
        first = 0
        while known[first] != state.hash:
            first += 1
        moves = (latest >> 1) - first  # each seat's moves since the first occurrence
        black_checked = state.check_run[BLACK] >= moves
        white_checked = state.check_run[WHITE] >= moves
        state.ended = REPETITION
        if black_checked and not white_checked:
            state.ended = BLACK_CHECKED
        if white_checked and not black_checked:
            state.ended = WHITE_CHECKED
    elif state.entering_king and has_entered(state):
        state.ended = ENTERED


@register_jitable
def has_entered(state: Any) -> bool:
    """Whether the player to move may declare an entered king (the 27-point rule)."""
    player = int(state.player)
    if state.in_check or not 0 <= square_of(state.kings[player], player) < 27:
        return False
    board = state.boards[state.latest & 7]
    hands = state.hands[state.latest & 7]
    entered = points = 0
    for cell in range(27):
        piece = board[square_of(cell, player)] - 1 - NUM_TYPES * player
        if 0 <= piece < NUM_TYPES and piece != KING:
            entered += 1
            points += 5 if HAND_TYPE[piece] >= BISHOP else 1
    for piece in range(NUM_HAND_TYPES):
        points += hands[player, piece] * (5 if piece >= BISHOP else 1)
    return entered >= 10 and points >= 28 - player


@register_jitable
def attackers(state: Any, view: int, cell: int, low: int, high: int) -> tuple[int, int]:
    """The opponent's pieces that attack a cell of a view if (low, high) are occupied."""
    sets = state.sets[view, 1 - view]
    near_low = near_high = far_low = far_high = 0
    for kind in range(NUM_NEAR):
        near_low |= sets[0, kind] & ATTACKS[cell, 0, kind]
        near_high |= sets[1, kind] & ATTACKS[cell, 1, kind]
    for kind in range(NUM_NEAR, ROOKS + 1):
        far_low |= sets[0, kind] & ATTACKS[cell, 0, kind]
        far_high |= sets[1, kind] & ATTACKS[cell, 1, kind]
    while far_low != 0:
        way_low, way_high = between(cell, lowest_bit(far_low))
        if way_low & low | way_high & high == 0:
            near_low |= far_low & -far_low
        far_low &= far_low - 1
    while far_high != 0:
        way_low, way_high = between(cell, _LOW_BITS + lowest_bit(far_high))
        if way_low & low | way_high & high == 0:
            near_high |= far_high & -far_high
        far_high &= far_high - 1
    return near_low, near_high


@register_jitable
def occupied(state: Any, view: int) -> tuple[int, int]:
    sets = state.sets[view]
    return sets[0, 0, ALL] | sets[1, 0, ALL], sets[0, 1, ALL] | sets[1, 1, ALL]


@register_jitable
def is_attacked(state: Any, view: int) -> bool:
    """Whether the king of seat `view` is in check."""
    low, high = occupied(state, view)
    near_low, near_high = attackers(state, view, square_of(state.kings[view], view), low, high)
    return near_low | near_high != 0


@register_jitable
def pinned_pieces(state: Any, view: int, king: int, low: int, high: int) -> tuple[int, int]:
    """Pieces of either side that stand alone between the king and a sliding attacker."""
    sets = state.sets[view, 1 - view]
    far_low = far_high = pinned_low = pinned_high = 0
    for kind in range(NUM_NEAR, ROOKS + 1):
        far_low |= sets[0, kind] & ATTACKS[king, 0, kind]
        far_high |= sets[1, kind] & ATTACKS[king, 1, kind]
    while far_low | far_high != 0:
        if far_low != 0:
            way_low, way_high = between(king, lowest_bit(far_low))
            far_low &= far_low - 1
        else:
            way_low, way_high = between(king, _LOW_BITS + lowest_bit(far_high))
            far_high &= far_high - 1
        way_low &= low
        way_high &= high
        if at_most_one(way_low, way_high):
            pinned_low |= way_low
            pinned_high |= way_high
    return pinned_low, pinned_high


@register_jitable
def answers(state: Any, view: int, check_low: int, check_high: int) -> tuple[int, int]:
    """The cells between the king and the only piece that gives check; none if there are two."""
    if not at_most_one(check_low, check_high):
        return 0, 0
    king = square_of(state.kings[view], view)
    checker = lowest_bit(check_low) if check_low != 0 else _LOW_BITS + lowest_bit(check_high)
    # A knight is not on a line with the king, so the table's direction is meaningless.
    if (ATTACKS[king, 0, KNIGHTS] & check_low | ATTACKS[king, 1, KNIGHTS] & check_high) != 0:
        return 0, 0
    return between(king, checker)


@register_jitable
def goals(state: Any, view: int, pawn_low: int, pawn_high: int, in_check: bool) -> tuple[int, int]:
    """The cells that pieces of `view` other than the king may enter, ignoring pins.

    The arguments are those of `list_moves`.
    """
    own = state.sets[view, view]
    if not in_check:
        return LOW & ~own[0, ALL], HIGH & ~own[1, ALL]
    low, high = occupied(state, view)
    king = square_of(state.kings[view], view)
    check_low, check_high = attackers(state, view, king, low | pawn_low, high | pawn_high)
    check_low |= pawn_low
    check_high |= pawn_high
    goal_low, goal_high = answers(state, view, check_low, check_high)
    if at_most_one(check_low, check_high):
        goal_low |= check_low
        goal_high |= check_high
    return goal_low, goal_high


@register_jitable
def list_jumps(
    actions: Any,
    count: int,
    promotions: int,
    knights_low: int,
    knights_high: int,
    goal_low: int,
    goal_high: int,
    stop_at_first: bool,
) -> tuple[int, int]:
    """Append a set of knights' moves to goals, promotions separately; return both new counts.

    With `stop_at_first` nothing is written, and the first count is 1 if there is a move.
    """
    for side in range(2):
        from_low, from_high = moved(goal_low, goal_high, 3 if side == 0 else 5)
        from_low, from_high = moved(from_low, from_high, 4)
        from_low &= knights_low
        from_high &= knights_high
        if from_low | from_high == 0:
            continue
        if stop_at_first:
            return 1, promotions
        plane = KNIGHT_PLANE + side
        promotions = list_actions(
            actions,
            promotions,
            NUM_MOVE_PLANES + plane,
            from_low & UP_TO_ROW[4, 0],
            from_high & UP_TO_ROW[4, 1],
        )
        from_low &= ~UP_TO_ROW[3, 0]  # must promote on the last two rows
        count = list_actions(actions, count, plane, from_low, from_high)
    return count, promotions


@register_jitable
def list_moves(
    state: Any,
    view: int,
    pawn_low: int,
    pawn_high: int,
    in_check: bool,
    actions: Any,
    stop_at_first: bool,
) -> int:
    """Write the legal moves on the board (no drops) of seat `view`, ascending; return their count.

    Args:
        state: a position.
        view: the seat whose moves are listed.
        pawn_low: low word of the set of a pawn that the opponent would have dropped, 0 for none;
            as `view` sees it.
        pawn_high: its high word.
        in_check: whether the king of `view` is in check, that pawn included.
        actions: int32, room for the list.
        stop_at_first: write nothing; the result is above 0 if there is a move.
    """
    own = state.sets[view, view]
    own_low, own_high = own[0, ALL], own[1, ALL]
    low, high = occupied(state, view)
    low |= pawn_low
    high |= pawn_high
    king = square_of(state.kings[view], view)
    king_low, king_high = own[0, KINGS], own[1, KINGS]
    goal_low, goal_high = goals(state, view, pawn_low, pawn_high, in_check)
    pinned_low, pinned_high = pinned_pieces(state, view, king, low, high)
    pinned_low &= own_low
    pinned_high &= own_high
    empty_low, empty_high = LOW & ~low, HIGH & ~high

    count = 0
    promotions = _MOST_ACTIONS
    for direction in range(8):
        back = direction ^ 4
        # A pinned piece moves only on the line of the pin.
        axis_low = RAY[direction, king, 0] | RAY[back, king, 0]
        axis_high = RAY[direction, king, 1] | RAY[back, king, 1]
        free_low = ~pinned_low | axis_low
        free_high = ~pinned_high | axis_high
        # Pieces whose next cell in this direction is a goal; for the king: not attacked.
        aim_low, aim_high = moved(goal_low, goal_high, back)
        from_low = own[0, MOVERS[direction]] & free_low & aim_low
        from_high = own[1, MOVERS[direction]] & free_high & aim_high
        to_low, to_high = moved(king_low, king_high, direction)
        to_low &= ~own_low
        to_high &= ~own_high
        if to_low | to_high != 0:
            hit_low, hit_high = attackers(
                state, view, king + STEP[direction], low & ~king_low, high & ~king_high
            )
            # (A dropped pawn attacks only the king's own cell.)
            if hit_low | hit_high == 0:
                from_low |= king_low
                from_high |= king_high
        # Pieces that slide in this direction.
        if direction == 0:
            far_low, far_high = own[0, ROOKS] | own[0, LANCES], own[1, ROOKS] | own[1, LANCES]
        elif direction & 1 == 1:
            far_low, far_high = own[0, BISHOPS], own[1, BISHOPS]
        else:
            far_low, far_high = own[0, ROOKS], own[1, ROOKS]
        far_low &= free_low
        far_high &= free_high
        open_low, open_high = moved(empty_low, empty_high, back)
        forward = direction == 0 or direction == 1 or direction == 7
        for distance in range(1, 9):
            if distance > 1:
                far_low &= open_low
                far_high &= open_high
                if far_low | far_high == 0:
                    break
                aim_low, aim_high = moved(aim_low, aim_high, back)
                from_low, from_high = far_low & aim_low, far_high & aim_high
                open_low, open_high = moved(open_low, open_high, back)
            if from_low | from_high == 0:
                continue
            if stop_at_first:
                return 1
            plane = 8 * direction + distance - 1
            zone = 2 + distance if forward else 2
            promotions = list_actions(
                actions,
                promotions,
                NUM_MOVE_PLANES + plane,
                from_low & own[0, PROMOTABLE] & UP_TO_ROW[zone, 0],
                from_high & own[1, PROMOTABLE] & UP_TO_ROW[zone, 1],
            )
            if direction == 0:  # pawns and lances must promote on the last row
                from_low &= ~((own[0, PAWNS] | own[0, LANCES]) & ROW[distance, 0])
                from_high &= ~((own[1, PAWNS] | own[1, LANCES]) & ROW[distance, 1])
            count = list_actions(actions, count, plane, from_low, from_high)

    knights_low, knights_high = own[0, KNIGHTS] & ~pinned_low, own[1, KNIGHTS] & ~pinned_high
    if knights_low | knights_high != 0:
        count, promotions = list_jumps(
            actions,
            count,
            promotions,
            knights_low,
            knights_high,
            goal_low,
            goal_high,
            stop_at_first,
        )
    for i in range(_MOST_ACTIONS, promotions):
        actions[count] = actions[i]
        count += 1
    return count


@register_jitable
def list_drops(state: Any, actions: Any, count: int) -> int:
    """Append the legal drops of the player to move, ascending; return the new count."""
    view = int(state.player)
    hand = state.hands[state.latest & 7, view]
    low, high = occupied(state, view)
    goal_low, goal_high = LOW & ~low, HIGH & ~high
    if state.in_check:
        check_low, check_high = attackers(
            state, view, square_of(state.kings[view], view), low, high
        )
        way_low, way_high = answers(state, view, check_low, check_high)
        goal_low &= way_low
        goal_high &= way_high
        if goal_low | goal_high == 0:
            return count
    for piece in range(NUM_HAND_TYPES):
        if hand[piece] == 0:
            continue
        to_low, to_high = goal_low, goal_high
        if DEAD_ROWS[piece] > 0:
            to_low &= ~UP_TO_ROW[DEAD_ROWS[piece] - 1, 0]
        if piece == PAWN:
            to_low, to_high = pawn_drops(state, view, to_low, to_high)
        count = list_actions(actions, count, DROP_PLANE + piece, to_low, to_high)
    return count


@register_jitable
def pawn_drops(state: Any, view: int, low: int, high: int) -> tuple[int, int]:
    """A set without the files that have an own pawn and without a mating drop."""
    own = state.sets[view, view]
    pawns = own[0, PAWNS] | own[1, PAWNS]
    # All rows of the pawns folded into one, then that row copied to all.
    files = (pawns | pawns >> 9 | pawns >> 18 | pawns >> 27 | pawns >> 36) & 0x1FF
    low &= ~(files * _FILE_LOW)
    high &= ~(files * _FILE_HIGH)
    cell = square_of(state.kings[1 - view], view) + 9
    if 9 <= cell < NUM_CELLS:
        drop_low = low & 1 << cell if cell < _LOW_BITS else 0
        drop_high = high & 1 << cell - _LOW_BITS if cell >= _LOW_BITS else 0
        if drop_low | drop_high != 0 and mates_with_pawn(state, view, cell):
            low &= ~drop_low
            high &= ~drop_high
    return low, high


@register_jitable
def mates_with_pawn(state: Any, view: int, cell: int) -> bool:
    """Whether a pawn of `view` dropped on `cell`, in front of the opponent's king, is mate."""
    other = 1 - view
    cell = 80 - cell  # as the opponent sees it
    low, high = occupied(state, other)
    near_low, near_high = attackers(state, other, cell, low, high)
    if near_low | near_high == 0:
        return False  # the king takes it
    pawn_low = 1 << cell if cell < _LOW_BITS else 0
    pawn_high = 1 << cell - _LOW_BITS if cell >= _LOW_BITS else 0
    nothing = np.empty(0, np.int32)
    return list_moves(state, other, pawn_low, pawn_high, True, nothing, True) == 0


@register_jitable
def has_action(state: Any) -> bool:
    """Whether the player to move has a legal action, ignoring the end of the game."""
    view = int(state.player)
    hand = state.hands[state.latest & 7, view]
    own = state.sets[view, view]
    if not state.in_check:
        # There are at least 41 empty squares: any piece but a pawn can be dropped.
        for piece in range(LANCE, NUM_HAND_TYPES):
            if hand[piece] > 0:
                return True
        # A piece that is not on a line with the king and has no own piece in front.
        king = square_of(state.kings[view], view)
        aim_low, aim_high = moved(LOW & ~own[0, ALL], HIGH & ~own[1, ALL], 4)
        aim_low &= own[0, FRONT] & ~(ATTACKS[king, 0, BISHOPS] | ATTACKS[king, 0, ROOKS])
        aim_high &= own[1, FRONT] & ~(ATTACKS[king, 1, BISHOPS] | ATTACKS[king, 1, ROOKS])
        if aim_low | aim_high != 0:
            return True
    actions = np.empty(_MOST_ACTIONS, np.int32)
    if list_moves(state, view, 0, 0, state.in_check, actions, True) > 0:
        return True
    return list_drops(state, actions, 0) > 0


def set_up(
    state: Any, board: Any, hands: Any, player: int, ply: int, max_plies: int, entering_king: bool
) -> None:
    """Fill a zeroed state with a position, as the first known one.

    Args:
        state: a zeroed state.
        board: int8 [81], as in `state_fields`.
        hands: int8 [2, 7], count by seat and type.
        player: the seat to move.
        ply: the number of plies played before.
        max_plies: the setting.
        entering_king: the setting.
    """
    state.max_plies = max_plies
    state.entering_king = entering_king
    state.player = player
    state.ply = ply
    state.last_action = -1
    state.latest = -1
    for seat in range(2):
        state.kings[seat] = NO_KING
    state.boards[0], state.hands[0] = board, hands
    key = WHITE_HASH if player == WHITE else 0
    sets = state.sets  # as `flip_sets` fills them, in whole rows: this code is not compiled
    for square in np.flatnonzero(board).tolist():
        owner, piece = divmod(int(board[square]) - 1, NUM_TYPES)
        for view in range(2):
            cell = square_of(square, view)
            word = 0 if cell < _LOW_BITS else 1
            sets[view, owner, word] ^= (1 << cell - _LOW_BITS * word) & MEMBERS[piece]
        key ^= PIECE_HASH[board[square], square]
        if piece == KING:
            state.kings[owner] = square
    for seat in range(2):
        for piece in range(NUM_HAND_TYPES):
            key ^= HAND_HASH[seat, piece, hands[seat, piece]]
    state.hash = key
    state.in_check = is_attacked(state, player)
    remember_position(state)
