"""A run directory is data: whatever a received one holds, resuming it trains and no more."""

from __future__ import annotations

import copy
import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from azcore.assembly.parts import LearningSettings, settings_from
from azcore.cli import application, roots
from azcore.commands.arena.comparison import comparison
from azcore.commands.train import train
from azcore.errors import CheckpointError, SettingError
from azcore.learner.trainer_settings import ON_ONE_DEVICE, trainer_settings
from azcore.report.tables import read_rows
from azcore.storage.run_directory import OWN, RunDirectory, find_run
from azcore.storage.run_settings import (
    ADDED,
    ADDED_TO_NETWORKS,
    OF_EXPORT,
    RUN,
    differences,
    read_config,
    save_config,
)
from azcore.storage.table import Table
from azcore.storage.untrusted import MAX_YAML, require_no_links
from conftest import TINY, compose

CommandLine = Callable[..., tuple[int, str, str]]
RESUMED = ["game=tic_tac_toe", "resume=run", "trainer.max_steps=12"]
COMPARED = [
    "command=arena",
    "arena=comparison",
    "arena.runs=run",
    "arena.games=2",
    "arena.checkpoints=1",
    "arena.num_simulations=2",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two generations, with a match."""
    folder = tmp_path_factory.mktemp("made")
    train(compose(*TINY, f"run_dir={folder}/run", "trainer.max_steps=8"))
    return folder / "run"


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


def changed(run: Path, **settings: Any) -> None:
    """Other values of groups or keys in a run's config.yaml; a group keeps its other keys."""
    config = yaml.safe_load((run / "config.yaml").read_text())
    for key, value in settings.items():
        old = config.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        config[key] = {**old, **value} if both else value
    (run / "config.yaml").write_text(yaml.safe_dump(config))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# -- what a run can say -------------------------------------------------------------------------


def test_what_is_saved_is_what_makes_the_run(run: Path) -> None:
    saved = yaml.safe_load((run / "config.yaml").read_text())
    assert set(saved) <= set(RUN)
    assert set(saved["export"]) == set(OF_EXPORT)


def test_every_setting_is_the_runs_or_of_whoever_goes_on() -> None:
    """A new group takes its place: either it is kept with the run, or each command line says it."""
    assert set(compose()) - set(RUN) == {
        *(
            "backend",
            "check",
            "compare",
            "fork",
            "init",
            "log",
            "logger",
            "resume",
            "run",
            "run_dir",
            "web",
        ),
    }


def test_training_obeys_every_setting_that_a_run_keeps() -> None:
    assert [key for key in RUN if not roots.uses("train", key)] == []


def test_a_received_run_trains_and_nothing_else(
    azcore: CommandLine, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "a word that nobody should read")
    touch = f"touch {tmp_path}/touched"
    outside = f"{tmp_path}/outside"
    changed(
        run,
        command="arena",
        players=["random", f'gtp sh -c "{touch}"'],
        programs={"random": {"protocol": "gtp", "command": touch, "level": None, "install": None}},
        arena_dir=outside,
        run_dir=outside,
        checkpoint="/etc/passwd",
        export={"out": outside, "games": "/etc/passwd", "first": "x"},
        new={"path": outside},
        name="outside",
        experiment="papers",
        algorithm="${oc.env:A_SECRET}",
        hydra={"run": {"dir": outside}, "callbacks": {"x": {"_target_": "os.system"}}},
        _target_="os.system",
        peers=["pgx"],
        bench={"path": outside},
        engine={"log": outside},
    )
    status, output, errors = azcore(*RESUMED)
    assert (status, errors) == (0, "")
    assert "step 12" in output
    assert {path.name for path in tmp_path.iterdir()} == {"run"}
    saved = (run / "config.yaml").read_text()
    assert "${oc.env:A_SECRET}" in saved  # a text like any other
    assert set(yaml.safe_load(saved)) <= set(RUN)
    for path, content in contents(run).items():
        assert b"nobody should read" not in content, path


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"trainer": {"strategy": "ddp"}},
            "config.yaml has trainer.strategy, which no run can set",
        ),
        ({"trainer": {"default_root_dir": "/tmp"}}, "has trainer.default_root_dir, which"),
        ({"trainer": {"callbacks": [1]}}, "has trainer.callbacks, which"),
        ({"trainer": {"max_steps": "10"}}, "trainer.max_steps must be a whole number, got '10'"),
        ({"game": {"name": ["go"]}}, "game.name must be text, got ['go']"),
        ({"game": {"name": "os:system"}}, "no game named 'os:system' is installed"),
        ({"game": {"name": "../go"}}, "no game named '../go' is installed"),
        ({"game": {"colour": 1}}, "tic_tac_toe has no setting 'colour'"),
        ({"network": 7}, "network must be settings by name, got 7"),
        ({"network": {"_target_": "os.system"}}, "there is no setting network._target_"),
        ({"selfplay": {"game": 3}}, "selfplay.game must be settings by name, got 3"),
        ({"seed": True}, "seed must be a whole number, got True"),
        ({"device": ["cpu"]}, "device must be text, got ['cpu']"),
        ({"device": "moon"}, "device must be auto, or a device of this machine"),
        ({"export": {"format": ["sgf"]}}, "export.format must be text"),
        ({"search": None}, "must hold the settings of a run; search is missing"),
        ({"search": {"c_init": float("nan")}}, "must hold finite numbers"),
        ({"search": {"num_simulations": 10**30}}, "must hold finite numbers"),
    ],
    ids=str,
)
def test_settings_that_no_run_has(
    azcore: CommandLine, run: Path, settings: dict[str, Any], sentence: str
) -> None:
    changed(run, **settings)
    before = contents(run)
    status, _, errors = azcore("resume=run")
    assert (status, errors.count("\n")) == (2, 1)
    assert sentence in errors
    assert contents(run) == before


