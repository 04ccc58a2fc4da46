"""The view of a state: copies of everything that a game returns for it, compared by every check."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from azcore.game import BoolArray, FloatArray, Game

_ENOUGH_PAIRS = 50  # of positions, to judge observations by
_CONTRAST = 0.75  # observations that ignore the seat have 0.5; those that show it, 1 and more


@dataclass(frozen=True, kw_only=True)
class View:
    """Copies of everything that a game returns for one state."""

    current_player: int
    is_terminal: bool
    legal_action_mask: BoolArray  # [A]
    outcome: int  # view of seat 0, 0 where not terminal
    observation: FloatArray  # [C, H, W]


def view_of(game: Game, state: Any) -> View:
    """The view as the game returns it; `Checker.look` also checks its form."""
    over = game.is_terminal(state)
    return View(
        current_player=game.current_player(state),
        is_terminal=over,
        legal_action_mask=np.array(game.legal_action_mask(state)),
        outcome=game.outcome(state) if over else 0,
        observation=np.array(game.observation(state)),
    )


class SeatContrast:
    """Compares observations one and two plies apart, over many games.

    If own pieces come first, or a plane shows the seat, a change of the seat to move changes much.
    If observations ignore the seat, two plies change about twice as much as one.
    """

    def __init__(self) -> None:
        self._compared = 0  # pairs
        self._one = self._two = 0  # values that differ after one ply, and after two

    def note(self, views: list[View]) -> None:
        """Count the differences in the positions of a game."""
        for now, after, later in zip(views, views[1:], views[2:], strict=False):
            if now.current_player == later.current_player != after.current_player:
                self._compared += 1
                self._one += int((now.observation != after.observation).sum())
                self._two += int((now.observation != later.observation).sum())

    @property
    def is_blind_to_seats(self) -> bool:
        """Whether the observations seem not to depend on the seat to move."""
        return self._compared >= _ENOUGH_PAIRS and self._one < _CONTRAST * self._two


def difference(got: View, want: View, tolerance: float = 0.0) -> str | None:
    """Describe the first difference between two views; None if they agree."""
    for fact in ("current_player", "is_terminal", "outcome"):
        if getattr(got, fact) != getattr(want, fact):
            return f"{fact} is {getattr(got, fact)}, want {getattr(want, fact)}"
    extra = np.flatnonzero(got.legal_action_mask & ~want.legal_action_mask)
    missing = np.flatnonzero(want.legal_action_mask & ~got.legal_action_mask)
    if len(extra) or len(missing):
        return (
            f"legal_action_mask allows {extra.tolist()} too many and lacks {missing.tolist()}, "
            f"want {ranges(want.legal_action_mask)}"
        )
    wrong = np.argwhere(~(np.abs(got.observation - want.observation) <= tolerance))
    if len(wrong):
        plane, row, column = wrong[0]
        return (
            f"observation at plane {plane}, row {row}, column {column} is "
            f"{got.observation[tuple(wrong[0])]}, want {want.observation[tuple(wrong[0])]}; "
            f"{len(wrong)} values differ"
        )
    return None


def ranges(mask: BoolArray) -> str:
    """`0-3,7` for a mask that allows 0 to 3 and 7, `-` for one that allows nothing."""
    edges = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    return ",".join(f"{a}-{b - 1}" if b - a > 1 else f"{a}" for a, b in edges.tolist()) or "-"


def content(state: Any) -> tuple[bytes, ...] | None:
    """The bytes of a record field by field, without padding; None for other states."""
    if not isinstance(state, np.void) or state.dtype.names is None:
        return None
    return tuple(np.asarray(state[name]).tobytes() for name in state.dtype.names)


def legal_texts(game: Game, state: Any, view: View) -> set[str]:
    legal = np.flatnonzero(view.legal_action_mask).tolist()
    return {game.action_to_text(state, action) for action in legal}


def drawn(game: Game, state: Any) -> str:
    try:
        return game.render(state)
    except Exception as error:  # a fault in drawing must not hide the one to report
        return f"(render raised {type(error).__name__}: {error})"
