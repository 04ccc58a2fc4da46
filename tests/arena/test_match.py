"""Matches: pairs, openings, counting, and that a seed repeats them."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.arena.elo import fit_ratings
from azcore.arena.match import MatchGame, MatchResult, arena_settings, play_match, random_openings
from azcore.arena.players import Decision, Forfeit, Player, RandomPlayer, SearchPlayer
from azcore.arena.sprt import SprtSettings, Verdict
from azcore.errors import IllegalActionError, SettingError
from azcore.game import ByteArray, FloatArray, Game
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.storage.starts import Starts, read_starts
from conftest import compose
from reference_mcts import HashEvaluator
from search_kit import search_settings

SEARCH = search_settings(num_simulations=50)


@pytest.fixture(scope="module", params=["tic_tac_toe", "tic_tac_toe_plain"])
def game(request: pytest.FixtureRequest) -> Game:
    return azcore.make(request.param)


def searcher(game: Game, **options: Any) -> SearchPlayer:
    return SearchPlayer(game=game, evaluator=UniformEvaluator(game), settings=SEARCH, **options)


class Scripted(Player):
    """The first or last legal action, always; notes what it is told."""

    def __init__(self, game: Game, name: str, pick: Callable[[Any], int]) -> None:
        self.name, self.game, self.pick = name, game, pick

    def begin(self, num_games: int, seed: int) -> None:
        self.states: list[Any] = [None] * num_games
        self.seen: list[list[int]] = [[] for _ in range(num_games)]
        self.calls: list[list[int]] = []

    def start(self, row: int, state: Any, opening: Sequence[int] | None = None) -> None:
        self.states[row] = state

    def choose(self, rows: list[int]) -> list[int]:
        self.calls.append(rows)
        legal = [np.flatnonzero(self.game.legal_action_mask(self.states[row])) for row in rows]
        return [int(self.pick(actions)) for actions in legal]

    def advance(self, row: int, action: int) -> None:
        self.states[row] = self.game.step(self.states[row], action)
        self.seen[row].append(action)


def test_pairs_swap_seats_and_share_their_opening(game: Game) -> None:
    first, second = Scripted(game, "low", min), Scripted(game, "high", max)
    result = play_match(game, first, second, num_games=8, opening_plies=3, seed=5)
    assert [g.first_seat for g in result.games] == [0, 1] * 4
    openings = [tuple(g.actions[:3]) for g in result.games]
    assert openings[::2] == openings[1::2]
    assert len(set(openings)) == 4
    # After three plies seat 1 is to move: the odd rows of first, the even ones of second.
    assert first.calls[0] == [1, 3, 5, 7]
    assert second.calls[0] == [0, 2, 4, 6]
    for player in (first, second):  # each hears of every action after the opening
        assert [[*openings[row], *seen] for row, seen in enumerate(player.seen)] == [
            g.actions for g in result.games
        ]


def test_every_game_is_played_to_its_true_end(game: Game) -> None:
    result = play_match(
        game, RandomPlayer(game=game), searcher(game), num_games=20, opening_plies=2, seed=2
    )
    for played in result.games:
        state = game.initial_state()
        for action in played.actions:
            assert not game.is_terminal(state)
            state = game.step(state, action)
        assert game.is_terminal(state)
        assert game.outcome(state) == played.outcome


def test_a_pair_without_chance_is_seen_to_repeat_itself(game: Game) -> None:
    result = play_match(
        game,
        searcher(game),
        searcher(game, name="same"),
        num_games=20,
        opening_plies=0,
        seed=1,
    )
    assert result.distinct_games == 1
    assert result.distinct.pairs == 1  # of 10, and no more are counted
    varied = play_match(
        game, searcher(game), searcher(game, name="same"), num_games=20, opening_plies=2, seed=1
    )
    # The same player on both sides: the two games of a pair are one.
    assert varied.distinct_games == 10
    assert varied.score == 0.5


def test_temperature_brings_variety(game: Game) -> None:
    result = play_match(
        game,
        searcher(game, temperature=1.0, temperature_plies=4),
        searcher(game, name="other", temperature=1.0, temperature_plies=4),
        num_games=20,
        opening_plies=0,
        seed=1,
    )
    assert result.distinct_games > 10


def test_search_beats_random(game: Game) -> None:
    result = play_match(
        game,
        searcher(game, num_simulations=100),
        RandomPlayer(game=game),
        num_games=60,
        opening_plies=0,
        seed=3,
    )
    assert result.wins + result.draws + result.losses == 60
    assert result.score > 0.85
    assert fit_ratings([result.distinct], "random")["search"].low > 150
    assert result.distinct_games > 30


def test_a_seed_repeats_the_match_and_another_does_not(game: Game) -> None:
    def play(seed: int, second: Player) -> MatchResult:
        return play_match(
            game, RandomPlayer(game=game), second, num_games=10, opening_plies=2, seed=seed
        )

    assert play(4, searcher(game)) == play(4, searcher(game))
    assert play(4, searcher(game)) != play(5, searcher(game))
    again = searcher(game)
    assert play(4, again) == play(4, again)  # nothing is left from the match before


def test_a_game_does_not_depend_on_the_others(game: Game) -> None:
    """Rows 0 and 1 are the same in a match of 2 and of 12 games."""

    def play(num_games: int) -> list[MatchGame]:
        players = RandomPlayer(game=game), searcher(game)
        return play_match(game, *players, num_games=num_games, opening_plies=1, seed=9).games

    assert play(2) == play(12)[:2]


def test_seats_are_counted_apart() -> None:
    def played(first_seat: int, outcome: int) -> MatchGame:
        return MatchGame(first_seat=first_seat, opening_plies=0, actions=[1], outcome=outcome)

    result = MatchResult(
        first="a",
        second="b",
        games=[
            played(0, 1),
            played(1, 1),
            played(0, 1),
            played(1, 0),
            played(0, -1),
            played(1, -1),
        ],
    )
    assert (result.wins, result.draws, result.losses) == (3, 1, 2)
    seat_0, seat_1 = result.of_seat(0), result.of_seat(1)
    assert (seat_0.wins, seat_0.draws, seat_0.losses) == (2, 0, 1)
    assert (seat_1.wins, seat_1.draws, seat_1.losses) == (1, 1, 1)
    assert result.score == pytest.approx(3.5 / 6)
    assert result.distinct_games == 1


def test_pairs_that_repeat_count_once() -> None:
    def pair(first: list[int], second: list[int], outcomes: tuple[int, int]) -> list[MatchGame]:
        return [
            MatchGame(first_seat=seat, opening_plies=1, actions=actions, outcome=outcome)
            for seat, (actions, outcome) in enumerate(zip((first, second), outcomes, strict=True))
        ]

    games = [
        *pair([1, 2], [1, 3], (1, -1)),  # first wins both
        *pair([1, 2], [1, 3], (1, -1)),  # the same again
        *pair([1, 2], [1, 4], (1, 0)),  # one game of the two is new
        *pair([5, 2], [5, 3], (-1, 0)),
    ]
    distinct = MatchResult(first="a", second="b", games=games).distinct
    assert (distinct.player, distinct.opponent) == ("a", "b")
    assert distinct.joint == ((0, 1, 0), (0, 0, 0), (0, 1, 1))


class TestSequential:
    """Matches that may stop early."""

    SPRT = SprtSettings(elo0=0.0, elo1=70.0, alpha=0.05, beta=0.05, look_games=6)

    def play(self, game: Game, num_games: int = 100, **options: Any) -> MatchResult:
        options = {"sprt": self.SPRT} | options
        return play_match(
            game,
            searcher(game),
            RandomPlayer(game=game),
            num_games=num_games,
            opening_plies=2,
            seed=7,
            **options,
        )

    def test_it_stops_at_the_first_look_that_decides(self, game: Game) -> None:
        ended: list[int] = []
        result = self.play(game, progress=ended.append)
        assert 6 < len(result.games) < 100
        assert len(result.games) % 6 == 0
        assert self.SPRT.verdict(result.distinct.pentanomial) is Verdict.BETTER
        before = MatchResult(first="a", second="b", games=result.games[:-6])
        assert self.SPRT.verdict(before.distinct.pentanomial) is Verdict.OPEN
        assert ended == sorted(ended)
        assert ended[-1] == len(result.games)

    def test_it_is_repeatable_and_its_openings_are_those_of_the_whole_match(
        self, game: Game
    ) -> None:
        result = self.play(game)
        assert self.play(game) == result
        whole = self.play(game, sprt=None)
        size = len(result.games)
        assert [g.actions[:2] for g in result.games] == [g.actions[:2] for g in whole.games[:size]]
        assert result.games[:6] == whole.games[:6]

    def test_chance_differs_from_look_to_look(self, game: Game) -> None:
        never = SprtSettings(elo0=-900.0, elo1=900.0, alpha=1e-9, beta=1e-9, look_games=2)
        players = RandomPlayer(game=game), RandomPlayer(game=game, name="other")
        result = play_match(game, *players, num_games=12, opening_plies=0, seed=7, sprt=never)
        assert len(result.games) == 12
        assert result.distinct_games == 12

    def test_an_undecided_match_ends(self, game: Game) -> None:
        players = searcher(game), searcher(game, name="same")
        result = play_match(game, *players, num_games=20, opening_plies=2, seed=1, sprt=self.SPRT)
        assert len(result.games) == 20  # three looks at 6 games and one at 2
        assert self.SPRT.verdict(result.distinct.pentanomial) is Verdict.OPEN


def test_openings_differ_as_long_as_the_game_has_enough(game: Game) -> None:
    texts = [game.state_to_text(one.state) for one in random_openings(game, 12, 1, seed=0)]
    # Nine first moves, then the same ones again in turn.
    assert len(set(texts[:9])) == 9
    assert max(Counter(texts).values()) == 2
    long = random_openings(game, 30, 8, seed=0)
    assert not any(game.is_terminal(one.state) for one in long)
    assert {len(one.actions) for one in long} == {8}


@pytest.mark.parametrize("num_games", [7, 0, -2])
def test_games_that_do_not_pair_up_are_refused(game: Game, num_games: int) -> None:
    players = RandomPlayer(game=game), RandomPlayer(game=game, name="other")
    with pytest.raises(SettingError, match=f"num_games must be an even number.*got {num_games}"):
        play_match(game, *players, num_games=num_games, opening_plies=0, seed=0)


def test_openings_longer_than_the_game_are_refused(game: Game) -> None:
    with pytest.raises(SettingError, match=r"opening_plies must be low enough.*got 9"):
        random_openings(game, 1, 9, seed=0)


BOOK = ["X../.../... o", "X../.O./... x", "startpos moves b2 a1 a2", ".X./.../... o"]


def book(game: Game, tmp_path: Path, lines: Sequence[str] = BOOK) -> Starts:
    (tmp_path / "book.txt").write_text("\n".join(lines))
    starts = read_starts(game, [str(tmp_path / "book.txt")], (0,), "arena.starts")
    assert starts is not None
    return starts


def test_pairs_begin_from_starts_each_before_any_comes_again(game: Game, tmp_path: Path) -> None:
    starts = book(game, tmp_path)
    players = Scripted(game, "a", np.min), Scripted(game, "b", np.max)
    orders = set()
    for seed in range(3):
        result = play_match(game, *players, num_games=8, opening_plies=0, seed=seed, starts=starts)
        begun = [(one.start, tuple(one.actions[: one.opening_plies])) for one in result.games]
        assert begun[::2] == begun[1::2]
        assert sorted(begun[::2], key=str) == [
            (".X./.../... o", ()),
            ("X../.../... o", ()),
            ("X../.O./... x", ()),
            (None, (4, 6, 3)),
        ]
        orders.add(tuple(begun))
        for one in result.games:
            state = game.initial_state() if one.start is None else game.state_from_text(one.start)
            for action in one.actions:
                state = game.step(state, action)
            assert game.is_terminal(state)
            assert game.outcome(state) == one.outcome
    assert len(orders) > 1
    for which, player in enumerate(players):  # seats are those of the game, whoever moves first
        for row, one in enumerate(result.games):
            assert player.seen[row] == one.actions[one.opening_plies :]
            mine = [row for rows in player.calls for row in rows]
            assert mine.count(row) > 0, which


def test_random_plies_come_after_starts_and_positions_repeat_in_turn(
    game: Game, tmp_path: Path
) -> None:
    starts = book(game, tmp_path, ["X../.O./... x", "X../.../... o"])
    openings = random_openings(game, 9, 1, 5, starts)
    assert {(one.start, len(one.actions)) for one in openings} == {
        ("X../.O./... x", 1),
        ("X../.../... o", 1),
    }
    assert len({game.state_to_text(one.state) for one in openings}) == 9
    again = random_openings(game, 5, 0, 5, starts)
    texts = [game.state_to_text(one.state) for one in again]
    assert len(set(texts)) == 2
    assert texts == [texts[i % 2] for i in range(5)]
    with pytest.raises(SettingError, match="opening_plies must be low enough"):
        random_openings(game, 1, 8, 5, starts)


def test_the_same_moves_from_another_start_are_another_game() -> None:
    def of(start: str | None) -> list[MatchGame]:
        return [
            MatchGame(first_seat=seat, opening_plies=0, actions=[1], outcome=1, start=start)
            for seat in (0, 1)
        ]

    result = MatchResult(first="a", second="b", games=of(None) + of("x") + of("x") + of("y"))
    assert result.distinct_games == 3
    assert result.distinct.pairs == 3


def test_one_object_cannot_play_itself(game: Game) -> None:
    player = RandomPlayer(game=game)
    with pytest.raises(SettingError, match="a different player object"):
        play_match(game, player, player, num_games=2, opening_plies=0, seed=0)


def test_an_illegal_action_is_refused_by_name(game: Game) -> None:
    stubborn = Scripted(game, "stubborn", lambda legal: 4)
    with pytest.raises(IllegalActionError, match=r"stubborn: .* is not legal here"):
        play_match(game, stubborn, RandomPlayer(game=game), num_games=2, opening_plies=0, seed=0)


def test_progress_counts_ended_games(game: Game) -> None:
    ended: list[int] = []
    players = RandomPlayer(game=game), RandomPlayer(game=game, name="other")
    play_match(game, *players, num_games=6, opening_plies=0, seed=0, progress=ended.append)
    assert ended == sorted(ended)
    assert ended[-1] == 6


def test_arena_settings_are_checked() -> None:
    config = compose()
    values = config["arena"]
    assert arena_settings(config).games == values["games"]
    for key, value in [
        ("games", 41),
        ("opening_plies", -1),
        ("num_simulations", 0),
        ("every_generations", 0),
    ]:
        with pytest.raises(SettingError, match=rf"arena\.{key} must be .*got {value}"):
            arena_settings({**config, "arena": values | {key: value}})


class Quitter(RandomPlayer):
    """Gives up in row 1 after so many of its own choices."""

    def __init__(self, game: Game, patience: int) -> None:
        super().__init__(game=game, name="quitter")
        self._patience = patience

    def choose(self, rows: list[int]) -> Sequence[Decision]:  # type: ignore[override]
        chosen: list[Decision] = [*super().choose(rows)]
        if 1 in rows:
            self._patience -= 1
            if self._patience < 0:
                chosen[rows.index(1)] = Forfeit("it crashed")
        return chosen


def test_a_forfeit_loses_its_game_and_no_other() -> None:
    game = azcore.make("tic_tac_toe")
    result = play_match(
        game,
        RandomPlayer(game=game),
        Quitter(game, patience=1),
        num_games=4,
        opening_plies=0,
        seed=3,
    )
    given_up = result.games[1]  # there the quitter has seat 0
    assert given_up.forfeit == "it crashed"
    assert given_up.outcome == -1
    assert given_up.loser == 0
    assert given_up.points == 1.0
    assert len(given_up.actions) == 2
    for other in (result.games[0], *result.games[2:]):
        state = game.initial_state()
        for action in other.actions:
            state = game.step(state, action)
        assert game.outcome(state) == other.outcome
        assert other.forfeit is None


class Counting(Evaluator):
    """Another evaluator, and the number of positions that it was asked about."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.count = 0

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        self.count += len(observations)
        return self.evaluator.evaluate(observations)