# -- damage -------------------------------------------------------------------------------------

BOMB = "a0: &a0 [1, 1]\n" + "".join(
    f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}]\n" for i in range(1, 40)
)
DAMAGE: dict[str, dict[str, bytes]] = {
    "config.yaml": {
        "binary": bytes(range(256)),
        "nul": b"seed: 1\0\n",
        "alias": BOMB.encode(),
        "deep": b"seed: " + b"[" * 100_000,
        "deep mapping": b"".join(b" " * i + b"a:\n" for i in range(500)),
        "long": b"seed: 1\n" + b"# nothing\n" * 100_000,
        "number": b"seed: " + b"9" * 5000,
        "hexadecimal": b"seed: 0x" + b"f" * 5000,
        "tag": b"seed: !!python/object/apply:os.system [true]",
        "bad bool": b"seed: !!bool maybe",
        "bad date": b"seed: 2026-99-99",
        "date": b"seed: 2026-01-01",
        "list": b"- seed",
        "empty": b"",
        "keys": b"? [1, 2]\n: 3\n",
    },
    "metrics.csv": {
        "binary": bytes(range(128, 256)),
        "nan": b"generation,step,evaluations\n0,nan,nan\n1,8,nan\n",
        "inf": b"generation,step,evaluations\n0,4,inf\n1,inf,inf\n",
        "negative": b"generation,step,evaluations\n-1,-4,1\n1,8,-3e999\n",
        "huge cell": b"generation,step,evaluations\n0," + b"9" * 200_000 + b",1\n1,8,1\n",
        "huge number": b"generation,step,evaluations\n0," + b"9" * 5000 + b",1\n1,8,1\n",
        "short row": b"generation,step,evaluations\n0\n1,8,1\n",
        "long row": b"generation,step,evaluations\n0,4,1,1,1\n1,8,1\n",
        "other": b"a,b\n1,2\n",
        "digits": "generation,step,evaluations\n²,²,1\n1,8,1\n".encode(),
    },
    "matches.csv": {
        "binary": bytes(range(128, 256)),
        "other": b"generation,b\n1,2\n",
        "nan": b"generation,step,player,opponent,wins,draws,losses\n1,8,step-8,random,nan,0,1\n",
        "huge": b"generation,step,player,opponent,wins,draws,losses\n1,8,step-8,random,1"
        + b"0" * 400
        + b",0,1\n",
        "path": b"generation,step,player,opponent,wins,draws,losses\n1,8,../../x,random,1,0,1\n",
        "itself": b"generation,step,player,opponent,wins,draws,losses\n1,8,step-8,step-8,1,0,1\n",
        "column": b"generation,step,player,opponent,wins,draws,losses,=cmd()\n"
        b"1,8,step-8,random,1,0,1,1\n",
    },
    "sizes.json": {
        "binary": bytes(range(128, 256)),
        "deep": b"[" * 100_000,
        "nan": b'{"num_games": NaN}',
        "inf": b'{"num_games": 1e999}',
        "true": b'{"num_games": true}',
        "threads": b'{"num_games": 4, "workers": 100000000}',
        "number": b'{"num_games": ' + b"9" * 5000 + b"}",
        "text": b'{"num_games": "4"}',
        "list": b"[4, 2]",
        "long": b" " * (MAX_YAML + 1) + b"{}",
    },
}
READ_BY_COMPARE = ("config.yaml", "metrics.csv")


