"""What networks know without search: measured once, and only as far as a game can state it."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.commands.train import train
from azcore.errors import FaultyGameError, InvalidTextError, SettingError
from azcore.game import Game
from azcore.report import probes
from azcore.report.probes import Known, Probe, in_words, known_since, measured, questions_of
from azcore.report.report import Report
from azcore.report.side_by_side import render_side_by_side
from azcore.search.predictions import Prediction, Predictor
from azcore.storage.run_directory import RunDirectory
from conftest import TINY, compose


class Oracle(Predictor):
    """Answers each question as well as the rules can, or knows nothing at all."""

    predicts = frozenset({"policy", "value", "ownership"})

    def __init__(self, game: Game, *, knows: bool) -> None:
        self._asked, self._knows = questions_of(game), knows

    def predict(self, game: Game, states: Sequence[Any]) -> list[Prediction]:
        asked = self._asked
        if states is not asked.states:
            choices = next(
                some
                for some in asked.choices.values()
                if all(one.state is state for one, state in zip(some, states, strict=True))
            )
            return [
                Prediction(policy=self._policy(game, one.state, one.good), value=0.0)
                for one in choices
            ]
        truth = asked.numbers.get("score", np.zeros(len(states)))
        return [
            Prediction(
                policy=self._policy(game, state, ()),
                value=float(value) if self._knows else 0.0,
                ownership=None if owner is None else (owner if self._knows else -owner),
            )
            for state, value, owner in zip(states, truth, asked.owners, strict=True)
        ]

    def _policy(self, game: Game, state: Any, good: Sequence[int]) -> Any:
        policy = game.legal_action_mask(state).astype(np.float32)
        if self._knows and len(good):
            policy = np.isin(np.arange(game.num_actions), good).astype(np.float32)
        return policy / policy.sum()


class Counted(type(azcore.make("tic_tac_toe_plain"))):  # type: ignore[misc]
    """Tic-tac-toe that counts marks, so that it can state all that a game may."""

    def __init__(self) -> None:
        super().__init__()
        self.score_maximum = 9.0

    def ownership(self, state: Any) -> Any:
        marks = self.observation(state)[:2].astype(np.int8)
        return (marks[0] - marks[1]) * (1 - 2 * self.current_player(state))

    def score(self, state: Any) -> float:
        return float(self.ownership(state).sum())

    def material(self, state: Any) -> float:
        return self.score(state) / 9


@pytest.fixture(name="counted")
def counted_fixture(monkeypatch: pytest.MonkeyPatch) -> Iterator[Game]:
    monkeypatch.setattr(probes, "received", lambda name, settings: Counted())
    probes._questions.cache_clear()
    yield Counted()
    probes._questions.cache_clear()


def test_who_knows_everything_and_who_knows_nothing(counted: Game) -> None:
    game = counted
    knows, ignorant = (measured(Oracle(game, knows=knows), game) for knows in (True, False))
    assert list(knows) == list(probes.MEASURES)
    assert knows.pop("material").value < 1  # another question than the score
    assert all(probe.value == pytest.approx(1, abs=1e-6) for probe in knows.values())
    assert ignorant["wins"].value == pytest.approx(ignorant["wins"].chance, abs=1e-6)
    assert 0 < ignorant["wins"].chance < 0.6
    assert ignorant["score"].value == 0
    assert ignorant["ownership"].value == 0


def test_questions_are_the_same_each_time_and_true() -> None:
    game = azcore.make("tic_tac_toe_plain")
    asked = questions_of(game)
    assert asked.choices.keys() == {"wins"}
    assert len(asked.states) == probes.POSITIONS
    for state, good, chance in asked.choices["wins"]:
        sign = 1 - 2 * game.current_player(state)
        legal = np.flatnonzero(game.legal_action_mask(state)).tolist()
        ends = {action: game.step(state, action) for action in legal}
        won = [a for a, end in ends.items() if game.is_terminal(end) and game.outcome(end) == sign]
        assert good.tolist() == won
        assert chance == pytest.approx(len(won) / len(legal))
    probes._questions.cache_clear()
    again = questions_of(game)
    texts = [[game.state_to_text(state) for state in one.states] for one in (asked, again)]
    assert texts[0] == texts[1]


def test_a_gain_is_a_capture_or_a_promotion() -> None:
    game = azcore.make("chess_plain")
    state = game.state_from_text("7k/P7/8/3p4/4P3/8/8/K7 w - - 0 1")
    found = probes._gaining(game, state)
    assert found is not None
    texts = {game.action_to_text(state, action) for action in found.good}
    assert texts == {"e4d5", "a7a8q", "a7a8r", "a7a8b", "a7a8n"}
    assert probes._gaining(game, game.initial_state()) is None


def course(*values: float) -> list[Known]:
    return [
        Known(100 * i, {"wins": Probe(value, 0.1, 0.1)} if value >= 0 else {})
        for i, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "since"),
    [
        ((0.1, 0.4, 0.3, 0.6, 0.9, 0.8), 300),
        ((0.1, 0.6, 0.3, 0.9), 300),  # not before it stays there
        ((0.8, 0.9), 0),
        ((0.1, 0.15, 0.19), None),  # chance
        ((0.1, 0.9, 0.2), None),  # lost again
        ((-1, 0.9, -1), 100),  # unknown
        ((), None),
    ],
)
def test_known_since(values: tuple[float, ...], since: int | None) -> None:
    assert known_since(course(*values), "wins") == since


def test_results_in_words() -> None:
    assert in_words("wins", Probe(0.7, 0.034, 0.04)) == "7 of 10,\nby chance 3 of 100"
    words = [in_words("score", Probe(value, 0, 0.25)) for value in (0.1, 0.3, 0.62, -0.9)]
    assert words == ["none, 0.10", "weak, 0.30", "clear, 0.62", "reversed, −0.90"]


@pytest.fixture(name="run", scope="module")
def run_fixture(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    folder = tmp_path_factory.mktemp("runs") / "mine"
    rated = ("arena.every_generations=1", "arena.games=2", "arena.num_simulations=2")
    train(compose(*TINY, *rated, f"run_dir={folder}", "trainer.max_steps=8", "seed=5"))
    return RunDirectory(folder)


def test_a_checkpoint_is_measured_once(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = probes.measured
    monkeypatch.setattr(probes, "measured", lambda *given: asked.append(given) or real(*given))
    steps = sorted({0, *run.step_checkpoints(), 8})
    run.probes.unlink(missing_ok=True)
    times = iter([0.0, 6.0])
    with monkeypatch.context() as now:
        now.setattr(probes, "time", SimpleNamespace(monotonic=lambda: next(times)))
        probes.update(run, seconds=5)
    assert [known.step for known in probes.probes_of(run)] == steps[-1:]
    probes.update(run)
    assert [known.step for known in probes.probes_of(run)] == steps
    assert len(asked) == len(steps)
    table = run.probes.read_bytes()
    probes.update(run)
    assert len(asked) == len(steps)
    assert run.probes.read_bytes() == table

    # After a return to an earlier checkpoint, a step may have other weights.
    first, second = (run.step_checkpoint(step) for step in steps[:2])
    weights = first.read_bytes(), second.read_bytes()
    known = probes.probes_of(run)
    first.write_bytes(weights[1])
    second.write_bytes(weights[0])
    swapped = probes.probes_of(run)
    first.write_bytes(weights[0])
    second.write_bytes(weights[1])
    assert [each.probes for each in swapped[:2]] == [known[1].probes, known[0].probes]
    second.write_bytes(weights[1][:-1] + b"x")
    assert [each.step for each in probes.probes_of(run)] == [steps[0], *steps[2:]]
    second.write_bytes(weights[1])


def test_what_gives_no_result_is_measured_once(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fails(network: object, game: Game) -> dict[str, Probe]:
        asked.append(network)
        if len(asked) == 1:
            return {}
        raise InvalidTextError("cannot be measured")

    monkeypatch.setattr(probes, "measured", fails)
    run.probes.unlink(missing_ok=True)
    probes.update(run)
    wanted = len({*run.step_checkpoints(), 8})
    assert len(asked) == wanted
    table = run.probes.read_bytes()
    probes.update(run)
    assert len(asked) == wanted
    assert run.probes.read_bytes() == table
    assert probes.probes_of(run) == []
    run.probes.unlink()


def test_a_game_at_fault_is_asked_once_and_breaks_no_page(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def raises(*given: object) -> None:
        asked.append(given)
        raise FaultyGameError("tic_tac_toe", "raises")

    monkeypatch.setattr(probes, "questions_of", raises)
    run.probes.unlink(missing_ok=True)
    probes.update(run)
    assert len(asked) == 1
    assert probes.probes_of(run) == []


def test_results_of_all_checkpoints_stay(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a run grows, others are measured."""
    run.probes.unlink(missing_ok=True)
    probes.update(run)
    steps = [known.step for known in probes.probes_of(run)]
    monkeypatch.setattr(probes, "CHECKPOINTS", 2)
    assert [known.step for known in probes.probes_of(run)] == steps
    lines = run.probes.read_text().splitlines(keepends=True)
    last = lines[1].split(",")[1]  # it is measured first
    run.probes.write_text("".join(line for line in lines if last not in line))
    probes.update(run)
    assert [known.step for known in probes.probes_of(run)] == steps


