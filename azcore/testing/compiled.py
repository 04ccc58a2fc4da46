"""Checks of compiled rules: writes out of bounds, and agreement with the interpreted rules."""

import math
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from azcore.game import CompiledGame, Game
from azcore.game.compiled import RULES
from azcore.game.faults import described, folder_of
from azcore.testing.checker import Checker
from azcore.testing.contract import Identity
from azcore.testing.view import View, content, view_of

_GUARD = 64  # entries on both sides of an array passed to compiled rules


def check_bounds(checker: Checker, game: CompiledGame, state: Any) -> list[int]:
    """Check writes out of bounds, with guards around arrays; returns the rules' list of actions.

    Compiled code does not stop at the end of an array, so this runs before all other checks.
    """
    record, ask, identity = state.copy(), game.ask_rule, Identity.BOUNDS
    planes = np.full(math.prod(game.observation_shape) + 2 * _GUARD, 77, np.uint8)
    planes[_GUARD:-_GUARD] = 0
    with checker.during(Identity.OBSERVATION, "rules.observe"):
        ask("observe", record, planes[_GUARD:-_GUARD].reshape(game.observation_shape))
    kept = (planes[:_GUARD] == 77).all() and (planes[-_GUARD:] == 77).all()
    checker.expect(identity, kept, "observe wrote outside of its planes")
    lent = np.full(game.num_actions + 2 * _GUARD, -77, np.int32)
    with checker.during(Identity.MASK, "rules.legal_actions"):
        over = ask("is_terminal", record)  # a batch lists actions only if not
        count = 0 if over else ask("legal_actions", record, lent[_GUARD:-_GUARD])
    kept = (lent[:_GUARD] == -77).all() and (lent[-_GUARD:] == -77).all()
    checker.expect(identity, kept, "legal_actions wrote outside of its array")
    listed: list[int] = lent[_GUARD : _GUARD + max(0, count)].tolist()
    good = all(0 <= a < game.num_actions for a in listed) and sorted(set(listed)) == listed
    checker.expect(Identity.MASK, good, f"legal_actions wrote {listed}, want ascending actions")
    kept = content(record) == content(state)
    checker.expect(Identity.UNTOUCHED, kept, "legal_actions or observe changed the record")
    if listed:
        records = np.zeros(3, game.state_dtype)
        records.view(np.uint8)[:] = 0xA5
        records[1] = record
        action = int(checker.rng.choice(listed))
        with checker.during(Identity.STEP, f"rules.step with {action}"):
            ask("step", records[1], action)
        kept = (records.view(np.uint8).reshape(3, -1)[[0, 2]] == 0xA5).all()
        checker.expect(identity, kept, "step wrote outside of its record")
    return listed


def interpreted(game: Game) -> CompiledGame | None:
    """The same game with its rules as plain Python; None if nothing is compiled."""
    if not isinstance(game, CompiledGame):
        return None
    rules = {name: getattr(game.rules, name) for name in RULES}
    if not all(hasattr(rule, "py_func") for rule in rules.values()):
        return None
    twin = copy(game)
    twin.rules = replace(game.rules, **{name: rule.py_func for name, rule in rules.items()})
    return twin


def check_interpreted(checker: Checker, twin: CompiledGame, state: Any, view: View) -> None:
    """Require the same view and next record from `twin`, the game with interpreted rules."""
    identity = Identity.INTERPRETED
    action = -1
    if not view.is_terminal:
        action = int(checker.rng.choice(np.flatnonzero(view.legal_action_mask)))
    check_overflow(checker, twin, state, view, action)
    # Integers of fixed width wrap in compiled code; NumPy's do the same with a warning.
    with np.errstate(over="ignore"), checker.during(identity, "an interpreted rule"):
        check_whole_numbers(checker, twin, state, view)
        checker.expect_same(identity, view_of(twin, state), view, "interpreted")
        if not view.is_terminal:
            got = content(twin.step(state, action)) or ()
            want = content(checker.game.step(state, action)) or ()
            names = twin.state_dtype.names or ()
            differ = [n for n, a, b in zip(names, got, want, strict=True) if a != b]
            checker.expect(identity, not differ, f"step with {action}: fields {differ} differ")


def check_overflow(
    checker: Checker, twin: CompiledGame, state: Any, view: View, action: int
) -> None:
    """Require that numbers in interpreted rules fit their fields; compiled ones wrap silently.

    It accepts numbers that overflow even 64 bits, such as hashes, as intended.
    """
    rules, planes = twin.rules, np.zeros(twin.observation_shape, np.uint8)
    listed = np.zeros(twin.num_actions, np.int32)
    calls: list[tuple[str, Callable[[Any], Any]]] = [
        ("observe", lambda record: rules.observe(record, planes)),
        ("is_terminal", rules.is_terminal),
    ]
    if view.is_terminal:
        calls.append(("outcome", rules.outcome))
    else:
        calls.append(("legal_actions", lambda record: rules.legal_actions(record, listed)))
        calls.append(("step", lambda record: rules.step(record, action)))
    for name, call in calls:
        checker.checks[Identity.INTERPRETED] += 1
        try:
            with np.errstate(over="raise"):
                call(state.copy())
        except FloatingPointError as error:
            if not _wraps_in_64_bits(call, state):
                found = described(error, folder_of(type(checker.game).__module__))
                checker.fail(
                    Identity.INTERPRETED,
                    f"in {name} a number outgrows its field and wraps around: {found}\n"
                    "  hint: a wider field, or int(...) before the sum",
                )
        except Exception:
            return  # later checks report its errors


def _wraps_in_64_bits(call: Callable[[Any], Any], state: Any) -> bool:
    """Whether a rule overflows on a record whose whole numbers all have 64 bits."""
    fields = []
    for name in state.dtype.names:
        base, shape = state.dtype[name].base, state.dtype[name].shape
        is_narrow = base.kind in "iu" and base.itemsize < 8
        fields.append((name, np.dtype(np.int64) if is_narrow else base, shape))
    record = np.zeros(1, np.dtype((np.record, np.dtype(fields))))[0]
    for name in state.dtype.names:
        record[name] = state[name]
    try:
        with np.errstate(over="raise"):
            call(record)
    except FloatingPointError:
        return True
    except Exception:
        return False
    return False


class _WholeBytes(np.ndarray):
    """Planes that refuse to round: compiled code and NumPy both turn 0.5 into 0 and 300 into 44."""

    def __setitem__(self, place: Any, value: Any) -> None:
        values = np.asarray(value)
        bad = values[(values != np.floor(values)) | (values < 0) | (values > 255)]
        if self.dtype == np.uint8 and bad.size:
            raise ValueError(f"observe writes {bad.flat[0]}, want whole numbers from 0 to 255")
        super().__setitem__(place, value)


def check_whole_numbers(checker: Checker, twin: CompiledGame, state: Any, view: View) -> None:
    """Require whole numbers from interpreted rules; compiling would round others."""
    planes = np.zeros(twin.observation_shape, np.uint8).view(_WholeBytes)
    with checker.during(Identity.OBSERVATION, "rules.observe, interpreted"):
        twin.rules.observe(state.copy(), planes)
    if view.is_terminal:
        outcome = twin.rules.outcome(state.copy())
        whole = isinstance(outcome, int | np.integer | np.bool_)
        message = f"rules.outcome returns {outcome!r}, want the whole number -1, 0 or 1"
        checker.expect(Identity.OUTCOME, whole, message)
