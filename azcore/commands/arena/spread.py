"""Matches of a tournament in several processes or in actors of a cluster, by `backend`.

Each member builds the players from the same checkpoints and texts, and plays some pairs of each
match.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from azcore.arena.spread import Played, Start, play_part
from azcore.assembly.entrants import Entrant, players_of
from azcore.assembly.launcher import launcher_of
from azcore.assembly.parts import MatchSettings
from azcore.assembly.selfplay import device_of_member
from azcore.engine.process import Process
from azcore.networks.backends import require_runnable
from azcore.selfplay.backend import BackendSettings
from azcore.selfplay.jobs import Job, JobContext, JobSlots, Tell
from azcore.selfplay.member import Member, Recipe
from azcore.selfplay.remote import RemoteSlots, members_in
from azcore.selfplay.sizes import available_cores
from azcore.selfplay.weights import Weights


class ArenaContext(JobContext):
    """What the parts of a tournament's matches need; a member plays one part at a time.

    Attributes:
        players: the players in the order of the entrants.
        tablebase: the one that `arena.tablebase` names, if any.
    """

    def __init__(self, settings: MatchSettings, entrants: Sequence[Entrant]) -> None:
        super().__init__(settings.game, _no_weights, at_once=1)
        self.players = players_of(settings, entrants)
        folder = settings.arena.tablebase
        self.tablebase = None if folder is None else settings.game.tablebase(folder)


def _no_weights(packed: bytes, version: int) -> Weights:
    raise NotImplementedError("players of a tournament have their networks before a job arrives")


@dataclass(frozen=True)
class ArenaRecipe(Recipe):
    """Builds a member that plays parts of matches."""

    settings: MatchSettings
    entrants: Sequence[Entrant]
    threads: int  # cores for the networks of a member

    def build(self, numbers: Sequence[int], process: int) -> Member:
        Process.joins_group = True  # programs end with this process, however it ends
        evaluation = replace(self.settings.evaluation, threads=self.threads)
        device = device_of_member(self.settings.device, process)
        require_runnable(evaluation.backend, device)
        settings = replace(self.settings, device=device, evaluation=evaluation)
        return Member(ArenaContext(settings, self.entrants))


@dataclass(frozen=True)
class EntrantsPart(Job[Played]):
    """Some pairs of games between two players."""

    players: tuple[int, int]  # their indices among all players
    openings: list[Start]
    seed: int

    def do(self, context: JobContext, weights: Sequence[bytes], tell: Tell) -> Played:
        assert isinstance(context, ArenaContext)
        first, second = (context.players[number] for number in self.players)
        try:
            games = play_part(
                context.game, (first, second), self.openings, self.seed, tell, context.tablebase
            )
        finally:
            first.end()
            second.end()
        return Played(games, evaluations=0)


def slots_of(
    settings: MatchSettings,
    backend: BackendSettings,
    entrants: Sequence[Entrant],
    say: Callable[[str], None],
) -> JobSlots:
    """Slots of a backend other than inline: one per core unless set, at most one per pair."""
    backend.require_device(settings.device.type)
    stated = backend.actors if backend.name == "ray" else backend.processes
    count = min(stated or available_cores(), settings.arena.games // 2)
    cores = settings.evaluation.threads or available_cores()
    threads = max(1, cores // count)
    if backend.name == "ray":
        threads = max(1, int(backend.num_cpus or 1))
    environment = {"OMP_NUM_THREADS": str(threads)}
    launcher = launcher_of(backend, count, count, say, environment)
    recipe = ArenaRecipe(settings, entrants, threads)
    members = members_in(launcher, recipe, count, "arena", backend.restarts, say)
    return RemoteSlots(launcher, members)
