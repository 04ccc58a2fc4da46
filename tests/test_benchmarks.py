"""Other programs beside azcore: asked in JSON, and told of in one sentence when they fail."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
import yaml

from azcore.commands.bench import bench

Run = Callable[..., tuple[int, str, str]]

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "compare.py"
PEERS = SCRIPT.parent / "peers" / "peers.yaml"
BRIEF = ["game=tic_tac_toe", "bench.seconds=0.05", "bench.rows=[rules]"]
ROW = '{"what": "rules_us_per_ply", "value": 2.5, "unit": "us"}'
ECHO = """
import json, sys
work = json.load(sys.stdin)
print(json.dumps({"doing": "thinking"}))
row = {"what": "rules_us_per_ply", "unit": "us", "note": json.dumps(work)}
print(json.dumps({**row, "value": work["num_simulations"]}))
"""


@pytest.fixture(name="compare")
def compare_fixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    """Runs `python benchmarks/compare.py ARGS` within this process: (status, output, errors)."""
    spec = importlib.util.spec_from_file_location("compare", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "compare", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(bench, "find_peers", bench.find_peers)  # restored afterwards
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["compare.py", *arguments])
        capfd.readouterr()
        status = 0
        try:
            module.main()
        except SystemExit as ended:
            status = int(ended.code or 0)
        output, errors = capfd.readouterr()
        return status, output, errors

    return run


@pytest.fixture
def peer(tmp_path: Path) -> Callable[..., list[str]]:
    """The arguments that make a peer of a script."""

    def arguments(code: str) -> list[str]:
        (tmp_path / "script.py").write_text(code)
        mine = {"script": "script.py", "requires": ["numpy"], "games": {"tic_tac_toe": "noughts"}}
        (tmp_path / "mine.yaml").write_text(yaml.dump({"mine": mine}))
        return ["--peers", "mine", "--known", "mine.yaml"]

    return arguments


def test_a_peer_does_the_same_work(
    compare: Run, peer: Callable[..., list[str]], tmp_path: Path
) -> None:
    status, output, errors = compare(*peer(ECHO), "--", *BRIEF, "bench.num_simulations=17")
    assert status == 0
    assert "measuring: peer mine, rules: thinking\n" in errors
    assert "mine" in output
    found = json.loads((tmp_path / "bench.json").read_text())
    assert found["peers"] == {"mine": {"numpy": version("numpy")}}
    ours, theirs = found["rows"]
    assert (ours["peer"], theirs["peer"]) == (None, "mine")
    assert ours["what"] == theirs["what"] == "rules_us_per_ply"
    assert theirs["value"] == 17
    work = json.loads(theirs["note"])
    assert work["game"] == "noughts"
    assert work["rows"] == ["rules"]
    assert (work["blocks"], work["channels"], work["num_games"]) == (6, 64, 128)
    assert work["selfplay_simulations"] == 16  # what scale=laptop has


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (f"print('{ROW}', flush=True); raise RuntimeError('boom')", "RuntimeError: boom"),
        (f"print('{ROW}'); print('hello')", "'hello' is not a row"),
        (f"print('{ROW}', flush=True); import time; time.sleep(60)", "--minutes 0.02"),
    ],
    ids=["crash", "nonsense", "late"],
)
def test_a_peer_that_fails_stops_nothing_else(
    compare: Run, peer: Callable[..., list[str]], tmp_path: Path, code: str, sentence: str
) -> None:
    status, _, errors = compare(*peer(code), "--minutes", "0.02", "--", *BRIEF)
    assert status == 1
    last = errors.splitlines()[-1]
    assert last.startswith("azcore: peer mine, rules: ")
    assert sentence in last
    found = json.loads((tmp_path / "bench.json").read_text())
    assert [f"azcore: {text}" for text in found["failed"]] == [last]
    assert [row["peer"] for row in found["rows"]] == [None, "mine"]  # what it had said counts


@pytest.mark.parametrize(
    ("arguments", "changes", "sentence"),
    [
        ("pgx nobody", {}, "--peers must be some of pgx, openspiel, got 'nobody'"),
        ("pgx --known gone.yaml", {}, "--known must be a file of peers, got 'gone.yaml'"),
        ("pgx --python /nowhere/python", {}, "--python must be a Python, got '/nowhere/python'"),
        ("openspiel -- game=shogi", {}, "peer openspiel plays chess, connect_four, go, tic"),
        ("pgx", {"requires": ["numpy", "no-such-thing"]}, "needs no-such-thing"),
        ("pgx", {"requires": ["no-such-thing"]}, "pip install no-such-thing"),
        ("pgx", {"script": "gone.py"}, "pgx.script must be a file, got 'gone.py'"),
        ("pgx", {"games": {"tic_tac_toe": "{size}"}}, "braces, got '{size}'"),
    ],
)
def test_what_is_refused_before_anything_is_measured(
    compare: Run, tmp_path: Path, arguments: str, changes: dict[str, object], sentence: str
) -> None:
    known = yaml.safe_load(PEERS.read_text())
    known["pgx"] |= {"requires": ["numpy"], **changes}
    (tmp_path / "some.yaml").write_text(yaml.dump(known, sort_keys=False))
    given, _, words = arguments.partition(" -- ")
    chosen = ["--known", "some.yaml", "--peers", *given.split()]
    status, _, errors = compare(*chosen, "--", *BRIEF, *words.split())
    assert status == 2
    assert errors.startswith("azcore: ")
    assert sentence in errors
    assert errors.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["some.yaml"]


def test_settings_of_a_game_in_its_name() -> None:
    known = yaml.safe_load(PEERS.read_text())
    settings = {"board_size": 13, "komi": 7.5}
    assert known["pgx"]["games"]["go"].format(**settings) == "go_13x13"
    assert known["openspiel"]["games"]["go"].format(**settings) == "go(board_size=13,komi=7.5)"


def test_scripts_need_nothing_of_azcore() -> None:
    code = (
        "import sys; from peers.exchange import row, serve;"
        "serve({'rules': lambda work: row('azcore', 'azcore' in sys.modules, 'games')})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=SCRIPT.parent,
        input='{"rows": ["learner", "rules"]}',
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stdout.splitlines()  # of a row that it does not know it says nothing
    assert json.loads(line) == {"what": "azcore", "value": False, "unit": "games", "note": ""}


def _is_installed(*packages: str) -> bool:
    try:
        return all(version(package) for package in packages)
    except PackageNotFoundError:
        return False


@pytest.mark.parametrize("name", ["pgx", "openspiel"])
def test_the_peers_that_are_installed(compare: Run, tmp_path: Path, name: str) -> None:
    requires = yaml.safe_load(PEERS.read_text())[name]["requires"]
    if not _is_installed(*requires):
        pytest.skip(f"azcore[peers] is not installed: {' '.join(requires)}")
    small = ["bench.blocks=1", "bench.channels=8", "bench.num_games=4"]
    rows = "bench.rows=[rules,search,selfplay]"
    few = ["bench.num_simulations=8", "search.num_simulations=8", "bench.opening_plies=2"]
    status, _, _ = compare("--peers", name, "--batches", "4", "--", *BRIEF, *small, *few, rows)
    assert status == 0
    found = json.loads((tmp_path / "bench.json").read_text())["rows"]
    ours = {row["what"] for row in found if row["peer"] is None}
    theirs = {row["what"]: row["value"] for row in found if row["peer"] == name}
    assert ours <= set(theirs)
    assert all(value > 0 for value in theirs.values())
