"""`bench.rows=[plan]`: arithmetic by hand, a plan beside a run that was made, refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from azcore.assembly.parts import RunSettings, settings_from
from azcore.commands.bench.plan import Rates, planned
from conftest import TINY
from run_kit import train_once

RATES = Rates(
    evaluations_per_s=100.0,
    evaluations_per_position=8.0,
    positions_per_game=5.0,
    bytes_per_game=200.0,
    seconds_per_step=0.5,
)
CommandLine = Callable[..., tuple[int, str, str]]


def test_what_a_run_takes(tiny: Callable[..., dict[str, Any]]) -> None:
    settings = settings_from(tiny("replay.samples_per_position=4"), RunSettings)
    plan = planned(RATES, settings, steps=100, overlaps=False, speedup=2)
    assert plan.positions == 100 * 16 / 4
    assert plan.games == 400 / 5
    assert plan.evaluations == 400 * 8
    assert plan.selfplay_seconds == 3200 / 100 / 2
    assert plan.learner_seconds == 100 * 0.5 / 2
    assert plan.seconds == 16 + 25
    assert plan.disk_bytes == 80 * 200
    assert planned(RATES, settings, 100, overlaps=True, speedup=2).seconds == 25


def test_games_by_generation_and_a_limit_on_disk(tiny: Callable[..., dict[str, Any]]) -> None:
    config = tiny(
        "replay.samples_per_position=null",
        "replay.games_per_generation=30",
        "replay.games_on_disk=60",
    )
    plan = planned(
        RATES, settings_from(config, RunSettings), steps=10, overlaps=False
    )  # of 4 a generation: three begin
    assert (plan.games, plan.positions, plan.disk_bytes) == (90, 450, 60 * 200)


def test_a_plan_beside_a_run(
    azcore: CommandLine, tiny: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    train_once(tiny("run_dir=run"))
    short = ("plan.seconds=0.2", "plan.price=3", "plan.speedup=1e-6")  # so slow that time ends it
    limit = "trainer.max_time=00:00:00:01"
    status, told, _ = azcore(
        "command=bench", "bench.rows=[plan]", *TINY, "plan.run=run", limit, *short
    )
    assert status == 0
    rows = json.loads((tmp_path / "bench.json").read_text())["rows"]
    found = {row["what"]: row["value"] for row in rows}
    assert [name for name in found if not name.startswith("plan_ratio")] == [
        *("plan_games", "plan_positions", "plan_evaluations", "plan_selfplay_hours"),
        *("plan_learner_hours", "plan_hours", "plan_records_mb", "plan_cost"),
        "plan_steps_in_max_time",
    ]
    assert found["plan_steps_in_max_time"] == 0
    assert found["plan_cost"] == pytest.approx(3 * found["plan_hours"], rel=1e-3)
    assert {row["at"].get("steps", 16) for row in rows} == {16}
    assert 0.6 < found["plan_ratio_positions"] <= 1  # a run plays whole games, so a few more
    assert re.search(r"planned ÷ \d+ in run", told)


def test_a_plan_answers_in_its_time_though_no_game_has_ended(azcore: CommandLine) -> None:
    words = ("game=go", "scale=smoke", "plan.seconds=0.01")
    status, told, _ = azcore("bench", "bench.rows=[plan]", *words)
    assert status == 0
    assert "at most, without the learner: 0 of 4 games ended in 0.01 s" in told
    assert "128 games" not in told  # bench's own sizes, which a plan does not have


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan.speedup=0",), "plan.speedup must be above 0, got 0"),
        (("plan.seconds=0",), "plan.seconds must be above 0, got 0"),
        (("plan.run=nowhere",), "plan.run must be a run directory with a metrics.csv"),
        (("algorithm=supervised",), "algorithm must be one with self-play, got 'supervised'"),
    ],
)
def test_refuses(azcore: CommandLine, words: tuple[str, ...], said: str) -> None:
    status, _, error = azcore("command=bench", "bench.rows=[plan]", "game=tic_tac_toe", *words)
    assert status == 2
    assert said in error
    if "algorithm" not in words[0]:
        status, _, error = azcore("command=bench", "game=tic_tac_toe", *words)
        assert status == 2
        assert "has no effect without plan among bench.rows" in error
