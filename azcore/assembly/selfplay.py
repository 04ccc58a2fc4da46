"""Builds the workers of self-play from settings, in this process or in others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from azcore.assembly.parts import PlaySettings, RunSettings
from azcore.networks import build_network
from azcore.networks.backends import require_runnable
from azcore.networks.served import packed, unpacked
from azcore.search.evaluators import Evaluator
from azcore.selfplay.actor import Actor
from azcore.selfplay.jobs import JobContext
from azcore.selfplay.member import Recipe, SelfPlayMember
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.weights import Weights
from azcore.storage.starts import Starts


@dataclass(frozen=True)
class NetworkWeights(Weights):
    """The current weights of a network, on request."""

    settings: PlaySettings
    network: nn.Module
    version: int

    def evaluator(self, callers: int) -> Evaluator:
        return self.settings.search_evaluator(self.network, self.version, callers)

    def packed(self) -> bytes:
        return packed(self.network)


def device_of_member(device: torch.device, member: int) -> torch.device:
    """The device of a process by its number, with GPUs assigned round robin."""
    if str(device) != "cuda":
        return device
    return torch.device("cuda", member % torch.cuda.device_count())


def unpacker(settings: PlaySettings, blank: nn.Module) -> Callable[[bytes, int], Weights]:
    """Makes weights from `NetworkWeights.packed` and a version, in copies of a blank network."""

    def unpack(weights: bytes, version: int) -> Weights:
        return NetworkWeights(settings, unpacked(weights, blank), version)

    return unpack


def make_actor(
    settings: RunSettings,
    selfplay: SelfPlaySettings,
    evaluator: Evaluator,
    starts: Starts | None,
    numbers: Sequence[int] | None = None,
) -> Actor:
    """An actor of a run.

    Args:
        selfplay: the settings of self-play, with numbers of games and workers.
        evaluator: the evaluator of its first games.
        starts: what games begin from; None: the initial position.
        numbers: the numbers of the run's workers that it has; None: all.
    """
    return Actor(
        game=settings.game,
        variant=settings.selfplay_game,
        search=settings.search,
        settings=selfplay,
        seed=settings.seed,
        evaluator=evaluator,
        record_surprise=settings.replay.surprise_share > 0,
        starts=starts,
        numbers=numbers,
    )


@dataclass(frozen=True)
class RecipeOfRun(Recipe):
    """Builds workers of a run."""

    settings: RunSettings  # with a complete evaluator and self-play's sizes
    servers: Sequence[str] = ()  # addresses, shared among members; empty: each evaluates itself

    def build(self, numbers: Sequence[int], process: int) -> SelfPlayMember:
        device = device_of_member(self.settings.device, process)
        evaluation = replace(self.settings.evaluation, threads=self.threads(len(numbers)))
        require_runnable(evaluation.backend, device)
        server = self.servers[process % len(self.servers)] if self.servers else None
        settings = replace(self.settings, device=device, evaluation=evaluation, server=server)
        network = build_network(settings.game, settings.network, settings.seed)
        first = settings.search_evaluator(network, 0, len(numbers))
        starts = settings.selfplay_starts()
        actor = make_actor(settings, settings.selfplay, first, starts, numbers)
        actor.compile(process)
        unpack = unpacker(settings, network)
        return SelfPlayMember(actor, JobContext(settings.game, unpack, len(numbers)))

    def threads(self, workers: int) -> int:
        """Cores for the networks of this many workers: their share of the run's."""
        threads, shares = self.settings.evaluation.threads, self.settings.selfplay.shares()
        assert threads is not None
        return max(1, threads * workers // len(shares))
