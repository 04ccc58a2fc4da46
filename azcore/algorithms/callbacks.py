"""What happens at the end of a generation: metrics to disk, ratings, words on the terminal.

All are Lightning callbacks; `training.py` puts them in order.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.loggers import TensorBoardLogger
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from torch.utils.tensorboard.summary import hparams

from azcore.checkpoint import like
from azcore.learner.data import SelfPlayData
from azcore.run_directory import Table

_FROM_LEARNER = [  # epoch means that the Lightning module logs
    "loss",
    "policy_loss",
    "value_loss",
    "policy_accuracy",
    "target_entropy",
    "policy_entropy",
    "value_target_variance",
]
RATING = "rating/elo"  # in TensorBoard
METRICS = [
    "generation",
    "step",
    "seconds",
    "games",
    "positions",
    "evaluations",  # so far, of networks: self-play and gate matches, not those that only rate
    *_FROM_LEARNER,
    "learning_rate",
    "game_length",
    "draw_rate",
    "seat0_win_rate",
    "evaluations_per_s",
    "remembered_share",
    "search_share",
    "network_share",
    "learner_share",
    "samples_per_position",
    "best_step",
    "gate_score",
    "resign_threshold",
    "resigned_rate",
    "resign_measured",
    "resign_false_positives",
    "held_out_accuracy",
    "held_out_policy_loss",
    "held_out_value_loss",
]


# In TensorBoard, by groups. What the learner tells of every step is not told again.
CURVES = {
    "games": "selfplay/games",
    "positions": "selfplay/positions",
    "evaluations": "selfplay/evaluations",
    "evaluations_per_s": "selfplay/evaluations_per_s",
    "remembered_share": "selfplay/remembered_share",
    "game_length": "selfplay/game_length",
    "draw_rate": "selfplay/draw_rate",
    "seat0_win_rate": "selfplay/seat0_win_rate",
    "learning_rate": "learner/learning_rate",
    "samples_per_position": "learner/samples_per_position",
    "seconds": "time/seconds",
    "search_share": "time/search_share",
    "network_share": "time/network_share",
    "learner_share": "time/learner_share",
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


class Hyperparameters(Callback):
    """Puts the run's settings beside the curves, for TensorBoard's table of runs.

    Args:
        settings: by name.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = {
            key: value if isinstance(value, bool | int | float | str) else str(value)
            for key, value in settings.items()
        }

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        for logger in trainer.loggers:
            if isinstance(logger, TensorBoardLogger):
                # What Lightning would write has a value of the rating, which is not known yet.
                parts = hparams(self._settings, {RATING: 0.0})  # type: ignore[no-untyped-call]
                for part in parts:
                    logger.experiment._get_file_writer().add_summary(part)


class GenerationMetrics(Callback):
    """Writes a row of metrics.csv at the end of each generation and sends it to the loggers.

    Args:
        table: metrics.csv.
        data: whose games are described.
        more: what the algorithm adds to a row.
        report: called with each row.
    """

    def __init__(
        self,
        table: Table,
        data: SelfPlayData,
        more: Callable[[], dict[str, float]],
        report: Callable[[dict[str, float]], None],
    ) -> None:
        self._table, self._data = table, data
        self._more, self._report = more, report
        self._seconds = 0.0  # of the whole run, resumed parts included
        self._evaluations = 0  # the same
        self._since = 0.0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._since = time.perf_counter()
        self._table.keep_before(self._data.loader.generation)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        data, stats = self._data, self._data.source.take_statistics()
        now = time.perf_counter()
        elapsed, self._since = now - self._since, now
        self._seconds += elapsed
        more = self._more()
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
        if stats.seconds > 0:
            row["evaluations_per_s"] = stats.evaluations / stats.seconds
            if stats.remembered:
                row["remembered_share"] = stats.remembered / (stats.remembered + stats.evaluations)
            row["search_share"] = (stats.seconds - stats.network_seconds) / elapsed
            row["network_share"] = stats.network_seconds / elapsed
            row["learner_share"] = max(0.0, 1 - stats.seconds / elapsed)
        row.update(more)
        row.update(data.source.metrics(games))
        row = {k: v if isinstance(v, int) else float(f"{v:.6g}") for k, v in row.items()}
        self._table.append(row)
        curves = {CURVES[name]: value for name, value in row.items() if name in CURVES}
        for logger in trainer.loggers:
            logger.log_metrics(curves, step=trainer.global_step)
        self._report(row)

    def state_dict(self) -> dict[str, Any]:
        return {"seconds": self._seconds, "evaluations": self._evaluations}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        counted = like(state_dict, self.state_dict(), "a checkpoint's metrics")
        self._seconds = counted["seconds"]
        self._evaluations = counted.get("evaluations", 0)  # older checkpoints did not count


