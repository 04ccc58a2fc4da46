"""Checks a command line's settings against the command, the run and the checkpoint it names."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from azcore.cli import roots
from azcore.cli.effects import require_effective, without_effect
from azcore.cli.messages import METHOD, of_another_command, parsed
from azcore.cli.plugins import methods
from azcore.errors import AzcoreError, CheckpointError, GameError, SettingError

if TYPE_CHECKING:
    from azcore.storage.run_directory import RunDirectory

# What a resumed run may not change: games in play, weights and windows depend on it.
FIXED = (
    "game",
    "network",
    "seed",
    "selfplay.num_games",
    "selfplay.workers",
    "selfplay.game",
    "gate.enabled",
    "learner.steps_per_generation",
    "supervised.enabled",
    "supervised.held_out",
    "supervised.targets",
    "plugins.algorithm",
)
# Of these, what null leaves open; the run's sizes.json has what was chosen.
OPEN = ("selfplay.num_games", "selfplay.workers", "learner.steps_per_generation")
OF_ITS_OWN = ("seed",)  # which a fork may still change
OF_A_FORK = ("learner.optimizer",)  # what a fork may not change either; else it would fail late
NAMES = ("run_dir", "resume", "init", "fork", "checkpoint", "out")  # of files
TRAIN = "train"  # the root of runs


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
        known: list[str] | None = None
        if f"{key}/".startswith(("preset/", "network/auxiliary/")):  # Hydra ignores a missing one
            known = GlobalHydra.instance().config_loader().get_group_options(key)
        elif key in roots.APART and isinstance(override.value(), str):
            known = roots.choices_of(command, key) or None
        if known is not None and override.value() not in known:
            wanted = known[0] if len(known) == 1 else f"one of {', '.join(known)}"
            raise SettingError(f"{key} must be {wanted}, got {line}")
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


def resumed(config: DictConfig, overrides: list[str]) -> dict[str, Any]:
    """The settings to resume with: the run's own with this command line's changes, and the rest.

    A value that the run has already is not a change, so the command line that began a run resumes
    it with `resume=latest` added.

    Raises:
        SettingError: a change that a resumed run cannot make.
    """
    from azcore.storage.run_directory import find_run

    resume = str(config.resume)
    composed = plain_settings(config)
    if composed["run_dir"] is not None and resume == "latest":
        resume = composed["run_dir"]
    named = {override.key_or_group for override in parsed(overrides)}
    run = find_run(resume, config.game.name if {"game", "game.name"} & named else None)
    if (
        composed["run_dir"] is not None
        and run.path.resolve() != Path(composed["run_dir"]).resolve()
    ):
        raise SettingError(
            f"resume={resume} resumes in the run's own folder, got run_dir={composed['run_dir']}"
        )
    settings = _continued(config, overrides, run, f"resume={config.resume}", is_new=False)
    # Store the latest run found here; a second search could find another.
    return {**settings, "resume": str(run.path) if resume == "latest" else resume}


def forked(config: DictConfig, overrides: list[str]) -> dict[str, Any]:
    """The settings of a fork: those of the continued run, with the changes of the command line.

    Raises:
        SettingError: a change that a fork cannot make.
    """
    from azcore.assembly.entrants import checkpoint_of
    from azcore.storage.run_directory import find_run

    path = checkpoint_of(str(config.fork))
    run = find_run(str(path), config.game.name, "fork")
    return _continued(config, overrides, run, f"fork={config.fork}", is_new=True)


def _continued(
    config: DictConfig, overrides: list[str], run: RunDirectory, asked: str, *, is_new: bool
) -> dict[str, Any]:
    """A run's own settings with this command line's changes, and the rest.

    Args:
        config: composed of the defaults and the command line.
        run: the run whose settings to keep.
        asked: the argument that names the run, for errors.
        is_new: the run continues as a new one, which may choose files of groups and change some
            settings that do not depend on state.
    """
    from azcore.storage.run_settings import OF_MACHINE, flat, read_config, require_received_games

    saved = read_config(run)
    require_received_games(saved, {override.key_or_group for override in parsed(overrides)})
    composed = plain_settings(_with_overlays(config, overrides, saved))

    @cache
    def of_run() -> dict[str, Any]:
        return flat(plain_settings(hydra.compose(TRAIN, _overlays_of(saved))))

    fixed_here = list(FIXED)
    if is_new:
        fixed_here = [key for key in (*FIXED, *OF_A_FORK) if key not in OF_ITS_OWN]
    foreign = set(saved["trainer"]) - (set(composed["trainer"]) - set(OF_MACHINE))
    groups = GlobalHydra.instance().config_loader().list_groups("")
    wanted, has = flat(composed), flat(saved)
    sizes = run.read_sizes().known()
    has |= {key: sizes.get(key.partition(".")[2]) for key in OPEN if has.get(key) is None}
    single = [each.key_or_group for each in parsed(overrides) if each.key_or_group not in groups]
    for override in parsed(overrides):
        key, line = override.key_or_group, override.input_line
        chosen = _chosen(override) if key in groups else []
        is_within = "/" in key  # a group inside another
        if key.partition(".")[0] not in saved and key not in groups and not is_within:
            continue  # not the run's
        own = f"{asked} {'continues' if is_new else 'resumes'} with the run's own {key}, got {line}"
        if override.is_delete() or key == "experiment" or is_within:
            raise SettingError(f"{own}; only individual settings can be overridden")
        if key == "game" and chosen:
            touched = ["game.name"]  # determines which run is the latest
        elif chosen or key == METHOD:
            touched = [at for name in chosen for at in flat(_contents(key, name, of_run))]
            if key == METHOD and not is_new:
                touched += _of_other_methods(chosen, has)
            touched = [
                at
                for at in touched
                if not any(f"{at}.".startswith(f"{other}.") for other in single)
            ]
        else:
            touched = [at for at in wanted if f"{at}.".startswith(f"{key}.")]
        # If its own name differs, as for a scale, report that.
        for at in sorted(touched, key=lambda at: at != key):
            if at.partition(".")[0] not in saved or wanted.get(at) == has.get(at):
                continue
            if at in OPEN and wanted.get(at) is None:
                continue  # as in the run
            if (chosen or key == METHOD) and not (is_new and key != "game"):
                raise SettingError(
                    f"{own}: {at} is {has.get(at)!r} in the run, not {wanted.get(at)!r}; only "
                    f"individual settings can be overridden"
                )
            if any(f"{at}.".startswith(f"{fixed}.") for fixed in fixed_here):
                raise SettingError(
                    f"{asked} cannot change {at}: the run has {has.get(at)!r}, got "
                    f"{wanted.get(at)!r}"
                    + ("; init=RUN takes its weights alone, for any settings" if is_new else "")
                )
            _set(saved, at, wanted[at])
    if foreign:
        raise SettingError(
            f"{run.config} has trainer.{min(foreign)}, which no run can set; remove it there"
        )
    for key in ("trainer", "export"):
        saved[key] = {**composed[key], **saved.get(key, {})}
    return {**composed, **saved}


def _with_overlays(
    config: DictConfig, overrides: list[str], saved: Mapping[str, Any]
) -> DictConfig:
    """The settings composed again with a run's algorithm and scale, if none are named.

    This way current defaults do not count as changes, and methods are compared with the algorithm
    that they were added to.
    """
    named = {override.key_or_group for override in parsed(overrides)}
    missing = [
        word
        for word in _overlays_of(saved)
        if (key := word.partition("=")[0]) not in named and saved[key] != config.get(key)
    ]
    if not missing:
        return config
    return hydra.compose(TRAIN, [*missing, *overrides])


def _overlays_of(saved: Mapping[str, Any]) -> list[str]:
    """The words for a run's algorithm and scale, if files have these names."""
    options = GlobalHydra.instance().config_loader().get_group_options
    return [
        f"{key}={saved[key]}" for key in ("algorithm", "scale") if saved.get(key) in options(key)
    ]


