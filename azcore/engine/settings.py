"""The settings of the engine, the group `engine`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from azcore.game.facts import PROTOCOLS
from azcore.search.settings import SearchSettings, search_settings
from azcore.settings import (
    LARGEST_WHOLE,
    NOT_NEGATIVE,
    ONE_OR_MORE,
    POSITIVE,
    Checked,
    Test,
    build_group,
    one_of,
    or_null,
)

BOOK_CHOICES = ("weighted", "best")
PROTOCOL_NAMES = (*PROTOCOLS, "analysis")
RESIGN_BELOW: Test = (lambda value: -1 <= value <= 1, "a value of -1 to 1, or null never to resign")


@dataclass(frozen=True, kw_only=True)
class EngineSettings(Checked, group="engine"):
    """How an engine thinks; the numbers and their reasons are in `conf/engine`."""

    protocol: Annotated[str | None, or_null(one_of(PROTOCOL_NAMES), "null for the game's own")]
    num_simulations: Annotated[int, ONE_OR_MORE, "search"]
    time_share: Annotated[float, ONE_OR_MORE]
    move_overhead: Annotated[float, NOT_NEGATIVE]
    leaves_per_tree: Annotated[int, ONE_OR_MORE, "search"]
    max_simulations: Annotated[int, ONE_OR_MORE]
    memory_mb: Annotated[int, ONE_OR_MORE]
    ponder: bool
    report_seconds: Annotated[float, POSITIVE]
    resign_below: Annotated[float | None, RESIGN_BELOW]
    book: str | None
    book_choice: Annotated[str, one_of(BOOK_CHOICES)]
    book_plies: Annotated[int, ONE_OR_MORE]
    tablebase: str | None
    log: str | None


# Settings that an engine in a terminal or on the page lacks, or sets itself.
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
    if search["num_simulations"] is None:  # the limit is in seconds
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
