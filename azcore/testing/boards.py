"""Checks of `Game.board`: its content, and the clicks for actions."""

from typing import Any

import numpy as np

from azcore.game import Board
from azcore.testing.checker import Checker
from azcore.testing.contract import Identity
from azcore.testing.view import View

Contents = tuple[frozenset[Any], tuple[Any, ...]]  # pieces, and what each hand holds


class Boards:
    """Checks the boards of many positions, and remembers their content."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.first: Board | None = None  # of the game under test
        self.shown: dict[str, frozenset[Any]] = {}  # pieces by the placement in the state's text
        self.placements: dict[Any, str] = {}  # and the reverse, by the board's size too

    def begin(self) -> None:
        """Begin a new game, perhaps on a board with another layout."""
        self.first = None

    def check(self, state: Any, view: View) -> None:
        """Check the board of a position; does nothing if the game has none."""
        checker, game, identity = self.checker, self.checker.game, Identity.BOARD
        if not game.has_board:
            return
        board = self._ask(state)
        self.first = self.first or board
        same = board.layout == self.first.layout
        checker.expect(identity, same, "the layout is not the one of the game's first position")
        want = None if view.is_terminal else view.current_player
        message = f"to_move is {board.to_move}, want {want}"
        checker.expect(identity, board.to_move == want, message)
        self._check_actions(state, view, board)
        # A missing or misplaced piece shows up: then different placements have equal pieces, or a
        # position read back from its text has others.
        text = game.state_to_text(state)
        placement, pieces = text.split()[0], frozenset(board.pieces)
        before = self.shown.setdefault(placement, pieces)
        message = (
            f"the placement {placement} had other pieces before: {_differences(before, pieces)}"
        )
        checker.expect(identity, before == pieces, message)
        drawn = (board.layout.columns, board.layout.rows, pieces)
        known = self.placements.setdefault(drawn, placement)
        message = f"the board of {placement} has the pieces of {known}"
        checker.expect(identity, known == placement, message)
        again = self._ask(game.state_from_text(text))
        message = f"read back from {text!r} it has other pieces or hands"
        checker.expect(identity, _contents(again) == _contents(board), message)

    def _ask(self, state: Any) -> Board:
        board = self.checker.ask(Identity.BOARD, "board", state)
        good = isinstance(board, Board)
        message = f"got {type(board).__name__}, want a Board for every state"
        self.checker.expect(Identity.BOARD, good, message)
        assert isinstance(board, Board)
        return board

    def _check_actions(self, state: Any, view: View, board: Board) -> None:
        """Require paths for exactly the legal actions; `Board` ensures that paths are distinct."""
        game = self.checker.game
        legal = set(np.flatnonzero(view.legal_action_mask).tolist())
        for what, actions in (
            ("cannot be clicked", legal - set(board.actions)),
            ("can be clicked, but is not legal", set(board.actions) - legal),
        ):
            some = min(actions, default=-1)
            text = "" if some < 0 else f"{game.action_to_text(state, some)} (action {some}) {what}"
            self.checker.expect(Identity.BOARD, not actions, text)


def _contents(board: Board) -> Contents:
    hands = [
        frozenset((role, count) for role, count in hand.items() if count) for hand in board.hands
    ]
    return frozenset(board.pieces), tuple(hands)


def _differences(before: frozenset[Any], now: frozenset[Any]) -> str:
    pieces = sorted(before ^ now, key=repr)
    return ", ".join(f"{piece.role} on {piece.place}" for piece in pieces[:3])
