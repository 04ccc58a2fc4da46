"""How a recorded game ended, beyond its outcome: what auxiliary targets are made of.

A record holds no positions, so the game is replayed once, when it enters the window.

Letters: H rows, W columns of an observation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.game import Game
from azcore.game.batch import make_batch
from azcore.game.faults import game_faults
from azcore.storage.game_record import GameRecord
from azcore.storage.start_states import StartStates

UNKNOWN = -128  # in an ownership
NO_END = np.dtype([])  # of games whose ends nobody needs


class Ends:
    """Replays records to their ends. Not thread-safe.

    Args:
        game: of the records.
        ownership: whether to store `Game.ownership`.
        score: whether to store `Game.score`.
    """

    def __init__(self, game: Game, *, ownership: bool, score: bool) -> None:
        _, height, width = game.observation_shape
        self._game, self._ownership, self._score = game, ownership, score
        self.dtype = np.dtype(
            [
                ("ownership", np.int8, (height, width) if ownership else (0, 0)),
                ("score", np.float32),  # view of seat 0; NaN: unknown
            ]
        )
        self._board = make_batch(game, 1)
        self._starts = StartStates(game)

    def of(self, record: GameRecord) -> npt.NDArray[Any]:
        """The end of a game, one entry of `dtype`; unknown if the rules did not end it."""
        end = np.zeros(1, self.dtype)
        end["ownership"], end["score"] = UNKNOWN, np.nan
        if record.resigned_by is None and not record.agreed:
            self._board.set(0, self._starts.of(record.start))
            for action in record.actions:
                self._board.step(0, int(action))
            state = self._board.get(0)
            with game_faults():
                cells = self._game.ownership(state) if self._ownership else None
                score = self._game.score(state) if self._score else None
            if cells is not None:
                end["ownership"] = cells
            if score is not None:
                end["score"] = score
        return end
