"""`what=picture`: a position, or a ply of a recorded game, as SVG or PNG."""

from pathlib import Path
from typing import Any

from azcore.assembly.parts import Config
from azcore.commands.export.games import record_of
from azcore.commands.export.settings import ExportedPicture
from azcore.commands.result import write_result
from azcore.game import Game
from azcore.game.registry import make
from azcore.pictures import draw
from azcore.pictures.files import require_suffix, save
from azcore.settings import require
from azcore.storage.start_states import StartStates


def export_picture(config: Config, settings: ExportedPicture) -> int:
    """Write the picture that `out` names; 0."""
    require(config["out"] is not None, "out", "a file such as board.svg or board.png", None)
    path = Path(str(config["out"]))
    require_suffix(path)
    require(config["checkpoint"] is None, "checkpoint", "null for a picture", config["checkpoint"])
    if settings.games is None:
        game, state = _position(config, settings)
    else:
        game, state = _recorded(settings)
    picture = draw(game, state, flip=settings.flip, letters=settings.letters, theme=settings.theme)
    save(picture, path, settings.width)
    print(f"{path} written")
    write_result(config, file=path)
    return 0


def _position(config: Config, settings: ExportedPicture) -> tuple[Game, Any]:
    """The position of `export.position`, or the first of the game."""
    require(settings.ply is None, "export.ply", "null without export.games", settings.ply)
    game = make(**config["game"])
    if settings.position is None:
        return game, game.initial_state()
    return game, game.state_from_text(settings.position)


def _recorded(settings: ExportedPicture) -> tuple[Game, Any]:
    """The position after `export.ply` plies of game `export.first`; null: its end."""
    require(
        settings.position is None,
        "export.position",
        "null with export.games: a record has its own",
        settings.position,
    )
    game, record = record_of(settings)
    plies = len(record) if settings.ply is None else settings.ply
    require(plies <= len(record), "export.ply", f"at most the game's length, {len(record)}", plies)
    state = StartStates(game).of(record.start)
    for action in record.actions[:plies]:
        state = game.step(state, int(action))
    return game, state
