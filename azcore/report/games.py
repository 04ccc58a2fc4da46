"""The games of a report as plain values that the page steps through.

`game_choice.py` chooses them, this file replays them, and `predicted.py` evaluates them with a
network.

Letters: T plies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from azcore.errors import AzcoreError
from azcore.game import FloatArray, Game
from azcore.pictures import Picture, film
from azcore.report.game_choice import Chooser
from azcore.report.predicted import Networks, Predicted, Weights, predicted
from azcore.storage.game_record import GameRecord
from azcore.storage.run_directory import RunDirectory
from azcore.storage.start_states import StartStates

MAX_PLIES = 600
TOP_ACTIONS = 5


@dataclass(frozen=True)
class Shown:
    """A game to step through."""

    data: dict[str, Any]  # plain values for the page's script
    film: Picture | None  # all its positions; None: the game has no boards, and `data` has texts

    def because(self, why: str) -> "Shown":
        """The game with the reason for its choice."""
        return Shown({**self.data, "why": why}, self.film)


class Games:
    """The games in a run's report; caches replayed games for the next report."""

    def __init__(self, run: RunDirectory, device: torch.device) -> None:
        self._run = run
        self._networks = Networks(device)
        self._chooser = Chooser(run.records)
        self._shown: dict[tuple[int, Weights | None], Shown] = {}

    def shown(self, step: int) -> tuple[list[Shown], list[str]]:
        """The games, and a sentence for each that it cannot show."""
        kept, shown, notes = self._shown, [], []
        self._shown = {}
        for chosen in self._chooser.choose():
            try:
                record = self._chooser.record(chosen)
                weights = Weights.nearest(self._run, record.weights_version, step)
                key = chosen.place, weights
                found = kept.get(key)
                if found is None:
                    game = self._chooser.game_of(record, "a game of the report")
                    found = replayed(game, record, weights, self._networks)
            except (AzcoreError, OSError, LookupError, TypeError) as error:
                notes.append(f"Cannot show the game that is the {chosen.why}: {error}")
                continue
            self._shown[key] = found
            shown.append(found.because(chosen.why))
        return shown, notes


def replayed(game: Game, record: GameRecord, weights: Weights | None, networks: Networks) -> Shown:
    """A record's boards, texts and, with weights, predictions, up to `MAX_PLIES` plies."""
    state = StartStates(game).of(record.start)
    states = [state]
    for action in record.actions[:MAX_PLIES]:
        state = game.step(state, int(action))
        states.append(state)
    visits = [_visits(record, ply) for ply in range(len(states) - 1)]
    tables = [_table(record, ply, counts) for ply, counts in enumerate(visits)]
    asked = predicted(weights, game, states, tables, networks)
    plies = [
        _ply(game, record, ply, states[ply], visits[ply], tables[ply], asked)
        for ply in range(len(tables))
    ]
    drawn = filmed(game, states, [_shares(counts) for counts in visits], asked.owners)
    data = {
        "name": record.game["name"],
        "seats": list(game.seat_names),
        # [T + 1], before each ply and at the end
        "boards": [] if drawn else [game.render(state) for state in states],
        "plies": plies,  # [T]; values in the view of the player to move
        # Gumbel's are shares of the improved policy; an old record does not state what it counts.
        "counts_visits": record.counts != "policy",
        "has_heat": drawn is not None and any(visits),
        "has_owners": drawn is not None and any(cells is not None for cells in asked.owners),
        "length": len(record),
        "outcome": record.outcome,
        "ended_by": ended_by(game, state, record),
        "index": record.game_index,
        "step": record.weights_version,
        "network": asked.plain,
    }
    return Shown(data, drawn)


def _visits(record: GameRecord, ply: int) -> dict[int, int]:
    """The visits of a ply's actions, the most visited first."""
    part = slice(record.visit_offsets[ply], record.visit_offsets[ply + 1])
    actions, counts = record.visit_actions[part].tolist(), record.visit_counts[part].tolist()
    pairs = zip(actions, counts, strict=True)
    return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))


def _table(record: GameRecord, ply: int, visits: Mapping[int, int]) -> list[int]:
    """The actions in the page's table: the most visited ones and the one played."""
    table, played = list(visits)[:TOP_ACTIONS], int(record.actions[ply])
    return table if played in table else [*table, played]


def _shares(visits: Mapping[int, int]) -> dict[int, float]:
    total = sum(visits.values())
    return {action: visits[action] / total for action in list(visits)[:TOP_ACTIONS]}


def _ply(
    game: Game,
    record: GameRecord,
    ply: int,
    state: Any,
    visits: Mapping[int, int],
    table: Sequence[int],
    asked: Predicted,
) -> dict[str, Any]:
    played = int(record.actions[ply])
    texts = [game.action_to_notation(state, action) for action in table]
    rows = []
    for i, action in enumerate(table):
        prior, value = asked.of(ply, i)
        # A record has only the Q of the most visited action.
        searched = i == 0 and record.counts == "visits" and len(record.best_child_values) > 0
        if searched and visits:
            value = float(record.best_child_values[ply])
        rows.append([texts[i], visits.get(action, 0), _rounded(prior), _rounded(value)])
    return {
        "seat": game.current_player(state),
        "action": texts[table.index(played)],
        "value": _rounded(float(np.nan_to_num(record.root_values[ply]))),
        "visits": sum(visits.values()),
        "why": reason(record, ply, visits, int(game.legal_action_mask(state).sum())),
        "top": rows,  # text, N, P and Q; P and Q are None if unknown
        "played": table.index(played),
    }


def reason(record: GameRecord, ply: int, visits: Mapping[int, int], legal: int) -> str:
    """Why self-play chose a move, in one phrase; `visits` has the most visited action first."""
    if legal == 1:
        return "forced: the only legal move"
    if ply < record.opening_plies:
        return "opening: no search chose it"
    if record.proven[ply]:
        return "the rules had decided the game"
    if not visits:
        return "after a quick search, which left no record"
    played = int(record.actions[ply])
    count, most = visits.get(played, 0), max(visits.values())
    percent = 100 * count / sum(visits.values())
    share = f"{percent:.0f} %" if percent >= 1 else "less than 1 %"
    if record.counts == "policy":
        likely = "the likeliest" if count == most else f"{share} likely"
        return f"Gumbel: first in the search with its noise, {likely}"
    if count == most:
        return f"most visits, {share}"
    return f"sampled: it had {share} of the visits" if count else "sampled, with few visits"


def filmed(
    game: Game,
    states: Sequence[Any],
    heat: Sequence[Mapping[int, float]] = (),
    owners: Sequence[FloatArray | None] = (),
) -> Picture | None:
    """All positions in one picture; None if the game has no boards, or faulty ones."""
    try:
        return film(game, states, heat=heat, owners=owners, bare=True)
    except Exception:  # a fault in drawing must not hide the game: show its text instead
        return None


def ended_by(game: Game, state: Any, record: GameRecord) -> str:
    """How the game ended, in a few words; empty if the replay is incomplete."""
    if record.resigned_by is not None:
        return "resignation"
    if record.agreed:
        return "agreement"
    return game.termination(state) if game.is_terminal(state) else ""


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
