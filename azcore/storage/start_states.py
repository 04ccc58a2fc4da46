"""The states in which games begin: the game's own, and the positions of records' starts.

Letters: N positions of a batch, S different states in which their games begin.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.game import Game

MOST_KEPT = 10_000  # by their text; a state of a large board takes some kilobytes


def own_starts(game: Game) -> dict[str | None, Any]:
    """The states of `Game.start_states`, keyed by the text for `GameRecord.start`.

    The key None stands for the initial state, if that is one of them.
    """
    initial = game.state_to_text(game.initial_state())
    starts: dict[str | None, Any] = {}
    for state in game.start_states():
        text = game.state_to_text(state)
        starts[None if text == initial else text] = state
    return starts


class StartStates:
    """Reads each start once and keeps its state. Not thread-safe."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._initial = game.initial_state()  # kept, since making one may take milliseconds
        self._states: dict[str, Any] = {}

    def of(self, start: str | None) -> Any:
        """The state of `GameRecord.start`, which callers must not change.

        Raises:
            InvalidTextError: it is not a position.
        """
        if start is None:
            return self._initial
        if start not in self._states:
            if len(self._states) == MOST_KEPT:
                self._states.clear()
            self._states[start] = self._game.state_from_text(start)
        return self._states[start]


class WindowStarts:
    """The starts of the games in a window, under numbers that games store; 0 is the initial state.

    It keeps a start while a game uses it. Several threads may look up states at once while none
    adds or drops games.
    """

    def __init__(self, game: Game) -> None:
        self._game = game
        self._numbers: dict[str, int] = {}
        self._texts: dict[int, str] = {}  # by number
        self._uses: dict[int, int] = {}  # by number: games that have it
        self._states: dict[int, Any] = {}
        self._last = 0

    def __len__(self) -> int:
        """The number of different starts, besides the initial state."""
        return len(self._numbers)

    def add(self, start: str | None) -> int:
        """Add a game; returns the number of its start."""
        if start is None:
            return 0
        number = self._numbers.get(start)
        if number is None:
            self._last = number = self._last + 1
            self._numbers[start], self._uses[number] = number, 0
            self._texts[number] = start
            self._states[number] = self._game.state_from_text(start)
        self._uses[number] += 1
        return number

    def drop(self, numbers: Iterable[int]) -> None:
        """Drop games with these starts, none of them 0."""
        for number in numbers:
            self._uses[number] -= 1
            if not self._uses[number]:
                del self._numbers[self._texts.pop(number)]
                del self._uses[number], self._states[number]

    def text_of(self, number: int) -> str | None:
        """`GameRecord.start` for a number."""
        return self._texts[number] if number else None

    def states_of(self, numbers: npt.NDArray[np.int64]) -> tuple[list[Any], npt.NDArray[np.int32]]:
        """The S - 1 states besides the initial one, and each game's: int32 [N], 0 to S - 1.

        Args:
            numbers: int64 [N], of the games.
        """
        if not self._numbers:
            return [], np.zeros(len(numbers), np.int32)
        different, places = np.unique(np.append(0, numbers), return_inverse=True)
        states = [self._states[number] for number in different[1:].tolist()]
        return states, places[1:].astype(np.int32)
