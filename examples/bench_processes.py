"""Self-play by processes that share the cores and the GPU, against one process with threads.

    python examples/bench_processes.py               # 1 x all cores, and all cores x 1
    python examples/bench_processes.py --split 1x8 8x1 15x1 network.blocks=6 network.channels=64
    python examples/bench_processes.py --split 15x1 game=chess evaluator.backend=torch

Each split is PROCESSESxTHREADS. Printed are the evaluations/s of all together and the share of a
thread's time that its network takes; the rest is search, and waiting for Python's lock. Other
arguments are settings, as on the command line of azcore.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from dataclasses import replace
from multiprocessing.synchronize import Barrier

from azcore.assembly.parts import RunSettings, settings_from
from azcore.library.settings import compose
from azcore.networks import build_network
from azcore.selfplay.actor import Actor

LONGEST_START = 120.0  # seconds until all processes play
WARM_UP = 1.0  # seconds, in which graphs are captured and games get out of step


def play(
    seed: int,
    threads: int,
    games: int,
    seconds: float,
    changes: list[str],
    together: Barrier,
    results: multiprocessing.SimpleQueue[tuple[float, float]],
) -> None:
    """Play as a process of a run does, and tell evaluations/s and the network's share."""
    settings = settings_from(compose(*changes), RunSettings)
    actor = Actor(
        game=settings.game,
        search=settings.search,
        settings=replace(settings.selfplay, workers=threads, num_games=games * threads),
        seed=seed,
        evaluator=settings.evaluator(build_network(settings.game, settings.network, 1), threads),
    )

    def rates(wanted: float) -> tuple[float, float]:
        evaluations = actor.statistics.evaluations
        network, began = actor.statistics.network_seconds, time.perf_counter()
        actor.play_while(lambda _: time.perf_counter() - began < wanted)
        took = time.perf_counter() - began
        evaluations = actor.statistics.evaluations - evaluations
        return evaluations / took, (actor.statistics.network_seconds - network) / took / threads

    rates(WARM_UP)
    together.wait(LONGEST_START)
    results.put(rates(seconds))


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--split", nargs="+", default=[f"1x{cores}", f"{cores}x1"])
    parser.add_argument("--games", type=int, default=512, help="of each thread")
    parser.add_argument("--seconds", type=float, default=4.0)
    options, changes = parser.parse_known_args()
    context = multiprocessing.get_context("spawn")
    for split in options.split:
        processes, threads = map(int, split.split("x"))
        together, results = context.Barrier(processes), context.SimpleQueue()
        members = [
            context.Process(
                target=play,
                args=(i, threads, options.games, options.seconds, changes, together, results),
            )
            for i in range(processes)
        ]
        for member in members:
            member.start()
        for member in members:
            member.join()
        if any(member.exitcode for member in members):
            raise SystemExit(f"{split}: a process failed, see above")
        rates = [results.get() for _ in members]
        network = sum(share for _, share in rates) / processes
        print(
            f"{processes:3} processes x {threads:2} threads: "
            f"{sum(rate for rate, _ in rates):10,.0f} evaluations/s, "
            f"network {network:4.0%} of a thread's time",
            flush=True,
        )


if __name__ == "__main__":
    main()
