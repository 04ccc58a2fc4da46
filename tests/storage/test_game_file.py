"""Records survive the disk, and every cut or altered byte is refused."""

from __future__ import annotations

import os
import shutil
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import azcore
from azcore.errors import GameFileError
from azcore.storage import game_file
from azcore.storage.game_file import Forgotten, GameFile, new_game_file
from azcore.storage.game_record import GameRecord, parse_frame, require_same_game
from trust_kit import framed, taken_apart

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
        resigned_by=1 if index % 2 else None,
        resign_threshold=-0.875 if index % 2 else None,
        played_out=index % 2 == 0,
        opening_plies=0,
        seed=7,
        game_index=index,
        weights_version=100,
        counts="visits",
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
    file = GameFile(tmp_path / "games" / "records.azg")
    written = [example(i) for i in range(5)]
    file.append(written)
    assert all(same(a, b) for a, b in zip(file.read(), written, strict=True))
    offsets = [offset for offset, _ in file.frames()]
    file.truncate(offsets[3])
    assert len(list(file.read())) == 3
    file.append([example(9)])
    assert [r.game_index for r in file.read()] == [0, 1, 2, 9]


def test_surprises_are_kept_by_a_frame_of_their_own() -> None:
    plain = example()
    assert plain.to_bytes()[:4] == b"AZG3"
    assert parse_frame(plain.to_bytes(), "here").surprises.tolist() == []
    record = replace(plain, surprises=np.array([0.5, 0.0, 2.25, 0.0, 1.0], np.float32))
    frame = record.to_bytes()
    assert frame[:4] == b"AZG4"
    again = parse_frame(frame, "here")
    assert again.surprises.tolist() == [0.5, 0.0, 2.25, 0.0, 1.0]
    assert again.to_bytes() == frame
    assert replace(again, surprises=plain.surprises).to_bytes() == plain.to_bytes()
    for wrong in ([0.0] * 4, [0.0, 0.0, -0.5, 0.0, 0.0], [np.nan] * 5, [np.inf] * 5):
        lie = replace(plain, surprises=np.array(wrong, np.float32))
        with pytest.raises(GameFileError, match="surprises must be"):
            parse_frame(lie.to_bytes(), "here")


def test_every_altered_byte_is_refused() -> None:
    frame = example().to_bytes()
    for i in range(len(frame)):
        altered = bytearray(frame)
        altered[i] ^= 1 << (i % 8)
        with pytest.raises(GameFileError):
            parse_frame(bytes(altered), "here")


def test_every_cut_is_refused(tmp_path: Path) -> None:
    frame = example().to_bytes()
    for length in range(len(frame)):
        with pytest.raises(GameFileError):
            parse_frame(frame[:length], "here")
    path = tmp_path / "records.azg"
    path.write_bytes(frame + frame[:-1])
    with pytest.raises(GameFileError, match=f"byte {len(frame)}"):
        list(GameFile(path).read())


def test_truncate_refuses_missing_records(tmp_path: Path) -> None:
    file = GameFile(tmp_path / "records.azg")
    file.append([example()])
    with pytest.raises(GameFileError, match="missing"):
        file.truncate(file.size() + 1)


def test_full_disk_is_one_sentence_and_leaves_whole_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = GameFile(tmp_path / "records.azg")
    file.append([example()])

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(GameFileError, match="could not write game records: No space left"):
        file.append([example(1), example(2)])
    assert [record.game_index for record in file.read()] == [0]


