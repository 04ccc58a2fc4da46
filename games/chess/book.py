"""Opening books in Polyglot's format, read by python-chess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from azcore.errors import GameError
from azcore.game import Book, Game

from .notation import action_to_text, legal_actions, to_board

SUFFIX = ".bin"
ENTRY = np.dtype([("key", ">u8"), ("move", ">u2"), ("weight", ">u2"), ("learn", ">u4")])


class PolyglotBook(Book):
    """A Polyglot book, which stays on disk.

    Raises:
        GameError: the file cannot be read, or is not a Polyglot book.
    """

    def __init__(self, game: Game, path: Path) -> None:
        self._game, self._path = game, path
        book_actions(game, game.initial_state(), path)  # raises if it cannot read the file
        size = path.stat().st_size
        if size == 0 or size % ENTRY.itemsize:
            raise GameError(
                f"{game.name}: a Polyglot book must have entries of {ENTRY.itemsize} bytes, got "
                f"{size} bytes in {path}"
            )
        keys = np.memmap(path, ENTRY, mode="r")["key"]
        if (keys[1:] < keys[:-1]).any():
            raise GameError(
                f"{game.name}: the entries of a Polyglot book must be in ascending order, unlike "
                f"those of {path}: it is not a Polyglot book"
            )

    def actions(self, state: Any) -> list[tuple[int, float]]:
        return [(action, float(w)) for action, w in book_actions(self._game, state, self._path)]


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
