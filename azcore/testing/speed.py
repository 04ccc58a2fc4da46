"""Measures the speed of a game's rules, for `command=bench` and `command=check`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import config as numba_config
from numba import types

from azcore.game import CompiledGame, Game
from azcore.game.compilation import compiled
from azcore.game.compiled import rule_types

_RUNS = 7  # of equal length, whose median is reported
_TRIAL = 1 / 32  # share of the time: a run this long sets the length of those runs


def rules_us_per_ply(game: Game, seconds: float) -> float:
    """Microseconds per ply of random games on one core: legal actions + step + end test.

    Args:
        game: any game.
        seconds: total time to measure; slow rules may take longer over a few plies.
    """
    if isinstance(game, CompiledGame):
        play = random_plies_kernel(game.state_type)
        states = np.zeros(2, game.state_dtype)
        states[0] = game.initial_state()
        rules = (game.rules.legal_actions, game.rules.step, game.rules.is_terminal)
        actions = np.zeros(game.num_actions, np.int32)

        def run(plies: int, seed: int) -> int:
            return int(play(*rules, states, actions, plies, seed))

    else:

        def run(plies: int, seed: int) -> int:
            return _random_plies_plain(game, plies, seed)

    began = time.perf_counter()
    run(4, 1)  # do not measure what is loaded on first use
    plies = 4  # few at first: plain rules may take milliseconds
    while (used := _timed(partial(run, plies, 1))) < seconds * _TRIAL:
        plies *= 4
    left = max(0.0, began + seconds - time.perf_counter())
    plies = max(1, round(plies * left / used / _RUNS))
    times = [_timed(partial(run, plies, seed)) for seed in range(2, 2 + _RUNS)]
    return statistics.median(times) / plies * 1e6


def _random_plies_plain(game: Game, plies: int, seed: int) -> int:
    rng, state = np.random.default_rng(seed), game.initial_state()
    for _ in range(plies):
        if game.is_terminal(state):
            state = game.initial_state()
        state = game.step(state, int(rng.choice(np.flatnonzero(game.legal_action_mask(state)))))
    return plies


def random_plies_kernel(record: Any) -> Any:
    """`_random_plies` compiled for one record type."""
    if numba_config.DISABLE_JIT:
        return _random_plies
    functions = rule_types(record, "legal_actions", "step", "is_terminal")
    states = types.Array(record, 1, "C")
    signature = types.int64(*functions, states, types.int32[::1], types.int64, types.int64)
    return compiled(_random_plies, signature, sources=[__file__])


def _random_plies(
    legal_actions: Any,
    step: Any,
    is_terminal: Any,
    states: Any,
    actions: Any,
    plies: int,
    seed: int,
) -> int:
    """Play `plies` random plies from states[0], restarting after each end; returns `plies`."""
    np.random.seed(seed)  # noqa: NPY002 (numba's own generator is reached by the old names)
    states[1] = states[0]
    state = states[1]
    for _ in range(plies):
        if is_terminal(state):
            states[1] = states[0]
        count = legal_actions(state, actions)
        step(state, np.int64(actions[np.random.randint(count)]))  # noqa: NPY002
    return plies


def _timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began