def test_pages_say_what_is_known_and_since_when(run: RunDirectory, tmp_path: Path) -> None:
    probes.update(run)
    page = Report(run.path).render()
    assert "What does it know without search?" in page
    assert "Wins in one move</abbr>" in page
    assert "<strong>not yet</strong>" in page
    both = render_side_by_side([("one", run), ("two", run)])
    assert 'data-known="wins"' in both
    assert "<small>not yet</small>" in both
    assert "Gains of material" not in both
    empty = RunDirectory(tmp_path / "empty")
    empty.path.mkdir()
    assert "without search?" not in Report(empty.path).render()


def test_a_strangers_table_is_data(run: RunDirectory, tmp_path: Path) -> None:
    probes.update(run)
    kept = run.probes.read_bytes()
    good = list(csv.reader(kept.decode().splitlines()))
    place = {name: i for i, name in enumerate(good[0])}
    bad = {
        "version": "2",
        "weights": "f" * 64,
        "measure": "<script>",
        "value": "nan",
        "chance": "1e9",
        "margin": "",
    }
    try:
        for column, value in bad.items():
            row = [*good[1]]
            row[place[column]] = value
            run.probes.write_text("\n".join(map(",".join, [good[0], row, ""])))
            assert probes.probes_of(run) == []
        run.probes.write_text("value\n1\n")
        assert probes.probes_of(run) == []
        target = tmp_path / "target"
        run.probes.unlink()
        run.probes.symlink_to(target)
        with pytest.raises(SettingError, match="link"):
            probes.update(run)
        assert not target.exists()
        assert "</html>" in render_side_by_side([("one", run), ("two", run)])
    finally:
        run.probes.unlink()
        run.probes.write_bytes(kept)


def test_a_folder_that_cannot_be_written_to_is_left_alone(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.probes.unlink(missing_ok=True)
    monkeypatch.setattr(probes.os, "access", lambda path, mode: False)
    probes.update(run)
    assert not run.probes.exists()
