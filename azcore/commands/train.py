"""`command=train`: starts or resumes a run, and finally prints what it saved.

The loop itself is in `azcore.algorithms.loop`.
"""

import contextlib
import json
import re
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from rich.console import Console

from azcore import interrupts
from azcore.algorithms.display import DISPLAYS, TrainingDisplay
from azcore.algorithms.follower import follow_here
from azcore.algorithms.loggers import one_error_of_tensorboard, require_library
from azcore.algorithms.metrics import METRICS
from azcore.algorithms.objects import NONE, Objects
from azcore.algorithms.origin import FORK, INIT, keep_first_weights, require_same_origin
from azcore.algorithms.place import learns_on, place_here
from azcore.algorithms.ranks import quiet_lightning
from azcore.algorithms.reports import no_report
from azcore.algorithms.training import Training
from azcore.assembly.parts import Config, RunSettings, settings_from
from azcore.atomic import replacing
from azcore.commands.check.report import check_before_training
from azcore.commands.export.games import write_games_of_generation
from azcore.commands.export.settings import GenerationExport
from azcore.commands.starting import seconds_trained, starting
from azcore.errors import AzcoreError, FaultyGameError, LostProcessError, SettingError
from azcore.learner.trainer_settings import ON_ONE_DEVICE, TrainerSettings, trainer_settings
from azcore.report.report import write_report
from azcore.report.summary import summary_of
from azcore.selfplay.sizes import available_cores
from azcore.settings import build, require
from azcore.storage.checkpoint import read_checkpoint
from azcore.storage.game_record import GameRecord
from azcore.storage.run_directory import RunDirectory, find_run, new_run
from azcore.storage.run_settings import (
    DEFAULT,
    NOTES,
    OBJECTS,
    ORIGIN,
    differences,
    notes_in,
    objects_in,
    own_settings,
    read_config,
    require_notes,
    save_config,
)
from azcore.storage.table import Table
from azcore.storage.transcripts import format_named

BESIDE = "beside"  # the folder of a sweep's other runs; not a setting, so no run stores it


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM: leave the loop at any point; the last checkpoint stays valid."""


def train(config: Config) -> int:
    """Train with the composed configuration. Returns 0 at the run's end, 130 after an interrupt."""
    trainer = trainer_settings(config["trainer"])
    _require_here(trainer)
    place = place_here(trainer)
    if place.rank:
        interrupts.be_curt()
        return follow_here(place, learns_on(trainer))
    return train_run(config)[1]


