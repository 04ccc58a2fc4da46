"""Settings for Python programs: those of `conf/`, composed as on the command line."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from azcore.cli.composition import settings_for
from azcore.game import Game
from azcore.game.registry import installed_games, offer

_PLAIN_WORD = re.compile(r"(?!(?:null|true|false|inf|nan)$)[A-Za-z_]\w*", re.IGNORECASE)

_ENGINE: "dict[str, Settings]" = {}  # by game, on which they depend


class Settings(dict[str, Any]):
    """Every setting as a plain value, by group and name; prints as YAML.

    `settings["search"]["num_simulations"]` reads one. To change one, compose again: then dependent
    settings change with it, such as the sizes for a game and a machine.
    """

    def __repr__(self) -> str:
        return str(yaml.safe_dump(dict(self), sort_keys=False)).rstrip()


def compose(*changes: str, **named: Any) -> Settings:
    """All settings, with some of them changed; any command and `train` accept the result.

    Args:
        changes: `KEY=VALUE` each, as on the command line.
        named: changes as keywords, such as `scale="laptop"`; a list is a list.

    Raises:
        SettingError: the setting does not exist, or cannot have this value.
        AzcoreError: a named run or checkpoint cannot be used.
    """
    return Settings(settings_for([*changes, *arguments(named)], {}))


def settings_of(game: Game, *changes: str) -> Settings:
    """All settings for a game, installed or defined in this process."""
    offer(game)
    is_installed = game.name in installed_games()
    games = {} if is_installed else {game.name: game.settings}
    settings = Settings(settings_for([f"game={game.name}", *changes], games))
    settings["game"] = {"name": game.name, **game.settings}
    return settings


def settings_of_engine(game: Game) -> Settings:
    """The settings of command=engine for a game, cached: composing takes longer than a search."""
    if game.name not in _ENGINE:
        _ENGINE[game.name] = settings_of(game, "command=engine")
    return _ENGINE[game.name]


def arguments(named: Mapping[str, Any]) -> list[str]:
    """Keywords as words of a command line."""
    return [f"{key}={_written(value)}" for key, value in named.items()]


def _written(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{key}:{_written(each)}' for key, each in value.items())}}}"
    text = str(value) if isinstance(value, Path) else value
    if not isinstance(text, str):
        text = str(text)
    if _PLAIN_WORD.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
