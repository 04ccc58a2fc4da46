"""A run that was stopped, cleanly or by SIGKILL, resumes as if it never had been."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from azcore.algorithms.clock import RunClock
from azcore.algorithms.metrics import GenerationMetrics
from azcore.algorithms.reports import GenerationReports
from azcore.commands.train import train
from azcore.errors import CheckpointError, GameFileError, SettingError
from azcore.learner import data
from azcore.storage import game_file
from azcore.storage.checkpoint import is_whole, read_checkpoint
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import parse_frame
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table
from azcore.storage.targets import TARGETS
from conftest import TINY
from run_kit import fingerprint, train_until

Tiny = Callable[..., dict[str, Any]]


# Matches every second generation; a promise so loose that games of tic-tac-toe are given up.
ALPHAGOZERO = [
    "algorithm=alphagozero",
    "gate.games=4",
    "gate.every_generations=2",
    "gate.num_simulations=4",
    "selfplay.resignation_false_positives=0.4",
    "trainer.max_steps=24",
]


def generations(run_dir: Path) -> list[str]:
    return [row["generation"] for row in Table(RunDirectory(run_dir).metrics, []).rows()]


def test_same_seed_same_run_other_seed_another(tiny: Tiny, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert train(tiny(f"run_dir={name}", f"seed={seed}")) == 0
    assert fingerprint(tmp_path / "a") == fingerprint(tmp_path / "b")
    weights, games = fingerprint(tmp_path / "c")
    assert weights != fingerprint(tmp_path / "a")[0]
    assert games != fingerprint(tmp_path / "a")[1]


def assert_resumes_alike(tiny: Tiny, tmp_path: Path, *words: str, stops: Sequence[int]) -> None:
    """Stopped at each of these steps and resumed, a run equals one that was never stopped.

    The schedule of learning rates belongs to the whole run, so it is stopped from outside.
    """
    assert train(tiny(*words, "run_dir=whole")) == 0
    for stop in stops:
        halves = tiny(*words, f"run_dir=halves-{stop}")
        train_until(halves, stop)
        stopped = RunDirectory(tmp_path / f"halves-{stop}")
        assert read_checkpoint(stopped.last_checkpoint)["global_step"] == stop
        assert train({**halves, "resume": f"halves-{stop}"}) == 0
        assert fingerprint(stopped.path) == fingerprint(tmp_path / "whole"), stop


def test_stopped_and_resumed_equals_never_stopped(tiny: Tiny, tmp_path: Path) -> None:
    """At ends and in the middle of generations of 4 steps."""
    assert_resumes_alike(tiny, tmp_path, stops=(4, 7, 13))
    assert generations(tmp_path / "halves-13") == ["0", "1", "2", "3"]


def test_rates_and_momentum_may_change_from_the_first_step_on(tiny: Tiny, tmp_path: Path) -> None:
    assert train(tiny("run_dir=run", "trainer.max_steps=4")) == 0
    last = tmp_path / "run/checkpoints/last.ckpt"
    before = read_checkpoint(last)
    nothing = ["learner.learning_rates=[1e-30]", "learner.milestones=[]", "learner.momentum=0.5"]
    assert train({**tiny(*nothing, "trainer.max_steps=8"), "resume": "run"}) == 0
    after = read_checkpoint(last)
    assert after["optimizer_states"][0]["param_groups"][0]["momentum"] == 0.5
    for name, weights in before["state_dict"].items():
        is_learned = "running_" not in name and "num_batches" not in name  # else of batch norm
        assert weights.equal(after["state_dict"][name]) == is_learned, name


def test_gumbel_stopped_and_resumed_equals_never_stopped(tiny: Tiny, tmp_path: Path) -> None:
    assert_resumes_alike(tiny, tmp_path, "algorithm=gumbel", stops=[6])
    assert train(tiny("run_dir=puct")) == 0
    assert fingerprint(tmp_path / "puct")[1] != fingerprint(tmp_path / "whole")[1]


LATER = [  # methods later than the papers'
    "game=go",
    "game.board_size=3",
    "selfplay.full_search_share=0.5",
    "selfplay.cheap_simulations=3",
    "selfplay.policy_plies=2",
    "selfplay.regret_share=0.3",
    "search.proof_plies=2",
    "replay.window_start=8",
    "replay.surprise_share=0.5",
    "replay.least_samples_per_position=1.0",
    "learner.warmup_steps=6",
    "learner.schedule=cosine",
    "learner.weight_averaging=0.8",
    "network=pooled_res",
    "network.channels=8",
    "network.activation=mish",
    "network.preactivation=true",
    "network.squeeze_excite=4",
    "network.bottleneck=1",
    "network.value=wdl",
    *(f"network.auxiliary.{name}=true" for name in TARGETS),
]


MUON = pytest.mark.long(
    short="tests/algorithms/test_resume.py::"
    "test_with_later_methods_stopped_and_resumed_equals_never_stopped"
)


@pytest.mark.parametrize(
    ("optimizer", "stops"), [("adamw", (4, 7)), pytest.param("muon", (7,), marks=MUON)]
)
def test_with_later_methods_stopped_and_resumed_equals_never_stopped(
    tiny: Tiny, tmp_path: Path, optimizer: str, stops: Sequence[int]
) -> None:
    assert_resumes_alike(tiny, tmp_path, *LATER, f"learner.optimizer={optimizer}", stops=stops)


def test_with_starts_and_branches_stopped_and_resumed_equals_never_stopped(
    tiny: Tiny, tmp_path: Path
) -> None:
    (tmp_path / "starts.txt").write_text("X../.../... w\n.X./O../... b\nstartpos moves B2 A1\n")
    (tmp_path / "games.sgf").write_text("(;GM[1]SZ[3];B[aa];W[bb];B[cc];W[ba];B[ab])")
    begun = [
        "game=go",
        "game.board_size=3",
        "selfplay.starts=[starts.txt,games.sgf]",
        "selfplay.start_plies=[1,4]",
        "selfplay.opening_plies=1",
        "selfplay.branch_share=0.3",
        "arena.starts=[starts.txt]",
    ]
    assert_resumes_alike(tiny, tmp_path, *begun, stops=[7])
    records = list(GameFile(RunDirectory(tmp_path / "whole").records).read())
    assert {record.start for record in records} == {None, "X../.../... w", ".X./O../... b"}
    assert max(record.opening_plies for record in records) > 5  # a branch of such a game


def test_with_start_states_stopped_and_resumed_equals_never_stopped(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Several komi and board sizes in one run, with branches and early passes forbidden."""
    several = [
        "game=go",
        "game.board_size=3",
        "game.komi=2",
        "game.other_komis=[0.5]",
        "game.other_sizes=[2]",
        "selfplay.game={first_pass: 0.5}",
        "selfplay.branch_share=0.2",
        "export.per_generation=2",
        "network=pooled_res",
        "network.auxiliary.ownership=true",
        "network.auxiliary.score=true",
    ]
    assert_resumes_alike(tiny, tmp_path, *several, stops=[7])
    records = list(GameFile(RunDirectory(tmp_path / "whole").records).read())
    small = "../.. b"
    starts = [None, ".../.../... b komi=0.5", small, f"{small} komi=0.5"]
    counts = [sum(record.start == start for record in records) for start in starts]
    assert min(counts) > 0
    assert sum(counts) == len(records)
    exported = [path.read_text() for path in (tmp_path / "whole/games/sgf").glob("*.sgf")]
    kinds = {(size, komi) for size in "23" for komi in ("2", "0.5")}
    found = {tuple(re.findall(r"(?:SZ|KM)\[([^]]*)\]", text))[::-1] for text in exported}
    assert {(size, f"{float(komi):g}") for size, komi in found} <= kinds
    assert len(found) > 1


