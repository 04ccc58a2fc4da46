"""Finds what installed packages add to azcore: entry points, with a group for each kind.

azcore finds its own games, networks and evaluators the same way. It imports a package only when a
setting names something in it. A setting can name only installed things.
"""

from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, overload

from azcore.errors import SettingError

PREFIX = "azcore."  # of each group
T = TypeVar("T")


def installed(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group in all installed packages, by name.

    Raises:
        SettingError: two packages offer the same name.
    """
    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        if points.setdefault(point.name, point).value != point.value:
            raise SettingError(
                f"two packages offer {point.name} in {group}: {points[point.name].value} and "
                f"{point.value}; uninstall one of them"
            )
    return points


def named(group: str, name: object, where: str, *others: str) -> EntryPoint:
    """The entry point that a setting names.

    Args:
        group: the group of entry points.
        name: value of the setting.
        where: key of the setting.
        others: further values that the setting can have.

    Raises:
        SettingError: no entry point has that name.
    """
    points = installed(group)
    if not isinstance(name, str) or name not in points:
        known = ", ".join(sorted({*others, *points}))
        wanted = f"one of {known}" if known else f"null, as no installed package has {group}"
        raise SettingError(f"{where} must be {wanted}, got {name!r}")
    return points[name]


@overload
def loaded(point: EntryPoint, kind: type[T]) -> type[T]: ...
@overload
def loaded(point: EntryPoint, kind: None = None) -> Any: ...
def loaded(point: EntryPoint, kind: type[Any] | None = None) -> Any:
    """Import the object that an entry point names.

    mypy refuses an abstract class for `kind`, since a `type[T]` may be called; this one is not.

    Args:
        kind: a class of which it must be a subclass; None: it must be a function.

    Raises:
        SettingError: it cannot be imported, or is of another kind.
    """
    what = f"{point.name} in {point.group}"
    try:
        found = point.load()
    except Exception as error:  # a faulty file may raise anything
        raise SettingError(
            f"{what} cannot be loaded from {point.value}: {type(error).__name__}: {error}"
        ) from error
    fits = callable(found) if kind is None else isinstance(found, type) and issubclass(found, kind)
    if not fits:
        wanted = "a function" if kind is None else f"a subclass of {kind.__name__}"
        raise SettingError(f"{what}: {point.value} must be {wanted}, got {found!r:.100}")
    return found


def packages() -> set[str]:
    """The packages that extend azcore."""
    found = entry_points()
    groups = [group for group in found.groups if group.startswith(PREFIX)]
    points = [point for group in groups for point in found.select(group=group)]
    return {point.module.partition(".")[0] for point in points} - {"azcore"}


def package_folders(package: str) -> list[Path]:
    """A package's folder, found without running its code: a fault affects only its game."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return []
    return [Path(place) for place in (spec and spec.submodule_search_locations) or []]
