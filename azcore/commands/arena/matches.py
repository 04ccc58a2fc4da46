"""The matches of a folder, one after another, without repeats."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from azcore.arena.match import MatchPlan, MatchResult, play_match
from azcore.arena.players import Player
from azcore.arena.spread import play_in_parts
from azcore.arena.sprt import Verdict
from azcore.assembly.entrants import Entrant
from azcore.assembly.parts import MatchSettings
from azcore.commands.arena.files import MatchFiles
from azcore.commands.arena.spread import EntrantsPart, slots_of
from azcore.game import Book, Tablebase
from azcore.selfplay.backend import BackendSettings
from azcore.storage.starts import Starts

SECONDS_A_LINE = 60.0  # between two lines about a match, where no bar is shown
DIGITS = 12  # of the hash that identifies a match

# Plays a match, given both players' indices, a seed and a callback for the number of games ended.
PlayMatch = Callable[[int, int, int, Callable[[int], None]], MatchResult]
# Called after each match: its number from 1, its result, its seconds (None: played before).
Ended = Callable[[int, MatchResult, float | None], None]


@dataclass(frozen=True)
class Pairing:
    """A match to be played."""

    players: tuple[int, int]  # their indices among all players, the first of the match first
    seed: int
    match: str  # its identity, see `match_of`


def match_of(*parts: object) -> str:
    """The identity of a match: digits of a hash of who plays, and how."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:DIGITS]


@dataclass(frozen=True)
class Circumstances:
    """The starting positions, the openings, and the tablebase that ends games."""

    starts: Starts | None = None  # positions; None: the initial one
    book: Book | None = None  # the book of openings; None: openings are random
    tablebase: Tablebase | None = None  # None: games are played to their end


def play_all(
    settings: MatchSettings,
    players: Sequence[Player],
    pairings: Sequence[Pairing],
    play: PlayMatch,
    files: MatchFiles,
    console: Console,
    ended: Ended,
) -> tuple[dict[str, MatchResult], bool]:
    """The results, some perhaps saved in `files` before; and whether Ctrl-C stopped some."""
    arena, sprt = settings.arena, settings.early_stop

    def is_whole(result: MatchResult) -> bool:
        has_all = len(result.games) == arena.games
        return has_all or (
            sprt is not None
            and len(result.games) % 2 == 0
            and sprt.verdict(result.distinct.pentanomial) is not Verdict.OPEN
        )

    places = {each.match: each.players for each in pairings}
    names = {match: (players[a].name, players[b].name) for match, (a, b) in places.items()}
    before = files.played(names, is_whole)
    if before:
        console.print(f"matches saved already: {len(before)}")
    results: dict[str, MatchResult] = {}
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("games"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    try:
        with bar:
            task = bar.add_task("", total=arena.games * len(pairings))
            for number, pairing in enumerate(pairings):
                done, seconds = arena.games * number, None
                title = escape(" – ".join(names[pairing.match]))
                bar.update(task, description=title, completed=done)
                result = before.get(pairing.match)
                if result is None:
                    began = time.perf_counter()
                    count = _counter(bar, task, done, title, arena.games)
                    result = play(*pairing.players, pairing.seed, count)
                    seconds = time.perf_counter() - began
                    files.add(pairing.match, result)
                results[pairing.match] = result
                if seconds is not None or len(results) == len(pairings):
                    files.write(results, None, sprt)
                ended(number + 1, result, seconds)
    except KeyboardInterrupt:
        return results, True
    return results, False


@contextmanager
def player_of_matches(
    settings: MatchSettings,
    backend: BackendSettings,
    entrants: Sequence[Entrant],
    players: Sequence[Player],
    circumstances: Circumstances,
    say: Callable[[str], None],
) -> Iterator[PlayMatch]:
    """The function that plays the matches, here or elsewhere, during the `with` block."""
    arena = settings.arena
    with ExitStack() as stack:
        slots = None
        backend = backend.on(settings.device.type)
        if backend.name != "inline":
            slots = slots_of(settings, backend, entrants, say)
            stack.callback(slots.close)

        def play(
            first: int, second: int, seed: int, progress: Callable[[int], None]
        ) -> MatchResult:
            pair = players[first], players[second]
            plan = MatchPlan(
                num_games=arena.games,
                opening_plies=arena.opening_plies,
                seed=seed,
                sprt=settings.early_stop,
                starts=circumstances.starts,
                book=circumstances.book,
            )
            if slots is not None:
                return play_in_parts(
                    slots,
                    settings.game,
                    (pair[0].name, pair[1].name),
                    lambda openings, seed: EntrantsPart((first, second), openings, seed),
                    progress=lambda done, plies: progress(done),
                    **plan,
                ).result
            try:
                tablebase = circumstances.tablebase
                return play_match(
                    settings.game, *pair, progress=progress, tablebase=tablebase, **plan
                )
            finally:
                for player in pair:
                    player.end()

        yield play


def _counter(
    bar: Progress, task: Any, before: int, title: str, games: int
) -> Callable[[int], None]:
    """A callback for the number of finished games of a match: it moves the bar.

    If the output is not a terminal, it prints a line a minute instead.
    """
    reported = time.monotonic()

    def count(done: int) -> None:
        nonlocal reported
        bar.update(task, completed=before + done)
        if (
            not bar.console.is_terminal
            and time.monotonic() - reported >= SECONDS_A_LINE
            and done < games
        ):
            reported = time.monotonic()
            bar.console.print(f"{title}: {done:,} of {games:,} games")

    return count
