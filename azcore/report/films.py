"""Films of a run's games, which pages show side by side.

It uses no network, so it takes milliseconds, even during a run.
"""

from dataclasses import replace
from typing import Any

from azcore.errors import AzcoreError
from azcore.game import Game
from azcore.report.game_choice import Chooser, Chosen
from azcore.report.games import MAX_PLIES, Shown, ended_by, filmed
from azcore.storage.game_record import GameRecord
from azcore.storage.run_directory import RunDirectory
from azcore.storage.start_states import StartStates

WANTED = ("first", "last")
UNUSABLE = (AzcoreError, OSError, LookupError, TypeError)  # errors of records and their games
MOMENTS = 8  # from the course of a run
LATEST = 30  # games in which to count legal actions
MOST_COUNTED = 3_000  # plies of these together; a game that has begun is counted to its end


class Films:
    """The games of a run to show; caches replayed ones. Not thread-safe."""

    def __init__(self, run: RunDirectory) -> None:
        self._chooser = Chooser(run.records)
        self._shown: dict[int, Shown] = {}

    def shown(self) -> list[Shown]:
        """The first game and the latest finished one; fewer if the run has no more."""
        named = [
            replace(chosen, why=next(why for why in reversed(WANTED) if why in chosen.why))
            for chosen in self._chooser.choose()
            if any(why in chosen.why for why in WANTED)
        ]
        return self._filmed(named)

    def course(self) -> list[Shown]:
        """Up to `MOMENTS` games from the first to the latest, most of them early."""
        return self._filmed(self._chooser.spread(MOMENTS))

    def legal_actions(self) -> float | None:
        """The mean number of legal actions in the latest games, of the run's second half.

        None: it has no games that can be replayed.
        """
        legal = plies = newest = 0
        for chosen in reversed(self._chooser.latest(LATEST)):
            try:
                game, record = self._checked(chosen)
            except UNUSABLE:
                continue
            newest = max(newest, record.weights_version)
            if plies >= MOST_COUNTED or 2 * record.weights_version < newest:
                break
            state = StartStates(game).of(record.start)
            for action in record.actions.tolist():
                legal += int(game.legal_action_mask(state).sum())
                state = game.step(state, action)
            plies += len(record)
        return legal / plies if plies else None

    def _filmed(self, wanted: list[Chosen]) -> list[Shown]:
        kept, self._shown = self._shown, {}
        found = []
        for chosen in wanted:
            try:
                game = kept.get(chosen.place) or film_of(*self._checked(chosen))
            except UNUSABLE:
                continue  # the report describes the problem
            self._shown[chosen.place] = game
            found.append(game.because(chosen.why))
        return found

    def _checked(self, chosen: Chosen) -> tuple[Game, GameRecord]:
        record = self._chooser.record(chosen)
        return self._chooser.game_of(record, "a game for a film"), record


def film_of(game: Game, record: GameRecord) -> Shown:
    """A record's game, replayed by the rules of `game` up to `MAX_PLIES` plies."""
    state = StartStates(game).of(record.start)
    states, moves = [state], []
    for action in record.actions[:MAX_PLIES].tolist():
        moves.append(game.action_to_notation(state, action))
        state = game.step(state, action)
        states.append(state)
    drawn = filmed(game, states)
    data = {
        "seats": list(game.seat_names),
        "moves": moves,
        "players": [game.current_player(each) for each in states[:-1]],
        "boards": [] if drawn else [game.render(each) for each in states],
        "length": len(record),
        "ended": _ending(game, state, record),
        "index": record.game_index,
        "step": record.weights_version,
    }
    return Shown(data, drawn)


def _ending(game: Game, state: Any, record: GameRecord) -> str:
    names = game.seat_names
    who = {1: f"{names[0]} wins", 0: "a draw", -1: f"{names[1]} wins"}[record.outcome]
    how = ended_by(game, state, record)
    return f"{who}: {how}" if how and how != who else who
