"""The settings of the engine, the group `engine`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from azcore.game.facts import PROTOCOLS
from azcore.search.settings import SearchSettings, search_settings
from azcore.settings import LARGEST_WHOLE, build, require

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
        for name, home in (
            ("num_simulations", "search"),
            ("leaves_per_tree", "search"),
            ("max_simulations", "engine"),
            ("memory_mb", "engine"),
        ):
            require(getattr(self, name) >= 1, f"{home}.{name}", "1 or more", getattr(self, name))
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


# What an engine in a terminal or on the page does without, or has in settings of its own.
LEFT_OUT: Mapping[str, Any] = {
    **dict.fromkeys(("protocol", "resign_below", "book", "tablebase", "log")),
    **{"time_share": 1.0, "move_overhead": 0.0, "ponder": False},
    **{"book_choice": BOOK_CHOICES[0], "book_plies": 1},
    **{"max_simulations": 1, "memory_mb": 1, "report_seconds": 1.0},
}


def engine_settings(config: Mapping[str, Any]) -> EngineSettings:
    """The group `engine`, with what `search` says of its searches.

    Raises:
        SettingError: a setting cannot be used.
    """
    group, search = config.get("engine", {}), config["search"]
    require(isinstance(group, Mapping), "engine", "settings by name", group)
    homes = dict.fromkeys(("num_simulations", "leaves_per_tree"), "search")
    own = {key: search[key] for key in homes}
    if own["num_simulations"] is None:  # seconds decide
        own["num_simulations"] = LARGEST_WHOLE
    return build(EngineSettings, {**LEFT_OUT, **own, **group}, "engine", homes)


def thinking_search(config: Mapping[str, Any]) -> SearchSettings:
    """How engines search: by PUCT, which can stop at any time, whatever self-play searches by.

    Raises:
        SettingError: a setting cannot be used.
    """
    search = {key: value for key, value in config["search"].items() if key != "gumbel"}
    # A tree that grows until a limit of the engine, whose settings have the leaves at once.
    return search_settings(
        {**config, "search": {**search, "num_simulations": 1, "leaves_per_tree": 1}}
    )
