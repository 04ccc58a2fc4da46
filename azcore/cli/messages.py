"""Error messages for a command line that cannot be read or composed."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import OverrideParseException
from omegaconf import OmegaConf

from azcore.cli import roots
from azcore.commands import COMMANDS
from azcore.plugins import package_folders

METHOD = "method"  # the group that allows several choices
ELSEWHERE = {  # names of settings in other programs
    "verbose": "log",
    "quiet": "log",
    "num_workers": "selfplay.workers",
    "workers": "selfplay.workers",
    "epochs": "trainer.max_steps",
    "steps": "trainer.max_steps",
    "lr": "learner.learning_rates",
    "learning_rate": "learner.learning_rates",
    "simulations": "search.num_simulations",
    "gpus": "trainer.devices",
    "gpu": "device",
    "c_puct": "puct.c_init",
    "layers": "network.blocks",
    "hash": "engine.memory_mb",
    "wandb": "logger",
}
# What replaces settings of earlier versions that no command has.
MOVED = {
    "peers": "benchmarks/compare.py --peers in azcore's sources measures other programs, and "
    "players=[...] names the players of a match"
}
# What to use instead in another command, by command and the beginning of a key.
INSTEAD: Mapping[str, Mapping[str, str]] = {
    "train": {
        "checkpoint": "resume=RUN resumes a run, init=RUN begins another with its weights",
        "name": "game=NAME chooses a game, and run.name names the run",
    },
    "arena": {
        "network": "a checkpoint has its own",
    },
    "play": {
        "network": "a checkpoint has its own",
        "engine.book": "command=engine has books and tablebases",
        "engine.tablebase": "command=engine has books and tablebases",
        "engine.move_overhead": "use play.seconds there",
        "engine.time_share": "use play.seconds there",
        "players": "checkpoint=PATH names your opponent",
    },
    "web": {
        "checkpoint": "the page lists the opponents",
        "engine.move_overhead": "a visitor chooses the seconds",
        "engine.time_share": "a visitor chooses the seconds",
        "run_dir": "web.runs names the folder of runs there",
    },
    "engine": {"network": "a checkpoint has its own"},
    "export": {
        "arena.games": "",
        "games": "export.games names the input",
        "run_dir": "export.games names the input and export.out the output",
    },
    "import": {
        "export": "out names the file to write",
        "run_dir": "out names the file to write",
        "supervised.games": "games=[...] names the files to read",
    },
    "predict": {"network": "a checkpoint has its own"},
    "puzzles": {
        "arena.starts": "use puzzles.files there",
        "run_dir": "out names the file to write",
    },
    "ladder": {
        "game": "ladder.recipes names what to train",
        "run_dir": "ladder.folder names the folder of runs",
        "trainer.max_time": "use ladder.minutes there",
    },
    "bench": {"run_dir": "bench.path names the file to write"},
    "check": {"name": "game=NAME chooses a game", "arena.games": ""},
    "info": {"run": "checkpoint=RUN names it", "run_dir": "checkpoint=RUN names it"},
    "report": {"game": "a run determines its game", "run": "run_dir=RUN names it"},
    "runs": {
        "game": "runs.game=NAME lists the runs of a game",
        "run.tags": "runs.tag=TAG lists the runs with a tag",
        "run_dir": "runs.folder names the folder of runs there",
    },
    "new": {"game": "name=NAME names the new game"},
}


def parsed(overrides: Sequence[str]) -> list[Override]:
    """The parsed words of a command line."""
    return OverridesParser.create().parse_overrides(list(overrides))


def of_another_command(command: str, key: str, line: str) -> str:
    """The message for a setting of another command."""
    others = [each for each in COMMANDS if each != command and roots.uses(each, key)]
    whose = f"for command={', '.join(others)}" if others else "not a setting"
    if command == "train" and not others and roots.has(command, key):
        whose = "for sweeps only"
    own = f"{command}.{key.rpartition('.')[2]}"
    place = f"use {own} there" if own in roots.keys_of(command) else ""
    instead = INSTEAD.get(command, {})
    place = next((words for at, words in instead.items() if f"{key}.".startswith(f"{at}.")), place)
    sentence = f"{key} is {whose}, got {line} with command={command}"
    return f"{sentence}; {place}" if place else sentence


def unreadable(argument: str) -> str:
    """The message for an argument that Hydra's grammar does not accept."""
    key, equals, value = argument.partition("=")
    if not key or not equals:
        return f"cannot read the argument {argument!r}; it must be KEY=VALUE"
    whole = _whole(argument)
    if whole is None:
        kind = "a list must end with ]" if value[0] == "[" else "a mapping must end with }"
        return f"cannot read the argument {argument!r}; {kind}"
    if whole[:1] in ("[", "{") and (quoted := _in_quotes(key, _with_quoted_texts(whole))):
        return (
            f"cannot read the argument {argument!r}; a shell splits arguments at spaces, expands "
            f"braces and removes quotes, so quote the whole: {quoted}"
        )
    bare = value.replace("'", "").replace('"', "")
    return (
        f"cannot read the argument {argument!r}; put its value in quotes that a shell "
        f"preserves: '{key}=\"{bare}\"'"
    )


