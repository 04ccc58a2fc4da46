"""Turns the texts of `players=[...]` into players.

    random              any legal action
    search, search:64   PUCT with uniform evaluations, with the arena's simulations or 64
    RUN                 a run directory: its last weights
    RUN@step-400        another of its checkpoints, by name or as RUN@400; RUN@all: all rated ones
    PATH.ckpt           any checkpoint
    pretrained/NAME     a network that an installed game ships, see `azcore.assembly.pretrained`;
                        pretrained/NAME@story is the run that trained it
    gnugo level=5       another program: one of conf/programs, or a protocol and a command;
                        see `azcore.engine.programs`

Settings of its search may follow a checkpoint or a run, by their names in conf/search, such as
`RUN num_simulations=200` or `RUN gumbel=null c_init=2.5`; `gumbel=null` is PUCT.

A text is a kind and, after a colon, the argument of that kind; `KINDS` lists the kinds. Anything
that is neither a kind nor a program is a path.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from azcore.arena.players import Borrowed, Player, RandomPlayer, SearchPlayer
from azcore.assembly.parts import MatchSettings, PlaySettings, search_baseline, search_player
from azcore.assembly.pretrained import in_place_of_story, is_pretrained, pretrained
from azcore.engine.programs import is_program, program_player
from azcore.errors import SettingError
from azcore.networks.checkpoint import network_of
from azcore.search.settings import NOISE, PUCT
from azcore.settings import altered
from azcore.storage.checkpoint import KEY, digest_of, read_player
from azcore.storage.run_directory import RunDirectory


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One way to name a player."""

    usage: str  # how it is written, for the error message that lists the kinds
    make: Callable[[MatchSettings, str], Player]  # from the text after the colon, or ""


def _random(settings: MatchSettings, argument: str) -> Player:
    if argument:
        raise SettingError(f"players: random takes no argument after a colon, got {argument!r}")
    return RandomPlayer(game=settings.game)


def _search(settings: MatchSettings, argument: str) -> Player:
    if not argument:
        return search_baseline(settings)
    if not re.fullmatch(r"[1-9][0-9]{0,8}", argument):
        raise SettingError(f"players: search:N takes a number of simulations, got {argument!r}")
    return search_baseline(settings, int(argument))


KINDS = {
    "random": Kind(usage="random", make=_random),
    "search": Kind(usage="search or search:SIMULATIONS", make=_search),
}


class Saved(NamedTuple):
    """A checkpoint at the time of reading."""

    path: Path
    checkpoint: dict[str, Any]  # the parts that a player needs
    search: tuple[str, ...] = ()  # its own settings, as NAME=VALUE
    digest: str = ""  # of the file


class OfRun(NamedTuple):
    """A checkpoint that plays with its run's settings; a match reads it when it starts."""

    name: str  # in results
    path: Path
    settings: PlaySettings  # of the run
    digest: str  # of the file


Entrant = str | Saved | OfRun  # the text names no checkpoint


def entrants_of(texts: Sequence[str], programs: Mapping[str, Any]) -> list[Entrant]:
    """The players that the texts name, with checkpoints already read, since a run may rewrite them.

    Args:
        texts: as for `players_named`.

    Raises:
        SettingError, CheckpointError: as `players_named`.
    """
    entrants: list[Entrant] = []
    for text in texts:
        if text.partition(":")[0] in KINDS or is_program(text, programs):
            entrants.append(text)
        else:
            place, search = split_search(text)
            if search and place.partition(":")[0] in KINDS:
                raise SettingError(
                    f"players: only a run or a checkpoint takes settings, got {text!r}"
                )
            entrants += [
                Saved(path, read_player(path), search, digest_of(path))
                for path in checkpoints_of(place)
            ]
    return entrants


def split_search(text: str) -> tuple[str, tuple[str, ...]]:
    """The checkpoint's path, and the words after it that set its search.

    A path itself may contain spaces and equals signs.
    """
    place, search = text.strip(), list[str]()
    while not _exists(place) and " " in place:
        rest, _, word = place.rpartition(" ")
        if "=" not in word:
            break
        place, search = rest.rstrip(), [word, *search]
    return place, tuple(search)


def _exists(place: str) -> bool:
    run, _, name = place.rpartition("@")
    return Path(place).exists() or (run != "" and " " not in name and Path(run).exists())


def two_at_least(players: list[Player]) -> list[Player]:
    """Return the players after checking that there are enough.

    Raises:
        SettingError: there are fewer than two.
    """
    if len(players) < 2:
        names = ", ".join(player.name for player in players)
        raise SettingError(f"players must be two or more, got {names or 'none'}")
    return players


def players_named(settings: MatchSettings, texts: Sequence[str]) -> list[Player]:
    """The players in the order of their texts, each with a unique name.

    Raises:
        SettingError: a text does not name a player (the message lists the kinds).
        CheckpointError: a checkpoint cannot be used, or is of another game.
    """
    return players_of(settings, entrants_of(texts, settings.programs))


def players_of(settings: MatchSettings, entrants: Sequence[Entrant]) -> list[Player]:
    """A player for each entrant, with a unique name.

    Raises:
        SettingError, CheckpointError: as `players_named`.
    """
    players: list[Player] = []
    for entrant in entrants:
        if isinstance(entrant, Saved):
            players.append(_network(settings, entrant))
            continue
        if isinstance(entrant, OfRun):
            players.append(Borrowed(entrant.name, partial(_of_run, settings, entrant)))
            continue
        word, _, argument = entrant.partition(":")
        if word in KINDS:
            players.append(KINDS[word].make(settings, argument))
        else:
            players.append(program_player(entrant, settings.game, settings.programs))
    return with_own_names(players)


