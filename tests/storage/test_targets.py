"""Auxiliary targets drawn from the window are what the games say, looked up one ply at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import azcore
from azcore.game import Game
from azcore.storage.game_record import GameRecord
from azcore.storage.replay import ReplayBuffer
from azcore.storage.targets import HORIZONS, TARGETS, stated
from selfplay_kit import played

GO = azcore.make("go", board_size=3, komi=0.5)


def window(game: Game, records: list[GameRecord], augment: bool = False) -> ReplayBuffer:
    buffer = ReplayBuffer(game=game, window_games=len(records), augment=augment, targets=TARGETS)
    buffer.extend(records)
    return buffer


def final_state(game: Game, record: GameRecord) -> object:
    state = game.initial_state()
    for action in record.actions:
        state = game.step(state, int(action))
    return state


def later_value(record: GameRecord, ply: int, horizon: float) -> float:
    """The mean of the values from this ply on, each (1 - 1/h) of the one before, the rest on z."""
    weight, mean, player = 1.0, 0.0, record.players[ply]
    for later in range(ply, len(record)):
        value = np.clip(record.root_values[later], -1, 1)
        mean += weight / horizon * (value if record.players[later] == player else -value)
        weight *= 1 - 1 / horizon
    return float(mean + weight * (record.outcome if player == 0 else -record.outcome))


def test_targets_are_those_of_the_games() -> None:
    records = played(GO, 120)
    some = records[3]
    offsets = some.visit_offsets.copy()
    offsets[3:] -= offsets[3] - offsets[2]  # ply 2 was searched cheaply: no target, no reply
    cut = slice(some.visit_offsets[2], some.visit_offsets[3])
    records[3] = replace(
        some,
        visit_offsets=offsets,
        visit_actions=np.delete(some.visit_actions, cut),
        visit_counts=np.delete(some.visit_counts, cut),
    )
    records[5] = replace(records[5], resigned_by=1, outcome=1)
    records[6] = replace(records[6], agreed=True, outcome=0)
    buffer = window(GO, records)
    samples = buffer.positions(np.arange(buffer.num_positions))
    assert set(samples.auxiliary) == set(TARGETS) - {"soft_policy", "material"}
    row, without_reply = 0, 0
    for record in records:
        state = final_state(GO, record)
        for ply in range(len(record)):
            if record.visit_offsets[ply] == record.visit_offsets[ply + 1]:
                continue
            sign = 1 if record.players[ply] == 0 else -1
            got = {name: values[row] for name, values in samples.auxiliary.items()}
            if record.resigned_by is not None or record.agreed:
                assert np.isnan(got["ownership"]).all()
                assert np.isnan(got["score"])
            else:
                np.testing.assert_array_equal(got["ownership"], sign * GO.ownership(state))
                assert got["score"] == pytest.approx(sign * GO.score(state) / 9.5)
            reply = np.zeros(GO.num_actions)
            if ply + 1 < len(record):
                reply = record.policy_target(ply + 1, GO.num_actions)
            without_reply += not reply.any()
            np.testing.assert_array_equal(got["reply"], reply)
            want = [later_value(record, ply, horizon) for horizon in HORIZONS]
            np.testing.assert_allclose(got["later_values"], want, atol=1e-5)
            assert got["plies_left"] == len(record) - ply
            row += 1
    assert row == buffer.num_positions
    assert without_reply == len(records) + 1  # the last ply of each game, and the one before ply 2


def test_no_reply_is_of_the_next_game() -> None:
    """The last ply names one action, the first ply of the next game more."""
    first, second = played(GO, 60)[:2]
    last = int(first.visit_offsets[-2])
    offsets = np.zeros_like(first.visit_offsets)
    offsets[-1] = 1
    first = replace(
        first,
        visit_offsets=offsets,
        visit_actions=first.visit_actions[last : last + 1],
        visit_counts=first.visit_counts[last : last + 1],
    )
    assert second.visit_offsets[1] > 1
    assert not window(GO, [first, second]).positions(np.array([0])).auxiliary["reply"].any()


def test_targets_are_mapped_with_the_position() -> None:
    """The sum of stones and territory tells the symmetry: a mapped board has mapped owners."""
    records = played(GO, 60)
    plain = window(GO, records)
    samples = plain.positions(np.arange(plain.num_positions))
    known = set()
    for i in range(plain.num_positions):
        one = samples.observations[i].reshape(17, -1)
        cells, reply = samples.auxiliary["ownership"][i].ravel(), samples.auxiliary["reply"][i]
        identity = np.arange(9), np.arange(10)
        for c, a in [identity, *((s.cells, s.actions) for s in GO.symmetries)]:
            known.add((one[:, c].tobytes(), cells[c].tobytes(), reply[a].tobytes()))
    drawn = window(GO, records, augment=True).sample(400, np.random.default_rng(1))
    found = {
        (
            drawn.observations[i].tobytes(),
            drawn.auxiliary["ownership"][i].tobytes(),
            drawn.auxiliary["reply"][i].tobytes(),
        )
        for i in range(400)
    }
    assert found <= known
    assert len(found) > 100


def test_ends_leave_with_their_games() -> None:
    records = played(GO, 60)
    buffer = ReplayBuffer(game=GO, window_games=3, augment=False, targets=("score",))
    for record in records:
        buffer.extend([record])
    samples = buffer.positions(np.arange(buffer.num_positions))
    want = [
        (1 if player == 0 else -1) * GO.score(final_state(GO, record)) / 9.5
        for record in records[-3:]
        for player in record.players
    ]
    np.testing.assert_allclose(samples.auxiliary["score"], want, rtol=1e-6)
    assert set(samples.auxiliary) == {"score"}


def test_material_is_that_of_the_last_position_however_a_game_ended() -> None:
    game = azcore.make("chess", max_plies=60)
    records = played(game, 200)
    records[1] = replace(records[1], resigned_by=1, outcome=1)
    records[2] = replace(records[2], agreed=True, outcome=0)
    buffer = ReplayBuffer(
        game=game, window_games=len(records), augment=False, targets=("material", "score")
    )
    buffer.extend(records)
    samples = buffer.positions(np.arange(buffer.num_positions))
    want = [
        (1 if player == 0 else -1) * game.material(final_state(game, record))
        for record in records
        for player in record.players
    ]
    assert np.unique(np.abs(want)).size > 1
    np.testing.assert_allclose(samples.auxiliary["material"], want, rtol=1e-6)
    assert set(samples.auxiliary) == {"material"}


def test_a_game_without_ownership_has_the_other_targets() -> None:
    game = azcore.make("tic_tac_toe")
    assert stated(game, TARGETS) == ("reply", "soft_policy", "later_values", "plies_left")
    assert set(window(game, played(game, 5)).sample(4, np.random.default_rng(1)).auxiliary) == {
        "reply",
        "later_values",
        "plies_left",
    }
    assert stated(GO, ("score", "reply")) == ("score", "reply")
