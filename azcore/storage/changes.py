"""The settings of a run that differ from their defaults, and those that differ between runs.

A run stores the defaults of its time: `config.yaml` has the default of every changed setting. These
are the defaults of its game, algorithm, scale, network and search; the latter two count as changed
where the others would choose differently. Runs of older versions store none.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from azcore.storage.run_settings import APART, DEFAULT, flat
from azcore.storage.untrusted import printable

BASE = ("algorithm", "scale")  # on which the defaults depend, as on the game
CHOICES = ("network.name", "search")  # and on these, which have defaults themselves
UNCHANGED = "all defaults"
MOST_LETTERS = 60  # of a value


@dataclass(frozen=True)
class Change:
    """A setting of a run that differs from its default; both values as in YAML."""

    key: str
    value: Any
    default: Any  # None also without a default

    @property
    def cells(self) -> tuple[str, str, str]:
        """Key, value and default as text."""
        return printable(self.key), _word(self.value), _word(self.default)

    def __str__(self) -> str:
        key, value, default = self.cells
        return f"{key}={value} (default {default})"


def changes(own: Mapping[str, Any]) -> list[Change] | None:
    """The settings of a run that differ from their defaults, in the order of its file.

    Args:
        own: its own settings, as read from its file.

    Returns:
        None if the run does not store its defaults.
    """
    defaults = own.get(DEFAULT)
    if not isinstance(defaults, Mapping):
        return None
    return [
        Change(key, value, defaults[key])
        for key, value in _settings(own).items()
        if key in defaults and defaults[key] != value
    ]


def describe_base(own: Mapping[str, Any]) -> str:
    """The base of the defaults: `game=NAME algorithm=azcore scale=laptop`."""
    game = own.get("game")
    values = {"game": game.get("name") if isinstance(game, Mapping) else game}
    values |= {key: own[key] for key in BASE if key in own}
    return " ".join(_assigned(key, value) for key, value in values.items())


def describe_changes(own: Mapping[str, Any], between: str = ", ") -> str | None:
    """The changes of a run; None if it does not store its defaults."""
    found = changes(own)
    return None if found is None else between.join(map(str, found)) or UNCHANGED


def changes_of_arms(runs: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The changes of several runs: first the common ones, then those of each run.

    Args:
        runs: each one's own settings, by the name to show.

    Returns:
        Pairs of a name and its settings as text. If a run stores no defaults, these are all
        settings in which any two runs differ.
    """
    settings = {name: _settings(own) for name, own in runs.items()}
    changed = {name: {each.key: each for each in changes(own) or []} for name, own in runs.items()}
    keys = [*dict.fromkeys(key for each in settings.values() for key in each)]
    first = next(iter(runs))
    differing = [
        key
        for key in keys
        if any(s.get(key) != settings[first].get(key) for s in settings.values())
    ]
    shared = [str(change) for key, change in changed[first].items() if key not in differing]
    if all(changes(own) is not None for own in runs.values()):
        # The other settings follow from these choices.
        touched = {key for each in changed.values() for key in each} | {*BASE, *CHOICES}
        differing = [key for key in differing if key in touched]
        rows = [("all", ", ".join(shared) or UNCHANGED)]
    else:
        rows = []
    for name, own in settings.items():
        words = [
            str(changed[name].get(key) or _assigned(key, own[key]))
            for key in differing
            if key in own
        ]
        if len(runs) > 1:
            rows.append((name, ", ".join(words) or "nothing else"))
    return rows


def search_rule(search: Mapping[str, Any]) -> str:
    """The choice of the group `search` that has these settings."""
    return "puct" if search.get("gumbel") is None else "gumbel"


def _settings(own: Mapping[str, Any]) -> dict[str, Any]:
    search = own.get("search")
    rule = {"search": search_rule(search)} if isinstance(search, Mapping) else {}
    return rule | flat({key: value for key, value in own.items() if key not in APART})


def _assigned(key: str, value: Any) -> str:
    return f"{printable(str(key))}={_word(value)}"


def _word(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return printable(text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…")
