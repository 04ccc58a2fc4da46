"""Checks of texts: actions and states read back, damaged or meaningless text, colours swapped."""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.errors import AmbiguousTextError, IllegalActionError, InvalidTextError
from azcore.testing.checker import Checker
from azcore.testing.contract import Identity
from azcore.testing.rules import check_over_or_legal
from azcore.testing.view import View, drawn

# Limits per position, since a game may have thousands of actions.
_LEGAL = 32  # legal actions read back from text
_ILLEGAL = 4  # illegal ones
_DAMAGED = 1 / 4  # share of positions whose text is damaged: reading a board may take milliseconds
# Characters that a typing error may insert, besides those of the text itself.
_STRAY = "./-+ 0123456789"

_REFUSALS = (InvalidTextError, IllegalActionError, AmbiguousTextError)
# `²` is a digit to str.isdigit but not to int; the full-width one is a digit to both.
_NONSENSE = ("", " ", "?", "\0", "é", "²", "\uff11", "?" * 9, "x" * 5000, "\n", "none of this")


def check_nonsense(checker: Checker, state: Any) -> None:
    for text in _NONSENSE:
        checker.expect_refusal(Identity.GARBAGE, InvalidTextError, "text_to_action", state, text)
        checker.expect_refusal(Identity.GARBAGE, InvalidTextError, "state_from_text", text)


def _damaged(checker: Checker, text: str) -> list[str]:
    """`text` with a random character replaced, doubled or deleted: three variants."""
    rng = checker.rng
    replaced, doubled, deleted = rng.integers(len(text), size=3).tolist()
    other = str(rng.choice(list(text + _STRAY)))
    return [
        text[:replaced] + other + text[replaced + 1 :],
        text[:doubled] + text[doubled] + text[doubled:],
        text[:deleted] + text[deleted + 1 :],
    ]


def check_action_texts(checker: Checker, state: Any, view: View) -> None:
    game, identity = checker.game, Identity.ACTION_TEXT
    legal = np.flatnonzero(view.legal_action_mask)
    owner: dict[str, int] = {}
    for action in legal.tolist():
        with checker.during(identity, f"action_to_text of {action}"):
            text = game.action_to_text(state, action)
        good = isinstance(text, str) and text != "" and text.isprintable()
        checker.expect(identity, good, f"the text of action {action} is {text!r}")
        first = owner.setdefault(text, action)
        checker.expect(identity, first == action, f"actions {first} and {action} are both {text}")
    for action in checker.sample(legal, _LEGAL):
        text = game.action_to_text(state, action)
        with checker.during(identity, f"text_to_action of {text!r}"):
            meant = game.text_to_action(state, text)
        checker.expect(identity, meant == action, f"{text!r} is {meant}, want {action}")
    if owner:
        text = str(checker.rng.choice(sorted(owner)))
        for nonsense in (text + "?", text + "\0", "é" + text, text[:-1] + "²"):
            checker.expect_refusal(
                Identity.GARBAGE, InvalidTextError, "text_to_action", state, nonsense
            )
    # The text of an illegal action may also mean a legal one, but never the illegal one.
    for action in checker.sample(np.flatnonzero(~view.legal_action_mask), _ILLEGAL):
        with checker.during(identity, f"action_to_text of {action}"):
            text = game.action_to_text(state, action)
        _check_legal_or_refused(checker, identity, state, text, legal)
    # The damaged text of a legal action may mean another legal one.
    if owner:
        for damaged in _damaged(checker, str(checker.rng.choice(sorted(owner)))):
            _check_legal_or_refused(checker, Identity.GARBAGE, state, damaged, legal)


def _check_legal_or_refused(
    checker: Checker, identity: Identity, state: Any, text: str, legal: npt.NDArray[np.intp]
) -> None:
    """Require that `text` means a legal action or raises one of the three narrow errors."""
    what = f"text_to_action of {text!r}"
    got, good = None, True
    with suppress(*_REFUSALS), checker.during(identity, what, *_REFUSALS):
        got = checker.game.text_to_action(state, text)
        good = got in legal
    checker.expect(identity, good, f"{what} gave {got}: not legal")


