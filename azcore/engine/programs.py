"""Builds a player from the words that name another program.

gnugo level=5                         a program of conf/programs
stockfish nodes=1000 Skill_Level=0    with a limit, and an option of its protocol
gtp gnugo --mode gtp                  any command, after the protocol it speaks
uci nodes=200 my-engine --threads 1   limits and options come before the command

`name=` sets its name in results; the default is these words or, for a command, the name that the
program reports.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from azcore.engine.clients import CLIENTS, Client, MoveLimits
from azcore.engine.player import EnginePlayer
from azcore.engine.process import ProgramError, command_of
from azcore.errors import SettingError
from azcore.game import Game
from azcore.game.facts import PROTOCOLS
from azcore.selfplay.sizes import available_cores
from azcore.settings import build, require

LIMITS: Mapping[str, type] = {"nodes": int, "seconds": float, "depth": int, "timeout": float}


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program with a configured name; see `conf/programs`."""

    protocol: str | None  # None: that of the game
    command: str
    level: str | None  # the command's option that `level=` sets
    install: str | None

    def __post_init__(self) -> None:
        is_known = self.protocol is None or self.protocol in PROTOCOLS
        require(is_known, "programs.*.protocol", f"one of {', '.join(PROTOCOLS)}", self.protocol)


def is_program(text: str, programs: Mapping[str, Any]) -> bool:
    """Whether words name a program: a configured one, or a command after its protocol."""
    first = text.split(maxsplit=1)[:1]
    return bool(first) and (first[0] in programs or first[0] in PROTOCOLS)


def program_player(text: str, game: Game, programs: Mapping[str, Any]) -> EnginePlayer:
    """The player that words name.

    Args:
        text: as at the top of this file.

    Raises:
        SettingError: a word is invalid, or the program does not start with these words.
        MissingProgramError: the program is not installed.
    """
    words = text.split()
    name, rest = words[0], words[1:]
    if name in programs:
        program = build(Program, programs[name], f"programs.{name}")
        given, more = rest, []
    else:
        split = next((i for i, word in enumerate(rest) if "=" not in word), len(rest))
        given, more = rest[:split], rest[split:]
        require(bool(more), f"the player {text!r}", "a protocol and a command", text)
        program = Program(protocol=name, command=" ".join(more), level=None, install=None)
    own = [word.removeprefix("name=") for word in given if word.startswith("name=")]
    given = [word for word in given if not word.startswith("name=")]
    limits, options, levels = _read(text, given)
    command = command_of(program.command, program.install)
    if levels:
        if program.level is None:
            raise SettingError(f"the player {text!r}: {name} has no level")
        command += [program.level, *levels]
    protocol = program.protocol or game.protocol
    kind = CLIENTS[protocol]

    def start() -> Client:
        return kind(command, options, limits)

    try:
        client = start()  # unsupported options are reported before any game
    except ProgramError as error:
        raise SettingError(f"the player {text!r}: {error}") from error
    client.close()
    own += [" ".join(client.name.split())[:40]] if more else []
    return EnginePlayer(
        game=game,
        name=next(filter(None, own), text),
        start=start,
        processes=available_cores(),
        takes_positions=kind.takes_positions,
    )


def _read(text: str, words: list[str]) -> tuple[MoveLimits, dict[str, str], list[str]]:
    """The limits, options and level in NAME=VALUE words."""
    limits: dict[str, Any] = {}
    options: dict[str, str] = {}
    levels: list[str] = []
    for word in words:
        key, equals, value = word.partition("=")
        require(bool(equals and key and value), f"the player {text!r}", "words NAME=VALUE", word)
        if key == "level":
            levels = [value]
        elif key in LIMITS:
            try:
                limits[key] = LIMITS[key](value)
            except ValueError:
                require(False, f"{key} of the player {text!r}", "a number", value)
            fits = 0 < limits[key] <= 10**9
            require(fits, f"{key} of the player {text!r}", "above 0, at most 10^9", value)
        else:
            options[key] = value
    if "seconds" in limits:  # a program may be allowed more time than the usual timeout
        limits.setdefault("timeout", max(MoveLimits.timeout, limits["seconds"] + 20))
    return MoveLimits(**limits), options, levels
