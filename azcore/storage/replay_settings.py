"""The settings of `replay`: how many games the window holds and how often it samples them."""

import math
from dataclasses import dataclass
from typing import Annotated

from azcore.settings import (
    ABOVE_0_AT_MOST_1,
    ONE_OR_MORE,
    POSITIVE,
    SHARE,
    Checked,
    Test,
    or_null,
    require,
    require_each,
)

SAMPLES: Test = (
    lambda samples: samples >= 0.001,
    "0.001 or more, or self-play makes games that the network hardly learns from",
)


@dataclass(frozen=True, kw_only=True)
class ReplaySettings(Checked, group="replay"):
    """How many games to store and how to use them; numbers and sources are in `conf/replay`."""

    window_games: Annotated[int, ONE_OR_MORE]
    # None: the window is `window_games` from the first game on
    window_start: Annotated[int | None, or_null(ONE_OR_MORE)]
    window_power: Annotated[float, ABOVE_0_AT_MOST_1]
    window_slope: Annotated[float, ABOVE_0_AT_MOST_1]
    samples_per_position: Annotated[float | None, SAMPLES]
    games_per_generation: Annotated[int | None, ONE_OR_MORE]  # instead of samples_per_position
    least_samples_per_position: float | None  # where values explain nothing; None: always the same
    games_on_disk: int | None  # None: all
    window_on_disk: bool
    root_value_share: Annotated[float, SHARE]
    value_samples_per_game: Annotated[float | None, or_null(POSITIVE)]  # None: all of a game
    surprise_share: Annotated[float, SHARE]
    augment: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        related: dict[str, Test] = {
            "least_samples_per_position": (
                lambda samples: samples >= 0.001,
                "0.001 or more, or null",
            ),
            "games_on_disk": (
                lambda games: games >= self.window_games,
                f"replay.window_games, {self.window_games}, or more; null for all",
            ),
        }
        require_each(self, "replay", related)
        require(
            (self.samples_per_position is None) is not (self.games_per_generation is None),
            "replay.samples_per_position",
            "null where replay.games_per_generation is a number, or the other way round",
            f"{self.samples_per_position} and {self.games_per_generation}",
        )
        require(
            self.value_samples_per_game is None
            or (self.samples_per_position is not None and self.least_samples_per_position is None),
            "replay.value_samples_per_game",
            "null with replay.games_per_generation or replay.least_samples_per_position, where a "
            "game has no fixed number of samples",
            self.value_samples_per_game,
        )

    @property
    def fewest_samples(self) -> float | None:
        """The least number of samples of a position that a generation may have.

        None: a generation has a number of games.
        """
        most, least = self.samples_per_position, self.least_samples_per_position
        return most if most is None or least is None else min(most, least)

    @property
    def value_positions(self) -> float | None:
        """The samples of a game that teach the value if each is drawn once; None: all."""
        if self.value_samples_per_game is None or self.samples_per_position is None:
            return None
        return self.value_samples_per_game / self.samples_per_position

    def window_at(self, total_games: int) -> int:
        """The window of a run that has made `total_games`, in games (Wu 2019).

        Of N games beyond c = `window_start`: c (1 + beta ((N / c)^alpha - 1) / alpha), alpha being
        `window_power` and beta `window_slope`; before that, all. It never grows faster than N.
        """
        start, power, slope = self.window_start, self.window_power, self.window_slope
        if start is None or total_games <= start:
            return self.window_games
        grown: float = start * (1 + slope * ((total_games / start) ** power - 1) / power)
        return min(self.window_games, math.floor(grown))
