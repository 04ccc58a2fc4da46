"""Converts the plain values of a configuration to typed settings and refuses invalid ones.

The numbers live in `conf/*.yaml` and nowhere else, each with a comment. Each part of azcore
declares its settings as a frozen dataclass without defaults, which `build` fills. So azcore
reports a missing, unknown or ill-typed key in one sentence before any work starts.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, fields, is_dataclass
from difflib import SequenceMatcher
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

from azcore.errors import SettingError

T = TypeVar("T")

LARGEST_WHOLE = 2**31 - 1  # counts end up in arrays of int32
# Numbers end up in float32: refuse inf, nan and numbers that float32 would round to inf or 0.
FINEST, LARGEST = 1.1754944e-38, 3.4028234e38


def build(
    kind: type[T], values: Mapping[str, Any], where: str, homes: Mapping[str, str] | None = None
) -> T:
    """A `kind` dataclass from `values`.

    Args:
        kind: a dataclass whose fields are int, float, bool, str, tuples of those, dicts from names
            to those, dataclasses of this kind, or optional.
        values: one value for each field by name, and no others.
        where: the group's name in the configuration, for error messages.
        homes: the group of each field that is in another group, by field.

    Raises:
        SettingError: a key is unknown or missing, or a value has the wrong type or does not fit
            the int32 or float32 that computes with it.
    """
    require(isinstance(values, Mapping), where, "settings by name", values)
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for key in values:
        if key not in names:
            raise SettingError(unknown_key(f"{where}.{key}", [f"{where}.{name}" for name in names]))
    missing = [name for name in names if name not in values]
    places = {name: f"{(homes or {}).get(name, where)}.{name}" for name in names}
    if missing:
        raise SettingError(f"{places[missing[0]]} is not set")
    return kind(**{name: convert(hints[name], values[name], places[name]) for name in names})


def build_group(
    kind: type[T],
    config: Mapping[str, Any],
    group: str,
    left_out: Mapping[str, Any] | None = None,
    of_search: Collection[str] = (),
) -> T:
    """A `kind` dataclass from a group of the configuration.

    Args:
        kind: as for `build`.
        config: groups by name.
        group: the name of one of them.
        left_out: values for fields whose keys the group lacks in some commands.
        of_search: fields that the group `search` has, unless this one does.

    Raises:
        SettingError: as `build`.
    """
    values = config.get(group, {})
    require(isinstance(values, Mapping), group, "settings by name", values)
    homes = {name: "search" for name in of_search if name not in values}
    own = {name: config[home][name] for name, home in homes.items()}
    return build(kind, {**(left_out or {}), **own, **values}, group, homes)


def altered(settings: T, changes: Mapping[str, Any], where: str) -> T:
    """The settings with some changes.

    Args:
        settings: such as `build` makes.
        changes: new values by name; a name within a group has a dot.
        where: as in `build`.

    Raises:
        SettingError: as `build`, or a name belongs to a group that is null.
    """
    values = asdict(settings)  # type: ignore[call-overload]
    for key, value in changes.items():
        *groups, name = key.split(".")
        inner, place = values, where
        for group in groups:
            place = f"{place}.{group}"
            if group not in inner:
                raise SettingError(f"there is no setting {where}.{key}")
            inner = inner[group]
            require(isinstance(inner, dict), place, f"settings that include {name}", inner)
        inner[name] = value
    return build(type(settings), values, where)


def unknown_key(key: str, keys: list[str]) -> str:
    """The error sentence for an unknown setting, with the existing one that is most like it."""
    group, _, word = key.rpartition(".")

    def likeness(name: str) -> float:
        beside, _, last = name.rpartition(".")
        has_same_letters = sorted(last) == sorted(word)
        ratio = 1.0 if has_same_letters else SequenceMatcher(None, last, word).ratio()
        return ratio + 0.15 * (beside == group)

    best = max(keys, key=likeness, default="")
    meant = f"; did you mean {best}?" if likeness(best) >= 0.8 else ""
    return f"there is no setting {key}{meant}"


def require(condition: bool, where: str, wanted: str, got: object) -> None:
    """Raise a SettingError with the value received and the value wanted unless `condition`."""
    if not condition:
        raise SettingError(f"{where} must be {wanted}, got {got!r}")


Test = tuple[Callable[[Any], bool], str]  # of a value, and a description of valid ones


def require_each(settings: object, where: str, tests: Mapping[str, Test]) -> None:
    """Raise a SettingError for the first field that fails its test; None passes.

    Args:
        settings: a dataclass.
        where: its group in the configuration, for fields that have no dot.
        tests: the tests by field, optionally with its group before it.
    """
    for key, (fits, wanted) in tests.items():
        group, _, name = key.rpartition(".")
        value = getattr(settings, name)
        got = list(value) if isinstance(value, tuple) else value  # as written in YAML
        require(value is None or fits(value), f"{group or where}.{name}", wanted, got)


# Tests that many settings share.
POSITIVE: Test = (lambda value: value > 0, "above 0")
NOT_NEGATIVE: Test = (lambda value: value >= 0, "0 or more")
ONE_OR_MORE: Test = (lambda value: value >= 1, "1 or more")
SHARE: Test = (lambda value: 0 <= value <= 1, "a share from 0 to 1")
SHARE_ABOVE_0: Test = (lambda value: 0 < value <= 1, "a share above 0, at most 1")
ABOVE_0_AT_MOST_1: Test = (lambda value: 0 < value <= 1, "above 0, at most 1")


def one_of(names: Collection[str]) -> Test:
    return (lambda value: value in names, f"one of {', '.join(names)}")


def within(low: int, high: int) -> Test:
    return (lambda value: low <= value <= high, f"{low} to {high:,}")


def or_null(test: Test, null: str = "null") -> Test:
    """The test, in a sentence that allows null, optionally with what it means."""
    return test[0], f"{test[1]}, or {null}"


class Checked:
    """Settings whose fields state their tests, such as `games: Annotated[int, ONE_OR_MORE]`.

    A subclass names its group in the configuration, for error messages. A field of another group
    names that after its test: `Annotated[float, POSITIVE, "puct"]`.
    """

    _group: ClassVar[str]

    def __init_subclass__(cls, group: str | None = None) -> None:
        if group is not None:
            cls._group = group

    def __post_init__(self) -> None:
        # Classes are hashable; mypy looks at the hash of their instances.
        require_each(self, self._group, _tests_of(type(self)))  # type: ignore[arg-type]


@cache
def _tests_of(kind: type[Checked]) -> dict[str, Test]:
    """The tests by field, with its group before it if it has its own."""
    tests = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if get_origin(hint) is Annotated:
            test, *group = hint.__metadata__
            tests[".".join([*group, name])] = test
    return tests


def convert(hint: Any, value: Any, where: str) -> Any:
    """Convert a value to the type of its field; `build` lists the types.

    Raises:
        SettingError: the value does not fit.
    """
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        options = get_args(hint)
        if value is None and NoneType in options:
            return None
        hint = next(option for option in options if option is not NoneType)
        origin = get_origin(hint)
    if origin is tuple:
        require(isinstance(value, list | tuple), where, "a list", value)
        item = get_args(hint)[0]
        return tuple(convert(item, entry, f"{where}[{i}]") for i, entry in enumerate(value))
    if origin is dict:
        require(isinstance(value, Mapping), where, "names with a value each", value)
        item = get_args(hint)[1]
        return {str(name): convert(item, value[name], f"{where}.{name}") for name in value}
    if is_dataclass(hint):
        return build(hint, value, where)  # type: ignore[arg-type]
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    fits = isinstance(value, (int, float) if hint is float else hint)
    fits = fits and (hint is bool or not isinstance(value, bool))
    require(fits, where, names.get(hint, str(hint)), value)
    if hint is int:
        within = abs(value) <= LARGEST_WHOLE
        require(within, where, f"a whole number of at most {LARGEST_WHOLE:,}", value)
    if hint is float:
        within = value == 0 or FINEST <= abs(value) <= LARGEST  # nan is not
        require(within, where, "a finite number that float32 can hold", value)
        return float(value)
    return value
