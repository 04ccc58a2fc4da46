"""Refuses settings that a command does not use, and adds those of the named checkpoint."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from azcore.cli import roots
from azcore.cli.continuing import forked, resumed
from azcore.cli.effects import require_effective, without_effect
from azcore.cli.messages import METHOD, any_of, of_another_command, parsed
from azcore.cli.plain import NAMES, TRAIN, plain_settings
from azcore.errors import AzcoreError, CheckpointError, GameError, SettingError


def require_used(command: str, overrides: list[str], *, swept: bool) -> None:
    """Refuse settings that Hydra accepts but the command does not use.

    Raises:
        SettingError: the message names the key and, if there is one, its replacement.
    """
    words = parsed(overrides)
    keys = {override.key_or_group for override in words}
    for override in words:
        key, line = override.key_or_group, override.input_line
        if key == METHOD and override.is_add():  # Hydra drops it if there is a list
            names = f"{METHOD} must have all names in one list, such as {METHOD}=[a,b]"
            raise SettingError(f"{names}, got {line}")
        known: list[str] | None = None  # names that may be chosen; None: any
        if f"{key}/".startswith(("preset/", "network/auxiliary/")):  # Hydra ignores a missing one
            known = GlobalHydra.instance().config_loader().get_group_options(key)
        elif isinstance(override.value(), str):
            known = roots.own_choices(command, key) or None
        if known is not None and override.value() not in known:
            raise SettingError(f"{key} must be {any_of(known)}, got {line}")
        after_sweep = command == "train" and f"{key}.".startswith("compare.")
        if not roots.has(command, key) or (after_sweep and not swept):
            raise SettingError(of_another_command(command, key, str(line)))
        # These determine the game already.
        for other in ("export.games", "checkpoint") if command == "export" else ():
            if key.partition(".")[0] == "game" and other in keys:
                raise SettingError(
                    f"{line} cannot be combined with {other}, which determines the game"
                )


OF_RUNS = (
    "game",
    "search",
    "puct",
    "evaluator",
    "players",
    "checkpoint",
    "programs",
    "sprt",
    "seed",
)
OF_PLAN = (
    "plan",
    "trainer",
    "schedule",
    "gate",
    "arena",
    "sprt",
    "supervised",
    "backend",
    "logger",
)


def require_of_kind(command: str, config: DictConfig, overrides: list[str]) -> None:
    """Refuse settings that the selected kind of a command does not use.

    Raises:
        SettingError: the message names the key, and the kind that uses it.
    """
    unused: tuple[str, ...] = ()
    why = ""
    if command == "arena" and "runs" in config.arena:
        unused, why = OF_RUNS, "with arena=comparison: each run plays with its own settings"
    elif command == "arena":
        unused, why = ("supervised",), "without arena=comparison"
    elif command == "bench" and "plan" not in config.bench.rows:
        unused, why = OF_PLAN, "without plan among bench.rows"
    for override in parsed(overrides):
        group = override.key_or_group.partition(".")[0]
        if group in unused:
            raise SettingError(
                f"{override.key_or_group} has no effect {why}; got {override.input_line}"
            )


def settings_of(
    command: str, config: DictConfig, overrides: list[str], *, shared: Container[str] = ()
) -> dict[str, Any]:
    """The composed settings that a command needs, as plain values.

    A resumed run, a fork and the players of a match have their own settings.

    Args:
        overrides: words of its command line.
        shared: keys of words that are the same in all jobs of a sweep, see
            `require_used_somewhere`.

    Raises:
        AzcoreError: they name something that cannot be used, or cannot be changed in this way.
    """
    settings = _settings_of(command, config, overrides)
    if command == TRAIN:
        own = [word for word in parsed(overrides) if word.key_or_group not in shared]
        require_effective(settings, own)
    return settings


def require_used_somewhere(jobs: Iterable[Sequence[str]], shared: Container[str]) -> None:
    """Refuse words that have no effect in any job of a sweep, before its first one.

    If a job cannot be composed, nothing is refused here: it may need them, and reports its error.

    Args:
        jobs: the words of each.
        shared: the keys of words that are the same in all.

    Raises:
        SettingError: the message names the key, and what it needs.
    """
    unused: dict[str, str] | None = None
    for words in jobs:
        try:
            settings = _settings_of(TRAIN, hydra.compose(TRAIN, list(words)), list(words))
            same = [word for word in parsed(words) if word.key_or_group in shared]
            here = without_effect(settings, same)
        except (AzcoreError, HydraException, OmegaConfBaseException):
            return
        unused = here if unused is None else {key: unused[key] for key in unused if key in here}
        if not unused:
            return
    for sentence in (unused or {}).values():
        raise SettingError(sentence)


def _settings_of(command: str, config: DictConfig, overrides: list[str]) -> dict[str, Any]:
    require_of_kind(command, config, overrides)
    for key in NAMES if command == TRAIN else ():
        if isinstance(value := config.get(key), ListConfig):
            raise SettingError(f"{key} must be one name, got {key}={list(value)}")
    choose_pretrained(config)
    if command == TRAIN and config.resume is not None:
        return resumed(config, overrides)
    plays = command == "puzzles" or (command == "arena" and "runs" not in config.arena)
    if plays or (command == "play" and config.checkpoint is not None):
        config = of_players(command, config, overrides)
    if command == "engine" and config.checkpoint is not None:
        config = of_engine(config, overrides)
    if command == TRAIN and config.fork is not None:
        return forked(config, overrides)
    plain = plain_settings(config)
    return {key: value for key, value in plain.items() if roots.has(command, key)}


def with_defaults(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a run, with the defaults of those that differ, for display.

    See `azcore.storage.changes`.
    """
    from azcore.storage.changes import search_rule
    from azcore.storage.run_settings import DEFAULT, differences, flat

    def composed(choices: Mapping[str, str]) -> dict[str, Any]:
        return plain_settings(hydra.compose(TRAIN, [f"{k}={v}" for k, v in choices.items()]))

    choices = {"game": settings["game"]["name"], **{k: settings[k] for k in ("algorithm", "scale")}}
    loader = GlobalHydra.instance().config_loader()
    if any(choice not in loader.get_group_options(key) for key, choice in choices.items()):
        return settings
    try:
        plain = composed(choices)
        changed: dict[str, Any] = {}
        for key, at, choice_of in (
            ("network", "network.name", lambda each: each["network"]["name"]),
            ("search", "search", lambda each: search_rule(each["search"])),
        ):
            if choice_of(settings) != choice_of(plain):
                changed[at], choices[key] = choice_of(plain), choice_of(settings)
        plain = composed(choices) if changed else plain
    except (HydraException, OmegaConfBaseException, SettingError):
        return settings  # of a game without a settings file
    has = flat(settings)
    changed |= {key: default for key, default, _ in differences(plain, settings) if key in has}
    return {**settings, DEFAULT: {**settings.get(DEFAULT, {}), **changed}}