def test_a_run_may_begin_and_end_with_starts(tiny: Tiny, tmp_path: Path) -> None:
    (tmp_path / "starts.txt").write_text("X../.../... o\n")
    records = GameFile(RunDirectory(tmp_path / "run").records)
    known = []
    for steps, files in ((4, ""), (8, "starts.txt"), (12, "")):
        going = tiny(f"selfplay.starts=[{files}]", f"trainer.max_steps={steps}")
        assert train({**going, "run_dir": "run", "resume": "run" if steps > 4 else None}) == 0
        known.append(sum(record.start is not None for record in records.read()))
    assert 0 == known[0] < known[1] <= known[2]


def test_a_run_may_begin_and_end_recording_surprise(tiny: Tiny, tmp_path: Path) -> None:
    records = GameFile(RunDirectory(tmp_path / "run").records)
    known = []
    for steps, share in ((4, 0.0), (8, 0.5), (12, 0.0)):
        going = tiny(f"replay.surprise_share={share}", f"trainer.max_steps={steps}")
        assert train({**going, "run_dir": "run", "resume": "run" if steps > 4 else None}) == 0
        known.append(sum(len(record.surprises) > 0 for record in records.read()))
    assert 0 == known[0] < known[1] == known[2]
    assert any(record.surprises.sum() > 0 for record in records.read())


