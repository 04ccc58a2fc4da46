"""Makes the actor of a run, with the sizes that the run began with or that suit this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import nn

from azcore.assembly.parts import Settings
from azcore.selfplay.actor import Actor
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.sizes import with_games, with_workers
from azcore.storage.run_directory import RunDirectory


def actor_of_run(
    settings: Settings, network: nn.Module, run: RunDirectory, say: Callable[[str], None]
) -> tuple[Actor, dict[str, int]]:
    """The actor, and its sizes by the names of their settings.

    The sizes come from the run's sizes.json or else from the settings. A new run measures those
    that the settings leave open, which takes seconds.

    Args:
        settings: of the run.
        network: of the shape that will play.
        run: the directory of sizes.json, if the run was begun before.
        say: called with the sizes and the measurements, as a line of text.
    """
    device = settings.device.type
    sizes = run.read_sizes()
    selfplay = replace(
        settings.selfplay,
        num_games=sizes.get("num_games", settings.selfplay.num_games),
        workers=sizes.get("workers", settings.selfplay.workers),
    )
    selfplay = with_workers(selfplay, device)
    workers = selfplay.workers
    assert workers is not None
    evaluator = settings.search_evaluator(network, 0, workers)

    def actor_of(tried: SelfPlaySettings) -> Actor:
        return Actor(
            game=settings.game,
            variant=settings.selfplay_game,
            search=settings.search,
            settings=tried,
            seed=settings.seed,
            evaluator=evaluator,
        )

    selfplay, trials = with_games(selfplay, device, actor_of)
    tried = ", ".join(f"{trial.num_games}: {trial.evaluations_per_s:,.0f}" for trial in trials)
    rates = f"; evaluations/s by games: {tried}" if trials else ""
    say(f"self-play {selfplay.num_games} games on {workers} threads{rates}")
    assert selfplay.num_games is not None
    return actor_of(selfplay), {"num_games": selfplay.num_games, "workers": workers}
