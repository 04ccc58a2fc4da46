"""The rules of Go as functions of one NumPy record, for azcore to compile.

Start with `state_fields`, which defines a position, then read `step` and `legal_actions`.
`encoding.py` has the planes that the network sees, `notation.py` the texts, and `game.py` ties the
three together.

* Board: 2×2 to 19×19, one flat array with a border, so that neighbours need no bounds checks.
  A `point` is an index into it. Actions number the points without the border, row by row from the
  top left; N × N is a pass.
* Chains (stones joined along lines) are updated stone by stone. Testing whether one is in atari or
  without liberties takes one comparison; only the final score needs a flood fill.
* Superko: no play may repeat an earlier board, whoever is to move (positional superko; passes
  repeat the board and are always allowed).
* Two passes in a row end the game, as do 2 × N × N plies: AlphaZero's 722 on 19×19 (Silver et al.
  2018), scaled. The score is Tromp and Taylor's area, https://tromp.github.io/go.html.
* A game may lie on a smaller board in the same arrays: its n × n points are those at the bottom
  left, and the others are border for the whole game. The limit is 2 × n × n plies then.

Letters: N board size, n that of a smaller board, P points with the border. Colours: 1 Black (seat
0), 2 White (seat 1).

numba does not notice later edits in other files, so each rule calls only functions of its own file.
Everything also runs as plain Python (NUMBA_DISABLE_JIT=1), where NumPy's small integers warn of
overflow, so sums that can grow are int64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

MIN_SIZE = 2
MAX_SIZE = 19

EMPTY = 0
BLACK = 1
WHITE = 2
BORDER = 4  # not a colour's bit, so that `|` can combine the colours around a region
ASK = 2  # `easy_answers` writes it where neither 0 nor 1 is certain


def num_points(size: int) -> int:
    """P, with a border row above and below and one border column between successive rows."""
    return (size + 2) * (size + 1) + 1


@register_jitable
def max_plies(size: int) -> int:
    """The length of the longest game: AlphaZero's 722 on 19×19, scaled."""
    return 2 * size * size


