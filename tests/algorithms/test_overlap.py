"""Runs with schedule=overlap and backend=process: no game is lost or counted twice."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import Trainer

from azcore.algorithms import alphagozero, ratings, training
from azcore.algorithms.parallel_matches import ParallelMatches
from azcore.commands.train import train
from azcore.errors import CheckpointError, GameFileError, SettingError
from azcore.learner.data import SelfPlayData
from azcore.learner.module import LearnerModule
from azcore.selfplay.pool import WorkerPool
from azcore.storage.checkpoint import read_checkpoint, write_checkpoint
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord, parse_frame
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table
from conftest import TINY
from run_kit import fingerprint, train_until

Tiny = Callable[..., dict[str, Any]]
OVERLAP = ["schedule=overlap", "selfplay.workers=2", "trainer.max_steps=40"]
PROCESS = ["backend=process", "selfplay.workers=2"]
KILLS = 2
A_GENERATION = 4 * 16 // 2  # positions that four batches of 16 need, each drawn twice


def records_of(run: Path) -> list[GameRecord]:
    return list(GameFile(RunDirectory(run).records).read())


def assert_each_game_once(run: Path) -> None:
    """And the checkpoint counts them all, up to those that ended after it."""
    records = records_of(run)
    indices = [record.game_index for record in records]
    assert len(indices) == len(set(indices))
    data = read_checkpoint(RunDirectory(run).last_checkpoint)["SelfPlayData"]
    counted = list(GameFile(RunDirectory(run).records).read(0, data["record_bytes"]))
    assert data["total_games"] == len(counted)
    assert data["total_positions"] == sum(record.num_samples for record in counted)
    in_play = [
        game["game_index"] for worker in data["source"]["workers"] for game in worker["games"]
    ]
    assert not {record.game_index for record in counted} & set(in_play)


def test_the_ratio_is_held_both_ways(tiny: Tiny, tmp_path: Path) -> None:
    assert train(tiny("run_dir=run", *OVERLAP)) == 0
    assert_each_game_once(tmp_path / "run")
    rows = Table(RunDirectory(tmp_path / "run").metrics, []).rows()
    assert len(rows) == 10
    a_round = 60  # positions of the games that may end in a round of both workers
    for generation, row in enumerate(rows):
        positions = int(row["positions"])
        assert (generation + 1) * A_GENERATION <= positions
        assert positions <= (generation + 2) * A_GENERATION + a_round
    versions = {record.weights_version for record in records_of(tmp_path / "run")}
    assert {0, 4, 8, 12} <= versions  # newer weights play


def with_games_since(run: RunDirectory) -> list[bytes]:
    """Write games that end after the checkpoint, and one that a kill cuts short."""
    records = GameFile(run.records)
    first = next(records.read())
    since = [replace(first, game_index=1000 + number) for number in range(3)]
    records.append(since)
    with run.records.open("ab") as file:
        file.write(since[0].to_bytes()[:-5])
    return [record.to_bytes() for record in since]


def test_games_since_the_checkpoint_are_kept(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are games of the next generation, which reports, exports and learns from them."""
    of_generations: list[list[int]] = []
    generate = SelfPlayData._generate

    def noted(data: SelfPlayData, generation: int) -> None:
        generate(data, generation)
        of_generations.append([record.game_index for record in data.new_games])
        first, end = data.buffer._games.first, data.buffer._games.end
        window = [data.buffer._record(n).game_index for n in range(first, end)]
        assert window[len(window) - len(data.new_games) :] == of_generations[-1]

    run = RunDirectory(tmp_path / "run")
    train_until(tiny("run_dir=run", *OVERLAP), 8)
    before = len(records_of(run.path))
    since = with_games_since(run)
    monkeypatch.setattr(SelfPlayData, "_generate", noted)
    assert train(tiny("resume=run", *OVERLAP)) == 0
    assert of_generations[0][:3] == [1000, 1001, 1002]
    assert not any({1000, 1001, 1002} & set(games) for games in of_generations[1:])
    kept = [record.to_bytes() for record in records_of(run.path)]
    assert kept[before : before + 3] == since
    assert_each_game_once(run.path)
    assert min(r.game_index for r in records_of(run.path)[before + 3 :]) < 1000  # were in play
    assert max(r.game_index for r in records_of(run.path)) > 1002  # and none has an index again


