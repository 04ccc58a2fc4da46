"""`bench.rows=[plan]`: the time, games, disk and cost of a run, from measurements on this machine.

Random weights play for a while, and the learner takes a few steps. What a run needs follows from
its settings:

    positions   = steps × batch / samples_per_position, or games_per_generation × positions a game
    evaluations = positions × evaluations a position
    seconds     = evaluations / evaluations a second + steps × seconds a step

With `replay.least_samples_per_position` that number counts, so the plan is an upper limit.
Games of trained networks have other lengths, and rating matches take time that is not counted;
`plan.run` compares the plan with a finished run.

The plan plays for `plan.seconds`. If fewer games have ended by then than are in play, the finished
games are the shortest, so the plan estimates the length of a game from all plies: plies ÷ finished
games.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from azcore.algorithms.metrics import METRICS
from azcore.algorithms.self_play import GENERATION_STEPS, fitted_to_machine, pool_of_run
from azcore.assembly.parts import Config, LearningSettings, RunSettings, settings_from
from azcore.commands.bench.learner import Learning
from azcore.commands.bench.results import Figure
from azcore.networks import build_network
from azcore.selfplay.worker_state import plies_of
from azcore.settings import NOT_NEGATIVE, POSITIVE, Checked, build, or_null, require
from azcore.storage.game_record import GameRecord
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table

STEPS = 5  # of the learner that are timed
COMPARED = ("games", "positions", "evaluations", "seconds")  # of a `Plan`, and columns of a run
HOUR = 3600.0  # seconds


@dataclass(frozen=True, kw_only=True)
class PlanSettings(Checked, group="plan"):
    """The group `plan`; the comments are in `conf/plan`."""

    seconds: Annotated[float, POSITIVE]
    speedup: Annotated[float, POSITIVE]
    price: Annotated[float | None, or_null(NOT_NEGATIVE)]
    run: str | None


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Measurements of self-play with random weights, and of the learner."""

    evaluations_per_s: float
    evaluations_per_position: float  # positions: those learned from
    positions_per_game: float
    bytes_per_game: float  # on disk
    seconds_per_step: float
    note: str = ""  # on what is estimated, if too few games ended in time


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cost of a run up to a given step."""

    steps: int
    games: float
    positions: float
    evaluations: float
    selfplay_seconds: float
    learner_seconds: float
    disk_bytes: float  # of game records
    overlaps: bool

    @property
    def seconds(self) -> float:
        parts = self.selfplay_seconds, self.learner_seconds
        return max(parts) if self.overlaps else sum(parts)


def plan_settings(config: Config) -> tuple[PlanSettings, RunSettings, dict[str, float]]:
    """How to plan, for which run, and the actual cost of the run in `plan.run`, if any."""
    options = build(PlanSettings, config["plan"], "plan")
    settings = settings_from(config, RunSettings)
    require(not settings.supervised.enabled, "algorithm", "one with self-play", config["algorithm"])
    return options, settings, {} if options.run is None else _taken(options.run)


def plan_figures(config: Config, say: Callable[[str], None]) -> Iterator[Figure]:
    """The cost of a run with these settings; with `plan.run` also planned ÷ actual."""
    options, settings, done = plan_settings(config)
    rates = measured(settings, options, say)
    steps = settings.trainer.max_steps
    overlaps = settings.overlaps
    whole = planned(rates, settings, steps, overlaps=overlaps, speedup=options.speedup)
    at = {"steps": steps}
    yield Figure("plan_games", whole.games, "", at, rates.note)
    yield Figure("plan_positions", whole.positions, "", at)
    yield Figure("plan_evaluations", whole.evaluations, "", at)
    yield Figure("plan_selfplay_hours", whole.selfplay_seconds / HOUR, "h", at)
    yield Figure("plan_learner_hours", whole.learner_seconds / HOUR, "h", at)
    yield Figure("plan_hours", whole.seconds / HOUR, "h", at)
    yield Figure("plan_records_mb", whole.disk_bytes / 1e6, "MB", at)
    if options.price is not None:
        yield Figure("plan_cost", options.price * whole.seconds / HOUR, "", at)
    limit = settings.trainer.max_seconds
    if limit is not None and limit < whole.seconds:
        within = int(limit / whole.seconds * steps)
        note = "the run ends by trainer.max_time"
        yield Figure("plan_steps_in_max_time", within, "", note=note)
    if done:
        at = {"steps": int(done["step"])}
        plan = planned(rates, settings, at["steps"], overlaps=overlaps)
        for name in COMPARED:
            guess, was = getattr(plan, name), done[name]
            note = f"{guess:,.0f} planned ÷ {was:,.0f} in {options.run}"
            if was:
                yield Figure(f"plan_ratio_{name}", guess / was, "ratio", at, note)


def planned(
    rates: Rates, settings: LearningSettings, steps: int, *, overlaps: bool, speedup: float = 1.0
) -> Plan:
    """The cost of a run with these settings up to a step.

    Args:
        rates: measured on this machine.
        overlaps: whether self-play continues during the learner's steps.
        speedup: the speed of the run's machine, as a multiple of this one's.
    """
    learner, replay = settings.learner, settings.replay
    if replay.games_per_generation is not None:
        each = learner.steps_per_generation or GENERATION_STEPS[-1]
        games = float(-(-steps // each) * replay.games_per_generation)
        positions = games * rates.positions_per_game
    else:
        assert replay.fewest_samples is not None
        positions = steps * learner.batch_size / replay.fewest_samples
        games = positions / rates.positions_per_game
    evaluations = positions * rates.evaluations_per_position
    kept = games if replay.games_on_disk is None else min(games, replay.games_on_disk)
    if replay.window_on_disk:  # where a game takes less than its record
        kept += min(games, replay.window_games)
    return Plan(
        steps=steps,
        games=games,
        positions=positions,
        evaluations=evaluations,
        selfplay_seconds=evaluations / rates.evaluations_per_s / speedup,
        learner_seconds=steps * rates.seconds_per_step / speedup,
        disk_bytes=kept * rates.bytes_per_game,
        overlaps=overlaps,
    )


def measured(settings: RunSettings, options: PlanSettings, say: Callable[[str], None]) -> Rates:
    """Play with random weights as a run would, and take a few learner steps."""
    network = build_network(settings.game, settings.network, settings.seed)
    with tempfile.TemporaryDirectory() as folder:
        fitted = fitted_to_machine(settings, network, RunDirectory(Path(folder)), say)
    pool = pool_of_run(fitted, network, fitted.selfplay_starts(), say)
    try:
        say(f"playing for {options.seconds:g} s")
        began = time.perf_counter()
        records = pool.play_while(lambda _: time.perf_counter() - began < options.seconds)
        seconds = time.perf_counter() - began
        in_play = [game for worker in pool.worker_states() for game in worker["games"] if game]
        plies = sum(map(len, records)) + sum(map(plies_of, in_play))
        evaluations = pool.statistics.evaluations
    finally:
        pool.close()
    ended, recorded = len(records), sum(map(len, records))
    samples = sum(record.num_samples for record in records)
    share = samples / recorded if recorded else settings.selfplay.full_search_share
    note, length = "", recorded / max(1, ended)
    if ended < len(in_play):
        length = plies / max(1, ended)
        at_least = "" if ended else "at most, without the learner: "
        note = f"{at_least}{ended} of {len(in_play)} games ended in {options.seconds:g} s"
    return Rates(
        evaluations_per_s=evaluations / seconds,
        evaluations_per_position=evaluations / max(1, plies) / share,
        positions_per_game=length * share,
        bytes_per_game=sum(len(record.to_bytes()) for record in records) / max(1, ended),
        seconds_per_step=_seconds_per_step(fitted, records) if samples else 0.0,
        note=note,
    )


def _seconds_per_step(settings: RunSettings, records: list[GameRecord]) -> float:
    learning = Learning(settings, records)
    batch = learning.draw(0)
    learning.step(batch)  # the first one prepares memory
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        learning.step(batch)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _taken(run: str) -> dict[str, float]:
    """The actual cost of a run, from the last row of its table, by column."""
    table = Table(RunDirectory(Path(run)).metrics, list(METRICS))
    rows = table.rows()
    require(bool(rows), "plan.run", "a run directory with a metrics.csv", run)
    return {name: table.number(rows[-1], name) for name in ("step", *COMPARED)}