def test_a_run_may_begin_and_end_averaging(tiny: Tiny, tmp_path: Path) -> None:
    """It begins with the latest weights, and goes on from them once the average is given up."""
    last = tmp_path / "run/checkpoints/last.ckpt"
    assert train(tiny("run_dir=run", "trainer.max_steps=4")) == 0
    before = read_checkpoint(last)["state_dict"]
    still = ["learner.learning_rates=[1e-30]", "learner.milestones=[]", "learner.momentum=0"]
    averaging = tiny(*still, "learner.weight_averaging=0.8", "trainer.max_steps=6")
    assert train({**averaging, "resume": "run"}) == 0
    averaged = read_checkpoint(last)
    assert train({**tiny(*still, "trainer.max_steps=8"), "resume": "run"}) == 0
    after = read_checkpoint(last)
    assert "latest_weights" not in after
    for name, weights in before.items():
        plain = name.removeprefix("network.")
        if "running_" in name:
            assert not averaged["state_dict"][name].equal(averaged["latest_weights"][plain])
        elif "num_batches" not in name:
            torch.testing.assert_close(averaged["state_dict"][name], weights)
            assert averaged["latest_weights"][plain].equal(weights)
            assert after["state_dict"][name].equal(weights)


def test_with_a_cache_stopped_and_resumed_equals_never_stopped(tiny: Tiny, tmp_path: Path) -> None:
    """Matches and symmetries too: the best player stays for several generations, its cache not."""
    assert_resumes_alike(tiny, tmp_path, *ALPHAGOZERO, "evaluator.cache=400", stops=[14])
    whole, resumed = (
        [row["remembered_share"] for row in Table(RunDirectory(tmp_path / name).metrics, []).rows()]
        for name in ("whole", "halves-14")
    )
    assert all(0 < float(share) < 1 for share in whole)
    assert whole[:3] == resumed[:3]
    assert whole[4:] == resumed[4:]  # the games of generation 3 were made before the stop


# A test so rash that it stops after a pair or two.
SPRT = ["gate.sprt=true", *(f"sprt.{key}" for key in ("look_games=2", "elo0=-300", "elo1=300"))]
SPRT += ["sprt.alpha=0.4", "sprt.beta=0.4", "gate.games=8"]


ALL_GAMES = pytest.mark.long(
    short="tests/algorithms/test_resume.py::"
    "test_alphagozero_stopped_and_resumed_equals_never_stopped"
)


@pytest.mark.parametrize(
    ("stops", "test"),  # after a match and before, and midway
    [pytest.param((14, 16), [], marks=ALL_GAMES), ((14, 16), SPRT)],
    ids=["all games", "sprt"],
)
def test_alphagozero_stopped_and_resumed_equals_never_stopped(
    tiny: Tiny, tmp_path: Path, stops: Sequence[int], test: list[str]
) -> None:
    assert_resumes_alike(tiny, tmp_path, *ALPHAGOZERO, *test, stops=stops)
    whole = _gate_rows(tmp_path / "whole")
    assert all(_gate_rows(tmp_path / f"halves-{stop}") == whole for stop in stops)
    assert [row["generation"] for row in whole] == ["1", "3", "5"]
    if test:
        assert min(int(row["games"]) for row in whole) < 8
        assert {row["verdict"] for row in whole} <= {"better", "not better", "open"}
        assert all((row["verdict"] == "better") == (row["promoted"] == "1") for row in whole)
    records = list(GameFile(RunDirectory(tmp_path / "whole").records).read())
    assert any(record.resigned_by is not None for record in records)


def _gate_rows(run_dir: Path) -> list[dict[str, str]]:
    rows = Table(RunDirectory(run_dir).gate, []).rows()
    return [{key: row[key] for key in row if key != "seconds"} for row in rows]


def test_stopped_before_the_first_checkpoint(tiny: Tiny, tmp_path: Path) -> None:
    config = tiny("run_dir=run", "trainer.max_steps=4")
    assert train(config) == 0
    before = fingerprint(tmp_path / "run")
    # As if killed after the first generation's games and metrics, before its checkpoint.
    (tmp_path / "run/checkpoints/last.ckpt").unlink()
    assert train({**config, "resume": "run"}) == 0
    assert fingerprint(tmp_path / "run") == before
    assert generations(tmp_path / "run") == ["0"]