def train_run(
    config: Config, display: Callable[..., TrainingDisplay] | None = None, objects: Objects = NONE
) -> tuple[RunDirectory, int]:
    """Train like `train`; also returns the run's directory.

    Args:
        config: as composed; `began`, the `time.monotonic()` from which the run counts its time, is
            now if missing.
        display: builds the output from a console and the last step; None: as `log` names.
    """
    began = config.get("began") or time.monotonic()
    quiet_lightning()
    resume = config["resume"]
    if not resume and config[INIT] and config[FORK]:
        raise SettingError(f"init and fork both set what a run begins from, got {config[INIT]} too")
    trainer = trainer_settings(config["trainer"])
    _require_here(trainer)  # before anything is compiled
    if NOTES in config:
        require_notes(config[NOTES])
    require_library(config["logger"])
    log, max_steps = config["log"], trainer.max_steps
    require(log in DISPLAYS, "log", f"one of {', '.join(DISPLAYS)}", log)
    terminal = (display or DISPLAYS[log])(console=Console(soft_wrap=True), max_steps=max_steps)
    with terminal.waiting("compiling the rules"):
        settings = settings_from(config, RunSettings)
    backend = settings.backend
    place = place_here(trainer)
    if place.rank:
        raise SettingError(f"the library trains as rank 0 alone, got rank {place.rank}")
    trainer.require_shares(settings.learner.batch_size)
    if objects.names:
        wanted = f"1 with {' and '.join(objects.names)} passed in Python, which other ranks lack"
        require(trainer.ranks == 1, "trainer.devices x trainer.num_nodes", wanted, trainer.ranks)
    if settings.supervised.enabled:
        require(backend.name != "ray", "backend", "inline without self-play", backend.name)
        settings = replace(settings, backend=replace(backend, name="inline", processes=None))
        require(not settings.overlaps, "schedule", "alternate without self-play", "overlap")
    check_before_training(config, settings.game)
    name, share = settings.game.name, settings.selfplay.start_share
    if share < 1 and not resume and not config[FORK]:  # older runs may have one without effect
        wanted = f"1 without selfplay.starts, as {name} states no starts"
        require(settings.selfplay_starts() is not None, "selfplay.start_share", wanted, share)
    run = find_run(resume, name) if resume else new_run(config["run_dir"], name)
    before = own_settings(run) if resume else {}
    origin, notes = before.get(ORIGIN, {}), notes_in(before.get(NOTES))
    if resume:
        require_same_origin(config, origin)
    had = before.get(OBJECTS, {}) if resume else objects_in(config.get(OBJECTS))
    objects.require_those_of(run.path if resume else config[FORK], had)
    step = None
    interrupts.say_at_the_end(lambda: f"azcore: {_what_was_saved(run, name)}")
    page = None
    with _interruptible(), contextlib.ExitStack() as after_the_end:
        with (
            contextlib.suppress(Interrupted),
            contextlib.closing(run),
            _reporting_saved_work(run, terminal, name),
            one_error_of_tensorboard(),
            contextlib.ExitStack() as until_the_end,
        ):
            # First, since its port may be taken.
            if settings.web is not None and settings.web.beside:
                from azcore.commands.web import page_beside

                page = after_the_end.enter_context(page_beside(config, run.path, terminal.say))
            # Read before building anything: settings must not exceed what the checkpoint holds.
            with (
                starting(run, config, origin, settings, terminal) as start,
                terminal.waiting("compiling and measuring"),
            ):
                training = Training(
                    settings=settings,
                    place=place,
                    run=run,
                    terminal=terminal,
                    began=began,
                    on_games=_transcripts(config, settings, run),
                    hyperparameters={key: value for key, value, _ in differences(config, {})},
                    weights=start.weights,
                    origin=start.origin,
                    objects=objects,
                    beside=Path(config[BESIDE]) if config.get(BESIDE) else None,
                )
                until_the_end.enter_context(contextlib.closing(training))
                if not run.is_open:
                    run.open_new()  # only now, so that refused settings change nothing on disk
                if start.first is not None:
                    keep_first_weights(run, start.first)
                written = {**notes, **notes_in(config.get(NOTES))}
                kept = {DEFAULT: before[DEFAULT]} if DEFAULT in before else {}
                more = {ORIGIN: start.origin, NOTES: written, OBJECTS: objects.names}
                save_config(run, {**kept, **config, **more})
            run.save_sizes(training.sizes)
            terminal.say(f"run directory {run.path}")
            with terminal:
                step = training.fit(start.checkpoint)
        interrupts.end()  # the rest takes only a moment
        status = _conclude(run, terminal, settings, step, max_steps)
        if page is not None and step is not None and BESIDE not in config:  # a sweep has more runs
            page.stay(terminal.say)
        return run, status


def is_finished(run: RunDirectory) -> bool:
    """Whether a run has reached its own limit, in steps or in time."""
    if not run.last_checkpoint.exists():
        return False
    config, checkpoint = read_config(run), read_checkpoint(run.last_checkpoint)
    settings = trainer_settings({**ON_ONE_DEVICE, **config["trainer"]})
    if checkpoint["global_step"] >= settings.max_steps:
        return True
    limit = settings.max_seconds
    if limit is None:
        return False
    return seconds_trained(checkpoint, run.last_checkpoint) >= limit


