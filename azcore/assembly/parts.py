"""Builds azcore's parts from the composed configuration and refuses invalid settings.

Each group of `conf/` has one dataclass that defines the keys it must have. A command's settings
are those of the groups that it uses.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from azcore.arena.gate import GateSettings
from azcore.arena.match import ArenaSettings, arena_settings
from azcore.arena.players import SearchPlayer
from azcore.arena.sprt import SprtSettings
from azcore.assembly.web_settings import WebSettings, web_settings
from azcore.game import Game
from azcore.game.registry import installed_games, make
from azcore.learner.imported_games import SupervisedSettings, supervised_settings
from azcore.learner.settings import LearnerSettings, PluginSettings
from azcore.learner.trainer_settings import TrainerSettings, trainer_settings
from azcore.networks import NetworkSettings, network_settings
from azcore.networks.backends import EvaluatorSettings, choose_device, require_runnable
from azcore.networks.checkpoint import load_network
from azcore.networks.probe import Probe, fastest
from azcore.networks.served import ServedEvaluator, packed
from azcore.search.evaluators import (
    CachedEvaluator,
    Evaluator,
    SymmetricEvaluator,
    UniformEvaluator,
)
from azcore.search.settings import SearchSettings, search_settings
from azcore.selfplay.backend import BackendSettings
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.sizes import available_cores
from azcore.settings import build, require
from azcore.storage.replay import ReplayBuffer
from azcore.storage.replay_settings import ReplaySettings
from azcore.storage.starts import Starts, read_starts, starts_of_game

Config = Mapping[str, Any]
SCHEDULES = ("alternate", "overlap")
S = TypeVar("S", bound="EvaluationSettings")


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """The settings of every command that evaluates positions with a network."""

    config: Config = field(repr=False)  # the plain values that everything else is built from
    game: Game
    seed: int
    device: torch.device
    evaluation: EvaluatorSettings  # the group `evaluator`
    server: str | None = None  # the address of a process that evaluates for this one

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle for another process, which builds the games again."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        games = {name: each for name, each in values.items() if isinstance(each, Game)}
        plain = {name: (game.name, game.settings) for name, game in games.items()}
        return _arrived, (type(self), {**values, **plain}, list(games))

    def evaluator(self, network: nn.Module, callers: int = 1) -> Evaluator:
        """An evaluator with a network's current weights, for as many threads as `callers`."""
        if self.server is not None:
            return ServedEvaluator(self.server, packed(network), self.game)
        way = self.fastest_evaluator(network, callers).way
        return way.evaluator(network, self.game, self.device, callers)

    def fastest_evaluator(self, network: nn.Module, callers: int = 1) -> Probe:
        """The fastest way to run a network of this shape, measured if settings leave it open."""
        return fastest(
            self.evaluation,
            network,
            self.game,
            self.device,
            cores=available_cores(),
            callers=callers,
        )

    def search_evaluator(self, network: nn.Module, version: int, callers: int = 1) -> Evaluator:
        """The evaluator that search calls, with random symmetries and a cache if set.

        Args:
            version: optimizer steps behind its weights.
        """
        evaluator = self.evaluator(network, callers)
        if self.evaluation.random_symmetry and self.game.symmetries:
            evaluator = SymmetricEvaluator(evaluator, self.game, self.seed, version)
        if self.evaluation.cache:
            evaluator = CachedEvaluator(evaluator, self.game.num_actions, self.evaluation.cache)
        return evaluator

    def checkpoint_evaluator(self, path: Path) -> Evaluator:
        """The evaluator of a checkpoint of this game."""
        return self.search_evaluator(*load_network(path, self.game))


@dataclass(frozen=True, kw_only=True)
class PlaySettings(EvaluationSettings):
    """The settings of a command that searches."""

    search: SearchSettings


@dataclass(frozen=True, kw_only=True)
class MatchSettings(PlaySettings):
    """The settings of a command that plays matches."""

    arena: ArenaSettings
    sprt: SprtSettings | None  # None: matches play all games
    programs: Mapping[str, Any]  # by name, see `azcore.engine.programs.Program`

    @property
    def early_stop(self) -> SprtSettings | None:
        """The test that can stop the arena's matches early; None: they play all games."""
        return self.sprt if self.arena.sprt else None

    def arena_starts(self) -> Starts | None:
        """The starts of matches, other than the initial position.

        Raises:
            AzcoreError: a file cannot be read, or a game cannot begin there.
        """
        return read_starts(self.game, self.arena.starts, self.arena.start_plies, "arena.starts")


@dataclass(frozen=True, kw_only=True)
class LearningSettings(PlaySettings):
    """The settings of self-play, and of a network that learns from it."""

    selfplay_game: Game  # `game` with the settings of selfplay.game
    network: NetworkSettings
    selfplay: SelfPlaySettings
    replay: ReplaySettings
    learner: LearnerSettings
    plugins: PluginSettings

    @property
    def evaluations_per_position(self) -> float:
        """Evaluations of self-play for each position that it learns from, at most."""
        share, cheap = self.selfplay.full_search_share, self.selfplay.cheap_simulations
        return self.search.num_simulations + (1 / share - 1) * cheap

    def window(self, folder: Path | None = None) -> ReplayBuffer:
        """An empty replay window.

        Args:
            folder: the folder for its files, if settings put it on disk; None: always in memory.
        """
        return ReplayBuffer(
            game=self.game,
            window_games=self.replay.window_games,
            augment=self.replay.augment,
            root_value_share=self.replay.root_value_share,
            value_positions=self.replay.value_positions,
            surprise_share=self.replay.surprise_share,
            targets=self.network.targets,
            own_targets=self.plugins.function("targets"),
            augmentation=self.plugins.function("augmentation"),
            folder=folder if self.replay.window_on_disk else None,
        )