@pytest.mark.parametrize("change", ["removed", "cut", "emptied", "longer"])
def test_records_that_change_while_they_are_written_are_not_written_on(
    tmp_path: Path, change: str
) -> None:
    """A resume would miss games, or count bytes of a file that is gone."""
    file = GameFile(tmp_path / "games/records.azg")
    file.append([example(1)])
    file.append([example(2)])
    size = file.size()
    if change == "removed":
        shutil.rmtree(file.path.parent)
    else:
        os.truncate(file.path, {"cut": size - 9, "emptied": 0, "longer": size + 9}[change])
    for use in (lambda: file.append([example(3)]), file.size):
        with pytest.raises(GameFileError, match=r"was removed or changed meanwhile") as error:
            use()
        assert len(str(error.value).splitlines()) == 1
    there = file.path.stat().st_size if file.path.exists() else None
    assert there == {"removed": None, "cut": size - 9, "emptied": 0, "longer": size + 9}[change]


def test_policy_target_is_normalised_visits() -> None:
    record = example()
    target = record.policy_target(2, 9)
    part = slice(record.visit_offsets[2], record.visit_offsets[3])
    assert target.sum() == pytest.approx(1.0)
    assert set(np.flatnonzero(target)) == set(record.visit_actions[part].tolist())


def test_records_of_another_game_are_refused() -> None:
    require_same_game(example(), GAME, "here")
    with pytest.raises(GameFileError, match="here: records must be of"):
        require_same_game(example(), azcore.make("go", board_size=5), "here")


IDENTITY = {"name": "tic_tac_toe", "version": 1, "settings": {}}
HEADERS: list[tuple[str, list[Any], str]] = [
    ("outcome", [7, True, None, 0.5, "1", [1]], "outcome must be -1, 0 or 1"),
    ("opening_plies", [-1, 6, True, 1.0, None], "opening_plies must be 0 to 5"),
    ("seed", [-1, 0.5, True, "1", 2**63, None], "seed must be 0 to"),
    ("game_index", [-1, None, 2**63], "game_index must be 0 to"),
    ("weights_version", [-1, False], "weights_version must be 0 to"),
    ("resigned_by", [2, -1, True, 0.0], "resigned_by must be a seat"),
    ("resigned_by", [0], "outcome of a resignation must be a loss of the seat that resigned"),
    ("resign_threshold", ["x", True, [], 10**400], "resign_threshold must be a number"),
    ("played_out", [1, None, "yes"], "played_out must be true or false"),
    ("counts", ["some", 1, []], "counts must be visits or policy"),
    ("game", [None, 5, [], {}, {**IDENTITY, "more": 1}], "game must be a name, a version and"),
    ("game", [{**IDENTITY, "name": n} for n in (1, None, [], "x" * 300)], "the game's name"),
    ("game", [{**IDENTITY, "version": n} for n in (0, 1.0, True, "1")], "the game's version"),
    ("game", [{**IDENTITY, "settings": n} for n in (None, [], "x")], "the game's settings"),
    (
        "game",
        [
            {**IDENTITY, "settings": {"komi": n}}
            for n in (None, [], {}, 2**70, "x" * 300, [[1]], ["1"], [1] * 101)
        ],
        "the game's komi must be a short text, a number, true, false or a few numbers",
    ),
    ("game", [{**IDENTITY, "settings": {n: 1}} for n in ("name", "a b", "")], "named by a word"),
    ("lengths", [None, [], 5], "lengths must be an object"),
    (
        "lengths",
        [{"actions": n} for n in (-1, 5.0, True, 2**62, None, "5")],
        "the length of actions must be a count",
    ),
]


@pytest.mark.parametrize(("name", "values", "told"), HEADERS)
def test_headers_that_no_game_can_have(name: str, values: list[Any], told: str) -> None:
    for value in values:
        header, arrays = taken_apart(example())
        with pytest.raises(GameFileError, match=f"^here: .*({told})"):
            parse_frame(framed({**header, name: value}, arrays), "here")


