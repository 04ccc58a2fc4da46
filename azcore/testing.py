"""The kit for authors of games: does a game keep the contract of `azcore/game.py`?

    report = check_game(game)                   # random games, every identity of the contract
    report = check_game(game, oracle=slow_game) # and a second statement of the same rules
    check_position(game, moves=["b2"], player=1, illegal={"b2"})   # a fact you know
    check_playthrough(game, Path("game.txt").read_text())          # a recorded game, as it was

A broken identity raises `ContractError`, whose text names the identity, what was got and what was
wanted, the actions that lead there and the position drawn.

What can be seen in one game alone, and what cannot. Alone: forms and ranges, masks against `step`,
changed states, lengths, unsteady observations, texts, symmetries, compiled against interpreted
rules, batches, writes out of bounds. Not alone: rules that are wrong but consistent, such as an
outcome with the wrong sign, a forgotten repetition rule or history planes one ply late. Those need
an oracle (a second form of the game, best over somebody else's rules), facts stated by the author
or a playthrough recorded when all was well; `swap_colours` shows observations from the wrong view.

Random games seldom reach rare rules: state those as facts. Letters: A actions, C planes, H rows,
W columns. This file knows numpy and the contract, no search and no network.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from azcore.batch import GameBatch, PlainBatch, Positions, make_batch
from azcore.errors import AmbiguousTextError, GameError, IllegalActionError, InvalidTextError
from azcore.game import BoolArray, CompiledGame, FloatArray, Game, Rules


class Identity(StrEnum):
    """What must hold, as the sentence an error quotes."""

    FACTS = "facts are plain values and seat 0 begins"
    OVER_OR_LEGAL = "a state is terminal or has a legal action, never both"
    MASK = "the mask is bool [A] and holds what the rules list"
    STEP = "step accepts exactly the legal actions"
    UNTOUCHED = "no method changes the state it is given"
    LENGTH = "a game ends within max_game_length"
    SEAT = "current_player is 0 or 1"
    OUTCOME = "the outcome of a terminal state is -1, 0 or +1"
    OBSERVATION = "an observation is finite float32 [C, H, W]"
    STEADY = "equal states are described alike, now and later"
    VIEW = "colours swapped, the player to move sees the same"
    ACTION_TEXT = "an action is read back from its text"
    STATE_TEXT = "a state is read back from its text"
    GARBAGE = "text without meaning raises InvalidTextError"
    SYMMETRY = "mapped actions lead to the mapped position"
    INTERPRETED = "compiled and interpreted rules agree"
    BOUNDS = "rules write only into what they are lent"
    BATCH = "a batch says what the game says one at a time"
    ORACLE = "the game agrees with its oracle"
    POSITION = "the position is as its author states"
    PLAYTHROUGH = "a recorded game is described as it was"


class ContractError(GameError):
    """A game breaks an identity; the text says which, where, what was got and what was wanted."""

    def __init__(self, identity: Identity, message: str) -> None:
        super().__init__(message)
        self.identity = identity


@dataclass(frozen=True, kw_only=True)
class Report:
    """What `check_game` has seen; `str()` gives a table."""

    game: str  # name, version and settings
    positions: int  # looked at, terminal ones included
    games: int
    mean_length: float  # plies
    longest: int  # plies
    mean_legal_actions: float  # per position that is not terminal
    seat_0_wins: int
    draws: int
    seat_1_wins: int
    checks: dict[Identity, int]  # how often each identity was looked at

    def __str__(self) -> str:
        wins = f"{self.seat_0_wins} / {self.draws} / {self.seat_1_wins}"
        rows = [
            ("positions", f"{self.positions}"),
            ("random games", f"{self.games}"),
            ("plies per game", f"{self.mean_length:.1f}, at most {self.longest}"),
            ("legal actions", f"{self.mean_legal_actions:.1f}"),
            ("seat 0 wins / draws / seat 1 wins", wins),
            ("", ""),
            ("identity", "checks"),
            *((name.value, str(self.checks.get(name, 0) or "not checked")) for name in _OF_GAMES),
        ]
        width = max(len(name) for name, _ in rows)
        return "\n".join(
            [self.game, *(f"  {name:{width}}  {value}".rstrip() for name, value in rows)]
        )


# Facts and playthroughs are checked by functions of their own.
_OF_GAMES = [i for i in Identity if i not in (Identity.POSITION, Identity.PLAYTHROUGH)]


# -- random games --------------------------------------------------------------------------------


def random_game(game: Game, rng: np.random.Generator) -> list[int]:
    """The actions of one game of uniformly random play, to its end.

    Raises:
        ContractError: the game does not end within `max_game_length`.
    """
    return [action for action, _ in _random_plies(game, rng)]


def random_states(game: Game, count: int, rng: np.random.Generator) -> list[Any]:
    """`count` states in the order in which random games meet them, terminal ones included."""
    states: list[Any] = []
    while len(states) < count:
        states.append(game.initial_state())
        states.extend(state for _, state in _random_plies(game, rng))
    return states[:count]


def _random_plies(game: Game, rng: np.random.Generator) -> Iterator[tuple[int, Any]]:
    """Each random action with the state after it, until the game is over."""
    state = game.initial_state()
    for _ in range(game.max_game_length):
        if game.is_terminal(state):
            return
        action = int(rng.choice(np.flatnonzero(game.legal_action_mask(state))))
        state = game.step(state, action)
        yield action, state
    if not game.is_terminal(state):
        raise ContractError(
            Identity.LENGTH, f"{game.name}: no end after {game.max_game_length} plies"
        )


# -- what a game says about one state ------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _View:
    """Copies of all that a game says about one state."""

    current_player: int
    is_terminal: bool
    legal_action_mask: BoolArray  # [A]
    outcome: int  # view of seat 0, 0 where not terminal
    observation: FloatArray  # [C, H, W]


def _look(game: Game, state: Any) -> _View:
    over = game.is_terminal(state)
    return _View(
        current_player=game.current_player(state),
        is_terminal=over,
        legal_action_mask=np.array(game.legal_action_mask(state)),
        outcome=game.outcome(state) if over else 0,
        observation=np.array(game.observation(state)),
    )


def _difference(got: _View, want: _View, tolerance: float = 0.0) -> str | None:
    """The first thing in which two views differ, in words; None where they agree."""
    for fact in ("current_player", "is_terminal", "outcome"):
        if getattr(got, fact) != getattr(want, fact):
            return f"{fact} is {getattr(got, fact)}, want {getattr(want, fact)}"
    extra = np.flatnonzero(got.legal_action_mask & ~want.legal_action_mask)
    missing = np.flatnonzero(want.legal_action_mask & ~got.legal_action_mask)
    if len(extra) or len(missing):
        return (
            f"legal_action_mask allows {extra.tolist()} too many and lacks {missing.tolist()}, "
            f"want {_ranges(want.legal_action_mask)}"
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


def _ranges(mask: BoolArray) -> str:
    """`0-3,7` for a mask that allows 0 to 3 and 7, `-` for one that allows nothing."""
    edges = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    return ",".join(f"{a}-{b - 1}" if b - a > 1 else f"{a}" for a, b in edges.tolist()) or "-"


def _content(state: Any) -> tuple[bytes, ...] | None:
    """The bytes of a record field by field (padding may be anything); None for other states."""
    if not isinstance(state, np.void) or state.dtype.names is None:
        return None
    return tuple(np.asarray(state[name]).tobytes() for name in state.dtype.names)


def _drawn(game: Game, state: Any) -> str:
    try:
        return game.render(state)
    except Exception as error:  # a fault in drawing must not hide the one being told
        return f"(render raised {type(error).__name__}: {error})"


# -- the check of a whole game -------------------------------------------------------------------


def check_game(
    game: Game,
    *,
    num_positions: int = 2000,
    seed: int = 0,
    oracle: Game | None = None,
    swap_colours: Callable[[str], str] | None = None,
    colour_planes: Collection[int] = (),
) -> Report:
    """Play random games and check every identity of the contract on their positions.

    Text of a state may hold less than the state: a position forbidden because it would be repeated
    may be allowed after reading the text back, if it was on the board before. The first word of a
    state's text is taken for the placement of the pieces, as in FEN.

    Args:
        game: any game.
        num_positions: at least so many are looked at; the last game is played to its end.
        seed: same seed, same games, same report.
        oracle: the same rules stated a second time. Played alongside, it must agree on player,
            end and outcome, on legal actions by number (by text where `num_actions` differs) and,
            where the shapes are equal, on observations within 1e-6.
        swap_colours: from a state's text to the text with the colours of all pieces and the player
            to move swapped (and the board turned, if the game looks at it from the mover's side).
            Both must have the same mask and the same observation.
        colour_planes: planes that `swap_colours` may change, such as one for the seat to move.

    Raises:
        ContractError: an identity does not hold.
    """
    checker = _Checker(game, np.random.default_rng(seed), oracle, swap_colours, colour_planes)
    checker.check_facts()
    while checker.positions < num_positions:
        checker.check_one_game()
    return checker.report()


# Each position is looked at thoroughly, but these many are enough where a game has thousands.
_ACTION_TEXTS = 32  # legal actions per position read back from text
_ILLEGAL = 4  # illegal actions per position, and other successors
_INTERPRETED_EVERY = 20  # positions; interpreted rules are a hundred times slower
_GUARD = 64  # entries on both sides of an array lent to compiled rules

_REFUSALS = (InvalidTextError, IllegalActionError, AmbiguousTextError)
# `²` is a digit to str.isdigit but not to int; the full-width one is a digit to both.
_NONSENSE = ("", " ", "?", "\0", "é", "²", "\uff11", "?" * 9, "x" * 5000, "\n", "none of this")


class _Checker:
    """One run of `check_game`: the game being played and the counts so far."""

    def __init__(
        self,
        game: Game,
        rng: np.random.Generator,
        oracle: Game | None,
        swap_colours: Callable[[str], str] | None,
        colour_planes: Collection[int],
    ) -> None:
        self.game = game
        self.rng = rng
        self.oracle = oracle
        self.swap_colours = swap_colours
        self.seen_planes = [c for c in range(game.observation_shape[0]) if c not in colour_planes]
        self.interpreted = _interpreted(game)
        self.checks: Counter[Identity] = Counter()
        self.positions = 0
        self.lengths: list[int] = []
        self.legal_counts: list[int] = []
        self.outcomes: Counter[int] = Counter()
        self.views_by_state: dict[Any, tuple[Any, ...]] = {}
        self.batches: list[GameBatch] = []
        # The game in play.
        self.state: Any = None
        self.actions: list[int] = []
        self.moves: list[str] = []
        self.placements: list[str] = []  # first word of the text of each state so far

    # How faults are told.

    def fail(self, identity: Identity, message: str) -> NoReturn:
        moves = " ".join(self.moves) or "(no action)"
        where = "" if self.state is None else f"\nafter {moves}\n{_drawn(self.game, self.state)}"
        raise ContractError(
            identity, f"{self.game.name} breaks the contract, '{identity.value}': {message}{where}"
        )

    def expect(self, identity: Identity, holds: Any, message: str) -> None:
        self.checks[identity] += 1
        if not holds:
            self.fail(identity, message)

    def expect_same(
        self, identity: Identity, got: _View, want: _View, what: str, tolerance: float = 0.0
    ) -> None:
        self.checks[identity] += 1
        difference = _difference(got, want, tolerance)
        if difference is not None:
            self.fail(identity, f"{what}: {difference}")

    @contextmanager
    def during(self, identity: Identity, what: str, *allowed: type[Exception]) -> Iterator[None]:
        """Turn any exception that is not `allowed` into a broken identity."""
        try:
            yield
        except ContractError:
            raise
        except Exception as error:
            if isinstance(error, allowed):
                raise
            self.fail(identity, f"{what} raised {type(error).__name__}: {error}")

    def expect_raises(
        self, identity: Identity, kind: type[Exception], call: Any, *args: Any
    ) -> None:
        """`call(*args)` must raise `kind` and nothing else."""
        what = f"{call.__name__}({', '.join(_shown(a) for a in args if isinstance(a, str | int))})"
        self.checks[identity] += 1
        try:
            result = call(*args)
        except kind:
            return
        except Exception as error:
            self.fail(
                identity, f"{what} raised {type(error).__name__} ({error}), want {kind.__name__}"
            )
        self.fail(identity, f"{what} gave {_shown(result)}, want {kind.__name__}")

    # Facts that do not change.

    def check_facts(self) -> None:
        game, facts = self.game, Identity.FACTS
        named = isinstance(game.name, str) and re.fullmatch("[a-z][a-z0-9_]*", game.name)
        self.expect(facts, named, f"name is a lower-case word, got {game.name!r}")
        for name in ("version", "num_actions", "max_game_length", "observation_shape"):
            value = getattr(game, name)
            whole = all(type(part) is int for part in np.atleast_1d(np.array(value, object)))
            self.expect(facts, whole, f"{name} must be whole, got {value!r}")
        finite = math.isfinite(game.dirichlet_alpha)
        self.expect(facts, finite, f"dirichlet_alpha must be finite, got {game.dirichlet_alpha}")
        with self.during(facts, "writing the settings as JSON"):
            read_back = json.loads(json.dumps(game.identity))
        self.expect(facts, read_back == game.identity, f"settings are {game.settings!r}")
        pairs = [(tuple(s.cells.tolist()), tuple(s.actions.tolist())) for s in game.symmetries]
        moved = {pair for pair in pairs if any(list(p) != sorted(p) for p in pair)}
        what = f"{len(pairs)} symmetries, of which {len(moved)} are distinct and move something"
        self.expect(facts, len(moved) == len(pairs), what)
        with self.during(facts, "initial_state"):
            state = self.state = game.initial_state()
        if isinstance(game, CompiledGame):
            self.check_bounds(game, state)
        view = self.look(state)
        ready = view.current_player == 0 and not view.is_terminal
        what = f"the initial state has seat {view.current_player}, terminal {view.is_terminal}"
        self.expect(facts, ready, f"{what}, want seat 0 to move")
        for text in _NONSENSE:
            self.expect_raises(Identity.GARBAGE, InvalidTextError, game.text_to_action, state, text)
            self.expect_raises(Identity.GARBAGE, InvalidTextError, game.state_from_text, text)

    # One game, looked at ply by ply.

    def check_one_game(self) -> None:
        game, rng = self.game, self.rng
        state = game.initial_state()
        self.actions, self.moves, self.placements = [], [], []
        states: list[Any] = []
        views: list[_View] = []
        handed_out: list[FloatArray] = []
        mapped = [game.initial_state() for _ in game.symmetries]
        oracle_state = None if self.oracle is None else self.oracle.initial_state()
        while True:
            self.state = state
            listed = self.check_bounds(game, state) if isinstance(game, CompiledGame) else None
            view = self.look(state)
            if listed is not None:
                legal = np.flatnonzero(view.legal_action_mask).tolist()
                self.expect(Identity.MASK, listed == legal, f"{legal}, but the rules list {listed}")
            states.append(state)
            views.append(view)
            handed_out.append(game.observation(state))
            content = _content(state)
            self.check_over_or_legal(view)
            if self.oracle is not None:
                self.check_oracle(view, oracle_state)
            self.check_steady(state, view)
            if self.interpreted is not None and self.positions % _INTERPRETED_EVERY == 0:
                self.check_interpreted(self.interpreted, state, view)
            self.check_refusals(state, view)
            self.check_action_texts(state, view)
            self.check_state_text(state, view)
            self.check_mapped(mapped, view)
            self.expect(Identity.UNTOUCHED, _content(state) == content, "the record has changed")
            self.expect_same(Identity.UNTOUCHED, self.look(state), view, "looked at again")
            self.positions += 1
            if view.is_terminal:
                break
            goes_on = len(self.actions) < game.max_game_length
            self.expect(Identity.LENGTH, goes_on, f"no end after {len(self.actions)} plies")
            self.legal_counts.append(int(view.legal_action_mask.sum()))
            action = int(rng.choice(np.flatnonzero(view.legal_action_mask)))
            if self.oracle is not None:
                oracle_state = self.oracle_step(oracle_state, state, action)
            mapped = self.step_mapped(mapped, action)
            successor = self.step(state, action, view)
            self.actions.append(action)
            self.moves.append(game.action_to_text(state, action))
            state = successor
        # What was true on the way must still be: states may share parts with their successors.
        for ply in rng.integers(len(states), size=4).tolist():
            what = f"the state of ply {ply}, at the end"
            self.expect_same(Identity.UNTOUCHED, self.look(states[ply]), views[ply], what)
            kept = np.array_equal(handed_out[ply], views[ply].observation)
            self.expect(Identity.STEADY, kept, f"the observation of ply {ply} was written to later")
        self.check_batches(states, views)
        self.lengths.append(len(self.actions))
        self.outcomes[views[-1].outcome] += 1
        self.state = None

    def look(self, state: Any) -> _View:
        """All that the game says about `state`, each in the promised form."""
        player = self.ask(Identity.SEAT, "current_player", state)
        self.expect(Identity.SEAT, _is_int(player) and player in (0, 1), f"got {player!r}")
        over = self.ask(Identity.OVER_OR_LEGAL, "is_terminal", state)
        self.expect(Identity.OVER_OR_LEGAL, over in (True, False), f"is_terminal is {over!r}")
        mask = self.ask(Identity.MASK, "legal_action_mask", state)
        want = f"bool ({self.game.num_actions},)"
        self.expect(Identity.MASK, _form(mask) == want, f"got {_form(mask)}, want {want}")
        outcome = self.ask(Identity.OUTCOME, "outcome", state) if over else 0
        in_range = _is_int(outcome) and outcome in (-1, 0, 1)
        self.expect(Identity.OUTCOME, in_range, f"got {outcome!r}")
        planes = self.ask(Identity.OBSERVATION, "observation", state)
        want = f"float32 {self.game.observation_shape}"
        self.expect(
            Identity.OBSERVATION, _form(planes) == want, f"got {_form(planes)}, want {want}"
        )
        bad = np.count_nonzero(~np.isfinite(planes))
        self.expect(Identity.OBSERVATION, bad == 0, f"{bad} values are not finite")
        return _View(
            current_player=int(player),
            is_terminal=bool(over),
            legal_action_mask=mask.copy(),
            outcome=int(outcome),
            observation=planes.copy(),
        )

    def ask(self, identity: Identity, method: str, *args: Any) -> Any:
        """What a method of the game answers; it may not raise."""
        with self.during(identity, method):
            return getattr(self.game, method)(*args)

    def check_over_or_legal(self, view: _View) -> None:
        legal = np.flatnonzero(view.legal_action_mask).tolist()
        what = f"is_terminal is {view.is_terminal} with legal actions {legal}"
        self.expect(Identity.OVER_OR_LEGAL, view.is_terminal == (not legal), what)

    def check_steady(self, state: Any, view: _View) -> None:
        self.expect_same(Identity.STEADY, self.look(state), view, "seen a second time")
        content = _content(state)
        if content is not None:
            self.expect_same(Identity.STEADY, self.look(state.copy()), view, "a copy")
        try:
            # States without an equality of their own are equal to nothing else: harmless.
            known = self.views_by_state.setdefault(content or state, _digest(view))
        except TypeError:  # not hashable
            return
        what = "an equal state, reached by other actions, was described differently"
        self.expect(Identity.STEADY, known == _digest(view), what)

    def step(self, state: Any, action: int, view: _View) -> Any:
        """`game.step` for a legal action, checked."""
        content = _content(state)
        with self.during(Identity.STEP, f"step with legal action {action}"):
            successor = self.game.step(state, action)
        apart = successor is not state and _content(state) == content
        self.expect(Identity.UNTOUCHED, apart, f"step with action {action} changed its argument")
        self.expect_same(Identity.UNTOUCHED, self.look(state), view, f"after step with {action}")
        return successor

    def check_refusals(self, state: Any, view: _View) -> None:
        game = self.game
        legal = np.flatnonzero(view.legal_action_mask)
        illegal = np.flatnonzero(~view.legal_action_mask)
        size = min(_ILLEGAL, len(illegal))
        beyond = [-1, -game.num_actions, game.num_actions, game.num_actions + 7]
        for action in [*self.rng.choice(illegal, size, replace=False).tolist(), *beyond]:
            self.expect_raises(Identity.STEP, IllegalActionError, game.step, state, action)
        size = min(_ILLEGAL, len(legal))
        for action in self.rng.choice(legal, size, replace=False).tolist():
            successor = self.step(state, action, view)
            self.state, self.moves = successor, [*self.moves, game.action_to_text(state, action)]
            self.check_over_or_legal(self.look(successor))
            self.state, self.moves = state, self.moves[:-1]

    # Texts.

    def check_action_texts(self, state: Any, view: _View) -> None:
        game, identity = self.game, Identity.ACTION_TEXT
        legal = np.flatnonzero(view.legal_action_mask)
        owner: dict[str, int] = {}
        for action in legal.tolist():
            with self.during(identity, f"action_to_text of {action}"):
                text = game.action_to_text(state, action)
            good = isinstance(text, str) and text != "" and text.isprintable()
            self.expect(identity, good, f"the text of action {action} is {text!r}")
            first = owner.setdefault(text, action)
            self.expect(identity, first == action, f"actions {first} and {action} are both {text}")
        size = min(_ACTION_TEXTS, len(legal))
        for action in self.rng.choice(legal, size, replace=False).tolist():
            text = game.action_to_text(state, action)
            with self.during(identity, f"text_to_action of {text!r}"):
                meant = game.text_to_action(state, text)
            self.expect(identity, meant == action, f"{text!r} is {meant}, want {action}")
        if owner:
            text = str(self.rng.choice(sorted(owner)))
            for nonsense in (text + "?", text + "\0", "é" + text, text[:-1] + "²"):
                self.expect_raises(
                    Identity.GARBAGE, InvalidTextError, game.text_to_action, state, nonsense
                )
        # The text of an illegal action may also mean a legal one, but never the illegal one.
        illegal = np.flatnonzero(~view.legal_action_mask)
        size = min(_ILLEGAL, len(illegal))
        for action in self.rng.choice(illegal, size, replace=False).tolist():
            with self.during(identity, f"action_to_text of {action}"):
                text = game.action_to_text(state, action)
            what = f"text_to_action of {text!r}"
            got: int | None = None
            with suppress(*_REFUSALS), self.during(identity, what, *_REFUSALS):
                got = game.text_to_action(state, text)
            self.expect(identity, got is None or got in legal, f"{what} gave {got}: not legal")

    def check_state_text(self, state: Any, view: _View) -> None:
        game, identity = self.game, Identity.STATE_TEXT
        with self.during(identity, "state_to_text"):
            text = game.state_to_text(state)
        good = isinstance(text, str) and text.strip() != "" and text.isprintable()
        self.expect(identity, good, f"state_to_text is one line, got {text!r}")
        with self.during(identity, f"state_from_text of {text!r}"):
            again = game.state_from_text(text)
            text_again = game.state_to_text(again)
        self.expect(
            identity, text_again == text, f"written again it is {text_again!r}, was {text!r}"
        )
        seen = self.look(again)
        self.check_over_or_legal(seen)
        placement = text.split()[0]
        self.check_read_back(text, again, seen, view, placement)
        if self.swap_colours is not None:
            self.check_colours(self.swap_colours, text, seen)
        self.placements.append(placement)
        drawing = _drawn(game, state)
        self.expect(identity, drawing.strip() != "", "render draws nothing")
        # Cut within the placement it is no position; cut later it may be one (FEN's counters).
        cut = int(self.rng.integers(len(placement)))
        for nonsense in (text[:cut], text + "?", text + "\0", text + " é", "²" + text[1:]):
            self.expect_raises(Identity.GARBAGE, InvalidTextError, game.state_from_text, nonsense)
        part = text[: int(self.rng.integers(len(text)))]
        what = f"state_from_text of {part!r}"
        with suppress(InvalidTextError), self.during(Identity.GARBAGE, what, InvalidTextError):
            game.state_from_text(part)

    def check_read_back(
        self, text: str, again: Any, seen: _View, view: _View, placement: str
    ) -> None:
        """A state read back must be the same position, history apart."""
        identity = Identity.STATE_TEXT
        if not self.actions:  # no history yet, so nothing may differ
            self.expect_same(identity, seen, view, f"read back from {text!r}")
        self.expect(
            identity,
            seen.current_player == view.current_player,
            f"read back from {text!r}: seat {seen.current_player} is to move, "
            f"want {view.current_player}",
        )
        missing = np.flatnonzero(view.legal_action_mask & ~seen.legal_action_mask).tolist()
        self.expect(
            identity, not missing, f"read back from {text!r}: actions {missing} are missing"
        )
        if seen.is_terminal:
            self.expect_same(
                identity, seen, _with_planes(view, seen.observation), f"read back from {text!r}"
            )
        elif view.is_terminal:
            # Ended by a repetition, by passes or by length: history the text need not hold.
            self.expect(
                identity,
                placement in self.placements or len(self.actions) == self.game.max_game_length,
                f"read back from {text!r}: the game is not over, want it over",
            )
        else:
            earlier = set(self.placements) - {placement}
            for action in np.flatnonzero(seen.legal_action_mask & ~view.legal_action_mask).tolist():
                after = self.game.state_to_text(self.game.step(again, action)).split()[0]
                self.expect(
                    identity,
                    after in earlier,
                    f"read back from {text!r}: action {action} is legal but was not, "
                    "and repeats no position",
                )

    def check_colours(self, swap_colours: Callable[[str], str], text: str, seen: _View) -> None:
        swapped = swap_colours(text)
        with self.during(Identity.VIEW, f"state_from_text of {swapped!r}"):
            other = self.look(self.game.state_from_text(swapped))
        same = seen.observation.copy()
        same[self.seen_planes] = other.observation[self.seen_planes]
        want = _View(
            current_player=1 - seen.current_player,
            is_terminal=seen.is_terminal,
            legal_action_mask=seen.legal_action_mask,
            outcome=other.outcome,  # need not be opposite: a game may favour one colour
            observation=seen.observation,
        )
        self.expect_same(Identity.VIEW, _with_planes(other, same), want, f"{swapped!r}")

    # The same position described in other ways.

    def check_mapped(self, mapped: list[Any], view: _View) -> None:
        """Symmetries take turns, and all are looked at where the game ends."""
        turn = len(self.actions) + len(self.lengths)
        for i, symmetry in enumerate(self.game.symmetries):
            if not view.is_terminal and i != turn % len(mapped):
                continue
            planes = view.observation.reshape(view.observation.shape[0], -1)[:, symmetry.cells]
            want = _View(
                current_player=view.current_player,
                is_terminal=view.is_terminal,
                legal_action_mask=view.legal_action_mask[symmetry.actions],
                outcome=view.outcome,
                observation=planes.reshape(view.observation.shape),
            )
            self.expect_same(Identity.SYMMETRY, self.look(mapped[i]), want, f"symmetry {i}")

    def step_mapped(self, mapped: list[Any], action: int) -> list[Any]:
        successors = []
        for i, symmetry in enumerate(self.game.symmetries):
            # Entry a of `actions` is where a comes from, so the inverse is where `action` goes.
            image = int(np.flatnonzero(symmetry.actions == action)[0])
            with self.during(Identity.SYMMETRY, f"symmetry {i}: step with {image} for {action}"):
                successors.append(self.game.step(mapped[i], image))
        return successors

    def check_bounds(self, game: CompiledGame, state: Any) -> list[int]:
        """The actions that the rules list, after lending them arrays with guards on both sides.

        Compiled code is not stopped by the end of an array, so this comes before all other looks.
        """
        record, rules, identity = state.copy(), game.rules, Identity.BOUNDS
        planes = np.full(math.prod(game.observation_shape) + 2 * _GUARD, 77.0, np.float32)
        planes[_GUARD:-_GUARD] = 0.0
        with self.during(Identity.OBSERVATION, "rules.observe"):
            rules.observe(record, planes[_GUARD:-_GUARD].reshape(game.observation_shape))
        kept = (planes[:_GUARD] == 77.0).all() and (planes[-_GUARD:] == 77.0).all()
        self.expect(identity, kept, "observe wrote outside of its planes")
        lent = np.full(game.num_actions + 2 * _GUARD, -77, np.int32)
        with self.during(Identity.MASK, "rules.legal_actions"):
            over = rules.is_terminal(record)  # a batch asks for actions only if not
            count = 0 if over else rules.legal_actions(record, lent[_GUARD:-_GUARD])
        kept = (lent[:_GUARD] == -77).all() and (lent[-_GUARD:] == -77).all()
        self.expect(identity, kept, "legal_actions wrote outside of its array")
        listed: list[int] = lent[_GUARD : _GUARD + max(0, count)].tolist()
        good = all(0 <= a < game.num_actions for a in listed) and sorted(set(listed)) == listed
        self.expect(Identity.MASK, good, f"legal_actions wrote {listed}, want ascending actions")
        kept = _content(record) == _content(state)
        self.expect(Identity.UNTOUCHED, kept, "legal_actions or observe changed the record")
        if listed:
            records = np.zeros(3, game.state_dtype)
            records.view(np.uint8)[:] = 0xA5
            records[1] = record
            with self.during(Identity.STEP, "rules.step"):
                rules.step(records[1], int(self.rng.choice(listed)))
            kept = (records.view(np.uint8).reshape(3, -1)[[0, 2]] == 0xA5).all()
            self.expect(identity, kept, "step wrote outside of its record")
        return listed

    def check_interpreted(self, twin: CompiledGame, state: Any, view: _View) -> None:
        identity = Identity.INTERPRETED
        # Integers of fixed width wrap in compiled code; NumPy's do the same with a warning.
        with np.errstate(over="ignore"), self.during(identity, "an interpreted rule"):
            seen = _look(twin, state)
            self.expect_same(identity, seen, view, "interpreted")
            if not view.is_terminal:
                action = int(self.rng.choice(np.flatnonzero(view.legal_action_mask)))
                got = _content(twin.step(state, action)) or ()
                want = _content(self.game.step(state, action)) or ()
                names = twin.state_dtype.names or ()
                differ = [n for n, a, b in zip(names, got, want, strict=True) if a != b]
                self.expect(identity, not differ, f"step with {action}: fields {differ} differ")

    def check_oracle(self, view: _View, oracle_state: Any) -> None:
        assert self.oracle is not None
        with self.during(Identity.ORACLE, "the oracle"):
            want = _look(self.oracle, oracle_state)
            if self.game.num_actions != self.oracle.num_actions:
                got_texts = _texts(self.game, self.state, view)
                want_texts = _texts(self.oracle, oracle_state, want)
                self.expect(
                    Identity.ORACLE,
                    got_texts == want_texts,
                    f"allows {sorted(got_texts - want_texts)} too many and lacks "
                    f"{sorted(want_texts - got_texts)}",
                )
                want = _View(**{**vars(want), "legal_action_mask": view.legal_action_mask})
        if want.observation.shape != view.observation.shape:
            want = _with_planes(want, view.observation)
        self.expect_same(Identity.ORACLE, view, want, "against the oracle", tolerance=1e-6)

    def oracle_step(self, oracle_state: Any, state: Any, action: int) -> Any:
        assert self.oracle is not None
        with self.during(Identity.ORACLE, f"the oracle's step with {action}"):
            if self.game.num_actions != self.oracle.num_actions:
                text = self.game.action_to_text(state, action)
                action = self.oracle.text_to_action(oracle_state, text)
            return self.oracle.step(oracle_state, action)

    def check_batches(self, states: list[Any], views: list[_View]) -> None:
        """Replay parts of the game just played, into buffers that hold leftovers."""
        game, rng, identity = self.game, self.rng, Identity.BATCH
        num_roots, num_rows = 3, 8
        if not self.batches:
            self.batches = [make_batch(game, num_roots)]
            if isinstance(game, CompiledGame):
                self.batches.append(PlainBatch(game, num_roots))
            for batch in self.batches:
                self.expect_same(identity, self.look(batch.get(1)), views[0], "a new batch")
        starts = [0, *rng.integers(len(states), size=num_roots - 1).tolist()]
        roots = rng.integers(num_roots, size=num_rows).astype(np.int32)
        roots[:2] = 0, -1  # the whole game, and a row to skip
        ends = [int(rng.integers(starts[root], len(states))) for root in roots]
        ends[0] = len(states) - 1
        lengths = np.array([e - starts[r] for e, r in zip(ends, roots, strict=True)], np.int32)
        paths = np.full((num_rows, len(states)), -7, np.int32)  # never an action
        for row, root in enumerate(roots):
            paths[row, : lengths[row]] = self.actions[starts[root] : ends[row]]
        for batch in self.batches:
            for root, start in enumerate(starts):
                batch.set(root, states[start])
            out = Positions(game, num_rows)
            for array in vars(out).values():
                array[:] = 1 if array.dtype == np.bool_ else 7
            with self.during(identity, "replay"):
                batch.replay(roots, paths, lengths, out)
            for row in np.flatnonzero(roots >= 0).tolist():
                view = _row_of(out, row, game.num_actions)
                what = f"{type(batch).__name__}.replay to ply {ends[row]}"
                self.expect_same(identity, view, views[ends[row]], what)
            left = all((array[1] == array.dtype.type(7)).all() for array in vars(out).values())
            self.expect(identity, left, "replay wrote to a row it was to skip")
            for root, start in enumerate(starts):
                what = f"the root of {type(batch).__name__} at ply {start}"
                self.expect_same(identity, self.look(batch.get(root)), views[start], what)
                if start + 1 < len(states):
                    batch.step(root, self.actions[start])
                    seen = self.look(batch.get(root))
                    self.expect_same(identity, seen, views[start + 1], f"{what}, one step on")
                    self.expect_same(identity, self.look(states[start]), views[start], "its source")

    def report(self) -> Report:
        game = self.game
        return Report(
            game=f"{game.name} version {game.version} {json.dumps(game.settings)}",
            positions=self.positions,
            games=len(self.lengths),
            mean_length=float(np.mean(self.lengths)),
            longest=max(self.lengths),
            mean_legal_actions=float(np.mean(self.legal_counts)),
            seat_0_wins=self.outcomes[1],
            draws=self.outcomes[0],
            seat_1_wins=self.outcomes[-1],
            checks=dict(self.checks),
        )


def _interpreted(game: Game) -> CompiledGame | None:
    """The same game with its rules as plain Python; None where there is nothing compiled."""
    if not isinstance(game, CompiledGame):
        return None
    rules = {field.name: getattr(game.rules, field.name) for field in fields(Rules)}
    if not all(hasattr(rule, "py_func") for rule in rules.values()):
        return None
    twin = copy(game)
    twin.rules = Rules(**{name: rule.py_func for name, rule in rules.items()})
    return twin


def _is_int(value: Any) -> bool:
    return isinstance(value, int | np.integer)


def _form(value: Any) -> str:
    """`float32 (17, 9, 9)` for an array, the type's name for anything else."""
    return f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__


def _with_planes(view: _View, observation: FloatArray) -> _View:
    return _View(**{**vars(view), "observation": observation})


def _digest(view: _View) -> tuple[Any, ...]:
    """A view in few bytes: thousands of them are kept."""
    mask, planes = view.legal_action_mask.tobytes(), view.observation.tobytes()
    return (view.current_player, view.is_terminal, view.outcome, hash(mask), hash(planes))


def _texts(game: Game, state: Any, view: _View) -> set[str]:
    legal = np.flatnonzero(view.legal_action_mask).tolist()
    return {game.action_to_text(state, action) for action in legal}


def _row_of(out: Positions, row: int, num_actions: int) -> _View:
    """Row `row` of what `replay` wrote."""
    listed = out.legal_actions[row, : out.num_legal[row]]
    mask = np.zeros(num_actions, np.bool_)
    mask[listed[(listed >= 0) & (listed < num_actions)]] = True
    return _View(
        current_player=int(out.current_player[row]),
        is_terminal=bool(out.is_terminal[row]),
        legal_action_mask=mask,
        outcome=int(out.outcome[row]),
        observation=out.observations[row].copy(),
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}... ({len(text)} characters)"


# -- facts stated by the author ------------------------------------------------------------------


def check_position(
    game: Game,
    *,
    text: str | None = None,
    moves: Sequence[str] = (),
    player: int | None = None,
    legal: Collection[str] | None = None,
    illegal: Collection[str] = (),
    terminal: bool | None = None,
    outcome: int | None = None,
    planes: Mapping[int, npt.ArrayLike] | None = None,
) -> Any:
    """Check what the author knows about one position; what is not given is not checked.

    Args:
        game: any game.
        text: the position to start from, as `state_from_text` reads it; else the initial one.
        moves: texts of the actions played from there.
        player: the seat to move.
        legal: texts of all legal actions.
        illegal: texts that must be refused as illegal.
        terminal: whether the game is over.
        outcome: -1, 0 or +1, view of seat 0; the game must be over.
        planes: some planes of the observation, each [H, W], by index.

    Returns:
        The state, for further questions.

    Raises:
        ContractError: a fact does not hold.
        AzcoreError: `text` or `moves` cannot be read.
    """
    state = game.initial_state() if text is None else game.state_from_text(text)
    for move in moves:
        state = game.step(state, game.text_to_action(state, move))
    view = _look(game, state)

    def expect(what: str, got: Any, want: Any) -> None:
        if got != want:
            raise ContractError(
                Identity.POSITION,
                f"{game.name}, '{Identity.POSITION.value}': {what} is {got}, want {want}\n"
                f"after {' '.join(moves) or '(no action)'}\n{_drawn(game, state)}",
            )

    if player is not None:
        expect("current_player", view.current_player, player)
    if legal is not None:
        expect("the list of legal actions", sorted(_texts(game, state, view)), sorted(legal))
    for move in illegal:
        try:
            game.text_to_action(state, move)
        except IllegalActionError:
            continue
        expect(f"action {move}", "legal", "illegal")
    if terminal is not None or outcome is not None:
        expect("is_terminal", view.is_terminal, terminal is not False)
    if outcome is not None:
        expect("outcome", view.outcome, outcome)
    for plane, want in (planes or {}).items():
        wanted = np.asarray(want, np.float32)
        if not np.array_equal(view.observation[plane], wanted):
            expect(f"plane {plane}", f"\n{view.observation[plane]}\n", f"\n{wanted}")
    return state


# -- recorded games ------------------------------------------------------------------------------


def record_playthrough(game: Game, actions: Sequence[int]) -> str:
    """Describe a game ply by ply as text to be stored next to its tests.

    The first line says which game. Each further line has ply, seat to move, legal actions, CRC-32
    of the observation's bytes, then the action with its text, or the outcome if the game is over.
    """
    return "".join(f"{line}\n" for line, _ in _described(game, actions))


def check_playthrough(game: Game, text: str) -> None:
    """Replay a text of `record_playthrough` and compare every line.

    Raises:
        ContractError: a line has changed, shown as it is and as it was.
        InvalidTextError: not such a text.
    """
    recorded = text.splitlines()
    if len(recorded) < 2:
        raise InvalidTextError(f"a playthrough has at least two lines, got {len(recorded)}")
    actions = []
    for number, line in enumerate(recorded[1:-1], start=2):
        words = line.split()
        if len(words) < 6 or not (words[4].isascii() and words[4].isdecimal()):
            raise InvalidTextError(f"line {number} of a playthrough names no action: {line!r}")
        actions.append(int(words[4]))
    for want, (got, state) in zip(recorded, _described(game, actions), strict=True):
        if got != want:
            raise ContractError(
                Identity.PLAYTHROUGH,
                f"{game.name}, '{Identity.PLAYTHROUGH.value}':\ngot  {got}\nwant {want}\n"
                f"{_drawn(game, state)}",
            )


def _described(game: Game, actions: Sequence[int]) -> Iterator[tuple[str, Any]]:
    """The lines of a playthrough, each with its state; an action is played after its line."""
    state = game.initial_state()
    yield json.dumps(game.identity, sort_keys=True), state
    for ply in range(len(actions) + 1):
        view = _look(game, state)
        digest = f"{zlib.crc32(view.observation.tobytes()):08x}"
        line = f"{ply} {view.current_player} {_ranges(view.legal_action_mask)} {digest}"
        if ply < len(actions):
            yield f"{line} {actions[ply]} {game.action_to_text(state, actions[ply])}", state
            state = game.step(state, actions[ply])
        else:
            end = f"outcome {view.outcome:+d}" if view.is_terminal else "unfinished"
            yield f"{line} {end}", state
