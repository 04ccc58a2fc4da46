"""Ablations of a search: a lesson removes or alters one part of it to show what that part does."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from azcore.chance import Purpose, generator
from azcore.game import ByteArray, FloatArray, Game, IntArray
from azcore.search.evaluators import Evaluator
from azcore.search.inspection import Stepper
from azcore.search.mcts import Noise, Search
from azcore.search.settings import SearchSettings

NETWORK = ("both", "value", "policy", "none")
NOISE = {"none": 0.0, "some": 0.25, "all": 1.0}
EXPLORATION = {"usual": 1.0, "none": 0.0, "huge": 8.0}
CONSTANT = 1e30  # of c_base: C(s) does not grow with visits


@dataclass(frozen=True, kw_only=True)
class Changes:
    """How a search differs from the default."""

    network: str = "both"  # which outputs it keeps: `both`, `value` or `policy` alone, or `none`
    noise: str = "none"  # the share of noise at the root, by its name in `NOISE`
    exploration: str = "usual"  # the factor of C(s), by its name in `EXPLORATION`
    turns: bool = True  # whether a value changes sign with the player; false is a well-known bug


class AblatedEvaluator(Evaluator):
    """An evaluator without its policy (then uniform), its value (then 0, even chances), or both.

    A value of 0 is even chances.
    """

    def __init__(self, evaluator: Evaluator, keep: str) -> None:
        self._evaluator, self._keep = evaluator, keep

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        logits, values = self._evaluator.evaluate(observations)
        if self._keep not in ("both", "policy"):
            logits = np.zeros_like(logits)
        if self._keep not in ("both", "value"):
            values = np.zeros_like(values)
        return logits, values


class UnflippedSearch(Search):
    """A search that assumes that the same player always moves, so no value changes sign.

    The players of its nodes are all seat 0, and outcomes take the view of seat 0.
    """

    def _describe(self, roots: IntArray) -> None:
        super()._describe(roots)
        self._positions.current_player[:] = 0


def begin(
    game: Game,
    evaluator: Evaluator,
    settings: SearchSettings,
    state: Any,
    changes: Changes,
    seed: int = 1,
) -> Stepper:
    """A search of one position with a lesson's changes.

    Raises:
        GameError: the game is over.
    """
    factor = EXPLORATION[changes.exploration]
    settings = replace(
        settings,
        dirichlet_fraction=NOISE[changes.noise],
        c_init=factor * settings.c_init,
        c_base=settings.c_base if factor == 1 else CONSTANT,
    )
    kind = Search if changes.turns else UnflippedSearch
    if changes.network != "both":
        evaluator = AblatedEvaluator(evaluator, changes.network)
    search = kind(game=game, num_trees=1, evaluator=evaluator, settings=settings)
    search.start(0, state)
    noise = _noise(game, settings, seed) if NOISE[changes.noise] else None
    return Stepper(search, settings.num_simulations, noise)


def _noise(game: Game, settings: SearchSettings, seed: int) -> Noise:
    """Root noise as in self-play, but the same on every call."""
    alpha = settings.dirichlet_alpha or game.dirichlet_alpha
    gumbel = settings.gumbel

    def draw(_row: int, num_legal: int) -> FloatArray:
        purpose = Purpose.ROOT_NOISE if gumbel is None else Purpose.GUMBEL
        rng = generator(purpose, seed, 0)
        if gumbel is None:
            return rng.dirichlet(np.full(num_legal, alpha)).astype(np.float32)
        return rng.gumbel(size=num_legal).astype(np.float32)

    return draw
