"""command=ladder: recipes are trained and measured once, and go on where they were stopped."""

from __future__ import annotations

import csv
import io
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from azcore.arena.elo import score_interval
from azcore.cli import roots
from azcore.cli.composition import settings_for
from azcore.commands import command_line
from azcore.commands.forecast import Forecast
from azcore.commands.ladder import ladder
from azcore.commands.train import train
from azcore.errors import SettingError
from azcore.game.registry import installed_games, make
from azcore.storage.puzzles import read_puzzles
from azcore.storage.run_directory import RunDirectory, Sizes
from azcore.storage.run_settings import save_config
from conftest import TINY, compose

CommandLine = Callable[..., tuple[int, str, str]]


class Told:
    """A command line that is interrupted at once."""

    said: ClassVar[list[list[str]]] = []
    status = 130

    def __init__(self, words: list[str]) -> None:
        self.said.append(words)

    def wait(self) -> int:
        return self.status


@pytest.fixture(autouse=True)
def nothing_said() -> None:
    Told.said.clear()


@pytest.fixture
def within(azcore: CommandLine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs command lines in this process, which is faster; returns what they printed."""
    printed: list[str] = []

    class Within:
        def __init__(self, words: list[str]) -> None:
            self.status, output, errors = azcore(*words[3:])
            printed.append(" ".join(words) + output + errors)

        def wait(self) -> int:
            return self.status

    monkeypatch.setattr(command_line, "Popen", Within)
    return printed


FEW = ["search.num_simulations=8", "arena.games=4", "arena.opening_plies=0"]


def config(folder: Path, climb: list[str] | str, **changes: Any) -> dict[str, Any]:
    """A ladder of one short recipe."""
    tiny = {
        "goal": "exists",
        "train": [*TINY, "trainer.max_steps=4", "arena.every_generations=9"],
        "measures": [
            {
                "line": ["command=puzzles", "players=[RUN]", f"puzzles.files=[{folder}/x.epd]"],
                "least": 0.0,
            },
            {"line": ["command=arena", "players=[RUN,search:8]", *FEW], "least": 1.0},
        ],
        **changes,
    }
    (folder / "x.epd").write_text("XX./OO./... x bm c3;\nX.O/XO./... x bm a1;\n")
    ladder_group = {"climb": climb, "folder": str(folder / "runs"), "recipes": {"tiny": tiny}}
    return {**compose("command=ladder"), "ladder": ladder_group, "seed": 3}


def test_a_recipe_is_climbed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ladder(config(tmp_path, ["tiny"])) == 0
    with (tmp_path / "runs/ladder.csv").open() as file:
        first, second = csv.DictReader(file)
    assert (first["of"], second["of"]) == ("2", "4")
    assert (first["least"], first["reached"], first["seed"]) == ("0.0", "True", "3")
    assert 0 <= float(first["low"]) <= float(first["share"]) <= float(first["high"]) <= 1
    # Two players without chance from one opening: two of the four games tell something.
    eighths = round(8 * float(second["share"]))
    interval = score_interval(eighths, 0, 8 - eighths, distinct=2)
    assert (float(second["low"]), float(second["high"])) == pytest.approx(interval, abs=1e-4)
    assert first["line"].startswith("command=puzzles players=[RUN]")
    assert first["train"].endswith(" seed=3")
    assert float(first["hours"]) >= 0
    shown = capsys.readouterr().out
    assert "tiny" in shown
    monkeypatch.setattr(command_line, "Popen", lambda words: pytest.fail(f"again: {words}"))
    assert ladder(config(tmp_path, "all")) == 0
    assert capsys.readouterr().out.count("tiny") >= 2
    with pytest.raises(
        SettingError, match=r"ladder\.folder must be a folder where .* produced tiny"
    ):
        ladder(config(tmp_path, ["tiny"], train=["game=tic_tac_toe"]))


PREPARED = {
    "games": [
        *("command=arena", "game=tic_tac_toe", "players=[search:30,search:8]", *FEW),
        *("arena.games=30", "arena.opening_plies=2", "arena.export=json"),
    ],
    "experts": ["command=import", "game=tic_tac_toe", "games=[GAMES]", "import.min_plies=1"],
    "taught": [
        *(*TINY, "algorithm=supervised", "supervised.games=[EXPERTS]"),
        *("supervised.held_out=0.1", "learner.batch_size=8", "trainer.max_steps=2"),
    ],
}


def test_a_table_that_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/ladder.csv").write_text("generation,elo\n0,1\n")
    with pytest.raises(SettingError, match=r"ladder\.csv must have a column recipe"):
        ladder(config(tmp_path, []))


def test_a_recipe_may_begin_with_games_by_others(
    within: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Games are made, imported and learned from, and the run begins with those weights."""
    train = [*TINY, "init=TAUGHT", "trainer.max_steps=4", "arena.every_generations=9"]
    asked = config(tmp_path, ["tiny"], prepare=PREPARED, train=train)
    assert ladder(asked) == 0
    runs = tmp_path / "runs"
    assert (runs / "tiny-experts.azg").is_file()
    told = "".join(within)
    assert f"supervised.games=[{runs}/tiny-experts.azg]" in told
    assert f"starts with the weights of {runs}/tiny-taught/checkpoints/last.ckpt, step 2" in told
    with (runs / "ladder.csv").open() as file:
        row = next(csv.DictReader(file))
    assert row["train"].startswith("GAMES: command=arena game=tic_tac_toe")
    assert "EXPERTS: command=import" in row["train"]
    assert row["train"].endswith("arena.every_generations=9 seed=3")
    assert "init=TAUGHT" in row["train"]
    # What was made is kept, and a changed line is refused.
    (runs / "ladder.csv").unlink()
    (runs / "tiny.trained").unlink()
    monkeypatch.setattr(command_line, "Popen", Told)
    capfd.readouterr()
    assert ladder(asked) == 130
    said = capfd.readouterr().out
    assert "command=arena" not in said
    assert "resume=latest" in said
    changed = {**PREPARED, "games": [*PREPARED["games"], "arena.opening_plies=1"]}
    with pytest.raises(SettingError, match=r"a folder where command=arena .* produced tiny-games"):
        ladder(config(tmp_path, ["tiny"], prepare=changed, train=train))


def test_what_a_preparation_left_half_done_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_line, "Popen", Told)
    said = Told.said
    (tmp_path / "runs/tiny-games").mkdir(parents=True)
    assert ladder(config(tmp_path, ["tiny"], prepare=PREPARED)) == 130
    assert said[0][-2:] == [f"run_dir={tmp_path}/runs/tiny-games", "seed=3"]
    assert (tmp_path / "runs/tiny-games").exists()  # the same command plays the other matches
    (tmp_path / "runs/tiny-games.made").write_text(" ".join([*PREPARED["games"], "seed=3\n"]))
    (tmp_path / "runs/tiny-experts.azg").touch()
    assert ladder(config(tmp_path, ["tiny"], prepare=PREPARED)) == 130
    assert said[1][-1] == f"out={tmp_path}/runs/tiny-experts.azg"
    assert f"games=[{tmp_path}/runs/tiny-games]" in said[1]
    assert not (tmp_path / "runs/tiny-experts.azg").exists()


