"""The way of an author: `command=new`, the example package, all snippets of docs/new-game.md."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import azcore
from azcore.cli import roots
from azcore.cli.old_names import command_of, renamed
from azcore.commands.new import KINDS, write_package
from azcore.errors import AzcoreError
from azcore.game import CompiledGame, Game
from azcore.testing import check_game
from fresh_environment import FreshEnvironment

ROOT = Path(__file__).parents[2]
SMALL = " ".join(
    [
        "network.blocks=1",
        "network.channels=4",
        "network.value_hidden=4",
        "search.num_simulations=8",
        "selfplay.num_games=4",
        "evaluator.backend=torch",
        "learner.batch_size=16",
        "learner.steps_per_generation=1",
        "arena.games=2",
        "arena.num_simulations=4",
    ]
)
BRIEF = "check.positions=100 check.seconds=0.1"


@pytest.fixture
def fresh(tmp_path: Path) -> FreshEnvironment:
    return FreshEnvironment.make(tmp_path / "environment")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Foo", "lower-case Python name such as my_game, got 'Foo'"),
        ("my-game", "got 'my-game'"),
        ("2x2", "got '2x2'"),
        ("my_", "got 'my_'"),
        ("", "got ''"),
        ("class", "got 'class'"),
        ("on", "got 'on'"),
        ("../up", "got '../up'"),
        ("json", "must not be that of an installed Python package, got 'json'"),
        ("numba", "got 'numba'"),
        ("go", "a game named go is already installed"),
    ],
)
def test_refuses_names(tmp_path: Path, name: str, sentence: str) -> None:
    with pytest.raises(AzcoreError, match=re.escape(sentence)):
        write_package(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "pebbles").mkdir()
    with pytest.raises(AzcoreError, match="pebbles already exists; choose another"):
        write_package("pebbles", tmp_path)
    assert list((tmp_path / "pebbles").iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(AzcoreError, match="cannot be written"):
        write_package("stones", tmp_path / "file")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("four_by_four", "FourByFour"),
        ("x", "X"),
        ("rules", "RulesGame"),
        ("none", "NoneGame"),
        ("my_game", "MyGame"),
    ],
)
def test_names_are_put_in_everywhere(tmp_path: Path, name: str, kind: str) -> None:
    written = write_package(name, tmp_path / "deep")
    assert written == tmp_path / "deep" / name
    files = [path for path in written.rglob("*") if path.is_file()]
    assert written / f"src/{name}/conf/game/{name}.yaml" in files
    assert f"class {kind}(CompiledGame)" in (written / f"src/{name}/game.py").read_text()
    assert f'{name} = "{name}.game:{kind}"' in (written / "pyproject.toml").read_text()
    if name != "my_game":
        left = [path for path in files if re.search("(?i)my_?game|My game", path.read_text())]
        assert left == []


@pytest.mark.parametrize("kind", KINDS)
def test_both_kinds_keep_the_contract(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = write_package(f"pebbles_{kind}", tmp_path, kind)
    monkeypatch.syspath_prepend(str(written / "src"))
    made = importlib.import_module(f"pebbles_{kind}.game")
    game = getattr(made, f"Pebbles{kind.capitalize()}")(board_size=3)
    assert isinstance(game, CompiledGame) == (kind == "compiled")
    report = check_game(game, num_positions=300)
    assert report.warnings == ()
    # Both are the same game to whoever reads positions and actions.
    oracle = azcore.make("tic_tac_toe_plain")
    assert check_game(game, oracle=without_words(oracle), num_positions=100).positions >= 100


def without_words(oracle: Game) -> Game:
    """Tic-tac-toe whose games end in the words of the template."""
    words = {True: "3 in a row", False: "full board"}
    oracle.termination = lambda state: words[oracle.outcome(state) != 0]  # type: ignore[method-assign]
    return oracle


def test_another_kind_is_refused(azcore: Callable[..., tuple[int, str, str]]) -> None:
    status, _, errors = azcore("command=new", "name=pebbles", "kind=fast")
    assert (status, errors) == (2, "azcore: kind must be one of compiled, plain, got 'fast'\n")


@pytest.mark.long(short="tests/commands/test_new_game.py::test_the_tutorial_does_what_it_says")
def test_a_new_package_passes_and_trains(fresh: FreshEnvironment, tmp_path: Path) -> None:
    said = fresh.succeed("python -m azcore command=new name=pebbles new.path=made", tmp_path)
    commands = [line.strip() for line in said.splitlines()[1:]]
    assert len(commands) == 3
    fresh.succeed(commands[0], tmp_path)
    again = fresh.run("python -m azcore command=new name=pebbles", tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert (
        again.stderr == "azcore: a game named pebbles is already installed; choose another name\n"
    )
    fresh.succeed("python -m pytest -q made/pebbles", tmp_path)
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "pebbles").mkdir(parents=True)  # of the same name, and in nobody's way
    report, log = fresh.succeed_together(
        [f"{commands[1]} {BRIEF}", f"{commands[2]} {SMALL} trainer.max_steps=2"], elsewhere
    )
    assert "keeps the contract" in report
    assert "step 2" in log


def test_mistakes_of_an_author(fresh: FreshEnvironment, tmp_path: Path) -> None:
    """A few lines, status 2, and the other games work on."""
    fresh.succeed("python -m azcore new name=pebbles kind=plain new.path=made", tmp_path)
    fresh.succeed("pip install -e made/pebbles", tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = tmp_path / "made/pebbles/src/pebbles"
    rules = folder / "rules.py"
    rules.write_text(rules.read_text().replace("{0: 0, 1: 1, 2: -1}", "{0: 0, 1: 3, 2: -1}"))
    done = fresh.run("python -m azcore command=check game=pebbles", elsewhere)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "azcore: pebbles breaks the contract, 'the outcome of a terminal state is -1, 0 or +1': "
        "got 3\nafter "
    )
    (folder / "__init__.py").write_text("x = (")
    assert "name: go" in fresh.succeed("python -m azcore --cfg job game=go", elsewhere)
    shutil.rmtree(folder / "conf")
    done = fresh.run("python -m azcore game=pebbles", elsewhere)
    assert done.returncode == 2
    assert "its package lacks conf/game/pebbles.yaml" in done.stderr


def test_connect_four_is_a_package_of_its_own(fresh: FreshEnvironment, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "examples/plugins/connect_four", source)  # builds leave folders behind
    code = [path.read_text() for path in source.glob("src/**/*.py")]
    assert sum(len(text.splitlines()) for text in code) < 290
    fresh.succeed(f"pip install {source}", tmp_path)
    fresh.succeed("python -m pytest -q", source)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    card, ladder = fresh.succeed_together(
        [
            "python -m azcore command=info checkpoint=pretrained/connect4",
            "python -m azcore command=ladder ladder=connect_four",
        ],
        elsewhere,
    )
    assert "100 of 100 games against search:800" in card
    assert "keeps the outcome of perfect play" in ladder


@pytest.mark.long(
    short="tests/commands/test_new_game.py::test_connect_four_is_a_package_of_its_own"
)
def test_minishogi_is_a_package_of_its_own(fresh: FreshEnvironment, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "examples/plugins/minishogi", source)
    fresh.succeed(f"pip install {source}", tmp_path)
    fresh.succeed("python -m pytest -q", source)
    card = fresh.succeed("python -m azcore command=info checkpoint=pretrained/minishogi", tmp_path)
    assert "99 of 100 games against search:200" in card


def test_hex_passes_its_own_tests(tmp_path: Path) -> None:
    installed = tmp_path / "hex-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: hex\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[azcore.games]\nhex = hex.game:Hex\n")
    package = ROOT / "examples/plugins/hex"
    path = os.pathsep.join([str(tmp_path), str(package / "src")])
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=package,
        env=os.environ | {"PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.long(short="tests/commands/test_new_game.py::test_hex_passes_its_own_tests")
def test_hex_is_a_package_of_its_own(fresh: FreshEnvironment, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "examples/plugins/hex", source)
    fresh.succeed(f"pip install {source}", tmp_path)
    fresh.succeed("python -m pytest -q", source)
    ladder = fresh.succeed("python -m azcore command=ladder ladder=hex", tmp_path)
    assert "beats random play and search without a network" in ladder


# -- docs/new-game.md ----------------------------------------------------------------------------

BLOCK = re.compile(
    r"(?:<!-- test:? ?(?P<overrides>.*?) -->\n)?^```(?P<kind>\w+)(?: (?P<file>\S+))?\n"
    r"(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def with_overrides(line: str, overrides: str) -> str:
    if not line.startswith("python -m azcore "):
        return line
    command, _ = command_of(shlex.split(line)[3:])
    words = renamed(command, overrides.split(), lambda sentence: None)
    obeyed = [word for word in words if roots.uses(command, word.partition("=")[0])]
    return " ".join([line, *obeyed])


def test_the_tutorial_does_what_it_says(fresh: FreshEnvironment, tmp_path: Path) -> None:
    """Files are written and commands run in the order of the page.

    Blocks with a path are files, and a second one for a path is added to the first. A comment
    `<!-- test: key=value -->` before a block of commands is added to each `python -m azcore` that
    makes something of it. Scripts and commands of azcore that follow each other share a process.
    """
    folder, written = tmp_path, set()
    waiting: list[str] = []

    def run_waiting() -> None:
        if waiting:
            fresh.succeed_together(waiting, folder, given="\n" * 200)
            waiting.clear()

    for block in BLOCK.finditer((ROOT / "docs/new-game.md").read_text()):
        kind, text = block["kind"], block["text"]
        if block["file"]:
            run_waiting()
            path = folder / block["file"]
            known = path in written
            assert path.parent.is_dir(), f"{block['file']} is not where a new package has files"
            path.write_text(f"{path.read_text()}\n\n{text}" if known else text)
            written.add(path)
        elif kind == "sh":
            overrides = block["overrides"] or ""
            for line in text.splitlines():
                if re.match(r"python (-m azcore|\w+\.py)\b", line):
                    waiting.append(with_overrides(line, overrides))
                    continue
                run_waiting()
                where = tmp_path / "where"
                fresh.succeed(f"{line}\npwd > {where}", folder)
                folder = Path(where.read_text().strip())
        else:
            assert kind == "text", f"a block of {kind} is neither a file nor run"
    run_waiting()
    assert len(written) == 12
