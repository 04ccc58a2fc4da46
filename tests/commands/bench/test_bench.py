"""The rows of azcore itself: which there are, and those that can be known by hand."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from azcore.assembly.parts import RunSettings, settings_from
from azcore.commands.bench import bench, children, memory, selfplay
from azcore.commands.bench.results import Row, machine, write_results
from azcore.commands.bench.search import MiddleGames
from azcore.commands.bench.settings import ROWS, BenchSettings
from azcore.errors import SettingError
from azcore.selfplay.sizes import available_cores
from azcore.settings import build

Azcore = Callable[..., tuple[int, str, str]]
Tiny = Callable[..., dict[str, Any]]

BRIEF = [
    "game=tic_tac_toe",
    "bench.seconds=0.05",
    "bench.num_simulations=4",
    "bench.opening_plies=2",
    "bench.blocks=1",
    "bench.channels=4",
    "bench.num_games=4",
    "bench.growth_simulations=[4,8]",
    "bench.growth_trees=[1,4]",
    "learner.batch_size=16",
]


def test_every_row_that_can_be_chosen_is_measured() -> None:
    assert tuple(bench.MEASURES) == ROWS


def test_rows_and_file(azcore: Azcore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "selfplay_by_cores", lambda *_: ([1, 2], [100.0, 150.0]))
    chosen = "bench.rows=[rules,search,selfplay,learner,growth]"
    status, output, errors = azcore("command=bench", *BRIEF, chosen, "bench.path=figures.json")
    assert status == 0
    assert errors.startswith("measuring: rules\nmeasuring: search\n")
    found = json.loads((tmp_path / "figures.json").read_text())
    assert list(tmp_path.iterdir()) == [tmp_path / "figures.json"]  # no trace without a GPU
    assert set(found) == {"format", "machine", "peers", "failed", "rows"}
    keys = {"game", "settings", "what", "at", "value", "unit", "peer", "note"}
    assert all(set(row) == keys for row in found["rows"])
    assert {row["game"] for row in found["rows"]} == {"tic_tac_toe"}
    values = {(row["what"], *row["at"].items()): row["value"] for row in found["rows"]}
    assert all(value > 0 for value in values.values())
    assert list(values) == [
        ("rules_us_per_ply",),
        ("search_us_per_simulation",),
        ("selfplay_evals_per_s",),
        ("network_evals_per_s",),
        ("efficiency",),
        ("learner_ratio",),
        ("search_us_per_simulation", ("simulations", 4)),
        ("search_growth", ("simulations", 4)),
        ("search_us_per_simulation", ("simulations", 8)),
        ("search_growth", ("simulations", 8)),
        ("search_us_per_simulation", ("trees", 1)),
        ("search_us_per_simulation", ("trees", 4)),
        ("selfplay_evals_per_s_per_core", ("cores", 1)),
        ("selfplay_evals_per_s_per_core", ("cores", 2)),
    ]
    assert values["search_growth", ("simulations", 4)] == 1
    assert values["selfplay_evals_per_s_per_core", ("cores", 2)] == 75
    us = [values["search_us_per_simulation", ("simulations", n)] for n in (4, 8)]
    assert values["search_growth", ("simulations", 8)] == pytest.approx(us[1] / us[0], rel=0.002)
    for what, *_ in values:
        assert what in output


def test_the_machine(tiny: Tiny) -> None:
    facts = machine(settings_from(tiny("device=cpu"), RunSettings))
    assert facts["precision"] == "float32"
    assert facts["device"] == "cpu"
    assert facts["cores"] == available_cores()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", facts["date"])
    assert facts["commit"] is None or re.fullmatch(r"[0-9a-f]{40}(-dirty)?", facts["commit"])
    assert {"cpu", "python", "torch", "numba", "numpy", "azcore"} <= set(facts)


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    row = Row(game="g", settings={}, what="w", value=1.0, unit="s")
    (tmp_path / "taken").mkdir()
    with pytest.raises(SettingError, match="taken cannot be written"):
        write_results(tmp_path / "taken", machine={}, peers={}, failed=[], rows=[row])
    assert list(tmp_path.iterdir()) == [tmp_path / "taken"]


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("bench.rows=[rules,speed]", "bench.rows must be some of rules, search, selfplay"),
        ("bench.rows=[rules,speed]", "got 'speed'"),
        ("bench.rows=[]", "bench.rows must be some of"),
        ("bench.seconds=0", "bench.seconds must be above 0, got 0"),
        ("bench.growth_trees=[0]", "bench.growth_trees must be numbers of 1 or more, got [0]"),
        ("bench.path=/nowhere/bench.json", "/nowhere/bench.json cannot be written"),
    ],
)
def test_what_cannot_be_measured(
    azcore: Azcore, tmp_path: Path, argument: str, sentence: str
) -> None:
    status, _, errors = azcore("command=bench", *BRIEF, argument)
    assert status == 2
    assert errors.startswith("azcore: ")
    assert sentence in errors
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_positions_are_of_the_middle_game(tiny: Tiny) -> None:
    settings = settings_from(tiny(), RunSettings)
    games = MiddleGames(game=settings.game, search=settings.search, num_trees=8, opening_plies=3)
    assert games.legal_actions() == 6  # nine cells, three of them taken
    assert games.us_per_simulation() > 0
    assert games.legal_actions() == 5


def test_full_trees_by_hand(tiny: Tiny) -> None:
    config = tiny("command=bench")  # 4 games, 8 simulations
    options = build(BenchSettings, {**config["bench"], "opening_plies": 2}, "bench")
    megabytes, legal = memory.full_trees_mb(config, options, 4)
    assert legal == 7
    nodes = 1 + 8 + 16 + 1  # root, simulations, twice as many kept, one leaf in flight
    assert megabytes * 2**20 == 4 * nodes * (28 + 4 * 32 + 6 * 7)  # bytes as in tree.py


def test_bytes_of_a_position(tiny: Tiny) -> None:
    config = tiny("command=bench")
    ply = 2 + 4 + 4 + 4 + 1  # action, offset, two values, seat; and 4 of each named one
    header = 300 / 5  # of a game, over the plies of the shortest one
    assert ply + 4 < memory.replay_bytes_per_position(config) < ply + 4 * 9 + header


def test_self_play_by_cores(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny("command=bench")
    options = build(BenchSettings, config["bench"], "bench")
    asked: list[int] = []

    def answer(function: str, _: Any, seconds: float, *, cores: Sequence[int]) -> float:
        assert function == "azcore.commands.bench.selfplay:rate_here"
        assert seconds == options.seconds / 2
        asked.append(len(cores))
        # The middle one of each three is the median.
        return 100.0 * len(cores) * (1, 5, 2)[asked.count(len(cores)) - 1]

    monkeypatch.setattr(selfplay, "in_new_process", answer)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)))
    assert selfplay.selfplay_by_cores(config, options) == ([1, 2, 4, 6], [200, 400, 800, 1200])
    assert asked == [1, 2, 4, 6] * 3  # in turn


def test_processes_of_their_own(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny("command=bench")
    options = build(BenchSettings, {**config["bench"], "seconds": 0.05}, "bench")
    assert 100 < memory.resident_mb(config, options) < 4000  # torch alone takes more than that
    starts: list[dict[str, str]] = []

    def start(function: str, _: Any, environment: dict[str, str]) -> None:
        assert function == "azcore.commands.bench.children:first_move"
        starts.append(environment)

    monkeypatch.setattr(children, "in_new_process", start)
    children.ready_seconds(config)
    children.ready_cold_seconds(config)
    assert starts[:-1] == [{}] * children.STARTS
    assert not Path(starts[-1]["NUMBA_CACHE_DIR"]).exists()  # a new folder, and it is gone
    children.first_move(config)