def state_fields(size: int) -> list[Any]:
    """NumPy fields of a position on a `size` × `size` board.

    It is small because each simulation of a search copies one (3.3 kB on 9×9, 13.5 kB on 19×19).
    """
    points = num_points(size)
    # A Bloom filter of at least 8 bits per possible position, two of which each position sets: on
    # 19×19 (8,192 bits), with 300 positions on the list, 1 new board in 200 is compared in vain.
    filter_bits = 1 << (8 * max_plies(size) - 1).bit_length()
    return [
        # Zobrist hash of every board of this game in order, the first included. A full 19×19 game
        # makes fewer than 2**28 comparisons: a false repetition has a probability below 2**-36.
        ("positions", np.int64, (max_plies(size) + 1,)),
        # At a chain's head: its packed liberties (see LIBERTY). Stale elsewhere.
        ("liberties", np.int64, (points,)),
        ("hash", np.int64),  # the current board's hash
        # Bit t: Black's stone t plies ago, bit 8 + t: White's; bits 0 and 8 are the current board.
        ("history", np.uint16, (size, size)),
        ("head", np.uint16, (points,)),  # a stone's chain, named by one of its points; 0: none
        ("next_stone", np.uint16, (points,)),  # the next stone of the chain, in a ring
        ("board", np.int8, (points,)),  # EMPTY, BLACK, WHITE or BORDER
        ("held", np.int8, (points,)),  # bitwise or of all colours this point has held
        ("filter", np.uint8, (filter_bits // 8,)),  # Bloom filter of `positions`
        ("num_positions", np.int16),  # entries of `positions` in use
        ("ply", np.int16),
        ("last_action", np.int16),  # -1 at the start
        ("prisoners", np.int16, (2,)),  # prisoners of each seat, for `render`
        ("passes", np.int8),  # consecutive ones just before this position
        ("player", np.int8),  # seat to move
        ("first_pass", np.int16),  # setting: number of first plies without passing
        ("suicide", np.bool_),  # setting: whether a play may remove its own chain
        ("size_in_play", np.int8),  # n of the board in play, N unless it is a smaller one
        ("komi", np.float32),  # setting: added to White's area; whole and half numbers are exact
    ]


# A Zobrist number for each colour and point; in `position_key` those of colour 0 mark points that
# superko forbids. The generator's raw stream is the same in every version of NumPy.
ZOBRIST = np.random.PCG64(20171019).random_raw((3, num_points(MAX_SIZE))).view(np.int64)

# A komi's part of the hash, for each half point by which it differs from the usual one: a large odd
# number, so that no two komi have the same.
HASH_OF_HALF_A_POINT = 0x9E3779B97F4A7C15

# One number per point p, which packs 1, p and p². A chain sums those of the empty neighbours of
# each of its stones (a shared liberty several times). Therefore it has
#   no liberty  when the sum is 0,
#   one liberty when all terms are equal: count × Σp² = (Σp)², by Cauchy and Schwarz.
# At most 4 × 361 terms below 421: count < 2**12, Σp < 2**20, Σp² < 2**31.
_SUM_SHIFT, _SQUARES_SHIFT = 12, 32
_points = np.arange(num_points(MAX_SIZE), dtype=np.int64)
LIBERTY = 1 | _points << _SUM_SHIFT | _points * _points << _SQUARES_SHIFT


# -- the rules ---------------------------------------------------------------------------------
# `current_player`, `legal_actions`, `step`, `is_terminal`, `outcome`, `position_key`; `observe` is
# in encoding.py. Arguments and results are described in azcore/game/compiled.py.


def current_player(state: Any) -> int:
    return int(state.player)


def legal_actions(state: Any, actions: Any) -> int:
    size = state.history.shape[0]
    colour = state.player + 1
    answers = np.empty(state.board.shape[0], np.uint8)
    easy_answers(state, colour, answers)
    count = 0
    action = 0
    for row in range(size):
        first = point_of(row * size, size)
        for point in range(first, first + size):
            answer = answers[point]
            if answer == ASK:
                answer = np.uint8(can_play(state, point, colour))
            # Always written, and overwritten unless legal: this saves a branch.
            actions[count] = action
            count += answer
            action += 1
    if count > 0 and state.ply < state.first_pass:
        return count
    actions[count] = action  # pass
    return count + 1


def step(state: Any, action: int) -> None:
    size = state.history.shape[0]
    # All boards age by one ply; the newest is duplicated, and changed by the play below. (One flat
    # loop, which the compiler vectorises; it does not vectorise loops over rows.)
    history = state.history.reshape(size * size)
    for cell in range(size * size):
        boards = history[cell]
        history[cell] = (boards << 1 & 0xFEFE) | (boards & 0x0101)
    if action == size * size:
        state.passes += 1
    else:
        state.passes = 0
        place_stone(state, point_of(action, size), state.player + 1)
        remember_position(state, state.hash)
    state.last_action = action
    state.ply += 1
    state.player = 1 - state.player


def is_terminal(state: Any) -> bool:
    # int: an int8 would overflow.
    return state.passes >= 2 or state.ply >= max_plies(int(state.size_in_play))  # type: ignore[no-any-return]


def outcome(state: Any) -> int:
    lead = area_lead(state) - state.komi
    return 1 if lead > 0 else -1 if lead < 0 else 0


def position_key(state: Any) -> int:
    # Board, seat, consecutive passes, and the points that only earlier boards forbid: these
    # determine the legal actions. It omits boards that superko forbids only later on. Size and komi
    # are in the hash of the empty board.
    size = state.history.shape[0]
    colour = state.player + 1
    key = state.hash
    # Point 0 is border and never holds a stone, so its numbers are free.
    if state.player == 1:
        key ^= ZOBRIST[WHITE, 0]
    if state.passes > 0:
        key ^= ZOBRIST[BLACK if state.passes == 1 else EMPTY, 0]
    for action in range(size * size):
        point = point_of(action, size)
        if state.board[point] != EMPTY or can_play(state, point, colour):
            continue
        if state.suicide or survives(state, point, colour):  # not forbidden by the board alone
            key ^= ZOBRIST[EMPTY, point]
    return key  # type: ignore[no-any-return]


# -- helpers of the rules ----------------------------------------------------------------------


@register_jitable
def point_of(action: int, size: int) -> int:
    """The point of an action other than pass."""
    return action + action // size + size + 1


@register_jitable
def action_of(point: int, size: int) -> int:
    """The action that plays at `point`."""
    return point - point // (size + 1) - size


@register_jitable
def in_atari(liberties: int) -> bool:
    """Whether packed liberties are all the same point (or none)."""
    count = liberties & 0xFFF
    total = liberties >> _SUM_SHIFT & 0xFFFFF
    return count * (liberties >> _SQUARES_SHIFT) == total * total


@register_jitable
def easy_answers(state: Any, colour: int, answers: Any) -> None:
    """Write whether `colour` may play on each point: 0, 1, or ASK where `can_play` must decide.

    A play on an empty point next to another one is legal if it cannot repeat a board (`can_play`).
    A few SIMD instructions test all points at once: listing the legal actions takes 128 ns instead
    of 321 on 9×9 and 509 instead of 1,453 on 19×19.

    Args:
        state: a position.
        colour: 1 or 2.
        answers: uint8 [P], written.
    """
    stride = state.history.shape[0] + 1
    inside = state.board.shape[0] - 2 * stride
    board, held = state.board[stride:], state.held[stride:]
    above, below = state.board, state.board[2 * stride :]
    left, right = state.board[stride - 1 :], state.board[stride + 1 :]
    inner = answers[stride:]
    for i in range(inside):
        has_liberty = (
            (above[i] == EMPTY) | (below[i] == EMPTY) | (left[i] == EMPTY) | (right[i] == EMPTY)
        )
        is_easy = has_liberty & (held[i] & colour == 0)
        inner[i] = (board[i] == EMPTY) * (np.uint8(ASK) - is_easy)


@register_jitable
def can_play(state: Any, point: int, colour: int) -> bool:
    """Whether `colour` may play on the empty `point`."""
    if survives(state, point, colour):
        # A board with this stone can only have occurred if the point held this colour before, which
        # is rare. Otherwise no hashes need to be compared.
        if state.held[point] & colour == 0:
            return True
        return not has_occurred(state, hash_after(state, point, colour, True))
    return state.suicide and not has_occurred(state, hash_after(state, point, colour, False))


@register_jitable
def survives(state: Any, point: int, colour: int) -> bool:
    """Whether a stone of `colour` on the empty `point` would have a liberty, after captures."""
    stride = state.history.shape[0] + 1
    for near in (point - stride, point - 1, point + 1, point + stride):
        stone = state.board[near]
        if stone == EMPTY:
            return True
        # A neighbouring chain whose only liberty is this point is captured if it is the opponent's,
        # and no help if it is our own. With more liberties it is the other way round.
        if stone != BORDER and in_atari(state.liberties[state.head[near]]) != (stone == colour):
            return True
    return False


@register_jitable
def hash_after(state: Any, point: int, colour: int, survives: bool) -> int:
    """Hash of the board after a play, which removes its own chain unless it `survives`."""
    stride = state.history.shape[0] + 1
    board_hash = state.hash
    if survives:
        board_hash ^= ZOBRIST[colour, point]
    removed_colour = 3 - colour if survives else colour
    first = second = third = 0
    for near in (point - stride, point - 1, point + 1, point + stride):
        if state.board[near] != removed_colour:
            continue
        chain = state.head[near]
        # The same chain may touch the point more than once.
        if chain in (first, second, third) or not in_atari(state.liberties[chain]):
            continue
        board_hash ^= chain_hash(state, chain, removed_colour)
        first, second, third = second, third, chain
    return board_hash  # type: ignore[no-any-return]


@register_jitable
def chain_hash(state: Any, chain: int, colour: int) -> int:
    """The Zobrist numbers of a chain's stones, xor-ed."""
    stones_hash = ZOBRIST[colour, chain]
    stone = state.next_stone[chain]
    while stone != chain:
        stones_hash ^= ZOBRIST[colour, stone]
        stone = state.next_stone[stone]
    return stones_hash  # type: ignore[no-any-return]


@register_jitable
def has_occurred(state: Any, board_hash: int) -> bool:
    """Whether a board with this hash is among the positions of the game."""
    mask = 8 * state.filter.shape[0] - 1
    for bit in (board_hash & mask, board_hash >> 32 & mask):
        if state.filter[bit >> 3] >> (bit & 7) & 1 == 0:
            return False
    found = False
    for i in range(state.num_positions):  # no early exit, so that it is vectorised
        found |= state.positions[i] == board_hash
    return found


@register_jitable
def remember_position(state: Any, board_hash: int) -> None:
    """Add a board to the list of positions that may not be repeated."""
    state.positions[state.num_positions] = board_hash
    state.num_positions += 1
    mask = 8 * state.filter.shape[0] - 1
    for bit in (board_hash & mask, board_hash >> 32 & mask):
        state.filter[bit >> 3] |= 1 << (bit & 7)


@register_jitable
def place_stone(state: Any, point: int, colour: int) -> None:
    """Put a stone on the empty `point` and remove the chains left without liberties."""
    size = state.history.shape[0]
    stride = size + 1
    neighbours = (point - stride, point - 1, point + 1, point + stride)
    set_colour(state, point, colour)
    state.held[point] |= colour
    # For now the stone is a chain of its own. Its empty neighbours are its liberties; neighbouring
    # chains lose one (chain 0, of no stone, absorbs the updates for empty and border points).
    state.head[point] = point
    state.next_stone[point] = point
    liberties = 0
    for near in neighbours:
        if state.board[near] == EMPTY:
            liberties += LIBERTY[near]
        state.liberties[state.head[near]] -= LIBERTY[point]
    state.liberties[point] = liberties
    for near in neighbours:
        if state.board[near] == colour and state.head[near] != state.head[point]:
            join_chains(state, state.head[near], state.head[point])
    for near in neighbours:
        if state.board[near] == 3 - colour and state.liberties[state.head[near]] == 0:
            state.prisoners[colour - 1] += remove_chain(state, near)
    if state.liberties[state.head[point]] == 0:
        state.prisoners[2 - colour] += remove_chain(state, point)


@register_jitable
def join_chains(state: Any, one: int, other: int) -> None:
    """Merge two chains, given by their heads."""
    # The chain with fewer liberties usually has fewer stones to relabel.
    if state.liberties[one] < state.liberties[other]:
        one, other = other, one
    state.liberties[one] += state.liberties[other]
    stone = other
    while state.head[stone] != one:
        state.head[stone] = one
        stone = state.next_stone[stone]
    # Two rings become one when two of their stones swap successors.
    following = state.next_stone[one]
    state.next_stone[one] = state.next_stone[other]
    state.next_stone[other] = following


@register_jitable
def remove_chain(state: Any, point: int) -> int:
    """Remove the chain of the stone at `point` from the board; return its number of stones."""
    stride = state.history.shape[0] + 1
    count = 0
    stone = point
    while state.board[stone] != EMPTY:
        count += 1
        set_colour(state, stone, EMPTY)
        state.head[stone] = 0
        for near in (stone - stride, stone - 1, stone + 1, stone + stride):
            state.liberties[state.head[near]] += LIBERTY[stone]
        stone = state.next_stone[stone]
    return count


@register_jitable
def set_colour(state: Any, point: int, colour: int) -> None:
    """Set a point of the board, and update the hash and the history."""
    size = state.history.shape[0]
    state.hash ^= ZOBRIST[state.board[point] | colour, point]  # one of the two is EMPTY
    state.board[point] = colour
    row = point // (size + 1) - 1
    column = point - (row + 1) * (size + 1)
    stone_bit = 0x0100 if colour == WHITE else colour
    state.history[row, column] = (state.history[row, column] & 0xFEFE) | stone_bit


@register_jitable
def fill_area(state: Any, owners: Any) -> None:
    """Write the owner of each point: 1 Black, -1 White, 0 neither.

    A colour's area is its stones and the empty regions that reach stones of this colour only.

    Args:
        state: a position.
        owners: int8 [P] of zeros, written.
    """
    size = state.history.shape[0]
    stride = size + 1
    seen = np.zeros(state.board.shape[0], np.bool_)
    region = np.empty(size * size, np.int64)
    for point in range(stride, stride * stride):
        if state.board[point] == BLACK:
            owners[point] = 1
        elif state.board[point] == WHITE:
            owners[point] = -1
        elif state.board[point] == EMPTY and not seen[point]:
            reached = EMPTY
            seen[point] = True
            region[0] = point
            count, visited = 1, 0
            while visited < count:
                at = region[visited]
                visited += 1
                for near in (at - stride, at - 1, at + 1, at + stride):
                    reached |= state.board[near]
                    if state.board[near] == EMPTY and not seen[near]:
                        seen[near] = True
                        region[count] = near
                        count += 1
            colours = reached & (BLACK | WHITE)
            if colours in (BLACK, WHITE):
                for i in range(count):
                    owners[region[i]] = 1 if colours == BLACK else -1


@register_jitable
def area_lead(state: Any) -> int:
    """Black's area minus White's, without komi."""
    owners = np.zeros(state.board.shape[0], np.int8)
    fill_area(state, owners)
    lead = 0
    for point in range(owners.shape[0]):
        lead += int(owners[point])  # eight bits would overflow
    return lead


def score(state: Any) -> float:
    """Black's area minus White's and komi, in any state; `outcome` is its sign."""
    return float(area_lead(state)) - float(state.komi)


def set_up(
    state: Any, size: int, komi: float, usual_komi: float, suicide: bool, first_pass: int
) -> None:
    """Turn a zeroed state into the start of a game: an empty board with Black to move.

    Args:
        state: zeros.
        size: n of the board in play, 2 to N.
        komi: this game's komi.
        usual_komi: the komi of most games; with another one, positions have other hashes.
        suicide: whether a play may remove its own chain.
        first_pass: number of first plies without passing.
    """
    array_size = state.history.shape[0]
    state.board[:] = BORDER
    board_hash = int(2 * (komi - usual_komi)) * HASH_OF_HALF_A_POINT
    for action in range(array_size * array_size):
        point = point_of(action, array_size)
        if action // array_size >= array_size - size and action % array_size < size:
            state.board[point] = EMPTY
        else:  # two stones on one point, which is impossible
            board_hash ^= int(ZOBRIST[BLACK, point]) ^ int(ZOBRIST[WHITE, point])
    state.hash = np.uint64(board_hash % 2**64).astype(np.int64)
    state.last_action = -1
    state.size_in_play = size
    state.komi = komi
    state.suicide = suicide
    state.first_pass = first_pass
    remember_position(state, state.hash)
