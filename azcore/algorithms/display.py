"""Terminal output of training: a progress bar, and one line per generation.

`log=` chooses the class: `normal` TrainingDisplay, `quiet` QuietDisplay, `json` JsonDisplay.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from azcore.selfplay.pool import ActorStatistics

SILENCE = 30.0  # seconds without a line in a log before one reports progress
HEARTBEAT = 30.0  # seconds without a finished game before a line reports it; then twice that


@dataclass
class TrainingDisplay:
    """Shows a progress bar for the current generation, and one line per finished generation.

    It prints plain lines when standard output is not a terminal.
    """

    console: Console
    max_steps: int
    rating: str = ""  # if new since the last line
    left: Callable[[], float | None] = lambda: None  # seconds until the limit

    def __post_init__(self) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[amount]}"),
            TextColumn("{task.fields[left]}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._task: TaskID | None = None
        self._began: tuple[float, int] | None = None  # seconds and step of the first line
        self._spoke = time.monotonic()

    def __enter__(self) -> "TrainingDisplay":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, text: str, *, as_command: bool = False) -> None:
        """Print one line; a narrower terminal wraps it between words, unless it is a command."""
        self._spoke = time.monotonic()
        soft_wrap = as_command or not self.console.is_terminal
        self.console.print(text, highlight=False, markup=False, soft_wrap=soft_wrap)

    def warn(self, text: str) -> None:
        self.say(text)

    def conclude(self, result: Mapping[str, Any]) -> None:
        """End the output; `result` is the content of `result.json`."""

    @contextmanager
    def waiting(self, description: str) -> Iterator[None]:
        """Show for how many seconds work has lasted that reports no progress of its own."""
        began, is_over = time.monotonic(), threading.Event()

        def watch() -> None:
            while not is_over.wait(1.0):
                self.show(description, time.monotonic() - began, None, "s")

        watcher = threading.Thread(target=watch, daemon=True)
        with self._bar:
            watcher.start()
            try:
                yield
            finally:
                is_over.set()
                watcher.join()
                if self._task is not None:  # another line follows with its own total
                    self._bar.remove_task(self._task)
                    self._task = None

    def show(self, description: str, done: float, total: float | None, unit: str) -> None:
        """Update the bar; without one, print a line after a silence. `total` None: unknown."""
        words = amount(done, total, unit)
        seconds = self.left()
        left = "" if seconds is None else f"left {timedelta(seconds=round(seconds))}"
        if not self.console.is_terminal:
            if time.monotonic() - self._spoke >= SILENCE:
                self.say("  ".join(filter(None, [f"{description}: {words}", left])))
            return
        if self._task is None:
            self._task = self._bar.add_task(description, total=total, amount=words, left=left)
        self._bar.update(
            self._task,
            description=description,
            completed=0.0 if total is None else done,
            total=total,
            amount=words,
            left=left,
        )

    def generation(self, row: dict[str, float]) -> None:
        clock, left = timedelta(seconds=round(row["seconds"])), self.left_by(row)
        parts = [
            f"{clock}",
            f"generation {row['generation']:.0f}",
            f"step {row['step']:,.0f}",
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
            self.rating = ""
        if left is not None:
            parts.append(f"left {timedelta(seconds=round(left))}")
        self._say_fitted(parts)

    def left_by(self, row: dict[str, float]) -> float | None:
        """Seconds to the last step or the limit, by a row of metrics.csv; None: unknown."""
        seconds, step = row["seconds"], int(row["step"])
        if self._began is None:
            self._began = (0.0, 0) if row["generation"] == 0 else (seconds, step)
        left = self.left()
        if step > self._began[1]:
            pace = (seconds - self._began[0]) / (step - self._began[1])
            by_steps = pace * (self.max_steps - step)
            left = by_steps if left is None else min(left, by_steps)
        return None if left is None else max(0.0, left)

    def members(self, statistics: ActorStatistics, step: int) -> None:
        """Print a line about the processes or actors of self-play; nothing for threads."""
        if statistics.members:
            self._say_fitted(["", *_members(statistics, step)])

    def _say_fitted(self, parts: list[str]) -> None:
        self.say(fitted(parts, self.console.width if self.console.is_terminal else None))


class QuietDisplay(TrainingDisplay):
    """Prints only warnings, commands to type, and the output after the end of the run."""

    _has_ended = False

    def say(self, text: str, *, as_command: bool = False) -> None:
        if self._has_ended or as_command:
            super().say(text, as_command=as_command)

    def warn(self, text: str) -> None:
        super().say(text)

    def conclude(self, result: Mapping[str, Any]) -> None:
        self._has_ended = True

    def show(self, description: str, done: float, total: float | None, unit: str) -> None:
        pass


class JsonDisplay(TrainingDisplay):
    """Prints one JSON object per line, for programs. Its `kind` is one of these.

    message, warning    `text`
    progress            `what`, `done`, `total` (null: unknown), `unit`, `left`: after a silence
    generation          a row of metrics.csv, `rating` if it is new, `left`
    result              the content of `result.json`
    """

    def say(self, text: str, *, as_command: bool = False) -> None:
        self._put("message", text=text)

    def warn(self, text: str) -> None:
        self._put("warning", text=text)

    def conclude(self, result: Mapping[str, Any]) -> None:
        self._put("result", **result)

    def show(self, description: str, done: float, total: float | None, unit: str) -> None:
        if time.monotonic() - self._spoke >= SILENCE:
            amount = {"what": description, "done": done, "total": total, "unit": unit}
            self._put("progress", **amount, left=self.left())

    def generation(self, row: dict[str, float]) -> None:
        self._put("generation", **row, rating=self.rating or None, left=self.left_by(row))
        self.rating = ""

    def members(self, statistics: ActorStatistics, step: int) -> None:
        pass  # they are in members.csv

    def _put(self, kind: str, **content: Any) -> None:
        self._spoke = time.monotonic()
        known = {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in content.items()
        }
        print(json.dumps({"kind": kind, **known}), file=self.console.file, flush=True)


DISPLAYS = {"normal": TrainingDisplay, "quiet": QuietDisplay, "json": JsonDisplay}


@dataclass
class Heartbeat:
    """Reports games in progress when none has ended for long.

    Without it a game that never ends, or whose `max_game_length` is far too high, trains silently.
    """

    what: str  # the activity, such as self-play
    say: Callable[[str], None]
    longest: Callable[[], int]  # returns the plies of the longest game in play
    max_game_length: int
    _made: float | None = field(default=None, init=False)  # None: nothing played yet
    _since: float = field(default=0.0, init=False)  # of time.monotonic(), when a game ended
    _wait: float = field(default=0.0, init=False)  # seconds without a game to the next line

    def beat(self, made: float) -> None:
        """Record the progress so far; a change means that a game has ended."""
        now = time.monotonic()
        if made != self._made:
            self._made, self._since, self._wait = made, now, HEARTBEAT
        elif now - self._since >= self._wait:
            self.say(
                f"{self.what} continues: no game has ended for {now - self._since:.0f} s; the "
                f"longest has {self.longest():,} plies, max_game_length is "
                f"{self.max_game_length:,}"
            )
            while 0 < self._wait <= now - self._since:
                self._wait *= 2


def amount(done: float, total: float | None, unit: str) -> str:
    """Such as `3 of 8 games`, or `23 s` if the total is unknown."""
    return f"{done:,.0f} {unit}" if total is None else f"{done:,.0f} of {total:,.0f} {unit}"


def fitted(parts: list[str], width: int | None) -> str:
    """Join parts, each kept whole, into lines of at most `width` characters; None: into one."""
    lines: list[str] = []
    for part in parts:
        if lines and (width is None or len(lines[-1]) + 2 + len(part) <= width):
            lines[-1] += f"  {part}"
        else:
            lines.append(f"         {part}" if lines else part)  # under the text after the time
    return "\n".join(lines)


def _new_games(row: dict[str, float]) -> list[str]:
    """The length of the generation's own games and the speed of self-play, if it played any."""
    parts = [f"length {row['game_length']:.0f}"] if "game_length" in row else []
    if "evaluations_per_s" in row:
        parts.append(f"{row['evaluations_per_s']:,.0f} evaluations/s")
    if "remembered_share" in row:
        parts[-1] += f" and {row['remembered_share']:.0%} known"
    return parts


