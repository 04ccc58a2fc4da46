"""Loads a game of OpenSpiel by its id, and refuses in one sentence what azcore cannot play."""

from __future__ import annotations

from difflib import get_close_matches
from math import prod
from typing import Any

from azcore.errors import GameError
from azcore.game.facts import MOST_ACTIONS


def library() -> Any:
    """The module pyspiel.

    Raises:
        GameError: OpenSpiel is not installed.
    """
    try:
        import pyspiel
    except ImportError as error:
        raise GameError(
            "openspiel: needs the library OpenSpiel: pip install azcore[openspiel]"
        ) from error
    return pyspiel


def load(spiel_id: str) -> Any:
    """The `pyspiel.Game` with this id, such as `hex(board_size=7)`.

    Raises:
        GameError: OpenSpiel has no such game or parameters, or azcore cannot play it.
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
    if "file" in spiel_id:  # a parameter such as filename; the id may be a stranger's
        raise GameError(f"openspiel: azcore cannot play {spiel_id}: it is read from a file")
    try:
        game = pyspiel.load_game(spiel_id)
        reason = _why_not(pyspiel, game)
    except Exception as error:  # a SpielError, or whatever C++ throws at a parameter
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise GameError(f"openspiel: {spiel_id} cannot be loaded: {reason}") from error
    if reason:
        raise GameError(f"openspiel: azcore cannot play {spiel_id}: {reason}")
    return game


def _why_not(pyspiel: Any, game: Any) -> str:
    """Why azcore cannot play a game of OpenSpiel; empty: it can."""
    kind, players = game.get_type(), game.num_players()
    if players != 2:
        return f"it is for {players} player{'s' * (players > 1)}, want 2"
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        return "the players move at the same time, want one after the other"
    if kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC:
        return "it has moves of chance, want none"
    if kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION:
        return "it hides something from a player, want perfect information"
    if kind.utility != pyspiel.GameType.Utility.ZERO_SUM:
        return "what one player wins is not what the other loses, want a zero-sum game"
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
    return ""
