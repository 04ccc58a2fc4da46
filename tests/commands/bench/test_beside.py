"""Other programs beside azcore: asked in JSON, and told of in one sentence when they fail."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from azcore.commands.bench import beside
from conftest import compose

Azcore = Callable[..., tuple[int, str, str]]

BRIEF = ["command=bench", "game=tic_tac_toe", "bench.seconds=0.05", "bench.rows=[rules]"]
ROW = '{"what": "rules_us_per_ply", "value": 2.5, "unit": "us"}'
ECHO = """
import json, sys
work = json.load(sys.stdin)
print(json.dumps({"doing": "thinking"}))
row = {"what": "rules_us_per_ply", "unit": "us", "note": json.dumps(work)}
print(json.dumps({**row, "value": work["num_simulations"]}))
"""


@pytest.fixture
def peer(tmp_path: Path) -> Callable[..., list[str]]:
    """The settings that make a peer of a script."""

    def settings(code: str, game: str = "noughts", requires: str = "numpy") -> list[str]:
        (tmp_path / "script.py").write_text(code)
        mine = "+bench.peers.mine"
        return [
            f"{mine}.script=script.py",
            f"{mine}.requires=[{requires}]",
            f"{mine}.games.tic_tac_toe='{game}'",
            "peers=[mine]",
        ]

    return settings


def test_a_peer_does_the_same_work(
    azcore: Azcore, peer: Callable[..., list[str]], tmp_path: Path
) -> None:
    status, output, errors = azcore(*BRIEF, *peer(ECHO), "bench.num_simulations=17")
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
        (f"print('{ROW}', flush=True); import time; time.sleep(60)", "bench.peer_minutes=0.02"),
    ],
    ids=["crash", "nonsense", "late"],
)
def test_a_peer_that_fails_stops_nothing_else(
    azcore: Azcore, peer: Callable[..., list[str]], tmp_path: Path, code: str, sentence: str
) -> None:
    status, _, errors = azcore(*BRIEF, *peer(code), "bench.peer_minutes=0.02")
    assert status == 1
    last = errors.splitlines()[-1]
    assert last.startswith("azcore: peer mine, rules: ")
    assert sentence in last
    found = json.loads((tmp_path / "bench.json").read_text())
    assert [f"azcore: {text}" for text in found["failed"]] == [last]
    assert [row["peer"] for row in found["rows"]] == [None, "mine"]  # what it had said counts


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["peers=[pgx,nobody]"], "peers must be some of pgx, openspiel, got 'nobody'"),
        (["peers=pgx"], "peers must be a list of pgx, openspiel, got 'pgx'"),
        (["peers=[[pgx]]"], "got ['pgx']"),
        (["command=check", "peers=[pgx]"], "bench.seconds is for command=bench, got bench.seconds"),
        (["bench.peers_python=/nowhere/python", "peers=[pgx]"], "got '/nowhere/python'"),
        (["game=shogi", "peers=[openspiel]"], "peer openspiel plays chess, connect_four, go, tic"),
        (["bench.peers.pgx.requires=[numpy,no-such-thing]", "peers=[pgx]"], "needs no-such-thing"),
        (["bench.peers.pgx.requires=[no-such-thing]", "peers=[pgx]"], "pip install no-such-thing"),
        (["bench.peers.pgx.script=gone.py", "peers=[pgx]"], "script must be a file, got 'gone.py'"),
        (["bench.peers.pgx.games.tic_tac_toe='{size}'", "peers=[pgx]"], "braces, got '{size}'"),
    ],
)
def test_what_is_refused_before_anything_is_measured(
    azcore: Azcore, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    installed = ["bench.peers.pgx.requires=[numpy]"]
    status, _, errors = azcore(*BRIEF, *installed, *arguments)
    assert status == 2
    assert errors.startswith("azcore: ")
    assert sentence in errors
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_settings_of_a_game_in_its_name() -> None:
    known = compose("command=bench", "game=go", "game.board_size=13")["bench"]["peers"]
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
        cwd=beside._SCRIPTS.parent,
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
def test_the_peers_that_are_installed(azcore: Azcore, tmp_path: Path, name: str) -> None:
    requires = compose("command=bench")["bench"]["peers"][name]["requires"]
    if not _is_installed(*requires):
        pytest.skip(f"azcore[peers] is not installed: {' '.join(requires)}")
    small = ["bench.blocks=1", "bench.channels=8", "bench.num_games=4", "bench.peer_batches=[4]"]
    rows = "bench.rows=[rules,search,selfplay]"
    few = ["bench.num_simulations=8", "search.num_simulations=8", "bench.opening_plies=2"]
    status, _, _ = azcore(*BRIEF, *small, *few, rows, f"peers=[{name}]")
    assert status == 0
    found = json.loads((tmp_path / "bench.json").read_text())["rows"]
    ours = {row["what"] for row in found if row["peer"] is None}
    theirs = {row["what"]: row["value"] for row in found if row["peer"] == name}
    assert ours <= set(theirs)
    assert all(value > 0 for value in theirs.values())
