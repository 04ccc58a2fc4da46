"""The rules of Go over one NumPy record, for azcore to compile.

Begin with `state_fields`, which says what a position is, then `step` and `legal_actions`. How a
position looks to the network is in `encoding.py`, texts are in `notation.py`, and `game.py` ties
the three together.

* Board: 2×2 to 19×19, one flat array with a border, so that neighbours need no bounds checks.
  A `point` is an index into it; an action counts the points alone, row by row from the top left,
  and N × N is a pass.
* Chains (stones joined along lines) are kept up to date stone by stone: whether one is in atari, or
  without liberties, is a comparison, and only the score at the end of a game floods the board.
* Superko: no play may bring back a board that has occurred before, whoever is to move
  (positional superko; passes repeat the board and are always allowed).
* Two passes in a row end the game, as do 2 × N × N plies: AlphaZero's 722 on 19×19 (Silver et al.
  2018), scaled. The score is Tromp and Taylor's area, https://tromp.github.io/go.html.

Letters: N board size, P points with the border. Colours: 1 Black (seat 0), 2 White (seat 1).

Numba does not see edits in other files once it has compiled something, so whatever a rule calls is
in its own file. Everything runs as plain Python too (NUMBA_DISABLE_JIT=1), where NumPy's small
integers warn of overflow: sums that can grow are int64.
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
BORDER = 4  # no colour's bit, so that colours around a region can be or-ed together
ASK = 2  # beside 0 and 1, an answer of `easy_answers`


def num_points(size: int) -> int:
    """P: a border row above and below, and one border column that two rows share."""
    return (size + 2) * (size + 1) + 1


@register_jitable
def max_plies(size: int) -> int:
    """The length of the longest game: AlphaZero's 722 on 19×19, scaled."""
    return 2 * size * size


