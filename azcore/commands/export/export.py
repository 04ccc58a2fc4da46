"""`command=export`: writes games, a picture, a network, a checkpoint, a run or a page."""

from importlib import import_module

from azcore.assembly.parts import Config
from azcore.commands.export.settings import export_settings

# Module and function of each `what`, imported when called: exporting games needs no torch.
WRITERS = {
    "games": "azcore.commands.export.games:export_games",
    "picture": "azcore.commands.export.picture:export_picture",
    "onnx": "azcore.commands.export.onnx:export_onnx",
    "story": "azcore.commands.export.story:export_story",
    "checkpoint": "azcore.commands.export.checkpoint:export_checkpoint",
    "page": "azcore.commands.export.page.writing:export_page",
}


def export(config: Config) -> int:
    """Write what `what` names and print where; 0.

    Raises:
        AzcoreError: settings, records or the checkpoint cannot be used; files written before that
            stay.
    """
    settings = export_settings(config["export"])
    module, _, function = WRITERS[settings.what].partition(":")
    status: int = getattr(import_module(module), function)(config, settings)
    return status
