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
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from azcore.algorithms.beside import Beside, Moment
from azcore.algorithms.checkpoints import link
from azcore.algorithms.display import Heartbeat, TrainingDisplay
from azcore.algorithms.metrics import RATING
from azcore.arena.elo import PairScore, Rating, fit_ratings
from azcore.arena.match import MatchResult
from azcore.arena.spread import Contender, SpreadMatch, play_spread
from azcore.assembly import contenders
from azcore.assembly.parts import RunSettings
from azcore.learner.data import SelfPlayData
from azcore.learner.module import LearnerModule
from azcore.selfplay.jobs import Workplaces
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

    With `schedule=overlap` the run goes on while a rating's matches are played; their results are
    taken at the end of the first generation after them.

    Args:
        settings: of the run.
        run: the directory of matches.csv and of the earlier weights.
        data: knows the generation.
        terminal: for progress.
        starts: what games begin from; None: the initial position.
        workplaces: where matches are played.
    """

    def __init__(
        self,
        settings: RunSettings,
        run: RunDirectory,
        data: SelfPlayData,
        terminal: TrainingDisplay,
        starts: Starts | None,
        workplaces: Workplaces,
    ) -> None:
        self._settings, self._run = settings, run
        self._data, self._terminal = data, terminal
        self._starts, self._workplaces = starts, workplaces
        self._table = Table(run.matches, MATCHES)
        self._matches = Beside[list[SpreadMatch]]("rating")
        self.rated_step: int | None = None  # of the weights rated last, since the process began

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        match_scores(self._table)  # refuses a faulty table before anything in it is changed
        self._table.keep_before(self._data.loader.generation)
        assert isinstance(pl_module, LearnerModule)
        if trainer.global_step == 0:
            self._terminal.say("before the first step, matches rate the first weights")
            player = self._playing(pl_module, 0)
            self._begin(pl_module, Moment(0, 0), self._settings.seed, player, waits=True)
            first = self._run.step_checkpoint(0)
            pl_module.save_weights(first, pl_module.playing, 0)  # an opponent for later weights
            return
        self._matches.require_past(self._data, trainer.global_step)
        if self._matches.moment is not None:
            self._begin_again(pl_module, self._matches.moment)
        self._describe()

    def rate(self, trainer: Trainer, module: LearnerModule) -> None:
        """Play the matches of the newest weights, if they are due."""
        moment = Moment(self._data.finished_generation, trainer.global_step)
        is_last = trainer.should_stop or moment.step >= trainer.max_steps
        is_due = is_last or (moment.generation + 1) % self._settings.arena.every_generations == 0
        if self._matches.is_over or (self._matches.is_begun and is_due):
            self._take(module)
        if is_due:
            seed, player = self._seed(moment), self._playing(module, moment.step)
            waits = is_last or not self._settings.overlaps
            self._begin(module, moment, seed, player, waits=waits)

    def _seed(self, moment: Moment) -> int:
        return self._settings.seed + 1 + moment.generation

    def _playing(self, pl_module: LearnerModule, step: int) -> Contender:
        settings = self._settings
        simulations = settings.arena.num_simulations
        return contenders.trained(settings, pl_module.playing, step, f"step-{step}", simulations)

    def _begin(
        self,
        pl_module: LearnerModule,
        moment: Moment,
        seed: int,
        player: Contender,
        *,
        waits: bool,
    ) -> None:
        """Begin the matches of a player's rating.

        Args:
            pl_module: that learns.
            moment: of the player's weights.
            seed: of the matches.
            player: to rate.
            waits: play them on this thread, with progress on the terminal, and take the result.
        """
        opponents = self._opponents()
        self.rated_step = moment.step

        def play() -> list[SpreadMatch]:
            return [self._play(player, opponent, seed, shown=waits) for opponent in opponents]

        self._matches.begin(moment, play, waits=waits)
        if waits:
            self._take(pl_module)

    def _begin_again(self, pl_module: LearnerModule, moment: Moment) -> None:
        """Begin the matches that were under way at the checkpoint from which the run resumes.

        Raises:
            CheckpointError: those weights cannot play.
        """
        step, now = moment.step, pl_module.trainer.global_step
        checkpoint, last = self._run.step_checkpoint(step), self._run.last_checkpoint
        if step == now and not checkpoint.exists() and last.exists():
            link(last, checkpoint)  # the run was killed in between
        if not checkpoint.exists():
            self._matches.moment = None
            self._terminal.say(f"the rating of step {step:,} is left out: {checkpoint} is missing")
            return
        simulations = self._settings.arena.num_simulations
        player = contenders.saved(self._settings, checkpoint, checkpoint.stem, simulations)
        self._table.keep_before(moment.generation)
        waits = not self._settings.overlaps
        self._begin(pl_module, moment, self._seed(moment), player, waits=waits)

    def _take(self, pl_module: LearnerModule) -> None:
        """Wait for the matches, add them to the table and log the rating."""
        moment, matches = self._matches.taken()
        simulations = self._settings.arena.num_simulations
        for result, _, seconds in matches:
            self._table.append(match_row(result, *moment, simulations, seconds))
        rating = self._describe()
        if rating is not None:
            interval = {"rating/low": rating.low, "rating/high": rating.high}
            pl_module.log_dict({RATING: rating.value, **interval})

    def _play(
        self, player: Contender, opponent: Contender, seed: int, *, shown: bool
    ) -> SpreadMatch:
        arena, longest = self._settings.arena, 0
        match, length = f"the match with {opponent.name}", self._settings.game.max_game_length
        heart = Heartbeat(match, self._terminal.say, lambda: longest, length)

        def progress(done: int, plies: int) -> None:
            nonlocal longest
            longest = plies
            heart.beat(done)
            if shown:
                self._terminal.show(f"rating: {opponent.name}", done, arena.games, "games")

        return play_spread(
            self._workplaces,
            self._settings.game,
            player,
            opponent,
            num_games=arena.games,
            opening_plies=arena.opening_plies,
            seed=seed,
            starts=self._starts,
            progress=progress,
        )

    def _opponents(self) -> list[Contender]:
        """Baselines that are not yet clearly beaten, and weights that were rated before."""
        settings, scores = self._settings, match_scores(self._table)
        last = {score.opponent: score.total.score for score in scores}
        opponents: list[Contender] = []
        if last.get("random", 0.0) < SURE_WIN:
            opponents.append(contenders.RANDOM)
        if last.get("search", 0.0) < SURE_WIN:
            opponents.append(contenders.baseline(settings))
        # The last weights show the progress; those halfway through the ratings keep the ladder
        # short, so that errors do not add up over hundreds of rungs.
        rated = list(dict.fromkeys(score.player for score in scores))
        for name in dict.fromkeys(rated[-1:] + rated[(len(rated) - 1) // 2 :][:1]):
            path = self._run.checkpoints / f"{name}.ckpt"
            simulations = settings.arena.num_simulations
            opponents.append(contenders.saved(settings, path, name, simulations))
        return opponents

    def state_dict(self) -> dict[str, Any]:
        """The rating under way, whose weights are in the checkpoint of its step."""
        return self._matches.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._matches.load_state_dict(state_dict)

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