def with_own_names(players: list[Player]) -> list[Player]:
    """The players, with numbers added to repeated names."""
    met: dict[str, int] = {}
    for player in players:
        met[player.name] = number = met.get(player.name, 0) + 1
        if number > 1:
            player.name += f" ({number})"
    return players


def checkpoints_of(text: str) -> list[Path]:
    """The checkpoints that a text names: a file, a run's last, one by name, or all rated ones.

    Raises:
        SettingError: the checkpoint does not exist.
    """
    text = in_place_of_story(text)
    if is_pretrained(text):
        return [pretrained(text)]
    place, _, name = text.rpartition("@")
    if not place or Path(text).exists():
        place, name = text, ""
    path = Path(place)
    if not name and (path.is_file() or path.suffix == ".ckpt"):  # its reader reports a missing one
        return [path]
    if not path.is_dir():
        kinds = ", ".join(kind.usage for kind in KINDS.values())
        raise SettingError(
            f"a player must be {kinds}, a checkpoint, a run directory, RUN@NAME for one of its "
            f"checkpoints, RUN@all or a program; got {text!r}, and no such file or folder exists"
        )
    run = RunDirectory(path)
    folder = run.checkpoints
    if name == "all":
        rated = list(run.step_checkpoints().values())
        if not rated:
            raise SettingError(f"players: {text} finds no step-*.ckpt in {folder}")
        return rated
    if re.fullmatch(r"\d+", name, re.ASCII):
        name = f"step-{name}"
    file = folder / f"{name or 'last'}.ckpt"
    if not file.is_file():
        kept = ", ".join(sorted(file.stem for file in folder.glob("*.ckpt"))) or "none"
        raise SettingError(f"players: {text} has no checkpoint {file}; checkpoints there: {kept}")
    return [file]


def checkpoint_of(text: str) -> Path:
    """The one checkpoint that a text names; its reader reports a missing file.

    Raises:
        SettingError: the run directory has none of that name, or the text names several.
    """
    text = in_place_of_story(text)
    place, _, _ = text.rpartition("@")
    if not (is_pretrained(text) or Path(text).is_dir() or (place and Path(place).is_dir())):
        return Path(text)
    found = checkpoints_of(text)
    if len(found) > 1:
        raise SettingError(f"checkpoint must be one, got {text}, which names {len(found)}")
    return found[0]


def game_of(texts: Sequence[str], programs: Mapping[str, Any]) -> dict[str, Any] | None:
    """Name, version and settings of the game of the first checkpoint; None if there is none.

    Raises:
        SettingError, CheckpointError: as `players_named`.
    """
    for text in texts:
        if text.partition(":")[0] not in KINDS and not is_program(text, programs):
            path = checkpoints_of(split_search(text)[0])[0]
            identity: dict[str, Any] = read_player(path)[KEY]["game"]
            return identity
    return None


def _network(settings: MatchSettings, saved: Saved) -> Player:
    """A checkpoint as a player."""
    changes = dict(map(_setting, saved.search))
    arena = replace(settings.search, num_simulations=settings.arena.num_simulations)
    search = altered(arena, changes, "search")
    for name in changes:
        if name in NOISE:
            raise SettingError(f"players: {name} is for self-play, got {' '.join(saved.search)}")
        if search.is_gumbel and name in PUCT:
            raise SettingError(
                f"players: {name} is for PUCT, which gumbel=null selects, got "
                f"{' '.join(saved.search)}"
            )
    network = network_of(saved.checkpoint, saved.path, settings.game)
    evaluator = settings.search_evaluator(*network)
    name = " ".join([player_name(saved.path), *saved.search])
    return search_player(replace(settings, search=search), evaluator, name, search.num_simulations)


def _of_run(settings: MatchSettings, entrant: OfRun) -> Player:
    own, threads = entrant.settings, settings.evaluation.threads
    evaluation = replace(own.evaluation, threads=threads or own.evaluation.threads)
    own = replace(own, device=settings.device, evaluation=evaluation)
    return SearchPlayer(
        game=own.game,
        evaluator=own.checkpoint_evaluator(entrant.path),
        settings=own.search,
        num_simulations=settings.arena.num_simulations,
        name=entrant.name,
    )


def identity_of(entrant: Entrant, programs: Mapping[str, Any]) -> str:
    """What identifies an entrant; its saved matches count only while this is unchanged."""
    if isinstance(entrant, Saved):
        return repr((entrant.digest, entrant.search))
    if isinstance(entrant, OfRun):
        own = entrant.settings
        return repr((entrant.digest, own.search, own.evaluation.random_symmetry))
    return repr((entrant, programs if is_program(entrant, programs) else None))


def _setting(word: str) -> tuple[str, Any]:
    name, _, value = word.partition("=")
    try:
        read = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise SettingError(f"players: {name} must be a value, got {value!r}") from error
    if isinstance(read, str):  # YAML takes 1e30 for text
        with suppress(ValueError):
            read = float(read)
    return name, read


def player_name(path: Path) -> str:
    """A checkpoint's name in matches: its run and its own name."""
    folder = path.absolute().parent
    return f"{folder.parent.name}@{path.stem}" if folder.name == "checkpoints" else path.stem
