"""`what=checkpoint`: a checkpoint as a small file to share, with a card."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from azcore.assembly.entrants import checkpoint_of, player_name
from azcore.assembly.parts import Config
from azcore.commands.export.settings import ExportedCheckpoint
from azcore.commands.info import facts
from azcore.commands.result import write_result
from azcore.errors import CheckpointError, SettingError
from azcore.networks.probe import processor
from azcore.settings import require
from azcore.storage.card import CARD, Card, require_card
from azcore.storage.checkpoint import KEY, halved, read_checkpoint, write_checkpoint
from azcore.storage.run_settings import ORIGIN
from azcore.storage.table import rows_of

MATCHES = "matches.csv"


def export_checkpoint(config: Config, settings: ExportedCheckpoint) -> int:
    """Write `checkpoint` to `out` in half precision with its card, and print both; 0.

    Raises:
        AzcoreError: the checkpoint or a folder of results cannot be used; nothing was written.
    """
    path, out = from_and_to(config, ".ckpt")
    checkpoint = read_checkpoint(path)
    card = _card(path, checkpoint, settings)
    small = halved(checkpoint)
    small[KEY] = {**given_away(small[KEY]), CARD: require_card(card)}
    write_checkpoint(small, out)
    for title, text in card.items():
        print(f"{title}: {text}")
    print(f"written to {out}, {out.stat().st_size / 1e6:.2f} MB")
    write_result(config, file=out, card=card)
    return 0


def from_and_to(config: Config, suffix: str) -> tuple[Path, Path]:
    """The checkpoint in `checkpoint`, and the new file in `out`."""
    if config["checkpoint"] is None or config["out"] is None:
        what = config["export"]["what"]
        raise SettingError(f"what={what} needs checkpoint=RUN out=NAME{suffix}")
    path, out = checkpoint_of(config["checkpoint"]), Path(config["out"])
    require(out.suffix == suffix, "out", f"a file that ends in {suffix}", config["out"])
    if out.exists():
        raise CheckpointError(f"out={out} already exists; choose another file")
    return path, out


def _card(path: Path, checkpoint: dict[str, Any], settings: ExportedCheckpoint) -> Card:
    known = facts(path, checkpoint)
    wanted = ("step", "games", "positions", "evaluations", "hours", "seed", "azcore")
    card = {title: known[title] for title in wanted if title in known}
    card["machine"] = settings.machine or known.get("machine") or processor()
    if recipe := settings.recipe or known.get("recipe"):
        card["recipe"] = recipe
    results = _results(player_name(path), settings.results)
    if settings.results:
        heading = [f"{settings.conditions}:"] if settings.conditions else []
        card["results"] = "\n".join([*heading, *results])
    return {**card, "licence": settings.licence}


def given_away(own: dict[str, Any]) -> dict[str, Any]:
    """A checkpoint's own facts, without this machine's folders."""
    named = dict(own)
    if ORIGIN in own:
        named[ORIGIN] = without_folders(own[ORIGIN])
    if isinstance(made := own.get("made"), Mapping):
        named["made"] = {**made, "settings": without_folders(made.get("settings", {}))}
    return named


def without_folders(value: Any) -> Any:
    """A value with each absolute path cut to its last part, or to RUN/checkpoints/FILE."""
    if isinstance(value, Mapping):
        return {key: without_folders(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_folders(each) for each in value]
    if not isinstance(value, str) or not Path(value).is_absolute():
        return value
    path = Path(value)
    return "/".join(path.parts[1:][-3 if path.parent.name == "checkpoints" else -1 :])


def _results(player: str, folders: tuple[str, ...]) -> Iterator[str]:
    """`99 of 100 games against random, 1 drawn`, for each opponent."""
    totals: dict[str, list[int]] = {}  # by opponent: games, won, drawn
    for folder in folders:
        rows = list(_matches(player, Path(folder) / MATCHES))
        require(bool(rows), "export.results", f"folders with matches of {player}", folder)
        for opponent, *numbers in rows:
            before = totals.get(opponent, [0, 0, 0])
            totals[opponent] = [a + b for a, b in zip(before, numbers, strict=True)]
    for opponent, (games, won, drawn) in totals.items():
        draws = f", {drawn} drawn" if drawn else ""
        yield f"{won} of {games} games against {opponent}{draws}"


def _matches(player: str, path: Path) -> Iterator[tuple[str, int, int, int]]:
    """Opponent, games, wins and draws of each match of a player."""
    try:
        for row in rows_of(path):
            games, drawn = int(row["games"]), int(row["draws"])
            if row["player"] == player:
                yield row["opponent"], games, int(row["wins"]), drawn
            elif row["opponent"] == player:
                yield row["player"], games, int(row["losses"]), drawn
    except (csv.Error, KeyError, ValueError, TypeError) as error:
        raise SettingError(f"export.results: {path} cannot be read: {error}") from error
