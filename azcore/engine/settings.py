"""The settings of the engine, the group `engine`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from azcore.game.facts import PROTOCOLS
from azcore.search.settings import SearchSettings, search_settings
from azcore.settings import (
    LARGEST_WHOLE,
    NOT_NEGATIVE,
    ONE_OR_MORE,
    POSITIVE,
    Test,
    build_group,
    require_each,
)

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
        protocols = (*PROTOCOLS, "analysis")
        wanted = f"one of {', '.join(protocols)}, or null for the game's own"
        tests: dict[str, Test] = {
            "search.num_simulations": ONE_OR_MORE,
            "search.leaves_per_tree": ONE_OR_MORE,
            "max_simulations": ONE_OR_MORE,
            "memory_mb": ONE_OR_MORE,
            "protocol": (lambda name: name in protocols, wanted),
            "time_share": ONE_OR_MORE,
            "move_overhead": NOT_NEGATIVE,
            "book_choice": (lambda name: name in BOOK_CHOICES, f"one of {', '.join(BOOK_CHOICES)}"),
            "book_plies": ONE_OR_MORE,
            "report_seconds": POSITIVE,
            "resign_below": (
                lambda value: -1 <= value <= 1,
                "a value of -1 to 1, or null never to resign",
            ),
        }
        require_each(self, "engine", tests)


# What an engine in a terminal or on the page lacks, or has in its own settings.
LEFT_OUT: Mapping[str, Any] = {
    **dict.fromkeys(("protocol", "resign_below", "book", "tablebase", "log")),
    **{"time_share": 1.0, "move_overhead": 0.0, "ponder": False},
    **{"book_choice": BOOK_CHOICES[0], "book_plies": 1},
    **{"max_simulations": 1, "memory_mb": 1, "report_seconds": 1.0},
}


def engine_settings(config: Mapping[str, Any]) -> EngineSettings:
    """The group `engine`, completed from `search`.

    Raises:
        SettingError: a setting cannot be used.
    """
    search = dict(config["search"])
    if search["num_simulations"] is None:  # seconds decide
        search["num_simulations"] = LARGEST_WHOLE
    own = ("num_simulations", "leaves_per_tree")
    return build_group(EngineSettings, {**config, "search": search}, "engine", LEFT_OUT, own)


def thinking_search(config: Mapping[str, Any]) -> SearchSettings:
    """How engines search: by PUCT, which can stop at any time, whatever self-play uses.

    Raises:
        SettingError: a setting cannot be used.
    """
    search = {key: value for key, value in config["search"].items() if key != "gumbel"}
    # A tree that grows until a limit of the engine, whose settings have the leaves per batch.
    return search_settings(
        {**config, "search": {**search, "num_simulations": 1, "leaves_per_tree": 1}}
    )
