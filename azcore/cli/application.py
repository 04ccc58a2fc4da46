"""The command line: one Hydra application, `python -m azcore KEY=VALUE ...`.

Composes the settings, hands them to a command as plain values, and turns whatever input cannot be
used into one sentence on standard error and exit status 2. The only importer of hydra.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NoReturn

import hydra
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn
from hydra.errors import HydraException, OverrideParseException
from hydra.experimental.callback import Callback
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from azcore import interrupts
from azcore.commands import COMMANDS
from azcore.errors import AzcoreError, FaultyGameError, GameError, SettingError

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
    "supervised",
)


class PluginConfigs(SearchPathPlugin):
    """Lets the package of an installed game or network bring its own `conf` folder."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        groups = ("azcore.games", "azcore.networks", "azcore.evaluators")
        packages = {p.module.split(".")[0] for group in groups for p in entry_points(group=group)}
        for package in sorted(packages - {"azcore"}):
            for folder in _package_folders(package):
                if (folder / "conf").is_dir():
                    search_path.append(provider=package, path=f"file://{folder / 'conf'}")


def _package_folders(package: str) -> list[Path]:
    """Where a package lies; nothing of it is run, so a mistake in one game stops no other."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return []
    return [Path(place) for place in (spec and spec.submodule_search_locations) or []]


def require_obeyed(name: str, overrides: list[str], *, swept: bool) -> None:
    """Refuse what a command line sets and the command makes nothing of.

    Args:
        name: of the command.
        overrides: of the command line.
        swept: this is a job of a sweep, after which its runs may be compared.

    Raises:
        SettingError: naming the key, and what works in its place where something does.
    """
    if name not in COMMANDS:
        raise SettingError(f"command must be one of {', '.join(COMMANDS)}, got {name!r}")
    command = COMMANDS[name]
    for override in parsed(overrides):
        key = override.key_or_group
        if (
            key == "command"
            or command.is_told_by(key)
            or (swept and f"{key}.".startswith("compare."))
        ):
            continue
        others = ", ".join(other for other, each in COMMANDS.items() if each.is_told_by(key))
        whose = f"for command={others}"
        if not others:
            whose = "for sweeps alone" if key == "compare.after_sweep" else "no setting"
        place = next(
            (words for at, words in command.instead.items() if f"{key}.".startswith(f"{at}.")), ""
        )
        raise SettingError(
            f"{key} is {whose}, got {override.input_line} with command={name}"
            + (f"; {place}" if place else "")
        )


def parsed(overrides: list[str]) -> list[Override]:
    """The words of a command line, understood."""
    return OverridesParser.create().parse_overrides(overrides)


def run_command(config: dict[str, Any]) -> int:
    """Run the command that the settings name; its exit status."""
    run: Callable[[dict[str, Any]], int] = resolve_name(COMMANDS[config["command"]].run)
    interrupts.be_tidy()  # before this, nothing is under way but imports
    interrupts.say_at_the_end(str)  # nothing yet; in a sweep it was of the job before
    return run(config)


def resumed(config: DictConfig, overrides: list[str]) -> dict[str, Any]:
    """The settings to go on with: the run's own with this command line's changes, and the rest.

    Whatever the command line says that the run has already is no change, so the command line that
    began a run goes on with it when `resume=latest` is added.

    Raises:
        SettingError: a change that a resumed run cannot make.
    """
    from azcore.storage.run_directory import find_run
    from azcore.storage.run_settings import flat, read_config

    resume = str(config.resume)
    composed = _plain(config)
    if composed["run_dir"] is not None and resume == "latest":
        resume = composed["run_dir"]
    run = find_run(resume, config.game.name)
    if (
        composed["run_dir"] is not None
        and run.path.resolve() != Path(composed["run_dir"]).resolve()
    ):
        raise SettingError(
            f"resume={resume} goes on in the run's own folder, got run_dir={composed['run_dir']}"
        )
    saved = read_config(run)
    groups = GlobalHydra.instance().config_loader().list_groups("")
    wanted, has = flat(composed), flat(saved)
    single = [each.key_or_group for each in parsed(overrides) if each.key_or_group not in groups]
    for override in parsed(overrides):
        key, line = override.key_or_group, override.input_line
        choice = override.value() if key in groups and not override.is_delete() else None
        if key.partition(".")[0] not in saved and key not in groups:
            continue  # none of the run's
        own = f"resume={config.resume} goes on with the run's own {key}, got {line}"
        if override.is_delete() or key == "experiment":
            raise SettingError(f"{own}; only single settings can change")
        if key == "game" and isinstance(choice, str):
            touched = ["game.name"]  # says which run is the latest
        elif isinstance(choice, str):
            touched = [
                at
                for at in flat(_contents(key, choice))
                if not any(f"{at}.".startswith(f"{other}.") for other in single)
            ]
        else:
            touched = [at for at in wanted if f"{at}.".startswith(f"{key}.")]
        for at in touched:
            if at.partition(".")[0] not in saved or wanted.get(at) == has.get(at):
                continue
            if isinstance(choice, str):
                raise SettingError(
                    f"{own}: the run has {at} {has.get(at)!r}, got {wanted.get(at)!r}; only single "
                    f"settings can change"
                )
            if any(f"{at}.".startswith(f"{fixed}.") for fixed in FIXED):
                raise SettingError(
                    f"resume={config.resume} cannot change {at}: the run has {has.get(at)!r}, got "
                    f"{wanted.get(at)!r}"
                )
            _set(saved, at, wanted[at])
    if foreign := sorted(set(saved["trainer"]) - set(composed["trainer"])):
        raise SettingError(
            f"{run.config} has trainer.{foreign[0]}, which no run can set; take it out there"
        )
    for key in ("trainer", "export"):
        saved[key] = {**composed[key], **saved.get(key, {})}
    # The latest run was found here; looked for again, it could be another one.
    return {**composed, **saved, "resume": str(run.path) if resume == "latest" else resume}


def _contents(group: str, choice: str) -> dict[str, Any]:
    """What a file of settings holds; of one that chooses files of other groups, what it changes."""
    from azcore.storage.run_settings import flat

    try:
        contents: Any = OmegaConf.to_container(hydra.compose(f"{group}/{choice}"))
    except HydraException:  # alone, it has no groups to choose in
        before, after = (
            flat(_plain(hydra.compose("config", choices)))
            for choices in ([], [f"{group}={choice}"])
        )
        return {at: value for at, value in after.items() if before.get(at) != value}
    return dict(contents)


def _set(settings: dict[str, Any], key: str, value: Any) -> None:
    *groups, name = key.split(".")
    for group in groups:
        settings = settings.setdefault(group, {})
    settings[name] = value


def of_players(config: DictConfig, overrides: list[str]) -> DictConfig:
    """The settings with the game of the first checkpoint that plays, where it was not chosen.

    A checkpoint knows its game, so `game=` and `game.*` need not be said again for it. The game's
    own settings of search come with it, since all is composed anew.
    """
    from azcore.assembly.entrants import game_of
    from azcore.commands.arena.tournament import wanted_players
    from azcore.game.registry import installed_games

    overridden = {override.key_or_group for override in parsed(overrides)}
    players: Any = {
        key: OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
        for key, value in ((key, config[key]) for key in ("players", "checkpoint"))
    }
    identity = game_of(wanted_players(players), config.programs)
    if identity is None:
        return config
    if identity["name"] not in installed_games() or "${" in str(identity["settings"]):
        raise GameError(f"a checkpoint is of {identity}, which is no game that is installed")
    if config.command == "play":  # the others compare the whole game with each checkpoint's
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
        config = hydra.compose("config", [f"game={identity['name']}", *overrides])
    if config.game.name == identity["name"]:
        for key, value in identity["settings"].items():
            if f"game.{key}" not in overridden and key in config.game:
                config.game[key] = value
    return config


def _plain(config: DictConfig) -> dict[str, Any]:
    plain: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    name = (plain["game"] or {}).get("name")  # a plugin's file may lack it
    if not isinstance(name, str):
        raise SettingError(f"game.name must be the registry name that conf/game sets, got {name!r}")
    for key in ("run_dir", "resume", "checkpoint", "arena_dir", "device"):  # a folder may be 7
        plain[key] = None if plain[key] is None else str(plain[key])
    return dict(plain)


class Sweep(Callback):
    """What the jobs of a sweep share: how their folders are called, and what follows the last one.

    A job that fails stops no other; the sweep's exit status tells of it.
    """

    def __init__(self) -> None:
        self._statuses: list[int] = []

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Name a job's folder by the keys that vary, whatever else the command line sets.

        So the same sweep finds its runs again, and settings that changed meanwhile are noticed.
        """
        overrides = parsed(list(config.hydra.overrides.task))
        varied = set(OmegaConf.select(config, "hydra.sweeper.params") or {})
        varied |= {o.key_or_group for o in overrides if o.is_sweep_override()}
        fixed = {override.key_or_group for override in overrides} - varied
        config.hydra.overrides.hydra.append(
            f"hydra.job.config.override_dirname.exclude_keys=[{','.join(sorted(fixed))}]"
        )

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **_: Any) -> None:
        if config.hydra.mode == RunMode.MULTIRUN:
            self._statuses.append(int(job_return.return_value or 0))

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        status = max(self._statuses, default=0)
        if status:
            failed = sum(status != 0 for status in self._statuses)
            _tell(
                f"{failed} of {len(self._statuses)} jobs failed; the same command again does what "
                "is left"
            )
        if config.compare.after_sweep:
            settings = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
            settings.run_dir = config.hydra.sweep.dir
            settings.compare.runs = [config.hydra.sweep.dir]
            status = max(
                status, _contained(lambda: run_command({**_plain(settings), "command": "compare"}))
            )
        if status:
            sys.exit(status)


