"""What to measure; the numbers are in `conf/bench`."""

from dataclasses import dataclass
from typing import Annotated

from azcore.settings import NOT_NEGATIVE, ONE_OR_MORE, POSITIVE, Checked, require

ROWS = ("rules", "search", "selfplay", "learner", "ready", "memory", "growth", "device", "plan")


@dataclass(frozen=True, kw_only=True)
class BenchSettings(Checked, group="bench"):
    path: str
    rows: tuple[str, ...]
    seconds: Annotated[float, POSITIVE]
    num_simulations: Annotated[int, ONE_OR_MORE]
    opening_plies: Annotated[int, NOT_NEGATIVE]
    blocks: Annotated[int, ONE_OR_MORE]
    channels: Annotated[int, ONE_OR_MORE]
    num_games: Annotated[int, ONE_OR_MORE]
    growth_simulations: tuple[int, ...]
    growth_trees: tuple[int, ...]
    utilization_ms: Annotated[int, ONE_OR_MORE]
    device_rate: Annotated[float, POSITIVE]
    device_latency_ms: Annotated[float, NOT_NEGATIVE]
    device_games: Annotated[int, ONE_OR_MORE]
    device_workers: int | None

    def __post_init__(self) -> None:
        super().__post_init__()
        require(bool(self.rows), "bench.rows", f"some of {', '.join(ROWS)}", [])
        for row in self.rows:
            require(row in ROWS, "bench.rows", f"some of {', '.join(ROWS)}", row)
        for name in ("growth_simulations", "growth_trees"):
            values = getattr(self, name)
            fits = bool(values) and min(values) >= 1
            require(fits, f"bench.{name}", "numbers of 1 or more", list(values))