class StateTexts:
    """Checks states read back from text, and remembers all placements of a game."""

    def __init__(
        self,
        checker: Checker,
        swap_colours: Callable[[str], str | None] | None,
        colour_planes: Collection[int],
    ) -> None:
        self.checker = checker
        self.swap_colours = swap_colours
        num_planes = checker.game.observation_shape[0]
        self.seen_planes = [c for c in range(num_planes) if c not in colour_planes]
        self.placements: list[str] = []  # first word of the text of each state so far

    def begin(self) -> None:
        self.placements = []

    def check(self, state: Any, view: View) -> None:
        checker, game, identity = self.checker, self.checker.game, Identity.STATE_TEXT
        with checker.during(identity, "state_to_text"):
            text = game.state_to_text(state)
        good = isinstance(text, str) and text.strip() != "" and text.isprintable()
        checker.expect(identity, good, f"state_to_text is one line, got {text!r}")
        with checker.during(identity, f"state_from_text of {text!r}"):
            again = game.state_from_text(text)
            text_again = game.state_to_text(again)
        same = text_again == text
        checker.expect(identity, same, f"written again it is {text_again!r}, was {text!r}")
        seen = checker.look(again)
        check_over_or_legal(checker, seen)
        placement = text.split()[0]
        self._check_read_back(text, again, seen, view, placement)
        if self.swap_colours is not None:
            with checker.during(Identity.VIEW, f"swap_colours of {text!r}"):
                swapped = self.swap_colours(text)
            if swapped is not None:
                self._check_colours(swapped, seen)
        self.placements.append(placement)
        checker.expect(identity, drawn(game, state).strip() != "", "render draws nothing")
        self._check_cut(text[: int(checker.rng.integers(len(placement)))])
        for nonsense in (text + "?", text + "\0", text + " é", "²" + text[1:]):
            checker.expect_refusal(Identity.GARBAGE, InvalidTextError, "state_from_text", nonsense)
        part = text[: int(checker.rng.integers(len(text)))]
        self._check_state_or_refused(part)
        if checker.rng.random() < _DAMAGED:
            for damaged in _damaged(checker, text):
                self._check_state_or_refused(damaged)

    def _check_cut(self, text: str) -> None:
        """Require that text cut within the placement is not a position, unless it is a whole one.

        A cut text of moves so far describes an earlier position. Cut after the placement, a text
        may omit parts with defaults, such as FEN's counters.
        """
        checker, identity, refusal = self.checker, Identity.GARBAGE, InvalidTextError
        what = f"state_from_text of {text!r}"
        again: str | None = None
        with suppress(refusal), checker.during(identity, what, refusal):
            again = checker.game.state_to_text(checker.game.state_from_text(text))
        message = f"{what} gave the position {again!r}, want InvalidTextError for a text cut short"
        checker.expect(identity, again in (None, text), message)

    def _check_state_or_refused(self, text: str) -> None:
        """Require that `text` describes a position or raises InvalidTextError."""
        checker, identity, refusal = self.checker, Identity.GARBAGE, InvalidTextError
        what = f"state_from_text of {text!r}"
        good = True
        with suppress(refusal), checker.during(identity, what, refusal):
            good = checker.game.state_from_text(text) is not None
        checker.expect(identity, good, f"{what} gave None, want a state or InvalidTextError")

    def _check_read_back(
        self, text: str, again: Any, seen: View, view: View, placement: str
    ) -> None:
        """Require that a state read back is the same position, except for its history."""
        checker, game, identity = self.checker, self.checker.game, Identity.STATE_TEXT
        what = f"read back from {text!r}"
        if not checker.actions:  # no history yet, so nothing may differ
            checker.expect_same(identity, seen, view, what)
        player = seen.current_player
        message = f"{what}: seat {player} is to move, want {view.current_player}"
        checker.expect(identity, player == view.current_player, message)
        missing = np.flatnonzero(view.legal_action_mask & ~seen.legal_action_mask).tolist()
        checker.expect(identity, not missing, f"{what}: actions {missing} are missing")
        if seen.is_terminal:
            checker.expect_same(identity, seen, replace(view, observation=seen.observation), what)
        elif view.is_terminal:
            # Ended by repetition, passes or length: history that the text need not hold.
            ended = placement in self.placements or len(checker.actions) == game.max_game_length
            checker.expect(identity, ended, f"{what}: the game is not over, want it over")
        else:
            earlier = set(self.placements) - {placement}
            for action in np.flatnonzero(seen.legal_action_mask & ~view.legal_action_mask).tolist():
                after = game.state_to_text(game.step(again, action)).split()[0]
                message = f"{what}: action {action} is legal but was not, and repeats no position"
                checker.expect(identity, after in earlier, message)

    def _check_colours(self, swapped: str, seen: View) -> None:
        """Require that the text with colours swapped has the view of the original text."""
        checker = self.checker
        with checker.during(Identity.VIEW, f"state_from_text of {swapped!r}"):
            other = checker.look(checker.game.state_from_text(swapped))
        observation = seen.observation.copy()
        observation[self.seen_planes] = other.observation[self.seen_planes]
        # The outcome need not be opposite: a game may favour one colour.
        want = replace(seen, current_player=1 - seen.current_player, outcome=other.outcome)
        got = replace(other, observation=observation)
        checker.expect_same(Identity.VIEW, got, want, f"{swapped!r}")