def _begun(config: dict[str, Any]) -> dict[str, Any] | None:
    """The settings of a sweep's job that trains: to go on, if its run is there already.

    Returns:
        None if that run is finished.

    Raises:
        SettingError: it was made with other settings.
    """
    from azcore.commands.train import is_finished
    from azcore.storage.run_directory import RunDirectory
    from azcore.storage.run_settings import differences, read_config

    run = RunDirectory(Path(config["run_dir"]).absolute())
    if not run.config.exists():
        return config
    if changed := differences(read_config(run), config):
        key, old, new = changed[0]
        raise SettingError(
            f"{config['run_dir']} holds a run with {key} {old!r}, got {new!r}; give this sweep "
            f"another folder by hydra.sweep.dir=DIR"
        )
    if is_finished(run):
        print(f"{run.path} is finished")
        return None
    return {**config, "resume": config["run_dir"]}


def _job(config: DictConfig) -> int:
    """What one composed command line asks for; its exit status."""
    job = HydraConfig.get()
    overrides, swept = list(job.overrides.task), job.mode == RunMode.MULTIRUN
    if swept and config.command == "compare":
        raise SettingError(
            f"command=compare is not for sweeps; command=compare compare.runs={job.sweep.dir}, "
            f"without the rest, rates what this one has made"
        )
    require_obeyed(config.command, overrides, swept=swept)
    if config.resume is not None:
        if swept:
            raise SettingError(
                f"resume={config.resume} goes on with one run; a sweep goes on with all of its own "
                f"when the same command is given again"
            )
        return run_command(resumed(config, overrides))
    if config.command == "arena" or (config.command == "play" and config.checkpoint is not None):
        config = of_players(config, overrides)
    if not swept:
        return run_command(_plain(config))
    if config.run_dir is None:
        config.run_dir = os.path.join(job.sweep.dir, job.sweep.subdir)
    plain = _plain(config)
    settings = _begun(plain) if plain["command"] == "train" else plain
    return 0 if settings is None else run_command(settings)


