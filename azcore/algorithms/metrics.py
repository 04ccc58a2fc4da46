"""Writes one row of metrics.csv per generation, and the curves of TensorBoard."""

import time
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.loggers import TensorBoardLogger
from torch.utils.tensorboard.summary import hparams

from azcore.algorithms.algorithm import Algorithm
from azcore.algorithms.display import TrainingDisplay
from azcore.learner.data import SelfPlayData
from azcore.learner.health import dead_channels, explained_variance, gradient_norm
from azcore.learner.module import LearnerModule
from azcore.report.doctor import HISTORY, RunDoctor, numbers_of
from azcore.selfplay.pool import ActorStatistics
from azcore.storage.checkpoint import like
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table
from azcore.storage.targets import TARGETS

_AUXILIARY = [f"{name}_loss" for name in TARGETS]
_FROM_LEARNER = [  # epoch means that the Lightning module logs
    "loss",
    "policy_loss",
    "value_loss",
    "policy_accuracy",
    "target_entropy",
    "policy_entropy",
    "value_target_variance",
    *_AUXILIARY,
]
RATING = "rating/elo"  # in TensorBoard
METRICS = {  # columns of metrics.csv; the curve of each, besides those that the learner logs
    "generation": "",
    "step": "",
    "seconds": "time/seconds",
    "games": "selfplay/games",
    "positions": "selfplay/positions",
    # Of networks so far, in self-play and gate matches but not in rating matches
    "evaluations": "selfplay/evaluations",
    **dict.fromkeys(_FROM_LEARNER, ""),
    "learning_rate": "learner/learning_rate",
    "game_length": "selfplay/game_length",
    "draw_rate": "selfplay/draw_rate",
    "seat0_win_rate": "selfplay/seat0_win_rate",
    # Games that repeat another game of their generation
    "duplicate_rate": "selfplay/duplicate_rate",
    "proven_rate": "selfplay/proven_rate",  # of games that a proof ended, see search.proof_plies
    # Of new games' outcomes, by the values of their searches
    "explained_variance": "selfplay/explained_variance",
    # Optimizer steps since the weights of the window's games, on average
    "window_age": "learner/window_age",
    "gradient_norm": "learner/gradient_norm",  # of the generation's last batch
    # Share of the channels behind a batch norm, on that batch
    "dead_channels": "learner/dead_channels",
    "evaluations_per_s": "selfplay/evaluations_per_s",
    "remembered_share": "selfplay/remembered_share",
    "members": "selfplay/members",  # processes or actors of self-play; none: threads
    "restarts": "selfplay/restarts",  # of members, since the run began
    # How many steps the oldest weights in play are behind the learner
    "version_lag": "selfplay/version_lag",
    "search_share": "time/search_share",
    "network_share": "time/network_share",
    "proof_share": "time/proof_share",  # of the time, for search.proof_plies; part of search_share
    "learner_share": "time/learner_share",
    "samples_per_position": "learner/samples_per_position",
    "best_step": "gate/best_step",
    "gate_score": "gate/score",
    "resign_threshold": "resignation/threshold",
    "resigned_rate": "resignation/rate",
    "resign_measured": "resignation/measured",
    "resign_false_positives": "resignation/false_positives",
    "held_out_accuracy": "held_out/accuracy",
    "held_out_policy_loss": "held_out/policy_loss",
    "held_out_value_loss": "held_out/value_loss",
}
MEMBERS = [
    "generation",
    "member",
    "games_per_s",
    "evaluations_per_s",
    "version_lag",  # how many steps the weights in play are behind the learner
    "restarts",  # since the run began
]