def _chosen(override: Override) -> list[str]:
    """The files of a group that an override selects; empty if it sets values of the group."""
    value: Any = None if override.is_delete() else override.value()
    names = value if isinstance(value, list) else [value]
    return [name for name in names if isinstance(name, str)]


def _of_other_methods(chosen: list[str], has: Mapping[str, Any]) -> list[str]:
    """The keys whose value in a run comes from an unselected method, perhaps by coincidence."""
    from azcore.storage.run_settings import flat

    names = GlobalHydra.instance().config_loader().get_group_options(METHOD)

    @cache
    def before() -> dict[str, Any]:
        return flat(plain_settings(hydra.compose(TRAIN)))

    return [
        at
        for name in names
        if name not in chosen
        for at, value in flat(_contents(METHOD, name, before)).items()
        if has.get(at) == value
    ]


def _contents(group: str, choice: str, before: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """The content of a settings file; if it depends on other choices, its group and its changes.

    Args:
        before: composes the settings without this choice, by key.
    """
    from azcore.storage.run_settings import flat

    if group == METHOD and choice in methods():
        return methods()[choice]
    try:
        contents: Any = OmegaConf.to_container(hydra.compose(f"{group}/{choice}"))
    except HydraException:  # alone, it lacks the other groups
        after = flat(plain_settings(hydra.compose(TRAIN, [f"{group}={choice}"])))
        own = f"{group}."
        return {k: v for k, v in after.items() if f"{k}.".startswith(own) or before().get(k) != v}
    return dict(contents)


def _set(settings: dict[str, Any], key: str, value: Any) -> None:
    *groups, name = key.split(".")
    for group in groups:
        if not isinstance(settings.get(group), dict):
            settings[group] = {}
        settings = settings[group]
    settings[name] = value


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


def plain_settings(config: DictConfig) -> dict[str, Any]:
    plain: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    name = (plain.get("game") or {}).get("name")  # a plugin's file may lack it
    if "game" in plain and not isinstance(name, str):
        raise SettingError(f"game.name must be the registry name that conf/game sets, got {name!r}")
    for key in (*NAMES, "device"):  # a folder may be 7
        value = plain.get(key)
        if value is not None:
            plain[key] = list(map(str, value)) if isinstance(value, list) else str(value)
    return dict(plain)
