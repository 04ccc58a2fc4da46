"""How an actor chooses among searched actions, ply by ply."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.game import IntArray
from azcore.search.settings import SearchResult
from azcore.settings import (
    NOT_NEGATIVE,
    ONE_OR_MORE,
    POSITIVE,
    SHARE,
    SHARE_ABOVE_0,
    Checked,
    Test,
    or_null,
    require,
    within,
)
from azcore.storage.run_directory import MOST_GAMES
from azcore.storage.starts import require_plies

DECIDED_PLIES = 4  # two of each player
MOST_POLICY_PLIES = 10**6  # on average
MOST_WORKERS = 10_000  # of all machines; twice AlphaZero's generators
MOST_WAVES = 10**5  # of a round; hours of the slowest network
EACH: Test = (lambda each: min(each, default=0) >= 0, "0 or more each")
DECIDED: Test = (lambda value: 0 < value < 1, "a value between 0 and 1, or null")
BETWEEN: Test = (lambda share: 0 < share < 1, "a share between 0 and 1")
POLICY_PLIES: Test = (
    lambda plies: 0 < plies <= MOST_POLICY_PLIES,
    f"above 0, at most {MOST_POLICY_PLIES:,}, or null",
)


@dataclass(frozen=True, kw_only=True)
class SelfPlaySettings(Checked, group="selfplay"):
    """How games are generated; the numbers and their sources are in `conf/selfplay`."""

    # None: a probe finds it, see `azcore.selfplay.sizes`
    num_games: Annotated[int | None, or_null(within(1, MOST_GAMES))]
    workers: Annotated[int | None, or_null(within(1, MOST_WORKERS))]  # None: one per core
    opening_plies: Annotated[int, NOT_NEGATIVE]
    policy_plies: Annotated[float | None, POLICY_PLIES]  # mean of an exponential distribution
    starts: tuple[str, ...]  # files, see `azcore.storage.starts`; empty: the game's own
    start_plies: tuple[int, ...]
    start_share: Annotated[float, SHARE_ABOVE_0]
    branch_share: Annotated[float, (lambda share: 0 <= share < 1, "a share of 0 to 1")]
    regret_share: float
    round_waves: Annotated[int, within(1, MOST_WAVES)]
    temperature: Annotated[float, POSITIVE]
    temperature_plies: Annotated[int, NOT_NEGATIVE]
    final_temperature: Annotated[float, NOT_NEGATIVE]
    # Plies; None: a step after temperature_plies
    temperature_half_life: Annotated[float | None, or_null(POSITIVE)]
    temperatures: Annotated[tuple[float, ...], EACH]  # of each ply; empty: by the four above
    full_search_share: Annotated[float, SHARE_ABOVE_0]
    cheap_simulations: Annotated[int, ONE_OR_MORE]
    decided_value: Annotated[float | None, DECIDED]  # None: no game counts as decided
    decided_share: Annotated[float, SHARE]
    resignation: bool
    resignation_false_positives: Annotated[float, BETWEEN]
    resignation_played_out: Annotated[float, SHARE_ABOVE_0]
    resignation_games: Annotated[int, ONE_OR_MORE]

    def __post_init__(self) -> None:
        super().__post_init__()
        require_plies(self.start_plies, "selfplay.start_plies")
        most = 1 - self.branch_share
        require(
            0 <= self.regret_share < most,
            "selfplay.regret_share",
            f"0 or more, and below 1 - selfplay.branch_share = {most:g}",
            self.regret_share,
        )

    def shares(self) -> list[int]:
        """Number of games per worker, as equal as possible; both settings must be known.

        Raises:
            SettingError: fewer games than workers.
        """
        assert self.num_games is not None, "a probe sets selfplay.num_games"
        assert self.workers is not None, "the machine determines selfplay.workers"
        require(
            self.workers <= self.num_games,
            "selfplay.workers",
            f"at most selfplay.num_games, {self.num_games}",
            self.workers,
        )
        share, more = divmod(self.num_games, self.workers)
        return [share + (number < more) for number in range(self.workers)]

    def temperature_at(self, ply: int) -> float:
        """Temperature of the move choice at a searched ply (Silver 2017: 1 for 30, then to 0).

        With a half-life, its distance from the final temperature halves once per half-life.
        """
        if self.temperatures:
            return self.temperatures[min(ply, len(self.temperatures) - 1)]
        if self.temperature_half_life is None:
            return self.temperature if ply < self.temperature_plies else self.final_temperature
        remaining: float = 0.5 ** (ply / self.temperature_half_life)
        return self.final_temperature + (self.temperature - self.final_temperature) * remaining

    def full_share(self, values: Sequence[float]) -> float:
        """The probability that the next move gets a full search.

        Args:
            values: the values of the searched plies so far, all in the view of one seat. The game
                is decided if the last `DECIDED_PLIES` agree on the winner.
        """
        share, sure = self.full_search_share, self.decided_value
        last = np.array(values[-DECIDED_PLIES:], np.float64)
        is_sure = sure is not None and len(last) == DECIDED_PLIES and is_decided(last, sure)
        return share * self.decided_share if is_sure else share


@register_jitable
def is_decided(last: npt.NDArray[np.float64], sure: float) -> bool:
    """Whether the last values, float64 [DECIDED_PLIES] in the view of one seat, agree."""
    return bool(last.min() > sure or last.max() < -sure)


def choose_action(result: SearchResult, temperature: float, rng: np.random.Generator) -> int:
    """An action with probability N(a)^(1/temperature) / sum N(b)^(1/temperature).

    At temperature 0: most visits; ties go to the higher prior, then the lower action. A Gumbel
    search has already chosen with its noise, so the temperature is ignored (as in mctx; the paper's
    own runs still drew their first 30 moves by visits, appendix F).
    """
    if result.best_action is not None:
        return result.best_action
    if temperature == 0:
        return int(result.actions[result.ranked()[0]])
    return int(result.actions[drawn(result.kept_counts, temperature, rng.random())])


@register_jitable
def drawn(visits: IntArray, temperature: float, draw: float) -> int:
    """The index of an action by its visits, int32 [K], and a random number from 0 to 1."""
    # Scaled by the largest, so that a small temperature does not overflow.
    sums = ((visits / visits.max()) ** (1.0 / temperature)).cumsum()
    # Like rng.choice, but without its checks, which make it three times as slow.
    return int(np.searchsorted(sums / sums[-1], draw, side="right"))