@dataclass
class Terminal:
    """Progress for whoever watches: a bar for the generation under way, a line for each finished.

    Plain lines when standard output is no terminal.
    """

    console: Console
    max_steps: int
    max_seconds: float | None
    rating: str = ""

    def __post_init__(self) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} {task.fields[unit]}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._task: TaskID | None = None
        self._began: tuple[float, int] | None = None  # seconds and step of the first line

    def __enter__(self) -> Terminal:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, text: str, *, as_command: bool = False) -> None:
        """One line, broken between words where a terminal is narrower; a command is not."""
        soft_wrap = as_command or not self.console.is_terminal
        self.console.print(text, highlight=False, markup=False, soft_wrap=soft_wrap)

    def show(self, description: str, done: float, total: float, unit: str) -> None:
        """Move the bar of what is under way."""
        if self._task is None:
            self._task = self._bar.add_task(description, total=total, unit=unit)
        self._bar.update(
            self._task, description=description, completed=done, total=total, unit=unit
        )

    def generation(self, row: dict[str, float]) -> None:
        """One line for a finished generation."""
        seconds, step = row["seconds"], int(row["step"])
        if self._began is None:
            self._began = (0.0, 0) if row["generation"] == 0 else (seconds, step)
        left = None if self.max_seconds is None else self.max_seconds - seconds
        if step > self._began[1]:
            pace = (seconds - self._began[0]) / (step - self._began[1])
            by_steps = pace * (self.max_steps - step)
            left = by_steps if left is None else min(left, by_steps)
        clock = timedelta(seconds=round(seconds))
        parts = [
            f"{clock}",
            f"generation {row['generation']:.0f}",
            f"step {step:,}",
            f"games {row['games']:,.0f}",
            f"positions {row['positions']:,.0f}",
            *_new_games(row),
            f"loss {row.get('policy_loss', float('nan')):.2f} policy "
            f"{row.get('value_loss', float('nan')):.2f} value",
            *_resignation(row),
            *_held_out(row),
        ]
        if self.rating:
            parts.append(f"rating {self.rating}")
        if left is not None:
            parts.append(f"left {timedelta(seconds=max(0, round(left)))}")
        self.say(fitted(parts, self.console.width if self.console.is_terminal else None))


def fitted(parts: list[str], width: int | None) -> str:
    """Parts side by side, those that are too many for a terminal's width on lines of their own.

    Args:
        parts: none of them is broken.
        width: in characters; None: all on one line, for whoever reads it by a program.
    """
    lines: list[str] = []
    for part in parts:
        if lines and (width is None or len(lines[-1]) + 2 + len(part) <= width):
            lines[-1] += f"  {part}"
        else:
            lines.append(f"         {part}" if lines else part)  # under what follows the time
    return "\n".join(lines)


def _new_games(row: dict[str, float]) -> list[str]:
    """How long the generation's own games were, and how fast they were made; if it made any."""
    parts = [f"length {row['game_length']:.0f}"] if "game_length" in row else []
    if "evaluations_per_s" in row:
        parts.append(f"{row['evaluations_per_s']:,.0f} evaluations/s")
    if "remembered_share" in row:
        parts[-1] += f" and {row['remembered_share']:.0%} known"
    return parts


def _resignation(row: dict[str, float]) -> list[str]:
    """How many games were given up, and of how many played to their end that would be wrong."""
    if "resign_threshold" not in row:
        return []
    wrong = f"{row.get('resign_false_positives', 0):.1%} of {row['resign_measured']:.0f} wrongly"
    return [f"resigned {row['resigned_rate']:.0%} below {row['resign_threshold']:.2f} ({wrong})"]


def _held_out(row: dict[str, float]) -> list[str]:
    """How well games that are not learned from are foretold."""
    if "held_out_accuracy" not in row:
        return []
    return [
        f"held out {row['held_out_accuracy']:.1%} foretold, loss "
        f"{row['held_out_policy_loss']:.2f} policy {row['held_out_value_loss']:.2f} value"
    ]


class LearnerProgress(Callback):
    """Moves the terminal's bar while the learner takes its steps."""

    def __init__(self, terminal: Terminal, steps_per_generation: int) -> None:
        self._terminal, self._steps = terminal, steps_per_generation

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._terminal.show("learning", batch_idx + 1, self._steps, "steps")