def _status_of(work: Callable[[], int]) -> int:
    """The exit status of a piece of work; 2 and a sentence for input that cannot be used."""
    from azcore.game.faults import game_faults  # brings numba, for which --help need not wait

    try:
        with game_faults():
            return work()
    except FaultyGameError as error:
        print(f"azcore: {error}", file=sys.stderr)  # its lines and boards are for the author
    except (AzcoreError, OmegaConfBaseException) as error:
        _tell(str(error))
    except MemoryError:
        _tell("these settings need more memory than this machine has")
    except BrokenPipeError:
        raise
    except OSError as error:  # whatever else a disk or a file system refuses
        _tell(f"{error.filename or 'a file'}: {error.strerror or error}")
    return 2


def _contained(work: Callable[[], int]) -> int:
    """The same; 1 and a traceback for a fault of the program, which costs a sweep no other job."""
    try:
        return _status_of(work)
    except (BrokenPipeError, HydraException):
        raise
    except Exception:
        traceback.print_exc()
        return 1


@hydra.main(version_base="1.3", config_path="pkg://azcore.conf", config_name="config")
def application(config: DictConfig) -> int:
    """What Hydra calls with the composed settings."""
    is_sweep = HydraConfig.get().mode == RunMode.MULTIRUN
    status = _contained(lambda: _job(config))
    if status == interrupts.STATUS or (status and not is_sweep):  # Ctrl-C means the whole sweep
        sys.exit(status)
    return status


def main() -> None:
    """Entry point: one sentence and status 2 for whatever was asked wrongly."""
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # errors come to us instead of being printed
    # Threads of a network spin for some microseconds while they wait, then sleep. Spinning on, as
    # is the default, evaluated 290 positions/s with one of two cores busy elsewhere, where this
    # evaluated 4,600; on a quiet machine both 8,400. Read when torch is first imported.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    Plugins.instance().register(PluginConfigs)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a locale may lack what we print, such as ±
        sys.stdout.reconfigure(errors="replace")
    sys.argv[1:] = [_renamed(argument) for argument in sys.argv[1:]]
    try:
        application()
    except OverrideParseException as error:
        _refuse(_unreadable(error.override))
    except HydraException as error:  # the settings could not be composed
        _refuse(_composition_error(str(error)))
    except OmegaConfBaseException as error:  # a ${...} in a file that leads nowhere
        _refuse(_composition_error(str(error)))
    except ValueError as error:
        if "Config group override" not in str(error):  # Hydra's, such as game=3
            raise
        _refuse("a group such as game takes the name of one of its files, got a number or nothing")
    except YAMLError as error:
        _refuse(f"a file of settings is no YAML: {error}")
    except KeyboardInterrupt:
        sys.exit(interrupts.STATUS)
    except BrokenPipeError:  # the reader of our output went away
        sys.stderr.close()
        sys.exit(1)


