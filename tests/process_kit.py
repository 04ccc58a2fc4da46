"""Workers in other processes for tests: what they are built of, and faults that they can have."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import azcore
from azcore.errors import SettingError
from azcore.search.evaluators import Evaluator
from azcore.selfplay.actor import Actor
from azcore.selfplay.crew import Recipe, Weights
from azcore.selfplay.processes import ProcessCrew
from azcore.selfplay.schedule import SelfPlaySettings
from reference_mcts import HashEvaluator
from search_kit import search_settings
from selfplay_kit import selfplay_settings

GAME = azcore.make("tic_tac_toe")


@dataclass(frozen=True)
class HashWeights(Weights):
    """Arbitrary weights; those of another version play other games."""

    version: int

    def evaluator(self, callers: int) -> Evaluator:
        return HashEvaluator(GAME, self.version)

    def packed(self) -> bytes:
        return b"hashes"


def unpacked(packed: bytes, version: int) -> Weights:
    assert packed == b"hashes"
    return HashWeights(version)


@dataclass(frozen=True)
class SmallRecipe(Recipe):
    """Workers of tic-tac-toe without a network.

    Args:
        settings: of self-play.
        fault: what goes wrong as they are built; empty: nothing.
    """

    settings: SelfPlaySettings
    fault: str = ""

    def build(
        self, numbers: Sequence[int], process: int
    ) -> tuple[Actor, Callable[[bytes, int], Weights]]:
        if self.fault == "dies":
            os._exit(3)
        if self.fault == "refuses":
            raise SettingError("a setting must be one, got another")
        return small_actor(self.settings, numbers), unpacked


def small_actor(settings: SelfPlaySettings, numbers: Sequence[int] | None = None) -> Actor:
    return Actor(
        game=GAME,
        search=search_settings(num_simulations=12),
        settings=settings,
        seed=1,
        evaluator=HashEvaluator(GAME),
        numbers=numbers,
    )


def small_settings(workers: int) -> SelfPlaySettings:
    return selfplay_settings(num_games=7, workers=workers, branch_share=0.2)


def small_crew(
    settings: SelfPlaySettings,
    processes: int,
    *,
    fault: str = "",
    say: Callable[[str], None] = lambda _: None,
) -> ProcessCrew:
    return ProcessCrew(
        game=GAME,
        settings=settings,
        recipe=SmallRecipe(settings, fault),
        processes=processes,
        restarts=2,
        say=say,
        environment={"PYTHONPATH": str(Path(__file__).parent)},
    )