ARRAYS: list[tuple[dict[str, Any], str]] = [
    ({"actions": []}, "actions must be one or more"),
    ({"visit_offsets": [0, 5]}, "the length of visit_offsets must be 6, got 2"),
    ({"visit_offsets": [1, 1, 1, 1, 1, 8]}, "visit_offsets must be rising from 0"),
    ({"visit_offsets": [0, 1, 1, 1, 1, 7]}, "visit_offsets must be rising from 0"),
    ({"visit_offsets": [0, 9, 1, 1, 1, 8]}, "visit_offsets must be rising from 0"),
    ({"visit_offsets": [0, 2**32 - 1, 1, 1, 1, 8]}, "visit_offsets must be rising from 0"),
    ({"visit_counts": [1, 1]}, "the length of visit_counts must be 8, got 2"),
    ({"visit_counts": [0] * 8}, "visit_counts must be 1 or more"),
    ({"root_values": [0, 0, np.nan, 0, 0]}, "root_values must be finite"),
    ({"root_values": [0]}, "the length of root_values must be 5, got 1"),
    ({"best_child_values": [0, 0, 0, 0, np.inf]}, "best_child_values must be finite"),
    ({"best_child_values": []}, "the length of best_child_values must be 5, got 0"),
    ({"players": [0, 1, 0, 1, 2]}, "players must be 0 or 1, got 2"),
    ({"players": []}, "the length of players must be 5, got 0"),
]


@pytest.mark.parametrize(("changed", "told"), ARRAYS)
def test_arrays_that_no_game_can_have(changed: dict[str, Any], told: str) -> None:
    record = replace(
        example(),
        visit_offsets=np.array([0, 1, 3, 5, 7, 8], np.uint32),
        visit_actions=np.zeros(8, np.uint16),
        visit_counts=np.ones(8, np.uint32),
    )
    parse_frame(record.to_bytes(), "here")
    arrays = {
        name: np.array(values, getattr(record, name).dtype) for name, values in changed.items()
    }
    with pytest.raises(GameFileError, match=f"^here: not a game record of this azcore: {told}"):
        parse_frame(replace(record, **arrays).to_bytes(), "here")


def payload_frame(payload: bytes) -> bytes:
    return struct.pack("<4sII", b"AZG3", len(payload), zlib.crc32(payload)) + payload


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\n",
        b"{}",
        b"5\n",
        b"[" * 60_000 + b"\n",
        b'{"a":' * 10_000 + b"\n",
        b"{" + b" " * 10**6 + b"}\n",
        b"\xff\n",
        b'{"seed":' + b"9" * 10_000 + b"}\n",
        b'{"outcome":NaN}\n',
        example().to_bytes()[12:] + b"\0",
    ],
    ids=lambda payload: repr(payload[:12]),
)
def test_payloads_that_are_no_record(payload: bytes) -> None:
    with pytest.raises(GameFileError, match=r"^here: not a game record of this azcore: ") as caught:
        parse_frame(payload_frame(payload), "here")
    assert len(str(caught.value)) < 300


def test_a_length_is_not_believed(tmp_path: Path) -> None:
    """Of a file that says 4 GB, or has them with nothing in it, next to nothing is read."""
    path = tmp_path / "records.azg"
    path.write_bytes(struct.pack("<4sII", b"AZG3", 2**32 - 1, 0))
    with pytest.raises(GameFileError, match="the record is truncated"):
        list(GameFile(path).read())
    os.truncate(path, 2**32 + 11)
    tracemalloc.start()
    with pytest.raises(GameFileError, match="a record must be at most 268,435,456 bytes"):
        list(GameFile(path).read())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6


def numbered_games(count: int) -> list[GameRecord]:
    """Records told apart by their numbers."""
    return [
        replace(example(), game_index=index, root_values=values(index)) for index in range(count)
    ]


def values(index: int) -> npt.NDArray[np.float32]:
    return np.full(len(example()), index / 100, np.float32)


