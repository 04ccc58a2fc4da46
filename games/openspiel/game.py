"""A game of OpenSpiel for azcore: the rules are OpenSpiel's, the state is a `pyspiel.State`.

`loading.py` finds the game and refuses what azcore cannot play. docs/openspiel.md lists the games.
The first to move is seat 0, whatever OpenSpiel's number for that player.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from azcore.errors import GameError, IllegalActionError, InvalidTextError
from azcore.game import (
    Board,
    BoolArray,
    Facts,
    FloatArray,
    Game,
    Piece,
    illegal_action_message,
    require_legal,
)

from .grid import PASS, Grid, grid_of
from .lines import Lines, lines_of
from .loading import load, require_received

MOST_PLIES = 10_000
LARGEST = 255  # largest value of a plane, which is a byte
_COLOUR = re.compile("\x1b\\[[0-9;]*m")  # a terminal's colour codes


class OpenSpiel(Game):
    """One two-player, sequential, deterministic zero-sum game of perfect information.

    Actions are OpenSpiel's. The observation is OpenSpiel's tensor for the player to move and one
    more plane, which shows the seat to move. A tensor of one axis is one plane of 1 × N cells.
    azcore reads shares from 0 to 1 in a tensor in steps of 1 / 255, and counts above 255 as 255.


    Args:
        id: the game in OpenSpiel's notation, such as `hex(board_size=7)`.
        max_plies: the game is a draw after this many plies, 1 to 10,000, unless OpenSpiel's rules
            end it before.

    Raises:
        GameError: a setting is out of range, OpenSpiel is not installed or lacks the game, or
            azcore cannot play it.
    """

    def __init__(self, *, id: str = "hex(board_size=7)", max_plies: int = 1000) -> None:
        # The defaults are for direct use; runs take theirs from conf/game/openspiel.yaml.
        if not isinstance(id, str):
            raise GameError(f"openspiel: id must be text such as hex(board_size=7), got {id!r}")
        if type(max_plies) is not int or not 1 <= max_plies <= MOST_PLIES:
            raise GameError(
                f"openspiel: max_plies must be a whole number, 1 to {MOST_PLIES:,}, "
                f"got {max_plies!r}"
            )
        self._id, self._rules = id, load(id)
        start = self._rules.new_initial_state()
        self._first = start.current_player()  # OpenSpiel's number of seat 0
        tensor = np.array(start.observation_tensor(self._first))
        self._scale = 1 if tensor.max() > 1 else LARGEST  # counts, or shares
        self._shape = _planes(self._rules.observation_tensor_shape())
        planes = self._shape[0] + 1
        super().__init__(
            Facts(
                name="openspiel",
                version=1,
                settings={"id": id, "max_plies": max_plies},
                num_actions=self._rules.num_distinct_actions(),
                observation_shape=(planes, *self._shape[1:]),
                observation_maximum=[LARGEST] * planes,
                max_game_length=min(max_plies, self._rules.max_game_length()),
                dirichlet_alpha=min(1.0, 10 / len(start.legal_actions())),  # as AlphaZero's three
                seat_names=("first", "second"),
            )
        )

    @classmethod
    def require_received(cls, settings: Mapping[str, Any]) -> None:
        """See `listed.py`."""
        if isinstance(settings.get("id"), str):
            require_received(settings["id"])

    # -- rules ----------------------------------------------------------------------------------

    def initial_state(self) -> Any:
        return self._rules.new_initial_state()

    def current_player(self, state: Any) -> int:
        if state.is_terminal():
            return 1 - self._seat(state.full_history()[-1].player)
        return self._seat(state.current_player())

    def _seat(self, player: int) -> int:
        """The seat of one of OpenSpiel's players, and vice versa."""
        return int(player ^ self._first)

    def legal_action_mask(self, state: Any) -> BoolArray:
        mask = np.zeros(self.num_actions, np.bool_)
        if not self.is_terminal(state):
            mask[state.legal_actions()] = True
        return mask

    def step(self, state: Any, action: int) -> Any:
        action = int(action)
        if self.is_terminal(state) or action not in state.legal_actions():
            raise IllegalActionError(illegal_action_message(self, state, action))
        return state.child(action)

    def is_terminal(self, state: Any) -> bool:
        return bool(state.is_terminal() or state.move_number() >= self.max_game_length)

    def outcome(self, state: Any) -> int:
        return int(np.sign(state.returns()[self._first])) if state.is_terminal() else 0

    def observation(self, state: Any) -> FloatArray:
        seat = self.current_player(state)
        planes = np.empty(self.observation_shape, np.float32)
        tensor = np.array(state.observation_tensor(self._seat(seat)), np.float32)
        np.rint(tensor.reshape(self._shape) * self._scale, out=planes[:-1])
        if self._scale == 1:
            np.minimum(planes, LARGEST, out=planes)
        planes[-1] = LARGEST * seat
        return planes

    # -- texts ----------------------------------------------------------------------------------

    def termination(self, state: Any) -> str:
        return super().termination(state) if state.is_terminal() else "too many plies"

    def action_to_text(self, state: Any, action: int) -> str:
        """OpenSpiel's own text without blanks; `#7` for action 7 if it is not legal."""
        if self.is_terminal(state) or action not in state.legal_actions():
            return f"#{action}"
        return _text(state, action)

    def text_to_action(self, state: Any, text: str) -> int:
        legal = [] if self.is_terminal(state) else state.legal_actions()
        for action in legal:
            if _text(state, action) == text:
                return int(action)
        if re.fullmatch("#[0-9]{1,6}", text, re.ASCII):
            return require_legal(self, state, int(text[1:]))
        raise InvalidTextError(
            f"an action is OpenSpiel's text of a legal one without blanks, or # and its number, "
            f"got {text[:40]!r}"
        )

    def state_to_text(self, state: Any) -> str:
        """The number of plies and a colon, then the numbers of the actions: `2: 24 7`.

        If the game has a board, its rows come first: `.../.x./..o 2: 4 8`.
        """
        actions = state.history()
        return " ".join([*self._placement(state), f"{len(actions)}:", *map(str, actions)])

    def state_from_text(self, text: str) -> Any:
        placement = [] if self._drawn is None else text.split(" ")[:1]
        words = text.split(" ")[len(placement) :]
        if (
            not re.fullmatch("[0-9]+:( [0-9]+)*", " ".join(words), re.ASCII)
            or words[0] != f"{len(words) - 1}:"
        ):
            start = self.state_to_text(self.initial_state())
            raise InvalidTextError(
                f"a position is {'the rows of the board, ' if placement else ''}the number of "
                f"plies and the actions, such as {start[:40]!r}, got {text[:40]!r}"
            )
        state = self.initial_state()
        for word in words[1:]:
            if len(word) > 6 or self.is_terminal(state) or int(word) not in state.legal_actions():
                raise InvalidTextError(f"action {word[:9]} is not legal in {text[:40]!r}")
            state.apply_action(int(word))
        if placement != self._placement(state):
            raise InvalidTextError(
                f"the actions lead to {self._placement(state)[0][:40]}, got {placement[0][:40]!r}"
            )
        return state

    def render(self, state: Any) -> str:
        return _COLOUR.sub("", str(state)).rstrip("\n")

    # -- board ----------------------------------------------------------------------------------

    @property
    def has_board(self) -> bool:
        return self._drawn is not None

    def board(self, state: Any) -> Board | None:
        """The board, if actions are cells of a grid or lines between points; else None."""
        drawn = self._drawn
        if drawn is None:
            return None
        last = [drawn.click(action) for action in state.history()[-1:]]
        over = self.is_terminal(state)
        return Board(
            layout=drawn.layout,
            pieces=tuple(
                Piece(place, self._seat(player), role)
                for place, player, role in drawn.pieces(state)
            ),
            to_move=None if over else self.current_player(state),
            actions={
                action: (drawn.click(action),) for action in ([] if over else state.legal_actions())
            },
            last=tuple(click for click in last if click != PASS),
            note="the last move was a pass" if last == [PASS] else "",
        )

    @cached_property
    def _drawn(self) -> Grid | Lines | None:
        return grid_of(self._id) or lines_of(self._id)

    def _placement(self, state: Any) -> list[str]:
        """The rows of the board as one word, if the game has a board."""
        if self._drawn is None:
            return []
        layout = self._drawn.layout
        marks = np.full((layout.down, layout.across), ".")
        for place, player, _ in self._drawn.pieces(state):
            column, row = layout.places[place]
            marks[row, column] = "xo"[self._seat(player)]
        return ["/".join("".join(row) for row in marks)]


def _text(state: Any, action: int) -> str:
    """OpenSpiel's text of a legal action, without blanks."""
    return "_".join(state.action_to_string(state.current_player(), action).split())


def _planes(shape: list[int]) -> tuple[int, int, int]:
    """The shape [C, H, W] of an observation with OpenSpiel's tensor."""
    if len(shape) == 1:
        return 1, 1, shape[0]
    if len(shape) == 2:
        return shape[0], 1, shape[1]
    return shape[0], shape[1], int(np.prod(shape[2:]))
