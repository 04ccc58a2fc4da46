"""Compiled code of batches: calls a rule, plays moves and replays paths for many states at once."""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import register_jitable

from azcore.game.compilation import compiled
from azcore.game.compiled import (
    CURRENT_PLAYER,
    IS_TERMINAL,
    LEGAL_ACTIONS,
    OBSERVE,
    OUTCOME,
    POSITION_KEY,
    STEP,
    RuleFunctions,
)
from azcore.game.positions import Positions, paths_type
from azcore.game.rule_table import RULE_SOURCES, rules_of

# Promises of a game, as the numbers by which kernels report a broken one.
_BAD = range(1, 9)
BAD_PLAYER, BAD_OUTCOME, BAD_LEGAL, BAD_ORDER, BAD_LENGTH, BAD_FORM, BAD_PLANES, BAD_KEY = _BAD


def rule_at_place(at: npt.NDArray[np.int64]) -> str:
    return RuleFunctions._fields[at[1]]


@cache
def asking_kernel(state: Any) -> Any:
    """`_ask_rule_from_table` compiled for one type of state."""
    states = types.Array(state, 1, "C")
    signature = types.int64(types.int64[:, ::1], states, types.int64, types.int64, types.int64)
    return compiled(_ask_rule_from_table, signature, sources=(__file__, *RULE_SOURCES))


def _ask_rule_from_table(table: Any, states: Any, row: Any, place: Any, action: Any) -> int:
    """`ask_rule` with the rules of a table."""
    return ask_rule(rules_of(table, states), states, row, place, action)


@register_jitable
def ask_rule(rules: Any, states: Any, row: Any, place: Any, action: Any) -> int:
    """Call `step`, or a rule without buffers, on one state.

    Args:
        place: the rule's place in `RuleFunctions`.
        action: the action to play; only `step` uses it.
    """
    state = states[row]
    answer = 0
    if place == STEP:
        rules.step(state, np.int64(action))
    elif place == CURRENT_PLAYER:
        answer = rules.current_player(state)
    elif place == IS_TERMINAL:
        answer = int(rules.is_terminal(state))
    elif place == OUTCOME:
        answer = rules.outcome(state)
    return answer


@cache
def playing_kernel(state: Any) -> Any:
    """`_play_from_table` compiled for one type of state."""
    states = types.Array(state, 1, "C")
    signature = types.void(
        types.int64[:, ::1], states, types.int64[::1], types.int32[::1], types.boolean[::1]
    )
    return compiled(_play_from_table, signature, sources=(__file__, *RULE_SOURCES))


def _play_from_table(table: Any, states: Any, at: Any, actions: Any, is_over: Any) -> None:
    """`play_roots` with the rules of a table."""
    play_roots(rules_of(table, states), states, at, actions, is_over)


@register_jitable
def play_roots(rules: Any, states: Any, at: Any, actions: Any, is_over: Any) -> None:
    """The loop of `GameBatch.play` over the rules of a compiled game; `at` as in replay."""
    for row in range(actions.shape[0]):
        if actions[row] >= 0:
            at[0] = row
            at[1] = STEP
            rules.step(states[row], np.int64(actions[row]))
            at[1] = IS_TERMINAL
            is_over[row] |= rules.is_terminal(states[row])


@cache
def replay_kernel(state: Any) -> Any:
    """`_replay_from_table` compiled for one type of state."""
    states = types.Array(state, 1, "C")
    vector = types.int32[::1]
    positions = types.NamedTuple(  # type: ignore[no-untyped-call]
        [
            types.uint8[:, :, :, ::1],
            types.int32[:, ::1],
            vector,
            types.int8[::1],
            types.boolean[::1],
            types.int8[::1],
            types.uint64[::1],
        ],
        Positions,
    )
    signature = types.int64(
        types.int64[:, ::1], states, states, types.int64, types.int64[::1], paths_type(), positions
    )
    return compiled(_replay_from_table, signature, sources=(__file__, *RULE_SOURCES))


def _replay_from_table(
    table: Any, states: Any, scratch: Any, max_length: Any, at: Any, paths: Any, out: Any
) -> int:
    """`replay_paths` with the rules of a table."""
    return replay_paths(rules_of(table, states), states, scratch, max_length, at, paths, out)


@register_jitable
def replay_paths(
    rules: Any, states: Any, scratch: Any, max_length: Any, at: Any, paths: Any, out: Any
) -> int:
    """The loop of `GameBatch.replay` over the rules of a compiled game.

    Args:
        rules: `RuleFunctions`.
        states: the roots.
        max_length: a leaf this many plies away must be terminal: longer paths do not fit.
        at: int64 [3], written: the current row, the current rule as an index into `RuleFunctions`,
            and the invalid value that a rule returned.
        paths: `Paths`.
        out: `Positions`.

    Returns:
        0, or the number of the broken promise.
    """
    most = out.legal_actions.shape[1]
    for row in range(paths.roots.shape[0]):
        if paths.roots[row] < 0:
            continue
        at[0] = row
        scratch[0] = states[paths.roots[row]]
        state = scratch[0]
        at[1] = STEP
        for i in range(paths.lengths[row]):
            # Interpreted, an int32 would shift as an int32.
            rules.step(state, np.int64(paths.actions[row, i]))
        at[1] = CURRENT_PLAYER
        player = rules.current_player(state)
        if player != 0 and player != 1:
            at[2] = player
            return BAD_PLAYER
        out.current_player[row] = player
        at[1] = IS_TERMINAL
        over = rules.is_terminal(state)
        out.is_terminal[row] = over
        out.outcome[row] = 0
        out.num_legal[row] = 0
        if over:
            at[1] = OUTCOME
            result = rules.outcome(state)
            if result < -1 or result > 1:
                at[2] = result
                return BAD_OUTCOME
            out.outcome[row] = result
        else:
            if paths.lengths[row] >= max_length:
                at[2] = paths.lengths[row]
                return BAD_LENGTH
            at[1] = LEGAL_ACTIONS
            actions = out.legal_actions[row]
            count = rules.legal_actions(state, actions)
            if count < 1 or count > most:
                at[2] = count
                return BAD_LEGAL
            last = np.int64(-1)
            for i in range(count):
                action = np.int64(actions[i])
                if action <= last or action >= most:
                    at[2] = action
                    return BAD_ORDER
                last = action
            out.num_legal[row] = count
        out.observations[row] = 0
        at[1] = OBSERVE
        rules.observe(state, out.observations[row])
        if out.keys.shape[0] > 0:
            at[1] = POSITION_KEY
            out.keys[row] = rules.position_key(state)
    return 0
