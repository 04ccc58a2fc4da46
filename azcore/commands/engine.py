"""`command=engine`: a checkpoint as an engine that GUIs and other programs talk to.

Standard output carries the protocol and nothing else. The engine answers the handshake while
the network is still loading.
"""

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NoReturn

from azcore.engine.lines import Writer, claim_stdin, claim_stdout, read_lines
from azcore.engine.server import Engine, Loaded, Server
from azcore.engine.settings import EngineSettings, engine_settings, thinking_search
from azcore.errors import CheckpointError, SettingError
from azcore.game.registry import make, require_received, unprepared
from azcore.search.evaluators import UniformEvaluator

SERVERS = {  # module and class by `engine.protocol` or `Game.protocol`
    "analysis": ("azcore.engine.analysis_server", "AnalysisServer"),
    "gtp": ("azcore.engine.gtp", "GtpServer"),
    "uci": ("azcore.engine.uci", "UciServer"),
    "usi": ("azcore.engine.usi", "UsiServer"),
}


def serve(config: Mapping[str, Any]) -> NoReturn:
    """Speak the game's protocol on standard input and output until `quit`, then exit."""
    out = claim_stdout()
    settings = _settings(config)
    search = thinking_search(config)
    game = unprepared(**config["game"])
    module, name = SERVERS[settings.protocol or game.protocol]
    engine = Engine(lambda: _load(config), search, settings, config["seed"])
    kind: type[Server] = getattr(import_module(module), name)
    # If nobody reads our output, there is nobody to serve, even if our input stays open.
    writer = Writer(out, settings.log, on_gone=lambda: os._exit(0))
    status = kind(engine, writer).run(read_lines(claim_stdin()))
    # There is nothing to clean up, even while the engine loads. An orderly shutdown of torch and
    # OpenVINO takes most of a second, for which a GUI would wait.
    if status == 0:  # else a signal ended it, or the other side does not read
        out.flush()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _settings(config: Mapping[str, Any]) -> EngineSettings:
    """The engine's settings, if its protocol supports all of them."""
    settings = engine_settings(config)
    if settings.protocol == "analysis" and (settings.book or settings.tablebase):
        raise SettingError(
            "engine.book and engine.tablebase must be null for engine.protocol=analysis, which "
            f"plays no moves, got {settings.book or settings.tablebase}"
        )
    return settings


def _load(config: Mapping[str, Any]) -> Loaded:
    """As `loaded`, for the protocol's game."""
    found = loaded(config)
    game = found.game
    if game.name != config["game"]["name"]:
        raise CheckpointError(
            f"{config['checkpoint']}: this checkpoint's game must be {config['game']['name']}, "
            f"got {game.name}; set game={game.name} for its protocol"
        )
    settings_text = ", ".join(f"{key} {value}" for key, value in game.settings.items())
    judge = config["checkpoint"] or "searching without a network; set checkpoint=PATH to use one"
    print(f"azcore: {judge}: {game.name} {settings_text}", file=sys.stderr)
    return found


def loaded(config: Mapping[str, Any]) -> Loaded:
    """What a checkpoint's engine searches with, or the configured game without a network."""
    if config["checkpoint"] is None:
        game = make(**config["game"])
        return Loaded(game, UniformEvaluator(game))
    from azcore.assembly.entrants import checkpoint_of
    from azcore.assembly.parts import EvaluationSettings, settings_from  # torch
    from azcore.networks.checkpoint import network_of
    from azcore.networks.predictor import predictor_of
    from azcore.storage.checkpoint import KEY, read_player

    path = checkpoint_of(config["checkpoint"])
    checkpoint = read_player(path)
    identity = checkpoint[KEY]["game"]
    own = {"name": identity["name"], **identity["settings"]}
    if own != config["game"]:  # set on the command line, or read from the checkpoint
        require_received(identity["name"], identity["settings"])
    settings = settings_from({**config, "game": own}, EvaluationSettings)
    network, step = network_of(checkpoint, path, settings.game)
    evaluator = settings.search_evaluator(network, step)
    return Loaded(settings.game, evaluator, predictor_of(network, settings.game, settings.device))