def test_old_games_are_forgotten_and_places_stay(tmp_path: Path) -> None:
    file = GameFile(tmp_path / "records.azg")
    games = numbered_games(10)
    file.append(games)
    places, size = [place for place, _ in file.frames()], file.size()
    for gone in (3, 3, 7, 10):
        file.forget(gone)
        samples = sum(record.num_samples for record in games[:gone])
        assert file.forgotten == Forgotten([*places, size][gone], gone, samples)
        assert [place for place, _ in file.frames()] == places[gone:]
        assert [record.game_index for record in file.read()] == list(range(gone, 10))
        assert file.size() == size
    assert (tmp_path / "records.azg").stat().st_size < 150
    file.append(games[:2])
    assert [record.game_index for record in file.read(size)] == [0, 1]
    file.truncate(size)
    assert list(file.read()) == []
    file.append(games[5:6])
    assert [record.game_index for record in file.read()] == [5]
    with pytest.raises(GameFileError, match=r"has dropped its first 10 games.*games_on_disk"):
        file.truncate(places[4])
    with pytest.raises(GameFileError, match="has dropped"):
        list(file.read(places[4]))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["records.azg"]


@pytest.mark.parametrize("gone", [0, 3])
def test_what_comes_before_a_place_is_copied_with_its_places(tmp_path: Path, gone: int) -> None:
    file, copied = GameFile(tmp_path / "records.azg"), GameFile(tmp_path / "copy.azg")
    file.append(numbered_games(10))
    places = [place for place, _ in file.frames()]
    file.forget(gone)
    with copied.path.open("wb") as target:
        file.copy_before(places[7], target)
    assert copied.size() == places[7]
    assert [place for place, _ in copied.frames()] == places[gone:7]
    assert [record.game_index for record in copied.read()] == list(range(gone, 7))
    for place, told in ((places[1], "dropped its first 3"), (10**9, "are missing")):
        if gone or place > 10**8:
            with pytest.raises(GameFileError, match=told), copied.path.open("wb") as target:
                file.copy_before(place, target)


def test_a_new_file_is_there_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, games = tmp_path / "new" / "records.azg", numbered_games(3)
    with pytest.raises(AttributeError), new_game_file(path) as write:
        write(None)  # type: ignore[arg-type]
    assert list(path.parent.iterdir()) == []

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)  # as on a file system without links
    with new_game_file(path) as write:
        for game in games:
            write(game)
            assert not path.exists()
    assert list(path.parent.iterdir()) == [path]
    assert [record.game_index for record in GameFile(path).read()] == [0, 1, 2]
    before = path.read_bytes()
    with pytest.raises(GameFileError, match="already exists"), new_game_file(path):
        pass
    assert path.read_bytes() == before


def test_forgetting_is_done_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = GameFile(tmp_path / "records.azg")
    file.append(numbered_games(5))
    before = file.path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(GameFileError, match="could not drop old games: No space left"):
            file.forget(2)
    assert file.path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file.path]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b"{}",
        b'{"place": -1, "games": 0, "positions": 0}',
        b'{"place": 1, "games": 1e3, "positions": 0}',
        b'{"place": 1, "games": true, "positions": 0}',
        b'{"place": 99999999999999999999, "games": 0, "positions": 0}',
        b"[" * 40_000,
    ],
)
def test_what_is_said_to_be_forgotten_may_be_a_lie(tmp_path: Path, payload: bytes) -> None:
    file = GameFile(tmp_path / "records.azg")
    checksum = zlib.crc32(payload)
    file.path.write_bytes(struct.pack("<4sII", b"AZGF", len(payload), checksum))
    with pytest.raises(GameFileError, match="cannot read its frame of dropped games"):
        list(file.read())
    file.path.write_bytes(struct.pack("<4sII", b"AZGF", len(payload), checksum) + payload)
    with pytest.raises(GameFileError, match="cannot read its frame of dropped games"):
        list(file.read())
    file.path.write_bytes(struct.pack("<4sII", b"AZGF", 2**32 - 1, checksum) + payload)
    with pytest.raises(GameFileError, match="cannot read its frame of dropped games"):
        file.size()


def closing_at(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game_file, "PART_BYTES", size)


