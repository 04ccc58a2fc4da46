"""A match spread over several slots: each plays some of the pairs, as a job.

The number of parts is the run's number of workers, which a run keeps. So the place of its parts
does not change a match, except for the rounding of networks on another kind of machine.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from typing import NamedTuple, Unpack

from azcore.arena.match import (
    MatchGame,
    MatchPlan,
    MatchResult,
    Opening,
    derived_seed,
    match_of,
    play_from,
)
from azcore.arena.players import Player, RandomPlayer, SearchPlayer
from azcore.errors import AzcoreError
from azcore.game import Game, Tablebase
from azcore.game.faults import game_faults
from azcore.search.evaluators import CountingEvaluator, Evaluator, UniformEvaluator
from azcore.search.settings import SearchSettings
from azcore.selfplay.jobs import Job, JobContext, JobSlots, Tell
from azcore.storage.start_states import StartStates

Start = tuple[str | None, list[int]]  # a position, or None for the initial one, and actions from it
LOOK = 0.25  # seconds between two checks of how many games have ended


@dataclass(frozen=True, kw_only=True)
class Contender:
    """What to build a player from, wherever it plays."""

    name: str
    search: SearchSettings | None = None  # None: it plays any legal action
    weights: bytes | None = None  # see `Weights.packed`; None: no network, equal priors
    version: int = 0  # optimizer steps behind the weights


class SpreadMatch(NamedTuple):
    """A match and what it cost."""

    result: MatchResult
    evaluations: int  # positions that networks evaluated
    seconds: float


class Played(NamedTuple):
    """A part of a match."""

    games: list[MatchGame]
    evaluations: int


@dataclass(frozen=True, kw_only=True)
class MatchPart(Job[Played]):
    """Two games from each of some openings."""

    players: tuple[Contender, Contender]  # the first and the second, without weights
    openings: list[Start]
    seed: int

    def do(self, context: JobContext, weights: Sequence[bytes], tell: Tell) -> Played:
        left = iter(weights)
        counting: list[CountingEvaluator] = []

        def player(contender: Contender) -> Player:
            if contender.search is None:
                return RandomPlayer(game=context.game, name=contender.name)
            evaluator: Evaluator = UniformEvaluator(context.game)
            if contender.weights is not None:
                network = context.evaluator(next(left), contender.version)
                counting.append(CountingEvaluator(network))
                evaluator = counting[-1]
            return SearchPlayer(
                game=context.game,
                evaluator=evaluator,
                settings=contender.search,
                name=contender.name,
            )

        first, second = (player(contender) for contender in self.players)
        games = play_part(context.game, (first, second), self.openings, self.seed, tell)
        return Played(games, sum(evaluator.count for evaluator in counting))


@game_faults()
def play_part(
    game: Game,
    players: tuple[Player, Player],
    openings: Sequence[Start],
    seed: int,
    tell: Tell,
    tablebase: Tablebase | None = None,
) -> list[MatchGame]:
    """`azcore.arena.match.play_from` for openings sent without their states."""
    states, reached = StartStates(game), []
    for start, actions in openings:
        state = states.of(start)
        for action in actions:
            state = game.step(state, action)
        reached.append(Opening(start, actions, state))
    return play_from(game, players, reached, seed, tell, tablebase)


def play_spread(
    slots: JobSlots,
    game: Game,
    first: Contender,
    second: Contender,
    *,
    progress: Callable[[int, int], None] | None = None,
    **plan: Unpack[MatchPlan],
) -> SpreadMatch:
    """Play a match of contenders, see `play_in_parts`.

    Raises:
        AzcoreError: see `play_in_parts`.
    """
    contenders = (first, second)
    here = tuple(
        replace(contender, weights=None if contender.weights is None else b"")
        for contender in contenders
    )
    return play_in_parts(
        slots,
        game,
        (first.name, second.name),
        lambda starts, seed: MatchPart(players=(here[0], here[1]), openings=starts, seed=seed),
        [each.weights for each in contenders if each.weights is not None],
        progress=progress,
        **plan,
    )


@game_faults()
def play_in_parts(
    slots: JobSlots,
    game: Game,
    names: tuple[str, str],
    part_of: Callable[[list[Start], int], Job[Played]],
    weights: Sequence[bytes] = (),
    *,
    progress: Callable[[int, int], None] | None = None,
    **plan: Unpack[MatchPlan],
) -> SpreadMatch:
    """Play a match whose parts are jobs.

    Args:
        slots: where to play; each has one part of the match, as long as there are pairs.
        part_of: makes the job of a part from its openings and a seed.
        weights: that every part needs.
        progress: called from time to time, on this thread, with the number of games that have
            ended and the number of plies played in the others.

    Raises:
        AzcoreError: as `play_match`, or the process or actor of a slot is permanently lost.
    """
    began, evaluations = time.perf_counter(), 0
    published = [slots.published(packed) for packed in weights]

    def play(openings: Sequence[Opening], seed: int, done: int) -> list[MatchGame]:
        nonlocal evaluations
        count = min(slots.count, len(openings))
        watch = _Watch(count)
        parts = []
        for number in range(count):
            own = [(opening.start, opening.actions) for opening in openings[number::count]]
            job = part_of(own, derived_seed(seed, number))
            parts.append(slots.begin(number, job, published, watch.of(number)))
        try:
            while wait(parts, timeout=LOOK).not_done:
                _raise_first(parts)
                if progress is not None:
                    progress(done + watch.ended, watch.plies)
            _raise_first(parts)
        except BaseException:
            for part in parts:
                part.cancel()
            raise
        games: list[MatchGame | None] = [None] * (2 * len(openings))
        for number, part in enumerate(parts):
            played = part.result()
            evaluations += played.evaluations
            # Pairs `number`, `number` + count, ... of the match.
            for seat in range(2):
                games[2 * number + seat :: 2 * count] = played.games[seat::2]
        if progress is not None:
            progress(done + len(games), 0)
        return [game for game in games if game is not None]

    result = match_of(game, names, play, **plan)
    return SpreadMatch(result, evaluations, time.perf_counter() - began)


def _raise_first(parts: Sequence[Future[Played]]) -> None:
    """Raise the error of a failed part; an error of a game or of settings takes priority."""
    errors = [error for part in parts if part.done() and (error := part.exception())]
    errors.sort(key=lambda error: not isinstance(error, AzcoreError))
    if errors:
        raise errors[0]


class _Watch:
    """The progress of the parts of a match."""

    def __init__(self, parts: int) -> None:
        self._ended, self._plies = [0] * parts, [0] * parts

    def of(self, part: int) -> Tell:
        """Update a part's progress after each ply, on its thread."""

        def tell(ended: int) -> None:
            self._ended[part] = ended
            self._plies[part] += 1

        return tell

    @property
    def ended(self) -> int:
        return sum(self._ended)

    @property
    def plies(self) -> int:
        return max(self._plies)
