"""`azcore.arena`: matches between players, and their ratings."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from azcore.arena.elo import rating_list
from azcore.arena.match import MatchResult, derived_seed, play_match
from azcore.arena.players import Player as Entrant
from azcore.assembly.entrants import (
    KINDS,
    checkpoints_of,
    players_named,
    split_search,
    with_own_names,
)
from azcore.assembly.parts import MatchSettings, search_player, settings_from
from azcore.assembly.pretrained import is_pretrained
from azcore.commands.arena.printed import describe_anchors
from azcore.commands.arena.standings import standings_of
from azcore.commands.arena.tournament import (
    anchors_met,
    anchors_of,
    known_of,
    require_positions,
    require_two_for_sprt,
)
from azcore.engine.programs import is_program
from azcore.errors import GameError, SettingError
from azcore.game import Game
from azcore.library.columns import Columns
from azcore.library.html import tag
from azcore.library.player import Player, load
from azcore.library.runs import Run
from azcore.library.settings import arguments, settings_of
from azcore.settings import require

Choice = Callable[[Any], int]  # state -> action
COLUMNS = ("player", "elo", "low", "high", "games", "score", "draws")


class Ratings:
    """The ratings from some matches, the strongest player first.

    Attributes:
        matches: each match with its games, move by move.
    """

    def __init__(self, matches: Sequence[MatchResult], anchors: Mapping[str, float]) -> None:
        self.matches = list(matches)
        self._anchors = anchors_met(anchors, matches)
        self._rated = rating_list([match.distinct for match in matches], self._anchors)

    def table(self) -> Columns:
        """A row for each player.

        Columns: `player`; `elo`, for an anchor as given; `low` and `high`, its 95 % interval;
        `games` that differ; `score`, the share of their points; `draws`, their share.
        """
        rows = [
            {
                "player": line.player,
                "elo": line.elo,
                "low": line.low,
                "high": line.high,
                "games": line.total.games,
                "score": line.total.score,
                "draws": line.total.draws / max(1, line.total.games),
            }
            for line in standings_of(self.matches, self._rated, None)
        ]
        return Columns.of_rows(COLUMNS, rows)

    def superiority(self, player: str, other: str) -> float:
        """The probability that the first of two players is the stronger, given the results."""
        return self._rated.superiority(player, other)

    def _shown(self) -> Columns:
        table = self.table()
        for name in ("elo", "low", "high"):
            table[name] = [round(value) for value in table[name]]
        for name in ("score", "draws"):
            table[name] = [f"{value:.1%}" for value in table[name]]
        return table

    def __repr__(self) -> str:
        return f"{self._shown()!r}\n{self._note()}"

    def _repr_html_(self) -> str:
        return self._shown()._repr_html_() + tag("p", self._note())

    def _note(self) -> str:
        return f"Elo relative to {describe_anchors(self._anchors)}, with 95 % intervals"


@dataclass
class _Chooser(Entrant):
    """A player that calls a function from a state to an action."""

    game: Game
    choice: Choice
    name: str

    def begin(self, num_games: int, seed: int) -> None:
        self._states: list[Any] = [None] * num_games

    def start(self, row: int, state: Any, opening: Sequence[int] | None = None) -> None:
        self._states[row] = state

    def choose(self, rows: list[int]) -> list[int]:
        return [int(self.choice(self._states[row])) for row in rows]

    def advance(self, row: int, action: int) -> None:
        self._states[row] = self.game.step(self._states[row], action)


def arena(
    players: Sequence[Player | Run | str | os.PathLike[str] | Choice],
    *changes: str,
    game: Game | None = None,
    games: int | None = None,
    simulations: int | None = None,
    seed: int | None = None,
    quiet: bool = False,
) -> Ratings:
    """Matches between every two players, and the resulting ratings.

    Games come in pairs with the seats swapped, from random openings. Ctrl-C ends it early and rates
    the matches played so far.

    Args:
        players: each a player or a run; a text as for `load`, `random`, `search:64` (search
            without a network) or another program; or a function from a state to an action.
        changes: `KEY=VALUE` each, as for `command=arena`, such as `arena.opening_plies=4`, except
            for output and backend.
        game: the game to play; None: the game of the first player that has one.
        games: the games per match, even; None: as in the settings, here and below.
        simulations: the simulations per move of each player.
        seed: the seed of openings; the same seed repeats the matches.
        quiet: print nothing.

    Raises:
        SettingError: fewer than two players, or a text that does not name one.
        GameError: no player determines the game, or one was trained on another.
        KeyboardInterrupt: before any match had ended.
    """
    listed = [_loaded(player) for player in players]
    if len(listed) < 2:
        raise SettingError(f"players must be two or more, got {len(listed)}")
    game = game or next(filter(None, map(_game_of, listed)), None)
    if game is None:
        raise GameError("no player determines the game: pass game=azcore.make(...)")
    numbers = {"arena.games": games, "arena.num_simulations": simulations, "seed": seed}
    given = arguments({key: value for key, value in numbers.items() if value is not None})
    composed = settings_of(game, "command=arena", "players=[random]", *given, *changes)
    settings = settings_from(composed, MatchSettings)
    _require_plain(composed)
    entrants = _entrants(settings, listed)
    names = [entrant.name for entrant in entrants]
    anchors = anchors_of(settings.arena, names)
    require_two_for_sprt(settings.arena, names)
    return Ratings(_play_all(settings, entrants, quiet), anchors)


def _require_plain(composed: Mapping[str, Any]) -> None:
    """Refuse settings that only `command=arena` supports, by name."""
    arena = composed["arena"]
    require("runs" not in arena, "arena", "tournament here (command=arena has comparisons)", arena)
    for key, value, plain in (
        ("run_dir", composed["run_dir"], None),
        ("backend", composed["backend"]["name"], "inline"),
        ("arena.export", arena["export"], None),
        ("arena.format", arena["format"], "round_robin"),
        ("arena.teaching_k", arena["teaching_k"], None),
    ):
        wanted = "null" if plain is None else plain
        require(value == plain, key, f"{wanted} here (command=arena has others)", value)


def _loaded(player: Player | Run | str | os.PathLike[str] | Choice) -> Player | str | Choice:
    """The player of a run, or of the checkpoint at a path."""
    if isinstance(player, Run):
        return player.player()
    if isinstance(player, os.PathLike):
        return load(player)
    if isinstance(player, str) and player.startswith("pretrained/") and "=" not in player:
        return load(player)
    if isinstance(player, Player | str) or callable(player):
        return player
    raise SettingError(
        f"a player must be a Player, a Run, a text or a function of a state, got {player!r:.80}"
    )


def _game_of(player: Player | str | Choice) -> Game | None:
    """The game of a player's network, if it states one."""
    if (
        isinstance(player, str)
        and player.partition(":")[0] not in KINDS
        and not is_program(player, {})
    ):
        place, _ = split_search(player)
        folder = Path(place.rpartition("@")[0] or place)
        if (
            is_pretrained(place)
            or Path(place).suffix == ".ckpt"
            or (folder / "checkpoints").is_dir()
        ):
            player = load(checkpoints_of(place)[0])
    return player.game if isinstance(player, Player) else None


