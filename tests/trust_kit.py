"""Received files that lie: made by chance, with right checksums, and read as azcore reads them.

    python tests/trust_kit.py records 20000 1       # so many mutations, from a seed
    python tests/trust_kit.py transcripts 2000 1
    python tests/trust_kit.py checkpoints 5000 1

A mutation that is refused must be refused in one sentence; one that is read must be of use.
Anything else ends the process: an exception with a traceback, memory beyond `MOST_MEMORY`, a crash
or a hang by the signal they bring. So a test runs this file as a program of its own.
"""

from __future__ import annotations

import contextlib
import copy
import faulthandler
import hashlib
import io
import json
import resource
import struct
import sys
import tempfile
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import azcore
from azcore.commands.bench.search import FreeEvaluator
from azcore.errors import AzcoreError, TranscriptError
from azcore.game import Transcript
from azcore.learner.imported_games import with_targets
from azcore.networks import build_network
from azcore.networks.checkpoint import describe_run, load_network
from azcore.networks.towers import DualRes
from azcore.selfplay.actor import Actor
from azcore.storage.checkpoint import write_checkpoint
from azcore.storage.game_record import GameRecord, parse_frame
from azcore.storage.imported_records import RecordMaker
from azcore.storage.referee import Referee
from azcore.storage.replay import ReplayBuffer
from azcore.storage.transcripts import format_of_path, formats_of, read_transcripts
from search_kit import search_settings
from selfplay_kit import played, selfplay_settings

MOST_MEMORY = 3 << 30  # bytes of addresses that may be asked for beyond what the start takes
GAMES = [("tic_tac_toe", {}), ("tic_tac_toe_plain", {}), ("go", {"board_size": 3})]
ODD = [-1, 0, 1, 2, 3, 7, 255, 65_535, 2**31, 2**32 - 1, 2**63, -(2**63), 10**30]
VALUES: list[Any] = [*ODD, 0.5, -1.5, 1e308, float("nan"), float("inf"), True, False, None]
VALUES += ["", "x", "tic_tac_toe", "go", [], [1], {}, {"a": 1}, [[[[[]]]]], {"name": {"name": []}}]
Array = np.ndarray[Any, Any]


def mutated(value: Any, rng: np.random.Generator) -> Any:
    """A copy of plain values with one of them changed, left out or twice there."""
    value = copy.deepcopy(value)
    here, key = None, None
    inside = value
    while isinstance(inside, dict | list) and inside and (here is None or rng.random() < 0.85):
        keys = list(inside) if isinstance(inside, dict) else range(len(inside))
        here, key = inside, keys[int(rng.integers(len(keys)))]
        inside = here[key]
    if here is None:
        return VALUES[int(rng.integers(len(VALUES)))]
    kind = rng.random()
    if kind < 0.15:
        del here[key]
    elif kind < 0.25 and isinstance(here, list):
        here.append(inside)
    elif kind < 0.5 and isinstance(inside, torch.Tensor):
        here[key] = _odd_tensor(inside, rng)
    elif kind < 0.6 and type(inside) is int:
        here[key] = inside + int(rng.integers(-3, 4))
    else:
        here[key] = VALUES[int(rng.integers(len(VALUES)))]
    return value


def _odd_tensor(tensor: torch.Tensor, rng: np.random.Generator) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch on its quantised and sparse tensors
        kinds: list[Callable[[], Any]] = [
            lambda: torch.full_like(tensor, 3).mul(float("nan")),
            lambda: tensor.reshape(-1)[:1].expand(10**12),
            lambda: torch.zeros(0),
            lambda: tensor.flatten(),
            lambda: tensor.double(),
            lambda: tensor.to("meta"),
            lambda: tensor.float().to_sparse(),
            lambda: torch.quantize_per_tensor(tensor.float(), 0.1, 0, torch.qint8),
            lambda: tensor.to(torch.complex64),
            lambda: torch.nn.Parameter(tensor.float()),
        ]
        return kinds[int(rng.integers(len(kinds)))]()


# -- records ---------------------------------------------------------------------------------------


def framed(header: Any, arrays: dict[str, Array], magic: bytes = b"AZG3") -> bytes:
    """A frame of whatever is given, with the right checksum."""
    payload = json.dumps(header).encode() + b"\n" + b"".join(a.tobytes() for a in arrays.values())
    return struct.pack("<4sII", magic, len(payload), zlib.crc32(payload)) + payload


