"""The command line as a user meets it: one sentence and status 2 for whatever cannot be used."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from azcore import interrupts
from azcore.cli import machine, roots
from azcore.cli.composition import settings_for
from azcore.cli.messages import INSTEAD
from azcore.cli.status import run_command
from azcore.commands import COMMANDS
from azcore.errors import SettingError
from azcore.storage.run_settings import flat
from azcore.version import __version__
from run_kit import train_once

Tiny = Callable[..., dict[str, Any]]


COMPARISON = ("command=arena", "arena=comparison")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["search.simulation=16"], "did you mean search.num_simulations?"),
        (["trainer.foo=3"], "there is no setting trainer.foo"),
        (["+trainer.foo=3"], "there is no setting trainer.foo"),
        (["game=chess", "game.foo=1"], "there is no setting game.foo\n"),
        (["game=chess", "game.komi=1"], "game.komi is for game=go, got game.komi=1\n"),
        (["game=chess", "game.max_ply=1"], "did you mean game.max_plies?"),
        (["sead=3"], "did you mean seed?"),
        (["game=3"], "game takes the name of one of its files, got game=3"),
        (["game=[go]"], "game takes the name of one of its files, got game=[go]"),
        (["method=warmpu"], "without_score, got 'warmpu'; did you mean warmup?"),
        (
            ["method=[warmup,warmpu]"],
            "without_score, got 'warmpu'; did you mean warmup?",
        ),
        (["method=[warmup,3]"], "takes the name of one of its files, or several as [a,b], got m"),
        (["method=null"], "method takes the name of one of its files, or several as [a,b], got m"),
        (["method={warmup:1}"], "or several as [a,b], got method={warmup:1}"),
        (["method=[warmup]", "+method=root_values"], "in one list, such as method=[a,b], got +me"),
        (["game=goo"], "tic_tac_toe, tic_tac_toe_plain, got 'goo'"),
        (["experiment=null"], "experiment takes the name of one of its files, got experiment=null"),
        (["noise=gumbel"], "there is no setting noise"),
        (["preset=go_labtop"], "shogi_workstation, tic_tac_toe_workstation, got preset=go_labtop"),
        (["game=ches"], "got 'ches'; did you mean chess?"),
        (["scale=giant"], "scale must be one of laptop, paper, smoke, workstation, got 'giant'"),
        (["game.board_size=25"], "from 2 to 19, got 25"),
        (["game.komi=0.3"], "komi must be a whole or half number"),
        (
            ["command=fly"],
            "one of train, arena, play, web, engine, export, import, predict, info, puzzles, "
            "ladder, tune, bench, check, report, runs, new, got 'fly'",
        ),
        (["command=tune"], "command=tune needs checkpoint=PATH"),
        (["command=tune", "tune.parameters.puct.c_int=[1,2]"], "did you mean tune.parameters"),
        (["command=predict"], "command=predict needs checkpoint=PATH"),
        (["algorithm=supervised"], "supervised.games must be a list of .azg files, got []"),
        (["command=new"], "command=new needs name=NAME"),
        (["command=report"], "command=report needs run_dir=RUN"),
        (["command=report", "run_dir=nowhere"], "run_dir: there is no run in nowhere"),
        (["command=export", "what=picture", "out=a.gif"], "must end in .svg or .png, got a.gif"),
        (
            ["command=export", "what=picture", "out=a.svg", "export.theme=auto"],
            "must be light or dark, got 'auto'",
        ),
        (
            ["command=export", "what=picture", "out=a.svg", "export.width=9"],
            "must be 16 to 8192 pixels, got 9",
        ),
        (
            ["command=export", "what=picture", "out=a.svg", "export.format=sgf"],
            "export.format is for what=games, got export.format=sgf",
        ),
        (
            ["command=export", "what=picture", "out=a.svg", "export.ply=3"],
            "export.ply must be null without export",
        ),
        (
            ["command=export", "what=picture", "out=a.svg", "export.games=nowhere"],
            "export.games must be a run dir",
        ),
        (["command=export", "what=picture", "out=a.svg", "export.position=x"], "got 'x'"),
        (["command=export", "export.games=x", "export.ply=3"], "export.ply is for what=picture"),
        (["command=new", "name=é"], "cannot read the argument 'name=é'; put its value in quotes"),
        (["command=new", "new.path=~"], "a shell preserves: 'new.path=\"~\"'"),
        (["command=new", 'name="é"'], "name must be a lower-case Python name"),
        (["command=new", "name=foo", "new.path=null"], "new.path must be a folder, got None"),
        (["name=foo"], "name is for command=new, got name=foo with command=train"),
        (["command=check", "name=foo"], "game=NAME chooses a game"),
        (["seed=1", "foo"], "cannot read the argument 'foo'; it must be KEY=VALUE"),
        (["command=new", "name=Foo"], "name must be a lower-case Python name"),
        (["command=new", "name=go"], "a game named go is already installed"),
        (["command=check", "check.positions=0"], "check.positions must be 1 or more, got 0"),
        (["seed=-1"], "seed must be a whole number from 0"),
        (["seed=1.5"], "got 1.5"),
        (
            ["search.num_simulations=abc"],
            "search.num_simulations must be a whole number, got 'abc'",
        ),
        (["network.blocks=0"], "network.blocks must be 1 or more, got 0"),
        (["learner.milestones=[0.5]"], "one more than learner.milestones"),
        (["arena.games=3"], "an even number above 0"),
        (["trainer.max_time=0:0:10:0"], "days:hours:minutes:seconds"),
        (["trainer.devices=0"], "trainer.devices must be 1 to 1,024, got 0"),
        (["trainer.log_every_n_steps=null"], "trainer.log_every_n_steps must be a whole number"),
        (["device=null"], "device must be auto"),
        (["resume=7"], "7 is not a run directory"),
        (["trainer.max_time=10m"], "days:hours:minutes:seconds"),
        (["trainer.max_steps=-1"], "trainer.max_steps must be 1 or more"),
        (["trainer.precision=13"], "trainer.precision must be one of 32-true"),
        (["evaluator.precision=half"], "one of auto, float32, bfloat16, got 'half'"),
        (["device=moon"], "device must be auto, or a device of this machine"),
        (["resume=latest"], "resume=latest: no run of tic_tac_toe"),
        (["resume=nowhere"], "nowhere is not a run directory"),
        ([*COMPARISON], "arena.runs must be run directories, or a folder of them, got []"),
        ([*COMPARISON, "arena.runs=nowhere"], "arena.runs: there is no run in nowhere"),
        (
            [*COMPARISON, "arena.runs=.", "arena.x=time"],
            "arena.x must be one of evaluations, steps, seconds, compute, got 'time'",
        ),
        ([*COMPARISON, "game=go"], "game has no effect with arena=comparison: each run plays with"),
        (
            ["command=arena", "supervised.games=[x]"],
            "supervised.games has no effect without arena=",
        ),
        (["command=arena"], "command=arena needs players=[...]"),
        (["command=arena", "checkpoint=nothing.ckpt"], "nothing.ckpt: cannot read this checkpoint"),
        (["run_dir=/proc/nothing"], "run_dir /proc/nothing cannot be written to"),
        (["a=b=c"], "cannot read the argument 'a=b=c'"),
        (["gmae=chess"], "there is no setting gmae; did you mean game?"),
        (["players=[a,", "b]"], "so quote the whole: 'players=[a,b]'"),
        (["players=[a,", "gnugo level=5]"], "so quote the whole: 'players=[a,\"gnugo level=5\"]'"),
        (["players=[a,gnugo level=5]"], "so quote the whole: 'players=[a,\"gnugo level=5\"]'"),
        (["players=[a,b"], "a list must end with ]"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_bad_input_is_one_sentence(
    azcore: Callable[..., tuple[int, str, str]], arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    # what chooses a game itself, or takes none
    chosen = (
        *("game.", "game=", "export.games="),
        *("command=new", *COMPARISON, "command=report"),
    )
    if not any(argument.startswith(chosen) for argument in arguments):
        arguments = ["game=tic_tac_toe", *arguments]
    status, _, errors = azcore(*arguments)
    assert status == 2
    assert sentence in errors
    assert errors.startswith("azcore: ")
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []  # nothing refused leaves something behind


def test_a_package_that_is_not_installed_is_told_of(
    azcore: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    (tmp_path / "pebbles").mkdir()
    (tmp_path / "pebbles/pyproject.toml").touch()
    status, _, errors = azcore("game=pebbles")
    assert status == 2
    assert "in the folder pebbles must be installed: pip install -e pebbles" in errors


@pytest.fixture(name="root_logger")
def root_logger_fixture() -> Iterator[None]:
    """Hydra's `--info` makes it write everything to the present standard output."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


