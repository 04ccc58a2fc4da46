"""pgx with mctx: games and search as one JAX program, compiled for a batch of games.

Every row is the best over the batch sizes tried (`batches`); the note names that size. Compilation
is not included but has its own rows. Search is mctx's `muzero_policy`, which is PUCT, with pgx's
rules as the model, as in pgx's own AlphaZero example.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import mctx
import pgx

from .exchange import Work, doing, median_seconds, row, serve, timed
from .jax_network import forward, make_weights

PLIES = 64  # of random play in one call


def rules(work: Work) -> None:
    """Random plies: the legal actions, a step, the end test, a new game after each end.

    The observation is not included: it is dropped from the state, so XLA does not compute it.
    """
    env, first = _begin(work)

    def ply(states: Any, key: Any) -> tuple[Any, None]:
        return _random_step(env, first, states, key), None

    def play(states: Any, key: Any) -> Any:
        return jax.lax.scan(ply, states, jax.random.split(key, PLIES))[0]

    best = []
    for size in [1, *work["batches"], 1024]:
        doing(f"rules, batch {size}")
        run, _ = _compiled(play, _copies(first, size), jax.random.PRNGKey(1))
        best.append((median_seconds(run, work["seconds"] / 4) / (size * PLIES), size))
    seconds, size = min(best)
    row("rules_us_per_ply", seconds * 1e6, "us", f"batch {size}, all cores")


def search(work: Work) -> None:
    """Search of middle-game positions with random logits and values that cost nothing."""
    env, first = _begin(work)
    logits = jax.random.normal(jax.random.PRNGKey(2), (env.num_actions,))

    def free(_: Any, observations: Any) -> tuple[Any, Any]:
        size = len(observations)
        return jnp.broadcast_to(logits, (size, env.num_actions)), jnp.zeros(size)

    best = []
    for size in work["batches"]:
        doing(f"search, batch {size}")
        states = _middle_game(env, first, size, work["opening_plies"])
        policy = partial(_search, env, free, None, num_simulations=work["num_simulations"])
        run, compiling = _compiled(policy, states, jax.random.PRNGKey(3))
        seconds = median_seconds(run, work["seconds"])
        best.append((seconds / (size * work["num_simulations"]), size, compiling))
    seconds, size, compiling = min(best)
    row("search_us_per_simulation", seconds * 1e6, "us", f"batch {size}, all cores")
    row("search_compile_s", compiling, "s", f"batch {size}")


def selfplay(work: Work) -> None:
    """Self-play with a network: search, a move drawn by visits, a new game after each end.

    Every game counts one evaluation per simulation and one for the root, even where the position is
    finished or already evaluated.
    """
    env, first = _begin(work)
    weights = make_weights(env.observation_shape, env.num_actions, work["blocks"], work["channels"])
    simulations = work["selfplay_simulations"]

    def move(states: Any, weights: Any, key: Any) -> Any:
        chosen = _search(env, forward, weights, states, key, num_simulations=simulations)
        return _renewed(first, jax.vmap(env.step)(states, chosen.action))

    best: dict[int, tuple[list[float], list[float], float]] = {}
    for size in work["batches"]:
        doing(f"self-play, batch {size}")
        states = _middle_game(env, first, size, work["opening_plies"])
        run, compiling = _compiled(move, states, weights, jax.random.PRNGKey(4))
        bare, _ = _compiled(forward, weights, states.observation)
        # Alternately: seconds of one simulation of all games, and of the network for one batch.
        moves: list[float] = []
        passes: list[float] = []
        began = time.perf_counter()
        while len(moves) < 3 or time.perf_counter() - began < work["seconds"]:
            moves.append(timed(run) / (simulations + 1))
            passes.append(median_seconds(bare, 0.3))
        best[size] = moves, passes, compiling
    size = max(best, key=lambda size: size / statistics.median(best[size][0]))
    moves, passes, compiling = best[size]
    ratio = statistics.median(one / other for other, one in zip(moves, passes, strict=True))
    note = f"batch {size}, {simulations} simulations, float32, all cores"
    row("selfplay_evals_per_s", size / statistics.median(moves), "1/s", note)
    row("network_evals_per_s", size / statistics.median(passes), "1/s", f"batch {size}, float32")
    row("efficiency", ratio, "ratio", note)
    row("selfplay_compile_s", compiling, "s", f"batch {size}")


def ready(work: Work) -> None:
    """Seconds until a new process has played its first move; there is no cache to load from."""
    env, first = _begin(work)
    weights = make_weights(env.observation_shape, env.num_actions, work["blocks"], work["channels"])
    policy = partial(_search, env, forward, num_simulations=work["selfplay_simulations"])
    doing("ready")
    chosen = jax.jit(policy)(weights, _copies(first, 1), jax.random.PRNGKey(1))
    jax.block_until_ready(chosen.action)
    row("ready_s", time.time() - work["began"], "s", "batch 1, one search")


def _begin(work: Work) -> tuple[Any, Any]:
    """The game, and its first state."""
    env = pgx.make(work["game"])
    return env, jax.jit(env.init)(jax.random.PRNGKey(0))


def _copies(state: Any, size: int) -> Any:
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (size, *leaf.shape)), state)


def _compiled(function: Callable[..., Any], *arguments: Any) -> tuple[Callable[[], Any], float]:
    """A warmed-up call that waits for the result, and the seconds that compiling took."""
    began = time.perf_counter()
    program = jax.jit(function).lower(*arguments).compile()
    compiling = time.perf_counter() - began

    def run() -> Any:
        return jax.block_until_ready(program(*arguments))

    run()
    return run, compiling


def _renewed(first: Any, states: Any) -> Any:
    """States [N], with finished ones replaced by the first state."""

    def choose(start: Any, leaf: Any) -> Any:
        over = states.terminated.reshape(-1, *[1] * (leaf.ndim - 1))
        return jnp.where(over, start, leaf)

    return jax.tree.map(choose, first, states)


def _random_step(env: Any, first: Any, states: Any, key: Any) -> Any:
    logits = jnp.where(states.legal_action_mask, 0.0, -jnp.inf)
    actions = jax.random.categorical(key, logits)
    following = _renewed(first, jax.vmap(env.step)(states, actions))
    return following.replace(observation=states.observation)


def _middle_game(env: Any, first: Any, size: int, plies: int) -> Any:
    """States [N] after `plies` random plies."""
    states = _copies(first, size)
    step = jax.jit(partial(_random_step, env, first))
    for key in jax.random.split(jax.random.PRNGKey(5), plies):
        states = step(states, key)
    return states.replace(observation=jax.jit(jax.vmap(env.observe))(states))


def _search(
    env: Any, network: Any, weights: Any, states: Any, key: Any, *, num_simulations: int
) -> Any:
    """mctx's search result for states [N]."""

    def model(weights: Any, _: Any, actions: Any, states: Any) -> tuple[Any, Any]:
        mover = states.current_player
        states = jax.vmap(env.step)(states, actions)
        logits, values = network(weights, states.observation)
        rewards = jnp.take_along_axis(states.rewards, mover[:, None], 1)[:, 0]
        return mctx.RecurrentFnOutput(
            reward=rewards,
            discount=jnp.where(states.terminated, 0.0, -1.0),
            prior_logits=jnp.where(states.legal_action_mask, logits, jnp.finfo(jnp.float32).min),
            value=jnp.where(states.terminated, 0.0, values),
        ), states

    logits, values = network(weights, states.observation)
    return mctx.muzero_policy(
        weights,
        key,
        mctx.RootFnOutput(prior_logits=logits, value=values, embedding=states),
        model,
        num_simulations,
        invalid_actions=~states.legal_action_mask,
    )


if __name__ == "__main__":
    serve({"rules": rules, "search": search, "selfplay": selfplay, "ready": ready})
