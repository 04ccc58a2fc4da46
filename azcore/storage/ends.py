"""How a recorded game ended, beyond its outcome, for auxiliary targets.

A record holds no positions, so `Ends` replays the game once, when it enters the window.

Letters: H rows, W columns of an observation.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.game import Game
from azcore.game.batch import make_batch
from azcore.game.faults import game_faults
from azcore.storage.game_record import GameRecord
from azcore.storage.start_states import StartStates

UNKNOWN = -128  # in an ownership
NO_END = np.dtype([])  # games without needed ends


class Ends:
    """Replays records to their ends, for some of `OF_THE_END`. Not thread-safe."""

    def __init__(self, game: Game, targets: Collection[str]) -> None:
        _, height, width = game.observation_shape
        self._game, self._targets = game, frozenset(targets)
        cells = (height, width) if "ownership" in targets else (0, 0)
        self.dtype = np.dtype(
            [
                ("ownership", np.int8, cells),
                ("score", np.float32),  # view of seat 0; NaN: unknown
                ("material", np.float32),  # view of seat 0; NaN: not wanted
            ]
        )
        self._board = make_batch(game, 1)
        self._starts = StartStates(game)

    def of(self, record: GameRecord) -> npt.NDArray[Any]:
        """The end of a game, one entry of `dtype`.

        Ownership and score are unknown if the rules did not end it; material is that of the last
        position.
        """
        end = np.zeros(1, self.dtype)
        end["ownership"], end["score"], end["material"] = UNKNOWN, np.nan, np.nan
        by_rules = record.resigned_by is None and not record.agreed
        if not by_rules and "material" not in self._targets:
            return end
        self._board.set(0, self._starts.of(record.start))
        for action in record.actions:
            self._board.step(0, int(action))
        state = self._board.get(0)
        with game_faults():
            if "material" in self._targets:
                end["material"] = self._game.material(state)
            if by_rules and "ownership" in self._targets:
                cells = self._game.ownership(state)
                end["ownership"] = UNKNOWN if cells is None else cells
            if by_rules and "score" in self._targets:
                score = self._game.score(state)
                end["score"] = np.nan if score is None else score
        return end
