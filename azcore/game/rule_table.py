"""The compiled rules of a game as addresses, for kernels that call rules."""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic, register_jitable

from azcore.game import CompiledGame, compilation
from azcore.game import compiled as compiled_game
from azcore.game.compilation import function_table, load_function
from azcore.game.compiled import (
    CURRENT_PLAYER,
    IS_TERMINAL,
    LEGAL_ACTIONS,
    OBSERVE,
    OUTCOME,
    POSITION_KEY,
    RULES,
    STEP,
    RuleFunctions,
    rule_signatures,
)

# The sources of kernels over rules, besides the rules and the kernel's own file.
RULE_SOURCES = (__file__, compilation.__file__, compiled_game.__file__)


def rule_table(game: CompiledGame, *, keys: bool = False) -> npt.NDArray[np.int64]:
    """The rules of a game for kernels that run often, int64 [7, 3]; see `rules_of`.

    The table holds addresses, since unpacking six functions takes numba 130 µs a call, as long as
    searching 25 leaves. A row of zeros is an unused function: the key rule when no keys are needed.
    """
    rules = [getattr(game.rules, name) for name in RULES] + [game.key_rule] * keys
    signatures = list(rule_signatures(game.state_type).values())
    table = np.zeros((len(signatures), 3), np.int64)
    table[: len(rules)] = function_table(rules, signatures[: len(rules)])
    return table


def _rule_at(_context: Any, table: Any, states: Any, place: Any) -> Any:
    """Function `place` (a constant) of a `rule_table`, for states of the type of `states`."""
    signatures = list(rule_signatures(states.dtype).values())
    function = types.FunctionType(signatures[place.literal_value])
    return function(table, states, place), load_function


rule_at: Any = intrinsic(prefer_literal=True)(_rule_at)


@register_jitable
def rules_of(table: Any, states: Any) -> Any:
    """The rules of a `rule_table`, as functions over an element of `states`."""
    return RuleFunctions(
        rule_at(table, states, CURRENT_PLAYER),
        rule_at(table, states, LEGAL_ACTIONS),
        rule_at(table, states, STEP),
        rule_at(table, states, IS_TERMINAL),
        rule_at(table, states, OUTCOME),
        rule_at(table, states, OBSERVE),
        rule_at(table, states, POSITION_KEY),
    )
