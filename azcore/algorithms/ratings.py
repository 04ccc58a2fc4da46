"""Ratings of the weights in training.

Opponents: `random` (any legal action, the anchor of the ratings), `search` (PUCT with uniform
evaluations and the same number of simulations), the weights that were rated last before, and those
halfway through the ratings so far. The first weights are rated before the first game, the last ones
when the run ends.

As in any rating list, pairs of games count, and pairs that repeat each other count once. The first
mover's advantage is estimated along with the ratings: see `azcore.arena.elo`.
"""

from __future__ import annotations

import re
import time
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from azcore.algorithms.display import Heartbeat, TrainingDisplay
from azcore.algorithms.metrics import RATING
from azcore.arena.elo import PairScore, Rating, fit_ratings
from azcore.arena.match import MatchResult, play_match
from azcore.arena.players import Player, RandomPlayer
from azcore.assembly.parts import Settings, search_baseline, search_player
from azcore.learner.data import SelfPlayData
from azcore.learner.module import LearnerModule
from azcore.settings import require
from azcore.storage.run_directory import RunDirectory
from azcore.storage.starts import Starts
from azcore.storage.table import Table

MATCHES = [
    "generation",
    "step",
    "player",
    "opponent",
    "games",
    "wins",
    "draws",
    "losses",
    "distinct_games",
    "num_simulations",  # per move, for players that search
    "pairs",  # distinct ones, see `PairScore.to_text`
    "seconds",
]
SURE_WIN = 0.99  # a baseline beaten with this score is not played again in this run


def match_row(
    result: MatchResult, generation: int, step: int, num_simulations: int, seconds: float
) -> dict[str, Any]:
    """The columns of `MATCHES` for a match whose first player has the weights of `step`."""
    return {
        "generation": generation,
        "step": step,
        **result.counted(),
        "num_simulations": num_simulations,
        "pairs": result.distinct.to_text(),
        "seconds": round(seconds, 1),
    }


def match_scores(table: Table) -> list[PairScore]:
    """The results in matches.csv, whose players are checkpoints of the run.

    Raises:
        SettingError: the table contains something else.
    """
    scores = [
        PairScore.from_text(*(table.text(row, name) for name in ("player", "opponent", "pairs")))
        for row in table.rows()
    ]
    for score in scores:
        require(
            re.fullmatch(r"step-\d+", score.player) is not None and score.opponent != score.player,
            f"{table.path}: a player",
            "step-N, against another",
            f"{score.player} against {score.opponent}"[:80],
        )
    return scores


class ArenaRating(Callback):
    """Rates the weights at both ends of a run and every `arena.every_generations` generations.

    Args:
        settings: of the run.
        run: the directory of matches.csv and of the earlier weights.
        data: knows the generation.
        terminal: for progress.
        starts: what games begin from; None: the initial position.
    """

    def __init__(
        self,
        settings: Settings,
        run: RunDirectory,
        data: SelfPlayData,
        terminal: TrainingDisplay,
        starts: Starts | None,
    ) -> None:
        self._settings, self._run = settings, run
        self._data, self._terminal = data, terminal
        self._starts = starts
        self._table = Table(run.matches, MATCHES)
        self.rated_step: int | None = None  # of the weights rated last, since the process began

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        match_scores(self._table)  # refuses a faulty table before anything in it is changed
        self._table.keep_before(self._data.loader.generation)
        assert isinstance(pl_module, LearnerModule)
        if trainer.global_step == 0:
            self._terminal.say("before self-play begins, matches rate the first weights")
            self._rate(pl_module, 0, self._settings.seed)
            first = self._run.step_checkpoint(0)
            pl_module.save_weights(first, pl_module.playing, 0)  # an opponent for later weights
        else:
            self._describe()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        generation = self._data.finished_generation
        is_last = trainer.should_stop or trainer.global_step >= trainer.max_steps
        if is_last or (generation + 1) % self._settings.arena.every_generations == 0:
            assert isinstance(pl_module, LearnerModule)
            self._rate(pl_module, generation, self._settings.seed + 1 + generation)

    def _rate(self, pl_module: LearnerModule, generation: int, seed: int) -> None:
        """Play matches with the current weights, add them to the table and log the rating."""
        settings, step = self._settings, pl_module.trainer.global_step
        name = f"step-{step}"
        evaluator = settings.search_evaluator(pl_module.playing, step)
        for opponent in self._opponents():
            result, seconds = self._play(search_player(settings, evaluator, name), opponent, seed)
            simulations = settings.arena.num_simulations
            self._table.append(match_row(result, generation, step, simulations, seconds))
        self.rated_step = step
        rating = self._describe()
        if rating is not None:
            interval = {"rating/low": rating.low, "rating/high": rating.high}
            pl_module.log_dict({RATING: rating.value, **interval})

    def _play(self, player: Player, opponent: Player, seed: int) -> tuple[MatchResult, float]:
        arena, plies = self._settings.arena, 0
        match, length = f"the match with {opponent.name}", self._settings.game.max_game_length
        heart = Heartbeat(match, self._terminal.say, lambda: plies, length)

        def progress(done: int) -> None:
            nonlocal plies
            plies += 1  # in each game that is not over
            heart.beat(done)
            self._terminal.show(f"rating: {opponent.name}", done, arena.games, "games")

        began = time.perf_counter()
        result = play_match(
            self._settings.game,
            player,
            opponent,
            num_games=arena.games,
            opening_plies=arena.opening_plies,
            seed=seed,
            starts=self._starts,
            progress=progress,
        )
        return result, time.perf_counter() - began

    def _opponents(self) -> list[Player]:
        """Baselines that are not yet clearly beaten, and weights that were rated before."""
        settings, scores = self._settings, match_scores(self._table)
        last = {score.opponent: score.total.score for score in scores}
        opponents: list[Player] = []
        if last.get("random", 0.0) < SURE_WIN:
            opponents.append(RandomPlayer(game=settings.game))
        if last.get("search", 0.0) < SURE_WIN:
            opponents.append(search_baseline(settings))
        # The last weights show the progress; those halfway through the ratings keep the ladder
        # short, so that errors do not add up over hundreds of rungs.
        rated = list(dict.fromkeys(score.player for score in scores))
        for name in dict.fromkeys(rated[-1:] + rated[(len(rated) - 1) // 2 :][:1]):
            evaluator = settings.checkpoint_evaluator(self._run.checkpoints / f"{name}.ckpt")
            opponents.append(search_player(settings, evaluator, name))
        return opponents

    def _describe(self) -> Rating | None:
        """Show the newest rating on the terminal's lines, and return it."""
        scores = match_scores(self._table)
        if not scores:
            return None
        rating = fit_ratings(scores, anchor="random").get(scores[-1].player)
        if rating is None:  # no chain of matches connects it to the anchor
            return None
        self._terminal.rating = f"{rating.value:+.0f} ± {(rating.high - rating.low) / 2:.0f} Elo"
        return rating