def _conclude(
    run: RunDirectory,
    terminal: TrainingDisplay,
    settings: RunSettings,
    step: int | None,
    max_steps: int,
) -> int:
    """Write the report and print how to resume; the exit status. `step` None: interrupted."""
    name = settings.game.name
    if not run.config.exists():
        terminal.conclude({})
        terminal.say("interrupted before the run wrote anything")
        return interrupts.STATUS
    ended = "interrupted" if step is None else "done" if step >= max_steps else "stopped"
    result: dict[str, Any] = {"ended": ended, "max_steps": max_steps}
    try:
        if run.metrics.is_file():
            result |= asdict(summary_of(run.path))
            with replacing(run.result) as file:
                file.write(json.dumps(result, indent=1) + "\n")
        report = f"report {write_report(run.path, settings.device)}"
    except Exception as error:  # saved work is safe, even if a game's text methods fail
        report = no_report(error)
    terminal.conclude(result)
    terminal.say(report)
    if words := _describe_resignation(run):
        terminal.say(words)
    if step is not None:
        if terminal.rating:  # not yet shown in a generation's line
            terminal.say(f"rating {terminal.rating}")
        terminal.say(f"weights {run.last_checkpoint}")
        play = f"python -m azcore play {_word('checkpoint', run)}"
        terminal.say(f"play against it with: {play}", as_command=True)
        if step < max_steps:
            longer = "trainer.max_time=DAYS:HOURS:MINUTES:SECONDS"
            stopped = f"stopped at step {step:,} of {max_steps:,}; {_how_to_resume(run, name)}"
            terminal.say(f"{stopped} {longer}", as_command=True)
        return 0
    terminal.say(f"interrupted, {_what_was_saved(run, name)}", as_command=True)
    return interrupts.STATUS


def _what_was_saved(run: RunDirectory, name: str) -> str:
    """Describe what an interrupted run saved, and how to resume it."""
    path = run.last_checkpoint
    saved = f"saved up to {path}" if path.exists() else "nothing saved"
    return f"{saved}; {_how_to_resume(run, name)}"


def _how_to_resume(run: RunDirectory, name: str) -> str:
    return f"resume with: python -m azcore game={name} {_word('resume', run)}"


def _word(key: str, run: RunDirectory) -> str:
    """A run as an argument, quoted for Hydra and the shell if needed."""
    word = f"{key}={run.path}"
    if re.search(r"[^\w./+-]", str(run.path)):  # parsed as keys and lists, unless quoted
        quoted = str(run.path).replace("\\", "\\\\").replace('"', '\\"')
        word = f'{key}="{quoted}"'
    return shlex.quote(word)


@contextlib.contextmanager
def _reporting_saved_work(
    run: RunDirectory, terminal: TrainingDisplay, name: str
) -> Iterator[None]:
    """If a game's own code fails or a process is lost, print how to resume the run."""
    try:
        yield
    except (FaultyGameError, LostProcessError):
        if run.config.exists():
            terminal.say(f"stopped, {_what_was_saved(run, name)}", as_command=True)
        raise
    except (OSError, AzcoreError):
        run.require_in_place()  # if not, that is the reason
        raise


def _describe_resignation(run: RunDirectory) -> str:
    """Describe the share of wrong resignations in the latest games played to their end."""
    table = Table(run.metrics, list(METRICS))
    last = next((row for row in reversed(table.rows()) if row.get("resign_false_positives")), None)
    if last is None:
        return ""
    share = table.number(last, "resign_false_positives")
    games = table.whole(last, "resign_measured")
    return f"resignation: {share:.1%} false positives of {games:,} games played out"


def _transcripts(
    config: Config, settings: RunSettings, run: RunDirectory
) -> Callable[[list[GameRecord]], None]:
    """A function that writes the requested transcripts, a generation at a time."""
    export, game = build(GenerationExport, config["export"], "export"), settings.game
    if export.per_generation == 0:
        return lambda games: None
    form = format_named(game, export.format)
    if (starts := settings.selfplay_starts()) is not None:
        starts.require_transcripts(form)
    return lambda games: write_games_of_generation(run.records, game, games, export)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into `Interrupted` during the loop; on the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_signal: int, frame: FrameType | None) -> None:
        if interrupts.may_raise(frame):
            interrupts.end()
            raise Interrupted

    before = {n: signal.signal(n, interrupt) for n in interrupts.SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _require_here(settings: TrainerSettings) -> None:
    """Refuse settings of Lightning's Trainer that this machine cannot meet."""
    require(
        settings.accelerator in ("auto", "cpu") or torch.cuda.is_available(),
        "trainer.accelerator",
        "auto or cpu on a machine without a GPU that torch can use",
        settings.accelerator,
    )
    if settings.ranks == 1:
        return
    is_gpu = learns_on(settings) == "cuda"
    there = torch.cuda.device_count() if is_gpu else max(2, available_cores())
    require(
        settings.devices <= there,
        "trainer.devices",
        f"at most {there}, the {'GPUs' if is_gpu else 'cores'} of this machine",
        settings.devices,
    )
