"""Records survive the disk, and every cut or altered byte is refused."""

from __future__ import annotations

import json
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

import azcore
from azcore.errors import RecordError
from azcore.records import GameRecord, RecordFile, parse_frame, require_same_game

GAME = azcore.make("tic_tac_toe")


def example(index: int = 0) -> GameRecord:
    rng = np.random.default_rng(index)
    counts = rng.integers(1, 4, 5)
    total = int(counts.sum())
    return GameRecord(
        game=GAME.identity,
        actions=rng.permutation(9)[:5].astype(np.uint16),
        visit_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32),
        visit_actions=rng.integers(0, 9, total).astype(np.uint16),
        visit_counts=rng.integers(1, 99, total).astype(np.uint32),
        root_values=rng.uniform(-1, 1, 5).astype(np.float32),
        best_child_values=rng.uniform(-1, 1, 5).astype(np.float32),
        players=np.array([0, 1, 1, 0, 1], np.uint8),  # a seat may move twice
        outcome=1,
        resigned_by=0 if index % 2 else None,
        resign_threshold=-0.875 if index % 2 else None,
        played_out=index % 2 == 0,
        opening_plies=0,
        seed=7,
        game_index=index,
        weights_version=100,
    )


def same(a: GameRecord, b: GameRecord) -> bool:
    plain = ("resigned_by", "resign_threshold", "played_out", "outcome", "game_index")
    return (
        a.to_bytes() == b.to_bytes()
        and a.actions.tolist() == b.actions.tolist()
        and a.best_child_values.tolist() == b.best_child_values.tolist()
        and a.players.tolist() == b.players.tolist()
        and all(getattr(a, name) == getattr(b, name) for name in plain)
    )


def test_file_round_trip(tmp_path: Path) -> None:
    file = RecordFile(tmp_path / "games" / "records.azg")
    written = [example(i) for i in range(5)]
    file.append(written)
    assert all(same(a, b) for a, b in zip(file.read(), written, strict=True))
    offsets = [offset for offset, _ in file.frames()]
    file.truncate(offsets[3])
    assert len(list(file.read())) == 3
    file.append([example(9)])
    assert [r.game_index for r in file.read()] == [0, 1, 2, 9]


def test_every_altered_byte_is_refused() -> None:
    frame = example().to_bytes()
    for i in range(len(frame)):
        altered = bytearray(frame)
        altered[i] ^= 1 << (i % 8)
        with pytest.raises(RecordError):
            parse_frame(bytes(altered), "here")


def test_every_cut_is_refused(tmp_path: Path) -> None:
    frame = example().to_bytes()
    for length in range(len(frame)):
        with pytest.raises(RecordError):
            parse_frame(frame[:length], "here")
    path = tmp_path / "records.azg"
    path.write_bytes(frame + frame[:-1])
    with pytest.raises(RecordError, match=f"byte {len(frame)}"):
        list(RecordFile(path).read())


def test_truncate_refuses_missing_records(tmp_path: Path) -> None:
    file = RecordFile(tmp_path / "records.azg")
    file.append([example()])
    with pytest.raises(RecordError, match="missing"):
        file.truncate(file.size() + 1)


def test_full_disk_is_one_sentence_and_leaves_whole_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = RecordFile(tmp_path / "records.azg")
    file.append([example()])

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RecordError, match="could not write game records: No space left"):
        file.append([example(1), example(2)])
    assert [record.game_index for record in file.read()] == [0]


def test_policy_target_is_normalised_visits() -> None:
    record = example()
    target = record.policy_target(2, 9)
    part = slice(record.visit_offsets[2], record.visit_offsets[3])
    assert target.sum() == pytest.approx(1.0)
    assert set(np.flatnonzero(target)) == set(record.visit_actions[part].tolist())


def test_records_of_another_game_are_refused() -> None:
    require_same_game(example(), GAME, "here")
    with pytest.raises(RecordError, match="here: records must be of"):
        require_same_game(example(), azcore.make("go", board_size=5), "here")


def test_records_from_before_resignation_are_read_and_measure_nothing() -> None:
    record = example()
    # A frame as it was written then: five arrays, and a header without resignation.
    names = ("actions", "visit_offsets", "visit_actions", "visit_counts", "root_values")
    arrays = [getattr(record, name) for name in names]
    header = {
        "game": record.game,
        "outcome": record.outcome,
        "opening_plies": record.opening_plies,
        "seed": record.seed,
        "game_index": record.game_index,
        "weights_version": record.weights_version,
        "lengths": dict(zip(names, map(len, arrays), strict=True)),
    }
    payload = json.dumps(header).encode() + b"\n" + b"".join(a.tobytes() for a in arrays)
    frame = struct.pack("<4sII", b"AZG1", len(payload), zlib.crc32(payload)) + payload
    old = parse_frame(frame, "here")
    assert old.actions.tolist() == record.actions.tolist()
    assert old.root_values.tolist() == record.root_values.tolist()
    assert (old.resigned_by, old.resign_threshold, old.played_out) == (None, None, False)
