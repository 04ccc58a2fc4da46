"""Self-play and matches with Gumbel AlphaZero's search: what is played, recorded and repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.arena.players import SearchPlayer
from azcore.assembly.parts import RunSettings, search_baseline, settings_from
from azcore.selfplay.actor import Actor
from azcore.storage.game_record import parse_frame
from azcore.storage.replay import ReplayBuffer
from reference_mcts import HashEvaluator
from search_kit import gumbel, search_settings
from selfplay_kit import assert_games_depend_on_seed_and_index_alone, rounds, selfplay_settings


def actor(game: azcore.Game, *, seed: int = 1, scale: float = 1.0, **changed: Any) -> Actor:
    return Actor(
        game=game,
        search=search_settings(num_simulations=10, gumbel=gumbel(actions=4, scale=scale)),
        settings=selfplay_settings(**changed),
        seed=seed,
        evaluator=HashEvaluator(game),
    )


def test_a_game_depends_on_seed_and_index_alone() -> None:
    assert_games_depend_on_seed_and_index_alone(actor)


def test_noise_makes_the_games_differ_and_temperature_has_no_part() -> None:
    game = azcore.make("tic_tac_toe")
    noisy = [r.actions.tolist() for r in actor(game).play(60)]
    assert len({tuple(actions) for actions in noisy}) > 5
    cold = actor(game, temperature_plies=0)
    assert [r.actions.tolist() for r in cold.play(60)] == noisy
    without = actor(game, scale=0.0).play(60)
    assert len({tuple(r.actions.tolist()) for r in without}) == 1


def test_compiled_and_plain_play_the_same_games() -> None:
    compiled = actor(azcore.make("tic_tac_toe")).play(60)
    plain = actor(azcore.make("tic_tac_toe_plain")).play(60)
    assert [r.actions.tolist() for r in compiled] == [r.actions.tolist() for r in plain]
    assert [r.visit_counts.tolist() for r in compiled] == [r.visit_counts.tolist() for r in plain]


def test_records_hold_the_improved_policy() -> None:
    game = azcore.make("go", board_size=3)
    records = [parse_frame(r.to_bytes(), "here") for r in actor(game, opening_plies=2).play(60)]
    for record in records:
        state = game.initial_state()
        for ply, action in enumerate(record.actions):
            target = record.policy_target(ply, game.num_actions)
            legal = game.legal_action_mask(state)
            assert target[~legal].sum() == 0
            if ply >= record.opening_plies:
                assert target.sum() == pytest.approx(1)
                # More actions than were visited: the others have their completed values.
                part = slice(record.visit_offsets[ply], record.visit_offsets[ply + 1])
                assert abs(int(record.visit_counts[part].sum()) - 65_535) <= legal.sum()
                assert (target > 0).sum() > min(4, legal.sum() - 1)
            state = game.step(state, int(action))
        assert record.outcome == game.outcome(state)
    buffer = ReplayBuffer(game=game, window_games=len(records), augment=True)
    buffer.extend(records)
    samples = buffer.sample(300, np.random.default_rng(1))
    np.testing.assert_allclose(samples.policy_targets.sum(1), 1, rtol=1e-5)
    assert not samples.policy_targets[~samples.legal_action_mask].any()


@pytest.mark.parametrize("played", [1, 2, 5])
def test_state_resumes_where_it_was_when_weights_change(played: int) -> None:
    game = azcore.make("tic_tac_toe")
    first, second = actor(game), actor(game)
    first.play_while(rounds(played))
    second.load_state_dict(first.state_dict())
    for one in (first, second):
        one.set_evaluator(HashEvaluator(game), weights_version=5)
    games = [[r.to_bytes() for r in one.play(40)] for one in (first, second)]
    assert games[0] == games[1]


def test_players_have_no_noise() -> None:
    """Whatever the seed, the temperature and the other rows, the same action."""
    game = azcore.make("go", board_size=3)
    states = [game.initial_state()]
    for action in (4, 0, 8):
        states.append(game.step(states[-1], action))

    def choices(seed: int, rows: list[int], temperature: float) -> dict[int, int]:
        player = SearchPlayer(
            game=game,
            evaluator=HashEvaluator(game),
            settings=search_settings(gumbel=gumbel()),
            num_simulations=20,
            temperature=temperature,
            temperature_plies=9,
        )
        player.begin(len(states), seed)
        for row, state in enumerate(states):
            player.start(row, state)
        return dict(zip(rows, player.choose(rows), strict=True))

    everything = choices(1, [0, 1, 2, 3], 0.0)
    assert choices(2, [3, 1], 1.0) == {3: everything[3], 1: everything[1]}
    for row, action in everything.items():
        assert game.legal_action_mask(states[row])[action]


def test_the_algorithm_chooses_the_rule(compose: Callable[..., dict[str, Any]]) -> None:
    search = settings_from(compose("algorithm=gumbel", "scale=laptop"), RunSettings).search
    assert search.gumbel is not None
    assert search.num_simulations == 64
    # mctx's numbers, by which results are compared
    numbers = (search.gumbel.actions, search.gumbel.c_visit, search.gumbel.c_scale)
    assert numbers == (16, 50.0, 0.1)
    assert search.gumbel.rescale
    assert search.gumbel.mixed_value
    assert not settings_from(compose("algorithm=alphazero"), RunSettings).search.is_gumbel
    assert search.most_targets(82) == 82


def test_the_baseline_of_ratings_is_the_same_for_every_algorithm(
    compose: Callable[..., dict[str, Any]],
) -> None:
    """Without a network Gumbel would look at the first actions of the list alone."""
    settings = settings_from(compose("algorithm=gumbel", "game=tic_tac_toe"), RunSettings)
    game, rows = settings.game, [0, 1]
    plain = settings_from(compose("game=tic_tac_toe"), RunSettings)
    chosen = []
    for each in (settings, plain):
        player = search_baseline(each)
        player.begin(2, seed=1)
        player.start(0, game.initial_state())
        player.start(1, game.step(game.initial_state(), 0))
        chosen.append(player.choose(rows))
        assert player.name == "search"
    assert chosen[0] == chosen[1]
