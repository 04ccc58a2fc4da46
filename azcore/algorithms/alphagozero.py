"""AlphaGo Zero's loop (Silver 2017): the best player so far plays the games until it is beaten.

    repeat for each generation:
        the best player plays itself until there are enough new positions; lost games are resigned
        the network takes `steps_per_generation` steps on positions sampled from the window
        it plays a match against the best player; with a score above 55 % it becomes the best
        everything is saved, including the best player

`training.py` drives it. Any run can use the paper's other methods, and conf/algorithm enables them
for this one: resignation (`azcore.selfplay.resignation`), and a random symmetry for each evaluation
(`azcore.search.evaluators`) and for each training position (`azcore.storage.replay`).
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

from lightning.pytorch import LightningModule, Trainer
from torch import nn

from azcore.algorithms.algorithm import Algorithm, WhoPlays
from azcore.algorithms.display import TrainingDisplay
from azcore.algorithms.ratings import MATCHES, match_row
from azcore.arena.gate import decide
from azcore.arena.match import MatchResult, play_match
from azcore.arena.players import SearchPlayer
from azcore.arena.sprt import Verdict
from azcore.assembly.parts import Settings
from azcore.errors import CheckpointError
from azcore.learner.data import SelfPlayData
from azcore.learner.module import LearnerModule
from azcore.learner.sources import GameSource
from azcore.networks.saved import require_weights
from azcore.search.evaluators import CountingEvaluator
from azcore.storage.checkpoint import like
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table

# Columns of gate.csv; the matches behind ratings are in matches.csv. The verdict is that of the
# sequential test, empty where all games were to be played.
GATES = [*MATCHES, "promoted", "verdict"]


class AlphaGoZero(Algorithm):
    """The best player so far, and the gate that a candidate must pass to replace it.

    Args:
        network: its initial weights are the first best player.
        settings: of the run.
        run: the directory of gate.csv and of the best player's checkpoint.
        terminal: for progress.
    """

    def __init__(
        self,
        *,
        network: nn.Module,
        settings: Settings,
        run: RunDirectory,
        terminal: TrainingDisplay,
    ) -> None:
        self._settings, self._run = settings, run
        self._terminal = terminal
        self._data: SelfPlayData  # knows the generation
        self._best = copy.deepcopy(network)
        self._best_step = 0
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
        self._table.keep_before(self._data.loader.generation)
        if self._best_step and not self._run.best_checkpoint.exists():  # the run went back
            assert isinstance(pl_module, LearnerModule)
            pl_module.save_weights(self._run.best_checkpoint, self._best, self._best_step)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._score, self._evaluations = None, 0
        due = (self._data.finished_generation + 1) % self._settings.gate.every_generations == 0
        if not due or not self._data.between_generations:  # stopped midway, it is due after resume
            return
        assert isinstance(pl_module, LearnerModule)
        began = time.perf_counter()
        result = self._match(pl_module.playing, trainer.global_step)
        self._score = result.score
        promoted, verdict = decide(result, self._settings.gate.threshold, self._sprt)
        seconds = time.perf_counter() - began
        self._note(result, trainer.global_step, seconds, promoted, verdict)
        if promoted:
            self._best.load_state_dict(pl_module.playing.state_dict())
            self._best_step = trainer.global_step
            pl_module.save_weights(self._run.best_checkpoint, self._best, self._best_step)

    def _match(self, candidate: nn.Module, step: int) -> MatchResult:
        """The candidate plays the best player: most visits, no noise (Methods "Evaluator")."""
        settings, gate = self._settings, self._settings.gate
        evaluators = [
            CountingEvaluator(settings.search_evaluator(network, version))
            for network, version in ((candidate, step), (self._best, self._best_step))
        ]
        players = [
            SearchPlayer(
                game=settings.game,
                evaluator=evaluator,
                settings=settings.search,
                num_simulations=self._num_simulations,
                name=name,
            )
            for evaluator, name in zip(
                evaluators, (f"step-{step}", f"best-{self._best_step}"), strict=True
            )
        ]
        result = play_match(
            settings.game,
            *players,
            num_games=gate.games,
            opening_plies=gate.opening_plies,
            seed=settings.seed + self._data.finished_generation,
            progress=lambda done: self._terminal.show("gate", done, gate.games, "games"),
            sprt=self._sprt,
        )
        self._evaluations = sum(evaluator.count for evaluator in evaluators)
        return result

    @property
    def _num_simulations(self) -> int:
        """Simulations per move in a match, for both players."""
        settings = self._settings
        return settings.gate.num_simulations or settings.search.num_simulations

    def _note(
        self,
        result: MatchResult,
        step: int,
        seconds: float,
        promoted: bool,
        verdict: Verdict | None,
    ) -> None:
        generation = self._data.finished_generation
        row = match_row(result, generation, step, self._num_simulations, seconds)
        self._table.append({**row, "promoted": int(promoted), "verdict": verdict or ""})
        test = f", test {verdict}" if verdict else ""
        self._terminal.say(
            f"gate: {result.first} scores {result.score:.1%} against {result.second} in "
            f"{len(result.games)} games, {result.distinct_games} distinct "
            f"({result.wins} won, {result.draws} drawn, {result.losses} lost{test}): "
            + ("the new best player" if promoted else "the best player stays")
        )

    def state_dict(self) -> dict[str, Any]:
        """The best player; matches are a function of it, the candidate and the generation."""
        return {"best": self._best.state_dict(), "best_step": self._best_step}

    def on_load_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        if self.state_key not in checkpoint["callbacks"]:
            raise CheckpointError("a checkpoint with a gate must hold the best player, got none")

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        try:
            require_weights(state_dict["best"], self._best)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"a checkpoint's best player cannot play: {error}") from error
        self._best.load_state_dict(state_dict["best"])
        self._best_step = like(state_dict["best_step"], 0, "best_step")
