"""Does memory stay flat over hours of self-play? Not a test that pytest runs: it takes hours.

    python tests/speed/soak.py HOURS [--free] [KEY=VALUE ...]

Plays as training does, with new weights after each generation's worth of positions and a window of
games that is full within minutes, but without learning. Prints resident memory every minute, and
ends with 1 if after a twenty-fourth of the time, ten minutes of four hours, it ever leaves what it
was then by more than 1 %. With --free the network costs nothing, so that minutes do the searching
and playing of hours.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("GOMP_SPINCOUNT", "10000")

import hydra
import torch
from hydra.core.plugins import Plugins
from omegaconf import OmegaConf

from azcore.assembly.parts import RunSettings, settings_from
from azcore.cli.plugins import PluginConfigs
from azcore.commands.bench.search import FreeEvaluator
from azcore.networks import build_network
from azcore.search.evaluators import Evaluator
from azcore.selfplay.actor import Actor
from azcore.selfplay.sizes import with_workers
from azcore.storage.replay import ReplayBuffer

SETTLING, ALLOWED = 1 / 24, 0.01  # shares: of the time, of the memory
WINDOW, GENERATION = 50, 3200  # games, positions


def resident() -> int:
    """Bytes in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main(hours: float, free: bool, overrides: list[str]) -> int:
    Plugins.instance().register(PluginConfigs)  # a plugin's game has its settings with it
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        composed = hydra.compose("train", overrides=["selfplay.num_games=64", *overrides])
    config = OmegaConf.to_container(composed, resolve=True)
    assert isinstance(config, dict)
    settings = settings_from({str(key): value for key, value in config.items()}, RunSettings)
    selfplay = with_workers(settings.selfplay, settings.device.type)
    settings = replace(settings, selfplay=selfplay)
    network = build_network(settings.game, settings.network, settings.seed)
    at_first = [weights.detach().clone() for weights in network.parameters()]
    shares = selfplay.shares()

    def evaluator(version: int) -> Evaluator:
        if free:
            return FreeEvaluator(settings.game, shares[0] * settings.search.leaves_per_tree)
        return settings.search_evaluator(network, version, len(shares))

    actor = Actor(
        game=settings.game,
        variant=settings.selfplay_game,
        search=settings.search,
        settings=selfplay,
        seed=settings.seed,
        evaluator=evaluator(0),
    )
    window = ReplayBuffer(game=settings.game, window_games=WINDOW, augment=False)
    began, said, settled, worst, generation, evaluations = time.monotonic(), 0.0, 0, 0.0, 0, 0
    while (passed := time.monotonic() - began) < 3600 * hours:
        for weights, first in zip(network.parameters(), at_first, strict=True):
            weights.data = first + 1e-3 * torch.randn_like(first)
        actor.set_evaluator(evaluator(generation), generation)
        window.extend(actor.play(GENERATION))
        generation += 1
        evaluations += actor.statistics.evaluations
        actor.reset_statistics()
        now = resident()
        if passed > SETTLING * 3600 * hours:
            settled = settled or now
            worst = max(worst, abs(now / settled - 1))
        if passed - said >= 60:
            said = passed
            print(
                f"{passed / 60:6.1f} min  {now / 2**20:8.1f} MiB  worst {worst:.2%}  "
                f"generation {generation}  {evaluations:,} evaluations",
                flush=True,
            )
    print(f"{evaluations:,} evaluations, {generation} generations; worst {worst:.2%}")
    return int(worst > ALLOWED)


if __name__ == "__main__":
    changed = [argument for argument in sys.argv[2:] if argument != "--free"]
    sys.exit(main(float(sys.argv[1]), "--free" in sys.argv, changed))
