"""Formulas of installed packages that replace PUCT's U: `puct.rule` names one (docs/research.md).

numba compiles a formula for each new search without caching it, so a changed formula never meets
old machine code. Kernels take its address, so one cached kernel serves all formulas.
"""

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
OURS = (
    "azcore",
    "dataclasses",
    "numba",
    "typing",
)  # packages whose functions the kernels' modules import


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
    """Refuse functions that replace azcore's own, since compiled code ignores them.

    Raises:
        SettingError: a module of kernels has one.
    """
    for module in () if config.DISABLE_JIT else modules:
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__module__.partition(".")[0] not in OURS:
                raise SettingError(
                    f"{module.__name__}.{name} must be azcore's own, since numba compiles search "
                    f"and self-play from its files, got {value.__module__}.{value.__qualname__}; "
                    f"puct.rule names a formula in {RULES}"
                )
