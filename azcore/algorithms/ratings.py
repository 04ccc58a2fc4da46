"""Ratings of the weights in training.

Opponents: `random` (any legal action, the anchor of the ratings), `search` (PUCT with uniform
evaluations and the same number of simulations), the weights rated last before, and those halfway
through the ratings so far. The first rating rates the initial weights as an opponent, the last one
the final weights.

With `trainer.max_time` ratings take at most a tenth of the time: a rating waits until it fits in,
and the last one has as many games as fit.

As in any rating list, pairs of games count, and pairs that repeat each other count once. The first
mover's advantage is estimated along with the ratings: see `azcore.arena.elo`.
"""

import math
import re
from contextlib import suppress
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from azcore.algorithms.checkpoints import link
from azcore.algorithms.clock import CLOSING, RATED, RunClock, TimeIsUpError
from azcore.algorithms.display import Heartbeat, TrainingDisplay
from azcore.algorithms.metrics import RATING
from azcore.algorithms.parallel_matches import Moment, ParallelMatches
from azcore.arena.elo import PairScore, Rating, fit_ratings
from azcore.arena.match import MatchResult
from azcore.arena.spread import Contender, SpreadMatch, play_spread
from azcore.assembly import contenders
from azcore.assembly.parts import RunSettings
from azcore.learner.data import SelfPlayData
from azcore.learner.module import LearnerModule
from azcore.selfplay.jobs import JobSlots
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
    "num_simulations",  # per move, for searching players
    "pairs",  # distinct ones, see `PairScore.to_text`
    "seconds",
]
FEWER_AT_ONCE = 2.0  # the time of a game in a match, with fewer at once, relative to self-play
SURE_WIN = 0.99  # a run drops a baseline after a match with this score


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
    """The results in matches.csv, whose first players are checkpoints of the run.

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
    """Rates the weights every `arena.every_generations` generations, and when the run ends.

    With `schedule=overlap` the run continues during a rating's matches; their results count at the
    end of the first generation after them.

    Args:
        run: the directory of matches.csv and of the earlier weights.
        starts: what games begin from; None: the initial position.
    """

    def __init__(
        self,
        settings: RunSettings,
        run: RunDirectory,
        data: SelfPlayData,
        terminal: TrainingDisplay,
        starts: Starts | None,
        slots: JobSlots,
        clock: RunClock,
    ) -> None:
        self._settings, self._run, self._clock = settings, run, clock
        self._data, self._terminal = data, terminal
        self._starts, self._slots = starts, slots
        self._table = Table(run.matches, MATCHES)
        self._matches = ParallelMatches[list[SpreadMatch]]("rating")
        self.rated_step: int | None = None  # of the weights rated last, since the process began
        self._is_owed = False  # whether a due rating lacked the time
        self._until = math.inf  # seconds of the run at which the current rating must end
        self._known: dict[tuple[int, int], tuple[int, float, float | None]] = {}  # by the table

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        match_scores(self._table)  # refuses a faulty table before changing anything in it
        self._table.keep_before(self._data.loader.generation)
        assert isinstance(pl_module, LearnerModule)
        if trainer.global_step == 0:
            first = self._run.step_checkpoint(0)
            pl_module.save_weights(first, pl_module.playing, 0)  # an opponent for later weights
            return
        self._matches.require_past(self._data, trainer.global_step)
        if self._matches.moment is not None:
            self._begin_again(pl_module, self._matches.moment)

    def rate(self, trainer: Trainer, module: LearnerModule) -> None:
        """Play the matches of the newest weights if they are due."""
        moment = Moment(self._data.finished_generation, trainer.global_step)
        is_last = trainer.should_stop or moment.step >= trainer.max_steps
        every = self._settings.arena.every_generations
        is_due = every is not None and (is_last or (moment.generation + 1) % every == 0)
        if self._matches.is_over or (self._matches.is_begun and is_due):
            self._take(module)
        scores = match_scores(self._table)
        is_rated = bool(scores) and scores[-1].player == f"step-{moment.step}"
        if is_rated or not (moment.step and (is_due or self._is_owed)):
            return
        games = self._games_in_time(is_last=is_last)
        self._is_owed = games == 0
        if games:
            seed, player = self._seed(moment), self._playing(module, moment.step)
            waits = is_last or not self._settings.overlaps
            self._begin(module, moment, seed, player, waits=waits, games=games)

    def expected_seconds(self) -> float:
        """Expected seconds of the last rating in a run with a limit."""
        limit = self._clock.max_seconds
        if limit is None or self._settings.arena.every_generations is None:
            return 0.0
        try:
            found = self._table.path.stat()
            stamp = (found.st_size, found.st_mtime_ns)
        except FileNotFoundError:
            stamp = (0, 0)
        if stamp not in self._known:  # asked after each step
            matches = len(self._names_of_opponents())
            self._known = {stamp: (matches, self._spent(), self._measured_per_game())}
        matches, spent, measured = self._known[stamp]
        a_game = (self._guessed_per_game() if measured is None else measured) * matches
        return self._affordable(a_game, RATED * limit - spent) * a_game

    def _games_in_time(self, *, is_last: bool) -> int:
        """How many games a match has time for; 0: no time for a rating."""
        clock, most = self._clock, self._settings.arena.games
        if clock.max_seconds is None:
            return most
        measured, spent = self._measured_per_game(), self._spent()
        a_game = self._guessed_per_game() if measured is None else measured
        a_game *= len(self._names_of_opponents())
        if not is_last:  # another will follow at the end
            whole = most * a_game
            within = min(RATED * clock.elapsed(), RATED * clock.max_seconds - whole)
            self._until = clock.elapsed() + max(1.0, RATED * clock.max_seconds / 2 - spent)
            return most if spent + whole <= within else 0
        left = min(RATED * clock.max_seconds - spent, (clock.left() or 0.0) - CLOSING)
        self._until = clock.elapsed() + left
        games = self._affordable(a_game, left)
        if not games:
            self._terminal.say(
                "no rating: a tenth of trainer.max_time is too little for its matches"
            )
        return games

    def _affordable(self, a_game: float, seconds: float) -> int:
        """Games per match, in whole pairs, that fit into these seconds."""
        most = self._settings.arena.games
        return min(most, int(max(0.0, seconds) / max(a_game, 1e-9)) // 2 * 2)

    def _measured_per_game(self) -> float | None:
        """Seconds per game in the latest matches; None: no match yet."""
        rows = self._table.rows()[-3:]
        games = sum(self._table.whole(row, "games") for row in rows)
        seconds = sum(self._table.number(row, "seconds") for row in rows)
        return seconds / games if games else None

    def _guessed_per_game(self) -> float:
        """Seconds per game before the first match, estimated from self-play."""
        settings = self._settings
        if settings.supervised.enabled:  # assume that all games together take a tenth of the time
            matches = settings.arena.games * len(self._names_of_opponents())
            return RATED * (self._clock.max_seconds or 0.0) / matches
        more = settings.arena.num_simulations / settings.search.num_simulations
        return self._clock.seconds_per_game() * more * FEWER_AT_ONCE

    def _spent(self) -> float:
        """Seconds of all ratings of the run."""
        return sum(self._table.number(row, "seconds") for row in self._table.rows())

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
        games: int | None = None,
    ) -> None:
        """Start the matches of a player's rating; `waits`: play them here and use the result."""
        opponents = self._opponents()
        self.rated_step = moment.step
        each = self._settings.arena.games if games is None else games

        def play() -> list[SpreadMatch]:
            played = []
            with suppress(TimeIsUpError):  # discards an earlier, unfinished match
                for opponent in opponents:
                    played.append(self._play(player, opponent, seed, each, shown=waits))
            return played

        self._matches.begin(moment, play, waits=waits)
        if waits:
            self._take(pl_module)

    def _begin_again(self, pl_module: LearnerModule, moment: Moment) -> None:
        """Restart the matches in progress at the checkpoint from which the run resumes."""
        step, now = moment.step, pl_module.trainer.global_step
        checkpoint, last = self._run.step_checkpoint(step), self._run.last_checkpoint
        if step == now and not checkpoint.exists() and last.exists():
            link(last, checkpoint)  # the run was killed in between
        if not checkpoint.exists():
            self._matches.moment = None
            self._terminal.say(f"skipping the rating of step {step:,}: {checkpoint} is missing")
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
        if rating is not None and matches:
            interval = {"rating/low": rating.low, "rating/high": rating.high}
            pl_module.log_dict({RATING: rating.value, **interval})

    def _play(
        self, player: Contender, opponent: Contender, seed: int, games: int, *, shown: bool
    ) -> SpreadMatch:
        arena, longest = self._settings.arena, 0
        match, length = f"the match with {opponent.name}", self._settings.game.max_game_length
        heart = Heartbeat(match, self._terminal.say, lambda: longest, length)

        def progress(done: int, plies: int) -> None:
            nonlocal longest
            longest = plies
            heart.beat(done)
            if shown:
                self._terminal.show(f"rating: {opponent.name}", done, games, "games")
            if done < games:
                self._clock.require_time(self._until)

        return play_spread(
            self._slots,
            self._settings.game,
            player,
            opponent,
            num_games=games,
            opening_plies=arena.opening_plies,
            seed=seed,
            starts=self._starts,
            progress=progress,
        )

    def _opponents(self) -> list[Contender]:
        return [self._opponent(name) for name in self._names_of_opponents()]

    def _opponent(self, name: str) -> Contender:
        settings = self._settings
        if name == "random":
            return contenders.RANDOM
        if name == "search":
            return contenders.baseline(settings)
        path = self._run.checkpoints / f"{name}.ckpt"
        return contenders.saved(settings, path, name, settings.arena.num_simulations)

    def _names_of_opponents(self) -> list[str]:
        """Baselines not yet clearly beaten, and previously rated weights."""
        scores = match_scores(self._table)
        last = {score.opponent: score.total.score for score in scores}
        names = [name for name in ("random", "search") if last.get(name, 0.0) < SURE_WIN]
        # The last weights show the progress; those halfway through the ratings keep the ladder
        # short, so that errors do not add up over hundreds of rungs.
        rated = list(dict.fromkeys(score.player for score in scores))
        if not rated and self._run.step_checkpoint(0).exists():
            rated = [self._run.step_checkpoint(0).stem]
        return [*names, *dict.fromkeys(rated[-1:] + rated[(len(rated) - 1) // 2 :][:1])]

    def state_dict(self) -> dict[str, Any]:
        """The current rating, whose weights are in the checkpoint of its step."""
        return self._matches.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._matches.load_state_dict(state_dict)

    def _describe(self) -> Rating | None:
        """Show the newest rating on the terminal's lines, and return it."""
        scores = match_scores(self._table)
        if not scores:
            return None
        rating = fit_ratings(scores, anchor="random").get(scores[-1].player)
        if rating is None:  # no chain of matches to the anchor
            return None
        half = (rating.high - rating.low) / 2
        step = scores[-1].player.removeprefix("step-")
        self._terminal.rating = f"of step {int(step):,}: {rating.value:+.0f} ± {half:.0f} Elo"
        return rating