def _whole(argument: str) -> str | None:
    """The value of an argument before a shell split it at spaces or expanded its braces.

    None: a bracket is not closed.
    """
    words = sys.argv[sys.argv.index(argument) :] if argument in sys.argv else [argument]
    key, _, value = argument.partition("=")
    parts = [word.partition("=")[2] for word in words if word.startswith(f"{key}=")]
    if value[:1] not in ("[", "{", "'", '"') and len(parts) > 1:
        return f"{{{','.join(parts)}}}"
    if value[:1] not in ("[", "{"):
        return value
    for end in range(1, len(words) + 1):
        whole = " ".join([value, *words[1:end]])
        if _depth(whole) == 0:
            return whole
    return None


def _depth(text: str) -> int:
    """How many brackets a text leaves open."""
    return sum((letter in "[{") - (letter in "]}") for letter in text)


def _with_quoted_texts(value: str) -> str:
    """A value in Hydra's grammar, with quotes around the texts that need them."""
    value = value.strip()
    if value in ("[]", "{}"):
        return value
    inner = _parts(value[1:-1])
    if value.startswith("[") and value.endswith("]"):
        return f"[{','.join(map(_with_quoted_texts, inner))}]"
    if value.startswith("{") and value.endswith("}"):
        pairs = [part.partition(":") for part in inner]
        return f"{{{', '.join(f'{k.strip()}: {_with_quoted_texts(v)}' for k, _, v in pairs)}}}"
    text = value.strip("'\"")
    if re.fullmatch(r"[\w./@:+-]+", text, re.ASCII):
        return text
    return '"' + text.replace('"', '\\"') + '"'


def _parts(text: str) -> list[str]:
    """A text split at the commas that are not inside brackets."""
    parts: list[str] = []
    for part in text.split(","):
        if parts and _depth(parts[-1]):
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts


def _in_quotes(key: str, value: str) -> str | None:
    """An argument in a shell's quotes; None: Hydra cannot read this value either."""
    argument = f"{key}={value}"
    try:
        parsed([argument])
    except OverrideParseException:
        return None
    return shlex.quote(argument)


def any_of(names: Sequence[str]) -> str:
    """What to choose from, after "must be"."""
    return names[0] if len(names) == 1 else f"one of {', '.join(names)}"


