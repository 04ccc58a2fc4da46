"""A match: two players, pairs of games with colours swapped, all games at once.

Both games of a pair begin from the same opening, so neither player gains from a lucky one. Without
openings, deterministic players would repeat the same game forever. A result therefore reports how
many of its games are distinct.

Letters: G games of the match; rows 2i and 2i + 1 are a pair, and `first` has seat 0 in the even
one.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Required, TypedDict, Unpack

import numpy as np

from azcore.arena.elo import MatchScore, PairScore
from azcore.arena.players import RESIGNATION, Decision, Forfeit, Player
from azcore.arena.sprt import PAIRS, SprtSettings, Verdict
from azcore.errors import IllegalActionError
from azcore.game import Book, Game, Tablebase, illegal_action_message
from azcore.game.batch import make_batch
from azcore.game.faults import game_faults
from azcore.settings import (
    NOT_NEGATIVE,
    ONE_OR_MORE,
    POSITIVE,
    Checked,
    build_group,
    one_of,
    or_null,
    require,
)
from azcore.storage.books import choose
from azcore.storage.starts import Starts, require_plies

TABLEBASE = "tablebase"  # how a game ended if the tablebase gave its outcome
OPENING_ATTEMPTS = 200  # attempts at a new opening before a game counts as having no more


FORMATS = ("round_robin", "gauntlet")


@dataclass(frozen=True, kw_only=True)
class ArenaSettings(Checked, group="arena"):
    """How to measure strength; the numbers and reasons are in `conf/arena`."""

    games: Annotated[int, PAIRS]
    opening_plies: Annotated[int, NOT_NEGATIVE]
    starts: tuple[str, ...]  # files, see `azcore.storage.starts`; empty: the initial position
    start_plies: tuple[int, ...]
    book: str | None
    tablebase: str | None
    num_simulations: Annotated[int, ONE_OR_MORE]
    every_generations: Annotated[int | None, or_null(ONE_OR_MORE, "null for no ratings")]
    format: Annotated[str, one_of(FORMATS)]
    sprt: bool
    anchors: dict[str, float] | None
    export: str | None
    teaching_k: Annotated[float | None, or_null(POSITIVE, "null for no such column")]

    def __post_init__(self) -> None:
        super().__post_init__()
        require_plies(self.start_plies or (0,), "arena.start_plies")


# Settings that ratings during training lack, and the one that only they have.
LEFT_OUT: Mapping[str, Any] = {
    **dict.fromkeys(("starts", "start_plies"), ()),
    **dict.fromkeys(("book", "tablebase", "anchors", "export", "teaching_k")),
    **{"format": FORMATS[0], "sprt": False, "games": 2, "every_generations": 1},
    "opening_plies": 0,
}


def arena_settings(config: Mapping[str, Any]) -> ArenaSettings:
    """The group `arena`; the number of simulations is that of the search, unless it has its own.

    Raises:
        SettingError: a setting cannot be used.
    """
    return build_group(ArenaSettings, config, "arena", LEFT_OUT, ["num_simulations"])


@dataclass(frozen=True, kw_only=True)
class MatchGame:
    """One game of a match."""

    first_seat: int  # seat of the match's first player
    opening_plies: int  # how many actions belong to the opening
    actions: list[int]  # [T], opening included
    outcome: int  # z, view of seat 0
    forfeit: str | None = None  # why the loser forfeits, if the rules did not end the game
    start: str | None = None  # the position before the first action; None: the initial one
    adjudicated: str | None = None  # source of the outcome, if the game did not reach its end

    @property
    def loser(self) -> int:
        """The seat that lost; the game must not be a draw."""
        return 0 if self.outcome < 0 else 1

    @property
    def points(self) -> float:
        """Points of the match's first player: 1, 1/2 or 0."""
        return 0.5 + 0.5 * (self.outcome if self.first_seat == 0 else -self.outcome)


