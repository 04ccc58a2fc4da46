"""What runs that train at once can do in their time, from the speed that each measures first.

Self-play's probe runs before anything is learned, and the other runs may start later. So a part of
its rate remains: 0.28 and 0.34 in a lesson of two games on two cores that others also used.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from azcore.assembly.parts import LearningSettings, settings_from
from azcore.commands.bench.plan import Plan, Rates, planned
from azcore.errors import SettingError
from azcore.report.report import duration
from azcore.report.rules_facts import facts_of
from azcore.storage.run_directory import RunDirectory, Sizes
from azcore.storage.run_settings import read_config

SHARE = 0.6  # of the probe's evaluations/s, for all runs together; the rest is learning and ratings
PATIENCE = 20.0  # seconds until it names the runs that have not measured their speed


@dataclass
class Forecast:
    """Prints what each run can do, and refuses a time that is too short."""

    folder: Path
    names: Sequence[str]
    minutes: float
    overhead: float  # seconds that a run takes to start and end
    least: int | None  # steps that each must be able to make; None: any number
    _share: float = field(init=False)  # of the probe's rate, for one run
    _began: float = field(default_factory=time.monotonic, init=False)
    _wanted: tuple[float, str, int] = field(default=(0.0, "", 0), init=False)  # minutes, run, steps
    _is_late: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._share = SHARE / max(1, len(self.names))

    def look(self) -> None:
        """Describe the runs that have measured their speed since the last call."""
        passed = time.monotonic() - self._began
        waiting = []
        for name in self.names:
            run = RunDirectory(self.folder / name)
            sizes = run.read_sizes()
            if sizes == Sizes():
                waiting.append(name)
            elif (rate := sizes.evaluations_per_s) is None:
                print(f"{name}: measures no speed, so what it can do is unknown", flush=True)
            else:
                self._describe(name, rate, _plan(run, self._share * rate), passed)
        has_measured, self.names = len(waiting) < len(self.names), waiting
        if has_measured and not waiting and self._wanted[0] > self.minutes:
            minutes, name, steps = self._wanted
            raise SettingError(
                f"ladder.minutes must be at least {math.ceil(minutes)} on this machine now, for "
                f"{steps:,} steps of {name}, got {self.minutes:g}"
            )
        if waiting and passed > PATIENCE and not self._is_late:
            self._is_late = True
            print(
                f"{', '.join(waiting)}: speed still unknown after {PATIENCE:.0f} s: other "
                "programs use this machine, or a first start compiles the rules",
                flush=True,
            )

    def _describe(self, name: str, rate: float, plan: Plan, passed: float) -> None:
        pace = plan.seconds / plan.steps
        seconds = max(0.0, 60 * self.minutes - self.overhead - passed)
        steps = min(plan.steps, int(seconds / pace))
        print(
            f"{name}: about {_rounded(steps)} steps and "
            f"{_rounded(plan.games * steps / plan.steps)} games in {duration(steps * pace)}, from "
            f"{rate:,.0f} evaluations/s measured at its start",
            flush=True,
        )
        least = min(self.least or 0, plan.steps)
        minutes = (self.overhead + passed + least * pace) / 60
        self._wanted = max(self._wanted, (minutes, name, least))


def _rounded(value: float) -> str:
    """Two digits, since no more are known."""
    return f"{float(f'{value:.2g}'):,.0f}"


def _plan(run: RunDirectory, rate: float) -> Plan:
    """A run's plan up to its last step, at a rate in evaluations/s."""
    config = read_config(run)
    settings = settings_from(config, LearningSettings)
    rates = Rates(
        evaluations_per_s=rate,
        evaluations_per_position=settings.evaluations_per_position,
        positions_per_game=facts_of(settings.game).length * settings.selfplay.full_search_share,
        bytes_per_game=0.0,
        seconds_per_step=0.0,  # in SHARE
    )
    return planned(rates, settings, config["trainer"]["max_steps"], overlaps=False)
