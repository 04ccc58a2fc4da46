"""Builds azcore's parts from the composed configuration and refuses invalid settings.

Each group of `conf/` has one dataclass that defines the keys it must have; this module pairs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from azcore.arena.gate import GateSettings
from azcore.arena.match import ArenaSettings
from azcore.arena.players import SearchPlayer
from azcore.arena.sprt import SprtSettings
from azcore.game import Game
from azcore.game.registry import make
from azcore.learner.given import SupervisedSettings
from azcore.learner.settings import LearnerSettings
from azcore.networks import NetworkSettings, network_settings
from azcore.networks.backends import (
    EvaluatorSettings,
    choose_device,
    require_runnable,
)
from azcore.networks.probe import Probe, fastest
from azcore.networks.saved import load_network
from azcore.search.evaluators import (
    CachedEvaluator,
    Evaluator,
    SymmetricEvaluator,
    UniformEvaluator,
)
from azcore.search.settings import SearchSettings
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.sizes import available_cores
from azcore.settings import build, require
from azcore.storage.replay import ReplayBuffer, ReplaySettings
from azcore.storage.starts import Starts, read_starts, starts_of_game

Config = Mapping[str, Any]
SCHEDULES = ("alternate", "overlap")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every group of the configuration, typed."""

    game: Game
    selfplay_game: Game  # the same, with the settings of selfplay.game
    seed: int
    device: torch.device
    network: NetworkSettings
    search: SearchSettings
    evaluation: EvaluatorSettings  # the group `evaluator`
    selfplay: SelfPlaySettings
    replay: ReplaySettings
    learner: LearnerSettings
    supervised: SupervisedSettings
    gate: GateSettings
    arena: ArenaSettings
    sprt: SprtSettings
    overlaps: bool  # self-play goes on while the learner takes its steps, see `schedule`
    programs: Mapping[str, Any]  # by name, see `azcore.engine.programs.Program`

    def evaluator(self, network: nn.Module, callers: int = 1) -> Evaluator:
        """An evaluator with a network's current weights.

        Args:
            network: provides the weights.
            callers: number of threads that will evaluate at once.
        """
        way = self.fastest_evaluator(network, callers).way
        return way.evaluator(network, self.game, self.device, callers)

    def fastest_evaluator(self, network: nn.Module, callers: int = 1) -> Probe:
        """The fastest way to run a network of this shape, measured where settings leave it open."""
        return fastest(
            self.evaluation,
            network,
            self.game,
            self.device,
            cores=available_cores(),
            callers=callers,
        )

    def search_evaluator(self, network: nn.Module, version: int, callers: int = 1) -> Evaluator:
        """The evaluator that search calls: with random symmetries and a cache if settings say so.

        Args:
            network: provides the weights.
            version: optimizer steps behind them.
            callers: number of threads that will evaluate at once.
        """
        evaluator = self.evaluator(network, callers)
        if self.evaluation.random_symmetry and self.game.symmetries:
            evaluator = SymmetricEvaluator(evaluator, self.game, self.seed, version)
        if self.evaluation.cache:
            evaluator = CachedEvaluator(evaluator, self.game.num_actions, self.evaluation.cache)
        return evaluator

    def selfplay_starts(self) -> Starts | None:
        """What self-play begins from: starts in files, or else those that the game names.

        Raises:
            AzcoreError: a file cannot be read, or a game cannot begin there.
        """
        if self.supervised.enabled:
            return None
        files, plies = self.selfplay.starts, self.selfplay.start_plies
        variant = self.selfplay_game
        if not files:
            return starts_of_game(self.game, variant)
        return read_starts(self.game, files, plies, "selfplay.starts", variant=variant)

    def arena_starts(self) -> Starts | None:
        """The same of matches."""
        return read_starts(self.game, self.arena.starts, self.arena.start_plies, "arena.starts")

    def window(self, folder: Path | None = None) -> ReplayBuffer:
        """An empty replay window.

        Args:
            folder: for its files, if settings say that it is on disk; None: in memory all the same.
        """
        return ReplayBuffer(
            game=self.game,
            window_games=self.replay.window_games,
            augment=self.replay.augment,
            root_value_share=self.replay.root_value_share,
            surprise_share=self.replay.surprise_share,
            targets=self.network.targets,
            folder=folder if self.replay.window_on_disk else None,
        )

    def checkpoint_evaluator(self, path: Path) -> Evaluator:
        """The evaluator of a checkpoint of this game."""
        return self.search_evaluator(*load_network(path, self.game))


def settings_from(config: Config) -> Settings:
    """Typed settings from the composed configuration.

    Raises:
        SettingError, GameError: naming the key, the value got and the value wanted.
    """
    seed = config["seed"]
    require(
        isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**63,
        "seed",
        "a whole number from 0 to 2^63 - 1",
        seed,
    )
    device = choose_device(config["device"])
    game_settings, selfplay_group = dict(config["game"]), dict(config["selfplay"])
    name, changed = game_settings.pop("name"), selfplay_group.pop("game", {})
    require(isinstance(changed, Mapping), "selfplay.game", "settings by name", changed)
    network = network_settings(config["network"])
    search = build(SearchSettings, config["search"], "search")
    evaluation = build(EvaluatorSettings, config["evaluator"], "evaluator")
    selfplay = build(SelfPlaySettings, selfplay_group, "selfplay")
    require_runnable(evaluation.backend, device)
    replay = build(ReplaySettings, config["replay"], "replay")
    learner = build(LearnerSettings, config["learner"], "learner")
    supervised = build(SupervisedSettings, config["supervised"], "supervised")
    gate = build(GateSettings, config["gate"], "gate")
    arena = build(ArenaSettings, config["arena"], "arena")
    sprt = build(SprtSettings, config["sprt"], "sprt")
    schedule = config.get("schedule", SCHEDULES[0])  # older runs have none
    require(schedule in SCHEDULES, "schedule", f"one of {', '.join(SCHEDULES)}", schedule)
    # The game comes last: its rules are compiled when it is made.
    game = make(name, **game_settings)
    variant = make(name, **{**game_settings, **changed})
    for fact in ("num_actions", "observation_shape", "max_game_length"):
        wanted, got = getattr(game, fact), getattr(variant, fact)
        require(wanted == got, f"{fact} with selfplay.game {changed}", f"{wanted} as in game", got)
    return Settings(
        game=game,
        selfplay_game=variant,
        seed=seed,
        device=device,
        network=network,
        search=search,
        evaluation=evaluation,
        selfplay=selfplay,
        replay=replay,
        learner=learner,
        supervised=supervised,
        gate=gate,
        arena=arena,
        sprt=sprt,
        overlaps=schedule == "overlap",
        programs=config.get("programs", {}),  # a run's own settings have none
    )


def search_player(
    settings: Settings, evaluator: Evaluator, name: str, num_simulations: int | None = None
) -> SearchPlayer:
    """A player that searches with `num_simulations`, or else as many as the arena's settings."""
    return SearchPlayer(
        game=settings.game,
        evaluator=evaluator,
        settings=settings.search,
        num_simulations=num_simulations or settings.arena.num_simulations,
        name=name,
    )


def search_baseline(settings: Settings, num_simulations: int | None = None) -> SearchPlayer:
    """The player `search`, which later methods leave alone: see `SearchSettings.baseline`."""
    plain = replace(settings, search=settings.search.baseline())
    name = "search" if num_simulations is None else f"search:{num_simulations}"
    return search_player(plain, UniformEvaluator(settings.game), name, num_simulations)
