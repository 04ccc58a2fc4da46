"""How strongly the engine plays: at one of five levels, or with a number of simulations or seconds.

A page names the strength of each seat as text: a level, `200` simulations, or `3s` a move. All
games have the same levels; docs/experiments.md has matches between neighbouring ones.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from azcore.engine.thought import Limits
from azcore.game import ByteArray, FloatArray, Game
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.search.settings import SearchSettings
from azcore.web.requests import RefusedError


class Way(NamedTuple):
    """How to choose moves."""

    # Whether the player's network judges positions; else all have value 0 and equal priors.
    network: bool
    simulations: int  # per move
    noise: float = 0.0  # of the policy, see `NoisyEvaluator`

    @property
    def words(self) -> str:
        if self.noise == DRAWN:
            return "draws moves from the network's policy" if self.network else "plays random moves"
        judge = "network" if self.network else "search without a network"
        return f"{judge}, {self.simulations} simulation{'s' if self.simulations > 1 else ''}"


DRAWN = 1.0  # noise with which one simulation draws a move from the policy
TIES = 0.01  # noise that decides between moves that are alike, which have an order otherwise


class Level(NamedTuple):
    """A strength with a name: with a network, and without one."""

    title: str
    with_network: Way
    alone: Way


LEVELS = {  # weakest first
    "beginner": Level("Beginner", Way(False, 1, DRAWN), Way(False, 1, DRAWN)),
    "easy": Level("Easy", Way(True, 1, DRAWN), Way(False, 25, TIES)),
    "medium": Level("Medium", Way(True, 1), Way(False, 100, TIES)),
    "hard": Level("Hard", Way(True, 50), Way(False, 400, TIES)),
    "full": Level("Full strength", Way(True, 800), Way(False, 1600, TIES)),
}


def level(name: str, has_network: bool) -> Way:
    return LEVELS[name].with_network if has_network else LEVELS[name].alone


def describe_levels(has_network: bool) -> list[tuple[str, str, str]]:
    """Name, title and description of each level, weakest first."""
    return [(name, LEVELS[name].title, level(name, has_network).words) for name in LEVELS]


class Strength(NamedTuple):
    """How a seat of the engine plays: at a level, or within the visitor's own limits."""

    text: str  # its name in a page
    limits: Limits  # the limits of the search of a move
    way: Way | None = None  # the level's way; None: simulations or seconds


def strength(text: object, has_network: bool, most: int, most_seconds: float) -> Strength:
    """The strength that a page names.

    Args:
        text: a level, simulations, or seconds with an s.
        has_network: whether the player has a network.
        most: the most simulations.
        most_seconds: the most seconds a move.

    Raises:
        RefusedError: the text names none.
    """
    text = text if isinstance(text, str) else str(text)
    if text in LEVELS:
        way = level(text, has_network)
        way = way._replace(simulations=min(way.simulations, most))
        limits = Limits(simulations=way.simulations, forced_wins=way.noise < DRAWN)
        return Strength(text, limits, way)
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)s|(\d{1,9})", text)
    if found and found[1] and 0 < float(found[1]) <= most_seconds:
        return Strength(text, Limits(seconds=float(found[1]), forced_wins=True))
    if found and found[2] and 1 <= int(found[2]) <= most:
        return Strength(text, Limits(simulations=int(found[2]), forced_wins=True))
    raise RefusedError(
        f"a strength must be one of {', '.join(LEVELS)}, 1 to {most:,} simulations, or seconds "
        f"such as 3s, at most {most_seconds:g}s; got {text[:40]!r}"
    )


class NoisyEvaluator(Evaluator):
    """Adds Gumbel noise to the policy, times a scale.

    With a scale of 1, the highest legal logit is a draw from the policy (Gumbel 1954), and a search
    of one simulation plays it.
    """

    def __init__(self, evaluator: Evaluator, scale: float) -> None:
        self._evaluator, self._scale = evaluator, scale
        self._rng = np.random.default_rng()

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        logits, values = self._evaluator.evaluate(observations)
        noise = self._rng.gumbel(scale=self._scale, size=logits.shape)
        return (logits + noise).astype(np.float32), values


def evaluator_for(way: Way, game: Game, own: Evaluator, has_network: bool) -> Evaluator:
    """The evaluator for this way.

    Args:
        way: a level's way.
        game: the player's game.
        own: the player's evaluator, at the server's pace.
        has_network: whether that is a network; else uniform.
    """
    evaluator = own if way.network or not has_network else UniformEvaluator(game)
    return NoisyEvaluator(evaluator, way.noise) if way.noise else evaluator


def search_for(way: Way, search: SearchSettings) -> SearchSettings:
    """The player's search for this way; one that draws from the policy ignores proven wins."""
    return replace(search, proof_plies=0) if way.noise == DRAWN else search


def claims(checkpoint: Path) -> Mapping[str, str]:
    """The match scores of levels with a network, by level; none without a table.

    A table `NAME.levels.csv` next to the checkpoint has a row for each match against the level
    below: `level,points,games`.
    """
    table = checkpoint.with_suffix(".levels.csv")
    if not table.is_file():
        return {}
    below = dict(zip(list(LEVELS)[1:], LEVELS.values(), strict=False))
    with table.open(newline="") as file:
        return {
            row["level"]: f"scored {row['points']} of {row['games']} points "
            f"against {below[row['level']].title}"
            for row in csv.DictReader(file)
            if row.get("level") in below
        }
