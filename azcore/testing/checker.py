"""The state that all checks of one `check_game` share: current position, counts, error reporting.

A check is a function or method in another file of this folder. It queries the game and asserts what
must hold with `expect` and its variants; the first failure ends the run.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from azcore.errors import FaultyGameError
from azcore.game import Game
from azcore.game.faults import described, folder_of
from azcore.testing.contract import ContractError, Identity
from azcore.testing.view import View, difference, drawn


class Checker:
    """A game, the path to the position under test, and the counts so far."""

    def __init__(
        self,
        game: Game,
        rng: np.random.Generator,
        note: Callable[[str, Sequence[str]], None] = lambda what, moves: None,
    ) -> None:
        self.note = note  # called with the game's next call, and the moves
        self.game = game
        self.rng = rng
        self.checks: Counter[Identity] = Counter()
        self.state: Any = None  # None: faults concern no position
        self.actions: list[int] = []  # that lead to it
        self.moves: list[str] = []  # their texts

    def sample(self, actions: npt.NDArray[np.intp], most: int) -> list[int]:
        """At most `most` of the actions, drawn at random: a game may have thousands."""
        some: list[int] = self.rng.choice(actions, min(most, len(actions)), replace=False).tolist()
        return some

    def fail(self, identity: Identity, message: str) -> NoReturn:
        moves = " ".join(self.moves) or "(no action)"
        where = "" if self.state is None else f"\nafter {moves}\n{drawn(self.game, self.state)}"
        raise ContractError(
            identity, f"{self.game.name} breaks the contract, '{identity.value}': {message}{where}"
        )

    def expect(self, identity: Identity, holds: Any, message: str) -> None:
        self.checks[identity] += 1
        if not holds:
            self.fail(identity, message)

    def expect_same(
        self, identity: Identity, got: View, want: View, what: str, tolerance: float = 0.0
    ) -> None:
        self.checks[identity] += 1
        message = difference(got, want, tolerance)
        if message is not None:
            self.fail(identity, f"{what}: {message}")

    @contextmanager
    def during(self, identity: Identity, what: str, *allowed: type[Exception]) -> Iterator[None]:
        """Turn any exception that is not `allowed` into a broken identity."""
        self.note(what, self.moves)
        try:
            yield
        except ContractError:
            raise
        except Exception as error:
            if isinstance(error, allowed):
                raise
            if isinstance(error, FaultyGameError) and error.__cause__ is not None:
                # The error of a compiled rule is wrapped in a report, which has its place.
                found = "\n".join(str(error).splitlines()[1:-1])
            else:
                found = described(error, folder_of(type(self.game).__module__))
            self.fail(identity, f"{what} raised {found}")

    def expect_refusal(
        self, identity: Identity, kind: type[Exception], method: str, *args: Any
    ) -> None:
        """Require that a method of the game raises exactly `kind` for its last argument."""
        what = f"{method} of {_shown(args[-1])}"
        self.checks[identity] += 1
        self.note(what, self.moves)
        try:
            result = getattr(self.game, method)(*args)
        except kind:
            return
        except Exception as error:
            message = f"{what} raised {type(error).__name__} ({error})"
            self.fail(identity, f"{message}, want {kind.__name__}")
        self.fail(identity, f"{what} gave {_shown(result)}, want {kind.__name__}")

    def ask(self, identity: Identity, method: str, *args: Any) -> Any:
        """Call a method of the game, which must not raise."""
        with self.during(identity, method):
            return getattr(self.game, method)(*args)

    def look(self, state: Any) -> View:
        """The view of `state`, after checking the form of every part."""
        player = self.ask(Identity.SEAT, "current_player", state)
        self.expect(
            Identity.SEAT, _is_int(player) and player in (0, 1), f"got {player!r}{_wrapped(player)}"
        )
        over = self.ask(Identity.OVER_OR_LEGAL, "is_terminal", state)
        self.expect(Identity.OVER_OR_LEGAL, over in (True, False), f"is_terminal is {over!r}")
        mask = self.ask(Identity.MASK, "legal_action_mask", state)
        self.expect_form(Identity.MASK, mask, f"bool ({self.game.num_actions},)")
        outcome = self.ask(Identity.OUTCOME, "outcome", state) if over else 0
        in_range = _is_int(outcome) and outcome in (-1, 0, 1)
        self.expect(Identity.OUTCOME, in_range, f"got {outcome!r}{_wrapped(outcome)}")
        words = self.ask(Identity.OUTCOME, "termination", state) if over else "-"
        printable = isinstance(words, str) and words != "" and words.isprintable()
        self.expect(Identity.OUTCOME, printable, f"termination is {words!r}")
        planes = self.ask(Identity.OBSERVATION, "observation", state)
        self.expect_form(Identity.OBSERVATION, planes, f"float32 {self.game.observation_shape}")
        top = self.game.observation_maximum[:, None, None]
        bad = np.argwhere(~((planes >= 0) & (planes <= top) & (planes == np.floor(planes))))
        examples = [
            f"plane {c} holds {planes[c, h, w]}, want 0 to {top[c, 0, 0]:g}" for c, h, w in bad[:3]
        ]
        wrapped = any(planes[tuple(place)] == _MINUS_ONE[0] for place in bad)
        message = f"{'; '.join(examples)}; {len(bad)} values are bad"
        message += _wrapped(_MINUS_ONE[0]) if wrapped else ""
        self.expect(Identity.OBSERVATION, not examples, message)
        return View(
            current_player=int(player),
            is_terminal=bool(over),
            legal_action_mask=mask.copy(),
            outcome=int(outcome),
            observation=planes.copy(),
        )

    def expect_form(self, identity: Identity, value: Any, want: str) -> None:
        """Require that `value` is an array of form `want`, such as `float32 (17, 9, 9)`."""
        array = isinstance(value, np.ndarray)
        form = f"{value.dtype} {value.shape}" if array else type(value).__name__
        self.expect(identity, form == want, f"got {form}, want {want}")


_MINUS_ONE = [2**bits - 1 for bits in (8, 16, 32, 64)]  # in unsigned numbers


def _wrapped(value: Any) -> str:
    is_minus_one = _is_int(value) and value in _MINUS_ONE
    return f" ({value} is -1 in an unsigned number: use np.int8)" if is_minus_one else ""


def _is_int(value: Any) -> bool:
    return isinstance(value, int | np.integer)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}... ({len(text)} characters)"
