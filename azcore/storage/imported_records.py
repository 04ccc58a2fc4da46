"""Converts games by people or other programs to game records, to learn from.

    maker = RecordMaker(game)
    record = maker.record(transcript, form, index)     # or TranscriptError with the reason

Such a record has no visits: the move played is its only data on a position. Moves that azcore drew
at random, as their comments state, form its opening, which gives no samples. A game that ended
early counts as resigned by its loser, or as agreed if it was drawn.
"""

from itertools import takewhile
from typing import Any

import numpy as np

from azcore.errors import GameFileError, TranscriptError
from azcore.game import Game, Transcript, TranscriptFormat
from azcore.storage.game_record import GameRecord
from azcore.storage.referee import Referee
from azcore.storage.start_states import own_starts
from azcore.storage.transcripts import OPENING


class RecordMaker:
    """Makes records from transcripts, by the rules of one game. Not thread-safe."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._referee = Referee(game)
        self._starts = own_starts(game)  # may lack the initial state
        self._starts[None] = game.initial_state()

    def may_begin(self, transcript: Transcript) -> bool:
        """Whether a transcript begins where this game begins."""
        return transcript.start_text in self._starts

    def record(self, transcript: Transcript, form: TranscriptFormat, index: int) -> GameRecord:
        """The record of a transcript, checked by the rules.

        Args:
            transcript: as read.
            form: the format that it was read from.
            index: the number of the game among all kept games.

        Raises:
            TranscriptError: the transcript cannot become a record, or has nothing to learn from.
        """
        if not self.may_begin(transcript):
            raise TranscriptError(
                f"it must begin at the initial position, got {str(transcript.start_text)[:100]!r}",
                "a handicap or another start",
            )
        actions, (players, state) = list(transcript.actions), self._played(transcript)
        stated = transcript.outcome
        outcome = self.game.outcome(state) if self.game.is_terminal(state) else None
        if None not in (stated, outcome) and stated != outcome:
            if not form.players_count:
                raise TranscriptError(
                    f"its result must be {outcome} by the rules, got {stated}",
                    "a result that the rules contradict",
                )
            # The agreed result counts, so treat the game as given up a ply before its end.
            actions, players, outcome = actions[:-1], players[:-1], None
        ends_by_rules = outcome is not None
        outcome = stated if outcome is None else outcome
        if outcome is None:
            raise TranscriptError("it must have a result, got none", "no result")
        if not actions:
            raise TranscriptError("it must have moves, got none", "no moves")
        plies = len(actions)
        drawn = sum(1 for _ in takewhile(OPENING.__eq__, transcript.comments))
        record = GameRecord(
            game=self.game.identity,
            actions=np.array(actions, np.uint16),
            visit_offsets=np.zeros(plies + 1, np.uint32),
            visit_actions=np.zeros(0, np.uint16),
            visit_counts=np.zeros(0, np.uint32),
            root_values=np.zeros(plies, np.float32),
            best_child_values=np.zeros(plies, np.float32),
            players=np.array(players, np.uint8),
            outcome=int(outcome),
            resigned_by=None if ends_by_rules or outcome == 0 else int(outcome > 0),
            agreed=not ends_by_rules and outcome == 0,
            resign_threshold=None,
            played_out=False,
            opening_plies=min(drawn, plies),  # drawn at random
            seed=0,
            game_index=index,
            weights_version=0,
            counts="visits",
            start=transcript.start_text,
        )
        try:
            self._referee.check(record, "the game")
        except GameFileError as error:
            raise TranscriptError(str(error), "illegal under the rules") from error
        return record

    def _played(self, transcript: Transcript) -> tuple[list[int], Any]:
        """The seat to move at each ply, and the last state."""
        game, state, players = self.game, self._starts[transcript.start_text], []
        for action in transcript.actions:
            players.append(game.current_player(state))
            state = game.step(state, action)
        return players, state
