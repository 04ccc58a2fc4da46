"""The sentences about a command line that cannot be read or composed."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from azcore.cli.overrides import METHOD, parsed
from azcore.cli.plugins import package_folders
from azcore.cli.status import tell

SWITCHES = {"web": "web.beside"}  # groups that are switched on or off by their name


def renamed(argument: str) -> str:
    """An argument with the name that its setting has now, and a word on it."""
    from azcore.storage.run_settings import MOVED

    key, equals, value = argument.partition("=")
    if key in SWITCHES and value.lower() in ("true", "false"):
        return f"{SWITCHES[key]}={value}"
    new = {"search.rule": "search", **MOVED}.get(key, key)
    if not equals or new == key:
        return argument
    tell(f"{key} is {new} now")
    return f"{new}={value}"


def unreadable(argument: str) -> str:
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


def composition_error(text: str, arguments: Sequence[str]) -> str:
    """Hydra's message about these arguments in one sentence, without its advice."""
    if wrong := wrong_choice(arguments):
        return wrong
    if unknown := re.search(r"Could not override '([^']+)'", text):
        return _unknown(unknown.group(1), arguments)
    if missing := re.search(r"Could not (?:find|load) '(\w+)/([^']*)'", text):
        group, name = missing.groups()
        options = ", ".join(_options(group))
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


def wrong_choice(arguments: Sequence[str]) -> str | None:
    """The sentence for the first argument that chooses no file of its group by name, if any does.

    Hydra has no sentence for it: a number or a list ends its composition somewhere.
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
        if value is None and group == "experiment":
            continue
        names = value if group == METHOD and isinstance(value, list) else [value]
        if not all(isinstance(name, str) for name in names):
            many = ", or several as [a,b]" if group == METHOD else ""
            return f"{group} takes the name of one of its files{many}, got {override.input_line}"
    return None


def _options(group: str) -> list[str]:
    """The files of a group."""
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        return GlobalHydra.instance().config_loader().get_group_options(group)


def _no_settings(point: EntryPoint) -> str:
    """The sentence for a game that is installed and has no settings file."""
    package = point.module.partition(".")[0]
    if not package_folders(package):
        return f"game {point.name} is installed as {point.value}, but there is no package {package}"
    return (
        f"game {point.name} is installed, but its package lacks conf/game/{point.name}.yaml, which "
        f"holds its name and settings"
    )


def _unknown(key: str, arguments: Sequence[str]) -> str:
    """The sentence for a key that is no setting, with the nearest one."""
    from azcore.settings import unknown_key
    from azcore.storage.run_settings import flat

    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        # The choices of files alone, as game=NAME: what these hold is what can be set.
        groups = GlobalHydra.instance().config_loader().list_groups("")
        choices = [c for c in arguments if re.fullmatch(rf"({'|'.join(groups)})=\w+", c)]
        config: Any = OmegaConf.to_container(hydra.compose("config", choices))
    if "." in key:  # of a group, as what is meant
        return unknown_key(key, [name for name in flat(config) if "." in name])
    return unknown_key(key, [*(group for group in groups if group != "hydra"), *flat(config)])