def _resignation(row: dict[str, float]) -> list[str]:
    """The share of resigned games, and of wrong resignations among games played to the end."""
    if "resign_threshold" not in row:
        return []
    wrong = f"{row.get('resign_false_positives', 0):.1%} of {row['resign_measured']:.0f} wrongly"
    return [f"resigned {row['resigned_rate']:.0%} below {row['resign_threshold']:.2f} ({wrong})"]


def _held_out(row: dict[str, float]) -> list[str]:
    """How well the network predicts held-out games."""
    if "held_out_accuracy" not in row:
        return []
    return [
        f"held out {row['held_out_accuracy']:.1%} predicted, loss "
        f"{row['held_out_policy_loss']:.2f} policy {row['held_out_value_loss']:.2f} value"
    ]


def _members(statistics: ActorStatistics, step: int) -> list[str]:
    """The parts of the line about the processes or actors of self-play."""
    members, seconds = statistics.members, statistics.seconds or 1.0
    rates = [member.evaluations / seconds for member in members]
    restarted = sum(member.restarted for member in members)
    return [
        f"{len(members)} members of self-play:",
        f"{min(rates):,.0f} to {max(rates):,.0f} evaluations/s each",
        f"weights up to {step - min(member.version for member in members):,} steps old",
        *([f"restarted {restarted:,} times"] if restarted else []),
    ]


class LearnerProgress(Callback):
    """Updates the terminal's progress bar while the learner takes its steps."""

    def __init__(self, terminal: TrainingDisplay, steps_per_generation: int) -> None:
        self._terminal, self._steps = terminal, steps_per_generation

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        steps = (batch_idx + 1) // trainer.accumulate_grad_batches
        self._terminal.show("learning", steps, self._steps, "steps")
