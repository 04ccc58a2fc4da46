"""Measures the speed of a game's rules, for `command=bench` and `command=check`."""

import statistics
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numba import config as numba_config
from numba import types

from azcore.game import CompiledGame, Game
from azcore.game.compilation import compiled
from azcore.game.compiled import IS_TERMINAL, LEGAL_ACTIONS, STEP, RuleFunctions, rule_types
from azcore.game.rule_table import RULE_SOURCES, rule_table, rules_of
from azcore.testing.random_play import random_states

_STATES = 256  # of random games, as input for each rule
_RUNS = 7  # of equal length, whose median is reported
_TRIAL = 1 / 32  # share of the time: a run this long sets the length of those runs


def rules_us_per_ply(game: Game, seconds: float) -> float:
    """Microseconds per ply of random games on one core: legal actions + step + end test.

    Args:
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
    run(4, 1)  # loads what the first use needs
    plies = 4  # few at first: plain rules may take milliseconds
    while (used := _timed(partial(run, plies, 1))) < seconds * _TRIAL:
        plies *= 4
    left = max(0.0, began + seconds - time.perf_counter())
    plies = max(1, round(plies * left / used / _RUNS))
    times = [_timed(partial(run, plies, seed)) for seed in range(2, 2 + _RUNS)]
    return statistics.median(times) / plies * 1e6


def us_by_rule(game: Game, seconds: float) -> dict[str, float]:
    """Microseconds per call of each rule of a turn, in positions of random games."""
    some = random_states(game, _STATES, np.random.default_rng(3))
    states = [state for state in some if not game.is_terminal(state)]
    legal = [int(np.flatnonzero(game.legal_action_mask(state))[0]) for state in states]
    rules = ("legal_actions", "step", "is_terminal", "observe")
    if isinstance(game, CompiledGame) and not numba_config.DISABLE_JIT:
        records = np.zeros(len(states) + 1, game.state_dtype)  # and a scratch
        records[:-1] = states
        buffers = np.zeros(game.num_actions, np.int32), np.zeros(game.observation_shape, np.uint8)
        kernel, table = calling_kernel(game.state_type), rule_table(game)
        played = np.array(legal, np.int32)

        def call(rule: str) -> None:
            kernel(table, records, RuleFunctions._fields.index(rule), played, *buffers)

    else:
        methods = dict(
            zip(rules, ("legal_action_mask", "step", "is_terminal", "observation"), strict=True)
        )

        def call(rule: str) -> None:
            method = getattr(game, methods[rule])
            for state, action in zip(states, legal, strict=True):
                method(state, action) if rule == "step" else method(state)

    found = {}
    for rule in rules:
        call(rule)
        times: list[float] = []
        end = time.perf_counter() + seconds / len(rules)
        while not times or time.perf_counter() < end:
            times.append(_timed(partial(call, rule)))
        found[rule] = statistics.median(times) / len(states) * 1e6
    return found


@cache
def calling_kernel(record: Any) -> Any:
    """`_call_all` compiled for one record type."""
    states = types.Array(record, 1, "C")
    signature = types.void(
        *(types.int64[:, ::1], states, types.int64),
        *(types.int32[::1], types.int32[::1], types.uint8[:, :, ::1]),
    )
    return compiled(_call_all, signature, sources=[__file__, *RULE_SOURCES])


def _call_all(table: Any, states: Any, rule: Any, legal: Any, actions: Any, planes: Any) -> None:
    """Call one rule of a table for all states but the last, which is a scratch."""
    rules = rules_of(table, states)
    for row in range(len(legal)):
        if rule == STEP:
            states[-1] = states[row]
            rules.step(states[-1], np.int64(legal[row]))
        elif rule == LEGAL_ACTIONS:
            rules.legal_actions(states[row], actions)
        elif rule == IS_TERMINAL:
            rules.is_terminal(states[row])
        else:
            rules.observe(states[row], planes)


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
