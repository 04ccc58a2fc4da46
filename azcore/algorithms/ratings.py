"""Ratings of the weights in training, and `command=arena`: matches against the baselines.

Opponents: `random` (any legal action, the anchor of the ratings), `search` (PUCT with
uniform evaluations and the same simulations), the weights of the last rating before and those at
half the steps.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from rich.console import Console
from rich.table import Table as RichTable

from azcore.algorithms.callbacks import Terminal
from azcore.arena.elo import MatchScore, fit_ratings
from azcore.arena.match import MatchResult, play_match
from azcore.assembly import Config, Settings, settings_from
from azcore.errors import SettingError
from azcore.evaluators import Evaluator, UniformEvaluator
from azcore.learner.data import SelfPlayData
from azcore.learner.module import LearnerModule
from azcore.players import Player, RandomPlayer, SearchPlayer
from azcore.run_directory import RunDirectory, Table

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
SURE_WIN = 0.99  # an opponent beaten so clearly is met again only by `command=arena`


def match_row(result: MatchResult, generation: int, step: int, seconds: float) -> dict[str, Any]:
    """The columns of `MATCHES` for a match of weights of `step`, its first player."""
    return {
        "generation": generation,
        "step": step,
        "player": result.first,
        "opponent": result.second,
        "games": len(result.games),
        "wins": result.wins,
        "draws": result.draws,
        "losses": result.losses,
        "distinct_games": result.distinct_games,
        "seconds": round(seconds, 1),
    }


def match_scores(table: Table) -> list[MatchScore]:
    """The results in matches.csv."""
    return [
        MatchScore(
            player=row["player"],
            opponent=row["opponent"],
            wins=int(row["wins"]),
            draws=int(row["draws"]),
            losses=int(row["losses"]),
        )
        for row in table.rows()
    ]


def search_player(settings: Settings, evaluator: Evaluator, name: str) -> SearchPlayer:
    """A player that searches as the arena's settings say."""
    return SearchPlayer(
        game=settings.game,
        evaluator=evaluator,
        settings=settings.search,
        num_simulations=settings.arena.num_simulations,
        name=name,
    )


def search_baseline(settings: Settings) -> SearchPlayer:
    """`search`: by PUCT whatever the run's rule, so that ratings of different runs compare."""
    plain = replace(settings, search=replace(settings.search, rule="puct"))
    return search_player(plain, UniformEvaluator(settings.game), "search")


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

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._table.keep_before(self._data.loader.generation)
        self._describe()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        settings, generation = self._settings, self._data.finished_generation
        if (generation + 1) % settings.arena.every_generations:
            return
        assert isinstance(pl_module, LearnerModule)
        name = f"step-{trainer.global_step}"
        evaluator = settings.search_evaluator(pl_module.network)
        for opponent in self._opponents():
            result, seconds = self._play(
                search_player(settings, evaluator, name), opponent, settings.seed + generation
            )
            row = match_row(result, generation, trainer.global_step, seconds)
            self._table.append(row)
        trainer.save_checkpoint(self._run.checkpoints / f"{name}.ckpt")  # the next one's opponent
        rating = self._describe()
        if rating is not None:
            pl_module.log("rating", rating)

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

    def _describe(self) -> float | None:
        """Put the newest rating on the terminal's lines; its value."""
        scores = match_scores(self._table)
        if not scores:
            return None
        rating = fit_ratings(scores, anchor="random")[scores[-1].player]
        self._terminal.rating = f"{rating.value:+.0f} ± {(rating.high - rating.low) / 2:.0f} Elo"
        return rating.value


def rate_checkpoint(config: Config) -> int:
    """`command=arena`: play a checkpoint against the baselines and print the results.

    Raises:
        AzcoreError: no checkpoint given, or it cannot be used.
    """
    if config["checkpoint"] is None:
        raise SettingError(
            "command=arena needs checkpoint=PATH, such as a run's checkpoints/last.ckpt"
        )
    settings, path = settings_from(config), Path(config["checkpoint"])
    arena, console = settings.arena, Console()
    evaluator = settings.checkpoint_evaluator(path)
    opponents: list[Player] = [
        RandomPlayer(game=settings.game),
        search_baseline(settings),
    ]
    table = RichTable(title=f"{path}, {arena.num_simulations} simulations a move")
    for column in ("opponent", "games", "distinct", "wins", "draws", "losses", "score", "Elo"):
        table.add_column(column, justify="left" if column == "opponent" else "right")
    for opponent in opponents:
        with console.status(f"playing {arena.games} games against {opponent.name}"):
            result = play_match(
                settings.game,
                search_player(settings, evaluator, "checkpoint"),
                opponent,
                num_games=arena.games,
                opening_plies=arena.opening_plies,
                seed=settings.seed,
            )
        table.add_row(*_cells(result))
    console.print(table)
    return 0


def _cells(result: MatchResult) -> list[str]:
    low, high = result.score_interval
    return [
        result.second,
        str(len(result.games)),
        str(result.distinct_games),
        str(result.wins),
        str(result.draws),
        str(result.losses),
        f"{result.score:.1%} [{low:.1%}, {high:.1%}]",
        f"{result.elo.value:+.0f} [{result.elo.low:+.0f}, {result.elo.high:+.0f}]",
    ]