def test_it_stops_and_fails_with_its_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_line, "Popen", Told)
    said = Told.said
    (tmp_path / "runs/tiny").mkdir(parents=True)
    assert ladder(config(tmp_path, ["tiny"])) == 130
    assert "resume=latest" not in said[0]
    (tmp_path / "runs/tiny/config.yaml").touch()
    assert ladder(config(tmp_path, ["tiny"])) == 130
    assert said[1][-1] == "resume=latest"
    monkeypatch.setattr(Told, "status", 2)
    with pytest.raises(SettingError, match="ladder: status 2 of python -m azcore game=tic_tac_toe"):
        ladder(config(tmp_path, ["tiny"]))
    assert not list(tmp_path.glob("runs/*.trained"))


def test_a_measure_added_later_leaves_the_others(within: list[str], tmp_path: Path) -> None:
    """Also where only the run's own points count: search beats random without it."""
    arena = {"line": ["command=arena", "players=[RUN,random]", *FEW], "least": 1.0}
    asked = config(tmp_path, ["tiny"], measures=[arena])
    assert ladder(asked) == 0
    games = (tmp_path / "runs/tiny-1/games.csv").read_text()
    puzzles = {
        "line": ["command=puzzles", "players=[RUN,search:30]", f"puzzles.files=[{tmp_path}/x.epd]"],
        "least": 0.0,
    }
    more = {
        "line": [
            "command=arena",
            "players=[RUN,random,search:8]",
            *FEW[:2],
            "arena.opening_plies=1",
        ],
        "least": 0.0,
    }
    assert ladder(config(tmp_path, ["tiny"], measures=[puzzles, more, arena])) == 0
    assert (tmp_path / "runs/tiny-1/games.csv").read_text() == games
    with (tmp_path / "runs/ladder.csv").open() as file:
        rows = list(csv.DictReader(file))
    commands = [row["line"].split()[0] for row in rows]
    assert commands == ["command=arena", "command=puzzles", "command=arena"]
    assert [row["of"] for row in rows] == ["4", "2", "8"]


