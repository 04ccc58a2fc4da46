"""The root of each command, `conf/NAME.yaml`: its settings, and what `--help` shows."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from azcore.commands import COMMANDS

UNUSED = {"check": {"backend"}}  # groups that only overlays need
PACKAGE = "# @package "  # begins a file whose keys do not belong to the group of its folder
OVERLAY = f"{PACKAGE}_global_"  # a file that sets keys of other groups
USAGE = """azcore: state the rules of a board game, get an AlphaZero player

azcore [COMMAND] [KEY=VALUE ...]       (or python -m azcore ...)

{commands}

Often used
  game=NAME                          the game; game.KEY=VALUE sets its own settings
  scale=laptop|workstation|paper     sizes; smoke: every stage of a run in half a minute
  network.blocks=6 network.channels=64
  method=[playout_cap,warmup]        any number of methods later than the papers
  search.num_simulations=100         simulations a move
  trainer.max_time=00:00:10:00       stop after ten minutes (days:hours:minutes:seconds)
  trainer.max_steps=5000             or after this many optimizer steps
  seed=2 run_dir=runs/mine resume=latest
  init=RUN                           begin with the weights of another run
  fork=RUN@step-400                  continue from there as a new run
  experiment=papers_networks         a comparison of the papers: all its runs, and the figure

azcore COMMAND --help shows the settings of a command; --cfg job prints their values."""


def what_it_does(command: str) -> str:
    """The first line of a command's root."""
    return _text(command).partition("\n")[0].removeprefix("# ")


def usage() -> str:
    """The help text that lists all commands."""
    lines = (f"  {name:<9} {what_it_does(name)}" for name in COMMANDS)
    return USAGE.format(commands="\n".join(lines))


def usage_of(command: str) -> str:
    """A command's settings with their comments, as in the files."""
    parts = [f"azcore {command} [KEY=VALUE ...]", "", what_it_does(command)]
    for group, choice, package in _groups(command):
        if not has(command, package or group):
            continue
        choices = _choices_of(command, group)
        whole = bool(package) or (command, group) in _OF_COMMAND  # its choices differ
        shown = choices if whole else [choice] if choice in choices else []
        texts = (_with_included_files(f"{group}/{each}") for each in shown)
        text = "\n".join(texts)
        can_choose = has(command, group) and len(choices) > 1
        parts += ["", f"{package or group}:" + (f"  # {group}={'|'.join(choices)}" * can_choose)]
        parts += [textwrap.indent(text.rstrip(), "  ")] if text else []
    return "\n".join([*parts, "", *(_body(root) for root in _files(command))]).rstrip()


def _with_included_files(name: str) -> str:
    """The text of a choice; empty for an overlay, which sets keys of other groups."""
    text = _text(name)
    if text.startswith(OVERLAY):
        return ""
    if text.startswith(PACKAGE):
        text = text.partition("\n")[2]
    _, marked, body = text.partition("defaults:\n")
    if not marked:
        return text
    own = [line for line in body.splitlines() if not line.startswith("  - ")]
    return "\n".join([*(_with_included_files(each) for each in _files_before(name)), *own])


def has(command: str, key: str) -> bool:
    """Whether a command has a group, or a setting outside groups, given before the dot."""
    name = key.partition(".")[0].partition("/")[0]
    return name in _names(command) and name not in UNUSED.get(command, ())


def uses(command: str, key: str) -> bool:
    """Whether a command has a setting or a group, with any choices."""
    if command == "train" and f"{key}.".startswith("compare."):
        return False  # it is for what follows a sweep
    return any(f"{each}.".startswith(f"{key}.") for each in keys_of(command))


@cache
def keys_of(command: str) -> frozenset[str]:
    """All settings of a command with any choice of its groups, and the groups."""
    found = set(_names(command))
    for _, settings in _settings_by_choice(command):
        found |= settings
    for root in _files(command):
        found |= set(_flat(_values(root)))
    return frozenset(key for key in found if has(command, key))


def choices_with(command: str, key: str) -> list[str]:
    """The choices of a command's groups that have a setting, as GROUP=CHOICE."""
    return [
        choice
        for choice, settings in _settings_by_choice(command)
        if any(f"{each}.".startswith(f"{key}.") for each in settings)
    ]


