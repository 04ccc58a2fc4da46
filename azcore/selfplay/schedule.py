"""How an actor chooses among searched actions, ply by ply."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from azcore.search.settings import SearchResult
from azcore.settings import require

MOST_GAMES = 10**6  # at once; ten times what fills the largest GPU
MOST_WORKERS = 1024  # threads; more than a machine has cores


@dataclass(frozen=True, kw_only=True)
class SelfPlaySettings:
    """How games are generated; the numbers and their sources are in `conf/selfplay`."""

    num_games: int | None  # None: a probe finds it, see `azcore.selfplay.sizes`
    workers: int | None  # None: one per core
    opening_plies: int
    temperature: float
    temperature_plies: int
    final_temperature: float
    full_search_share: float
    cheap_simulations: int
    resignation: bool
    resignation_false_positives: float
    resignation_played_out: float
    resignation_games: int

    def __post_init__(self) -> None:
        require(
            self.num_games is None or 1 <= self.num_games <= MOST_GAMES,
            "selfplay.num_games",
            f"1 to {MOST_GAMES:,}, or null",
            self.num_games,
        )
        require(
            self.workers is None or 1 <= self.workers <= MOST_WORKERS,
            "selfplay.workers",
            f"1 to {MOST_WORKERS:,}, or null",
            self.workers,
        )
        require(self.opening_plies >= 0, "selfplay.opening_plies", "0 or more", self.opening_plies)
        require(self.temperature > 0, "selfplay.temperature", "above 0", self.temperature)
        require(
            self.final_temperature >= 0,
            "selfplay.final_temperature",
            "0 or more",
            self.final_temperature,
        )
        require(
            self.temperature_plies >= 0,
            "selfplay.temperature_plies",
            "0 or more",
            self.temperature_plies,
        )
        require(
            0 < self.full_search_share <= 1,
            "selfplay.full_search_share",
            "a share above 0, at most 1",
            self.full_search_share,
        )
        require(
            self.cheap_simulations >= 1,
            "selfplay.cheap_simulations",
            "1 or more",
            self.cheap_simulations,
        )
        require(
            0 < self.resignation_false_positives < 1,
            "selfplay.resignation_false_positives",
            "a share between 0 and 1",
            self.resignation_false_positives,
        )
        require(
            0 < self.resignation_played_out <= 1,
            "selfplay.resignation_played_out",
            "a share above 0, at most 1",
            self.resignation_played_out,
        )
        require(
            self.resignation_games >= 1,
            "selfplay.resignation_games",
            "1 or more",
            self.resignation_games,
        )

    def shares(self) -> list[int]:
        """Number of games per worker, as equal as possible; both settings must be known.

        Raises:
            SettingError: fewer games than workers.
        """
        assert self.num_games is not None, "a probe finds selfplay.num_games"
        assert self.workers is not None, "the machine decides selfplay.workers"
        require(
            self.workers <= self.num_games,
            "selfplay.workers",
            f"at most selfplay.num_games, {self.num_games}",
            self.workers,
        )
        share, more = divmod(self.num_games, self.workers)
        return [share + (number < more) for number in range(self.workers)]

    def temperature_at(self, ply: int) -> float:
        """Temperature of the move choice at a searched ply (Silver 2017: 1 for 30, then to 0)."""
        return self.temperature if ply < self.temperature_plies else self.final_temperature


def choose_action(result: SearchResult, temperature: float, rng: np.random.Generator) -> int:
    """An action with probability N(a)^(1/temperature) / sum N(b)^(1/temperature).

    At temperature 0: most visits; ties go to the higher prior, then the lower action. A Gumbel
    search has already chosen with its noise, so the temperature is ignored (as in mctx; the paper's
    own runs still drew their first 30 moves by visits, appendix F).
    """
    if result.best_action is not None:
        return result.best_action
    visits = result.visit_counts
    if temperature == 0:
        return int(result.actions[result.ranked()[0]])
    # Scaled by the largest, so that a small temperature does not overflow.
    sums = ((visits / visits.max()) ** (1.0 / temperature)).cumsum()
    # Like rng.choice, but without its checks, which make it three times as slow.
    return int(result.actions[(sums / sums[-1]).searchsorted(rng.random(), side="right")])
