"""Samples drawn from the window are the positions that were played."""

from __future__ import annotations

import os
import tracemalloc
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import GameFileError
from azcore.storage import replay, ring
from azcore.storage.game_record import GameRecord
from azcore.storage.replay import ReplayBuffer, added_up_shares
from selfplay_kit import played


@pytest.mark.parametrize(
    "game",
    [azcore.make("tic_tac_toe"), azcore.make("tic_tac_toe_plain"), azcore.make("go", board_size=3)],
    ids=lambda game: game.name,
)
@pytest.mark.parametrize("augment", [False, True])
def test_samples_are_positions_of_the_records(game: azcore.Game, augment: bool) -> None:
    records = played(game, 40)
    # What a sample may be: (observation, mask, policy, value), mapped by any symmetry if augmented.
    cells = [np.arange(np.prod(game.observation_shape[1:]))]
    actions = [np.arange(game.num_actions)]
    if augment:
        cells += [symmetry.cells for symmetry in game.symmetries]
        actions += [symmetry.actions for symmetry in game.symmetries]
    known = set()
    for record in records:
        state = game.initial_state()
        for ply, action in enumerate(record.actions):
            planes = game.observation(state).astype(np.uint8).reshape(game.observation_shape[0], -1)
            mask = game.legal_action_mask(state)
            policy = record.policy_target(ply, game.num_actions)
            value = record.outcome if game.current_player(state) == 0 else -record.outcome
            for c, a in zip(cells, actions, strict=True):
                key = (planes[:, c].tobytes(), mask[a].tobytes(), policy[a].tobytes(), value)
                known.add(key)
            state = game.step(state, int(action))
        assert game.outcome(state) == record.outcome
    buffer = ReplayBuffer(game=game, window_games=len(records), augment=augment)
    buffer.extend(records)
    samples = buffer.sample(300, np.random.default_rng(1))
    drawn = {
        (
            samples.observations[i].tobytes(),
            samples.legal_action_mask[i].tobytes(),
            samples.policy_targets[i].tobytes(),
            int(samples.value_targets[i]),
        )
        for i in range(300)
    }
    assert drawn <= known
    assert len(drawn) > 20


def test_window_holds_the_latest_games_and_is_drawn_uniformly() -> None:
    game = azcore.make("tic_tac_toe")
    records = played(game, 200)
    buffer = ReplayBuffer(game=game, window_games=10, augment=False)
    buffer.extend(records)
    assert len(buffer) == 10
    latest = records[-10:]
    assert buffer.num_positions == sum(len(record) for record in latest)
    # Every position that was played, and how often each is met in these ten games.
    played_positions: Counter[bytes] = Counter()
    for record in latest:
        state = game.initial_state()
        for action in record.actions:
            played_positions[game.observation(state).astype(np.uint8).tobytes()] += 1
            state = game.step(state, int(action))
    samples = buffer.sample(30_000, np.random.default_rng(1))
    drawn = Counter(observation.tobytes() for observation in samples.observations)
    assert set(drawn) == set(played_positions)
    for key, count in played_positions.items():
        assert drawn[key] / 30_000 == pytest.approx(count / buffer.num_positions, rel=0.25)


