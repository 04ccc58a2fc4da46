"""`command=info`: describes a checkpoint, its origin and its strength."""

from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from azcore.assembly.entrants import checkpoint_of
from azcore.assembly.parts import Config
from azcore.assembly.pretrained import WORD, shipped
from azcore.commands.console import table_console
from azcore.commands.result import write_result
from azcore.errors import AzcoreError, SettingError
from azcore.storage.card import card_of
from azcore.storage.changes import describe_base, describe_changes
from azcore.storage.checkpoint import KEY, is_whole, read_checkpoint
from azcore.storage.run_directory import RunDirectory
from azcore.storage.run_settings import ORIGIN, own_settings
from azcore.storage.table import Table as Csv

COUNTS = ("games", "positions", "evaluations")


def info(config: Config) -> int:
    """Print the card of `checkpoint`; 0."""
    if config["checkpoint"] is None:
        names = ", ".join(f"{WORD}/{name}" for name in shipped()) or "none"
        raise SettingError(f"command=info needs checkpoint=PATH; shipped networks: {names}")
    path = checkpoint_of(config["checkpoint"])
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    found = facts(path, read_checkpoint(path))
    for title, text in found.items():
        table.add_row(escape(title), escape(text))  # a recipe may have [brackets]
    table_console().print(table)
    write_result(config, facts=found)
    return 0


def facts(path: Path, checkpoint: dict[str, Any]) -> dict[str, str]:
    """All known facts about a checkpoint, by title: its content, its card and its run's tables."""
    own = checkpoint[KEY]
    game, network = dict(own["game"]), dict(own["network"])
    weights = sum(t.numel() for t in checkpoint["state_dict"].values() if t.is_floating_point())
    found = {
        "file": f"{path}, {path.stat().st_size / 1e6:,.2f} MB",
        "holds": "all that a run needs to resume" if is_whole(checkpoint) else "weights alone",
        "game": f"{game['name']} {_words(game['settings'])}".strip(),
        "network": f"{network.pop('name', '')} {_words(network)}, {weights:,} weights",
        "step": f"{checkpoint['global_step']:,}",
        **_of_run(path, checkpoint["global_step"]),
    }
    origin = own.get(ORIGIN)
    if isinstance(origin, dict):
        found["began with"] = _words(origin)
    found |= card_of(own)
    changed = _changed(path)
    if changed is not None:
        found["settings"] = changed
    return {title: _shown(text) for title, text in found.items()}


def _changed(path: Path) -> str | None:
    """The non-default settings of a checkpoint's run; None: unknown."""
    run = _run_of(path)
    if run is None or not run.config.is_file():
        return None
    try:
        settings = own_settings(run)
    except AzcoreError:
        return None
    words = describe_changes(settings, "\n")
    return words and f"{words}\nother than the defaults of {describe_base(settings)}"


def _of_run(path: Path, step: int) -> dict[str, str]:
    """The row of a checkpoint's step in the tables of its run."""
    run = _run_of(path)
    if run is None or not run.metrics.is_file():
        return {}
    table = Csv(run.metrics, ["step", "seconds", *COUNTS])
    for row in table.rows():
        if table.whole(row, "step") == step:
            counts = {key: f"{table.number(row, key):,.0f}" for key in COUNTS}
            return {**counts, "hours": f"{table.number(row, 'seconds') / 3600:.2f}"}
    return {}


def _run_of(path: Path) -> RunDirectory | None:
    """The run whose folder holds a checkpoint."""
    return RunDirectory(path.parent.parent) if path.parent.name == "checkpoints" else None


def _words(settings: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in settings.items())


def _shown(text: str) -> str:
    """An untrusted text without terminal control characters."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in text)
