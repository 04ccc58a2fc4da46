"""Ratings of the weights in training.

Opponents: `random` (any legal action, the anchor of the ratings), `search` (PUCT with
uniform evaluations and the same simulations), the weights of the last rating before and those at
half the steps.
"""

from __future__ import annotations

import re
import time
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from azcore.algorithms.callbacks import RATING, Terminal
from azcore.arena.elo import MatchScore, Rating, fit_ratings
from azcore.arena.match import MatchResult, play_match
from azcore.assembly import Settings, search_baseline, search_player
from azcore.learner.data import SelfPlayData
from azcore.learner.module import LearnerModule
from azcore.players import Player, RandomPlayer
from azcore.run_directory import RunDirectory, Table
from azcore.settings import require

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
    "seconds",
]
SURE_WIN = 0.99  # an opponent beaten so clearly is met no more in this run


def match_row(result: MatchResult, generation: int, step: int, seconds: float) -> dict[str, Any]:
    """The columns of `MATCHES` for a match of weights of `step`, its first player."""
    return {
        "generation": generation,
        "step": step,
        **result.counted(),
        "seconds": round(seconds, 1),
    }


def match_scores(table: Table) -> list[MatchScore]:
    """The results in matches.csv, whose players are checkpoints of the run.

    Raises:
        SettingError: the table holds something else.
    """
    scores = [
        MatchScore(
            player=table.text(row, "player"),
            opponent=table.text(row, "opponent"),
            wins=table.whole(row, "wins"),
            draws=table.whole(row, "draws"),
            losses=table.whole(row, "losses"),
        )
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
    """Every `arena.every_generations` generations: matches, and the rating they come to.

    Args:
        settings: of the run.
        run: where matches.csv and the earlier weights are.
        data: tells the generation.
        terminal: for progress.
    """

    def __init__(
        self, settings: Settings, run: RunDirectory, data: SelfPlayData, terminal: Terminal
    ) -> None:
        self._settings, self._run = settings, run
        self._data, self._terminal = data, terminal
        self._table = Table(run.matches, MATCHES)
        self.rated_step: int | None = None  # of the weights rated last, since the process began

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        match_scores(self._table)  # refused as it is, before anything in it is changed
        self._table.keep_before(self._data.loader.generation)
        self._describe()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        settings, generation = self._settings, self._data.finished_generation
        if (generation + 1) % settings.arena.every_generations:
            return
        assert isinstance(pl_module, LearnerModule)
        name = f"step-{trainer.global_step}"
        evaluator = settings.search_evaluator(pl_module.network, trainer.global_step)
        for opponent in self._opponents():
            result, seconds = self._play(
                search_player(settings, evaluator, name), opponent, settings.seed + generation
            )
            row = match_row(result, generation, trainer.global_step, seconds)
            self._table.append(row)
        self.rated_step = trainer.global_step
        rating = self._describe()
        if rating is not None:
            interval = {"rating/low": rating.low, "rating/high": rating.high}
            pl_module.log_dict({RATING: rating.value, **interval})

    def _play(self, player: Player, opponent: Player, seed: int) -> tuple[MatchResult, float]:
        arena = self._settings.arena
        began = time.perf_counter()
        result = play_match(
            self._settings.game,
            player,
            opponent,
            num_games=arena.games,
            opening_plies=arena.opening_plies,
            seed=seed,
            progress=lambda done: self._terminal.show(
                f"rating: {opponent.name}", done, arena.games, "games"
            ),
        )
        return result, time.perf_counter() - began

    def _opponents(self) -> list[Player]:
        """Baselines not yet beaten surely, and the last weights that were rated."""
        settings, scores = self._settings, match_scores(self._table)
        last = {score.opponent: score.score for score in scores}
        opponents: list[Player] = []
        if last.get("random", 0.0) < SURE_WIN:
            opponents.append(RandomPlayer(game=settings.game))
        if last.get("search", 0.0) < SURE_WIN:
            opponents.append(search_baseline(settings))
        # The last weights tell of progress; those at half the steps keep the ladder of ratings
        # short, so that its errors do not add up over hundreds of rungs.
        rated = list(dict.fromkeys(score.player for score in scores))
        for name in dict.fromkeys(rated[-1:] + rated[(len(rated) - 1) // 2 :][:1]):
            evaluator = settings.checkpoint_evaluator(self._run.checkpoints / f"{name}.ckpt")
            opponents.append(search_player(settings, evaluator, name))
        return opponents

    def _describe(self) -> Rating | None:
        """Put the newest rating on the terminal's lines; it is returned."""
        scores = match_scores(self._table)
        if not scores:
            return None
        rating = fit_ratings(scores, anchor="random").get(scores[-1].player)
        if rating is None:  # no match leads from it to the anchor
            return None
        self._terminal.rating = f"{rating.value:+.0f} ± {(rating.high - rating.low) / 2:.0f} Elo"
        return rating
