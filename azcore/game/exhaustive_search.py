"""What the rules alone decide within a few plies: forced wins and losses, by exhaustive search.

`GameBatch.decide` applies it to many positions at once, for searches (`search.proof_plies`). The
attacker needs one action that wins against all replies, so most lines end at the first sufficient
reply. `azcore.engine.mates` searches one position more deeply.

Letters: S positions, T longest path in plies, N most plies of a line, A actions.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import register_jitable

from azcore.game.compilation import compiled
from azcore.game.compiled import CURRENT_PLAYER, IS_TERMINAL, LEGAL_ACTIONS, OUTCOME, STEP
from azcore.game.contract import Game
from azcore.game.positions import Paths, paths_type
from azcore.game.rule_table import RULE_SOURCES, rules_of

UNKNOWN, NO, YES = -1, 0, 1


class Decided(NamedTuple):
    """The proofs of S positions."""

    result: npt.NDArray[np.int8]  # [S], 1 won for the player to move, -1 lost, 0 unknown
    action: npt.NDArray[np.int32]  # [S], an action that wins; where all lose, one of them
    player: npt.NDArray[np.int8]  # [S], the seat to move


class Line(NamedTuple):
    """Scratch: the current line of play, and its untried actions."""

    states: npt.NDArray[Any]  # [N + 1], the state before each ply
    legal: npt.NDArray[np.int32]  # [N, A]
    num_legal: npt.NDArray[np.int64]  # [N], the number of legal actions
    tried: npt.NDArray[np.int64]  # [N]
    attacks: npt.NDArray[np.bool_]  # [N], whether the attacker is to move


def nothing_decided(size: int) -> Decided:
    """S unproven positions."""
    return Decided(np.zeros(size, np.int8), np.zeros(size, np.int32), np.zeros(size, np.int8))


def make_line(states: npt.NDArray[Any], plies: int, num_actions: int) -> Line:
    """Room for lines of `plies` plies over states like these."""
    return Line(
        states=np.zeros(plies + 1, states.dtype),
        legal=np.zeros((plies, num_actions), np.int32),
        num_legal=np.zeros(plies, np.int64),
        tried=np.zeros(plies, np.int64),
        attacks=np.zeros(plies, np.bool_),
    )


def decide(game: Game, state: Any, plies: int) -> tuple[int, int]:
    """The result and the action of `Decided` for one state that is not terminal."""
    player = game.current_player(state)
    for left in range(1, plies + 1):
        is_attack = left % 2 == 1
        action = _winning_line(game, state, player if is_attack else 1 - player, left)
        if action >= 0:
            return (1, action) if is_attack else (-1, action)
    return 0, -1


def _winning_line(game: Game, state: Any, attacker: int, left: int) -> int:
    """The first action of a forced win within `left` plies, or -1."""
    attacks = game.current_player(state) == attacker
    action = -1
    for action in np.flatnonzero(game.legal_action_mask(state)).tolist():
        after = game.step(state, action)
        if game.is_terminal(after):
            wins = game.outcome(after) == (1 if attacker == 0 else -1)
        else:
            wins = left > 1 and _winning_line(game, after, attacker, left - 1) >= 0
        if wins == attacks:
            return action if attacks else -1
    return -1 if attacks else action


@cache
def deciding_kernel(state: Any) -> Any:
    """`_decide_from_table` compiled for one type of state."""
    states, whole = types.Array(state, 1, "C"), types.int64[::1]
    line = types.NamedTuple(  # type: ignore[no-untyped-call]
        [states, types.int32[:, ::1], whole, whole, types.boolean[::1]], Line
    )
    decided = types.NamedTuple(  # type: ignore[no-untyped-call]
        [types.int8[::1], types.int32[::1], types.int8[::1]], Decided
    )
    signature = types.void(
        types.int64[:, ::1], states, whole, paths_type(), types.int64, line, decided
    )
    return compiled(_decide_from_table, signature, sources=(__file__, *RULE_SOURCES))


def _decide_from_table(
    table: Any, states: Any, at: Any, paths: Any, plies: Any, line: Any, out: Any
) -> None:
    """`decide_ends` with the rules of a table."""
    decide_ends(rules_of(table, states), states, at, paths, plies, line, out)


@register_jitable
def decide_ends(
    rules: Any, states: Any, at: Any, paths: Paths, plies: int, line: Line, out: Decided
) -> None:
    """`decide` over the rules of a compiled game.

    Args:
        rules: `RuleFunctions`.
        states: the roots.
        at: int64 [3], written: the row, the rule as an index into `RuleFunctions`, and the number
            of plies from the end of the path to the position it is asked about; -1 within the path.
        paths: the paths to the positions, none of which is terminal.
        plies: 1 or more, at most N.
        line: scratch.
        out: written; the result of skipped rows becomes 0.
    """
    for row in range(paths.roots.shape[0]):
        out.result[row] = 0
        if paths.roots[row] < 0:
            continue
        line.states[0] = states[paths.roots[row]]
        at[0], at[1], at[2] = row, STEP, -1
        for ply in range(paths.lengths[row]):
            rules.step(line.states[0], np.int64(paths.actions[row, ply]))
        at[1], at[2] = CURRENT_PLAYER, 0
        player = rules.current_player(line.states[0])
        out.player[row] = player
        for left in range(1, plies + 1):
            is_attack = left % 2 == 1
            if forces_win(rules, at, player if is_attack else 1 - player, left, line):
                out.result[row] = 1 if is_attack else -1
                out.action[row] = line.legal[0, line.tried[0] - 1]
                break


@register_jitable
def forces_win(rules: Any, at: Any, attacker: int, left: int, line: Line) -> bool:
    """Whether the attacker wins within `left` plies of the line's first state.

    The last action tried there is then a winning one, if the attacker is to move.
    """
    depth, value = 0, UNKNOWN
    list_actions(rules, at, attacker, 0, line)
    while True:
        if value != UNKNOWN:
            if depth == 0:
                return value == YES
            depth -= 1
            if (value == YES) != line.attacks[depth]:
                value = UNKNOWN  # try the next action there
            continue
        if line.tried[depth] == line.num_legal[depth]:
            value = NO if line.attacks[depth] or line.num_legal[depth] == 0 else YES
            continue
        action = line.legal[depth, line.tried[depth]]
        line.tried[depth] += 1
        after = line.states[depth + 1 : depth + 2]
        after[0] = line.states[depth]
        at[1], at[2] = STEP, depth
        rules.step(after[0], np.int64(action))
        at[1], at[2] = IS_TERMINAL, depth + 1
        wins = False
        if rules.is_terminal(after[0]):
            at[1] = OUTCOME
            wins = rules.outcome(after[0]) == (1 if attacker == 0 else -1)
        elif depth + 1 < left:
            depth += 1
            list_actions(rules, at, attacker, depth, line)
            continue
        if wins == line.attacks[depth]:
            value = YES if wins else NO


@register_jitable
def list_actions(rules: Any, at: Any, attacker: int, depth: int, line: Line) -> None:
    """List the legal actions of the line's state at this depth, all untried."""
    at[1], at[2] = CURRENT_PLAYER, depth
    line.attacks[depth] = rules.current_player(line.states[depth]) == attacker
    at[1] = LEGAL_ACTIONS
    actions, most = line.legal[depth], line.legal.shape[1]
    count = rules.legal_actions(line.states[depth], actions)
    is_valid = 0 <= count <= most
    for i in range(count if is_valid else 0):
        is_valid = is_valid and 0 <= actions[i] < most
    # `GameBatch.replay` reports a rule that breaks its promise when the search visits this
    # position.
    line.num_legal[depth] = count if is_valid else 0
    line.tried[depth] = 0