@dataclass(frozen=True, kw_only=True)
class MatchResult:
    """The result of a match; wins, draws and losses are those of `first`."""

    first: str
    second: str
    games: list[MatchGame]  # [G], the games of a pair next to each other

    def of_seat(self, seat: int | None) -> MatchScore:
        """The result of the games in which `first` had this seat; None: all games."""
        points = [g.points for g in self.games if seat is None or g.first_seat == seat]
        return MatchScore(
            player=self.first,
            opponent=self.second,
            wins=points.count(1.0),
            draws=points.count(0.5),
            losses=points.count(0.0),
        )

    @property
    def wins(self) -> int:
        return self.of_seat(None).wins

    @property
    def draws(self) -> int:
        return self.of_seat(None).draws

    @property
    def losses(self) -> int:
        return self.of_seat(None).losses

    @property
    def score(self) -> float:
        """Share of the points made by `first`, in [0, 1]."""
        return self.of_seat(None).score

    @property
    def distinct(self) -> PairScore:
        """The pairs of games as ratings use them: repeated pairs count once."""
        joint = [[0, 0, 0] for _ in range(3)]
        for one, other in self._distinct_pairs():
            joint[int(2 * one.points)][int(2 * other.points)] += 1
        a, b, c = ((row[0], row[1], row[2]) for row in joint)
        return PairScore(player=self.first, opponent=self.second, joint=(a, b, c))

    def counted(self) -> dict[str, Any]:
        """The columns of every table of matches: the players and their results."""
        return {
            "player": self.first,
            "opponent": self.second,
            "games": len(self.games),
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "distinct_games": self.distinct_games,
        }

    @property
    def failures(self) -> dict[str, int]:
        """By player: games lost by a failure, rather than by the rules or by resignation."""
        lost = Counter(
            self.first if game.loser == game.first_seat else self.second
            for game in self.games
            if game.forfeit not in (None, RESIGNATION)
        )
        return dict(lost)

    @property
    def distinct_games(self) -> int:
        """Games that differ in a move; if far below G, the result is weaker than it looks."""
        return len({(game.start, *game.actions) for game in self.games})

    def _distinct_pairs(self) -> list[tuple[MatchGame, MatchGame]]:
        """Pairs that differ in a move of either game; `first` has seat 0 in the first of a pair."""
        pairs: dict[Any, tuple[MatchGame, MatchGame]] = {}
        for game, other in zip(self.games[::2], self.games[1::2], strict=True):
            moves = (game.start, tuple(game.actions), tuple(other.actions))
            pairs.setdefault(moves, (game, other))
        return list(pairs.values())


class MatchPlan(TypedDict, total=False):
    """What determines a match besides its game and its players."""

    num_games: Required[int]  # G, even
    # Random legal actions before the players take over, the same in both games of a pair. Pairs
    # differ as long as the game has enough openings; after that the openings repeat in order.
    opening_plies: Required[int]
    seed: Required[int]  # of openings and players; the same seed repeats the match
    # The test that can end the match after each `sprt.look_games` games, by distinct pairs. None:
    # play all G games. Either way, openings are those of the whole match.
    sprt: SprtSettings | None
    # Where openings begin, one for each pair, each used before any repeats; None: initial state.
    starts: Starts | None
    book: Book | None  # draws openings by weight, of at most `opening_plies`; None: they are random


@game_faults()
def play_match(
    game: Game,
    first: Player,
    second: Player,
    *,
    progress: Callable[[int], None] | None = None,
    tablebase: Tablebase | None = None,
    **plan: Unpack[MatchPlan],
) -> MatchResult:
    """Play G games, calling each player for all of its games at once.

    Args:
        first: has seat 0 in even rows, seat 1 in odd ones.
        second: has the other seat; a different object from `first`, since both keep their trees.
        progress: called after each ply of all games with the number of games that have ended.
        tablebase: ends each game whose outcome it has; None: play games to their end.
        plan: as `MatchPlan` describes. With the same plan, players of the same settings play the
            same games.

    Raises:
        SettingError: G is odd or below 2, or games end within `opening_plies`.
        FaultyGameError: the game's own code raised.
        IllegalActionError: a player chose an illegal action.
    """
    require(first is not second, "second", "a different player object from first", second.name)

    def play(openings: Sequence[Opening], seed: int, done: int) -> list[MatchGame]:
        ended = None if progress is None else (lambda more: progress(done + more))
        return play_from(game, (first, second), openings, seed, ended, tablebase)

    return match_of(game, (first.name, second.name), play, **plan)


def match_of(
    game: Game,
    names: tuple[str, str],
    play: "Callable[[Sequence[Opening], int, int], list[MatchGame]]",
    **plan: Unpack[MatchPlan],
) -> MatchResult:
    """A match whose games a function plays.

    Args:
        play: plays two games from each of some openings, with a seed; its last argument is the
            number of games before them.
    """
    require_pairs(plan["num_games"], "num_games")
    seed, sprt, count = plan["seed"], plan.get("sprt"), plan["num_games"] // 2
    starts, book = plan.get("starts"), plan.get("book")
    openings = random_openings(game, count, plan["opening_plies"], seed, starts, book)
    pairs_at_once = len(openings) if sprt is None else sprt.look_games // 2
    games: list[MatchGame] = []

    def result() -> MatchResult:
        return MatchResult(first=names[0], second=names[1], games=games)

    for turn, start in enumerate(range(0, len(openings), pairs_at_once)):
        # Rows are numbered from 0 in each part.
        some = openings[start : start + pairs_at_once]
        games += play(some, derived_seed(seed, turn), len(games))
        if sprt and sprt.verdict(result().distinct.pentanomial) is not Verdict.OPEN:
            break
    return result()


def derived_seed(seed: int, number: int) -> int:
    """A seed for part `number` of a whole with one seed; part 0 uses that seed itself."""
    if number == 0:
        return seed
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0] >> 1)


