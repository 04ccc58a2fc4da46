"""Resignation: who gives up and when, and a threshold that keeps its promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

import azcore
from azcore.search.proofs import best_of
from azcore.selfplay.actor import Actor
from azcore.selfplay.resignation import (
    FalsePositives,
    best_child_value,
    highest_threshold,
    is_played_out,
    measured,
    new_lows,
    threshold,
)
from azcore.storage.game_record import GameRecord
from reference_mcts import HashEvaluator
from search_kit import search_settings
from selfplay_kit import record_of_values, rounds, selfplay_settings

PROMISE = 0.05


def test_best_child_is_the_most_visited_then_the_likelier() -> None:
    def value(visits: list[int], priors: list[float]) -> float:
        counts, unproven = np.array(visits, np.int32), np.zeros(3, np.int32)
        best = best_of(counts, np.array(priors, np.float32), unproven)
        return best_child_value(counts, np.array([0.5, -0.25, -0.75], np.float32), best, 0.125)

    assert value([1, 9, 3], [0.6, 0.2, 0.2]) == -0.25  # not the highest Q
    assert value([4, 4, 4], [0.2, 0.3, 0.5]) == -0.75
    assert value([0, 0, 0], [0.2, 0.3, 0.5]) == 0.125


@pytest.mark.parametrize(
    ("share", "first"), [(0.1, [0, 10, 20]), (0.25, [0, 4, 8]), (1, [0, 1, 2])]
)
def test_the_first_of_each_batch_are_played_out(share: float, first: list[int]) -> None:
    chosen = [index for index in range(10_000) if is_played_out(index, share)]
    assert chosen[:3] == first
    assert len(chosen) == pytest.approx(10_000 * share, abs=1)


def test_new_lows_by_hand() -> None:
    # The first ply, which does not count, is seat 0's; then 1, 0, 1, 0, 1, and seat 0 wins.
    lows, wrong = new_lows(record_of_values([0.25, -0.5, -0.5, -0.625, -0.875], outcome=1))
    assert lows.tolist() == [0.25, -0.5, -0.625, -0.875]
    assert wrong.tolist() == [False, True, True, False]
    # In a draw nobody has lost.
    assert new_lows(record_of_values([-0.5, -0.75], outcome=0))[1].tolist() == [True, True]
    # Both values must be low.
    children = [0.5, -0.25, -0.75]
    record = record_of_values([-0.5, -0.5, -0.5], outcome=1, best_child_values=children)
    assert new_lows(record)[0].tolist() == [0.5, -0.25, -0.5]
    # Seats need not alternate, and an opening does not count.
    record = record_of_values([-0.25, -0.5], outcome=-1, players=[0, 0], opening_plies=3)
    assert new_lows(record)[0].tolist() == [-0.25, -0.5]
    assert new_lows(record)[1].tolist() == [False, False]
    assert len(new_lows(record_of_values([], outcome=1))[0]) == 0


def lost_at(value: float) -> GameRecord:
    """Seat 1 sees this value at its only ply that counts, and loses."""
    return record_of_values([value], outcome=1)


def won_after(value: float) -> GameRecord:
    """Seat 1 sees this value and wins all the same, seat 0 never seeing a lower one."""
    return record_of_values([value], outcome=-1)


def test_threshold_by_hand() -> None:
    # 30 games lost at -0.99 and 1 won after -0.95. Above -0.95 all 31 are given up, one of them
    # wrongly: Wilson's limit at one deviation is (1/31 + 1/62 + sqrt(1/31 * 30/31 / 31 + 1/3844)) /
    # (1 + 1/31) = 0.0814. Up to -0.95 only 30, none wrongly: (1/60 + 1/60) / (1 + 1/30) = 0.0323.
    games = [lost_at(-0.99)] * 30 + [won_after(-0.95)]
    assert threshold(games, 0.05) == np.float32(-0.95)
    assert threshold(games, 0.082) == np.float32(2 * 0.082 - 1)  # as high as it may be
    assert threshold(games, 0.081) == np.float32(-0.95)
    assert threshold(games, 0.0322) is None
    # 1 / (n + 1) < 0.05 needs 20 games.
    assert threshold([lost_at(-0.99)] * 19, 0.05) is None
    assert threshold([lost_at(-0.99)] * 20, 0.05) == np.float32(-0.9)


def test_what_proofs_play_out_is_no_evidence() -> None:
    """Nobody resigns there, so a game proven to be lost does not excuse a wrong resignation."""
    proven = [record_of_values([-0.2, 0.2, -1.0], outcome=1)] * 1000
    assert threshold(proven, 0.05) is None
    assert threshold(proven + [won_after(-0.95)] * 20, 0.05) is None


def test_threshold_is_never_above_that_of_right_values() -> None:
    assert highest_threshold(0.05) == pytest.approx(-0.9)  # (1 - 0.9) / 2 = 0.05
    # A few lose at -0.95, most at values so timid that nobody resigns.
    assert threshold([lost_at(-0.2)] * 1000 + [lost_at(-0.95)] * 20, 0.05) == np.float32(-0.9)
    assert threshold([lost_at(-0.2)] * 1000, 0.05) is None


def test_threshold_of_a_game_that_turns() -> None:
    # Seat 1 falls to -0.92, then seat 0 to -0.95 and loses: given up wrongly above -0.92 only.
    turning = record_of_values([-0.92, -0.95], outcome=-1)
    assert threshold([turning] * 100, PROMISE) == np.float32(-0.92)


def test_without_evidence_nobody_resigns() -> None:
    assert threshold([], PROMISE) is None
    drawn = [record_of_values([-0.9, -0.95, -0.99], outcome=0)] * 1000
    assert threshold(drawn, PROMISE) is None
    survivors = [record_of_values([-0.9], outcome=1, played_out=False)] * 1000
    assert threshold(survivors, PROMISE) is None
    assert threshold([record_of_values([], outcome=1)] * 1000, PROMISE) is None


def walks(
    count: int, rng: np.random.Generator, draws: float = 0.0, power: float = 1.0
) -> list[GameRecord]:
    """Games whose values are a fair walk in steps of 1/100 from 0 to -1 or +1.

    A walk that stands at v ends at +1 with probability (1 + v) / 2. Only its new extremes are made,
    seat 0 to move at a new low and seat 1 at a new high: from its highest point h, with l the
    lowest, it reaches l - 1 before h + 1 with probability 1 / (h - l + 2). A share `draws` of all
    games is drawn, whatever the walk. Values are shown as sign(v) |v|^power.
    """
    return [_walk(rng, draws, power) for _ in range(count)]


def _walk(rng: np.random.Generator, draws: float, power: float) -> GameRecord:
    reached, seat = [0, 0], int(rng.integers(2))  # hundredths that each seat's values have fallen
    values, seats = [], []
    chances = iter(rng.random(300))
    while True:
        reached[seat] += 1
        if reached[seat] == 100:
            break
        values.append(-((reached[seat] / 100) ** power))
        seats.append(seat)
        if next(chances) < 1 / (sum(reached) + 2):
            seat = 1 - seat
    outcome = 0 if next(chances) < draws else (-1 if seat == 0 else 1)
    return record_of_values(values, outcome, players=seats)


def odds_of_wrong(found: float | None, power: float) -> float:
    """How many resignations below a threshold are wrong, by the odds of the walk; 0 for none."""
    levels = -((np.arange(1, 100) / 100) ** power)
    below = np.flatnonzero(levels.astype(np.float32) < found) if found is not None else []
    return (1 - (below[0] + 1) / 100) / 2 if len(below) else 0.0


def test_the_promise_is_kept_and_nearly_the_best_threshold_found() -> None:
    """Values are too sure, |v|^0.25: the best v for 5 % is -0.974, where -0.9 would be 17 %."""
    rng = np.random.default_rng(2026)
    assert odds_of_wrong(-0.9, 0.25) == pytest.approx(0.17)
    found = [threshold(walks(200, rng, power=0.25), PROMISE) for _ in range(40)]
    shares = [odds_of_wrong(v, 0.25) for v in found]
    assert np.mean(shares) < PROMISE
    assert np.mean([share < PROMISE for share in shares]) >= 0.7
    assert max(shares) < 0.1
    # Near the best there is with many games.
    assert 0.04 < odds_of_wrong(threshold(walks(4000, rng, power=0.25), PROMISE), 0.25) < 0.055


@pytest.mark.parametrize(("power", "least"), [(1.0, 0.03), (2.0, 0.02)])
def test_values_that_are_right_or_timid_keep_the_promise(power: float, least: float) -> None:
    """At -0.9 and the next step below 4.5 % are wrong, and 2.5 % where -0.9 shows a true -0.949."""
    found = threshold(walks(2000, np.random.default_rng(1), power=power), PROMISE)
    assert least < odds_of_wrong(found, power) < PROMISE


def test_draws_that_no_value_foresees_forbid_resignation() -> None:
    rng = np.random.default_rng(7)
    assert threshold(walks(400, rng, draws=0.2), PROMISE) is None


def test_measured_by_hand() -> None:
    games = [
        record_of_values([-0.95], outcome=1, resign_threshold=-0.9),  # given up, rightly
        record_of_values([-0.95], outcome=-1, resign_threshold=-0.9),  # wrongly
        record_of_values([-0.85, -0.95], outcome=0, resign_threshold=-0.9),  # wrongly: a draw
        record_of_values([-0.9], outcome=-1, resign_threshold=-0.9),  # not below
        record_of_values([-0.95], outcome=-1),  # nothing in force
        record_of_values([-0.95], outcome=-1, resign_threshold=-0.9, played_out=False),
    ]
    assert measured(games) == FalsePositives(resigned=3, wrong=2)
    assert measured(games).share == pytest.approx(2 / 3)
    assert math.isnan(measured([]).share)


# -- the actor ------------------------------------------------------------------------------------


def played(num_games: int, num_positions: int, value: float | None) -> dict[int, GameRecord]:
    game = azcore.make("go", board_size=3)
    actor = Actor(
        game=game,
        search=search_settings(num_simulations=12),
        settings=selfplay_settings(num_games=num_games, opening_plies=2),
        seed=1,
        evaluator=HashEvaluator(game),
    )
    actor.set_evaluator(HashEvaluator(game), 5, value)
    return {record.game_index: record for record in actor.play(num_positions)}


def test_records_say_who_resigned_and_when() -> None:
    game = azcore.make("go", board_size=3)
    games = played(4, 600, -0.1)
    assert sum(record.resigned_by is not None for record in games.values()) > 10
    for index, record in games.items():
        state = game.initial_state()
        for action in record.actions:
            state = game.step(state, int(action))
        low = np.maximum(record.root_values, record.best_child_values) < np.float32(-0.1)
        plies = np.arange(len(record)) > record.opening_plies
        assert record.resign_threshold == -0.1
        assert record.num_samples >= 1
        if is_played_out(index, 0.1):
            assert record.played_out
        else:
            assert not (low & plies).any()  # the first low value was the end
        if record.resigned_by is None:
            assert game.is_terminal(state)
            assert record.outcome == game.outcome(state)
        else:
            assert not record.played_out
            assert record.resigned_by == game.current_player(state)
            assert record.outcome == (-1 if record.resigned_by == 0 else 1)


def test_games_with_resignation_do_not_depend_on_their_company() -> None:
    few, many = (played(size, 500, -0.1) for size in (3, 11))
    shared = few.keys() & many.keys()
    assert len(shared) >= 20
    assert all(few[index].to_bytes() == many[index].to_bytes() for index in shared)


def test_a_game_is_the_same_until_someone_resigns() -> None:
    whole, cut = played(3, 900, None), played(3, 500, -0.1)
    assert all(record.played_out and record.resigned_by is None for record in whole.values())
    for index in whole.keys() & cut.keys():
        length = len(cut[index])
        assert cut[index].actions.tolist() == whole[index].actions[:length].tolist()
        assert (cut[index].resigned_by is not None) == (length < len(whole[index]))


def test_games_that_might_have_been_resigned_do_not_count_as_played_out() -> None:
    game = azcore.make("go", board_size=3)
    actor = Actor(
        game=game,
        search=search_settings(num_simulations=12),
        settings=selfplay_settings(num_games=8),
        seed=1,
        evaluator=HashEvaluator(game),
    )
    actor.set_evaluator(HashEvaluator(game), 1, -0.99)
    assert all(record.resigned_by is None for record in actor.play_while(rounds(4)))
    saved = actor.state_dict()
    games_in_play = saved["workers"][0]["games"]
    at_risk = {entry["game_index"] for entry in games_in_play if entry["could_resign"]}
    assert len(at_risk) >= 5
    other = Actor(
        game=game,
        search=search_settings(num_simulations=12),
        settings=selfplay_settings(num_games=8),
        seed=1,
        evaluator=HashEvaluator(game),
    )
    other.load_state_dict(saved)
    for resumed in (actor, other):
        resumed.set_evaluator(HashEvaluator(game), 2, None)
    games = [{r.game_index: r for r in a.play(300)} for a in (actor, other)]
    assert {i: r.to_bytes() for i, r in games[0].items()} == {
        i: r.to_bytes() for i, r in games[1].items()
    }
    assert all(record.played_out == (i not in at_risk) for i, record in games[0].items())
