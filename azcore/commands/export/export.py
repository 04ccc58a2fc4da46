"""What `command=export` writes: games, a picture or a network."""

from __future__ import annotations

from azcore.assembly.parts import Config
from azcore.commands.export.games import export_games
from azcore.commands.export.settings import export_settings
from azcore.settings import require


def export(config: Config) -> int:
    """Write what `what` asks for and print where; 0.

    Raises:
        AzcoreError: settings or records cannot be used; files written before that stay.
    """
    what = config["what"]
    require(what in ("games", "picture", "onnx"), "what", "games, picture or onnx", what)
    if what == "onnx":
        from azcore.commands.export.onnx import export_onnx  # torch

        return export_onnx(config)
    settings = export_settings(config["export"])
    if what == "picture":
        from azcore.commands.export.picture import export_picture

        return export_picture(config, settings)
    return export_games(config, settings)