def in_parts(folder: Path, count: int) -> GameFile:
    """So many games, three to a part."""
    file = GameFile(folder / "records.azg")
    for game in numbered_games(count):
        file.append([game])
    return file


def indices(file: GameFile, start: int = 0, end: int | None = None) -> list[int]:
    return [record.game_index for record in file.read(start, end)]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_parts_read_as_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = GameFile(tmp_path / "whole" / "records.azg")
    games = numbered_games(12)
    whole.append(games)
    closing_at(1000, monkeypatch)
    file = in_parts(tmp_path / "parts", 12)
    assert len(contents(file.path.parent)) == 4
    assert file.size() == whole.size()
    assert list(file.frames()) == list(whole.frames())
    places = [place for place, _ in whole.frames()]
    for number, place in enumerate(places):
        assert indices(file, place) == list(range(number, 12))
        assert indices(file, 0, place) == list(range(number)) if number else True
        for copied, original in ((file, whole), (whole, file)):
            with (tmp_path / "before.azg").open("wb") as target:
                copied.copy_before(place, target)
            assert (tmp_path / "before.azg").read_bytes() == whole.path.read_bytes()[:place]
            with (tmp_path / "after.azg").open("wb") as target:
                copied.copy_from(place, target)
            assert (tmp_path / "after.azg").read_bytes() == whole.path.read_bytes()[place:]
            assert original.size() == copied.size()
        before = file.before_game(number)
        assert before.place == places[before.games]
        assert before.positions == sum(game.num_samples for game in games[: before.games])
        assert number - 3 < before.games <= number
    # Each part is a file of its own, which knows what comes before it.
    alone = [GameFile(path) for path in sorted(file.path.parent.iterdir()) if path != file.path]
    assert [index for part in alone for index in indices(part)] == list(range(9))
    assert all(indices(part)[0] == part.forgotten.games for part in alone)


@pytest.mark.parametrize("gone", range(13))
def test_parts_forget_the_oldest_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: int
) -> None:
    whole = GameFile(tmp_path / "whole" / "records.azg")
    whole.append(numbered_games(12))
    whole.forget(gone)
    closing_at(1000, monkeypatch)
    file = in_parts(tmp_path / "parts", 12)
    file.forget(gone // 2)
    file.forget(gone)
    assert file.forgotten == whole.forgotten
    assert file.size() == whole.size()
    assert list(file.frames()) == list(whole.frames())
    assert indices(file) == list(range(gone, 12))
    with pytest.raises(GameFileError, match="has dropped its first"):
        indices(file, 1 if gone else -1)
    file.append(numbered_games(1))
    assert indices(file) == [*range(gone, 12), 0]


@pytest.mark.parametrize("kept", range(13))
def test_parts_are_cut_and_go_on_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    closing_at(1000, monkeypatch)
    file, wanted = in_parts(tmp_path / "cut", 12), in_parts(tmp_path / "never", 12)
    places = [*(place for place, _ in file.frames()), file.size()]
    file.truncate(places[kept])
    assert file.size() == places[kept]
    assert indices(file) == list(range(kept))
    closed = {path.stem for path in file.path.parent.iterdir()} - {file.path.stem}
    assert all(int(name.removeprefix("records-")) <= places[kept] for name in closed)
    for game in numbered_games(12)[kept:]:
        file.append([game])
    assert contents(file.path.parent) == contents(wanted.path.parent)


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("change", ["append", "forget", "truncate"])
@pytest.mark.parametrize("links", [True, False])
def test_a_kill_at_any_change_of_a_part_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, links: bool
) -> None:
    """Every call that changes a file is once the last, done or not."""
    closing_at(1000, monkeypatch)
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: os.truncate(tmp_path / "nowhere", 0))
    twelve = in_parts(tmp_path / "twelve", 12)
    place = next(place for number, (place, _) in enumerate(twelve.frames()) if number == 4)
    changes: dict[str, Callable[[GameFile], None]] = {
        "append": lambda file: file.append(numbered_games(13)[12:]),  # it begins a part
        "forget": lambda file: file.forget(8),
        "truncate": lambda file: file.truncate(place),
    }
    wanted = GameFile(tmp_path / "wanted" / "records.azg")
    shutil.copytree(twelve.path.parent, wanted.path.parent)
    changes[change](wanted)
    calls = [(os, "fsync"), (os, "link"), (os, "truncate"), (Path, "unlink"), (Path, "replace")]
    deaths = 0
    for at in range(40):
        file = GameFile(tmp_path / str(at) / "records.azg")
        shutil.copytree(twelve.path.parent, file.path.parent)
        with monkeypatch.context() as patch:
            left = at

            def dying(call: Any, *arguments: Any, **named: Any) -> Any:
                nonlocal left
                left -= 1
                if left == -1:
                    raise Killed
                made = call(*arguments, **named)
                left -= 1
                if left == -1:
                    raise Killed
                return made

            for where, name in calls:
                patch.setattr(where, name, partialmethod_of(dying, getattr(where, name)))
            try:
                changes[change](file)
            except Killed:
                deaths += 1
        found = indices(file)
        if change == "forget":
            assert found == list(range(found[0], 12))
            assert 0 <= found[0] <= 8
        elif change == "truncate":
            assert found == list(range(len(found)))
            assert 4 <= len(found) <= 12
        else:
            assert found[:12] == list(range(12))
            file.truncate(twelve.size())
        changes[change](file)
        assert list(file.frames()) == list(wanted.frames())
        assert file.forgotten == wanted.forgotten
        if left >= 0:
            break
    assert left >= 0
    assert deaths >= 4