@dataclass(frozen=True, kw_only=True)
class RunSettings(LearningSettings, MatchSettings):
    """All settings of a run, typed."""

    supervised: SupervisedSettings
    gate: GateSettings
    overlaps: bool  # self-play continues while the learner takes its steps, see `schedule`
    trainer: TrainerSettings
    backend: BackendSettings
    logger: str
    web: WebSettings | None  # of a page next to the run; None: not available

    def selfplay_starts(self) -> Starts | None:
        """The starts of self-play: from files, or else those that the game names.

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


def _arrived(kind: type[S], values: dict[str, Any], games: list[str]) -> S:
    """Rebuild settings in another process."""
    for each in games:
        name, own = values[each]
        values[each] = make(name, **own)
    return kind(**values)


def settings_from(config: Config, kind: type[S]) -> S:
    """Typed settings from the composed configuration.

    Args:
        config: plain values by group, including one for each field of `kind`.

    Raises:
        SettingError, GameError: the message names the key, the value got and the value wanted.
    """
    names = [each.name for each in fields(kind) if each.name in _READERS]
    # Games come last: creating them compiles their rules.
    names.sort(key=lambda name: name in ("game", "selfplay_game"))
    return kind(config=config, **{name: _READERS[name](config) for name in names})


def _group(key: str, kind: type[Any]) -> Callable[[Config], Any]:
    """The reader of a group; None if the command has no such group."""
    return lambda config: build(kind, config[key], key) if key in config else None


def _seed(config: Config) -> int:
    seed = config.get("seed", 1)  # unused by a network without a search
    fits = isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**63
    require(fits, "seed", "a whole number from 0 to 2^63 - 1", seed)
    return int(seed)


LEFT_OUT = {"random_symmetry": False, "cache": 0}  # for a network without a search


def _evaluation(config: Config) -> EvaluatorSettings:
    given = {**LEFT_OUT, **config["evaluator"]}
    evaluation = build(EvaluatorSettings, given, "evaluator")
    require_runnable(evaluation.backend, choose_device(config["device"]))
    return evaluation


def _backend(config: Config) -> BackendSettings:
    backend = build(BackendSettings, config["backend"], "backend")
    # Other processes cannot create a game that is defined in this one.
    can_travel = config["game"]["name"] in installed_games()
    return backend.on(choose_device(config["device"]).type if can_travel else "cpu")


def _selfplay(config: Config) -> SelfPlaySettings:
    group = {key: value for key, value in config["selfplay"].items() if key != "game"}
    return build(SelfPlaySettings, group, "selfplay")


def _overlaps(config: Config) -> bool:
    schedule = config["schedule"]
    require(schedule in SCHEDULES, "schedule", f"one of {', '.join(SCHEDULES)}", schedule)
    return bool(schedule == "overlap")


def _game(config: Config, **changed: Any) -> Game:
    return make(**{**config["game"], **changed})


def _selfplay_game(config: Config) -> Game:
    changed = config["selfplay"].get("game") or {}
    require(isinstance(changed, Mapping), "selfplay.game", "settings by name", changed)
    variant = _game(config, **changed)
    game = _game(config) if changed else variant
    for fact in ("num_actions", "observation_shape", "max_game_length"):
        wanted, got = getattr(game, fact), getattr(variant, fact)
        require(wanted == got, f"{fact} with selfplay.game {changed}", f"{wanted} as in game", got)
    return variant


_READERS: Mapping[str, Callable[[Config], Any]] = {  # by field
    "game": _game,
    "seed": _seed,
    "device": lambda config: choose_device(config["device"]),
    "search": search_settings,
    "evaluation": _evaluation,
    "arena": arena_settings,
    "sprt": _group("sprt", SprtSettings),
    "programs": lambda config: config.get("programs", {}),  # training has none
    "selfplay_game": _selfplay_game,
    "network": lambda config: network_settings(config["network"]),
    "selfplay": _selfplay,
    "replay": _group("replay", ReplaySettings),
    "learner": _group("learner", LearnerSettings),
    "plugins": _group("plugins", PluginSettings),
    "supervised": supervised_settings,
    "gate": _group("gate", GateSettings),
    "overlaps": _overlaps,
    "trainer": lambda config: trainer_settings(config["trainer"]),
    "backend": _backend,
    "logger": lambda config: config["logger"],
    "web": lambda config: web_settings(config) if "web" in config else None,
}


def search_player(
    settings: MatchSettings, evaluator: Evaluator, name: str, num_simulations: int | None = None
) -> SearchPlayer:
    """A player that searches with `num_simulations`, by default those of the arena."""
    return SearchPlayer(
        game=settings.game,
        evaluator=evaluator,
        settings=settings.search,
        num_simulations=num_simulations or settings.arena.num_simulations,
        name=name,
    )


def search_baseline(settings: MatchSettings, num_simulations: int | None = None) -> SearchPlayer:
    """The player `search`, unaffected by later methods: see `SearchSettings.baseline`."""
    plain = replace(settings, search=settings.search.baseline())
    name = "search" if num_simulations is None else f"search:{num_simulations}"
    return search_player(plain, UniformEvaluator(settings.game), name, num_simulations)
