"""AlphaZero's loop (Silver 2018): the latest network plays itself and learns from the games.

    repeat for each generation:
        the latest network plays itself until there are enough new positions
        it takes `steps_per_generation` steps on positions sampled from the window
        the run saves everything

`loop.py` has the loop.
"""

from collections.abc import Callable

from torch import nn

from azcore.algorithms.algorithm import Algorithm, WhoPlays
from azcore.learner.sources import GameSource


class AlphaZero(Algorithm):
    """Always plays with the latest network: there is no best player to beat, so it stores none."""

    def source(self, self_play: Callable[[WhoPlays], GameSource]) -> GameSource:
        return self_play(self.who_plays)

    def who_plays(self, network: nn.Module, step: int) -> tuple[nn.Module, int]:
        return network, step

    def metrics(self) -> dict[str, float]:
        return {}