def command(run_dir: Path, resume: bool, changed: Sequence[str] = ()) -> list[str]:
    where = f"resume={run_dir}" if resume else f"run_dir={run_dir}"
    changes = [] if resume else [*TINY, *changed]
    return [sys.executable, "-m", "azcore", *changes, "game=tic_tac_toe", where]


def killed_after(arguments: list[str], generations: int, seconds: float, cwd: Path) -> bool:
    """Run, and kill `seconds` after so many generations; whether it was still alive by then."""
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=cwd) as process:
        assert process.stdout is not None
        while generations and (line := process.stdout.readline()):
            generations -= " generation " in line
        time.sleep(seconds)
        alive = process.poll() is None
        process.kill()
    return alive


KILLED = "tests/algorithms/test_resume.py::test_killed_at_random_moments"


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Here and in processes; other tests have one, see conftest.py."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.long(short=KILLED))])
@pytest.mark.parametrize(
    "changed",
    [
        pytest.param([], marks=pytest.mark.long(short=KILLED)),
        [*ALPHAGOZERO[:-1], "replay.window_on_disk=true"],
    ],
    ids=["alphazero", "alphagozero"],
)
def test_killed_at_random_moments(
    tiny: Tiny, tmp_path: Path, two_threads: None, changed: list[str], kills: int
) -> None:
    """SIGKILL, again and again: while starting, playing, learning, rating and writing."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    # A generation takes a tenth of a second here, starting several; the run has 7 to a kill.
    changed = [*changed, f"trainer.max_steps={28 * kills}"]
    assert train(tiny(*changed, "run_dir=whole")) == 0
    rng = random.Random(2042)  # whose first two kills come after a generation or two
    alive = 0
    for _ in range(kills):
        arguments = command(killed, (killed / "config.yaml").exists(), changed)
        alive += killed_after(arguments, rng.randrange(4), rng.uniform(0, 0.4), tmp_path)
    assert alive == kills  # the run outlasted them all
    assert (killed / "config.yaml").exists()
    assert train(tiny(*changed, "resume=killed")) == 0
    assert fingerprint(killed) == fingerprint(whole)
    assert generations(killed) == generations(whole)
    assert _gate_rows(killed) == _gate_rows(whole)


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    lines = []
    with subprocess.Popen(
        [*command(run_dir, resume=False), "trainer.max_steps=100000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if "generation 1" in line or "generation 2" in line:
                process.send_signal(signal.SIGINT)  # more than once, as people do
    assert process.returncode == 130
    assert f"resume={run_dir}" in lines[-1]
    assert "Traceback" not in "".join(lines)
    assert (run_dir / "report.html").exists()
    torch.load(run_dir / "checkpoints/last.ckpt", weights_only=True)


def test_a_run_that_forgets_its_oldest_games_goes_on_alike(tiny: Tiny, tmp_path: Path) -> None:
    """Killed and resumed after it has dropped, and back to a checkpoint whose games are gone."""
    short = ("replay.window_games=6", "replay.games_on_disk=6", "trainer.max_steps=40")
    rated = "arena.every_generations=1"
    assert train(tiny("run_dir=whole", rated, *short)) == 0
    records = GameFile(RunDirectory(tmp_path / "whole").records)
    assert records.forgotten.games > 10
    kept = list(records.read())
    assert 6 <= len(kept) < 40
    assert kept[0].game_index > 5
    train_until(tiny("run_dir=stopped", rated, *short), 33)
    assert GameFile(RunDirectory(tmp_path / "stopped").records).forgotten.games
    assert train(tiny("resume=stopped", rated, *short)) == 0
    assert fingerprint(tmp_path / "stopped") == fingerprint(tmp_path / "whole")
    run = RunDirectory(tmp_path / "whole")
    early = next(p for p in run.step_checkpoints().values() if is_whole(read_checkpoint(p)))
    before = fingerprint(run.path)
    with pytest.raises((CheckpointError, GameFileError), match="has dropped"):
        train(tiny(f"resume={early}", rated, *short))
    assert fingerprint(run.path) == before


DISK = ["replay.window_on_disk=true", "replay.surprise_share=0.5", "replay.window_games=5"]


def parts(run_dir: Path) -> dict[str, bytes]:
    """All files of the run's games."""
    return {path.name: path.read_bytes() for path in (run_dir / "games").iterdir()}