def test_help_and_composed_settings(azcore: Callable[..., tuple[int, str, str]]) -> None:
    status, output, _ = azcore("--help")
    assert status == 0
    assert "  arena     Matches and a rating list" in output
    assert "resume=latest" in output
    status, output, _ = azcore("--cfg", "job", "game=go", "scale=paper")
    assert status == 0
    assert "board_size: 19" in output
    assert "num_simulations: 800" in output


def test_the_files_of_a_command_line_are_listed_in_order(
    azcore: Callable[..., tuple[int, str, str]], root_logger: None
) -> None:
    words = ["game=go", "algorithm=alphagozero", "scale=paper"]
    status, output, _ = azcore("--info", "defaults", *words)
    assert status == 0
    files = [
        "algorithm/alphagozero ",
        "scale/paper ",
        "preset/go_paper ",
        "preset/algorithm/alphagozero_paper ",
    ]
    places = [output.index(f"| {file}") for file in files]
    assert places == sorted(places)


def test_check_and_arena(azcore: Callable[..., tuple[int, str, str]], tiny: Tiny) -> None:
    brief = ["check.positions=60", "check.seconds=0.05"]
    assert azcore("command=check", "game=tic_tac_toe_plain", *brief)[0] == 0
    train_once(tiny("run_dir=run", "trainer.max_steps=4"))
    few = ["arena.games=2", "search.num_simulations=4"]
    status, output, _ = azcore("command=arena", "checkpoint=run/checkpoints/last.ckpt", *few)
    assert status == 0
    assert "random" in output
    status, _, errors = azcore("command=arena", "game=go", "checkpoint=run/checkpoints/last.ckpt")
    assert status == 2
    assert "this checkpoint's game must be" in errors


