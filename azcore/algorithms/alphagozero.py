"""AlphaGo Zero's loop (Silver 2017): the best player plays the games until a candidate beats it.

    repeat for each generation:
        the best player plays itself until there are enough new positions; players resign lost games
        the network takes `steps_per_generation` steps on positions sampled from the window
        it plays a match against the best player; with a score above 55 % it becomes the best
        the run saves everything, including the best player

With `schedule=overlap` the run continues during the match, and the candidate keeps the weights of
the step at which it began; the result counts when a generation ends.

`loop.py` has the loop. Any run can use the paper's other methods, and conf/algorithm enables them
for this one: resignation (`azcore.selfplay.resignation`), and a random symmetry for each evaluation
(`azcore.search.evaluators`) and for each training position (`azcore.storage.replay`).
"""

import copy
from collections.abc import Callable
from typing import Any

from lightning.pytorch import LightningModule, Trainer
from torch import nn

from azcore.algorithms.algorithm import Algorithm, Surroundings, WhoPlays
from azcore.algorithms.clock import TimeIsUpError
from azcore.algorithms.parallel_matches import Moment, ParallelMatches
from azcore.algorithms.ratings import MATCHES, match_row
from azcore.arena.gate import decide
from azcore.arena.spread import SpreadMatch, play_spread
from azcore.arena.sprt import Verdict
from azcore.assembly.contenders import trained
from azcore.errors import CheckpointError
from azcore.learner.data import SelfPlayData
from azcore.learner.module import LearnerModule
from azcore.learner.sources import GameSource
from azcore.networks.checkpoint import require_weights
from azcore.storage.checkpoint import like
from azcore.storage.table import Table

# Columns of gate.csv; matches.csv has the matches behind ratings. The verdict is that of the
# sequential test, empty if the match played all its games.
GATES = [*MATCHES, "promoted", "verdict"]


