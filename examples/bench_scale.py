"""How backends and schedules compare on this machine, measured in pairs, one after the other.

    python examples/bench_scale.py                  # Go on a 9x9 board, as scale=laptop has it
    python examples/bench_scale.py game=chess --pairs 9 --seconds 20

Two questions, each answered by the median of the pairs' ratios, since a machine's speed drifts:

    process / inline       evaluations/s of self-play with the same workers, games and network
    overlap / alternate    seconds of training to the same number of steps, which takes as many
                           games, with self-play in processes; below 1, overlap is faster

Whatever else the machine does disturbs both halves of a pair alike, but not equally.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import hydra
from omegaconf import OmegaConf

from azcore.algorithms.self_play import crew_of_run, fitted_to_machine
from azcore.assembly.parts import settings_from
from azcore.assembly.selfplay import NetworkWeights
from azcore.networks import build_network
from azcore.selfplay.backend import BackendSettings
from azcore.selfplay.crew import Crew
from azcore.selfplay.speed import evaluations_per_s
from azcore.storage.run_directory import RunDirectory

INLINE = BackendSettings(name="inline", processes=None, restarts=0)
PROCESS = BackendSettings(name="process", processes=None, restarts=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("settings", nargs="*", help="KEY=VALUE, as for python -m azcore")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each half of a pair")
    parser.add_argument("--generations", type=int, default=4, help="of each run; 0: no runs")
    options = parser.parse_args()
    settings = options.settings or ["game=go"]
    told("process / inline", backends(settings, options.pairs, options.seconds))
    if options.generations:
        told("overlap / alternate", schedules(settings, options.pairs, options.generations))


def told(what: str, pairs: Sequence[tuple[float, float]]) -> None:
    ratios = [first / second for first, second in pairs]
    each = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    print(f"{what}: {statistics.median(ratios):.3f}, the median of {each}", flush=True)


def backends(words: Sequence[str], pairs: int, seconds: float) -> list[tuple[float, float]]:
    """Evaluations/s of processes and of threads, in turn."""
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        config: Any = OmegaConf.to_container(
            hydra.compose("config", overrides=[*words]), resolve=True
        )
    settings = settings_from(config)
    network = build_network(settings.game, settings.network, settings.seed)
    with tempfile.TemporaryDirectory() as folder:
        settings = fitted_to_machine(settings, network, RunDirectory(Path(folder)), print)

    def crew_of(backend: BackendSettings, games: int | None) -> Crew:
        fitted = replace(settings, selfplay=replace(settings.selfplay, num_games=games))
        crew = crew_of_run(config, fitted, backend, network, settings.selfplay_starts(), print)
        crew.set_weights(NetworkWeights(fitted, network, 0))
        evaluations_per_s(crew, seconds)  # until games are no longer in step
        return crew

    threads = crew_of(INLINE, settings.selfplay.num_games)
    with closing(crew_of(PROCESS, threads.settings.num_games)) as processes:
        found = []
        for number in range(pairs):
            order = [processes, threads] if number % 2 else [threads, processes]
            rates = {id(crew): evaluations_per_s(crew, seconds) for crew in order}
            found.append((rates[id(processes)], rates[id(threads)]))
            print("evaluations/s: process {:,.0f}, inline {:,.0f}".format(*found[-1]), flush=True)
    return found


def schedules(words: Sequence[str], pairs: int, generations: int) -> list[tuple[float, float]]:
    """Seconds of runs that overlap and of runs that alternate, in turn."""
    found = []
    for number in range(pairs):
        order = ["overlap", "alternate"] if number % 2 else ["alternate", "overlap"]
        seconds = {schedule: seconds_of(words, schedule, generations) for schedule in order}
        found.append((seconds["overlap"], seconds["alternate"]))
        print("seconds: overlap {:.1f}, alternate {:.1f}".format(*found[-1]), flush=True)
    return found


def seconds_of(words: Sequence[str], schedule: str, generations: int) -> float:
    """Seconds from the end of a run's first generation to that of its last."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        more = [f"run_dir={run}", f"schedule={schedule}", "backend=process"]
        steps = _steps_per_generation(words) * (generations + 1)
        more += [f"trainer.max_steps={steps}", "arena.every_generations=1000000"]
        command = [sys.executable, "-m", "azcore", *words, *more]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with (run / "metrics.csv").open() as file:
            rows = list(csv.DictReader(file))
        return float(rows[-1]["seconds"]) - float(rows[0]["seconds"])


def _steps_per_generation(words: Sequence[str]) -> int:
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        return int(hydra.compose("config", overrides=[*words]).learner.steps_per_generation)


if __name__ == "__main__":
    main()