class TestResume:
    """What a resumed run refuses, and that it loses nothing by refusing."""

    @pytest.fixture
    def run(self, tiny: Tiny, tmp_path: Path) -> Path:
        return train_once(tiny("run_dir=run", "trainer.max_steps=8"))

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["seed=2"], "cannot change seed: the run has 1, got 2"),
            (["network.blocks=2"], "cannot change network.blocks"),
            (["selfplay.num_games=8"], "cannot change selfplay.num_games"),
            (["network=sep_res"], "resumes with the run's own network"),
            (["network=pooled_res"], "network.name is 'dual_res' in the run, not 'pooled_res'"),
            (["algorithm=azcore"], "algorithm is 'alphazero' in the run, not 'azcore'"),
            (["scale=paper"], "resumes with the run's own scale, got scale=paper"),
        ],
    )
    def test_changes_that_would_not_be_exact(
        self,
        azcore: Callable[..., tuple[int, str, str]],
        run: Path,
        arguments: list[str],
        sentence: str,
    ) -> None:
        before = (run / "checkpoints/last.ckpt").read_bytes()
        status, _, errors = azcore("game=tic_tac_toe", "resume=run", *arguments)
        assert status == 2
        assert sentence in errors
        assert (run / "checkpoints/last.ckpt").read_bytes() == before

    def test_longer_run(self, azcore: Callable[..., tuple[int, str, str]], run: Path) -> None:
        status, output, _ = azcore("game=tic_tac_toe", "resume=run", "trainer.max_steps=12")
        assert status == 0
        assert "resuming from step 8" in output
        assert "step 12" in output
        assert "max_steps: 12" in (run / "config.yaml").read_text()  # kept for the next time

    def test_two_processes_at_once(
        self, azcore: Callable[..., tuple[int, str, str]], run: Path
    ) -> None:
        with (run / "lock").open("w") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            status, _, errors = azcore("game=tic_tac_toe", "resume=run")
        assert status == 2
        assert "is in use" in errors

    def test_lost_checkpoint_does_not_cost_the_games(
        self, azcore: Callable[..., tuple[int, str, str]], run: Path
    ) -> None:
        (run / "checkpoints/last.ckpt").unlink()
        games = (run / "games/records.azg").read_bytes()
        status, _, errors = azcore("game=tic_tac_toe", "resume=run")
        assert status == 2
        assert f"resuming needs {run}/checkpoints/last.ckpt" in errors
        assert (run / "games/records.azg").read_bytes() == games

    @pytest.mark.parametrize("damage", ["cut", "flipped"])
    @pytest.mark.parametrize("file", ["checkpoints/last.ckpt", "games/records.azg"])
    def test_damaged_files(
        self, azcore: Callable[..., tuple[int, str, str]], run: Path, file: str, damage: str
    ) -> None:
        path = run / file
        whole = path.read_bytes()
        middle = len(whole) // 2
        if damage == "cut":
            path.write_bytes(whole[:middle])
        else:
            path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
        damaged = path.read_bytes()
        status, _, errors = azcore("game=tic_tac_toe", "resume=run", "trainer.max_steps=12")
        assert status == 2
        assert Path(file).name in errors
        assert path.read_bytes() == damaged

    def test_no_write_permission_or_full_disk(
        self,
        azcore: Callable[..., tuple[int, str, str]],
        run: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        before = (run / "checkpoints/last.ckpt").read_bytes()

        def full(_descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        status, _, errors = azcore("game=tic_tac_toe", "resume=run", "trainer.max_steps=12")
        assert status == 2
        assert "No space left on device" in errors
        assert (run / "checkpoints/last.ckpt").read_bytes() == before
        monkeypatch.undo()

    def test_moved_run(self, azcore: Callable[..., tuple[int, str, str]], run: Path) -> None:
        moved = shutil.move(run, run.with_name("moved"))
        status, _, _ = azcore("game=tic_tac_toe", f"resume={moved}", "trainer.max_steps=12")
        assert status == 0


WRONG = [  # a command, what it has no use for, and what it says to that
    ("train", "arena=nosuch", "arena must be ratings, got"),
    ("train", "arena=tournament", "arena must be ratings, got arena=tournament"),
    ("train", "supervised=games", "supervised must be default, got supervised=games"),
    ("arena", "arena=matches", "arena must be one of tournament, comparison, got arena=matches"),
    (
        "arena",
        "arena.every_generations=2",
        "is for command=train, bench, got arena.every_gen",
    ),
    ("arena", "network.blocks=9", "with command=arena; a checkpoint has its own"),
    (
        "arena",
        "games=20",
        "is for command=import, got games=20 with command=arena; use arena.games",
    ),
    ("arena", "arena.game=20", "there is no setting arena.game; did you mean arena.games?"),
    ("arena", "selfplay.starts=[x]", "with command=arena; use arena.starts there"),
    ("arena", "network=sep_res", "network is for command=train, bench, check, got network=s"),
    (
        "arena",
        "+trainer.benchmark=true",
        "trainer.benchmark is not a setting, got +trainer.benchmark",
    ),
    ("bench", "peers=[pgx]", "no setting peers; benchmarks/compare.py --peers in azcore's sources"),
    ("arena", "init=here", "init is for command=train"),
    ("arena", "search.dirichlet_fraction=0", "is for command=train, bench, check, got sear"),
    (
        "arena",
        "search.gumbel.scale=0",
        "search.gumbel.scale is for command=train, bench, check",
    ),
    ("arena", "engine.ponder=true", "engine.ponder is for command=engine"),
    ("engine", "search.dirichlet_fraction=0", "is for command=train, bench, check, got"),
    (
        "engine",
        "run_dir=here",
        "run_dir is for command=train, arena, tune, report, got run_dir=",
    ),
    ("engine", "search.gumbel.actions=2", "search.gumbel.actions is for command=train, arena, web"),
    ("engine", "players=[random]", "players is for command=arena, puzzles, got players=[random]"),
    ("play", "engine.book=a.pgn", "with command=play; command=engine has books and tablebases"),
    ("play", "engine.time_share=3", "with command=play; use play.seconds there"),
    ("play", "arena.games=10", "arena.games is for command=train, arena, bench, got"),
    ("play", "players=[random]", "checkpoint=PATH names your opponent"),
    ("web", "checkpoint=here", "with command=web; the page lists the opponents"),
    ("web", "engine.memory_mb=9", "use web.memory_mb there"),
    ("web", "run_dir=here", "web.runs names the folder of runs there"),
    ("report", "game=go", "with command=report; a run determines its game"),
    ("export", "export.per_generation=2", "export.per_generation is for command=train"),
    ("export", "games=[a.azg]", "with command=export; export.games names the input"),
    ("predict", "search.num_simulations=9", "search.num_simulations is for command=train, arena,"),
    ("predict", "supervised.enabled=true", "supervised.enabled is for command=train"),
    ("predict", "evaluator.cache=9", "evaluator.cache is for command=train, arena"),
    ("export", "export.ply=2", "export.ply is for what=picture"),
    ("puzzles", "arena.starts=[a.epd]", "use puzzles.files there"),
    ("tune", "arena.games=10", "with command=tune; use tune.games there"),
    (
        "bench",
        "trainer.max_steps=9",
        "trainer.max_steps has no effect without plan among bench.row",
    ),
    ("bench", "run_dir=here", "with command=bench; bench.path names the file to write"),
    ("check", "arena.games=2", "arena.games is for command=train, arena, bench, got arena.games=2"),
    ("check", "name=foo", "with command=check; game=NAME chooses a game"),
    ("check", "seconds=3", "there is no setting seconds; did you mean check.seconds?"),
    ("arena", "compare.games=2", "no setting compare.games; did you mean arena.games?"),
    ("arena", "arena.rivals=2", "arena.rivals is for arena=comparison, got arena.rivals=2"),
    ("info", "seed=2", "seed is for command=train, arena"),
    ("info", "run_dir=RUN", "with command=info; checkpoint=RUN names it"),
    ("report", "run=RUN", "with command=report; run_dir=RUN names it"),
    ("runs", "run_dir=here", "with command=runs; runs.folder names the folder of runs there"),
    ("puzzles", "files=[a.epd]", "there is no setting files; did you mean puzzles.files?"),
    ("ladder", "run_dir=here", "with command=ladder; ladder.folder names the folder of runs"),
    ("ladder", "trainer.max_time=1", "with command=ladder; use ladder.minutes there"),
    ("runs", "game=go", "with command=runs; runs.game=NAME lists the runs of a game"),
    ("runs", "run.tags=[a]", "with command=runs; runs.tag=TAG lists the runs with a tag"),
    ("new", "game=go", "with command=new; name=NAME names the new game"),
    ("new", "run_dir=here", "run_dir is for command=train, arena, tune, report"),
    ("train", "checkpoint=here", "with command=train; resume=RUN resumes a run, init=RUN"),
    ("train", "games=[a.sgf]", "games is for command=import, got games=[a.sgf]"),
    ("train", "search.dirichlet_fraction=0", "search.dirichlet_fraction is for search=puct, got"),
    ("train", "arena_dir=here", "there is no setting arena_dir"),
    ("train", "arena.format=gauntlet", "arena.format is for command=arena"),
    ("train", "engine.ponder=true", "engine.ponder is for command=engine"),
    ("train", "export.out=here", "export.out is for command=export"),
    ("train", "compare.games=2", "compare.games is for sweeps only, got"),
    ("train", "compare.after_sweep=true", "compare.after_sweep is for sweeps only, got"),
    ("train", "+colour=red", "colour is not a setting, got +colour=red with command=train"),
    ("import", "supervised.games=[a.sgf]", "games=[...] names the files to read"),
    ("import", "export.out=a.azg", "out names the file to write"),
]


@pytest.mark.parametrize("command", sorted({command for command, _, _ in WRONG}))
def test_what_a_command_makes_nothing_of_is_refused(command: str) -> None:
    for name, argument, sentence in WRONG:
        if name == command:
            with pytest.raises(SettingError) as refusal:
                settings_for([f"command={command}", argument], {})
            assert sentence in str(refusal.value), argument
            assert "\n" not in str(refusal.value)


def test_a_command_refuses_it_before_anything_is_written(
    azcore: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    for command in ("arena", "train"):
        status, _, errors = azcore(f"command={command}", "compare.games=2")
        assert (status, errors.count("\n")) == (2, 1)
        assert "compare.games" in errors
    assert list(tmp_path.iterdir()) == []


def test_what_works_instead_is_told_of_what_there_is() -> None:
    known = {key for command in COMMANDS for key in roots.keys_of(command)}
    for command, told in INSTEAD.items():
        for key in told:
            assert any(each.startswith(key) for each in known), (command, key)
            assert not roots.has(command, key) or not roots.uses(command, key), (command, key)


def test_a_command_stands_first_or_is_named(
    azcore: Callable[..., tuple[int, str, str]],
) -> None:
    for words in (["report"], ["command=report"]):
        assert "command=report needs run_dir=RUN" in azcore(*words)[2]
    for words, sentence in (
        (["fly"], "or, in first place, a command: train, arena, "),
        (["report", "command=play"], "there must be one command, got play and report"),
    ):
        status, output, errors = azcore(*words)
        assert (status, output) == (2, "")
        assert sentence in errors


def test_each_command_shows_its_settings_with_their_comments(
    azcore: Callable[..., tuple[int, str, str]],
) -> None:
    for command in COMMANDS:
        status, output, errors = azcore(command, "--help")
        assert (status, errors) == (0, "")
        assert output.splitlines()[2] == roots.what_it_does(command)
        for key in roots.keys_of(command) - {"hydra"}:
            if key.partition(".")[0] not in ("backend", "game", "network", "search"):  # one choice
                assert key.rpartition(".")[2] in output, (command, key)
    assert azcore("--version")[1] == f"azcore {__version__}\n"


def test_older_command_lines_are_taken_with_a_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def changed(command: str, *old: str) -> dict[str, Any]:
        whole = [f"command={command}"] + ["players=[random]"] * (command == "arena")
        new, plain = (flat(settings_for([*whole, *words], {})) for words in (old, ()))
        return {key: value for key, value in new.items() if plain.get(key) != value}

    assert changed("arena", "arena.num_simulations=3") == {"search.num_simulations": 3}
    assert changed("train", "search.c_init=3") == {"puct.c_init": 3}
    assert changed("tune", "tune.parameters.search.c_base=[1,2]") == {
        "tune.parameters.puct.c_base": [1, 2]
    }
    assert changed("play", "play.num_simulations=3", "engine.leaves_per_tree=2") == {
        "search.num_simulations": 3,
        "search.leaves_per_tree": 2,
    }
    assert changed("engine", "algorithm=alphagozero", "scale=paper") == {
        "puct.c_init": 1.5,
        "puct.c_base": 1e30,
        "puct.count_parent_visit": False,
        "puct.value_range": [0.0, 1.0],
        "evaluator.random_symmetry": True,
    }
    told = capsys.readouterr().err
    # Commands that are a kind of another now.
    for command, old, new in (
        (
            "compare",
            ["compare.runs=x", "search.num_simulations=3", "run_dir=y"],
            ["arena", "arena=comparison", "arena.runs=x", "arena.num_simulations=3", "run_dir=y"],
        ),
        (
            "compare",
            ["compare.runs=x", "compare.num_simulations=3"],
            ["arena", "arena=comparison", "arena.runs=x", "arena.num_simulations=3"],
        ),
        (
            "lesson",
            ["lesson.minutes=3", "run_dir=y"],
            ["ladder", "ladder=lesson", "ladder.minutes=3", "ladder.folder=y"],
        ),
        (
            "publish",
            ["publish.recipe=x", "out=a.ckpt"],
            ["export", "what=checkpoint", "export.recipe=x", "out=a.ckpt"],
        ),
        (
            "plan",
            ["plan.price=3"],
            ["bench", "bench.rows=[plan]", "bench.path=plan.json", "plan.price=3"],
        ),
    ):
        assert settings_for([command, *old], {}) == settings_for(new, {})
    assert "azcore: command=compare is now command=arena arena=comparison" in (
        capsys.readouterr().err.splitlines()
    )
    words = told.splitlines()
    assert words[:2] == [
        "azcore: arena.num_simulations is now search.num_simulations",
        "azcore: search.c_init is now puct.c_init",
    ]
    assert "azcore: scale=paper is now puct.value_range=[0.0,1.0] in command=engine" in words


def test_a_checkpoint_is_played_by_its_own_game(
    azcore: Callable[..., tuple[int, str, str]], tiny: Tiny
) -> None:
    train_once(tiny("run_dir=run", "trainer.max_steps=4"))
    mine = "checkpoint=run/checkpoints/last.ckpt"
    for command in ("arena", "play", "tune"):
        status, output, errors = azcore(f"command={command}", "game=go", mine)
        assert "tic_tac_toe" in errors, (command, errors)
        assert (status, output, errors.count("\n")) == (2, "", 1), command
    status, _, errors = azcore("command=play", mine, "game.board_size=9")
    assert status == 2
    assert "game.board_size is None in checkpoint=run/checkpoints/last.ckpt, got 9" in errors


def test_signs_that_a_terminal_would_obey_are_spelled_out(
    azcore: Callable[..., tuple[int, str, str]],
) -> None:
    status, _, errors = azcore(*COMPARISON, 'arena.runs="\x1b]0;title\x07"')
    assert status == 2
    assert "\x1b" not in errors
    assert "\\x1b]0;title\\x07" in errors


def test_every_command_is_there() -> None:
    assert all(callable(resolve_name(place)) for place in COMMANDS.values())


def test_a_command_says_nothing_of_what_the_one_before_has_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("azcore.cli.status.resolve_name", lambda _: lambda config: 0)
    interrupts.say_at_the_end(lambda: "saved up to the checkpoint of another job")
    assert run_command("report", {}) == 0
    assert interrupts._last_words() == ""


def test_a_locale_without_our_signs(tmp_path: Path) -> None:
    """What it lacks is shown as a question mark."""
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "azcore", "command=arena", "game=tic_tac_toe"),
            *("arena.games=2", "search.num_simulations=2", "players=[random,search]"),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stderr == b""
    assert b"?" in ran.stdout


def test_sources_that_are_not_installed_are_named() -> None:
    """Python takes azcore from the current folder, and nothing says where its settings are."""
    sources = Path(interrupts.__file__).parents[1]
    bare = "import sys; sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f)]; "
    for run in ("from azcore.__main__ import main; main()", "import azcore; azcore.train('go')"):
        done = subprocess.run(
            [sys.executable, "-c", bare + run],
            cwd=sources,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode
        assert f"pip install -e {sources}" in done.stderr
        assert ("Traceback" in done.stderr) == ("train" in run)


@pytest.mark.parametrize(
    ("command", "words", "is_chosen"),
    [
        ("train", ["game=go"], True),
        ("train", [], True),
        ("train", ["game=go", "scale=laptop"], False),
        ("train", ["resume=latest"], False),  # which has sizes of its own
        ("train", ["fork=runs/first"], False),
        ("train", ["init=pretrained"], False),
        ("train", ["experiment=papers"], False),
        ("train", ["device=cpu"], False),
        ("arena", ["players=[a,b]"], False),
    ],
)
def test_a_gpu_gets_a_scale_of_its_own(
    monkeypatch: pytest.MonkeyPatch, command: str, words: list[str], is_chosen: bool
) -> None:
    told: list[str] = []
    monkeypatch.setattr(machine, "_scale_of_gpu", list)
    assert machine.with_scale(command, words, told.append) == words
    monkeypatch.setattr(machine, "_scale_of_gpu", lambda: ["scale=workstation"])
    wanted = ["scale=workstation", *words] if is_chosen else words
    assert machine.with_scale(command, words, told.append) == wanted
    assert len(told) == is_chosen


def test_flags_stay_before_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_scale_of_gpu", lambda: ["scale=workstation"])
    given = ["--config-dir", "conf", "-m", "game=go", "seed=1,2"]
    found = machine.with_scale("train", given, lambda _: None)
    assert found == [*given[:3], "scale=workstation", *given[3:]]
    assert machine.with_scale("train", ["-m"], lambda _: None) == ["-m", "scale=workstation"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("verbose=true", "there is no setting verbose; did you mean log?"),
        ("num_workers=4", "there is no setting num_workers; did you mean selfplay.workers?"),
        ("max_time=1", "there is no setting max_time; did you mean trainer.max_time?"),
        ("num_simulations=1", "no setting num_simulations; did you mean search.num_simulations?"),
        ("search.c_puct=2", "there is no setting search.c_puct; did you mean puct.c_init?"),
        ("learner.lr=1", "there is no setting learner.lr; did you mean learner.learning_rates?"),
        ("port=80", "there is no setting port; did you mean web.port?"),
        ("network/auxiliary=foo", "network/auxiliary must be azcore, got network/aux"),
        ("run_dir=a,b", "run_dir=a,b gives several values, which only a sweep accepts (add -m)"),
        ("run_dir=[x]", "run_dir must be one name, got run_dir=['x']"),
        ("log=loud", "log must be one of normal, quiet, json, got 'loud'"),
    ],
)
def test_words_of_others_get_ours(
    azcore: Callable[..., tuple[int, str, str]], word: str, said: str
) -> None:
    status, _, errors = azcore("game=tic_tac_toe", "scale=smoke", word)
    assert (status, errors.count("\n")) == (2, 1)
    assert said in errors
