"""OpenSpiel: rules in C++, tree search in Python, as its Python AlphaZero uses them.

That AlphaZero evaluates one position at a time (its evaluator caches the results). Its own network
needs flax; here its evaluator calls a network of the same size in plain JAX.
"""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.algorithms import mcts

from .exchange import Work, doing, median_seconds, row, serve, timed

ROLLOUTS = 100  # in one call
UCT_C = 2.0  # the default of its AlphaZero


class FreeOpenSpielEvaluator:
    """Returns uniform priors and a value of 0, so that only the cost of search remains."""

    def evaluate(self, state: Any) -> Any:
        return np.zeros(2)

    def prior(self, state: Any) -> list[tuple[int, float]]:
        actions = state.legal_actions()
        return [(action, 1 / len(actions)) for action in actions]


class Network:
    """A network as large as azcore's, with the interface of its AlphaZero's model; batch 1."""

    def __init__(self, game: Any, work: Work) -> None:
        import jax

        from .jax_network import forward, make_weights

        planes, height, width = self._shape = game.observation_tensor_shape()
        weights = make_weights(
            (height, width, planes), game.num_distinct_actions(), work["blocks"], work["channels"]
        )
        self._forward = jax.jit(lambda batch: forward(weights, batch))
        self.empty = np.zeros((1, height, width, planes), np.float32)
        self.bare(self.empty)  # compiled here
        self.evaluations = 0

    def bare(self, batch: Any) -> tuple[Any, Any]:
        """Logits and value of one observation [1, H, W, C], as NumPy arrays."""
        logits, values = self._forward(batch)
        return np.asarray(logits[0]), np.asarray(values)

    def inference(self, observation: Any, mask: Any) -> tuple[float, Any]:
        self.evaluations += 1
        batch = observation.astype(np.float32).reshape(self._shape).transpose(1, 2, 0)[None]
        logits, values = self.bare(batch)
        policy = np.where(mask, np.exp(logits - logits.max()), 0)
        return float(values[0]), policy / policy.sum()


def rules(work: Work) -> None:
    """Random games in C++, by the rollouts of its search.

    The search does not count their plies; the mean length comes from random games in Python.
    """
    game = pyspiel.load_game(work["game"])
    doing("rules")
    rng = np.random.default_rng(1)
    lengths: list[int] = []
    began = time.perf_counter()
    while len(lengths) < 20 or time.perf_counter() - began < work["seconds"] / 2:
        lengths.append(_random_game(game, rng))
    # One simulation of its C++ search is ROLLOUTS random games from the root, and nothing else.
    rollouts = pyspiel.RandomRolloutEvaluator(ROLLOUTS, 1)
    bot = pyspiel.MCTSBot(game, rollouts, UCT_C, 1, 100, False, 1, False)
    first = game.new_initial_state()
    seconds = median_seconds(lambda: bot.mcts_search(first), work["seconds"] / 2)
    plies = statistics.mean(lengths)
    note = f"C++, one core, games of {plies:.0f} plies"
    row("rules_us_per_ply", seconds / (ROLLOUTS * plies) * 1e6, "us", note)


def search(work: Work) -> None:
    """Search of middle-game positions by the bot of its AlphaZero, one core."""
    game = pyspiel.load_game(work["game"])
    doing("search")
    bot = _bot(game, FreeOpenSpielEvaluator(), work["num_simulations"])
    rng = np.random.default_rng(1)
    states = [_middle_game(game, rng, work["opening_plies"]) for _ in range(8)]
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 8 or time.perf_counter() - began < work["seconds"]:
        state = states[len(times) % len(states)]
        times.append(timed(partial(bot.mcts_search, state)))
    seconds = statistics.median(times) / work["num_simulations"]
    row("search_us_per_simulation", seconds * 1e6, "us", "Python, one core")


def selfplay(work: Work) -> None:
    """Self-play by one actor of its AlphaZero; counts the network's calls."""
    from open_spiel.python.algorithms.alpha_zero.evaluator import AlphaZeroEvaluator

    game = pyspiel.load_game(work["game"])
    doing("self-play")
    network = Network(game, work)
    bot = _bot(game, AlphaZeroEvaluator(game, network), work["selfplay_simulations"])
    rng = np.random.default_rng(1)
    state = _middle_game(game, rng, work["opening_plies"])
    rates: list[tuple[float, float]] = []
    while len(rates) < 5:
        network.evaluations, spent = 0, 0.0
        while spent < work["seconds"] / 5:
            spent += timed(partial(bot.mcts_search, state))
            state.apply_action(int(rng.choice(state.legal_actions())))
            if state.is_terminal():
                state = _middle_game(game, rng, work["opening_plies"])
        bare = 1 / median_seconds(lambda: network.bare(network.empty), work["seconds"] / 5)
        rates.append((network.evaluations / spent, bare))
    simulations = work["selfplay_simulations"]
    note = f"batch 1, one process, {simulations} simulations, float32"
    row("selfplay_evals_per_s", statistics.median(rate for rate, _ in rates), "1/s", note)
    row("network_evals_per_s", statistics.median(bare for _, bare in rates), "1/s", "batch 1")
    row("efficiency", statistics.median(rate / bare for rate, bare in rates), "ratio", note)


def _bot(game: Any, evaluator: Any, num_simulations: int) -> Any:
    return mcts.MCTSBot(
        game,
        UCT_C,
        num_simulations,
        evaluator,
        solve=False,
        child_selection_fn=mcts.SearchNode.puct_value,
        dirichlet_noise=(0.25, 1.0),
    )


def _random_game(game: Any, rng: np.random.Generator) -> int:
    """Plies of a random game."""
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(int(rng.choice(state.legal_actions())))
    return int(state.move_number())


def _middle_game(game: Any, rng: np.random.Generator, plies: int) -> Any:
    """A state after `plies` random plies, or fewer if the game would end."""
    state = game.new_initial_state()
    for _ in range(plies):
        following = state.clone()
        following.apply_action(int(rng.choice(state.legal_actions())))
        if following.is_terminal():
            break
        state = following
    return state


if __name__ == "__main__":
    serve({"rules": rules, "search": search, "selfplay": selfplay})