def composition_error(command: str, text: str, arguments: Sequence[str]) -> str:
    """Hydra's message about these arguments in one sentence, without its advice."""
    if wrong := wrong_choice(arguments):
        return wrong
    if unknown := re.search(r"Could not override '([^']+)'", text):
        return _unknown(command, unknown.group(1), arguments)
    if many := re.search(r"Ambiguous value for argument '([^']+)'", text):
        key, _, value = many.group(1).partition("=")
        return (
            f"{key}={value} gives several values, which only a sweep accepts (add -m); write a "
            f"list as '{key}=[{value}]' and one text with a comma as '{key}=\"{value}\"'"
        )
    if missing := re.search(r"Could not (?:find|load) '((?:hydra/)?\w+)/([^']*)'", text):
        group, name = missing.groups()
        options = roots.own_choices(command, group) or _options(group)
        points = {point.name: point for point in entry_points(group="azcore.games")}
        if group == "game" and name in points:
            return _no_settings(points[name])
        sentence = f"{group} must be {any_of(options)}, got {name!r}"
        if group == "game" and (Path(name) / "pyproject.toml").exists():
            return (
                f"{sentence}; the package in the folder {name} must be installed: "
                f"pip install -e {name}"
            )
        close = get_close_matches(name, options, n=1)
        return sentence + (f"; did you mean {close[0]}?" if close else "")
    lines = text.splitlines()
    return " ".join(
        line for line in lines if not re.match(r"\s*(full_key|object_type|See http)", line)
    )


def wrong_choice(arguments: Sequence[str]) -> str | None:
    """The message for the first argument whose value names no file of its group, if any.

    Hydra has no message for it: a number or a list makes its composition fail somewhere.
    """
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        groups = GlobalHydra.instance().config_loader().list_groups("")
    choices = [each for each in arguments if each.lstrip("+").partition("=")[0] in groups]
    for override in parsed(choices):
        if override.is_delete() or override.is_sweep_override():
            continue
        group, value = override.key_or_group, override.value()
        if isinstance(value, dict) and group not in (METHOD, "preset"):
            continue  # settings of the group
        names = value if group == METHOD and isinstance(value, list) else [value]
        if not all(isinstance(name, str) for name in names):
            many = ", or several as [a,b]" if group == METHOD else ""
            return f"{group} takes the name of one of its files{many}, got {override.input_line}"
    return None


def _options(group: str) -> list[str]:
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        return GlobalHydra.instance().config_loader().get_group_options(group)


def _no_settings(point: EntryPoint) -> str:
    """The message for an installed game without a settings file."""
    package = point.module.partition(".")[0]
    if not package_folders(package):
        return f"game {point.name} is installed as {point.value}, but package {package} is missing"
    return (
        f"game {point.name} is installed, but its package lacks conf/game/{point.name}.yaml "
        f"with its name and settings"
    )


def _unknown(command: str, key: str, arguments: Sequence[str]) -> str:
    """The message for an unknown key, with the closest known one."""
    from azcore.settings import unknown_key
    from azcore.storage.run_settings import flat

    line = next((each for each in arguments if each.lstrip("+~").startswith(f"{key}=")), key)
    if not roots.uses(command, key) and any(roots.uses(each, key) for each in COMMANDS):
        return of_another_command(command, key, line)
    if key in MOVED:
        return f"there is no setting {key}; {MOVED[key]}"
    if choices := roots.choices_with(command, key):
        return f"{key} is for {' or '.join(choices)}, got {line}"
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        # The choices of files alone, as game=NAME: their contents can be set.
        groups = GlobalHydra.instance().config_loader().list_groups("")
        choices = [c for c in arguments if re.fullmatch(rf"({'|'.join(groups)})=[\w-]+", c)]
        choices = [c for c in choices if not c.startswith(f"{key}=")]
        config: Any = OmegaConf.to_container(hydra.compose(command, choices))
    known = [name for name in [*groups, *flat(config)] if roots.has(command, name)]
    if (meant := ELSEWHERE.get(key.rpartition(".")[2])) in known:
        return f"there is no setting {key}; did you mean {meant}?"
    return unknown_key(key, [*known, *sorted(roots.keys_of(command))])  # also of other choices
