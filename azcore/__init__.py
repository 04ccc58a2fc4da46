"""azcore: state the rules of a board game, get an AlphaZero player.

    game = azcore.make("name", board_size=9)
    player = azcore.load("pretrained/NAME")
    azcore.search(game, game.initial_state(), player)
    run = azcore.train("name", minutes=5)
    azcore.arena([run, "random", "search:64"])

docs/library.md explains these names, which stay stable. Inside: `azcore.game` defines the
contract that a game implements; `azcore.testing` checks it; `azcore.search` plays;
`azcore.algorithms` implements the papers' loops; `azcore.cli` is the command line. The names below
are imported on first use, so importing azcore costs nothing.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from azcore.version import __version__ as __version__

if TYPE_CHECKING:
    from azcore.errors import AzcoreError
    from azcore.game import CompiledGame, Facts, Game, Rules, Symmetry
    from azcore.game.registry import installed_games, make
    from azcore.learner.module import LearnerModule
    from azcore.library.analysis import search
    from azcore.library.matches import arena
    from azcore.library.player import Player, load
    from azcore.library.runs import Run, train
    from azcore.library.settings import compose
    from azcore.pictures import draw, film

_HOMES = {
    "AzcoreError": "azcore.errors",
    "CompiledGame": "azcore.game",
    "Facts": "azcore.game",
    "Game": "azcore.game",
    "LearnerModule": "azcore.learner.module",
    "Player": "azcore.library.player",
    "Rules": "azcore.game",
    "Run": "azcore.library.runs",
    "Symmetry": "azcore.game",
    "arena": "azcore.library.matches",
    "compose": "azcore.library.settings",
    "draw": "azcore.pictures",
    "film": "azcore.pictures",
    "installed_games": "azcore.game.registry",
    "load": "azcore.library.player",
    "make": "azcore.game.registry",
    "search": "azcore.library.analysis",
    "train": "azcore.library.runs",
}
__all__ = [
    "AzcoreError",
    "CompiledGame",
    "Facts",
    "Game",
    "LearnerModule",
    "Player",
    "Rules",
    "Run",
    "Symmetry",
    "arena",
    "compose",
    "draw",
    "film",
    "installed_games",
    "load",
    "make",
    "search",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])


class _Function(ModuleType):
    """A package that is also a function: `azcore.search(...)` alongside `azcore.search.mcts`.

    Importing anything in a package binds the package to its name in azcore, whatever had that name.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def _function(self) -> Any:
        name = self.__name__.rpartition(".")[2]
        return getattr(import_module(_HOMES[name]), name)

    @property
    def __signature__(self) -> Any:  # what help() and editors show
        import inspect

        return inspect.signature(self._function)


for _name in ("arena", "search"):
    import_module(f"azcore.{_name}").__class__ = _Function  # each holds only a docstring
