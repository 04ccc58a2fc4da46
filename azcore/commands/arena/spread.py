"""Matches of a tournament in several processes or in actors of a cluster, as `backend` says.

Each member makes the players by itself, from the same texts, and plays some pairs of each match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from azcore.arena.match import play_from
from azcore.arena.spread import Played, Start, openings_at
from azcore.assembly.entrants import players_from
from azcore.assembly.parts import Config, Settings, settings_from
from azcore.assembly.quarters import quarters_of
from azcore.game.faults import game_faults
from azcore.selfplay.backend import BackendSettings
from azcore.selfplay.crew import Weights
from azcore.selfplay.jobs import Job, Tell, Workplace, Workplaces
from azcore.selfplay.member import Member, Recipe
from azcore.selfplay.remote import RemoteWorkplaces, members_in
from azcore.selfplay.sizes import available_cores


class ArenaWorkplace(Workplace):
    """Where parts of matches are played, one at a time.

    Args:
        settings: of the matches.
        texts: of the players.

    Attributes:
        players: in the order of their texts.
        tablebase: what knows how games end, if `arena.tablebase` names one.
    """

    def __init__(self, settings: Settings, texts: Sequence[str]) -> None:
        super().__init__(settings.game, _no_weights, at_once=1)
        self.players = players_from(settings, texts)
        folder = settings.arena.tablebase
        self.tablebase = None if folder is None else settings.game.tablebase(folder)


def _no_weights(packed: bytes, version: int) -> Weights:
    raise NotImplementedError


@dataclass(frozen=True)
class ArenaRecipe(Recipe):
    """Builds a member that plays parts of matches.

    Args:
        config: from which the settings of the tournament were made.
        texts: of the players.
        threads: cores for the networks of a member.
    """

    config: Config
    texts: Sequence[str]
    threads: int

    def build(self, numbers: Sequence[int], process: int) -> Member:
        settings = settings_from(self.config)
        device = settings.device
        if str(device) == "cuda":  # one of them for each member, in turn
            device = torch.device("cuda", process % torch.cuda.device_count())
        evaluation = replace(settings.evaluation, threads=self.threads)
        settings = replace(settings, device=device, evaluation=evaluation)
        return Member(ArenaWorkplace(settings, self.texts))


@dataclass(frozen=True)
class EntrantsPart(Job[Played]):
    """Some pairs of games between two of the players.

    Args:
        players: their places among all.
        openings: where games begin.
        seed: of the players.
    """

    players: tuple[int, int]
    openings: list[Start]
    seed: int

    def do(self, place: Workplace, weights: Sequence[bytes], tell: Tell) -> Played:
        assert isinstance(place, ArenaWorkplace)
        first, second = (place.players[number] for number in self.players)
        try:
            with game_faults():
                openings = openings_at(place.game, self.openings)
                games = play_from(
                    place.game, (first, second), openings, self.seed, tell, place.tablebase
                )
        finally:
            first.end()
            second.end()
        return Played(games, evaluations=0)


def workplaces_of(
    config: Config,
    settings: Settings,
    backend: BackendSettings,
    texts: Sequence[str],
    say: Callable[[str], None],
) -> Workplaces:
    """As many workplaces as `backend` says, or as this machine has cores.

    Args:
        config: from which the settings were made.
        settings: of the tournament.
        backend: elsewhere than in this process.
        texts: of the players.
        say: called with a sentence.

    Raises:
        SettingError: the backend cannot have them.
    """
    backend.require_device(settings.device.type)
    stated = backend.actors if backend.name == "ray" else backend.processes
    count = stated or available_cores()
    cores = settings.evaluation.threads or available_cores()
    threads = max(1, cores // count)
    if backend.name == "ray":
        threads = max(1, int(backend.num_cpus or 1))
    environment = {"OMP_NUM_THREADS": str(threads)}
    quarters = quarters_of(backend, count, count, say, environment)
    recipe = ArenaRecipe(config, texts, threads)
    members = members_in(quarters, recipe, count, "arena", backend.restarts, say)
    return RemoteWorkplaces(quarters, members)