def play_from(
    game: Game,
    players: tuple[Player, Player],
    openings: "Sequence[Opening]",
    seed: int,
    progress: Callable[[int], None] | None,
    tablebase: Tablebase | None = None,
) -> list[MatchGame]:
    """Two games from each opening, seats swapped, all at once; see `play_match`."""
    num_games = 2 * len(openings)
    states = make_batch(game, num_games)
    actions: list[list[int]] = []
    for player in players:
        player.begin(num_games, seed)
    for row in range(num_games):
        start, opening, state = openings[row // 2]
        actions.append(list(opening))
        states.set(row, state)
        for player in players:
            player.start(row, state, opening if start is None else None)

    forfeits: dict[int, tuple[int, Forfeit]] = {}  # row -> seat that forfeits, and why
    known: dict[int, int] = {}  # row -> outcome by the tablebase
    live = list(range(num_games))
    while live:
        # The player to move in each row; the first player has seat 0 in even rows.
        mover = {row: (states.current_player(row) + row) % 2 for row in live}
        decisions: dict[int, Decision] = {}
        for who, player in enumerate(players):
            rows = [row for row in live if mover[row] == who]
            if rows:
                decisions.update(zip(rows, player.choose(rows), strict=True))
        for row, action in decisions.items():
            if isinstance(action, Forfeit):
                forfeits[row] = (states.current_player(row), action)
                continue
            _require_legal(game, states.get(row), action, players[mover[row]])
            actions[row].append(action)
            states.step(row, action)
            for player in players:
                player.advance(row, action)
        live = [r for r in live if r not in forfeits and not states.is_over(r, len(actions[r]))]
        if tablebase is not None:
            for row in live:
                if (solved := tablebase.solve(states.get(row))) is not None:
                    known[row] = solved.outcome
            live = [row for row in live if row not in known]
        if progress is not None:
            progress(num_games - len(live))

    def game_of(row: int) -> MatchGame:
        loser, forfeit = forfeits.get(row, (0, None))
        lost = -1 if loser == 0 else 1
        return MatchGame(
            first_seat=row % 2,
            opening_plies=len(openings[row // 2].actions),
            actions=actions[row],
            outcome=lost if forfeit else known[row] if row in known else states.outcome(row),
            forfeit=forfeit.reason if forfeit else None,
            start=openings[row // 2].start,
            adjudicated=TABLEBASE if row in known else None,
        )

    return [game_of(row) for row in range(num_games)]


class Opening(NamedTuple):
    """Where both games of a pair begin."""

    start: str | None  # the position before the actions; None: the initial one
    actions: list[int]
    state: Any  # after them


def random_openings(
    game: Game,
    count: int,
    plies: int,
    seed: int,
    starts: Starts | None = None,
    book: Book | None = None,
) -> list[Opening]:
    """`count` openings of uniformly random legal actions or of a book's, none of them terminal.

    Positions differ until the game seems to have no more; then they repeat in order.

    Args:
        plies: number of random actions; from a book, which may have fewer, the most.
        starts: where they begin; None: the initial position.
        book: draws actions by weight; None: uniformly random legal ones.

    Raises:
        SettingError: no game lasts longer than `plies`, or the book lacks the starting positions.
    """
    require(plies >= 0, "opening_plies", "0 or more", plies)
    rng = np.random.default_rng(seed)
    in_turn = None if starts is None else starts.in_turn(seed)
    openings: list[Opening] = []
    seen: set[str] = set()
    drawn: list[bool] = []  # whether an opening has actions besides those of its start
    while len(openings) < count:
        for _ in range(OPENING_ATTEMPTS):
            start = None if in_turn is None else next(in_turn)
            first = game.initial_state() if start is None else start.state
            opening, state = _random_opening(game, first, plies, rng, book)
            is_whole = len(opening) == plies or (book is not None and not game.is_terminal(state))
            # Positions are compared, not actions: two orders of the same moves are one opening.
            if is_whole and (text := game.state_to_text(state)) not in seen:
                seen.add(text)
                drawn.append(bool(opening))
                if start is None:
                    openings.append(Opening(None, opening, state))
                else:
                    openings.append(Opening(start.text, [*start.actions, *opening], state))
                break
        else:
            break
    require(
        bool(openings), "opening_plies", f"low enough for {game.name} not to be over by then", plies
    )
    if book is not None and plies > 0:
        known = all(drawn)
        require(
            known, "arena.book", "a book with the starting positions of the games", "none there"
        )
    return [openings[i % len(openings)] for i in range(count)]


def _random_opening(
    game: Game, state: Any, plies: int, rng: np.random.Generator, book: Book | None
) -> tuple[list[int], Any]:
    """Actions from a state and the resulting state; fewer than `plies` if game or book ends."""
    opening: list[int] = []
    for _ in range(plies):
        if book is None:
            action = int(rng.choice(np.flatnonzero(game.legal_action_mask(state))))
        elif found := book.actions(state):
            action = choose(found, rng)
        else:
            break
        state = game.step(state, action)
        if game.is_terminal(state):
            break
        opening.append(action)
    return opening, state


def _require_legal(game: Game, state: Any, action: int, player: Player) -> None:
    if not (0 <= action < game.num_actions and game.legal_action_mask(state)[action]):
        raise IllegalActionError(f"{player.name}: {illegal_action_message(game, state, action)}")


def require_pairs(num_games: int, where: str) -> None:
    """Refuse a number of games that does not form pairs.

    Raises:
        SettingError: it is odd or below 2.
    """
    forms_pairs, wanted = PAIRS
    require(forms_pairs(num_games), where, wanted, num_games)