def _entrants(settings: MatchSettings, players: Sequence[Player | str | Choice]) -> list[Entrant]:
    """The players of a match, with distinct names."""
    entrants: list[Entrant] = []
    for player in players:
        if isinstance(player, str):
            entrants += players_named(settings, [player])
        elif isinstance(player, Player):
            player.require_game(settings.game)
            entrants.append(search_player(settings, player.evaluator, player.name))
        else:
            name = getattr(player, "__name__", type(player).__name__)
            entrants.append(_Chooser(settings.game, player, name))
    return with_own_names(entrants)


def _play_all(
    settings: MatchSettings, entrants: Sequence[Entrant], quiet: bool
) -> list[MatchResult]:
    """The matches; after Ctrl-C the finished ones."""
    arena, starts = settings.arena, settings.arena_starts()
    book, tablebase = known_of(arena, settings.game)
    require_positions(entrants, starts)
    pairings = list(combinations(entrants, 2))
    results: list[MatchResult] = []
    try:
        for number, (first, second) in enumerate(pairings):
            try:
                result = play_match(
                    settings.game,
                    first,
                    second,
                    num_games=arena.games,
                    opening_plies=arena.opening_plies,
                    seed=derived_seed(settings.seed, number),
                    sprt=settings.early_stop,
                    starts=starts,
                    book=book,
                    tablebase=tablebase,
                )
            finally:
                for entrant in (first, second):
                    entrant.end()
            results.append(result)
            if not quiet:
                print(
                    f"{number + 1} of {len(pairings)}: {first.name} – {second.name} "
                    f"{result.score:.1%} of {len(result.games)} games",
                    file=sys.stderr,
                )
    except KeyboardInterrupt:
        require(bool(results), "matches", "one or more before Ctrl-C", len(results))
    return results
