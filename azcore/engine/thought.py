"""The line of a game, the limits of a search, and its results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from azcore.engine.mates import Proof
from azcore.game import Game
from azcore.search.predictions import Prediction


class Line:
    """A game so far: its starting position, the actions, and every state on the way.

    Args:
        start_text: the starting position for `Game.state_from_text`; None: the initial one.

    Raises:
        InvalidTextError: the text is not a position.
    """

    def __init__(self, game: Game, start_text: str | None = None) -> None:
        self.game = game
        self.start_text = start_text
        start = game.initial_state() if start_text is None else game.state_from_text(start_text)
        self.states: list[Any] = [start]
        self.actions: list[int] = []

    @property
    def state(self) -> Any:
        return self.states[-1]

    @property
    def is_over(self) -> bool:
        return self.game.is_terminal(self.state)

    @property
    def player(self) -> int:
        return self.game.current_player(self.state)

    def play(self, action: int) -> None:
        """Play an action.

        Raises:
            IllegalActionError: the action is not legal; the line is unchanged.
        """
        self.states.append(self.game.step(self.state, action))
        self.actions.append(action)

    def undo(self) -> None:
        """Take back the last action; there must be one."""
        self.actions.pop()
        self.states.pop()

    def end(self) -> "Line":
        """A copy with only the last state, which cannot be undone."""
        line = self.copy()
        line.states = line.states[-1:]
        return line

    def copy(self) -> "Line":
        line = object.__new__(Line)
        line.game, line.start_text = self.game, self.start_text
        line.states, line.actions = list(self.states), list(self.actions)
        return line


def shared_plies(first: Sequence[object], second: Sequence[object]) -> int:
    """How many first plies two games from the same position share, by actions or by texts."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When to stop: at whichever of these comes first, and always on `stop`.

    Without any of them the search continues until `stop`, however full the tree.
    """

    simulations: int | None = None  # new ones, without those already in the tree
    seconds: float | None = None  # since the search began, or since `change_limits`
    depth: int | None = None  # plies of the best variation, or fewer if it is decided earlier
    actions: tuple[int, ...] = ()  # the only ones to consider; empty: all legal ones
    book: bool = False  # whether an opening book may answer
    tablebase: bool = False  # whether a tablebase may
    forced_wins: bool = False  # whether a win that `search.proof_plies` finds may
    mate_plies: int | None = None  # first search for a forced win within this many plies
    only_checks: bool = False  # each of its actions must give check, and no other search follows

    @property
    def is_endless(self) -> bool:
        return self.simulations is None and self.seconds is None and self.depth is None


@dataclass(frozen=True, kw_only=True)
class Variation:
    """One action of the root and its search results."""

    action: int
    visits: int  # simulations; 1 or more for a win that the rules prove
    value: float  # mean of its simulations in [-1, 1], view of the player to move at the root
    prior: float  # P of the network
    actions: list[int]  # the expected line, `action` first
    prediction: Prediction | None = None  # for the position after it, same view; None: none


@dataclass(frozen=True, kw_only=True)
class Thought:
    """A snapshot of the search; values are in the view of the player to move at the root."""

    state: Any  # the root
    variations: list[Variation]  # all considered actions, best first; empty in a finished game
    value: float  # of the root, in [-1, 1]
    simulations: int  # in the tree, including those reused from earlier moves
    new_simulations: int
    seconds: float
    fullness: float = 0.0  # of the tree's nodes or memory, whichever is fuller, 0 to 1
    prediction: Prediction | None = None  # for the root; None: not requested or not available
    proof: Proof | None = None  # of a win, if the limits request one
    source: str = ""  # `book` or `tablebase`, if it comes from there

    @property
    def best(self) -> Variation | None:
        """The variation to play; None in a finished game."""
        return self.variations[0] if self.variations else None

    def should_resign(self, resign_below: float | None) -> bool:
        """Whether the root's value and the best child's are both below a threshold; None: never.

        Silver 2017, Methods "Search algorithm".
        """
        values = [self.value, *(variation.value for variation in self.variations[:1])]
        return resign_below is not None and max(values) < resign_below


Report = Callable[[Thought], None]
