"""azcore: state the rules of a board game, get an AlphaZero player.

Where to begin: `azcore.game` is the contract a game fills in; `azcore.testing` checks it;
`azcore.search` plays; `azcore.algorithms` reads as the papers' loops; `azcore.cli` is the command
line. Nothing heavy is imported here.
"""

from azcore.errors import AzcoreError
from azcore.game import CompiledGame, Game, Rules, Symmetry
from azcore.registry import installed_games, make

__all__ = ["AzcoreError", "CompiledGame", "Game", "Rules", "Symmetry", "installed_games", "make"]
__version__ = "0.1.0"