def choose_pretrained(config: DictConfig) -> None:
    """Replace a bare `pretrained` by the name of the network that ships for the game.

    Raises:
        SettingError: none ships for the game.
    """
    alone = "pretrained"
    wanted = [key for key in ("checkpoint", "init") if config.get(key) == alone]
    named = config.get("players")
    players = [str(each) for each in named] if OmegaConf.is_list(named) else []
    first = [player.partition(" ") for player in players]  # settings of a search may follow
    if not wanted and all(word != alone for word, _, _ in first):
        return
    from azcore.assembly.pretrained import pretrained_for

    game: Any = OmegaConf.to_container(config.game, resolve=True)
    name = pretrained_for(game)
    for key in wanted:
        config[key] = name
    if players:
        config.players = [
            "".join((name if word == alone else word, *rest)) for word, *rest in first
        ]


def of_players(command: str, config: DictConfig, overrides: list[str]) -> DictConfig:
    """The settings with the game of the first checkpoint that plays, unless `game=` chose one.

    A checkpoint determines its game, so `game=` and `game.*` need not be repeated. Composing again
    brings the game's own search settings.
    """
    from azcore.assembly.entrants import game_of
    from azcore.commands.arena.tournament import wanted_players
    from azcore.game.registry import installed_games, require_received

    overridden = {override.key_or_group for override in parsed(overrides)}
    players: Any = {
        key: OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
        for key, value in ((key, config.get(key)) for key in ("players", "checkpoint"))
    }
    identity = game_of(wanted_players(players, command), config.get("programs", {}))
    if identity is None:
        return config
    if identity["name"] not in installed_games() or "${" in str(identity["settings"]):
        raise GameError(f"a checkpoint plays {identity}, which is not an installed game")
    if command == "play":  # the others compare the whole game with that of each checkpoint
        own = {"name": identity["name"], **identity["settings"]}
        named = {"name"} if "game" in overridden else set()
        named |= {key.removeprefix("game.") for key in overridden if key.startswith("game.")}
        for key in sorted(named):
            if config.game.get(key) != own.get(key):
                raise SettingError(
                    f"game.{key} is {own.get(key)!r} in checkpoint={config.checkpoint}, got "
                    f"{config.game.get(key)!r}"
                )
    if "game" not in overridden and config.game.name != identity["name"]:
        config = hydra.compose(command, [f"game={identity['name']}", *overrides])
    if config.game.name == identity["name"]:
        own = {
            key: value
            for key, value in identity["settings"].items()
            if f"game.{key}" not in overridden and key in config.game
        }
        require_received(identity["name"], own)
        for key, value in own.items():
            config.game[key] = value
    return config


def of_engine(config: DictConfig, overrides: list[str]) -> DictConfig:
    """The settings with the game of the engine's checkpoint, unless `game=` chose one.

    A chosen game saves the lookup, which takes a second. The engine itself reports an unusable
    checkpoint, by its protocol.
    """
    if any(override.key_or_group == "game" for override in parsed(overrides)):
        return config
    with suppress(CheckpointError, SettingError):
        return of_players("engine", config, overrides)
    return config