def test_a_command_that_is_interrupted_saves_what_it_has(tmp_path: Path) -> None:
    """Ctrl-C reaches both programs; a run takes longer than a moment to write its weights."""
    child = tmp_path / "azcore/__main__.py"
    child.parent.mkdir()
    child.write_text(
        "import pathlib, signal, time\n"
        "def save(*_):\n"
        "    time.sleep(1.5)\n"
        "    pathlib.Path('saved').touch()\n"
        "    raise SystemExit(130)\n"
        "signal.signal(signal.SIGINT, save)\n"
        "signal.signal(signal.SIGTERM, lambda *_: None)\n"
        "print('begun', flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = (
        "from azcore.commands.command_line import run_line\n"
        f"import os; os.chdir({str(tmp_path)!r})\n"
        "run_line(['x=1'], 'ladder')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline() not in ("begun\n", ""):
            pass
        os.killpg(process.pid, signal.SIGINT)
        process.wait(30)
    assert (tmp_path / "saved").exists()


def test_positions_that_are_not_there_are_missed_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_line, "Popen", lambda words: pytest.fail(f"trains: {words}"))
    line = ["command=puzzles", "players=[RUN]", "puzzles.files=[examples/nowhere.epd]"]
    asked = config(tmp_path, ["tiny"], measures=[{"line": line, "least": 1.0}])
    with pytest.raises(SettingError, match=r"must be existing files .* got 'examples/nowher"):
        ladder(asked)


@pytest.mark.parametrize(
    ("climb", "changes", "why"),
    [
        ([], {"prepare": {"x": ["command=puzzles"]}}, "tiny.prepare.x must be a line that trains"),
        (
            [],
            {"prepare": {"x": ["game=go", "command=web"]}},
            "prepare.x must be a line that trains",
        ),
        ([], {"prepare": {"x": "command=arena"}}, "prepare.x must be a list, got 'command=arena'"),
        ([], {"prepare": {"x": None}}, "prepare.x must be a list, got None"),
        ([], {"prepare": [["game=go"]]}, "prepare must be command lines by name"),
        (
            [],
            {"prepare": {1: ["game=go"]}},
            "prepare must be lower-case names other than run, got 1",
        ),
        (
            [],
            {"prepare": {"run": ["game=go"]}},
            "must be lower-case names other than run, got 'run'",
        ),
        ([], {"train": ["command=web"]}, "tiny.train must be a line that trains"),
        (
            ["high"],
            {},
            "of tiny, or with ladder.own an installed game, got 'high'",
        ),
        (
            "high",
            {},
            "of tiny, or with ladder.own an installed game, got 'high'",
        ),
        ([], {"measures": [{"line": ["command=train"], "least": 0.5}]}, "begins with command=puz"),
        ([], {"measures": [{"line": ["command=arena"], "least": 2}]}, "`least` from 0 to 1, got 2"),
    ],
)
def test_recipes_that_cannot_be_climbed(
    tmp_path: Path, climb: list[str] | str, changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(SettingError, match=why):
        ladder(config(tmp_path, climb, **changes))


def lesson(folder: Path, minutes: float, **recipes: dict[str, Any]) -> dict[str, Any]:
    """A ladder that climbs all recipes within some minutes."""
    composed = compose("command=ladder", "ladder=lesson")
    changes = {"folder": str(folder), "minutes": minutes, "recipes": recipes}
    return {**composed, "ladder": {**composed["ladder"], **changes}, "seed": 3}


class InHere:
    """A run in this process, since starting another takes seconds."""

    said: ClassVar[list[list[str]]] = []

    def __init__(self, words: list[str], **_: Any) -> None:
        self.said.append(words)
        self.status = train(compose(*words[3:]))
        self.stdout = io.StringIO("step 8\n")

    def wait(self, _: float | None = None) -> int:
        return self.status

    def poll(self) -> int:
        return self.status


def test_a_lesson_of_two_games_and_one_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "Popen", InHere)
    tiny = [*TINY, "trainer.max_steps=8", "arena.every_generations=9"]
    other = {"train": [word for word in tiny if not word.startswith("game=")]}
    other["train"].append("game=checkers")
    folder = tmp_path / "a lesson"
    asked = lesson(folder, 3, one={"train": tiny}, two={"train": tiny}, other=other)
    assert ladder(asked) == 0
    said = capsys.readouterr().out
    assert "other is left out: the game checkers is not installed" in said
    assert f"watch and play with: python -m azcore web 'web.runs={folder}'" in said
    assert "one, two at once, 3 minutes" in said
    assert "one  step 8\n" in said
    page = (folder / "side_by_side.html").read_text()
    assert page.count("<small>one</small>") == page.count("<small>two</small>") == 4
    runs = [*("one", "one.trained"), "side_by_side.html", *("two", "two.trained")]
    assert [path.name for path in sorted(folder.iterdir())] == runs
    assert ladder(asked) == 0  # all is there
    assert len(InHere.said) == 2