def test_with_the_window_on_disk_and_records_in_parts_it_is_the_same_run(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in memory and in one file, which a run may begin with; a resume reads few games."""
    in_memory = [*DISK, "replay.window_on_disk=false"]
    assert train(tiny(*in_memory, "run_dir=memory")) == 0
    train_until(tiny(*in_memory, "run_dir=old"), 8)
    monkeypatch.setattr(game_file, "PART_BYTES", 2000)
    assert train(tiny(*DISK, "run_dir=whole")) == 0
    weights, _ = fingerprint(tmp_path / "whole")
    assert weights == fingerprint(tmp_path / "memory")[0]
    there, single = (GameFile(RunDirectory(tmp_path / n).records) for n in ("whole", "memory"))
    assert list(there.frames()) == list(single.frames())
    assert len(parts(tmp_path / "whole")) > 3
    halves = tiny(*DISK, "run_dir=halves")
    train_until(halves, 13)
    games = len(list(GameFile(RunDirectory(tmp_path / "halves").records).frames()))
    read: list[str] = []

    def counted(frame: bytes, where: str) -> Any:
        read.append(where)
        return parse_frame(frame, where)

    with monkeypatch.context() as patch:
        patch.setattr(data, "parse_frame", counted)
        assert train({**halves, "resume": "halves"}) == 0
    assert 5 <= len(read) < games - 5  # the parts that have the window's five
    assert parts(tmp_path / "halves") == parts(tmp_path / "whole")
    assert fingerprint(tmp_path / "halves")[0] == weights
    back = RunDirectory(tmp_path / "halves").step_checkpoint(13)
    assert train({**halves, "resume": str(back)}) == 0
    assert parts(tmp_path / "halves") == parts(tmp_path / "whole")
    assert fingerprint(tmp_path / "halves")[0] == weights
    assert train(tiny(*DISK, "resume=old")) == 0
    assert fingerprint(tmp_path / "old")[0] == weights
    assert len(parts(tmp_path / "old")) > 1


def test_a_disk_without_room_for_the_window_loses_nothing(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = (*DISK, "replay.window_games=60", "trainer.max_steps=8")  # each generation adds
    assert train(tiny(*short, "run_dir=whole")) == 0
    reserve, left = os.posix_fallocate, 7

    def full(*arguments: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(28, "No space left on device")
        reserve(*arguments)

    config = tiny(*short, "run_dir=full")
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(
            GameFileError, match=r"reserve space for the replay window .*: No space left"
        ):
            train(config)
    assert left < 0
    assert read_checkpoint(tmp_path / "full/checkpoints/last.ckpt")["global_step"] == 4
    assert train({**config, "resume": "full"}) == 0
    assert fingerprint(tmp_path / "full") == fingerprint(tmp_path / "whole")


def test_a_run_whose_records_are_removed_stops_at_the_next_games(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, calls = GameFile.append, list[int]()

    def removed_after_two(file: GameFile, records: Any) -> None:
        append(file, records)
        calls.append(1)
        if len(calls) == 2:
            file.path.unlink()

    monkeypatch.setattr(GameFile, "append", removed_after_two)
    with pytest.raises(GameFileError, match=r"must end at byte .* removed or changed meanwhile"):
        train(tiny("trainer.max_steps=40", "run_dir=run"))
    assert len(calls) == 2
    assert not (tmp_path / "run/games/records.azg").exists()


@pytest.mark.parametrize("moment", ["before it plays", "before it learns", "before it reports"])
def test_a_directory_that_is_moved_ends_the_run_in_one_sentence(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    kind, name, left = {
        "before it plays": (GenerationReports, "show", 1),  # not after the last generation
        "before it learns": (RunClock, "begins_to_learn", 2),
        "before it reports": (GenerationMetrics, "report", 2),
    }[moment]
    real = getattr(kind, name)

    def move(self: Any, *arguments: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            (tmp_path / "run").rename(tmp_path / "moved")
        real(self, *arguments)

    config = tiny("run_dir=run", "trainer.max_steps=8")
    with monkeypatch.context() as patch:
        patch.setattr(kind, name, move)
        with pytest.raises(SettingError, match=r"run has been moved, removed or replaced"):
            train(config)
    written = {path.name for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert written <= {"records.azg"}
    assert train({**config, "resume": "moved"}) == 0
    assert read_checkpoint(tmp_path / "moved/checkpoints/last.ckpt")["global_step"] == 8
