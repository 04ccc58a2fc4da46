"""A healthy run hears nothing; each thing that goes wrong is said once, with what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from azcore.cli import roots
from azcore.report.doctor import HISTORY, SPAN, Row, RunDoctor, findings, numbers_of
from azcore.report.report import Report
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table

HEALTHY = {
    "step": 3000.0,
    "generation": 60.0,
    "games": 3000.0,
    "value_loss": 0.6,
    "value_target_variance": 0.99,
    "explained_variance": 0.4,
    "policy_entropy": 1.2,
    "target_entropy": 1.1,
    "duplicate_rate": 0.02,
    "seat0_win_rate": 0.6,
    "draw_rate": 0.05,
    "dead_channels": 0.05,
    "window_age": 500.0,
    "samples_per_position": 4.0,
    "gradient_norm": 1.0,
    "resign_false_positives": 0.03,
    "resign_measured": 100.0,
}
WRONG = {
    "value_head": ({"value_loss": 0.99}, "loss 0.99; constant prediction 0.99"),
    "memorised_outcomes": ({"explained_variance": -0.2}, "explains 39% of the outcomes that it tr"),
    "policy_entropy": ({"policy_entropy": 0.01, "target_entropy": 0.02}, "entropy 0.010"),
    "repeated_games": ({"duplicate_rate": 0.7}, "70% of the games repeat another"),
    "one_sided_results": ({"seat0_win_rate": 0.97, "draw_rate": 0.0}, "the first player wins 97%"),
    "dead_channels": ({"dead_channels": 0.6}, "60% of the network's channels"),
    "stale_window": ({"window_age": 1500.0}, "1,500 steps old on average, of a run of 3,000"),
    "starved_learner": ({"samples_per_position": 30.0}, "uses each position 30 times"),
    "resignation": (
        {"resign_false_positives": 0.3},
        "30% of the games that players would resign are not lost",
    ),
}


def rows(number: int, **values: float) -> list[Row]:
    return [HEALTHY | values] * number


def test_a_healthy_run_hears_nothing() -> None:
    assert not findings(rows(HISTORY))
    assert not findings([])
    assert not findings([{}] * HISTORY)


@pytest.mark.parametrize("name", WRONG)
def test_what_goes_wrong_is_said(name: str) -> None:
    values, words = WRONG[name]
    means = ("memorised_outcomes", "repeated_games", "stale_window", "resignation")
    if name not in means:  # by nature
        assert not findings(rows(HISTORY) + rows(SPAN - 1, **values))
    found = findings(rows(HISTORY) + rows(SPAN, **values))
    assert list(found) == [name]
    assert words in found[name]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"seat0_win_rate": 0.01, "draw_rate": 0.0}, "the second player wins 99%"),
        ({"seat0_win_rate": 0.0, "draw_rate": 0.98}, "no one wins 98%"),
    ],
)
def test_any_result_may_be_one_sided(values: dict[str, float], words: str) -> None:
    assert words in findings(rows(SPAN, **values))["one_sided_results"]
    assert not findings(rows(SPAN, **values, games=90.0))


def test_a_gradient_that_explodes() -> None:
    found = findings(rows(SPAN) + rows(1, gradient_norm=20.0))
    assert "rose from 1 to 20:" in found["gradients"]
    assert not findings(rows(2) + rows(1, gradient_norm=20.0))


def test_what_to_do_names_settings_that_there_are() -> None:
    for name, (values, _) in WRONG.items():
        keys = re.findall(r"\b([a-z]+)\.([a-z_]+)", findings(rows(SPAN, **values))[name])
        assert keys or name == "one_sided_results"
        for group, key in keys:
            assert roots.uses("train", f"{group}.{key}"), (group, key)


def test_what_is_not_learned_yet_is_not_known_by_heart() -> None:
    unknown = {"explained_variance": -0.2}
    assert not findings(rows(SPAN, **unknown, value_loss=0.9))
    mixed = rows(SPAN // 2, explained_variance=-0.2) + rows(SPAN // 2, explained_variance=0.3)
    assert not findings(mixed)


def test_a_finding_is_said_when_it_begins() -> None:
    doctor = RunDoctor(rows(SPAN))
    (bad,) = rows(1, dead_channels=0.9)
    said = [doctor.examine(bad) for _ in range(2 * SPAN)]
    assert [len(sentences) for sentences in said] == [0] * (SPAN - 1) + [1] + [0] * SPAN
    assert not RunDoctor([bad] * SPAN).examine(bad)  # a resumed run does not say it again
    assert not doctor.examine(HEALTHY)
    assert not doctor.examine(HEALTHY)
    assert sum(len(doctor.examine(bad)) for _ in range(SPAN)) == 1


def test_the_report_shows_it(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    table = Table(run.metrics, ["generation", *(key for key in HEALTHY if key != "generation")])
    for number in range(SPAN):
        table.append(HEALTHY | {"generation": number, "step": 8 * number})
    assert "Warnings" not in Report(run.path).render()
    for number in range(SPAN, 2 * SPAN):
        table.append(HEALTHY | {"generation": number, "step": 8 * number, "dead_channels": 0.5})
    assert numbers_of(table.rows()[-1])["dead_channels"] == 0.5
    page = Report(run.path).render()
    assert "<h2>Warnings</h2>" in page
    assert "<li>50% of the network&#x27;s channels get no gradient" in page