class Endless:
    """A run that ends only on a signal, after it has saved its work."""

    now = 0.0
    begun: ClassVar[list[Endless]] = []

    def __init__(self, words: list[str], env: dict[str, str], **_: Any) -> None:
        self.words, self.threads = words, env["OMP_NUM_THREADS"]
        self.stdout, self.ended = io.StringIO(), -1.0
        self.begun.append(self)
        run = next(Path(word.partition("=")[2]) for word in words if word.startswith("run_dir="))
        run.mkdir(parents=True)
        (run / "metrics.csv").touch()

    def wait(self, seconds: float | None = None) -> int:
        if self.ended < 0:
            assert seconds is not None, "it would never end"
            Endless.now += seconds
            raise subprocess.TimeoutExpired("", seconds)
        return 130

    def poll(self) -> int | None:
        return None if self.ended < 0 else 130

    def terminate(self) -> None:
        assert self.ended < 0, "a second signal would not let it save its work"
        self.ended = Endless.now


def test_the_runs_of_a_lesson_train_at_once_and_end_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Endless, "now", 0.0)
    monkeypatch.setattr("time.monotonic", lambda: Endless.now)
    monkeypatch.setattr(command_line, "Popen", Endless)
    monkeypatch.setattr(command_line, "available_cores", lambda: 8)
    recipes = {name: {"train": [f"game={name}"]} for name in ("go", "chess", "tic_tac_toe")}
    assert ladder(lesson(tmp_path / "new", 60, **recipes)) == 0
    assert [each.words[3] for each in Endless.begun] == [f"game={name}" for name in recipes]
    assert {each.words[-1] for each in Endless.begun} == {"trainer.max_time=00:00:59:40"}
    assert {each.threads for each in Endless.begun} == {"2"}
    assert all(3600 <= each.ended < 3601 for each in Endless.begun)
    assert sorted(path.name for path in (tmp_path / "new").glob("*.trained")) == [
        "chess.trained",
        "go.trained",
        "tic_tac_toe.trained",
    ]


def test_a_run_that_has_learned_nothing_is_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Short(Endless):
        def wait(self, _: float | None = None) -> int:
            for path in tmp_path.glob("new/*/metrics.csv"):
                path.unlink()
            return 0

    monkeypatch.setattr(command_line, "Popen", Short)
    with pytest.raises(SettingError, match="must be more, since go has learned nothing yet, got 1"):
        ladder(lesson(tmp_path / "new", 1, go={"train": ["game=go"]}))
    assert not list((tmp_path / "new").glob("*.trained"))


def test_a_run_of_a_lesson_that_fails_ends_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failed(Endless):
        def wait(self, seconds: float | None = None) -> int:
            return 1 if self is Endless.begun[0] else super().wait(seconds)

    Endless.begun.clear()
    monkeypatch.setattr(command_line, "Popen", Failed)
    recipes = {name: {"train": [f"game={name}"]} for name in ("go", "chess")}
    with pytest.raises(SettingError, match="status 1 of python -m azcore game=go"):
        ladder(lesson(tmp_path / "new", 60, **recipes))
    assert Endless.begun[1].ended >= 0
    assert not list((tmp_path / "new").glob("*.trained"))


OF_A_STEP = ["search.num_simulations=8", "replay.samples_per_position=4", "learner.batch_size=16"]