@pytest.mark.parametrize("leaves", [1, 4])
@pytest.mark.parametrize("plies", [0, 4], ids=["best moves", "drawn moves first"])
@pytest.mark.parametrize("name", ["tic_tac_toe", "go"])
def test_searches_that_stop_early_play_the_same_games(name: str, plies: int, leaves: int) -> None:
    """Without a subtree from the search before: the same matches with fewer evaluations."""
    game = azcore.make(name, **({"board_size": 3, "komi": 0.0} if name == "go" else {}))
    results, counts = [], []
    for stop_early in (False, True):
        evaluators = [Counting(HashEvaluator(game, 1)), Counting(UniformEvaluator(game))]
        players = [
            SearchPlayer(
                game=game,
                evaluator=evaluator,
                settings=search_settings(
                    num_simulations=60,
                    leaves_per_tree=leaves,
                    virtual_loss=int(leaves > 1),
                    reuse_subtree=False,
                    stop_early=stop_early,
                ),
                temperature=1.0,
                temperature_plies=plies,
                name=who,
            )
            for who, evaluator in zip(("hash", "uniform"), evaluators, strict=True)
        ]
        match = play_match(game, *players, num_games=40, opening_plies=2, seed=9)
        results.append([(played.actions, played.outcome) for played in match.games])
        counts.append([evaluator.count for evaluator in evaluators])
    assert results[0] == results[1]
    assert all(fewer < every for every, fewer in zip(*counts, strict=True)), counts


def test_drawn_moves_are_drawn_by_whole_searches() -> None:
    """A search that stops early has fewer visits than those that a move is drawn by."""
    game = azcore.make("tic_tac_toe")
    counting = Counting(HashEvaluator(game))
    settings = search_settings(num_simulations=60, c_init=0.2, stop_early=True)
    counts = []
    for plies in (2, 0):
        player = SearchPlayer(
            game=game,
            evaluator=counting,
            settings=settings,
            temperature=1.0,
            temperature_plies=plies,
        )
        player.begin(1, seed=0)
        player.start(0, game.initial_state())
        counting.count = 0
        player.choose([0])
        counts.append(counting.count)
    assert counts[1] < 0.9 * counts[0]
