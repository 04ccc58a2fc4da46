"""Games whose rules azcore compiles: `Rules`, and `CompiledGame`, which turns them into a game."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import config, types

from azcore import bits
from azcore.game import faults, keys
from azcore.game.compilation import compiled, record_type
from azcore.game.contract import Game, require_legal
from azcore.game.facts import BoolArray, Facts, FloatArray
from azcore.game.keys import KEY_BITS, state_key


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules of a compiled game: plain functions over its state, scalars in and out.

    numba compiles them with the signatures below, so they may use what it supports: integers,
    loops, record fields and nested arrays. A helper they call must be decorated with
    `numba.extending.register_jitable` and lie in the game's folder. `azcore.bits` has what
    bitboards need. With NUMBA_DISABLE_JIT=1 they run as ordinary Python.
    """

    current_player: Callable[[Any], int]  # (state) -> 0 or 1
    # (state that is not terminal, int32 [A]) -> count; it writes them in ascending order
    legal_actions: Callable[[Any, Any], int]
    step: Callable[[Any, int], None]  # (state, action): changes the state in place
    is_terminal: Callable[[Any], bool]  # (state)
    outcome: Callable[[Any], int]  # (terminal state) -> -1, 0 or +1, view of seat 0
    observe: Callable[[Any, Any], None]  # (state, uint8 [C, H, W] holding zeros)
    # (state) -> any 64 bits, signed or not: `Game.position_key`. None: a hash of the whole state,
    # which is correct if the state holds nothing about the path to a position.
    position_key: Callable[[Any], int] | None = None


# In the order of `Rules`, without `position_key`, which is compiled only on request.
RULES = ("current_player", "legal_actions", "step", "is_terminal", "outcome", "observe")


class RuleFunctions(NamedTuple):
    """The rules as kernels call them, compiled or plain Python."""

    current_player: Any
    legal_actions: Any
    step: Any
    is_terminal: Any
    outcome: Any
    observe: Any
    position_key: Any


# The index of each rule in `RuleFunctions`.
CURRENT_PLAYER, LEGAL_ACTIONS, STEP, IS_TERMINAL, OUTCOME, OBSERVE, POSITION_KEY = range(7)


def rule_signatures(state: Any) -> dict[str, Any]:
    """The numba signature of each function of `Rules` over one type of state."""
    return {
        "current_player": types.int64(state),
        "legal_actions": types.int64(state, types.int32[::1]),
        "step": types.void(state, types.int64),
        "is_terminal": types.boolean(state),
        "outcome": types.int64(state),
        "observe": types.void(state, types.uint8[:, :, ::1]),
        "position_key": types.uint64(state),
    }


def rule_types(state: Any, *names: str) -> list[Any]:
    """The argument types of a kernel that takes the rules `names` over one type of state."""
    signatures = rule_signatures(state)
    return [types.FunctionType(signatures[name]) for name in names]


