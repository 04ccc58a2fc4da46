"""Self-play: a game depends on weights, seed and index alone, and records are what was played."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from numba import typeof

import azcore
from azcore.chance import Purpose, generator
from azcore.errors import CheckpointError
from azcore.game import ByteArray, FloatArray
from azcore.search import backups, walks
from azcore.search.evaluators import CachedEvaluator, Evaluator
from azcore.search.mcts import Search
from azcore.search.settings import SearchResult
from azcore.selfplay import moves
from azcore.selfplay.actor import Actor
from azcore.selfplay.schedule import choose_action
from azcore.selfplay.worker import IN_PLAY
from azcore.storage.replay import ReplayBuffer
from reference_mcts import HashEvaluator
from search_kit import gumbel, search_settings
from selfplay_kit import assert_games_depend_on_seed_and_index_alone, rounds, selfplay_settings


def actor(
    game: azcore.Game,
    *,
    num_games: int = 4,
    workers: int = 1,
    seed: int = 1,
    plies: int = 6,
    opening_plies: int = 0,
) -> Actor:
    return Actor(
        game=game,
        search=search_settings(num_simulations=12),
        settings=selfplay_settings(
            num_games=num_games,
            workers=workers,
            opening_plies=opening_plies,
            temperature_plies=plies,
        ),
        seed=seed,
        evaluator=HashEvaluator(game),
    )


def test_games_do_not_depend_on_their_company() -> None:
    assert_games_depend_on_seed_and_index_alone(actor)


def test_compiled_and_plain_play_the_same_games() -> None:
    compiled = actor(azcore.make("tic_tac_toe")).play(60)
    plain = actor(azcore.make("tic_tac_toe_plain")).play(60)
    assert [r.actions.tolist() for r in compiled] == [r.actions.tolist() for r in plain]
    assert [r.visit_counts.tolist() for r in compiled] == [r.visit_counts.tolist() for r in plain]


def test_records_hold_the_search() -> None:
    game = azcore.make("go", board_size=3)
    for record in actor(game).play(60):
        state = game.initial_state()
        for ply, action in enumerate(record.actions):
            target = record.policy_target(ply, game.num_actions)
            legal = game.legal_action_mask(state)
            assert target[~legal].sum() == 0
            assert target[action] > 0
            if ply >= 6:  # temperature 0
                assert target[action] == target.max()
            state = game.step(state, int(action))
        assert game.is_terminal(state)
        assert record.outcome == game.outcome(state)
        counts = np.add.reduceat(record.visit_counts.astype(int), record.visit_offsets[:-1])
        assert (counts >= 12).all()  # twelve new simulations, and what the tree held already
        assert np.abs(record.root_values).max() <= 1
        assert record.players.tolist() == [ply % 2 for ply in range(len(record))]
        assert np.abs(record.best_child_values).max() <= 1
        assert (record.best_child_values != record.root_values).any()


class Counting(Evaluator):
    """Hash evaluations, counted."""

    def __init__(self, game: azcore.Game) -> None:
        self._inner = HashEvaluator(game)
        self.judged = 0

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        self.judged += len(observations)
        return self._inner.evaluate(observations)


def test_a_cache_changes_no_game_and_what_the_network_did_is_counted() -> None:
    game = azcore.make("tic_tac_toe")
    without, counting = actor(game), Counting(game)
    records = without.play(200)
    cache = CachedEvaluator(counting, game.num_actions, 100)
    known = actor(game)
    known.set_evaluator(cache, 0)
    assert [r.to_bytes() for r in known.play(200)] == [r.to_bytes() for r in records]
    done, leaves = known.statistics, without.statistics.evaluations
    assert done.evaluations == counting.judged
    assert done.evaluations + done.remembered == leaves
    assert without.statistics.remembered == 0
    assert done.remembered > 0.1 * leaves


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("played", [1, 2, 5])
def test_state_resumes_where_it_was_when_weights_change(played: int, workers: int) -> None:
    game = azcore.make("tic_tac_toe")
    first = actor(game, workers=workers)
    first.play_while(rounds(played))
    state = first.state_dict()
    second = actor(game, workers=workers)
    second.load_state_dict(state)
    first.set_evaluator(HashEvaluator(game), weights_version=5)
    second.set_evaluator(HashEvaluator(game), weights_version=5)
    games = [[r.to_bytes() for r in a.play(40)] for a in (first, second)]
    assert games[0] == games[1]
    with pytest.raises(CheckpointError, match="num_games must stay 4"):
        actor(game, num_games=5, workers=workers).load_state_dict(state)
    with pytest.raises(CheckpointError, match=f"workers must stay {workers}"):
        actor(game, workers=2).load_state_dict(state)


def result(visits: list[int]) -> SearchResult:
    count = len(visits)
    return SearchResult(
        actions=np.arange(10, 10 + count, dtype=np.int32),
        visit_counts=np.array(visits, np.int32),
        q_values=np.zeros(count, np.float32),
        priors=np.array([0.2, 0.5, 0.3], np.float32)[:count],
        value=0.0,
        network_value=0.0,
    )


@pytest.mark.parametrize(("temperature", "expected"), [(1.0, [1, 2, 5]), (0.5, [1, 4, 25])])
def test_temperature(temperature: float, expected: list[int]) -> None:
    drawn = [
        choose_action(result([1, 2, 5]), temperature, generator(Purpose.MOVE, 1, game))
        for game in range(4000)
    ]
    shares = np.bincount(np.array(drawn) - 10, minlength=3) / 4000
    np.testing.assert_allclose(shares, np.array(expected) / sum(expected), atol=0.03)


def test_temperature_by_ply() -> None:
    settings = selfplay_settings(temperature=1.0, temperature_plies=3, final_temperature=0.0)
    assert [settings.temperature_at(ply) for ply in range(5)] == [1.0, 1.0, 1.0, 0.0, 0.0]
    halving = selfplay_settings(temperature=0.75, final_temperature=0.15, temperature_half_life=9.0)
    assert halving.temperature_at(0) == 0.75
    assert halving.temperature_at(9) == pytest.approx(0.45)
    assert halving.temperature_at(18) == pytest.approx(0.3)
    records = actor(azcore.make("go", board_size=3), plies=3).play(400)
    by_ply: dict[bool, list[bool]] = {True: [], False: []}
    for record in records:
        for ply, action in enumerate(record.actions):
            part = slice(record.visit_offsets[ply], record.visit_offsets[ply + 1])
            visits = dict(zip(record.visit_actions[part], record.visit_counts[part], strict=True))
            by_ply[ply < 3].append(visits[action] == max(visits.values()))
    assert all(by_ply[False])  # most visits, always
    assert not all(by_ply[True])


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ([], 0.5),
        ([0.95] * 3, 0.5),
        ([0.95] * 4, 0.05),
        ([-0.95] * 4, 0.05),
        ([0.0] * 9 + [0.91, 0.95, 0.99, 1.0], 0.05),
        ([0.95] * 9 + [0.9], 0.5),  # which is not above it
        ([0.95, 0.95, -0.95, 0.95], 0.5),
    ],
)
def test_a_decided_game_gets_cheap_searches(values: list[float], share: float) -> None:
    settings = selfplay_settings(full_search_share=0.5, decided_value=0.9, decided_share=0.1)
    assert settings.full_share(values) == pytest.approx(share)
    never = selfplay_settings(full_search_share=0.5, decided_value=None)
    assert never.full_share(values) == 0.5


def test_temperature_zero_breaks_ties_by_prior_then_action() -> None:
    rng = generator(Purpose.MOVE, 1, 1, 1)
    assert choose_action(result([3, 5, 1]), 0.0, rng) == 11
    assert choose_action(result([5, 5, 5]), 0.0, rng) == 11
    assert choose_action(result([7, 5, 7]), 0.0, rng) == 12


def test_chance_belongs_to_purpose_game_and_ply() -> None:
    draws = {
        (purpose, game, ply): generator(purpose, 3, game, ply).random()
        for purpose in Purpose
        for game in range(10)
        for ply in range(10)
    }
    assert len(set(draws.values())) == len(draws)
    assert generator(Purpose.MOVE, 3, 4, 5).random() == draws[Purpose.MOVE, 4, 5]


def test_random_openings_are_played_but_not_learned_from() -> None:
    game = azcore.make("go", board_size=3)
    records = actor(game, opening_plies=6).play(200)
    assert {record.opening_plies for record in records} == set(range(7))
    buffer = ReplayBuffer(game=game, window_games=len(records), augment=False)
    buffer.extend(records)
    assert buffer.num_positions == sum(len(r) - r.opening_plies for r in records)
    for record in records:
        counts = np.diff(record.visit_offsets.astype(int))
        assert (counts[: record.opening_plies] == 0).all()
        assert (counts[record.opening_plies :] > 0).all()
    samples = buffer.sample(500, np.random.default_rng(1))
    np.testing.assert_allclose(samples.policy_targets.sum(1), 1, rtol=1e-5)


def as_before(game: dict[str, Any]) -> dict[str, Any]:
    """A game in play as version 0.2 saved it, in lists."""
    texts = {name: game.pop(name) for name in IN_PLAY if name in game}
    arrays = {name: np.frombuffer(t.encode("latin-1"), IN_PLAY[name]) for name, t in texts.items()}
    parts = [arrays.pop(f"visit_{name}") for name in ("offsets", "actions", "counts")]
    actions, counts = (np.split(part, parts[0][1:-1]) for part in parts[1:])
    visits = [
        [some.tolist(), others.tolist()] for some, others in zip(actions, counts, strict=True)
    ]
    lists = {name: array.tolist() for name, array in arrays.items()}
    return {**game, **lists, "visits": visits[: len(lists["actions"])]}


def test_games_in_play_of_an_earlier_version_go_on() -> None:
    game = azcore.make("tic_tac_toe")
    first, second = actor(game, opening_plies=2), actor(game, opening_plies=2)
    first.play_while(rounds(3))
    state = first.state_dict()
    before = copy.deepcopy(state)
    for worker in before["workers"]:
        worker["games"] = [as_before(game) for game in worker["games"]]
    assert sum(len(game["visits"]) for game in before["workers"][0]["games"]) > 4
    second.load_state_dict(before)
    assert second.state_dict() == state


@pytest.mark.parametrize(
    ("turn", "more"),
    [(0, {"gumbel": gumbel()}), (3, {"leaves_per_tree": 2, "virtual_loss": 1.0})],
)
def test_what_is_compiled_ahead_is_what_is_called(
    monkeypatch: pytest.MonkeyPatch, turn: int, more: dict[str, Any]
) -> None:
    """Code for other types would read its arguments as if they had these."""
    game = azcore.make("tic_tac_toe")
    player = Actor(
        game=game,
        search=search_settings(num_simulations=12, **more),
        settings=selfplay_settings(num_games=4),
        seed=1,
        evaluator=HashEvaluator(game),
    )
    ahead: dict[Any, Any] = {}
    called: dict[Any, set[Any]] = {}
    compile_kernel, call = Search.compile, Search.call

    def noted(search: Search, kernel: Any, *arguments: Any) -> Any:
        ahead[kernel] = tuple(map(typeof, arguments))
        return compile_kernel(search, kernel, *arguments)

    def told(search: Search, kernel: Any, *arguments: Any) -> Any:
        called.setdefault(kernel, set()).add(tuple(map(typeof, arguments)))
        return call(search, kernel, *arguments)

    monkeypatch.setattr(Search, "compile", noted)
    player.compile(turn)
    first = (moves.play, moves.begin, walks.find_leaves, backups.expand_and_back_up)[turn]
    assert next(iter(ahead)) is first
    assert len(ahead) == 4
    monkeypatch.setattr(Search, "compile", compile_kernel)
    monkeypatch.setattr(Search, "call", told)
    player.play_while(rounds(3))
    assert {kernel: called[kernel] for kernel in ahead} == {k: {v} for k, v in ahead.items()}
