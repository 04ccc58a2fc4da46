"""The files of `command=arena`: matches.csv, games.csv, ratings.csv and the figure.

`games.csv` holds whole matches, which are not played again. In both tables, `match` identifies the
match of a row: a few digits of a hash of who plays, and how.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import wrap

from azcore.arena.elo import RatingList
from azcore.arena.match import TABLEBASE, MatchGame, MatchResult
from azcore.arena.sprt import SprtSettings
from azcore.commands.arena.standings import Standing
from azcore.errors import SettingError
from azcore.game import Game
from azcore.settings import require
from azcore.storage.start_states import StartStates
from azcore.storage.table import Table

LETTERS = 36  # of a player's name in the figure
RATINGS = ["rank", "player", "elo", "low", "high", "games", "score", "draws", "los_next", "elo_k"]


MATCHES = [
    "match",
    "player",
    "opponent",
    "games",
    "wins",
    "draws",
    "losses",
    "distinct_games",
    "distinct_pairs",
    "pairs_0",  # distinct pairs of games, by the player's points in a pair
    "pairs_0.5",
    "pairs_1",
    "pairs_1.5",
    "pairs_2",
    "los",  # likelihood of superiority of the player over the opponent
    "verdict",
]


GAMES = [
    "match",
    "game",
    "first",
    "second",
    "opening_plies",
    "actions",
    "outcome",
    "termination",
    "start",  # the position before the first action; empty: the initial one
]


def write_ratings(path: Path, standings: Sequence[Standing]) -> None:
    """Write ratings.csv: the rating list, with Elo to a tenth of a point."""
    rows = [
        {
            "rank": rank,
            "player": line.player,
            "elo": round(line.elo, 1),
            "low": round(line.low, 1),
            "high": round(line.high, 1),
            "games": line.total.games,
            "score": round(line.total.score, 4),
            "draws": line.total.draws,
            "los_next": "" if line.los_next is None else round(line.los_next, 4),
            "elo_k": "" if line.elo_k is None else round(line.elo_k, 1),
        }
        for rank, line in enumerate(standings, 1)
    ]
    Table(path, RATINGS).replace(rows)


class MatchFiles:
    """The matches and games of a folder; both files' names begin with `prefix`."""

    def __init__(self, folder: Path, game: Game, prefix: str = "") -> None:
        self.folder, self.game = folder, game
        self._matches = Table(folder / f"{prefix}matches.csv", MATCHES)
        self._games = Table(folder / f"{prefix}games.csv", GAMES)

    @property
    def paths(self) -> list[Path]:
        """All files written here, and the temporary names under which they are written."""
        own = [self._matches.path, self._games.path]
        return own + [path.with_name(f"{path.name}.tmp") for path in own]

    def require_matches_of(self, wanted: Container[str]) -> None:
        """Refuse a folder with other matches."""
        if any(row.get("match") not in wanted for row in self._matches.rows()):
            raise SettingError(
                f"run_dir {self.folder} holds matches of other players or under other conditions; "
                "set another folder"
            )

    def played(
        self, wanted: Mapping[str, tuple[str, str]], is_whole: Callable[[MatchResult], bool]
    ) -> dict[str, MatchResult]:
        """The matches played before; removes incomplete ones.

        Args:
            wanted: the players of each match, in order.
            is_whole: whether a match has all of its games.

        Raises:
            AzcoreError: the table cannot be read.
        """
        rows = self._games.rows()
        wanted_columns = f"a table of games with the columns {', '.join(GAMES)}"
        fits = not rows or list(rows[0]) == GAMES
        require(fits, str(self._games.path), wanted_columns, list(rows[0]) if rows else [])
        found: dict[str, list[MatchGame]] = {}
        states = StartStates(self.game)
        for row in rows:
            if (match := row.get("match", "")) in wanted:
                game = self._game(row, wanted[match][0], states)
                found.setdefault(match, []).append(game)
        results = {
            match: MatchResult(first=wanted[match][0], second=wanted[match][1], games=games)
            for match, games in found.items()
        }
        whole = {match: result for match, result in results.items() if is_whole(result)}
        if cut := results.keys() - whole.keys():
            self._games.replace(row for row in rows if row["match"] not in cut)
        return whole

    def _game(self, row: Mapping[str, str], first: str, states: StartStates) -> MatchGame:
        cell = partial(self._games.text, row)
        start = cell("start") or None
        state, actions = states.of(start), list[int]()
        for text in cell("actions").split():
            actions.append(self.game.text_to_action(state, text))
            state = self.game.step(state, actions[-1])
        outcome, how = cell("outcome"), cell("termination")
        require(outcome in ("-1", "0", "1"), f"{self._games.path}: outcome", "-1, 0 or 1", outcome)
        limit = self.game.max_game_length
        is_over = self.game.is_terminal(state) or len(actions) >= limit
        return MatchGame(
            first_seat=0 if cell("first") == first else 1,
            opening_plies=self._games.whole(row, "opening_plies"),
            actions=actions,
            outcome=int(outcome),
            forfeit=None if is_over or how == TABLEBASE else how,
            start=start,
            adjudicated=how if how == TABLEBASE and not is_over else None,
        )

    def add(self, match: str, result: MatchResult) -> None:
        """Save a finished match.

        The player in the column `first` has seat 0, `outcome` is in its view, and `actions` are
        texts separated by spaces, including the opening.
        """
        rows, states = [], StartStates(self.game)
        for index, played in enumerate(result.games, 1):
            texts, state = [], states.of(played.start)
            for action in played.actions:
                texts.append(self.game.action_to_text(state, action))
                state = self.game.step(state, action)
            names = [result.first, result.second]
            how = played.forfeit or played.adjudicated or self.game.termination(state)
            rows.append(
                {
                    "match": match,
                    "game": index,
                    "first": names[played.first_seat],
                    "second": names[1 - played.first_seat],
                    "opening_plies": played.opening_plies,
                    "actions": " ".join(texts),
                    "outcome": played.outcome,
                    "termination": how,
                    "start": played.start or "",
                }
            )
        self._games.append(*rows)

    def write(
        self,
        results: Mapping[str, MatchResult],
        rated: RatingList | None = None,
        sprt: SprtSettings | None = None,
    ) -> None:
        """Write matches.csv: one row per pairing; `rated` None: without ratings yet."""
        rows = []
        for match, result in results.items():
            distinct = result.distinct
            los: float | str = ""  # also for a player that no match connects to an anchor
            if rated is not None and {result.first, result.second} <= set(rated.ratings):
                los = round(rated.superiority(result.first, result.second), 4)
            rows.append(
                {
                    "match": match,
                    **result.counted(),
                    "distinct_pairs": distinct.pairs,
                    **dict(zip(MATCHES[9:14], distinct.pentanomial, strict=True)),
                    "los": los,
                    "verdict": sprt.verdict(distinct.pentanomial) if sprt else "",
                }
            )
        self._matches.replace(rows)


def draw_ratings(path: Path, standings: Sequence[Standing]) -> str:
    """Draw ratings.png; returns a sentence naming the file or the missing package."""
    try:
        from matplotlib.figure import Figure  # of the optional extra `plot`
    except ImportError:
        return "ratings.png needs matplotlib: pip install -e '.[plot]'"
    names = [wrap(line.player, LETTERS) or [""] for line in standings]
    lines = max(map(len, names))
    height = 1.2 + (0.2 + 0.15 * lines) * len(standings)
    figure = Figure(figsize=(8, height), layout="constrained")
    axes = figure.add_subplot()
    below = [line.elo - line.low for line in standings]
    above = [line.high - line.elo for line in standings]
    places = range(len(standings), 0, -1)
    axes.errorbar([line.elo for line in standings], places, xerr=(below, above), fmt="o", capsize=4)
    axes.set_ylim(0.4, len(standings) + 0.6)
    axes.set_yticks(list(places), ["\n".join(name) for name in names])
    axes.set_xlabel("Elo, with 95 % intervals")
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=120)
    return f"drawn in {path}"
