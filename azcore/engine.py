"""`command=engine`: a checkpoint as an engine that GUIs and other programs talk to.

Standard output carries the protocol and nothing else. The handshake is answered while the network
is still being loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azcore.evaluators import Evaluator, UniformEvaluator
from azcore.game import Game
from azcore.protocols.engine import Engine, Server
from azcore.protocols.lines import Writer, claim_stdout, read_lines
from azcore.registry import make
from azcore.search.mcts import SearchSettings
from azcore.settings import build
from azcore.thinking import EngineSettings

if TYPE_CHECKING:
    from azcore.assembly import Settings

SERVERS = {  # module and class by `Game.protocol`
    "gtp": ("azcore.protocols.gtp", "GtpServer"),
    "uci": ("azcore.protocols.uci", "UciServer"),
    "usi": ("azcore.protocols.usi", "UsiServer"),
}


def serve(config: Mapping[str, Any]) -> int:
    """Speak the game's protocol on standard input and output until told to quit.

    Raises:
        AzcoreError: a setting cannot be used; a checkpoint's fault is told in the protocol too.
    """
    out = claim_stdout()
    settings = build(EngineSettings, config["engine"], "engine")
    search = build(SearchSettings, config["search"], "search")
    values = dict(config["game"])
    game = make(values.pop("name"), **values)
    module, name = SERVERS[game.protocol]
    engine = Engine(lambda: _load(config, game), search, settings)
    kind: type[Server] = getattr(import_module(module), name)
    server = kind(engine, Writer(out, settings.log))
    return server.run(read_lines(sys.stdin.buffer))


def _load(config: Mapping[str, Any], game: Game) -> tuple[Game, Evaluator]:
    """The game and who judges it: the checkpoint's, or nobody without one."""
    if config["checkpoint"] is None:
        print("azcore: no checkpoint=PATH: searching without a network", file=sys.stderr)
        return game, UniformEvaluator(game)
    from azcore.assembly import settings_from  # torch

    settings: Settings = settings_from(config)
    return settings.game, settings.checkpoint_evaluator(Path(config["checkpoint"]))
