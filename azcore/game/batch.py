"""Many positions of one game at once, for search and replay.

Both need one operation: take some root positions, replay a path of actions from each, and describe
the position at its end. `GameBatch.replay` does that in compiled code for a `CompiledGame` and in a
Python loop for any other `Game`; callers see no difference.

A tree stores only the state of its root and reaches leaves by replaying. So history planes and
repetition rules are correct, and memory for states does not grow with the tree.

Letters: B roots, S positions described at once, T longest path in plies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import config

from azcore.errors import FaultyGameError, GameError
from azcore.game import CompiledGame, Game
from azcore.game.batch_kernels import (
    BAD_FORM,
    BAD_KEY,
    BAD_LEGAL,
    BAD_LENGTH,
    BAD_ORDER,
    BAD_OUTCOME,
    BAD_PLANES,
    BAD_PLAYER,
    ask_rule,
    asking_kernel,
    play_roots,
    playing_kernel,
    replay_kernel,
    replay_paths,
    rule_at_place,
)
from azcore.game.compilation import code_for
from azcore.game.compiled import STEP, RuleFunctions
from azcore.game.contract import OUTCOMES, OUTCOMES_AS_TEXT, texts_along
from azcore.game.exhaustive_search import Decided, decide, decide_ends, deciding_kernel, make_line
from azcore.game.faults import broken_promise, game_faults, raised
from azcore.game.positions import Paths, Positions
from azcore.game.rule_table import rule_table

MOVES_SHOWN = 60  # last moves of a faulty game, shown as some lines of text


class GameBatch(ABC):
    """B root states of one game; starts with B initial states.

    A batch checks what the game returns, since trees and game records rely on it: a broken promise
    of `azcore.game` raises a `FaultyGameError`.
    """

    _states: Any  # one per row; `get` may copy, queries need not

    def __init__(self, game: Game, size: int) -> None:
        self.game = game
        self.size = size

    @abstractmethod
    def get(self, row: int) -> Any:
        """The root state of `row`; callers must not change it."""

    @abstractmethod
    def set(self, row: int, state: Any) -> None:
        """Make `state` the root of `row`."""

    def current_player(self, row: int) -> int:
        """Seat to move at the root of `row`."""
        player = self._ask("current_player", row)
        if player not in (0, 1):
            raise self._fault(BAD_PLAYER, player)
        return int(player)

    def is_terminal(self, row: int) -> bool:
        """Whether the game at the root of `row` is over."""
        return bool(self._ask("is_terminal", row))

    def is_over(self, row: int, ply: int) -> bool:
        """`is_terminal` after `ply` plies; a game longer than `max_game_length` is at fault."""
        over = self.is_terminal(row)
        if not over and ply >= self.game.max_game_length:
            raise self._fault(BAD_LENGTH, f"False after {ply} plies")
        return over

    def outcome(self, row: int) -> int:
        """The outcome at the terminal root of `row`, view of seat 0."""
        outcome = self._ask("outcome", row)
        if outcome not in OUTCOMES:
            raise self._fault(BAD_OUTCOME, outcome)
        return int(outcome)

    @abstractmethod
    def step(self, row: int, action: int) -> None:
        """Play an action on the root of `row`; the caller ensures that it is legal."""

    @abstractmethod
    def play(self, actions: npt.NDArray[np.int32], is_over: npt.NDArray[np.bool_]) -> None:
        """Play an action on each root.

        Args:
            actions: int32 [B], legal ones; below 0: none.
            is_over: bool [B], becomes true where the game is over after that.
        """

    @abstractmethod
    def decide(self, paths: Paths, plies: int, out: Decided) -> None:
        """Find the positions that the rules decide, see `azcore.game.exhaustive_search`.

        Args:
            paths: the paths to positions where the game is not over.
            plies: the longest forced win to look for, 1 or more.
            out: written, for S positions; the result of skipped rows becomes 0.
        """

    @abstractmethod
    def replay(self, paths: Paths, out: Positions) -> None:
        """Describe the position at the end of each path in `out`.

        Args:
            paths: paths from roots of this batch.
            out: buffers for at least S positions.

        Raises:
            FaultyGameError: a rule returned an invalid value, or raised.
        """

    def _ask(self, rule: str, row: int) -> Any:
        """The result of a rule for the root of `row`."""
        return getattr(self.game, rule)(self._states[row])

    def _fault(self, promise: int, got: object) -> FaultyGameError:
        rule, want = _PROMISES[promise]
        want = want.format(game=self.game, last=self.game.num_actions - 1)
        return broken_promise(self.game.name, self.game.source_of(rule), got, want)


# Checks of `replay` in every position: the rule, and its promise.
_PROMISES = {
    BAD_PLAYER: ("current_player", "0 or 1"),
    BAD_OUTCOME: ("outcome", OUTCOMES_AS_TEXT),
    BAD_LEGAL: ("legal_action_mask", "1 to {game.num_actions} where the game is not over"),
    BAD_ORDER: ("legal_action_mask", "actions that ascend, 0 to {last}"),
    BAD_LENGTH: (
        "is_terminal",
        "an end of the game within max_game_length = {game.max_game_length}",
    ),
    BAD_FORM: ("legal_action_mask", "bool ({game.num_actions},)"),
    BAD_PLANES: ("observation", "whole numbers from 0 to 255, {game.observation_shape}"),
    BAD_KEY: ("position_key", "0 to 2**64 - 1 in every state or in none"),
}


def _contiguous(paths: Paths) -> Paths:
    """The paths in a form for kernels."""
    return Paths(*(np.ascontiguousarray(array, np.int32) for array in paths))


def make_batch(game: Game, size: int) -> GameBatch:
    """A batch for a game, compiled if the game is."""
    return CompiledBatch(game, size) if isinstance(game, CompiledGame) else PlainBatch(game, size)


def after_moves(game: Game, state: Any, actions: Sequence[int]) -> str:
    """The moves of a game and the resulting board, to report with a fault.

    Args:
        game: the game; if its texts are faulty, too, the result is empty.
    """
    try:
        texts = texts_along(game, state, actions)
        for action in actions:
            state = game.step(state, action)
        moves = " ".join(texts[-MOVES_SHOWN:])
        more = f"{len(texts) - MOVES_SHOWN} plies and " if len(texts) > MOVES_SHOWN else ""
        return f"\nafter {more}{moves}\n{game.render(state)}"
    except Exception:  # another fault must not hide the one to report
        return ""


class PlainBatch(GameBatch):
    """States are Python objects; rules are called one at a time."""

    def __init__(self, game: Game, size: int) -> None:
        super().__init__(game, size)
        self._states = [game.initial_state() for _ in range(size)]

    def get(self, row: int) -> Any:
        return self._states[row]

    def set(self, row: int, state: Any) -> None:
        self._states[row] = state

    def step(self, row: int, action: int) -> None:
        with game_faults():
            self._states[row] = self.game.step(self._states[row], action)

    def play(self, actions: npt.NDArray[np.int32], is_over: npt.NDArray[np.bool_]) -> None:
        for row in np.flatnonzero(actions >= 0).tolist():
            self.step(row, int(actions[row]))
            is_over[row] |= self.is_terminal(row)

    def decide(self, paths: Paths, plies: int, out: Decided) -> None:
        out.result[:] = 0
        with game_faults():
            for row in np.flatnonzero(paths.roots >= 0).tolist():
                state = self._after(paths, row)
                out.player[row] = self.game.current_player(state)
                out.result[row], out.action[row] = decide(self.game, state, plies)

    def replay(self, paths: Paths, out: Positions) -> None:
        with game_faults():
            for row in np.flatnonzero(paths.roots >= 0).tolist():
                self._describe(self._after(paths, row), row, out)
                plies = paths.lengths[row]
                if not out.is_terminal[row] and plies >= self.game.max_game_length:
                    raise self._fault(BAD_LENGTH, f"False after {plies} plies")

    def _after(self, paths: Paths, row: int) -> Any:
        """The state at the end of a path."""
        state = self._states[paths.roots[row]]
        for action in paths.of(row):
            state = self.game.step(state, action)
        return state

    def _describe(self, state: Any, row: int, out: Positions) -> None:
        game = self.game
        mask = np.asarray(game.legal_action_mask(state))
        if mask.shape != (game.num_actions,) or mask.dtype != np.bool_:
            raise self._fault(BAD_FORM, f"{mask.dtype} {mask.shape}")
        legal = np.flatnonzero(mask)
        out.num_legal[row] = len(legal)
        out.legal_actions[row, : len(legal)] = legal
        player, over = game.current_player(state), game.is_terminal(state)
        if player not in (0, 1):
            raise self._fault(BAD_PLAYER, player)
        out.current_player[row] = player
        out.is_terminal[row] = over
        if not over and len(legal) == 0:
            raise self._fault(BAD_LEGAL, "no legal action")
        outcome = game.outcome(state) if over else 0
        if outcome not in OUTCOMES:
            raise self._fault(BAD_OUTCOME, outcome)
        out.outcome[row] = outcome
        planes = np.asarray(game.observation(state))
        if planes.shape != game.observation_shape:
            raise self._fault(BAD_PLANES, f"{planes.dtype} {planes.shape}")
        # NaN and infinity become arbitrary bytes, detected below.
        with np.errstate(invalid="ignore"):
            out.observations[row] = planes
        same = out.observations[row] == planes
        if not same.all():
            raise self._fault(BAD_PLANES, planes[~same][0])
        if len(out.keys):
            key = game.position_key(state)
            if key is None:
                raise self._fault(BAD_KEY, key)
            out.keys[row] = key


class CompiledBatch(GameBatch):
    """States are rows of a structured array; rules and loops are compiled."""

    def __init__(self, game: CompiledGame, size: int) -> None:
        super().__init__(game, size)
        self._states = np.zeros(size, game.state_dtype)
        self._states[:] = game.initial_state()
        self._scratch = np.zeros(1, game.state_dtype)
        self._at = np.zeros(3, np.int64)  # row, index of the rule, invalid value that it returned
        self._compiled = game
        self._tables: dict[bool, Any] = {}  # keyed by whether keys are wanted
        self._replay: Any = None  # the loop of `replay`, compiled on first use
        self._ask_rule: Any = None  # `_ask`, likewise
        self._play: Any = None  # `play`, likewise
        self._decide: Any = None  # `decide`, likewise
        self._line: Any = None  # scratch of `decide`

    def _functions(self, keys: bool) -> Any:
        if config.DISABLE_JIT:
            return self._compiled.rule_functions
        if keys not in self._tables:
            self._tables[keys] = rule_table(self._compiled, keys=keys)
        return self._tables[keys]

    def _code_of(self, plain: Any, kernel: Any, *arguments: Any) -> Any:
        """The loop over the rules: a kernel for these states, or plain Python if interpreted."""
        if config.DISABLE_JIT:
            return plain
        return code_for(kernel(self._compiled.state_type), *arguments)

    def _raised_in(
        self, loop: Any, arguments: tuple[Any, ...], error: Exception
    ) -> FaultyGameError:
        """The fault of a rule that raised in a loop over the rules, at the place `at`."""
        written = self._compiled.source_of
        as_written = RuleFunctions(*map(written, RuleFunctions._fields))
        again = partial(loop, as_written, *arguments)
        return raised(self.game.name, written(rule_at_place(self._at)), error, again)

    def get(self, row: int) -> Any:
        return self._states[row].copy()

    def set(self, row: int, state: Any) -> None:
        if getattr(state, "dtype", None) != self._states.dtype:
            raise GameError(
                f"{self.game.name}: a state must be a record of this game, "
                f"got {type(state).__name__}"
            )
        self._states[row] = state

    def step(self, row: int, action: int) -> None:
        self._ask("step", row, int(action))

    def _ask(self, rule: str, row: int, action: int = 0) -> Any:
        """A rule's result, by a kernel over all states: numba takes 15 µs to read a single one."""
        if not 0 <= row < self.size:
            raise IndexError(f"a batch of {self.size} states has no row {row}")
        functions, place = self._functions(False), RuleFunctions._fields.index(rule)
        arguments = (self._states, int(row), place, action)
        if self._ask_rule is None:
            self._ask_rule = self._code_of(ask_rule, asking_kernel, functions, *arguments)

        def under_way() -> str:  # for `azcore.interrupts`
            return f"{rule}, a compiled rule of game {self.game.name}"

        def position_here() -> tuple[Any, ...]:  # for `azcore.game.hangs`
            return self.game, self._states[row], (action,) if rule == "step" else ()

        try:
            return self._ask_rule(functions, *arguments)
        except Exception as error:
            written = self._compiled.source_of(rule)
            of_rule = (self._states[row], action) if rule == "step" else (self._states[row],)
            raise raised(self.game.name, written, error, partial(written, *of_rule)) from error

    def play(self, actions: npt.NDArray[np.int32], is_over: npt.NDArray[np.bool_]) -> None:
        functions, at = self._functions(False), self._at
        arguments = (self._states, at, actions, is_over)
        if self._play is None:
            self._play = self._code_of(play_roots, playing_kernel, functions, *arguments)

        def under_way() -> str:  # for `azcore.interrupts`
            return f"{rule_at_place(at)}, a compiled rule of game {self.game.name}"

        def position_here() -> tuple[Any, ...]:  # for `azcore.game.hangs`
            return self.game, self._states[at[0]], (actions[at[0]],) if at[1] == STEP else ()

        try:
            self._play(functions, *arguments)
        except Exception as error:
            rule, row = rule_at_place(at), int(at[0])
            written = self._compiled.source_of(rule)
            of_rule = (self._states[row], int(actions[row]))[: 1 + (rule == "step")]
            raise raised(self.game.name, written, error, partial(written, *of_rule)) from error

    def decide(self, paths: Paths, plies: int, out: Decided) -> None:
        functions, at = self._functions(False), self._at
        if self._line is None or len(self._line.num_legal) < plies:
            self._line = make_line(self._states, plies, self.game.num_actions)
        line = self._line
        arguments = (self._states, at, _contiguous(paths), plies, line, out)
        if self._decide is None:
            self._decide = self._code_of(decide_ends, deciding_kernel, functions, *arguments)

        def under_way() -> str:  # for `azcore.interrupts`
            rule = f"{rule_at_place(at)}, a compiled rule of game {self.game.name}"
            return f"{rule}, or the search of all lines of {plies} plies"

        def position_here() -> tuple[Any, ...]:  # for `azcore.game.hangs`
            tried = range(at[2] + (at[1] == STEP))  # none within the path, where at is -1
            path = paths.of(at[0]) + [int(line.legal[ply, line.tried[ply] - 1]) for ply in tried]
            return self.game, self._states[paths.roots[at[0]]], path

        try:
            self._decide(functions, *arguments)
        except Exception as error:
            raise self._raised_in(decide_ends, arguments, error) from error

    def replay(self, paths: Paths, out: Positions) -> None:
        at = self._at

        def under_way() -> str:  # for `azcore.interrupts`
            return f"{rule_at_place(at)}, a compiled rule of game {self.game.name}"

        def position_here() -> tuple[Any, ...]:  # for `azcore.game.hangs`
            return self.game, self._states[paths.roots[at[0]]], paths.of(at[0])

        arguments = (
            self._states,
            self._scratch,
            int(self.game.max_game_length),
            at,
            _contiguous(paths),
            out,
        )
        functions = self._functions(len(out.keys) > 0)
        if self._replay is None:
            self._replay = self._code_of(replay_paths, replay_kernel, functions, *arguments)
        try:
            broken = self._replay(functions, *arguments)
        except Exception as error:
            raise self._raised_in(replay_paths, arguments, error) from error
        if broken:
            raise self._fault(broken, _GOT[broken].format(at[2]))


# How an error shows the invalid number that a compiled rule returned.
_GOT = {
    BAD_PLAYER: "{}",
    BAD_OUTCOME: "{}",
    BAD_LEGAL: "{} legal actions",
    BAD_ORDER: "action {} out of order",
    BAD_LENGTH: "False after {} plies",
}
