"""Loads a game of OpenSpiel by its id, and refuses games that azcore cannot play."""

from __future__ import annotations

import subprocess
import sys
from difflib import get_close_matches
from math import prod
from pathlib import Path
from typing import Any

from azcore.errors import GameError, first_line
from azcore.game.facts import MOST_ACTIONS

from .listed import require_listed

MOST_MEGABYTES = 2000  # limit of memory for an unlisted id
MOST_SECONDS = 10
_tried: set[str] = set()  # unlisted ids that this process has loaded


def library() -> Any:
    """The module pyspiel.

    Raises:
        GameError: OpenSpiel is not installed.
    """
    try:
        import pyspiel
    except ImportError as error:
        raise GameError(
            "game=openspiel needs the library OpenSpiel: pip install 'azcore[openspiel]'"
        ) from error
    return pyspiel


def load(spiel_id: str) -> Any:
    """The `pyspiel.Game` with this id, such as `hex(board_size=7)`.

    Raises:
        GameError: OpenSpiel lacks the game or the parameters, or azcore cannot play it.
    """
    pyspiel = library()
    name = spiel_id.partition("(")[0]
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    if name not in kinds:
        close = get_close_matches(name, kinds, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise GameError(f"openspiel: OpenSpiel has no game named {name[:40]!r}{hint}")
    if spiel_id == name and not kinds[name].default_loadable:
        wanted = ", ".join(kinds[name].parameter_specification)
        raise GameError(f"openspiel: {name} needs values in brackets for some of: {wanted}")
    if "file" in spiel_id:  # a parameter such as filename; the id is untrusted
        raise GameError(f"openspiel: azcore cannot play {_shortened(spiel_id)}: it reads a file")
    unplayable = ""
    if spiel_id != name and not _is_known(spiel_id):
        unplayable = _try(spiel_id)
    try:
        game = pyspiel.load_game(spiel_id)
        reason = _why_not(pyspiel, game) or unplayable
    except Exception as error:  # a SpielError, or any C++ exception
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise GameError(f"openspiel: {_shortened(spiel_id)} cannot be loaded: {reason}") from error
    if reason:
        raise GameError(f"openspiel: azcore cannot play {_shortened(spiel_id)}: {reason}")
    if spiel_id != name:
        _tried.add(spiel_id)
    return game


def require_received(spiel_id: str) -> None:
    """Refuse an id from a file that is neither listed nor also on the command line.

    Raises:
        GameError: the message names what is not listed.
    """
    if spiel_id not in _tried:
        require_listed(spiel_id)


def _is_known(spiel_id: str) -> bool:
    try:
        require_received(spiel_id)
    except GameError:
        return False
    return True


def _try(spiel_id: str) -> str:
    """Load an id and play it in a separate process, so that a crash does not affect this one.

    Returns:
        The reason why it cannot be played; empty: it can.

    Raises:
        GameError: it cannot be loaded, or takes too long or too much memory.
    """
    limits = map(str, (MOST_MEGABYTES, MOST_SECONDS))
    program = [sys.executable, "-I", str(Path(__file__).with_name("trial.py"))]
    try:
        tried = subprocess.run(
            [*program, spiel_id, *limits, *sys.path],
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            stdin=subprocess.DEVNULL,
        )
        reason = tried.stdout.strip()
        if not tried.returncode:
            return reason
        most = f"{MOST_SECONDS} s and {MOST_MEGABYTES:,} MB"
        reason = reason or f"OpenSpiel crashed, or did not load it within {most}"
    except subprocess.TimeoutExpired:
        reason = f"OpenSpiel did not load it within {MOST_SECONDS} s"
    except (OSError, ValueError) as error:  # not a valid argument: too long, or with a NUL
        reason = first_line(error)
    raise GameError(f"openspiel: {_shortened(spiel_id)} cannot be loaded: {reason}")


def _shortened(spiel_id: str) -> str:
    return spiel_id if len(spiel_id) <= 80 else f"{spiel_id[:80]}…"


def _why_not(pyspiel: Any, game: Any) -> str:
    """Why azcore cannot play a game of OpenSpiel; empty: it can."""
    kind, players = game.get_type(), game.num_players()
    if players != 2:
        return f"it is for {players} player{'s' * (players > 1)}, want 2"
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        return "the players move at the same time, want one after another"
    if kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC:
        return "it has moves of chance, want none"
    if kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION:
        return "it has hidden information, want perfect information"
    if kind.utility != pyspiel.GameType.Utility.ZERO_SUM:
        return "its payoffs do not sum to zero, want a zero-sum game"
    if not kind.provides_observation_tensor:
        return "it has no observation tensor for a network"
    shape = game.observation_tensor_shape()
    if min(shape) < 1 or prod(shape) != game.observation_tensor_size():
        return f"its observation tensor has shape {shape}"
    if not 1 <= game.num_distinct_actions() <= MOST_ACTIONS:
        return f"it has {game.num_distinct_actions():,} actions, want 1 to {MOST_ACTIONS:,}"
    start = game.new_initial_state()
    if start.is_chance_node():
        return "it begins with a move of chance, want none"
    if start.is_terminal() or not start.legal_actions():
        return "it is over before the first move"
    start.observation_tensor(start.current_player())  # raises if it does not fit its shape
    return ""