def _renamed(argument: str) -> str:
    """An argument with the name that its setting has now, and a word on it."""
    from azcore.storage.run_settings import MOVED

    key, equals, value = argument.partition("=")
    new = {"search.rule": "search", **MOVED}.get(key, key)
    if not equals or new == key:
        return argument
    _tell(f"{key} is {new} now")
    return f"{new}={value}"


def _tell(sentence: str) -> None:
    """One line; signs that a terminal would obey, in a name of anyone's, are spelled out."""
    words = " ".join(sentence.split())
    shown = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in words)
    print(f"azcore: {shown}", file=sys.stderr)


def _refuse(sentence: str) -> NoReturn:
    _tell(sentence)
    sys.exit(2)


def _unreadable(argument: str) -> str:
    """The sentence for an argument that Hydra's grammar does not know."""
    key, equals, value = argument.partition("=")
    if not key or not equals:
        return f"cannot read the argument {argument!r}; it must be KEY=VALUE"
    if value.startswith("["):
        return f"cannot read the argument {argument!r}; {_list_in_quotes(argument)}"
    bare = value.replace("'", "").replace('"', "")
    return (
        f"cannot read the argument {argument!r}; put its value in quotes, which a shell passes on "
        f"when written as '{key}=\"{bare}\"'"
    )


def _list_in_quotes(argument: str) -> str:
    """How a list is to be written that the shell has cut at a space, or whose texts need quotes."""
    words = sys.argv[sys.argv.index(argument) :] if argument in sys.argv else [argument]
    end = next((i for i, word in enumerate(words) if word.endswith("]")), None)
    if end is None:
        return "a list must end with ]"
    key, _, value = " ".join(words[: end + 1]).partition("=")
    texts = [text.strip().strip("'\"") for text in value[1:-1].split(",")]
    items = [text if re.fullmatch(r"[\w./@:+-]+", text) else f'"{text}"' for text in texts]
    return (
        "a shell ends an argument at a space and keeps quotes to itself, so the whole must be in "
        f"quotes: {shlex.quote(f'{key}=[' + ','.join(items) + ']')}"
    )


def _composition_error(text: str) -> str:
    """Hydra's message in one sentence, without its advice."""
    if unknown := re.search(r"Could not override '([^']+)'", text):
        return _unknown(unknown.group(1))
    if missing := re.search(r"Could not find '(\w+)/([^']*)'", text):
        group, name = missing.groups()
        options = ", ".join(re.findall(r"^\t(\w+)$", text, re.MULTILINE))
        points = {point.name: point for point in entry_points(group="azcore.games")}
        if group == "game" and name in points:
            return _no_settings(points[name])
        sentence = f"{group} must be one of {options}, got {name!r}"
        if group == "game" and (Path(name) / "pyproject.toml").exists():
            return (
                f"{sentence}; the package in the folder {name} must be installed: "
                f"pip install -e {name}"
            )
        close = get_close_matches(name, options.split(", "), n=1)
        return sentence + (f"; did you mean {close[0]}?" if close else "")
    lines = text.splitlines()
    return " ".join(
        line for line in lines if not re.match(r"\s*(full_key|object_type|See http)", line)
    )


def _no_settings(point: EntryPoint) -> str:
    """The sentence for a game that is installed and has no settings file."""
    package = point.module.partition(".")[0]
    if not _package_folders(package):
        return f"game {point.name} is installed as {point.value}, but there is no package {package}"
    return (
        f"game {point.name} is installed, but its package lacks conf/game/{point.name}.yaml, which "
        f"holds its name and settings"
    )


def _unknown(key: str) -> str:
    """The sentence for a key that is no setting, with the nearest one."""
    from azcore.settings import unknown_key
    from azcore.storage.run_settings import flat

    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        # The choices of files alone, as game=NAME: what these hold is what can be set.
        groups = GlobalHydra.instance().config_loader().list_groups("")
        choices = [c for c in sys.argv[1:] if re.fullmatch(rf"({'|'.join(groups)})=\w+", c)]
        config: Any = OmegaConf.to_container(hydra.compose("config", choices))
    top_level = [] if "." in key else [group for group in groups if group != "hydra"]
    return unknown_key(key, [*top_level, *flat(config)])