def taken_apart(record: GameRecord) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a record."""
    payload = record.to_bytes()[12:]
    header = json.loads(payload[: payload.index(b"\n")])
    return header, {name: np.array(getattr(record, name)) for name in _names(header)}


def _names(header: dict[str, Any]) -> list[str]:
    order = ["actions", "visit_offsets", "visit_actions", "visit_counts"]
    order += ["root_values", "best_child_values", "players", "surprises"]
    return [name for name in order if name in header["lengths"]]


def lying_frame(record: GameRecord, rng: np.random.Generator) -> bytes:
    """A frame with one to three lies, lengths made to fit half of the time."""
    header, arrays = taken_apart(record)
    if rng.random() < 0.1:
        header["agreed"] = VALUES[int(rng.integers(len(VALUES)))]
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.3:
            header = mutated(header, rng)
            continue
        name = list(arrays)[int(rng.integers(len(arrays)))]
        array, kind = arrays[name].copy(), rng.random()
        if kind < 0.3 and len(array):
            odd = ODD[int(rng.integers(len(ODD) - 3))]
            array[rng.integers(len(array))] = np.array(odd, np.int64).astype(array.dtype)
        elif kind < 0.4 and array.dtype.kind == "f" and len(array):
            array[rng.integers(len(array))] = [np.nan, np.inf, 1e30][int(rng.integers(3))]
        elif kind < 0.6:
            array = np.resize(array, rng.choice([0, 1, len(array) + 1, 3 * len(array), 60_000]))
        elif kind < 0.8:
            array = rng.permutation(array)
        elif len(array) > 1:
            array[rng.integers(len(array))] = array[rng.integers(len(array))]
        arrays[name] = array
    if rng.random() < 0.6 and isinstance(header, dict):
        header["lengths"] = {name: len(array) for name, array in arrays.items()}
    usual = record.to_bytes()[:4]
    frame = framed(header, arrays, [usual, usual, b"AZG2", b"AZG5"][int(rng.integers(4))])
    if rng.random() < 0.1:  # somewhere in the payload, checksum made anew
        payload = bytearray(frame[12:])
        payload[rng.integers(len(payload))] ^= 1 << int(rng.integers(8))
        frame = struct.pack("<4sII", frame[:4], len(payload), zlib.crc32(payload)) + payload
    return frame


def use_record(record: GameRecord, game: azcore.Game) -> None:
    """What learning does with a record: all of its positions, by both kinds of targets."""
    for targets in ("visits", "played"):
        buffer = ReplayBuffer(game=game, window_games=1, augment=False)
        buffer.extend([with_targets(record, targets)])
        if buffer.num_positions:
            samples = buffer.positions(np.arange(buffer.num_positions))
            assert (samples.policy_targets[~samples.legal_action_mask] == 0).all()
            np.testing.assert_allclose(samples.policy_targets.sum(1), 1, atol=1e-5)
            assert np.isin(samples.value_targets, (-1, 0, 1)).all()
            assert samples.legal_action_mask.any(1).all()
    record.to_bytes()


def later(game: azcore.Game, record: GameRecord) -> GameRecord:
    """The same game from its position after two plies, as its start."""
    state = game.initial_state()
    for action in record.actions[:2]:
        state = game.step(state, int(action))
    gone = record.visit_offsets[2]
    parts = ("actions", "root_values", "best_child_values", "players")
    return replace(
        record,
        start=game.state_to_text(state),
        visit_offsets=record.visit_offsets[2:] - gone,
        visit_actions=record.visit_actions[gone:],
        visit_counts=record.visit_counts[gone:],
        **{name: getattr(record, name)[2:] for name in parts},
    )


def fuzz_records(count: int, seed: int) -> Counter[str]:
    """How many were refused and how many were read."""
    rng, found = np.random.default_rng(seed), Counter[str]()
    games = [azcore.make(name, **settings) for name, settings in GAMES]
    known = []
    for game in games:
        records = played(game, 60)
        known.append((game, Referee(game), records + [later(game, one) for one in records]))
    for _ in range(count):
        game, referee, records = known[int(rng.integers(len(known)))]
        frame = lying_frame(records[int(rng.integers(len(records)))], rng)
        with _refusal(found):
            record = parse_frame(frame, "here")
            referee.check(record, "here")
            use_record(record, game)
    return found


# -- transcripts -----------------------------------------------------------------------------------

SIGNS = [*(bytes([sign]) for sign in b'()[]{};\\"\n%*-/0'), b"\n\n", b"\xff\x00", b"1-0", b"0-1"]
SIGNS += [
    b"(;GM[1]",
    b'\n\n[Event "x"]\n',
    b"RE[B+R]",
    b"KM[1e999]",
    b"SZ[99]",
    b"HA[9]",
    b"AB[aa]",
]


def collections() -> dict[str, tuple[azcore.Game, bytes]]:
    """Files of four games each by the names of their formats."""
    found = {}
    for form, name, settings in (("sgf", "go", {"board_size": 5}), ("pgn", "chess", {})):
        game = azcore.make(name, **settings)
        texts = []
        for seed in range(4):
            rng, state, actions = np.random.default_rng(seed), game.initial_state(), []
            while len(actions) < 20 and not game.is_terminal(state):
                legal = np.flatnonzero(game.legal_action_mask(state))
                actions.append(int(rng.choice(legal)))
                state = game.step(state, actions[-1])
            writer = formats_of(game)[form]
            result = None if game.is_terminal(state) else writer.resignation(seed % 2)
            transcript = Transcript(actions=actions, comments=["said"], result=result)
            texts.append(writer.write(transcript))
        found[form] = (game, "\n".join(texts).encode())
    return found


def fuzz_transcripts(count: int, seed: int) -> Counter[str]:
    """How many games were refused and how many read, of files of four games each."""
    rng, found = np.random.default_rng(seed), Counter[str]()
    known = {form: (game, data, RecordMaker(game)) for form, (game, data) in collections().items()}
    with tempfile.TemporaryDirectory() as folder:
        while found.total() < count:
            suffix = list(known)[int(rng.integers(len(known)))]
            game, data, maker = known[suffix]
            path = Path(folder) / f"lie.{suffix}"
            lie = bytearray(data)
            for _ in range(int(rng.integers(6))):
                place = int(rng.integers(len(lie)))
                sign = SIGNS[int(rng.integers(len(SIGNS)))]
                lie[place : place + int(rng.integers(3))] = sign
            path.write_bytes(lie)
            for read in read_transcripts(path, game):
                with _refusal(found):
                    if isinstance(read, TranscriptError):
                        raise read
                    use_record(maker.record(read, format_of_path(game, path), 0), game)
    return found


# -- checkpoints -----------------------------------------------------------------------------------


def example_checkpoint(game: azcore.Game) -> dict[str, Any]:
    """What players read of a checkpoint, and games in play."""
    settings = DualRes(
        name="dual_res", blocks=1, channels=2, policy_head="auto", value_hidden=2, history=None
    )
    network = build_network(game, settings, seed=1)
    return {
        "azcore": describe_run(game, settings),
        "global_step": 12,
        "state_dict": {f"network.{k}": v for k, v in network.state_dict().items()},
    }


def fuzz_checkpoints(count: int, seed: int) -> Counter[str]:
    """How many were refused and how many were read: networks, archives and games in play."""
    rng, found = np.random.default_rng(seed), Counter[str]()
    game = azcore.make("tic_tac_toe")
    whole = example_checkpoint(game)
    actor = Actor(
        game=game,
        search=search_settings(num_simulations=4),
        settings=selfplay_settings(),
        seed=3,
        evaluator=FreeEvaluator(game, 4),
    )
    actor.play(9)
    in_play = actor.state_dict()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lie.ckpt"
        for _ in range(count):
            if rng.random() < 0.4:
                lie = mutated(in_play, rng)
                with _refusal(found, LookupError, TypeError, ValueError, AttributeError):
                    actor.load_state_dict(lie)  # whoever resumes makes these one sentence
                    actor.play(20)
                continue
            write_checkpoint(mutated(whole, rng), path)
            if rng.random() < 0.4:
                _alter(path, rng)
            with _refusal(found):
                network, _ = load_network(path, game)
                observations = torch.zeros((1, *game.observation_shape), dtype=torch.uint8)
                assert all(output.isfinite().all() for output in network.eval()(observations))
    return found


def _alter(path: Path, rng: np.random.Generator) -> None:
    """Change a few bytes anywhere, and sign the file anew."""
    data = bytearray(path.read_bytes()[:-64])
    for _ in range(int(rng.integers(1, 4))):
        data[rng.integers(len(data) - 22)] = int(rng.integers(256))
    path.write_bytes(signed(bytes(data)))


def signed(body: bytes) -> bytes:
    """An archive with a comment of 64 bytes announced, and the comment."""
    return body + hashlib.sha256(body).hexdigest().encode()


def signed_archive(archive: io.BytesIO) -> bytes:
    """A ZIP archive as `zipfile` has written it, as a checkpoint's file."""
    return signed(archive.getvalue()[:-2] + struct.pack("<H", 64))


@contextlib.contextmanager
def _refusal(found: Counter[str], *others: type[Exception]) -> Any:
    try:
        yield
    except AzcoreError as error:
        told = str(error)
        assert "\n" not in told, told
        assert len(told) < 1000, told
        assert "weights_only" not in told, told
        found["refused"] += 1
    except others:
        found["refused"] += 1
    else:
        found["read"] += 1


def main() -> None:
    faulthandler.enable()
    kind, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    addresses = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = addresses + MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
    fuzz = {
        "records": fuzz_records,
        "transcripts": fuzz_transcripts,
        "checkpoints": fuzz_checkpoints,
    }
    found = fuzz[kind](count, seed)
    print(f"{kind}: {found['refused']} refused, {found['read']} read")


if __name__ == "__main__":
    main()