class AlphaGoZero(Algorithm):
    """The best player so far, and the gate that a candidate must pass to replace it.

    The first best player has the weights that the run begins with. The run directory holds gate.csv
    and the best player's checkpoint.
    """

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        settings, run = around.settings, around.run
        self._settings, self._run, self._clock = settings, run, around.clock
        self._terminal, self._slots = around.terminal, around.job_slots
        self._data: SelfPlayData  # knows the generation
        self._best = copy.deepcopy(around.network)
        self._best_step = 0
        self._candidate = copy.deepcopy(around.network)  # of the current match
        self._matches = ParallelMatches[SpreadMatch]("gate match")
        self._sprt = settings.sprt if settings.gate.sprt else None
        self._score: float | None = None  # of the generation's candidate, if it was tested
        self._evaluations = 0  # in the generation's match
        self._table = Table(run.gate, GATES)

    def source(self, self_play: Callable[[WhoPlays], GameSource]) -> GameSource:
        return self_play(self.who_plays)

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        data = trainer.datamodule  # type: ignore[attr-defined]
        assert isinstance(data, SelfPlayData)
        self._data = data

    def who_plays(self, network: nn.Module, step: int) -> tuple[nn.Module, int]:
        return self._best, self._best_step

    def metrics(self) -> dict[str, float]:
        row: dict[str, float] = {"best_step": self._best_step, "evaluations": self._evaluations}
        return row if self._score is None else {**row, "gate_score": self._score}

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert isinstance(pl_module, LearnerModule)
        self._matches.require_past(self._data, trainer.global_step)
        under_way, generation = self._matches.moment, self._data.loader.generation
        self._table.keep_before(generation if under_way is None else under_way.generation)
        # The run went back to an earlier checkpoint.
        if self._best_step and not self._run.best_checkpoint.exists():
            pl_module.save_weights(self._run.best_checkpoint, self._best, self._best_step)
        if under_way is not None:
            self._begin(pl_module, under_way, waits=not self._settings.overlaps)

    def publish(self, trainer: Trainer, module: LearnerModule) -> None:
        """Start the candidate's match, and use the result of a finished match."""
        self._score, self._evaluations = None, 0
        moment = Moment(self._data.finished_generation, trainer.global_step)
        is_last = trainer.should_stop or moment.step >= trainer.max_steps
        # If the run stops midway, the match is due after the resume.
        is_due = (
            self._data.between_generations
            and (moment.generation + 1) % self._settings.gate.every_generations == 0
            and not self._clock.is_up()
        )
        if self._matches.is_over or (self._matches.is_begun and (is_due or is_last)):
            self._take(module)
        if is_due:
            self._candidate.load_state_dict(module.playing.state_dict())
            self._begin(module, moment, waits=is_last or not self._settings.overlaps)

    def _begin(self, pl_module: LearnerModule, moment: Moment, *, waits: bool) -> None:
        """Start the match: most visits, no noise (Methods "Evaluator"); `waits`: play it here."""
        settings, gate, simulations = self._settings, self._settings.gate, self._num_simulations
        first, second = (
            trained(settings, network, at, f"{kind}-{at}", simulations)
            for network, at, kind in (
                (self._candidate, moment.step, "step"),
                (self._best, self._best_step, "best"),
            )
        )

        def progress(done: int, plies: int) -> None:
            if waits:
                self._terminal.show("gate", done, gate.games, "games")
                if done < gate.games:
                    self._clock.require_time()

        def play() -> SpreadMatch:
            return play_spread(
                self._slots(),
                settings.game,
                first,
                second,
                num_games=gate.games,
                opening_plies=gate.opening_plies,
                seed=settings.seed + moment.generation,
                progress=progress,
                sprt=self._sprt,
            )

        try:
            self._matches.begin(moment, play, waits=waits)
        except TimeIsUpError:
            self._matches.moment = None
            self._terminal.say("trainer.max_time is over: skipping the gate match")
            return
        if waits:
            self._take(pl_module)

    def _take(self, pl_module: LearnerModule) -> None:
        """Wait for the match; the candidate becomes the best player if it passes."""
        moment, match = self._matches.taken()
        self._score, self._evaluations = match.result.score, match.evaluations
        promoted, verdict = decide(match.result, self._settings.gate.threshold, self._sprt)
        self._note(match, moment, promoted, verdict)
        if promoted:
            self._best.load_state_dict(self._candidate.state_dict())
            self._best_step = moment.step
            pl_module.save_weights(self._run.best_checkpoint, self._best, self._best_step)

    @property
    def _num_simulations(self) -> int:
        """Simulations per move in a match, the same for both players."""
        settings = self._settings
        return settings.gate.num_simulations or settings.search.num_simulations

    def _note(
        self, match: SpreadMatch, moment: Moment, promoted: bool, verdict: Verdict | None
    ) -> None:
        result = match.result
        row = match_row(result, *moment, self._num_simulations, match.seconds)
        self._table.append({**row, "promoted": int(promoted), "verdict": verdict or ""})
        test = f", test {verdict}" if verdict else ""
        self._terminal.say(
            f"gate: {result.first} scores {result.score:.1%} against {result.second} in "
            f"{len(result.games)} games, {result.distinct_games} distinct "
            f"({result.wins} won, {result.draws} drawn, {result.losses} lost{test}): "
            + ("the new best player" if promoted else "the best player stays")
        )

    def state_dict(self) -> dict[str, Any]:
        """The best player and, during a match, the candidate.

        A match is a function of both players and the generation.
        """
        state = {"best": self._best.state_dict(), "best_step": self._best_step}
        if self._matches.moment is None:
            return state
        return {**state, "candidate": self._candidate.state_dict(), **self._matches.state_dict()}

    def on_load_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        if self.state_key not in checkpoint["callbacks"]:
            raise CheckpointError(
                "this checkpoint lacks the best player, which gate.enabled=true needs"
            )

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        is_under_way = "candidate" in state_dict
        try:
            require_weights(state_dict["best"], self._best)
            if is_under_way:
                require_weights(state_dict["candidate"], self._candidate)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"cannot use the best player of this checkpoint: {error}"
            ) from error
        self._best.load_state_dict(state_dict["best"])
        self._best_step = like(state_dict["best_step"], 0, "best_step")
        if is_under_way:
            self._candidate.load_state_dict(state_dict["candidate"])
            self._matches.load_state_dict(state_dict)