def partialmethod_of(first: Any, call: Any) -> Any:
    """A function that also works as a method."""
    return lambda *arguments, **named: first(call, *arguments, **named)


def test_parts_that_somebody_sends_may_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closing_at(1000, monkeypatch)
    file = GameFile(in_parts(tmp_path, 12).path)  # as it comes: this one has written nothing
    closed = sorted(set(tmp_path.iterdir()) - {file.path})
    last = file.path.read_bytes()
    first = GameFile(file.path).before_game(11)
    beginning = len(first.to_bytes())
    # A part that is another's, is cut, or is missing: what came before is gone.
    for content in (closed[0].read_bytes(), closed[-1].read_bytes()[:-1], None):
        kept = closed[-1].read_bytes()
        closed[-1].unlink()
        if content is not None:
            closed[-1].write_bytes(content)
        assert file.forgotten == first
        assert indices(file) == list(range(first.games, 12))
        closed[-1].write_bytes(kept)
    # One that says that it begins where it ends, or after: no endless search for others.
    for place in (first.place, first.place + 5, 2**53):
        closed[-1].write_bytes(Forgotten(place, 1, 1).to_bytes())
        assert file.forgotten == first
    file.path.write_bytes(Forgotten(2**53, 2**53, 2**53).to_bytes() + last[beginning:])
    assert file.forgotten.games == 2**53
    assert indices(file) == list(range(first.games, 12))


def test_a_file_that_is_closed_while_it_is_read_is_read_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing_at(1000, monkeypatch)
    file, found = in_parts(tmp_path, 8), []
    reader = file.read(0, file.size())
    for index in range(8, 16):
        found.append(next(reader).game_index)
        file.append([numbered_games(16)[index]])
    assert [*found, *(record.game_index for record in reader)] == list(range(8))


def test_closing_a_file_on_a_full_disk_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing_at(1000, monkeypatch)
    file = in_parts(tmp_path, 3)
    before = contents(tmp_path)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(GameFileError, match="could not write game records: No space left"):
            file.append(numbered_games(4)[3:])
    assert contents(tmp_path) == before
    file.append(numbered_games(4)[3:])
    assert indices(file) == [0, 1, 2, 3]
    assert len(contents(tmp_path)) == 2
