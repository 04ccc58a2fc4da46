"""The learner: the overhead of drawing batches from the window."""

from __future__ import annotations

from dataclasses import replace

import torch

from azcore.assembly.parts import Settings
from azcore.commands.bench.search import FreeEvaluator
from azcore.commands.bench.settings import BenchSettings
from azcore.learner.data import draw_batch
from azcore.learner.module import LearnerModule
from azcore.learner.speed import feeding_ratio
from azcore.networks import build_network
from azcore.selfplay.actor import Actor
from azcore.storage.replay import ReplayBuffer

POSITIONS = 2000  # in the window, at least


def learner_ratio(settings: Settings, options: BenchSettings) -> float:
    """Training steps/s with batches drawn from the window, over those with one batch in memory."""
    game = settings.game
    actor = Actor(
        game=game,
        search=replace(settings.search, num_simulations=2),
        settings=replace(settings.selfplay, workers=1),
        seed=settings.seed,
        evaluator=FreeEvaluator(game, options.num_games),
    )
    buffer = ReplayBuffer(
        game=game,
        window_games=10_000,
        augment=settings.replay.augment,
        targets=settings.network.targets,
    )
    buffer.extend(actor.play(POSITIONS))
    module = LearnerModule(
        network=build_network(game, settings.network, settings.seed).to(settings.device),
        settings=settings.learner,
        max_steps=1,
        description={},
    )
    optimizer = module.configure_optimizers()["optimizer"]

    def step(batch: dict[str, torch.Tensor]) -> None:
        optimizer.zero_grad()
        there = {
            name: tensor.to(settings.device, non_blocking=True) for name, tensor in batch.items()
        }
        loss, _ = module.loss(there)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if settings.device.type == "cuda":
            torch.cuda.synchronize()

    pin = settings.device.type == "cuda"
    return feeding_ratio(
        lambda number: draw_batch(
            buffer, settings.learner.batch_size, settings.seed, number, pin=pin
        ),
        step,
        steps=settings.learner.steps_per_generation,
        seconds=options.seconds,
    )
