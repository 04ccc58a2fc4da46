"""Old names on command lines: azcore accepts each under its current name, with a message.

Version 0.4 will remove them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from azcore.cli.roots import keys_of_group
from azcore.commands import COMMANDS
from azcore.errors import SettingError

SWITCHES = {"web": "web.beside"}  # groups that are switched on or off by their name
_SEARCH = {"arena.num_simulations": "search.num_simulations"}
_LEAVES = {"engine.leaves_per_tree": "search.leaves_per_tree"}
RENAMED: Mapping[str, Mapping[str, str]] = {  # by command
    "arena": {**_SEARCH, "arena_dir": "run_dir"},
    "puzzles": _SEARCH,
    "tune": _SEARCH,
    "engine": {"engine.num_simulations": "search.num_simulations", **_LEAVES},
    "play": {"play.num_simulations": "search.num_simulations", **_LEAVES},
    "web": {"web.num_simulations": "search.num_simulations", **_LEAVES},
}
# What training overlays once set for the search in commands that play.
_PAPER = ["search=puct", "puct.c_init=1.5", "puct.c_base=1.0e+30", "puct.count_parent_visit=false"]
OVERLAYS: Mapping[str, Sequence[str]] = {
    "algorithm=azcore": ["search=gumbel"],
    "algorithm=gumbel": ["search=gumbel"],
    "algorithm=alphazero": ["search=puct"],
    "algorithm=alphagozero": [*_PAPER, "evaluator.random_symmetry=true"],
    "algorithm=supervised": [*_PAPER, "evaluator.random_symmetry=true"],
    "scale=laptop": [],
    "scale=workstation": [],
    "scale=paper": ["puct.value_range=[0.0,1.0]"],
}
# Commands that are now part of another: its name, the setting that selects them, and renamed
# settings.
KINDS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "compare": (
        "arena",
        "arena=comparison",
        {"compare": "arena", "search.num_simulations": "arena.num_simulations"},
    ),
    "lesson": (
        "ladder",
        "ladder=lesson",
        {"lesson.games": "ladder.recipes", "lesson": "ladder", "run_dir": "ladder.folder"},
    ),
    "plan": ("bench", "bench.rows=[plan] bench.path=plan.json", {}),
    "publish": ("export", "what=checkpoint", {"publish": "export"}),
}
SIDE_BY_SIDE = "compare.side_by_side=true"  # now command=report
VALUED = ("--config-dir", "-cd", "--package", "-p", "--info", "-i")  # a value follows
PLAY = ("arena", "puzzles", "tune", "engine", "play", "web", "predict")


def command_of(
    words: Sequence[str], tell: Callable[[str], None] = lambda sentence: None
) -> tuple[str, list[str]]:
    """The command of a command line, and the other words; the last of several `command=` wins.

    Args:
        tell: called with a sentence if the command is now part of another.

    Raises:
        SettingError: the command does not exist, or the first word names a different one.
    """
    named = [word.partition("=")[2] for word in words if word.startswith("command=")][-1:]
    rest = [word for word in words if not word.startswith("command=")]
    first = next((word for word in rest if not word.startswith("-")), "=")
    at = rest.index(first) if first in rest else 0
    known = {*COMMANDS, *KINDS}
    if first in known and not set(rest[at - 1 : at]) & set(VALUED):
        rest.remove(first)
        named.append(first)
    elif rest[:1] == [first] and "=" not in first and not named:
        raise SettingError(
            f"cannot read the argument {first!r}; it must be KEY=VALUE or, in first place, a "
            f"command: {', '.join(COMMANDS)}"
        )
    command = named[-1] if named else "train"
    if command not in known:
        raise SettingError(f"command must be one of {', '.join(COMMANDS)}, got {command!r}")
    if len(set(named)) > 1:
        raise SettingError(f"there must be one command, got {' and '.join(named)}")
    return _kind(command, rest, tell) if command in KINDS else (command, rest)


def _kind(command: str, words: list[str], tell: Callable[[str], None]) -> tuple[str, list[str]]:
    """The current form of a command that is now part of another."""
    now, choice, names = KINDS[command]
    if command == "compare" and SIDE_BY_SIDE in words:
        now, choice, names = "report", "", {"run_dir": "out", "compare.runs": "run_dir"}
        words = [word for word in words if word != SIDE_BY_SIDE]
    tell(f"command={command} is now {' '.join(filter(None, (f'command={now}', choice)))}")
    changed = choice.split()
    for word in words:
        key, equals, value = word.partition("=")
        bare = key.lstrip("+~")
        old = next((old for old in names if f"{bare}.".startswith(f"{old}.")), None)
        new = bare if old is None or not equals else names[old] + bare[len(old) :]
        changed.append(f"{key[: len(key) - len(bare)]}{new}{equals}{value}")
    return now, changed


def renamed(command: str, words: Sequence[str], tell: Callable[[str], None]) -> list[str]:
    """The words with the current names of their settings.

    Args:
        words: `KEY=VALUE` each.
        tell: called with a sentence for each that changes.
    """
    overlays = [word for word in words if command in PLAY and word in OVERLAYS]  # the others win
    ordered = [*overlays, *(word for word in words if word not in overlays)]
    compares = "arena=comparison" in words
    return [new for word in ordered for new in _renamed(command, word, tell, compares)]


def _renamed(command: str, word: str, tell: Callable[[str], None], compares: bool) -> Iterator[str]:
    key, equals, value = word.partition("=")
    if not equals:
        yield word
        return
    if key in SWITCHES and value.lower() in ("true", "false") and command == "train":
        yield f"{SWITCHES[key]}={value}"
        return
    if command in PLAY and word in OVERLAYS:
        now = [new for new in OVERLAYS[word] if _has(command, new)]
        tell(f"{word} is now {' '.join(now) or 'without effect'} in command={command}")
        yield from now
        return
    name = key.lstrip("+~")
    new = _names_now(command).get(name, name)
    if compares and name in _SEARCH:  # a comparison has these
        new = name
    if new != name:
        tell(f"{name} is now {new}")
    yield f"{key[: len(key) - len(name)]}{new}={value}"


@cache
def _names_now(command: str) -> Mapping[str, str]:
    """Every name that has changed, with the current one."""
    of_puct = {f"search.{each}": f"puct.{each}" for each in keys_of_group("puct")}
    if command == "tune":
        within = "tune.parameters."
        of_puct |= {f"{within}{old}": f"{within}{new}" for old, new in of_puct.items()}
    return {**of_puct, **RENAMED.get(command, {})}


def _has(command: str, word: str) -> bool:
    """Whether a command that plays has what an overlay once set."""
    if command == "predict":
        return False
    return not (word.startswith("search=") and command in ("engine", "play"))