def test_self_play_ends_before_lightning_tidies_up(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That frees memory of a GPU; also after an error."""
    playing: list[bool] = []
    tidy_up = Trainer._teardown

    def noted(trainer: Trainer) -> None:
        playing.append("self-play schedule" in [thread.name for thread in threading.enumerate()])
        tidy_up(trainer)

    monkeypatch.setattr(Trainer, "_teardown", noted)
    assert train(tiny("run_dir=run", *OVERLAP, "trainer.max_steps=8")) == 0
    monkeypatch.setattr(LearnerModule, "training_step", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        train(tiny("run_dir=other", *OVERLAP))
    assert playing == [False, False]


def test_an_exact_run_makes_them_again(tiny: Tiny, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    train_until(tiny("run_dir=run", *OVERLAP), 8)
    since = with_games_since(run)
    assert train(tiny("resume=run", *OVERLAP[1:])) == 0
    assert not {record.to_bytes() for record in records_of(run.path)} & set(since)
    assert_each_game_once(run.path)


def test_backends_give_the_same_run(tiny: Tiny, tmp_path: Path) -> None:
    """Begun with threads, resumed in processes: the bytes of a run that never stopped."""
    assert train(tiny("run_dir=threads", "selfplay.workers=2")) == 0
    train_until(tiny("run_dir=both", "selfplay.workers=2"), 10)  # within a generation
    assert train(tiny("resume=both", *PROCESS)) == 0
    assert fingerprint(tmp_path / "both") == fingerprint(tmp_path / "threads")


def test_members_are_in_the_tables(tiny: Tiny, tmp_path: Path) -> None:
    assert train(tiny("run_dir=run", *PROCESS, "trainer.max_steps=8")) == 0
    run = RunDirectory(tmp_path / "run")
    rows = Table(run.members, []).rows()
    assert [row["member"] for row in rows] == ["self-play process 0", "self-play process 1"]
    assert {(row["generation"], row["version_lag"], row["restarts"]) for row in rows} == {
        ("1", "4", "0")
    }
    last = Table(run.metrics, []).rows()[-1]
    assert (last["members"], last["restarts"], last["version_lag"]) == ("2", "0", "4")
    total = sum(int(row["evaluations_per_s"]) for row in rows)
    assert total == pytest.approx(float(last["evaluations_per_s"]), rel=0.01)
    assert train(tiny("resume=run", "trainer.max_steps=12")) == 0  # by threads
    assert not Table(run.members, []).rows()
    assert Table(run.metrics, []).rows()[-1]["members"] == ""


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (["schedule=sometimes"], "schedule must be one of alternate, overlap, got 'sometimes'"),
        (["backend=inline", "backend.processes=2"], "null with backend=inline"),
        ([*PROCESS, "backend.processes=3"], "at most selfplay.workers, 2, got 3"),
        (
            ["backend.name=cloud"],
            "backend.name must be one of auto, inline, process, ray, got 'cloud'",
        ),
        (["backend.address=auto"], "backend.address must be null with backend=auto"),
        (["backend=ray", "backend.address=nowhere"], "auto, HOST:PORT, ray://HOST:PORT or null"),
        (["backend=ray", "backend.num_gpus=1"], "backend.num_gpus must be 0 with device=cpu"),
    ],
)
def test_what_cannot_be_is_refused(tiny: Tiny, changed: list[str], sentence: str) -> None:
    with pytest.raises(SettingError, match=re.escape(sentence)):
        train(tiny(*changed))


@pytest.mark.parametrize("fault", ["trainer", "disk"])
def test_a_run_that_does_not_begin_leaves_no_pool(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """In a notebook its processes would go on for as long as the notebook does."""
    closed: list[WorkerPool] = []
    real = training.pool_of_run

    def pool_of_run(*given: Any) -> WorkerPool:
        pool = real(*given)
        monkeypatch.setattr(pool, "close", lambda: closed.append(pool))
        return pool

    def refused(*_: Any, **__: Any) -> None:
        raise SettingError("a setting must be one, got another")

    monkeypatch.setattr(training, "pool_of_run", pool_of_run)
    if fault == "trainer":
        monkeypatch.setattr(training, "lightning_trainer", refused)
    else:
        monkeypatch.setattr(RunDirectory, "save_sizes", refused)
    with pytest.raises(SettingError, match="got another"):
        train(tiny("run_dir=run", "selfplay.workers=2"))
    assert len(closed) == 1


# -- matches beside the run ------------------------------------------------------------------------

MATCHES = [*OVERLAP, "arena.every_generations=3", "arena.games=4", "arena.num_simulations=4"]
GATED = ["algorithm=alphagozero", "gate.every_generations=2", "gate.games=4", "gate.threshold=0.2"]
# At which the match of a gate, and of a rating, is under way.
GENERATIONS = (3, 4)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Matches that go on beside a run end once this is set."""
    free = threading.Event()
    main = threading.main_thread()

    def wait_for(play: Any) -> Any:
        def played(*arguments: Any, **options: Any) -> Any:
            if threading.current_thread() is not main:
                assert free.wait(60)
            return play(*arguments, **options)

        return played

    for module in (ratings, alphagozero):
        monkeypatch.setattr(module, "play_spread", wait_for(module.play_spread))
    return free


def at_generation(monkeypatch: pytest.MonkeyPatch, number: int, do: Callable[[], object]) -> None:
    """Do something once the games of a generation are there."""
    generate = SelfPlayData._generate

    def begin(data: SelfPlayData, generation: int) -> None:
        generate(data, generation)
        if generation == number:
            do()

    monkeypatch.setattr(SelfPlayData, "_generate", begin)


def rated(run: Path) -> list[tuple[str, str]]:
    """Generation and step of each rating, in the order in which they were taken."""
    rows = Table(RunDirectory(run).matches, []).rows()
    return list(dict.fromkeys((row["generation"], row["step"]) for row in rows))


def test_a_run_goes_on_while_its_weights_are_rated(
    tiny: Tiny, tmp_path: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rating, of generation 2, is not over when generation 4 begins."""
    seen: list[list[tuple[str, str]]] = []

    def look() -> None:
        seen.append(rated(tmp_path / "run"))
        held.set()

    at_generation(monkeypatch, 4, look)
    assert train(tiny("run_dir=run", *MATCHES)) == 0
    assert seen == [[]]
    assert rated(tmp_path / "run") == [("2", "12"), ("5", "24"), ("8", "36"), ("9", "40")]
    run = RunDirectory(tmp_path / "run")
    assert sorted(run.step_checkpoints()) == [0, 12, 24, 36, 40]
    assert_each_game_once(run.path)


def lost_at(generation: int, config: dict[str, Any]) -> None:
    """Train until the games of a generation are there, where the run ends as by a kill."""

    def lose() -> None:
        raise RuntimeError("lost here")

    with pytest.MonkeyPatch.context() as patch:
        at_generation(patch, generation, lose)
        with pytest.raises(RuntimeError, match="lost here"):
            train(config)


def test_a_rating_under_way_is_begun_again_by_a_resumed_run(
    tiny: Tiny, tmp_path: Path, held: threading.Event
) -> None:
    run = RunDirectory(tmp_path / "run")
    lost_at(4, tiny("run_dir=run", *MATCHES))
    held.set()
    assert rated(run.path) == []
    state = read_checkpoint(run.last_checkpoint)["callbacks"]["ArenaRating"]
    assert state == {"generation": 2, "step": 12}
    assert train(tiny("resume=run", *MATCHES)) == 0
    assert rated(run.path)[:2] == [("2", "12"), ("5", "24")]
    rows = Table(run.matches, []).rows()
    met = [row["opponent"] for row in rows if row["step"] == "12"]
    assert met == list(dict.fromkeys(met))  # each once
    assert "step-0" in met


def test_a_rating_under_way_without_its_weights_is_left_out(
    tiny: Tiny, tmp_path: Path, held: threading.Event, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunDirectory(tmp_path / "run")
    lost_at(4, tiny("run_dir=run", *MATCHES))
    held.set()
    run.step_checkpoint(12).unlink()
    assert train(tiny("resume=run", *MATCHES)) == 0
    assert "skipping the rating of step 12" in capsys.readouterr().out
    assert rated(run.path)[:1] == [("5", "24")]


@pytest.mark.parametrize("words", [MATCHES, [*OVERLAP, *GATED]], ids=["rating", "gate"])
def test_what_was_under_way_is_waited_for_where_self_play_alternates(
    tiny: Tiny, tmp_path: Path, held: threading.Event, words: list[str]
) -> None:
    """So that it is the same run however long a match takes."""
    run = RunDirectory(tmp_path / "run")
    lost_at(GENERATIONS[words is MATCHES], tiny("run_dir=run", *words))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ParallelMatches, "is_over", False)  # matches never end
        assert train(tiny("resume=run", *words, "schedule=alternate", "trainer.max_steps=20")) == 0
    rows = Table(run.gate if words != MATCHES else run.matches, []).rows()
    assert [row["step"] for row in rows] == sorted((row["step"] for row in rows), key=int)
    assert {row["step"] for row in rows} >= ({"12", "20"} if words is MATCHES else {"8", "16"})
    held.set()


@pytest.mark.parametrize(
    ("words", "change"),
    [(MATCHES, {"generation": 9}), ([*OVERLAP, *GATED], {"step": 99})],
    ids=["rating", "gate"],
)
def test_a_match_under_way_that_cannot_be_is_refused(
    tiny: Tiny, tmp_path: Path, held: threading.Event, words: list[str], change: dict[str, int]
) -> None:
    run = RunDirectory(tmp_path / "run")
    lost_at(GENERATIONS[words is MATCHES], tiny("run_dir=run", *words))
    held.set()
    before = sorted(run.path.iterdir())
    checkpoint = read_checkpoint(run.last_checkpoint)
    name = "ArenaRating" if words == MATCHES else "AlphaGoZero"
    checkpoint["callbacks"][name].update(change)
    write_checkpoint(checkpoint, run.last_checkpoint)
    with pytest.raises(CheckpointError, match="in progress must be of generation"):
        train(tiny("resume=run", *words))
    assert sorted(run.path.iterdir()) == before


def test_an_opponent_of_another_network_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    assert train(tiny("run_dir=other", "network.blocks=2", "trainer.max_steps=4")) == 0
    assert train(tiny("run_dir=run", "trainer.max_steps=4")) == 0
    other, run = RunDirectory(tmp_path / "other"), RunDirectory(tmp_path / "run")
    run.step_checkpoint(4).unlink()  # the last one has the same bytes
    run.step_checkpoint(4).write_bytes(other.step_checkpoint(4).read_bytes())
    with pytest.raises(CheckpointError, match=r"step-4.ckpt: this checkpoint's network must be"):
        train(tiny("resume=run", "trainer.max_steps=8"))


def test_a_gate_does_not_stop_self_play(
    tiny: Tiny, tmp_path: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The candidate is the weights of step 8, although the learner has gone on to 12."""
    monkeypatch.setattr(alphagozero, "decide", lambda *_: (True, None))
    at_generation(monkeypatch, 3, held.set)
    run = RunDirectory(tmp_path / "run")
    assert train(tiny("run_dir=run", *OVERLAP, *GATED)) == 0
    rows = Table(run.gate, []).rows()
    assert [(row["generation"], row["step"]) for row in rows] == [
        (str(step // 4 - 1), str(step)) for step in range(8, 41, 8)
    ]
    metrics = Table(run.metrics, []).rows()
    scored = [row["generation"] for row in metrics if row["gate_score"]]
    assert scored[0] in ("2", "3")  # taken a generation after it began, or two
    assert scored[-1] == "9"
    best = read_checkpoint(run.last_checkpoint)["callbacks"]["AlphaGoZero"]
    assert best["best_step"] == 40
    assert "candidate" not in best
    assert {8, 16} <= {record.weights_version for record in records_of(run.path)}
    assert_each_game_once(run.path)


def test_a_gate_under_way_is_begun_again_by_a_resumed_run(
    tiny: Tiny, tmp_path: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alphagozero, "decide", lambda *_: (True, None))
    run = RunDirectory(tmp_path / "run")
    lost_at(3, tiny("run_dir=run", *OVERLAP, *GATED))
    held.set()
    assert not Table(run.gate, []).rows()
    state = read_checkpoint(run.last_checkpoint)["callbacks"]["AlphaGoZero"]
    assert (state["generation"], state["step"], state["best_step"]) == (1, 8, 0)
    candidate = state["candidate"]
    assert (
        train(
            tiny("resume=run", *OVERLAP, *GATED, "trainer.max_steps=16", "gate.every_generations=9")
        )
        == 0
    )
    rows = Table(run.gate, []).rows()
    assert [(row["generation"], row["step"]) for row in rows] == [("1", "8")]
    best = read_checkpoint(run.last_checkpoint)["callbacks"]["AlphaGoZero"]
    assert best["best_step"] == 8
    assert all(torch.equal(best["best"][name], tensor) for name, tensor in candidate.items())


def test_matches_in_processes_are_those_of_threads(tiny: Tiny, tmp_path: Path) -> None:
    """Where self-play alternates with learning, so that the runs are the same to the byte."""
    words = [*MATCHES, *GATED, "schedule=alternate", "trainer.max_steps=20"]
    for name, backend in (("threads", []), ("processes", PROCESS)):
        assert train(tiny(f"run_dir={name}", *words, *backend)) == 0
    assert fingerprint(tmp_path / "processes") == fingerprint(tmp_path / "threads")
    tables = [
        [
            {key: value for key, value in row.items() if key != "seconds"}
            for row in Table(path, []).rows()
        ]
        for name in ("threads", "processes")
        for path in (RunDirectory(tmp_path / name).matches, RunDirectory(tmp_path / name).gate)
    ]
    assert tables[:2] == tables[2:]
    assert all(tables)


# -- kills -----------------------------------------------------------------------------------------


def children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task").glob("*/children")
    return [int(word) for path in found for word in path.read_text().split()]


@contextlib.contextmanager
def running(run: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """A run by the command line, begun or resumed."""
    where = f"resume={run}" if (run / "config.yaml").exists() else f"run_dir={run}"
    command = [sys.executable, "-m", "azcore", *TINY, *more, where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=run.parent) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(process: subprocess.Popen[str], words: str) -> list[str]:
    """The lines up to one with these words."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError(f"no {words!r} in {lines}")


def whole(run: Path) -> list[bytes]:
    """The whole records of a run that was killed."""
    found = []
    with contextlib.suppress(GameFileError):
        for _, frame in GameFile(RunDirectory(run).records).frames():
            found.append(frame)
    return found


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(
            [],
            marks=pytest.mark.long(
                short="tests/algorithms/test_overlap.py::"
                "test_killed_at_random_moments_it_loses_no_finished_game"
            ),
        ),
        PROCESS,
    ],
    ids=["inline", "processes"],
)
def test_killed_at_random_moments_it_loses_no_finished_game(
    tmp_path: Path, backend: list[str]
) -> None:
    """SIGKILL of the driver again and again; and each time, of one of its processes before."""
    run, rng = tmp_path / "run", random.Random(2026)
    more = [*OVERLAP, "trainer.max_steps=100000", *backend]
    known: list[bytes] = []
    gained = 0
    for _ in range(KILLS):
        with running(run, *more) as process:
            wait_for(process, " generation ")
            wait_for(process, " generation ")  # the checkpoint of the one before is written
            time.sleep(rng.uniform(0, 0.5))
            members = children(process.pid) if backend else []
            if backend:
                os.kill(rng.choice(members), signal.SIGKILL)
                assert "restarting it" in wait_for(process, "restarting it")[-1]
                members = children(process.pid)
                wait_for(process, " generation ")
            time.sleep(rng.uniform(0, 0.5))
        end = time.monotonic() + 20
        while any(map(is_alive, members)) and time.monotonic() < end:
            time.sleep(0.1)
        assert not any(map(is_alive, members))
        now = whole(run)
        assert now[: len(known)] == known  # nothing that was on disk is lost
        gained += len(now) > len(known)
        known = now
    assert gained == KILLS
    records = [parse_frame(frame, "") for frame in known]
    assert len({record.game_index for record in records}) == len(records)


def test_a_signal_ends_all_processes(tmp_path: Path) -> None:
    with running(tmp_path / "run", *OVERLAP, "trainer.max_steps=100000", *PROCESS) as process:
        wait_for(process, " generation 1 ")  # the checkpoint of generation 0 is written
        members = children(process.pid)
        assert len(members) == 2
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "resume with" in output
    assert not any(map(is_alive, members))
    assert_each_game_once(tmp_path / "run")


def is_alive(process: int) -> bool:
    with contextlib.suppress(OSError):
        return not Path(f"/proc/{process}/stat").read_text().split(")")[1].startswith(" Z")
    return False
