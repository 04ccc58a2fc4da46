"""Finds games by name among the installed packages: `make("name", board_size=9)`.

A package registers a game by an entry point of group `azcore.games`, whose name is the game's and
whose value is its class. azcore finds its own games the same way. It imports a package only when
something requests its game. A game defined in a notebook or script is in no package: `offer`
registers it in the running process.
"""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.metadata import EntryPoint
from typing import Any

from azcore.errors import AzcoreError, GameError, SettingError
from azcore.game import Game, Setting
from azcore.game.faults import faulty, folder_of
from azcore.plugins import installed

GROUP = "azcore.games"

_offered: dict[str, type[Game]] = {}  # by name, see `offer`


def installed_games() -> dict[str, EntryPoint]:
    """All game names, with the entry points that offer them.

    Raises:
        SettingError: two packages offer the same name.
    """
    return installed(GROUP)


def offer(game: Game) -> None:
    """Register the class of a game in this process by the game's name, until the process ends.

    It has no effect if that class is installed. A redefined class replaces the earlier one.

    Raises:
        SettingError: an installed game of another class has that name.
    """
    kind = type(game)
    point = installed_games().get(game.name)
    if point is None:
        _offered[game.name] = kind
    elif point.value != f"{kind.__module__}:{kind.__qualname__}":
        raise SettingError(
            f"{kind.__qualname__} must have its own name, got {game.name!r}, which is {point.value}"
        )


def make(name: str, **settings: Setting) -> Game:
    """A game by its registry name, ready to play.

    Args:
        name: a game of azcore's own or of any installed plugin.
        settings: the game's own, such as `board_size`; omitted ones take the game's defaults.

    Raises:
        GameError: no such game, no such setting, or a value the game refuses.
        FaultyGameError: the game's own code raises, or cannot be compiled; the text says where.
    """
    game = unprepared(name, **settings)
    with preparing(game):
        game.prepare()
    return game


@contextmanager
def preparing(game: Game) -> Iterator[None]:
    """Turn errors from a game's preparation into a `FaultyGameError`."""
    try:
        yield
    except Exception as error:
        folder = folder_of(type(game).__module__)
        doing = f"cannot be made with {game.settings}"
        raise faulty(game.name, doing, error, folder) from error


def received(name: str, settings: Mapping[str, Any]) -> Game:
    """As `make`, for a game named in a file, which anybody may have written.

    Raises:
        GameError: also if the game accepts such settings only from the command line.
        FaultyGameError: see `make`.
    """
    require_received(name, settings)
    return make(name, **settings)


def require_received(name: str, settings: Mapping[str, Any]) -> None:
    """Let a game refuse settings that come from a file; see `Game.require_received`.

    Raises: GameError: it refuses them, or there is no such game.
        FaultyGameError: the game's own code raises.
    """
    kind, module, _ = _class_of(name)
    if not (isinstance(kind, type) and issubclass(kind, Game)):
        return  # `make` refuses it
    try:
        kind.require_received(settings)
    except AzcoreError:
        raise
    except Exception as error:
        fault = f"cannot check {settings}"
        raise faulty(name, fault, error, folder_of(module)) from error


def unprepared(name: str, **settings: Setting) -> Game:
    """As `make`, without slow work such as compiling, which waits until first use.

    Raises:
        GameError: no such game, no such setting, or a value the game refuses.
        FaultyGameError: the game's own code raises; the text says where.
    """
    kind, module, place = _class_of(name)
    folder = folder_of(module)
    try:
        known = inspect.signature(kind).parameters
    except Exception as error:  # a faulty file may raise anything
        raise faulty(name, f"cannot be loaded from {place}", error, folder) from error
    for key in settings:
        if key not in known:
            raise GameError(f"{name} has no setting {key!r}; it has {', '.join(known) or 'none'}")
    try:
        game = kind(**settings)
    except AzcoreError:
        raise
    except Exception as error:
        raise faulty(name, f"cannot be made with {settings}", error, folder) from error
    if not isinstance(game, Game):
        raise GameError(f"{place} must be a Game, got {type(game).__name__}")
    return game


def _class_of(name: str) -> tuple[Any, str, str]:
    """The class that makes a game, its module and where it is registered."""
    if name in _offered:
        kind = _offered[name]
        return kind, kind.__module__, f"{kind.__module__}:{kind.__qualname__}"
    games = installed_games()
    if name not in games:
        known = [*games, *_offered]
        close = get_close_matches(name, known, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise GameError(f"no game named {name!r} is installed{hint}: {', '.join(sorted(known))}")
    point = games[name]
    try:
        return point.load(), point.module, point.value
    except Exception as error:  # a faulty file may raise anything
        fault = f"cannot be loaded from {point.value}"
        raise faulty(name, fault, error, folder_of(point.module)) from error
