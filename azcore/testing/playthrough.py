"""Recorded games: a playthrough describes every position, so it reveals any change in a game."""

import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from azcore.errors import InvalidTextError
from azcore.game import Game
from azcore.testing.contract import ContractError, Identity
from azcore.testing.view import drawn, ranges, view_of


def record_playthrough(game: Game, actions: Sequence[int]) -> str:
    """Describe a game ply by ply as text to store next to its tests.

    The first line identifies the game. Each further line has ply, seat to move, legal actions,
    CRC-32 of the observation's bytes, then the action with its text, or the outcome if the game is
    over.
    """
    return "".join(f"{line}\n" for line, _ in _described(game, actions))


def check_playthrough(game: Game, text: str) -> None:
    """Replay a text of `record_playthrough` and compare every line.

    Raises:
        ContractError: a line has changed; the text shows the new and the old line.
        InvalidTextError: the text is not a playthrough.
    """
    recorded = text.splitlines()
    if len(recorded) < 2:
        raise InvalidTextError(f"a playthrough has at least two lines, got {len(recorded)}")
    actions = []
    for number, line in enumerate(recorded[1:-1], start=2):
        words = line.split()
        if len(words) < 6 or not (words[4].isascii() and words[4].isdecimal()):
            raise InvalidTextError(f"line {number} of a playthrough names no action: {line!r}")
        actions.append(int(words[4]))
    for want, (got, state) in zip(recorded, _described(game, actions), strict=True):
        if got != want:
            raise ContractError(
                Identity.PLAYTHROUGH,
                f"{game.name}, '{Identity.PLAYTHROUGH.value}':\ngot  {got}\nwant {want}\n"
                f"{drawn(game, state)}",
            )


def _described(game: Game, actions: Sequence[int]) -> Iterator[tuple[str, Any]]:
    """The lines of a playthrough, each with its state; plays an action after its line."""
    state = game.initial_state()
    yield json.dumps(game.identity, sort_keys=True), state
    for ply in range(len(actions) + 1):
        view = view_of(game, state)
        digest = f"{zlib.crc32(view.observation.tobytes()):08x}"
        line = f"{ply} {view.current_player} {ranges(view.legal_action_mask)} {digest}"
        if ply < len(actions):
            yield f"{line} {actions[ply]} {game.action_to_text(state, actions[ply])}", state
            state = game.step(state, actions[ply])
        else:
            end = f"outcome {view.outcome:+d}" if view.is_terminal else "unfinished"
            yield f"{line} {end}", state
