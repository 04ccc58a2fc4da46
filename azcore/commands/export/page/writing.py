"""`what=page`: a folder for any static host that plays a game in the browser."""

import base64
import json
import re
import shutil
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from azcore.assembly.entrants import checkpoint_of, player_name
from azcore.assembly.parts import Config
from azcore.commands.export.page.look import look_of
from azcore.commands.export.page.verification import (
    exceptions_of,
    positions_of,
    random_games,
    read_by_page,
    require_equal,
    require_node,
)
from azcore.commands.export.page.webassembly import module_of
from azcore.commands.export.settings import ExportedPage
from azcore.commands.result import write_result
from azcore.errors import SettingError, os_errors_as
from azcore.game import CompiledGame, Game
from azcore.game.registry import make, received
from azcore.search.puct import value_unit
from azcore.search.settings import SearchSettings, search_settings
from azcore.settings import require
from azcore.storage.checkpoint import KEY, read_checkpoint
from azcore.web.players import describe_game, title_of_game

SERVED = Path(str(files("azcore.web"))) / "static"
PAGE = Path(__file__).with_name("static")
SHARED = (
    "board.js",
    "elements.js",
    "motion.js",
    "sketch.js",
    "sounds.js",
    "page.css",
)  # that the page with a server also has
RUNTIME = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
LIST = "games.json"
POSITIONS = 2000  # to learn from, and as many to compare

# Settings that the page's search does not implement.
ABSENT: Mapping[str, Any] = {
    "search.gumbel": None,
    "search.leaves_per_tree": 1,
    "search.transpositions": False,
    "search.stop_early": False,
    "search.solve": False,
    "search.proof_plies": 0,
    "puct.c_spread": 0.0,
    "puct.rule": None,
}


def export_page(config: Config, settings: ExportedPage) -> int:
    """Add a game to the page in the folder `out`, creating it if needed; 0.

    Raises:
        AzcoreError: a setting, the game or the checkpoint cannot be used, or the page's code
            disagrees with Python; nothing was written.
    """
    require(config["out"] is not None, "out", "a folder for the page", None)
    out = Path(str(config["out"]))
    is_ours = (
        not out.exists() or (out / LIST).is_file() or (out.is_dir() and not any(out.iterdir()))
    )
    require(is_ours, "out", "a new folder, or one with a page", config["out"])
    search = _search_of(search_settings(config))
    runtime = None if config["checkpoint"] is None else _runtime(settings.runtime)
    require_node()
    game, network = _game_and_network(config)
    if not isinstance(game, CompiledGame):
        raise SettingError(f"what=page needs a game with compiled rules, got {game.name}")
    module = module_of(game)
    facts = facts_of(game)
    learned = random_games(game, 1, POSITIONS)
    positions = [positions_of(game, actions) for actions in learned]
    facts["look"] = look_of(game, [each for game in positions for each in game])
    facts["look"] |= exceptions_of(positions, read_by_page(facts, module, learned))
    fresh = random_games(game, 2, POSITIONS)
    positions = [positions_of(game, actions) for actions in fresh]
    compared = require_equal(game, positions, read_by_page(facts, module, fresh))

    words = f"{facts['title']} {facts['settings']}"
    if network is not None:
        words += f" {player_name(checkpoint_of(config['checkpoint']))}"
    name = re.sub(r"[^\w.+-]+", "_", words.lower()).strip("_")
    facts |= {"search": search, "network": network is not None}
    content: dict[str, bytes] = {
        "rules.wasm": module,
        "game.json": json.dumps(facts, separators=(",", ":")).encode(),
    }
    if network is not None:
        content["network.onnx"] = network
    is_there = (out / "games" / name).exists()
    with os_errors_as(SettingError, f"out={out} cannot be written"):
        write_files(out, name, content, runtime)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"checked against Python in {compared} positions of {len(fresh)} random games: all equal")
    replaced = " (replaced)" if is_there else ""
    print(f"{facts['title']} written to {out / 'games' / name}{replaced}")
    print(f"{out} has {size / 1e6:.1f} MB")
    write_result(config, folder=out, game=name, positions=compared, bytes=size)
    return 0


def _search_of(settings: SearchSettings) -> dict[str, Any]:
    """The constants of PUCT for `static/search.mjs`."""
    for key, value in ABSENT.items():
        got = getattr(settings, key.rpartition(".")[2])
        shown = got if isinstance(got, str | int | float | None) else "settings"
        require(got == value, key, f"{json.dumps(value)} with what=page", shown)
    return {
        "simulations": settings.num_simulations,
        "cInit": settings.c_init,
        "cBase": min(settings.c_base, 1e30),  # JSON has no infinity
        "unit": value_unit(settings.value_range),
        "countParent": settings.count_parent_visit,
        "firstPlay": settings.first_play_value,
        "isRelative": settings.first_play_relative,
        "isByMass": settings.first_play_by_mass,
    }


def _game_and_network(config: Config) -> tuple[Game, bytes | None]:
    """The game of `checkpoint` and its network as ONNX; or `game` and None."""
    if config["checkpoint"] is None:
        return make(**config["game"]), None
    from azcore.commands.export.onnx import positions  # these import torch, which takes seconds
    from azcore.networks.checkpoint import network_of
    from azcore.networks.onnx_export import difference_from_torch, onnx_of

    path = checkpoint_of(config["checkpoint"])
    checkpoint = read_checkpoint(path)
    identity = checkpoint[KEY]["game"]
    game = received(identity["name"], identity["settings"])
    network, _ = network_of(checkpoint, path, game)
    content = onnx_of(network, game, {})
    difference_from_torch(content, network, positions(game))
    return game, content


def facts_of(game: CompiledGame) -> dict[str, Any]:
    """The data for `static/rules.mjs`, and titles."""
    return {
        "title": title_of_game(game.name, game.settings),
        "settings": describe_game(game),
        "seats": list(game.seat_names),
        "shape": list(game.observation_shape),
        "numActions": game.num_actions,
        "stateSize": game.state_dtype.itemsize,
        "initial": base64.b64encode(game.initial_state().tobytes()).decode(),
    }


def _runtime(folder: str | None) -> Path:
    """The folder `export.runtime`, which must hold the page's files of ONNX Runtime Web."""
    has_all = folder is not None and all(Path(folder, name).is_file() for name in RUNTIME)
    require(
        has_all,
        "export.runtime",
        "the folder node_modules/onnxruntime-web/dist after npm install onnxruntime-web@1.30.0, "
        "which runs the network of checkpoint",
        folder,
    )
    return Path(str(folder))


def write_files(out: Path, name: str, content: Mapping[str, bytes], runtime: Path | None) -> None:
    folder = out / "games" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not (out / LIST).exists():
        # From here on it is a page, which a later export can complete.
        (out / LIST).write_text("[]")
    with TemporaryDirectory(prefix="new-", dir=out) as new:
        for file, data in content.items():
            Path(new, file).write_bytes(data)
        if folder.exists():
            shutil.rmtree(folder)
        shutil.copytree(new, folder)
    for path in [*PAGE.iterdir(), *(SERVED / shared for shared in SHARED)]:
        shutil.copyfile(path, out / path.name)
    if runtime is not None:
        (out / "runtime").mkdir(exist_ok=True)
        for file in RUNTIME:
            shutil.copyfile(runtime / file, out / "runtime" / file)
    listed = []
    for path in sorted(out.glob("games/*/game.json")):
        facts = json.loads(path.read_text())
        listed.append({key: facts[key] for key in ("title", "settings", "network")})
        listed[-1]["folder"] = path.parent.name
    (out / LIST).write_text(json.dumps(listed, indent=1))
