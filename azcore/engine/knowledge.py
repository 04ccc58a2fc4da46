"""Moves and values without a search: an opening book and a tablebase.

The tablebase comes first, since it is exact.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from azcore.chance import Purpose, generator
from azcore.engine.settings import EngineSettings
from azcore.errors import GameError
from azcore.game import Book, Game, Solved, Tablebase
from azcore.storage.books import choose, read_book


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """The book or tablebase data on a position."""

    actions: tuple[int, ...]  # the first is the one to play, unless all are equally good
    value: float | None  # exact, view of the player to move; None: from the book, without values

    @property
    def leaves_a_choice(self) -> bool:
        """Whether a search should choose among the actions: several keep a draw."""
        return self.value == 0 and len(self.actions) > 1


class Knowledge:
    """The book and the tablebase that settings name.

    Args:
        settings: name the files, which are opened now.
        seed: the seed of the moves drawn from the book.

    Raises:
        AzcoreError: a file cannot be used; the message names it.
    """

    def __init__(self, game: Game, settings: EngineSettings, seed: int) -> None:
        self._game, self._settings, self._seed = game, settings, seed
        self._games = 0
        self.book: Book | None = None
        self.tablebase: Tablebase | None = None
        if settings.book is not None:
            plies = settings.book_plies
            self.book = read_book(game, settings.book, "engine.book", plies=plies)
        if settings.tablebase is not None:
            self.tablebase = game.tablebase(settings.tablebase)
            if self.tablebase is None:
                raise GameError(
                    f"engine.tablebase must be null for {game.name}, which has no tablebases, "
                    f"got {settings.tablebase}"
                )

    def begin_game(self) -> None:
        """Make the book draw other moves in the next game."""
        self._games += 1

    def is_of(self, settings: EngineSettings) -> bool:
        """Whether settings name the same files, with the same options."""
        return _names(settings) == _names(self._settings)

    def recall(
        self, state: Any, ply: int, only: Sequence[int], *, from_book: bool
    ) -> Recalled | None:
        """The data on a position that is not over; None: no data.

        Args:
            ply: actions played before it.
            only: the actions to consider; empty: all.
        """
        solved = self._solve(state)
        if solved is not None:
            actions = tuple(a for a in solved.actions if not only or a in only)
            if not actions:  # all of them worsen the result
                return None
            sign = 1 if self._game.current_player(state) == 0 else -1
            return Recalled(actions=actions, value=float(sign * solved.outcome))
        if self.book is None or not from_book or ply >= self._settings.book_plies:
            return None
        found = [(a, weight) for a, weight in self._look_up(state) if not only or a in only]
        if not found:
            return None
        rng = None
        if self._settings.book_choice == "weighted":
            rng = generator(Purpose.BOOK, self._seed, self._games, ply)
        return Recalled(actions=(choose(found, rng),), value=None)

    def _look_up(self, state: Any) -> Sequence[tuple[int, float]]:
        assert self.book is not None
        try:
            return list(self.book.actions(state))
        except Exception as error:  # a file was deleted or altered, which may raise any error
            print(f"azcore: continuing without the book: {error!r:.200}", file=sys.stderr)
            self.book = None
            return []

    def _solve(self, state: Any) -> Solved | None:
        if self.tablebase is None:
            return None
        try:
            return self.tablebase.solve(state)
        except GameError as error:  # a damaged file must not cost a game
            print(f"azcore: continuing without the tablebase: {error}", file=sys.stderr)
            self.tablebase = None
            return None


def _names(settings: EngineSettings) -> tuple[object, ...]:
    return settings.book, settings.tablebase, settings.book_choice, settings.book_plies
