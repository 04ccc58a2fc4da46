"""The learner: the overhead of drawing batches from the window."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from azcore.algorithms.self_play import GENERATION_STEPS
from azcore.assembly.parts import LearningSettings
from azcore.commands.bench.search import FreeEvaluator
from azcore.commands.bench.settings import BenchSettings
from azcore.learner.data import draw_batch
from azcore.learner.module import LearnerModule
from azcore.learner.speed import feeding_ratio
from azcore.networks import build_network
from azcore.selfplay.actor import Actor
from azcore.storage.game_record import GameRecord
from azcore.storage.replay import ReplayBuffer

POSITIONS = 2000  # in the window, at least


class Learning:
    """Steps of the learner on a window of games, without Lightning."""

    def __init__(self, settings: LearningSettings, games: Sequence[GameRecord]) -> None:
        self._settings = settings
        self._window = ReplayBuffer(
            game=settings.game,
            window_games=len(games),
            augment=settings.replay.augment,
            targets=settings.network.targets,
            own_targets=settings.plugins.function("targets"),
            augmentation=settings.plugins.function("augmentation"),
        )
        self._window.extend(games)
        self._module = settings.plugins.subclass("learner", LearnerModule)(
            network=build_network(settings.game, settings.network, settings.seed).to(
                settings.device
            ),
            settings=settings.learner,
            max_steps=1,
            description={},
        )
        self._optimizer = self._module.configure_optimizers()["optimizer"]

    def draw(self, number: int) -> dict[str, torch.Tensor]:
        settings = self._settings
        return draw_batch(
            self._window,
            settings.learner.batch_size,
            settings.seed,
            number,
            pin=settings.device.type == "cuda",
        )

    def step(self, batch: dict[str, torch.Tensor]) -> None:
        """Learn from a batch; waits until the device is done."""
        device = self._settings.device
        self._optimizer.zero_grad()
        there = {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
        loss, _ = self._module.loss(there)
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        if device.type == "cuda":
            torch.cuda.synchronize()


def learner_ratio(settings: LearningSettings, options: BenchSettings) -> float:
    """Training steps/s with batches drawn from the window, over those with one batch in memory."""
    game = settings.game
    actor = Actor(
        game=game,
        search=replace(settings.search, num_simulations=2),
        settings=replace(settings.selfplay, workers=1),
        seed=settings.seed,
        evaluator=FreeEvaluator(game, options.num_games),
    )
    learning = Learning(settings, actor.play(POSITIONS))
    return feeding_ratio(
        learning.draw,
        learning.step,
        steps=settings.learner.steps_per_generation or GENERATION_STEPS[-1],
        seconds=options.seconds,
    )
