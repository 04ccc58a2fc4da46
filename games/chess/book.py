"""Opening books in Polyglot's format, read by python-chess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from azcore.errors import GameError
from azcore.game import Game

from .notation import action_to_text, legal_actions, to_board


def book_actions(game: Game, state: Any, path: str | Path) -> list[tuple[int, int]]:
    """The legal actions that a Polyglot opening book has for this state, with their weights.

    Returns:
        (action, weight) with the largest weight first; empty if the book has no legal move.

    Raises:
        GameError: the file cannot be read.
    """
    import chess.polyglot

    legal = {action_to_text(state, action): action for action in legal_actions(game, state)}
    try:
        with chess.polyglot.open_reader(path) as reader:
            entries = [
                (entry.move.uci(), entry.weight) for entry in reader.find_all(to_board(state))
            ]
    except (OSError, ValueError) as error:  # ValueError: an impossible path
        raise GameError(f"{game.name}: the book {path} cannot be read: {error}") from error
    found = [(legal[move], weight) for move, weight in entries if move in legal]
    return sorted(found, key=lambda entry: -entry[1])
