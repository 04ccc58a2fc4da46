"""The settings of the engine, the group `engine`."""

from __future__ import annotations

from dataclasses import dataclass

from azcore.game.facts import PROTOCOLS
from azcore.settings import require

BOOK_CHOICES = ("weighted", "best")


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """How an engine thinks; the numbers and their reasons are in `conf/engine`."""

    protocol: str | None
    num_simulations: int
    time_share: float
    move_overhead: float
    leaves_per_tree: int
    max_simulations: int
    memory_mb: int
    ponder: bool
    report_seconds: float
    resign_below: float | None
    book: str | None
    book_choice: str
    book_plies: int
    tablebase: str | None
    log: str | None

    def __post_init__(self) -> None:
        for name in ("num_simulations", "leaves_per_tree", "max_simulations", "memory_mb"):
            require(getattr(self, name) >= 1, f"engine.{name}", "1 or more", getattr(self, name))
        protocols, own = (*PROTOCOLS, "analysis"), "null for the game's own"
        wanted = f"one of {', '.join(protocols)}, or {own}"
        require(self.protocol in (None, *protocols), "engine.protocol", wanted, self.protocol)
        require(self.time_share >= 1, "engine.time_share", "1 or more", self.time_share)
        require(self.move_overhead >= 0, "engine.move_overhead", "0 or more", self.move_overhead)
        choices = f"one of {', '.join(BOOK_CHOICES)}"
        require(self.book_choice in BOOK_CHOICES, "engine.book_choice", choices, self.book_choice)
        require(self.book_plies >= 1, "engine.book_plies", "1 or more", self.book_plies)
        require(self.report_seconds > 0, "engine.report_seconds", "above 0", self.report_seconds)
        require(
            self.resign_below is None or -1 <= self.resign_below <= 1,
            "engine.resign_below",
            "a value of -1 to 1, or null never to resign",
            self.resign_below,
        )
