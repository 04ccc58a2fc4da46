"""Measures self-play in processes, as in a run, for several numbers of processes and games.

    python examples/bench_processes.py                       # one process for each core
    python examples/bench_processes.py --processes 8,15,16 --games 256 network.blocks=6
    python examples/bench_processes.py --processes 16 game=chess evaluator.precision=bfloat16

It prints the total evaluations/s, and the share of its time that a worker waits for the network; in
the rest it searches. Other arguments are settings, as on azcore's command line.
"""

from __future__ import annotations

import argparse
import os
import time
from contextlib import closing
from dataclasses import replace

from azcore.algorithms.self_play import pool_of_run
from azcore.assembly.parts import RunSettings, settings_from
from azcore.assembly.selfplay import NetworkWeights
from azcore.library.settings import compose
from azcore.networks import build_network
from azcore.selfplay.pool import evaluations_per_s

WARM_UP = 3.0  # seconds in which torch captures CUDA graphs and games get out of step


def measure(processes: int, games: int, seconds: float, changes: list[str]) -> None:
    """Play with these numbers of processes and of games in each, and print the rate."""
    began = time.perf_counter()
    sizes = f"selfplay.workers={processes}", f"selfplay.num_games={games * processes}"
    settings = settings_from(compose("backend=process", *changes, *sizes), RunSettings)
    network = build_network(settings.game, settings.network, settings.seed)
    way = settings.fastest_evaluator(network).way
    settings = replace(settings, evaluation=way.settings(settings.evaluation))
    with closing(pool_of_run(settings, network, None, lambda _: None)) as pool:
        pool.set_weights(NetworkWeights(settings, network, 0))
        ready = time.perf_counter() - began
        evaluations_per_s(pool, WARM_UP)
        pool.reset_statistics()
        rate, statistics = evaluations_per_s(pool, seconds), pool.statistics
        waits = statistics.network_seconds / statistics.seconds
    print(
        f"{processes:3} processes, {games} games each, {way}: {rate:10,.0f} evaluations/s, "
        f"network {waits:4.0%} of a worker's time, ready after {ready:.0f} s",
        flush=True,
    )


def numbers(text: str) -> list[int]:
    """The numbers of a comma-separated list."""
    return [int(number) for number in text.split(",")]


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", type=numbers, default=[cores])
    parser.add_argument("--games", type=numbers, default=[512], help="games of each process")
    parser.add_argument("--seconds", type=float, default=4.0)
    options, changes = parser.parse_known_args()
    for processes in options.processes:
        for games in options.games:
            measure(processes, games, options.seconds, changes)


if __name__ == "__main__":
    main()
