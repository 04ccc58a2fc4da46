"""Measures for an hour whether the memory of a `scale=paper` run stays constant.

    python examples/hold_memory.py                           # an hour of Go 19x19
    python examples/hold_memory.py --minutes 5 game=chess

The network that plays is random and takes no processor, only the time of a batch on a fast device.
The one that learns is small, and searches and generations are short, so that games, steps and
checkpoints come many times as often as they would on a laptop. Everything else is `scale=paper`: a
window of a million games on disk, batches of 4,096 positions.

The script reads the process's own memory (RssAnon of Linux) every ten seconds, and prints a line
every minute. It does not count file pages, which the system can evict.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import threading
import time
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import hydra
import numpy as np
from omegaconf import OmegaConf

from azcore import plugins
from azcore.commands.train import train
from azcore.game import ByteArray, FloatArray, Game
from azcore.networks import backends
from azcore.search.evaluators import Evaluator

AS_IF_LARGE = [
    "scale=paper",
    "evaluator.backend=simulated",
    "evaluator.precision=float32",
    "network.blocks=1",
    "network.channels=8",
    "network.value_hidden=8",
    "search.num_simulations=4",
    "selfplay.num_games=512",
    "selfplay.workers=1",
    "learner.steps_per_generation=5",
    "replay.games_per_generation=200",
    "arena.every_generations=1000000",
    "arena.games=2",
    "arena.num_simulations=2",
]


class SimulatedDevice(backends.Backend):
    """A backend whose evaluators take the time of a fast device."""

    def evaluator(self, network: Any, conditions: backends.Conditions) -> Evaluator:
        return TimedEvaluator(conditions.game)


class TimedEvaluator(Evaluator):
    """Evaluates positions differently from each other, and takes a given time per batch."""

    latency = 0.0  # seconds

    def __init__(self, game: Game) -> None:
        self._logits = np.random.default_rng(1).normal(size=(997, game.num_actions))
        self._logits = self._logits.astype(np.float32)

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        time.sleep(self.latency)
        sums = observations.reshape(len(observations), -1).sum(axis=1, dtype=np.int64) % 997
        return self._logits[sums], np.tanh(self._logits[sums, 0])


def own_memory() -> float:
    """MB of this process's own memory."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1000


def watch(run: Path, seconds: float, done: threading.Event) -> list[tuple[float, float]]:
    """Minutes since the start and MB, printed as they arrive."""
    seen: list[tuple[float, float]] = []
    began = time.monotonic()
    while not done.wait(10.0) and time.monotonic() - began < seconds + 600:
        minutes = (time.monotonic() - began) / 60
        seen.append((minutes, own_memory()))
        if len(seen) % 6 == 0:
            disk = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
            words = f"{seen[-1][1]:,.0f} MB  {disk / 1e6:,.0f} MB on disk"
            print(f"{minutes:5.1f} min  {words}", flush=True)
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("settings", nargs="*", help="KEY=VALUE, as for python -m azcore")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--folder", help="the run's folder; default: a temporary one")
    parser.add_argument("--latency", type=float, default=0.0128, help="seconds per batch")
    options = parser.parse_args()
    TimedEvaluator.latency = options.latency
    words = [word for word in options.settings if word.startswith("game=")] or ["game=go"]
    words += AS_IF_LARGE + [word for word in options.settings if not word.startswith("game=")]
    real = plugins.installed
    points = {
        backends.GROUP: {
            "simulated": EntryPoint("simulated", "hold_memory:SimulatedDevice", backends.GROUP)
        }
    }
    plugins.installed = lambda group: {**real(group), **points.get(group, {})}  # as a package would
    with tempfile.TemporaryDirectory() as removed:
        run = Path(options.folder or removed) / "run"
        seconds = round(60 * options.minutes)
        limit = f"00:{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        words += [f"run_dir={run}", f"trainer.max_time={limit}", "trainer.max_steps=10000000"]
        with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
            config: Any = OmegaConf.to_container(
                hydra.compose("train", overrides=words), resolve=True
            )
        done = threading.Event()
        seen: list[tuple[float, float]] = []
        watching = threading.Thread(target=lambda: seen.extend(watch(run, seconds, done)))
        watching.start()
        try:
            train(config)
        finally:
            done.set()
            watching.join()
    settled = [memory for minutes, memory in seen if minutes > options.minutes / 6]
    first, last = (np.mean(part) for part in np.array_split(settled, 4)[::3])
    print(
        f"after the first sixth: {min(settled):,.0f} to {max(settled):,.0f} MB; "
        f"first quarter {first:,.0f}, last quarter {last:,.0f}"
    )


if __name__ == "__main__":
    main()
