"""azcore: state the rules of a board game, get an AlphaZero player.

Where to begin: `azcore.game` defines the contract that a game implements; `azcore.testing` checks
it; `azcore.search` plays; `azcore.algorithms` follows the papers' loops; `azcore.cli` is the
command line. The names below are imported on first use, so importing azcore costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from azcore.errors import AzcoreError
    from azcore.game import CompiledGame, Facts, Game, Rules, Symmetry
    from azcore.game.registry import installed_games, make

__all__ = [
    "AzcoreError",
    "CompiledGame",
    "Facts",
    "Game",
    "Rules",
    "Symmetry",
    "installed_games",
    "make",
]
__version__ = "0.1.0"

_HOMES = {
    "AzcoreError": "azcore.errors",
    "installed_games": "azcore.game.registry",
    "make": "azcore.game.registry",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "azcore.game")), name)
