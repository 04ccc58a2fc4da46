"""Knowledge about a game besides its rules: opening books and tablebases.

A game with its own formats makes these objects from files, see `Game.opening_book` and
`Game.tablebase`. They are optional: they answer instead of a search.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


class Book(ABC):
    """Actions for positions, usually of the opening."""

    @abstractmethod
    def actions(self, state: Any) -> list[tuple[int, float]]:
        """(action, weight) of the legal actions known in a state, the largest weight first.

        Weights are above 0. Empty: the state is not in the book.
        """


@dataclass(frozen=True, kw_only=True)
class Solved:
    """A tablebase's data on a state that is not over."""

    outcome: int  # z with best play from here, view of seat 0
    # Actions that keep the outcome. The first of a win makes progress: playing it repeatedly wins.
    # The first of a loss resists longest. Those of a draw have no order.
    actions: tuple[int, ...]


class Tablebase(ABC):
    """Exact outcomes of some states."""

    @abstractmethod
    def solve(self, state: Any) -> Solved | None:
        """The outcome of a state that is not over; None: it is not in the tables.

        It may ignore a limit on the length of a game.

        Raises:
            GameError: the tables are damaged.
        """