@pytest.mark.parametrize(
    ("file", "kind"), [(file, kind) for file, kinds in DAMAGE.items() for kind in kinds]
)
def test_damage_is_refused_by_name(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (run / file).write_bytes(DAMAGE[file][kind])
    resuming = {**compose(*TINY, "trainer.max_steps=12"), "resume": "run"}
    comparing = compose(*COMPARED)
    ways: list[Callable[[], object]] = [lambda: train(resuming)]
    if file in READ_BY_COMPARE:
        ways.append(lambda: comparison(comparing))
    if file == "config.yaml":  # which is read before anything else
        ways[0] = lambda: read_config(RunDirectory(run))
    for use in ways:
        with pytest.raises((SettingError, CheckpointError)) as refusal:
            use()
        assert file in str(refusal.value)
        assert len(str(refusal.value)) < 500
        assert (run / file).read_bytes() == DAMAGE[file][kind]


@pytest.mark.parametrize("file", DAMAGE)
def test_damage_ends_a_command_with_status_2(azcore: CommandLine, run: Path, file: str) -> None:
    (run / file).write_bytes(DAMAGE[file]["binary"])
    status, _, errors = azcore(*RESUMED)
    assert (status, errors.count("\n")) == (2, 1), errors
    assert file in errors


def test_a_pipe_is_not_waited_for(run: Path) -> None:
    for path, read in (
        (run / "config.yaml", lambda: read_config(RunDirectory(run))),
        (run / "metrics.csv", lambda: Table(run / "metrics.csv", []).rows()),
        (run / "sizes.json", lambda: RunDirectory(run).read_sizes()),
    ):
        path.unlink()
        os.mkfifo(path)
        with pytest.raises((SettingError, CheckpointError), match="not a regular file"):
            read()


def test_settings_that_repeat_are_written_out(tmp_path: Path) -> None:
    config = compose(*TINY)
    same = [0.1, 0.2]
    config["learner"]["learning_rates"] = config["learner"]["milestones"] = same
    run = RunDirectory(tmp_path)
    save_config(run, config)
    assert read_config(run)["learner"]["milestones"] == same


@pytest.mark.parametrize("rule", ["puct", "gumbel"])
def test_settings_of_older_runs_have_the_names_of_today(tmp_path: Path, rule: str) -> None:
    """Those of 0.2.0 had PUCT's constants among those of the search, and all of both kinds."""
    config = compose(*TINY, f"search={rule}")
    old = copy.deepcopy(config)
    for group, added in ADDED.items():  # these there were none of
        without(old[group], added)
    both = compose(*TINY, "search=puct")["search"]
    old["search"] = {**both, "gumbel": None, **old["search"], **old.pop("puct")}
    run = RunDirectory(tmp_path)
    run.config.write_text(yaml.safe_dump(old))
    assert differences(read_config(run), config) == []


def test_networks_of_older_runs_have_the_settings_of_today(tmp_path: Path) -> None:
    config = compose(*TINY, "network=pooled_res")
    old = copy.deepcopy(config)
    without(old["network"], ADDED_TO_NETWORKS["pooled_res"])
    del old["learner"]["auxiliary_weights"]["material"]
    run = RunDirectory(tmp_path)
    run.config.write_text(yaml.safe_dump(old))
    assert differences(read_config(run), config) == []
    config = compose(*TINY, "network=transformer")
    old = copy.deepcopy(config)
    without(old["network"], ADDED_TO_NETWORKS["transformer"])
    assert "ownership" in old["network"]["auxiliary"]
    run.config.write_text(yaml.safe_dump(old))
    assert differences(read_config(run), config) == []


def without(settings: dict[str, Any], added: dict[str, Any]) -> None:
    """Take away what later versions added, also within groups."""
    for key, value in added.items():
        if isinstance(value, dict):
            without(settings[key], value)
        else:
            del settings[key]


def test_no_run_begins_whose_settings_could_not_be_read(tmp_path: Path) -> None:
    config = compose(*TINY)
    config["supervised"]["games"] = ["x" * 1000] * 1000
    with pytest.raises(SettingError, match="must have at most"):
        save_config(RunDirectory(tmp_path), config)


def test_only_the_last_row_may_be_cut(tmp_path: Path) -> None:
    table = Table(tmp_path / "metrics.csv", ["generation", "step"])
    table.path.write_text("generation,step\n0,4\n1")
    assert table.rows() == [{"generation": "0", "step": "4"}]
    table.path.write_text("generation,step\n0,4\n1,1")  # of 16: its last cell is cut, too
    assert table.rows() == [{"generation": "0", "step": "4"}]
    table.append({"generation": 1, "step": 16})
    assert table.path.read_bytes() == b"generation,step\n0,4\n1,16\r\n"
    for cut in ("generation,s", "", "generation,step\r\n"):
        table.path.write_text(cut, newline="")
        table.append({"generation": 1, "step": 16})
        assert table.rows() == [{"generation": "1", "step": "16"}]
    table.path.write_text("generation,step\n0\n1,8\n")
    with pytest.raises(SettingError, match="got more or fewer in row 1"):
        table.rows()


def test_a_table_of_any_size_is_refused_before_it_is_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its size, or by its cells: a byte each takes 100 times as much memory as a byte."""
    monkeypatch.setattr("azcore.storage.table.MAX_CELLS", 10_000)
    path = tmp_path / "metrics.csv"
    for content, size in (
        (b"generation\n", 8 << 30),  # with a hole
        (b"generation\n" + b"1\n" * 3000, None),
        (
            b",".join(b"%d" % column for column in range(5000)) + b"\n" + (b"," * 4999 + b"\n") * 3,
            None,
        ),
        (b"generation\n" + b"," * 70_000 + b"\n", None),
        (b"generation\n" + b'"\n",' * 20_000 + b"\n", None),
    ):
        path.write_bytes(content)
        if size is not None:
            os.truncate(path, size)
        too_large = r"must have at most 67,108,864 b|has too many rows|a row has more than 65,536"
        with pytest.raises(SettingError, match=too_large) as error:
            Table(path, ["generation"]).rows()
        if "a row has" in str(error.value):  # no table from there on
            assert read_rows(path) == []
        else:
            with pytest.raises(SettingError, match=too_large):
                read_rows(path)


# -- where files go -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lock", "metrics.csv", "report.html.part", "config.yaml.tmp"])
def test_nothing_is_written_through_a_link(
    azcore: CommandLine, run: Path, tmp_path: Path, name: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(victim)
    status, _, errors = azcore(*RESUMED)
    assert (status, errors.count("\n")) == (2, 1)
    assert f"{name} must be a file or a folder" in errors
    assert victim.read_text() == "precious"


def test_nor_through_a_linked_folder(azcore: CommandLine, run: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (run / "logs/more").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingError, match=r"more must be a file or a folder.*got a link"):
        require_no_links(run)
    assert azcore(*RESUMED)[0] == 2
    for name in ("comparison_matches.csv", "ratings.csv", "figure.svg"):
        (run / name).symlink_to(tmp_path / "elsewhere" / name)
        status, _, errors = azcore(*COMPARED)
        assert (status, errors.count("\n")) == (2, 1)
        assert f"{name} must be a file" in errors
        (run / name).unlink()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_links_beside_what_is_ours_are_left_alone(run: Path, tmp_path: Path) -> None:
    """A run may be begun among files of one's own."""
    (run / "data").symlink_to(tmp_path)
    directory = RunDirectory(run)
    directory.open()
    directory.close()


def test_every_place_in_a_run_is_one_of_ours(run: Path) -> None:
    train(compose(*TINY, "algorithm=alphagozero", "gate.games=2", f"run_dir={run}/gated"))
    for folder in (run, run / "gated"):
        names = {path.name for path in folder.iterdir()} - {"gated"}
        assert [name for name in names if not name.startswith(OWN)] == []


# -- which run ----------------------------------------------------------------------------------


def test_the_latest_run_is_looked_for_once(
    azcore: CommandLine, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one may begin while this one's game is compiled."""
    latest = Path(shutil.copytree(run, tmp_path / "runs/tic_tac_toe/one"))
    resumed: list[str] = []
    monkeypatch.setattr(
        application, "run_command", lambda _, config: resumed.append(config["resume"]) or 0
    )
    assert azcore("game=tic_tac_toe", "resume=latest")[0] == 0
    assert resumed == [str(latest)]


def test_the_latest_run_is_that_of_any_game_unless_one_is_named(
    run: Path, tmp_path: Path, azcore: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one in a folder of its own name; a folder of rubbish is passed over."""
    first = Path(shutil.copytree(run, tmp_path / "runs/first"))
    other = Path(shutil.copytree(run, tmp_path / "runs/go/one"))
    rubbish = tmp_path / "runs/go/two/config.yaml"
    for number, path in enumerate((first, other)):
        os.utime(path / "config.yaml", (number, number))
    text = (other / "config.yaml").read_text()
    (other / "config.yaml").write_text(text.replace("name: tic_tac_toe", "name: go"))
    rubbish.parent.mkdir()
    rubbish.write_text("game: [")
    os.utime(rubbish, (0, 0))
    assert find_run("latest", None).path == other
    assert find_run("latest", "tic_tac_toe").path == first
    with pytest.raises(CheckpointError, match=r"no run of chess in .*runs; resume=DIR names one"):
        find_run("latest", "chess")
    resumed: list[str] = []
    monkeypatch.setattr(
        application, "run_command", lambda _, config: resumed.append(config["resume"]) or 0
    )
    shutil.rmtree(other)
    rubbish.unlink()
    assert azcore("resume=latest")[0] == 0
    assert resumed == [str(first)]


# -- two processes ------------------------------------------------------------------------------


def test_of_two_that_begin_in_one_folder_one_wins(tmp_path: Path) -> None:
    config = compose(*TINY)
    first, second = RunDirectory(tmp_path / "run"), RunDirectory(tmp_path / "run")
    first.open_new()
    with pytest.raises(SettingError, match="is in use: another azcore process"):
        second.open_new()
    save_config(first, config)
    first.close()
    with pytest.raises(SettingError, match="already holds a run"):
        second.open_new()  # both had looked before either had begun
    with (tmp_path / "run/lock").open("w") as lock:  # and the loser lets others in
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


# -- the same command line again ----------------------------------------------------------------


class TestTheSameCommandLine:
    BEGUN = (
        *("game=go", "game.board_size=3", "game.komi=0.5", "scale=laptop", "network=dual_res"),
        *("network.blocks=1", "network.channels=4", "network.value_hidden=4", "selfplay.workers=1"),
        *(
            "search=puct",
            "search.num_simulations=4",
            "selfplay.num_games=4",
            "learner.batch_size=8",
        ),
        *("learner.steps_per_generation=2", "trainer.max_steps=2", "arena.games=2"),
        *("evaluator.backend=torch", "algorithm=alphagozero", "gate.games=2"),
        *("run_dir=mine", "command=train", "seed=3", "export.per_generation=1"),
        "replay.samples_per_position=0.2",  # so that every generation has games
    )

    @pytest.fixture(scope="class")
    @classmethod
    def begun(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        folder = tmp_path_factory.mktemp("begun")
        train(compose(*cls.BEGUN, f"run_dir={folder}/mine"))
        return folder / "mine"

    @pytest.fixture
    def mine(self, begun: Path, tmp_path: Path) -> Path:
        return Path(shutil.copytree(begun, tmp_path / "mine"))

    def test_goes_on(self, azcore: CommandLine, mine: Path) -> None:
        status, output, errors = azcore(*self.BEGUN, "resume=latest")
        assert (status, errors) == (0, "")
        assert "resuming from step 2" in output

    def test_and_longer(self, azcore: CommandLine, mine: Path) -> None:
        longer = [word for word in self.BEGUN if not word.startswith("trainer.max_steps")]
        status, output, errors = azcore(*longer, "resume=latest", "trainer.max_steps=4")
        assert (status, errors) == (0, "")
        assert "step 4" in output
        assert len(list((mine / "games/sgf").glob("*.sgf"))) == 2  # one of each generation

    def test_without_what_its_scale_leaves_open(self, azcore: CommandLine, mine: Path) -> None:
        """As for a run from before the scale left it open."""
        fixed = ("trainer.max_steps", "learner.steps_per_generation", "selfplay.workers")
        words = [word for word in self.BEGUN if not word.startswith(fixed)]
        words += ["scale=laptop", "learner.steps_per_generation=null", "selfplay.workers=null"]
        status, output, errors = azcore(*words, "resume=latest", "trainer.max_steps=4")
        assert (status, errors) == (0, "")
        assert "step 4" in output
        assert read_config(RunDirectory(mine))["learner"]["steps_per_generation"] == 2

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["game.board_size=5"], "cannot change game.board_size: the run has 3, got 5"),
            (["seed=4"], "cannot change seed: the run has 3, got 4"),
            (["game=chess"], "the run's own game, got game=chess: game.name is 'go' in the run"),
            (["scale=paper"], "the run's own scale, got scale=paper: scale is 'laptop' in the run"),
            (["algorithm=gumbel"], "the run's own algorithm, got algorithm=gumbel"),
            (["network=sep_res"], "the run's own network, got network=sep_res: network.name is"),
            (["network=dual_res"], "network.blocks is 1 in the run, not 4"),
            (["~seed"], "resumes with the run's own seed, got ~seed"),
            (["run_dir=other"], "resumes in the run's own folder, got run_dir=other"),
            (["command=arena"], "resume is for command=train, got resume=mine with command=arena"),
            (["players=[random]"], "players is for command=arena, puzzles, got players=[random]"),
        ],
        ids=str,
    )
    def test_what_would_change_it_is_refused(
        self, azcore: CommandLine, mine: Path, arguments: list[str], sentence: str
    ) -> None:
        before = contents(mine)
        game = [] if arguments[0].startswith("game=") else ["game=go"]
        status, _, errors = azcore(*game, "resume=mine", "+trainer.benchmark=false", *arguments)
        assert (status, errors.count("\n")) == (2, 1)
        assert sentence in errors
        assert contents(mine) == before

    def test_without_a_run_there(self, azcore: CommandLine) -> None:
        status, _, errors = azcore("game=go", "resume=latest", "run_dir=nowhere")
        assert status == 2
        assert "nowhere is not a run directory" in errors


def test_runs_of_the_first_version_go_on(tmp_path: Path) -> None:
    """What has been added since has the value that means what they did."""
    run = RunDirectory(tmp_path)
    shutil.copy(Path(__file__).parents[1] / "data/config_0.2.0.yaml", run.config)
    saved = read_config(run)
    composed = compose("game=go")
    for group in ("selfplay", "replay", "learner", "evaluator", "arena", "search", "gate", "sprt"):
        assert set(saved[group]) == set(composed[group]), group
    assert trainer_settings({**ON_ONE_DEVICE, **saved["trainer"]}).accumulate_grad_batches == 1
    assert settings_from({**composed, **saved}, LearningSettings).replay.window_on_disk is False


def test_a_setting_that_one_run_alone_has_is_a_difference() -> None:
    one = compose("game=tic_tac_toe")
    other = {**one, "learner": {**one["learner"], "later": 3}}
    assert differences(one, one) == []
    assert differences(one, other) == [("learner.later", None, 3)]
    assert differences(other, one) == [("learner.later", 3, None)]
    assert differences(one, {**one, "device": "cuda"}) == []
