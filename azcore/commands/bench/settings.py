"""What to measure; the numbers are in `conf/bench`."""

from __future__ import annotations

from dataclasses import dataclass

from azcore.settings import require

ROWS = ("rules", "search", "selfplay", "learner", "ready", "memory", "growth", "device", "plan")


@dataclass(frozen=True, kw_only=True)
class BenchSettings:
    """How to measure azcore."""

    path: str
    rows: tuple[str, ...]
    seconds: float
    num_simulations: int
    opening_plies: int
    blocks: int
    channels: int
    num_games: int
    growth_simulations: tuple[int, ...]
    growth_trees: tuple[int, ...]
    utilization_ms: int
    device_rate: float
    device_latency_ms: float
    device_games: int
    device_workers: int | None

    def __post_init__(self) -> None:
        require(bool(self.rows), "bench.rows", f"some of {', '.join(ROWS)}", [])
        for row in self.rows:
            require(row in ROWS, "bench.rows", f"some of {', '.join(ROWS)}", row)
        require(self.seconds > 0, "bench.seconds", "above 0", self.seconds)
        require(self.opening_plies >= 0, "bench.opening_plies", "0 or more", self.opening_plies)
        require(self.device_rate > 0, "bench.device_rate", "above 0", self.device_rate)
        require(
            self.device_latency_ms >= 0,
            "bench.device_latency_ms",
            "0 or more",
            self.device_latency_ms,
        )
        for name in (
            "num_simulations",
            "blocks",
            "channels",
            "num_games",
            "device_games",
            "utilization_ms",
        ):
            value = getattr(self, name)
            require(value >= 1, f"bench.{name}", "1 or more", value)
        for name in ("growth_simulations", "growth_trees"):
            values = getattr(self, name)
            fits = bool(values) and min(values) >= 1
            require(fits, f"bench.{name}", "numbers of 1 or more", list(values))