def test_a_lesson_tells_what_fits_and_refuses_less(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 1,000 evaluations/s, 300 are 37.5 positions with 8 simulations, and 9.4 steps.

    For each of two runs; one that measures no speed, as its number of games is given, counts, too.
    """
    for name, rate in (("one", None), ("two", 1000.0)):
        run = RunDirectory(tmp_path / name)
        run.path.mkdir()
        save_config(run, compose(*TINY, *OF_A_STEP, "trainer.max_steps=900"))
        run.save_sizes(Sizes(evaluations_per_s=rate))
    forecast = Forecast(tmp_path, ["one", "two"], minutes=1, overhead=20, least=800)
    forecast.look()
    assert "two: about 370 steps and " in capsys.readouterr().out
    forecast.look()  # prints it once, and waits for the other before it refuses
    assert capsys.readouterr().out == ""
    RunDirectory(tmp_path / "one").save_sizes(Sizes(evaluations_per_s=2000.0))
    with pytest.raises(SettingError, match=r"at least 2 on .*, for 800 steps of two, got 1"):
        forecast.look()
    forecast.look()
    Forecast(tmp_path, ["one", "two"], minutes=2, overhead=20, least=800).look()
    RunDirectory(tmp_path / "one").save_sizes(Sizes(num_games=4))
    with pytest.raises(SettingError, match=r"at least 2 on .*, for 800 steps of two, got 1"):
        Forecast(tmp_path, ["one", "two"], minutes=1, overhead=20, least=800).look()
    assert "one: measures no speed" in capsys.readouterr().out
    late = Forecast(tmp_path, ["three"], minutes=1, overhead=20, least=None)
    late._began -= 21
    late.look()
    assert "three: speed still unknown after 20 s" in capsys.readouterr().out


def test_a_game_without_a_recipe_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_line, "Popen", Told)
    asked = config(tmp_path, ["tic_tac_toe"])
    with pytest.raises(
        SettingError, match=r"must be all, or of tiny, or with ladder.own an .* got 'tic_tac_toe'"
    ):
        ladder(asked)
    asked["ladder"]["own"] = ["network.blocks=2"]
    assert ladder(asked) == 130
    assert Told.said[0][3:5] == ["game=tic_tac_toe", "network.blocks=2"]


@pytest.mark.parametrize(
    "words",
    [
        ["+ladder.recipes.own={train:[game=go,game.board_size=5],goal:plays well}"],
        ["+ladder.recipes.own={goal:", "plays well,", "train:", "[game=go,", "seed=2]}"],
        ["+ladder.recipes.own=train:[game=go]", "+ladder.recipes.own=goal:plays"],  # by bash
        ["+ladder.recipes.own={measures:[{line:[command=arena,players=[RUN,random]],least:0.5}]}"],
    ],
)
def test_the_advice_for_a_recipe_works_as_printed(azcore: CommandLine, words: list[str]) -> None:
    status, _, errors = azcore("ladder", *words)
    assert status == 2
    (advised,) = shlex.split(errors.rpartition("so quote the whole: ")[2])
    status, output, errors = azcore("ladder", advised)
    assert (status, errors) == (0, "")
    assert "own" in output


@pytest.mark.parametrize(
    ("minutes", "recipes", "sentence"),
    [
        (0, {"a": {"train": ["game=go"]}}, "ladder.minutes must be 0 to 10,000, or null, got 0"),
        (1, {"a": {"train": ["game=checkers"]}}, "recipes must be for a game that is installed"),
    ],
)
def test_lessons_that_cannot_be_given(
    tmp_path: Path, minutes: float, recipes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SettingError, match=sentence):
        ladder(lesson(tmp_path / "x", minutes, **recipes))
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", ["default", "lesson"])
def test_the_recipes_name_what_there_is(name: str) -> None:
    """Each line sets what its command obeys, and each file of puzzles is of the recipe's game."""
    text = files("azcore.conf").joinpath(f"ladder/{name}.yaml").read_text()
    recipes = yaml.safe_load(text)["recipes"]
    assert len(recipes) >= 3
    for recipe in recipes.values():
        if "game=connect_four" in recipe["train"] and "connect_four" not in installed_games():
            continue
        settings_for(recipe["train"], {})  # refuses words without effect
        trained = compose(*recipe["train"])
        game = dict(trained["game"])
        assert game["name"] in installed_games()
        for word in recipe["train"]:
            key = word.partition("=")[0]
            assert roots.uses("train", key) or key.startswith("selfplay.game.")
        for line in recipe.get("prepare", {}).values():
            command = line[0].partition("=")[2] if line[0].startswith("command=") else "train"
            assert compose(*line)["game"] == trained["game"]
            for word in line[command != "train" :]:
                assert roots.uses(command, word.partition("=")[0])
        for measure in recipe.get("measures", []):
            command, *words = measure["line"]
            for word in words:
                assert roots.uses(command.partition("=")[2], word.partition("=")[0])
                if word.startswith("puzzles.files="):
                    (name,) = word.partition("=")[2].strip("[]").split(",")
                    suite = Path(__file__).parents[2] / name
                    assert list(read_puzzles(suite, make(game.pop("name"), **game)))