def _settings_by_choice(command: str) -> Iterator[tuple[str, set[str]]]:
    """Each choice of a command's groups, as GROUP=CHOICE, and its settings; no overlays."""
    for group, _, package in _groups(command):
        for choice in _choices_of(command, group):
            if _has_settings(group, choice):
                name = group if has(command, group) else package
                settings = _flat_file(f"{group}/{choice}")
                yield f"{name}={choice}", {f"{package or group}.{key}" for key in settings}


def _has_settings(group: str, choice: str) -> bool:
    """Whether a choice is a file of azcore and not an overlay."""
    name = f"{group}/{choice}"
    return _conf().joinpath(f"{name}.yaml").is_file() and not _text(name).startswith(OVERLAY)


# Groups whose choices belong to different commands, with the choices of each command.
APART = {"arena", "check", "compare", "engine", "supervised", "web"}
_OF_COMMAND = {("arena", "arena"): ["tournament", "comparison"]}


def _choices_of(command: str, group: str) -> list[str]:
    """The choices of a group that belong to a command."""
    if group not in APART:
        return _choices(group)
    chosen = [choice for each, choice, _ in _groups(command) if each == group]
    return _OF_COMMAND.get((command, group), chosen)


def own_choices(command: str, group: str) -> list[str]:
    """The choices to which a command is limited; empty: it takes any, or lacks the group."""
    return _choices_of(command, group) if group in APART else []


def _flat_file(name: str) -> set[str]:
    """The settings of a choice, with those of the files that it includes."""
    return set(_flat(_values(name))).union(*(_flat_file(each) for each in _files_before(name)))


def _files_before(name: str) -> list[str]:
    """The files that a file includes, other than choices of groups."""
    first = _parsed(name).get("defaults", [])
    own = [each for each in first if isinstance(each, str) and each != "_self_"]
    folder = f"{name.rpartition('/')[0]}/".lstrip("/")
    return [
        each[1:].partition("@")[0] if each.startswith("/") else f"{folder}{each}" for each in own
    ]


def _values(name: str) -> dict[str, Any]:
    own = _parsed(name)
    return {key: value for key, value in own.items() if key not in ("defaults", "hydra")}


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def keys_of_group(group: str) -> list[str]:
    """The keys of a group that has one choice."""
    return list(_values(f"{group}/default"))


@cache
def _names(command: str) -> frozenset[str]:
    """Groups, and keys of the roots themselves."""
    groups = set()
    for group, choice, package in _groups(command):
        groups.add(package or group.partition("/")[0])
        if _package_of(f"{group}/{choice}"):  # still chosen by the group's name
            groups.add(group)
    own = {key for root in _files(command) for key in _values(root)}
    return frozenset(groups | own | {"hydra"})


def _files(name: str) -> list[str]:
    """A root and those that it includes; later ones override earlier ones."""
    return [*(file for each in _files_before(name) for file in _files(each)), name]


def _groups(name: str) -> Iterator[tuple[str, str, str]]:
    """Each group of a root, its choice, and its place in the settings if it differs."""
    for each in _parsed(name)["defaults"]:
        if isinstance(each, str):
            yield from () if each == "_self_" else _groups(each)
            continue
        ((group, choice),) = each.items()
        if group.startswith("override "):
            continue
        group, _, package = group.removeprefix("optional ").partition("@")
        yield group, str(choice), package or _package_of(f"{group}/{choice}")


def _package_of(name: str) -> str:
    """The package that a file declares for its keys; empty: its folder's group."""
    if not _conf().joinpath(f"{name}.yaml").is_file():
        return ""
    first = _text(name).partition("\n")[0]
    return first.removeprefix(PACKAGE) if first.startswith(PACKAGE) and first != OVERLAY else ""


@cache
def _choices(group: str) -> list[str]:
    folder = _conf().joinpath(group)
    names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    if group == "game":  # packages of games bring their own
        names += [f"{point.name}.yaml" for point in entry_points(group="azcore.games")]
        names = list(dict.fromkeys(names))
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


@cache
def _parsed(name: str) -> dict[str, Any]:
    """A file's content, which callers must not change."""
    return yaml.safe_load(_text(name)) or {}


@cache
def _text(name: str) -> str:
    return _conf().joinpath(f"{name}.yaml").read_text(encoding="utf-8")


def _body(root: str) -> str:
    """A root's own settings with their comments."""
    text = _text(root)
    start = next((n for n, line in enumerate(text.splitlines()) if line == ""), None)
    own = "" if start is None else "\n".join(text.splitlines()[start + 1 :])
    return "" if own.startswith("hydra:") else own


def _conf() -> Traversable:
    return files("azcore.conf")
