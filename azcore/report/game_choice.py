"""Chooses the games of a run for its report, without holding the others in memory.

A run keeps appending games, so each call continues where the previous one ended.
"""

import json
from array import array
from dataclasses import dataclass
from pathlib import Path

from azcore.errors import GameFileError
from azcore.game import Game
from azcore.game.registry import received
from azcore.report.tables import early
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord, length_of, parse_frame
from azcore.storage.referee import Referee


@dataclass(frozen=True)
class Chosen:
    """A game to show."""

    place: int  # where its record begins in the file
    why: str  # the reason for the choice, in a few words


class Chooser:
    """Scans the records of a run, whose file may not exist yet."""

    def __init__(self, path: Path) -> None:
        self._file = GameFile(path)
        self._referees: dict[str, Referee] = {}  # by game
        self._forget()

    def _forget(self) -> None:
        self._places = array("q")
        self._end = 0  # bytes scanned
        self._longest: tuple[int, int] | None = None  # plies, place

    def choose(self) -> list[Chosen]:
        """The first game, one from a tenth into the run, the longest and the last, in this order.

        It returns each game once. Of a truncated or damaged file, it uses the games before the
        damage.
        """
        self._look()
        count = len(self._places)
        if not count:
            return []
        tenth = count // 10
        # Two leading digits, so that the choice in a growing run seldom changes.
        tenth -= tenth % 10 ** max(0, len(str(tenth)) - 2)
        assert self._longest is not None
        wanted = [
            (self._places[0], "first"),
            (self._places[tenth], "one tenth into the run"),
            (self._longest[1], "longest"),
            (self._places[-1], "last"),
        ]
        named: dict[int, list[str]] = {}
        for place, why in wanted:
            named.setdefault(place, []).append(why)
        return [Chosen(place, _joined(names)) for place, names in named.items()]

    def spread(self, count: int) -> list[Chosen]:
        """Up to `count` games from the first to the last; most are early, where players change."""
        self._look()
        numbers = early(len(self._places), count)
        return [Chosen(self._places[number], "course") for number in numbers]

    def latest(self, count: int) -> list[Chosen]:
        """The last `count` games, or fewer if the run has no more."""
        self._look()
        return [Chosen(place, "latest") for place in self._places[-count:]]

    def record(self, chosen: Chosen) -> GameRecord:
        """The record of a game.

        Raises:
            GameFileError: it is damaged, or was dropped meanwhile.
        """
        for place, frame in self._file.frames(chosen.place):
            return parse_frame(frame, f"{self._file.path}, byte {place}")
        raise GameFileError(f"{self._file.path}, byte {chosen.place}: the record no longer exists")

    def game_of(self, record: GameRecord, what: str) -> Game:
        """The game of a record that its rules allow; `what` names the record in errors.

        Raises:
            AzcoreError: it breaks the rules, or its game is not installed.
        """
        name = json.dumps(record.game, sort_keys=True)
        if name not in self._referees:
            self._referees[name] = Referee(received(record.game["name"], record.game["settings"]))
        self._referees[name].check(record, what)
        return self._referees[name].game

    def _look(self) -> None:
        try:
            kept = self._file.forgotten.place
            if self._file.size() < self._end or (self._places and self._places[0] < kept):
                self._forget()  # a resumed run cut the file, or a long one dropped its oldest games
            for place, frame in self._file.frames(self._end):
                self._places.append(place)
                self._end = place + len(frame)
                plies = length_of(frame)
                if self._longest is None or plies > self._longest[0]:
                    self._longest = plies, place
        except (GameFileError, OSError):
            return  # found so far


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
