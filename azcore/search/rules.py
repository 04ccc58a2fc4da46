"""Formulas of installed packages in place of PUCT's U: `puct.rule` names one (docs/research.md).

numba compiles a formula when a search is made and keeps it nowhere, so no later one meets machine
code of an earlier one. Kernels take its address: theirs is the same for all formulas, and they keep
it as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType

from numba import cfunc, config
from numba.core.errors import NumbaError

from azcore.errors import SettingError
from azcore.plugins import loaded, named
from azcore.search.settings import RULES

# Q(s, a), P(s, a), N(s, a), N(s), C(s) and whether s is the root, as `puct.exploration` passes them
SIGNATURE = "float64(float64, float64, float64, float64, float64, boolean)"
OURS = ("azcore", "numba", "typing")  # whose functions stand in modules of kernels


def formula_named(name: str) -> Callable[..., float]:
    """The formula of an installed package, compiled.

    Raises:
        SettingError: no package has it, or it cannot be used.
    """
    return _compiled(loaded(named(RULES, name, "puct.rule")), name)


@cache
def _compiled(function: Callable[..., float], name: str) -> Callable[..., float]:
    if not config.DISABLE_JIT:
        try:  # numpy's errors: dividing by 0 gives infinity, as C code cannot raise
            function = cfunc(SIGNATURE, error_model="numpy")(function)
        except NumbaError as error:
            reason = str(error).strip().splitlines()[0]
            raise SettingError(f"{name} in {RULES} cannot be compiled: {reason}") from error
    return function


def refuse_patches(*modules: ModuleType) -> None:
    """Refuse functions that someone has put in place of azcore's, which compiled code ignores.

    Raises:
        SettingError: a module of kernels has one.
    """
    for module in () if config.DISABLE_JIT else modules:
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__module__.partition(".")[0] not in OURS:
                raise SettingError(
                    f"{module.__name__}.{name} must be azcore's own, since searches are compiled "
                    f"from its files, got {value.__module__}.{value.__qualname__}; puct.rule names "
                    f"a formula in {RULES}"
                )
