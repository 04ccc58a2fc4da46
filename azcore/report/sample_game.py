"""The last game of a run as plain values, through which the page steps.

Letters: T plies.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from azcore.errors import AzcoreError
from azcore.game import Game
from azcore.game.registry import make
from azcore.pictures import film
from azcore.report.predicted import predicted
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import MAGIC, GameRecord
from azcore.storage.referee import Referee
from azcore.storage.start_states import StartStates

MAX_PLIES = 1000
TOP_ACTIONS = 5
TAIL_BYTES = 16 << 20  # searched for the last record; records are far smaller
MOST_BEGINNINGS = 100  # candidates for its beginning that are tried; none occur by chance


def last_record(path: Path) -> GameRecord | None:
    """The last complete record of a file whose end may be cut off; None if there is none."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        start = max(0, path.stat().st_size - TAIL_BYTES)
        file.seek(start)
        tail = file.read(TAIL_BYTES)
    place = len(tail)
    # Searching backwards is fast in a file of any size; the checksum distinguishes a record from
    # bytes that look like the beginning of one.
    for _ in range(MOST_BEGINNINGS):
        place = tail.rfind(MAGIC, 0, place)
        if place < 0:
            break
        try:
            records = GameFile(path)
            for record in records.read(records.place_of(start + place)):
                return record
        except AzcoreError:
            continue
    return None


def sample_game(
    path: Path, checkpoint: Path, device: torch.device
) -> tuple[dict[str, Any] | None, str]:
    """The last game as plain values for the page, or None and the reason.

    Args:
        path: of the records.
        checkpoint: of the network to ask about the game's positions; it may be missing.
        device: where the network runs.
    """
    record = last_record(path)
    if record is None:
        return None, "games/records.azg holds no finished game yet."
    try:
        return replayed(record, checkpoint, device), ""
    except (AzcoreError, LookupError, TypeError) as error:
        return None, f"The last game cannot be shown: {error}"


def replayed(record: GameRecord, checkpoint: Path, device: torch.device) -> dict[str, Any]:
    """A record with its boards, texts and predictions, up to `MAX_PLIES` plies.

    `film` is one picture of all boards, and None for a game without any; then `boards` has texts.

    Raises:
        AzcoreError: the game is not installed, has another version, or was not played by its rules.
    """
    game = make(record.game["name"], **record.game["settings"])
    Referee(game).check(record, "the last game")
    state = StartStates(game).of(record.start)
    states, plies = [state], []
    for ply in range(min(len(record), MAX_PLIES)):
        played = int(record.actions[ply])
        part = slice(record.visit_offsets[ply], record.visit_offsets[ply + 1])
        visits = sorted(
            zip(record.visit_actions[part], record.visit_counts[part], strict=True),
            key=lambda visit: (-int(visit[1]), int(visit[0])),
        )
        shown = [v for i, v in enumerate(visits) if i < TOP_ACTIONS or int(v[0]) == played]
        plies.append(
            {
                "seat": game.current_player(state),
                "action": game.action_to_text(state, played),
                "value": round(float(np.nan_to_num(record.root_values[ply])), 4),
                "visits": sum(int(number) for _, number in visits),
                "top": [
                    [game.action_to_text(state, int(a)), int(n), int(a) == played] for a, n in shown
                ],
            }
        )
        state = game.step(state, played)
        states.append(state)
    drawn = filmed(game, states)
    return {
        "name": record.game["name"],
        "seats": list(game.seat_names),
        "film": drawn,
        # [T + 1], before each ply and at the end
        "boards": [] if drawn else [game.render(state) for state in states],
        "plies": plies,  # [T]; values in the view of the player to move
        # Gumbel's are shares of the improved policy; an old record does not say what it counts.
        "counts_visits": record.counts != "policy",
        "length": len(record),
        "outcome": record.outcome,
        "ended_by": ended_by(game, state, record),
        "index": record.game_index,
        "step": record.weights_version,
        "network": predicted(checkpoint, game, states, device),
    }


def filmed(game: Game, states: Sequence[Any]) -> str | None:
    """All positions in one picture; None if the game has no boards to draw, or faulty ones."""
    try:
        picture = film(game, states)
    except Exception:  # a fault in drawing must not hide the game: its text is shown instead
        return None
    return None if picture is None else picture.svg


def ended_by(game: Game, state: Any, record: GameRecord) -> str:
    """How the game ended, in a few words; empty if its replay is cut short."""
    if record.resigned_by is not None:
        return "resignation"
    if record.agreed:
        return "agreement"
    return game.termination(state) if game.is_terminal(state) else ""
