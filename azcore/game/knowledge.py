"""What others know about a game besides its rules: opening books and tablebases.

A game that has formats of its own for them makes these objects from files, see
`Game.opening_book` and `Game.tablebase`. Nobody needs them: they answer instead of a search.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


class Book(ABC):
    """Actions for positions, usually of the opening."""

    @abstractmethod
    def actions(self, state: Any) -> list[tuple[int, float]]:
        """(action, weight) of the legal actions known in a state, the largest weight first.

        Weights are above 0. Empty: the book does not know this state.
        """


@dataclass(frozen=True, kw_only=True)
class Solved:
    """What a tablebase says of a state that is not over."""

    outcome: int  # z with best play from here, view of seat 0
    # Those that keep the outcome. The first of a win makes progress: who plays it again and again
    # wins. The first of a loss resists longest. Those of a draw are in no order.
    actions: tuple[int, ...]


class Tablebase(ABC):
    """Exact outcomes of some states."""

    @abstractmethod
    def solve(self, state: Any) -> Solved | None:
        """The outcome of a state that is not over; None: it is not in the tables.

        A limit on the length of a game may be left out of account.

        Raises:
            GameError: the tables are damaged.
        """