def state_fields(size: int) -> list[Any]:
    """NumPy fields of a position on a `size` × `size` board.

    Kept small: each simulation of a search copies one state (3.3 kB on 9×9, 13.5 kB on 19×19).
    """
    points = num_points(size)
    # Two of at least 8 bits per possible position: with 19×19's 8,192 and 300 positions on the
    # list, one new board in 200 is compared with them in vain.
    filter_bits = 1 << (8 * max_plies(size) - 1).bit_length()
    return [
        # Zobrist hash of every board of this game in order, the first included. A full 19×19 game
        # makes fewer than 2**28 comparisons, so a false repetition has odds below 2**-36.
        ("positions", np.int64, (max_plies(size) + 1,)),
        # At a chain's head: its liberties, packed (see LIBERTY). Elsewhere left over.
        ("liberties", np.int64, (points,)),
        ("hash", np.int64),  # of the board now
        # Bit t: Black's stone t plies ago, bit 8 + t: White's, so that bits 0 and 8 are the board.
        ("history", np.uint16, (size, size)),
        ("head", np.uint16, (points,)),  # the chain of a stone: one of its points; 0 without stone
        ("next_stone", np.uint16, (points,)),  # the next stone of the chain, in a ring
        ("board", np.int8, (points,)),  # EMPTY, BLACK, WHITE or BORDER
        ("held", np.int8, (points,)),  # colours or-ed that this point has held at some time
        ("filter", np.uint8, (filter_bits // 8,)),  # bits of the hashes in `positions`
        ("num_positions", np.int16),  # entries of `positions` in use
        ("ply", np.int16),
        ("last_action", np.int16),  # -1 at the start
        ("prisoners", np.int16, (2,)),  # stones taken from the board by each seat, for `render`
        ("passes", np.int8),  # in a row, just before this position
        ("player", np.int8),  # seat to move
        ("first_pass", np.int16),  # setting: plies before which passing is not allowed
        ("suicide", np.bool_),  # setting: whether a play may remove its own chain
        ("komi", np.float32),  # setting: added to White's area; whole and half numbers are exact
    ]


# A Zobrist number for each colour and point; those of 0, no colour, stand for points forbidden by
# superko in `position_key`. The generator's raw stream is the same in every version of NumPy.
ZOBRIST = np.random.PCG64(20171019).random_raw((3, num_points(MAX_SIZE))).view(np.int64)

# One number per point that holds 1, p and p² side by side. A chain adds one for each empty
# neighbour of each of its stones (a shared liberty several times), and has therefore
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
            # Written in any case and overwritten unless it is legal: a branch less.
            actions[count] = action
            count += answer
            action += 1
    if count > 0 and state.ply < state.first_pass:
        return count
    actions[count] = action  # pass
    return count + 1


def step(state: Any, action: int) -> None:
    size = state.history.shape[0]
    # All boards grow one ply older; the newest is copied, and changed by the play below. (One flat
    # loop, since the compiler makes wide instructions of that and not of rows.)
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
    size = state.history.shape[0]
    return state.passes >= 2 or state.ply >= max_plies(size)  # type: ignore[no-any-return]


def outcome(state: Any) -> int:
    lead = area_lead(state) - state.komi
    return 1 if lead > 0 else -1 if lead < 0 else 0


def position_key(state: Any) -> int:
    # Board, seat, passes in a row, and the points that only earlier boards forbid: with these the
    # legal actions are the same. Boards that may not come back further on are left out.
    size = state.history.shape[0]
    colour = state.player + 1
    key = state.hash
    # Point 0 is border, which has no stone: its numbers are free.
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


# -- what the rules are made of ----------------------------------------------------------------


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
    """Whether packed liberties are one and the same point (or none)."""
    count = liberties & 0xFFF
    total = liberties >> _SUM_SHIFT & 0xFFFFF
    return count * (liberties >> _SQUARES_SHIFT) == total * total


@register_jitable
def easy_answers(state: Any, colour: int, answers: Any) -> None:
    """Whether `colour` may play on each point, uint8 [P], 0 or 1; ASK where it takes a closer look.

    An empty point beside another one may be played on if this cannot repeat a board (`can_play`).
    All points at once are a few wide instructions: the list of legal actions took 128 ns instead of
    321 on 9×9 and 509 instead of 1,453 on 19×19.
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
        # A board with this stone in place can only have occurred if the stone stood here before,
        # which is seldom so: hashes need not be looked at.
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
        # A neighbour whose only liberty is this point is captured if it is the opponent's, and no
        # help if it is our own. One with more liberties: the other way round.
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
    for i in range(state.num_positions):  # to the end, which the compiler makes wide
        found |= state.positions[i] == board_hash
    return found


@register_jitable
def remember_position(state: Any, board_hash: int) -> None:
    """Put a board on the list of positions that may not come back."""
    state.positions[state.num_positions] = board_hash
    state.num_positions += 1
    mask = 8 * state.filter.shape[0] - 1
    for bit in (board_hash & mask, board_hash >> 32 & mask):
        state.filter[bit >> 3] |= 1 << (bit & 7)


@register_jitable
def place_stone(state: Any, point: int, colour: int) -> None:
    """Put a stone on the empty `point`, and remove what is then without liberties."""
    size = state.history.shape[0]
    stride = size + 1
    neighbours = (point - stride, point - 1, point + 1, point + stride)
    set_colour(state, point, colour)
    state.held[point] |= colour
    # For now a chain of its own. Of its neighbours, those that are empty are its liberties and
    # those that are not have lost one (chain 0, of no stone, takes what counts for nothing).
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
    """Make one chain of two, given by their heads."""
    # Fewer liberties mostly mean fewer stones to be given the other head.
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
    """Take the chain of the stone at `point` off the board; how many stones it had."""
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
    """Write a point of the board, and what else follows the board: its hash and history."""
    size = state.history.shape[0]
    state.hash ^= ZOBRIST[state.board[point] | colour, point]  # one of the two is EMPTY
    state.board[point] = colour
    row = point // (size + 1) - 1
    column = point - (row + 1) * (size + 1)
    stone_bit = 0x0100 if colour == WHITE else colour
    state.history[row, column] = (state.history[row, column] & 0xFEFE) | stone_bit


@register_jitable
def area_lead(state: Any) -> int:
    """Black's area less White's, komi left out.

    Area: a colour's stones, and the empty regions that reach stones of this colour alone.
    """
    size = state.history.shape[0]
    stride = size + 1
    lead = 0
    seen = np.zeros(state.board.shape[0], np.bool_)
    waiting = np.empty(size * size, np.int64)
    for point in range(stride, stride * stride):
        if state.board[point] == BLACK:
            lead += 1
        elif state.board[point] == WHITE:
            lead -= 1
        elif state.board[point] == EMPTY and not seen[point]:
            region_size = 0
            reached = EMPTY
            seen[point] = True
            waiting[0] = point
            num_waiting = 1
            while num_waiting > 0:
                num_waiting -= 1
                region_size += 1
                at = waiting[num_waiting]
                for near in (at - stride, at - 1, at + 1, at + stride):
                    reached |= state.board[near]
                    if state.board[near] == EMPTY and not seen[near]:
                        seen[near] = True
                        waiting[num_waiting] = near
                        num_waiting += 1
            if reached & (BLACK | WHITE) == BLACK:
                lead += region_size
            elif reached & (BLACK | WHITE) == WHITE:
                lead -= region_size
    return lead


def score(state: Any) -> float:
    """Black's area less White's and komi, in any state; `outcome` is its sign."""
    return float(area_lead(state)) - float(state.komi)


def set_up(state: Any, komi: float, suicide: bool, first_pass: int) -> None:
    """Make a state of zeros the start of a game: an empty board, Black to move."""
    size = state.history.shape[0]
    state.board[:] = BORDER
    for action in range(size * size):
        state.board[point_of(action, size)] = EMPTY
    state.last_action = -1
    state.komi = komi
    state.suicide = suicide
    state.first_pass = first_pass
    remember_position(state, state.hash)
