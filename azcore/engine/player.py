"""Another program as a player in matches, with several copies running in parallel."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from azcore.arena.players import RESIGNATION, Decision, Forfeit, Player
from azcore.engine.clients import Client
from azcore.engine.process import ProgramError
from azcore.engine.thought import Line
from azcore.errors import FailedProgramError
from azcore.game import Game

log = logging.getLogger(__name__)

MOST_FAILED_STARTS = 2


class EnginePlayer(Player):
    """Asks a program for each action.

    A program that crashes, hangs or plays an illegal move loses that game, and the result states
    the reason. The next game starts a new copy; if two in a row cannot start, the match ends.

    Args of the constructor:
        processes: the most concurrent copies, each with its own games.
    """

    def __init__(
        self,
        *,
        game: Game,
        name: str,
        start: Callable[[], Client],
        processes: int,
        takes_positions: bool = True,
    ) -> None:
        self.name = name
        self.takes_positions = takes_positions
        self._game = game
        self._start = start
        self._clients: list[Client | None] = [None] * processes
        self._lines: dict[int, Line] = {}
        self._is_given_up = False  # drop pending answers
        self._failed_starts = 0  # since the last one that succeeded

    def begin(self, num_games: int, seed: int) -> None:
        self._lines, self._is_given_up = {}, False

    def start(self, row: int, state: Any, opening: Sequence[int] | None = None) -> None:
        start_text = None if opening is not None else self._game.state_to_text(state)
        self._lines[row] = Line(self._game, start_text)
        for action in opening or ():
            self._lines[row].play(action)

    def choose(self, rows: list[int]) -> list[Decision]:
        # A copy keeps its games, so it already knows most of each game.
        shares = [
            [r for r in rows if r % len(self._clients) == i] for i in range(len(self._clients))
        ]
        with ThreadPoolExecutor(len(shares)) as pool:
            try:
                answers = list(pool.map(self._choose, range(len(shares)), shares))
            except BaseException:  # Ctrl-C, which must also end a hanging program
                self._is_given_up = True
                self.end()
                raise
        actions = {row: action for share in answers for row, action in share.items()}
        return [actions[row] for row in rows]

    def advance(self, row: int, action: int) -> None:
        self._lines[row].play(action)

    def end(self) -> None:
        clients = [client for client in self._clients if client is not None]
        self._clients = [None] * len(self._clients)
        with ThreadPoolExecutor(len(self._clients)) as pool:  # each may take a while
            list(pool.map(lambda client: client.close(), clients))

    def _started(self) -> Client:
        try:
            client = self._start()
        except ProgramError as fault:
            self._failed_starts += 1
            if self._failed_starts >= MOST_FAILED_STARTS:
                raise FailedProgramError(
                    f"the player {self.name!r} could not be started twice in a row, so the match "
                    f"ends: {fault}"
                ) from fault
            raise
        self._failed_starts = 0
        return client

    def _choose(self, place: int, rows: list[int]) -> dict[int, Decision]:
        """One copy's decisions, one after another."""
        decisions: dict[int, Decision] = {}
        for row in rows:
            try:
                client = self._clients[place]
                if client is None:
                    client = self._clients[place] = self._started()
                if self._is_given_up:
                    client.close()
                    return decisions
                action = client.choose(self._lines[row])
                decisions[row] = Forfeit(RESIGNATION) if action is None else action
            except ProgramError as fault:
                if self._is_given_up:  # this process ended the program
                    return decisions
                decisions[row] = Forfeit(str(fault))
                log.warning("%s: %s", self.name, fault)
                broken, self._clients[place] = self._clients[place], None
                if broken is not None:
                    broken.close()
        return decisions
