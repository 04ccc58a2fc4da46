"""Checks of the rules at one position: end against actions, `step` against mask, repeatability."""

from dataclasses import replace
from typing import Any

import numpy as np

from azcore.errors import IllegalActionError
from azcore.testing.checker import Checker
from azcore.testing.contract import Identity
from azcore.testing.view import View, content, view_of

_STEPS = 4  # illegal actions tried per position, and as many legal ones besides the one played


def check_over_or_legal(checker: Checker, view: View) -> None:
    legal = np.flatnonzero(view.legal_action_mask).tolist()
    what = f"is_terminal is {view.is_terminal} with legal actions {legal}"
    checker.expect(Identity.OVER_OR_LEGAL, view.is_terminal == (not legal), what)


def check_steady(
    checker: Checker, state: Any, view: View, known: dict[Any, tuple[Any, ...]]
) -> None:
    """Require the same view for a state, a copy, and an equal earlier state in `known`."""
    checker.expect_same(Identity.STEADY, checker.look(state), view, "seen a second time")
    fields = content(state)
    if fields is not None:
        checker.expect_same(Identity.STEADY, checker.look(state.copy()), view, "a copy")
    mask, planes = view.legal_action_mask.tobytes(), view.observation.tobytes()
    # There are thousands, so each is small.
    digest = (view.current_player, view.is_terminal, view.outcome, hash(mask), hash(planes))
    try:
        # States that define no equality equal nothing else, which does no harm.
        earlier = known.setdefault(fields or state, digest)
    except TypeError:  # not hashable
        return
    what = "an equal state, reached by other actions, had a different description"
    checker.expect(Identity.STEADY, earlier == digest, what)


def checked_step(checker: Checker, state: Any, action: int, view: View) -> Any:
    """`game.step` for a legal action; requires that `state` still has the view `view`."""
    fields = content(state)
    with checker.during(Identity.STEP, f"step with legal action {action}"):
        successor = checker.game.step(state, action)
    apart = successor is not state and content(state) == fields
    checker.expect(Identity.UNTOUCHED, apart, f"step with action {action} changed its argument")
    checker.expect_same(Identity.UNTOUCHED, checker.look(state), view, f"after step with {action}")
    with checker.during(Identity.STEP, f"step with legal action {action}, a second time"):
        again = checker.game.step(state, action)
        same = content(again) == content(successor)
    what = f"step with action {action} leads to another state the second time"
    checker.expect(Identity.STEADY, same, what)
    if content(successor) is None:  # a Python object shows its parts only through method calls
        want = view_of(checker.game, successor)
        seen = replace(view_of(checker.game, again), observation=want.observation)
        checker.expect_same(Identity.STEADY, seen, want, what)
    return successor


def check_steps(checker: Checker, state: Any, view: View) -> None:
    """Require that `step` refuses illegal and out-of-range actions and accepts legal ones."""
    game, way = checker.game, checker.moves
    illegal = checker.sample(np.flatnonzero(~view.legal_action_mask), _STEPS)
    beyond = [-1, -game.num_actions, game.num_actions, game.num_actions + 7]
    for action in [*illegal, *beyond]:
        checker.expect_refusal(Identity.STEP, IllegalActionError, "step", state, action)
    for action in checker.sample(np.flatnonzero(view.legal_action_mask), _STEPS):
        successor = checked_step(checker, state, action, view)
        checker.state, checker.moves = successor, [*way, game.action_to_text(state, action)]
        check_over_or_legal(checker, checker.look(successor))
        checker.state, checker.moves = state, way