class Hyperparameters(Callback):
    """Logs the run's settings next to the curves, for example for TensorBoard's table of runs."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = {
            key: value if isinstance(value, bool | int | float | str) else str(value)
            for key, value in settings.items()
        }

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        for logger in trainer.loggers:
            if isinstance(logger, TensorBoardLogger):
                logger.hparams.update(
                    self._settings
                )  # Lightning saves hparams.yaml before it trains

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        for logger in trainer.loggers:
            if isinstance(logger, TensorBoardLogger):
                # Lightning would also write a rating, which is still unknown.
                parts = hparams(self._settings, {RATING: 0.0})  # type: ignore[no-untyped-call]
                for part in parts:
                    logger.experiment._get_file_writer().add_summary(part)
            else:
                logger.log_hyperparams(self._settings)


class GenerationMetrics(Callback):
    """Writes a row of metrics.csv, with the algorithm's own columns, at the end of each generation.

    It sends the row to the loggers, and prints a line and warnings on the terminal.
    """

    def __init__(
        self, run: RunDirectory, data: SelfPlayData, algorithm: Algorithm, terminal: TrainingDisplay
    ) -> None:
        self._table, self._members = Table(run.metrics, list(METRICS)), Table(run.members, MEMBERS)
        self._data, self._algorithm, self._terminal = data, algorithm, terminal
        self._doctor = RunDoctor([])
        self._seconds = 0.0  # of the whole run, resumed parts included
        self._evaluations = 0  # of the whole run, resumed parts included
        self._since = 0.0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._since = time.perf_counter()
        self._table.keep_before(self._data.loader.generation)
        self._doctor = RunDoctor(map(numbers_of, self._table.rows()[-HISTORY:]))

    def report(self, trainer: Trainer, module: LearnerModule) -> None:
        data, stats = self._data, self._data.source.take_statistics()
        now = time.perf_counter()
        elapsed, self._since = now - self._since, now
        self._seconds += elapsed
        more = self._algorithm.metrics()
        self._evaluations += stats.evaluations + int(more.pop("evaluations", 0))
        games = data.new_games
        row: dict[str, float] = {
            "generation": data.finished_generation,
            "step": trainer.global_step,
            "seconds": round(self._seconds, 2),
            "games": data.total_games,
            "positions": data.total_positions,
            "evaluations": self._evaluations,
            "learning_rate": trainer.optimizers[0].param_groups[0]["lr"],
            "samples_per_position": trainer.global_step
            * data.batch_size
            / max(1, data.total_positions),
            "gradient_norm": gradient_norm(module.network),
            "dead_channels": dead_channels(module.network),
        }
        for name in _FROM_LEARNER:
            value = trainer.callback_metrics.get(name)
            if value is not None:
                row[name] = float(value)
        if games:
            outcomes = [record.outcome for record in games]
            row["game_length"] = sum(len(record) for record in games) / len(games)
            row["draw_rate"] = outcomes.count(0) / len(games)
            row["seat0_win_rate"] = outcomes.count(1) / len(games)
            distinct = {(record.start, record.actions.tobytes()) for record in games}
            row["duplicate_rate"] = 1 - len(distinct) / len(games)
            if stats.proof_seconds:
                row["proven_rate"] = sum(record.proven[-1:].any() for record in games) / len(games)
            explained = explained_variance(games)
            if explained is not None:
                row["explained_variance"] = explained
        if stats.seconds > 0:
            row["evaluations_per_s"] = stats.evaluations / stats.seconds
            row["window_age"] = trainer.global_step - data.buffer.mean_version
            if stats.remembered:
                row["remembered_share"] = stats.remembered / (stats.remembered + stats.evaluations)
            row["search_share"] = (stats.seconds - stats.network_seconds) / elapsed
            row["network_share"] = stats.network_seconds / elapsed
            if stats.proof_seconds:
                row["proof_share"] = stats.proof_seconds / elapsed
            row["learner_share"] = max(0.0, 1 - stats.seconds / elapsed)
        members = rows_of_members(stats, data.finished_generation, trainer.global_step)
        if members:
            row["members"] = len(members)
            row["restarts"] = sum(member["restarts"] for member in members)
            row["version_lag"] = max(member["version_lag"] for member in members)
        row.update(more)
        row.update(data.source.metrics(games))
        row = {k: v if isinstance(v, int) else float(f"{v:.6g}") for k, v in row.items()}
        self._table.append({name: value for name, value in row.items() if name in METRICS})
        if members or self._members.path.exists():
            self._members.replace(members)
        curves = {METRICS.get(name, f"algorithm/{name}"): value for name, value in row.items()}
        curves.pop("", None)
        for logger in trainer.loggers:
            logger.log_metrics(curves, step=trainer.global_step)
        self._terminal.generation(row)
        self._terminal.members(stats, trainer.global_step)
        for sentence in self._doctor.examine(row):
            self._terminal.warn(f"warning: {sentence}")

    def state_dict(self) -> dict[str, Any]:
        return {"seconds": self._seconds, "evaluations": self._evaluations}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        counted = like(state_dict, self.state_dict(), "a checkpoint's metrics")
        self._seconds = counted["seconds"]
        self._evaluations = counted["evaluations"]


def rows_of_members(
    statistics: ActorStatistics, generation: int, step: int
) -> list[dict[str, Any]]:
    """The rows of members.csv; none if self-play runs in threads."""
    seconds = statistics.seconds or 1.0
    return [
        {
            "generation": generation,
            "member": member.name,
            "games_per_s": round(member.games / seconds, 2),
            "evaluations_per_s": round(member.evaluations / seconds),
            "version_lag": step - member.version,
            "restarts": member.restarted,
        }
        for member in statistics.members
    ]