class CompiledGame(Game):
    """A game whose state is a NumPy record and whose rules azcore compiles.

    A concrete game implements `initial_state` and the texts; the rest follows from its `Rules`.

    Args of the constructor beyond those of `Game`:
        state_dtype: fields of the state. Sizes of nested arrays are compile-time constants, so
            loops over `state.board.shape[0]` cost nothing extra.
        rules: the rule functions.
    """

    def __init__(self, facts: Facts, *, state_dtype: list[Any], rules: Rules) -> None:
        super().__init__(facts)
        self.state_dtype = record_type(state_dtype)
        self.state_type = numba.from_dtype(self.state_dtype)
        self._rules = rules

    def prepare(self) -> None:
        """Compile the rules now instead of on first use."""
        _ = self.rules

    @cached_property
    def rules(self) -> Rules:
        """The compiled rules: seconds the first time on a machine, cached within a process.

        Games whose settings change only the values in a state share them.
        """
        rules = self._rules
        return replace(
            rules,
            **{name: _compiled_rule(name, getattr(rules, name), self.state_type) for name in RULES},
        )

    @property
    def rule_functions(self) -> RuleFunctions:
        """The rules for a Python loop."""
        rules = self.rules
        return RuleFunctions(
            current_player=rules.current_player,
            legal_actions=rules.legal_actions,
            step=rules.step,
            is_terminal=rules.is_terminal,
            outcome=rules.outcome,
            observe=rules.observe,
            position_key=self.position_key,
        )

    def source_of(self, rule: str) -> Callable[..., Any]:
        names = {"legal_action_mask": "legal_actions", "observation": "observe"}
        function: Callable[..., Any] = getattr(self._rules, names.get(rule, rule)) or state_key
        return function

    def ask_rule(self, rule: str, *arguments: Any) -> Any:
        """Call a compiled rule.

        Raises:
            FaultyGameError: the rule raised.
        """
        function = getattr(self.rules, rule)

        def under_way() -> str:  # for `azcore.interrupts`
            return f"{rule}, a compiled rule of game {self.name}"

        def position_here() -> tuple[Any, ...]:  # for `azcore.game.hangs`
            return self, arguments[0], arguments[1:] if rule == "step" else ()

        try:
            return function(*arguments)
        except Exception as error:
            written = self.source_of(rule)
            again = partial(written, *arguments)
            raise faults.raised(self.name, written, error, again) from error

    def check_bounds(self) -> None:
        """Compile rules that raise IndexError at a bad array index.

        Call it before anything of the game is compiled: numba compiles a helper once per process.
        """
        before, config.BOUNDSCHECK = config.BOUNDSCHECK, 1
        _ = self.rules, self.key_rule
        config.BOUNDSCHECK = before  # kernels over rules need none

    def blank_state(self) -> Any:
        """A state of zeros for `initial_state` to fill."""
        return np.zeros(1, self.state_dtype)[0]

    def current_player(self, state: Any) -> int:
        return int(self.ask_rule("current_player", state))

    def legal_action_mask(self, state: Any) -> BoolArray:
        actions = np.empty(self.num_actions, np.int32)
        mask = np.zeros(self.num_actions, np.bool_)
        if not self.ask_rule("is_terminal", state):
            legal = actions[: self.ask_rule("legal_actions", state, actions)]
            if len(legal) and not (legal.min() >= 0 and legal.max() < self.num_actions):
                raise faults.broken_promise(
                    self.name,
                    self.source_of("legal_actions"),
                    f"actions {legal.min()} to {legal.max()}",
                    f"0 to {self.num_actions - 1}",
                )
            mask[legal] = True
        return mask

    def step(self, state: Any, action: int) -> Any:
        require_legal(self, state, action)
        successor = state.copy()
        self.ask_rule("step", successor, action)
        return successor

    def step_in_place(self, state: Any, action: int) -> None:
        """`step` on the state itself, without checking that the action is legal."""
        self.ask_rule("step", state, action)

    def is_terminal(self, state: Any) -> bool:
        return bool(self.ask_rule("is_terminal", state))

    def outcome(self, state: Any) -> int:
        return int(self.ask_rule("outcome", state))

    def observation(self, state: Any) -> FloatArray:
        planes = np.zeros(self.observation_shape, np.uint8)
        self.ask_rule("observe", state, planes)
        return planes.astype(np.float32)

    @property
    def has_position_key(self) -> bool:
        return True  # a hash of the state if the rules have none; needs no compilation

    def position_key(self, state: Any) -> int:
        return int(self.key_rule(state)) & KEY_BITS

    @property
    def key_rule(self) -> Any:
        """The rule `position_key`, or the hash that replaces it, compiled on first use."""
        function = self.rules.position_key or state_key
        return _compiled_rule("position_key", function, self.state_type)


@cache
def _compiled_rule(name: str, function: Callable[..., Any], state: Any) -> Any:
    signature = rule_signatures(state)[name]
    return compiled(function, signature, sources=_package_sources(function))


def _package_sources(function: Callable[..., Any]) -> list[Path]:
    """The files a rule may call into: those in the folder of `function`, bits and keys."""
    ours = [Path(bits.__file__), Path(keys.__file__)]
    return [*Path(function.__code__.co_filename).parent.glob("*.py"), *ours]
