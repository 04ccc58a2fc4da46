"""Perft: the number of sequences of legal actions, which reveals a single wrong action."""

from functools import cache
from typing import Any

import numpy as np
from numba import config as numba_config
from numba import types

from azcore.game import CompiledGame, Game
from azcore.game.compilation import compiled
from azcore.game.compiled import rule_types


def perft(game: Game, depth: int, state: Any = None) -> int:
    """The number of sequences of `depth` legal actions, without games that end earlier.

    Args:
        game: any game; for a compiled one, the whole count runs in compiled code.
        depth: plies, 0 or more.
        state: the position to start from, not changed; None: the initial one.
    """
    if depth < 0:
        raise ValueError(f"depth must be 0 or more, got {depth}")
    begin = game.initial_state() if state is None else state
    if depth == 0:
        return 1
    if not isinstance(game, CompiledGame):
        return _count_plain(game, begin, depth)
    states = np.zeros(depth, game.state_dtype)
    states[0] = begin
    actions = np.zeros((depth, game.num_actions), np.int32)
    rules = (game.rules.legal_actions, game.rules.step, game.rules.is_terminal)
    return int(_kernel(game.state_type)(*rules, states, actions))


def _count_plain(game: Game, state: Any, depth: int) -> int:
    if game.is_terminal(state):
        return 0
    legal = np.flatnonzero(game.legal_action_mask(state)).tolist()
    if depth == 1:
        return len(legal)
    return sum(_count_plain(game, game.step(state, action), depth - 1) for action in legal)


@cache  # loading it takes milliseconds, as long as a small count
def _kernel(record: Any) -> Any:
    """`_count` compiled for one record type."""
    if numba_config.DISABLE_JIT:
        return _count
    functions = rule_types(record, "legal_actions", "step", "is_terminal")
    states = types.Array(record, 1, "C")
    signature = types.int64(*functions, states, types.int32[:, ::1])
    return compiled(_count, signature, sources=[__file__])


def _count(legal_actions: Any, step: Any, is_terminal: Any, states: Any, actions: Any) -> int:
    """Sequences from states[0] as long as `states`, by depth-first search without recursion.

    It counts the last ply without playing it. Row i of `states` and `actions` belongs to ply i.
    """
    depth = len(states)
    counts, tried = np.zeros(depth, np.int64), np.zeros(depth, np.int64)
    total = ply = 0
    arrived = True
    while ply >= 0:
        if arrived:
            over = is_terminal(states[ply])
            counts[ply] = 0 if over else legal_actions(states[ply], actions[ply])
            tried[ply] = 0
        if ply == depth - 1:
            total += counts[ply]
        elif tried[ply] < counts[ply]:
            states[ply + 1] = states[ply]
            step(states[ply + 1], np.int64(actions[ply, tried[ply]]))
            tried[ply] += 1
            ply += 1
            arrived = True
            continue
        ply -= 1
        arrived = False
    return total
