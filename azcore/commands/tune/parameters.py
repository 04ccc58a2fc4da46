"""The constants to tune: their ranges, and a search with other constants."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, get_type_hints

from azcore.errors import SettingError
from azcore.search.settings import PUCT, GumbelSettings, SearchSettings
from azcore.settings import altered, convert, require, unknown_key
from azcore.storage.run_settings import flat

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

GROUP = "search"
NOT_IN_MATCHES = (
    *("num_simulations", "dirichlet_fraction", "dirichlet_alpha", "gumbel.scale"),
    *("root_temperature", "forced_visits"),
)
Constants = Mapping[str, float]  # by key, such as puct.c_init


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A constant and the range in which it is tuned."""

    key: str  # as on the command line
    low: float
    high: float
    is_log: bool
    is_whole: bool

    def from_unit(self, share: float) -> float:
        """The value at a share of the range, 0 to 1; whole ones are rounded."""
        if self.is_log:
            value = math.exp(math.log(self.low) + share * math.log(self.high / self.low))
        else:
            value = self.low + share * (self.high - self.low)
        value = round(value) if self.is_whole else float(f"{value:.4g}")
        return min(max(value, self.low), self.high)

    def to_unit(self, value: float) -> float:
        """The share of the range at which a value lies."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def distribution(self) -> BaseDistribution:
        """The range as a distribution of Optuna."""
        from optuna.distributions import FloatDistribution, IntDistribution

        if self.is_whole:
            return IntDistribution(int(self.low), int(self.high), log=self.is_log)
        return FloatDistribution(self.low, self.high, log=self.is_log)


def _key(name: str) -> str:
    """A constant as on the command line."""
    return f"{'puct' if name in PUCT else GROUP}.{name}"


def parameters_from(values: Mapping[str, Any]) -> list[Parameter]:
    """The constants to tune, from `tune.parameters`.

    Raises:
        SettingError: a key is not a number of the search, or its range is invalid.
    """
    kinds: dict[str, Any] = {}
    for settings, key_of in (
        (SearchSettings, _key),
        (GumbelSettings, f"{GROUP}.gumbel.{{}}".format),
    ):
        hints = get_type_hints(settings)
        kinds |= {key_of(field.name): hints[field.name] for field in fields(settings)}
    known = [
        key
        for key, kind in kinds.items()
        if kind in (int, float, int | None, float | None)
        and key.partition(".")[2] not in NOT_IN_MATCHES
    ]
    found = []
    for key, given in flat(values).items():
        where = f"tune.parameters.{key}"
        if key not in known:
            if key not in kinds:
                raise SettingError(unknown_key(key, known))
            require(False, where, f"for a number that affects matches ({', '.join(known)})", given)
        if given is None:
            continue
        numbers = given[:2] if isinstance(given, list | tuple) else []
        fits = len(numbers) == 2 and all(
            isinstance(n, int | float) and not isinstance(n, bool) for n in numbers
        )
        require(
            fits and list(given[2:]) in ([], ["log"]),
            where,
            "[low, high] or [low, high, log]",
            given,
        )
        for i, number in enumerate(numbers):
            convert(int if isinstance(number, int) else float, number, f"{where}[{i}]")
        low, high = numbers
        is_log, is_whole = len(given) == 3, kinds[key] in (int, int | None)
        require(low < high, where, "a range from low to something higher", given)
        require(low > 0 or not is_log, where, "above 0 with log", given)
        are_whole = low == int(low) and high == int(high)
        require(are_whole or not is_whole, where, "whole numbers", given)
        found.append(Parameter(key=key, low=low, high=high, is_log=is_log, is_whole=is_whole))
    require(bool(found), "tune.parameters", "a range for one constant or more", dict(values))
    return found


def search_of(search: SearchSettings, parameters: Sequence[Parameter]) -> SearchSettings:
    """The search with these constants: PUCT, as in engines, or Gumbel's.

    Raises:
        SettingError: there are constants of both, or of Gumbel's without it.
    """
    keys = [parameter.key for parameter in parameters]
    of_gumbel = [key for key in keys if key.startswith(f"{GROUP}.gumbel.")]
    if not of_gumbel:
        return replace(search, gumbel=None)
    require(search.gumbel is not None, "search", "gumbel, whose constants are tuned", "puct")
    alone = f"null except for {', '.join(of_gumbel)}, since Gumbel's search ignores the others"
    require(keys == of_gumbel, "tune.parameters", alone, ", ".join(keys))
    return search


def with_constants(search: SearchSettings, constants: Constants) -> SearchSettings:
    """The search with other constants."""
    changes = {key.partition(".")[2]: value for key, value in constants.items()}
    return altered(search, changes, GROUP)