def test_surprising_positions_are_drawn_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: (1 - s) + s KL / mean; no game gains by it, and one without surprise is uniform."""
    game = azcore.make("tic_tac_toe")
    rng = np.random.default_rng(7)
    records = played(game, 400)
    records = [
        replace(record, surprises=(rng.random(len(record)) ** 4).astype(np.float32))
        for record in records
    ]
    records[-3] = replace(records[-3], surprises=np.zeros(len(records[-3]), np.float32))
    records[-5] = replace(records[-5], surprises=np.zeros(0, np.float32))
    records[-4] = replace(records[-4], opening_plies=2)
    for share in (0.5, 1.0):
        buffer = ReplayBuffer(game=game, window_games=8, augment=False, surprise_share=share)
        for begin in range(0, len(records), 5):
            buffer.extend(records[begin : begin + 5])
        expected: list[float] = []
        for record in records[-8:]:
            surprises = record.surprises.tolist()[record.opening_plies :]
            if sum(surprises) == 0:
                expected += [1.0] * (len(record) - record.opening_plies)
            else:
                mean = sum(surprises) / len(surprises)
                expected += [1 - share + share * s / mean for s in surprises]
        assert sum(expected) == pytest.approx(buffer.num_positions)
        drawn: list[Any] = []
        monkeypatch.setattr(
            buffer, "positions", lambda chosen, _, drawn=drawn: drawn.append(chosen)
        )
        for seed in range(10):
            buffer.sample(20_000, np.random.default_rng(seed))
        counts = np.bincount(np.concatenate(drawn), minlength=buffer.num_positions)
        wanted = np.array(expected) * 200_000 / buffer.num_positions
        assert len(counts) == len(wanted)
        assert (np.abs(counts - wanted) <= 5 * np.sqrt(wanted) + 1).all()  # 5 sigma
        assert max(expected) > 2


def test_added_up_shares_by_hand() -> None:
    """Five plies, the first drawn at random, the third of a cheap search; KL 1, 4 and 1."""
    record = replace(
        played(azcore.make("tic_tac_toe"), 10)[0],
        actions=np.arange(5, dtype=np.uint16),
        opening_plies=1,
        visit_offsets=np.array([0, 0, 2, 2, 4, 6], np.uint32),
        surprises=np.array([9, 1, 9, 4, 1], np.float32),
    )
    assert added_up_shares(record, 0.5).tolist() == [0.75, 2.25, 3.0]  # 0.5 + 0.5 KL / 2
    assert added_up_shares(record, 1.0).tolist() == [0.5, 2.5, 3.0]
    unknown = replace(record, surprises=np.zeros(0, np.float32))
    assert added_up_shares(unknown, 0.5).tolist() == [1.0, 2.0, 3.0]
    nothing = replace(record, opening_plies=5)
    assert added_up_shares(nothing, 0.5).tolist() == []


def test_augmented_samples_use_every_symmetry_alike() -> None:
    game = azcore.make("go", board_size=3)

    def images(record: GameRecord) -> set[bytes]:
        """The third position by NumPy's own turns and flips, not the game's tables."""
        state = game.initial_state()
        for action in record.actions[:2]:
            state = game.step(state, int(action))
        board = game.observation(state).astype(np.uint8)
        turned = [np.rot90(board, turns, axes=(1, 2)) for turns in range(4)]
        return {image.tobytes() for each in turned for image in (each, each[:, :, ::-1])}

    # One of which no symmetry leaves that position as it is.
    record = next(r for r in played(game, 400) if len(r) > 2 and len(images(r)) == 8)
    keys = images(record)
    buffer = ReplayBuffer(game=game, window_games=1, augment=True)
    buffer.extend([record])
    samples = buffer.sample(30_000, np.random.default_rng(1))
    seen = Counter(observation.tobytes() for observation in samples.observations)
    shares = np.array([seen[key] for key in keys]) / sum(seen[key] for key in keys)
    np.testing.assert_allclose(shares, 1 / 8, atol=0.03)


def test_draws_are_learned_as_zero_and_wins_as_the_mover_sees_them() -> None:
    game = azcore.make("tic_tac_toe")
    records = played(game, 400)
    for outcome in (1, 0, -1):
        record = next(r for r in records if r.outcome == outcome)
        buffer = ReplayBuffer(game=game, window_games=1, augment=False)
        buffer.extend([record])
        samples = buffer.sample(200, np.random.default_rng(1))
        stones = samples.observations.sum((1, 2, 3))  # as many as plies: even for seat 0
        expected = np.where(stones % 2 == 0, outcome, -outcome)
        assert (samples.value_targets == expected).all()
        assert len(set(stones)) == len(record)


@pytest.mark.parametrize("sizes", [[1], [7, 1, 30, 2], [300], [3, 400, 3]])
def test_the_window_gives_back_the_latest_games_as_they_were(sizes: list[int]) -> None:
    """However many come at once, and however often the arrays grow and are written round."""
    game = azcore.make("tic_tac_toe")
    pool = played(game, 4000)
    buffer = ReplayBuffer(game=game, window_games=25, augment=False)
    given: list[GameRecord] = []
    for turn in range(20):
        some = [pool[(len(given) + i) % len(pool)] for i in range(sizes[turn % len(sizes)])]
        given += some
        buffer.extend(iter(some))
        window = given[-25:]
        assert len(buffer) == len(window)
        assert buffer.num_positions == sum(record.num_samples for record in window)
        expected = [record.to_bytes() for record in reversed(window) if record.played_out]
        assert [record.to_bytes() for record in buffer.played_out()] == expected
        targets = [r.policy_target(ply, 9) for r in window for ply in range(len(r))]
        everything = buffer.positions(np.arange(buffer.num_positions))
        assert np.array_equal(everything.policy_targets, targets)


def test_only_games_played_out_are_measured_by() -> None:
    game = azcore.make("tic_tac_toe")
    records = [replace(r, played_out=i % 3 == 0) for i, r in enumerate(played(game, 100))]
    buffer = ReplayBuffer(game=game, window_games=100, augment=False)
    buffer.extend(records)
    found = [record.game_index for record in buffer.played_out()]
    assert found == [record.game_index for record in reversed(records) if record.played_out]


def test_random_openings_are_replayed_and_not_learned_from() -> None:
    game = azcore.make("tic_tac_toe")
    records = [
        replace(record, opening_plies=min(index % 4, len(record)))
        for index, record in enumerate(played(game, 300))
    ]
    buffer = ReplayBuffer(game=game, window_games=len(records), augment=False)
    buffer.extend(records)
    assert buffer.num_positions == sum(len(r) - r.opening_plies for r in records)
    stones = buffer.positions(np.arange(buffer.num_positions)).observations.sum((1, 2, 3))
    assert stones.tolist() == [ply for r in records for ply in range(r.opening_plies, len(r))]


def test_plies_without_visits_are_replayed_and_not_learned_from() -> None:
    """After cheap searches, however they and the opening lie; a game may have no other plies."""
    game = azcore.make("tic_tac_toe")
    rng = np.random.default_rng(3)
    records, learned, targets = [], [], []
    for index, record in enumerate(played(game, 300)):
        full = rng.random(len(record)) < (0.0, 0.3, 1.0)[index % 3]
        counts = np.diff(record.visit_offsets.astype(np.int64))
        opening = int(rng.integers(0, 4))
        records.append(
            replace(
                record,
                opening_plies=opening,
                visit_offsets=np.append(0, np.cumsum(np.where(full, counts, 0))).astype(np.uint32),
                visit_actions=record.visit_actions[np.repeat(full, counts)],
                visit_counts=record.visit_counts[np.repeat(full, counts)],
            )
        )
        plies = [ply for ply in range(opening, len(record)) if full[ply]]
        assert records[-1].num_samples == len(plies)
        learned += plies
        targets += [record.policy_target(ply, 9) for ply in plies]
    buffer = ReplayBuffer(game=game, window_games=len(records), augment=False)
    buffer.extend(records)
    assert buffer.num_positions == len(learned)
    samples = buffer.positions(np.arange(buffer.num_positions))
    assert samples.observations.sum((1, 2, 3)).tolist() == learned
    assert np.array_equal(samples.policy_targets, targets)
    assert samples.legal_action_mask.sum(1).tolist() == [9 - ply for ply in learned]


def test_the_value_target_may_be_mixed_with_the_value_of_the_search() -> None:
    """(1 - r) z + r v, both in the view of the player to move."""
    game = azcore.make("tic_tac_toe")
    rng = np.random.default_rng(5)
    records = [
        replace(record, root_values=rng.uniform(-1.2, 1.2, len(record)).astype(np.float32))
        for record in played(game, 200)
    ]
    for share in (0.0, 0.25, 1.0):
        buffer = ReplayBuffer(
            game=game, window_games=len(records), augment=False, root_value_share=share
        )
        buffer.extend(records)
        expected = [
            (1 - share) * (record.outcome if seat == 0 else -record.outcome)
            + share * min(1.0, max(-1.0, float(value)))
            for record in records
            for seat, value in zip(record.players, record.root_values, strict=True)
        ]
        targets = buffer.positions(np.arange(buffer.num_positions)).value_targets
        assert targets.dtype == np.float32
        np.testing.assert_allclose(targets, expected, atol=1e-6)


def test_few_positions_of_a_game_teach_the_value() -> None:
    """Two of each on average, whatever its length; another two in each batch."""
    game = azcore.make("tic_tac_toe")
    records = played(game, 40)
    buffer = ReplayBuffer(game=game, window_games=30, augment=False, value_positions=2.0)
    for record in records:  # the oldest leave, and the ring turns
        buffer.extend([record])
    lengths = [len(record) for record in records[-30:]]
    chosen = np.arange(buffer.num_positions)
    draws = np.random.default_rng(3).random((500, len(chosen)))
    taught = np.stack([buffer.positions(chosen, each).auxiliary["value_weights"] for each in draws])
    assert set(np.unique(taught)) == {0.0, 1.0}
    of_games = np.split(taught.mean(0), np.cumsum(lengths)[:-1])
    np.testing.assert_allclose([each.sum() for each in of_games], 2.0, atol=0.35)
    samples = buffer.sample(1000, np.random.default_rng(1))
    part = buffer.sample(1000, np.random.default_rng(1), slice(500, None))
    weights = samples.auxiliary["value_weights"]
    assert 0.1 < weights.mean() < 0.6
    assert np.array_equal(part.auxiliary["value_weights"], weights[500:])


def test_counts_too_large_for_two_bytes_are_kept() -> None:
    game = azcore.make("tic_tac_toe")
    small, large = played(game, 20)[:2]
    large = replace(large, visit_counts=large.visit_counts * np.uint32(70_001))
    buffer = ReplayBuffer(game=game, window_games=2, augment=False)
    for record in (small, large):
        buffer.extend([record])
    assert [r.to_bytes() for r in buffer.played_out()] == [large.to_bytes(), small.to_bytes()]
    targets = buffer.positions(np.arange(len(small), buffer.num_positions)).policy_targets
    expected = [large.policy_target(ply, 9) for ply in range(len(large))]
    np.testing.assert_allclose(targets, expected, rtol=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_memory_stays_below_its_bound(share: float) -> None:
    """Games of the greatest length with the most targets, many more than the window holds."""
    game = azcore.make("tic_tac_toe")
    plies = game.max_game_length
    full = next(record for record in played(game, 400) if len(record) == plies)
    full = replace(
        full,
        visit_offsets=np.arange(plies + 1, dtype=np.uint32) * 9,
        visit_actions=np.tile(np.arange(9, dtype=np.uint16), plies),
        visit_counts=np.ones(9 * plies, np.uint32),
    )
    buffer = ReplayBuffer(game=game, window_games=3000, augment=False, surprise_share=share)
    tracemalloc.start()
    for _ in range(6):
        buffer.extend([full] * 1000)
    # And not what other threads allocate.
    its_own = [tracemalloc.Filter(True, module.__file__) for module in (replay, ring)]
    traces = tracemalloc.take_snapshot().filter_traces(its_own).traces
    tracemalloc.stop()
    held = sum(trace.size for trace in traces)
    assert buffer.max_bytes(most_targets=9) / 2 < held <= buffer.max_bytes(most_targets=9)


def test_bytes_held_are_those_of_the_games_still_there() -> None:
    game = azcore.make("tic_tac_toe")
    records = played(game, 400)
    window = ReplayBuffer(game=game, window_games=10, augment=False)
    window.extend(records)
    latest = ReplayBuffer(game=game, window_games=10, augment=False)
    latest.extend(records[-10:])
    assert len(records) > 20
    assert window.bytes_held == latest.bytes_held
    plies = sum(len(record) for record in records[-10:])
    named = sum(len(record.visit_actions) for record in records[-10:])
    arrays = 16 * plies + 4 * named  # see `ReplayBuffer`
    assert window.bytes_held - arrays == 10 * (40 + 35)  # a game's own


def stream(count: int) -> list[GameRecord]:
    """Games with surprises, openings and starts; the last has large counts."""
    game = azcore.make("go", board_size=3)
    rng = np.random.default_rng(4)
    starts = [game.state_to_text(game.step(game.initial_state(), action)) for action in range(4)]
    games = []
    for index, record in enumerate(played(game, count)):
        start = starts[index % 5] if index % 5 < 4 else None
        # A start is one move, so the rest of the game is legal where that move was its first.
        if start is not None and record.actions[0] != index % 5:
            start = None
        cut = 1 if start is not None else 0
        named = record.visit_offsets[cut]
        games.append(
            replace(
                record,
                start=start,
                actions=record.actions[cut:],
                visit_offsets=record.visit_offsets[cut:] - named,
                visit_actions=record.visit_actions[named:],
                visit_counts=record.visit_counts[named:],
                root_values=record.root_values[cut:],
                best_child_values=record.best_child_values[cut:],
                players=record.players[cut:],
                surprises=rng.random(len(record) - cut).astype(np.float32),
                opening_plies=int(rng.integers(0, 2)),
                resigned_by=None if index % 3 else index % 2,
                resign_threshold=None if index % 4 else -0.9,
                weights_version=index,
            )
        )
    games[-1] = replace(games[-1], visit_counts=games[-1].visit_counts * np.uint32(70_001))
    return games


@pytest.mark.parametrize(("share", "limits"), [(0.0, [20]), (0.5, [5, 9, 25, 40])])
def test_a_window_on_disk_is_the_window_in_memory(
    tmp_path: Path, share: float, limits: list[int]
) -> None:
    """Byte for byte, whatever comes, wherever it is written round, and as the window grows."""
    game = azcore.make("go", board_size=3)
    games = stream(2400)
    assert sum(record.start is not None for record in games) > 8
    targets = ("ownership", "score", "reply", "later_values", "plies_left")
    memory, disk = (
        ReplayBuffer(
            game=game,
            window_games=limits[0],
            augment=True,
            surprise_share=share,
            targets=targets,
            folder=folder,
        )
        for folder in (None, tmp_path)
    )
    rng = np.random.default_rng(5)
    at = 0
    while at < len(games):
        for buffer in (memory, disk):
            buffer.window_games = limits[min(len(limits) - 1, at * len(limits) // len(games))]
            buffer.extend(games[at : at + 7])
        at += 7
        assert (len(memory), memory.num_positions) == (len(disk), disk.num_positions)
        assert memory.mean_version == disk.mean_version
        assert memory.bytes_held == disk.bytes_held
        seed = int(rng.integers(0, 10**9))
        one, other = (buffer.sample(5, np.random.default_rng(seed)) for buffer in (memory, disk))
        for field in fields(one):
            a, b = getattr(one, field.name), getattr(other, field.name)
            if field.name == "auxiliary":
                assert a.keys() == b.keys() == set(targets)
                assert all(a[name].tobytes() == b[name].tobytes() for name in targets)
            else:
                assert a.tobytes() == b.tobytes()
    assert [r.to_bytes() for r in memory.played_out()] == [r.to_bytes() for r in disk.played_out()]
    window = games[-len(disk) :]
    assert disk.mean_version == np.mean([record.weights_version for record in window])
    assert [r.start for r in disk.played_out()] == [r.start for r in window[::-1] if r.played_out]
    ring = disk._plies
    assert ring.end > 3 * len(ring.room)  # it was written round
    assert list(tmp_path.iterdir()) == []  # nothing is left that anybody could change


def test_a_window_on_disk_holds_no_games_in_memory(tmp_path: Path) -> None:
    game = azcore.make("tic_tac_toe")
    games = played(game, 1000)
    held = []
    for folder in (None, tmp_path):
        window = ReplayBuffer(game=game, window_games=3000, augment=False, folder=folder)
        tracemalloc.start()
        while len(window) < 3000:
            window.extend(games)
        held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert window.bytes_held > 5e5
    assert held[0] > 5e5
    assert held[1] < 5e4


def test_no_room_on_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = azcore.make("tic_tac_toe")
    window = ReplayBuffer(game=game, window_games=100, augment=False, folder=tmp_path)

    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(
        GameFileError, match=r"reserve space for the replay window .*: No space left"
    ):
        window.extend(played(game, 20))


def test_a_window_made_anew_is_the_one_that_games_have_left() -> None:
    """Its samples have their numbers again, by which surprises are rounded."""
    game, games = azcore.make("go", board_size=3), stream(1000)
    long, anew = (
        ReplayBuffer(game=game, window_games=20, augment=False, surprise_share=0.5)
        for _ in range(2)
    )
    long.extend(games)
    gone = games[:-25]
    anew.begin_after(sum(record.num_samples for record in gone))
    assert anew.num_positions == 0
    anew.extend(games[-25:])
    assert anew._samples_end == long._samples_end == sum(record.num_samples for record in games)
    ends = [w._shares.copy(w._shares.first, w._shares.end).tobytes() for w in (long, anew)]
    assert ends[0] == ends[1]
    one, other = (window.sample(50, np.random.default_rng(1)) for window in (long, anew))
    assert one.policy_targets.tobytes() == other.policy_targets.tobytes()
