"""AlphaGo Zero's loop: the best player makes the games, and only a better one takes its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from azcore.algorithms import alphagozero
from azcore.algorithms.alphagozero import GATES
from azcore.algorithms.ratings import ArenaRating
from azcore.arena.match import MatchGame, MatchResult
from azcore.arena.spread import SpreadMatch
from azcore.assembly.parts import RunSettings, settings_from
from azcore.commands.train import train
from azcore.networks import build_network
from azcore.networks.checkpoint import load_network
from azcore.networks.evaluator import NetworkEvaluator
from azcore.search.evaluators import CachedEvaluator, SymmetricEvaluator
from azcore.selfplay.resignation import is_played_out
from azcore.storage.checkpoint import read_checkpoint
from azcore.storage.game_file import GameFile
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table

Tiny = Callable[..., dict[str, Any]]
MODE = ["algorithm=alphagozero", "gate.games=2", "gate.num_simulations=4"]


def best_of(run: RunDirectory) -> dict[str, Any]:
    """What the last checkpoint says of the best player."""
    states = read_checkpoint(run.last_checkpoint)["callbacks"]
    return next(state for name, state in states.items() if name.startswith("AlphaGoZero"))


@pytest.fixture
def matches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """In place of played matches: the candidate loses, draws, loses, wins and draws.

    Returns:
        The names of candidate and best player of each match so far.
    """
    met: list[tuple[str, str]] = []
    points: Iterator[list[int]] = iter([[-1, 1], [0, 0], [-1, 1], [1, -1], [0, 0]])

    def play(_places: Any, _game: Any, first: Any, second: Any, **_: Any) -> SpreadMatch:
        met.append((first.name, second.name))
        games = [
            MatchGame(first_seat=seat, opening_plies=0, actions=[seat], outcome=outcome)
            for seat, outcome in enumerate(next(points))
        ]
        result = MatchResult(first=first.name, second=second.name, games=games)
        return SpreadMatch(result, evaluations=0, seconds=0.0)

    monkeypatch.setattr(alphagozero, "play_spread", play)
    return met


def test_best_player_plays_until_it_is_beaten(
    tiny: Tiny, tmp_path: Path, matches: list[tuple[str, str]]
) -> None:
    config = tiny(*MODE, "gate.every_generations=1", "run_dir=run", "trainer.max_steps=20")
    assert train(config) == 0
    assert matches == [
        ("step-4", "best-0"),
        ("step-8", "best-0"),
        ("step-12", "best-0"),
        ("step-16", "best-0"),
        ("step-20", "best-16"),
    ]
    run = RunDirectory(tmp_path / "run")
    rows = Table(run.gate, GATES).rows()
    assert [row["promoted"] for row in rows] == ["0", "0", "0", "1", "0"]
    assert [(row["wins"], row["draws"], row["losses"]) for row in rows] == [
        ("0", "0", "2"),
        ("0", "2", "0"),
        ("0", "0", "2"),
        ("2", "0", "0"),
        ("0", "2", "0"),
    ]
    metrics = Table(run.metrics, []).rows()
    assert [row["best_step"] for row in metrics] == ["0", "0", "0", "16", "16"]
    assert [row["gate_score"] for row in metrics] == ["0.0", "0.5", "0.0", "1.0", "0.5"]
    # Games are of the best player's weights: the first ones, then those of step 16.
    records = list(GameFile(run.records).read())
    versions = [record.weights_version for record in records]
    assert set(versions) == {0, 16}
    assert versions == sorted(versions)
    # The last checkpoint holds both: the network in training and the best player of step 16.
    checkpoint, best = read_checkpoint(run.last_checkpoint), best_of(run)
    assert (checkpoint["global_step"], best["best_step"]) == (20, 16)
    learned = checkpoint["state_dict"]
    assert any(not torch.equal(learned[f"network.{n}"], t) for n, t in best["best"].items())
    network, step = load_network(run.best_checkpoint, settings_from(config, RunSettings).game)
    assert step == 16
    assert all(torch.equal(t, best["best"][name]) for name, t in network.state_dict().items())


def test_first_weights_are_the_first_best_player(
    tiny: Tiny,
    tmp_path: Path,
    matches: list[tuple[str, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = tiny(*MODE, "gate.every_generations=1", "run_dir=run", "trainer.max_steps=4")
    assert train(config) == 0
    said = capsys.readouterr().out
    # 0.01 times the root of 16 / 2048, falling at 4/7 and 6/7 of 4 steps.
    assert (
        "\nlearning rate 0.000884 until step 2, 0.0000884 until 3, 0.00000884 to the end\n" in said
    )
    assert "resignation:" not in said  # nobody could resign yet
    run, settings = RunDirectory(tmp_path / "run"), settings_from(config, RunSettings)
    fresh = build_network(settings.game, settings.network, settings.seed).state_dict()
    best = best_of(run)
    assert best["best_step"] == 0
    assert all(torch.equal(best["best"][name], tensor) for name, tensor in fresh.items())
    learned = read_checkpoint(run.last_checkpoint)["state_dict"]
    assert any(not torch.equal(learned[f"network.{n}"], t) for n, t in fresh.items())
    assert not run.best_checkpoint.exists()


def test_draws_and_resignations_and_no_symmetries(
    tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A whole run with real matches, of a game with draws that declares no symmetry."""
    config = tiny(
        *MODE,
        "game=tic_tac_toe_plain",
        "run_dir=run",
        "gate.every_generations=2",
        "selfplay.resignation_false_positives=0.4",
        "trainer.max_steps=40",
    )
    assert train(config) == 0
    run = RunDirectory(tmp_path / "run")
    assert len(Table(run.gate, GATES).rows()) == 5
    records = list(GameFile(run.records).read())
    assert any(record.outcome == 0 for record in records)
    resigned = [record for record in records if record.resigned_by is not None]
    assert resigned
    assert not any(is_played_out(record.game_index, 0.1) for record in resigned)
    last = Table(run.metrics, []).rows()[-1]
    assert float(last["resign_threshold"]) <= 2 * 0.4 - 1 + 1e-6
    assert 0 < float(last["resigned_rate"]) < 1
    assert 0 <= float(last["resign_false_positives"]) <= 1
    assert int(last["resign_measured"]) > 0
    share, games = float(last["resign_false_positives"]), last["resign_measured"]
    line = f"\nresignation: {share:.1%} false positives of {games} games played out\n"
    assert line in capsys.readouterr().out


@pytest.mark.parametrize("rated", [False, True])
def test_evaluations_are_those_of_self_play_and_gate(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rated: bool
) -> None:
    """Every position that the network judged is in metrics.csv, but for those that only rate."""
    counts = {"all": 0, "gate": 0}
    evaluate, play = NetworkEvaluator.evaluate, alphagozero.play_spread

    def count(self: Any, observations: Any) -> Any:
        counts["all"] += len(observations)
        return evaluate(self, observations)

    def gate(*arguments: Any, **options: Any) -> Any:
        before = counts["all"]
        result = play(*arguments, **options)
        counts["gate"] += counts["all"] - before
        return result

    monkeypatch.setattr(NetworkEvaluator, "evaluate", count)
    monkeypatch.setattr(alphagozero, "play_spread", gate)
    if not rated:
        for moment in ("on_train_start", "rate"):
            monkeypatch.setattr(ArenaRating, moment, lambda *arguments: None)
    alone = "selfplay.workers=1"  # the counts above are for one thread
    assert train(tiny(*MODE, "gate.every_generations=2", alone, "run_dir=run")) == 0
    rows = Table(RunDirectory(tmp_path / "run").metrics, []).rows()
    evaluations = [int(row["evaluations"]) for row in rows]
    assert counts["gate"] > 0
    assert evaluations == sorted(set(evaluations))
    if rated:
        assert evaluations[-1] < counts["all"]
    else:
        assert evaluations[-1] == counts["all"]


def test_search_sees_random_symmetries_where_the_game_has_some(compose: Tiny) -> None:
    torch_alone = "evaluator.backend=torch"
    on = settings_from(
        compose("game=tic_tac_toe", "algorithm=alphagozero", torch_alone), RunSettings
    )
    network = build_network(on.game, on.network, 1)
    assert isinstance(on.search_evaluator(network, 0), SymmetricEvaluator)
    off = replace(on, evaluation=replace(on.evaluation, random_symmetry=False))
    assert isinstance(off.search_evaluator(network, 0), NetworkEvaluator)
    observations = np.zeros((3, *on.game.observation_shape), np.uint8)
    logits, values = on.search_evaluator(network, 0).evaluate(observations)
    assert logits.shape == (3, 9)
    plain = off.search_evaluator(network, 0)
    np.testing.assert_allclose(values, plain.evaluate(observations)[1])
    cached = replace(on, evaluation=replace(on.evaluation, cache=9))
    outermost = cached.search_evaluator(network, 0)
    assert isinstance(outermost, CachedEvaluator)
    np.testing.assert_allclose(outermost.evaluate(observations)[0], logits)


def test_symmetries_are_drawn_anew_for_each_seed_and_version(compose: Tiny) -> None:
    settings = settings_from(
        compose("game=tic_tac_toe", "algorithm=alphagozero", "evaluator.backend=torch", "seed=3"),
        RunSettings,
    )
    network = build_network(settings.game, settings.network, 1)
    shape = (64, *settings.game.observation_shape)
    observations = np.random.default_rng(1).integers(0, 2, shape, np.uint8)

    def drawn(seed: int, version: int) -> bytes:
        evaluator = replace(settings, seed=seed).search_evaluator(network, version)
        assert isinstance(evaluator, SymmetricEvaluator)
        return evaluator.choose(observations).tobytes()

    assert drawn(3, 4) == drawn(3, 4)
    assert len({drawn(3, 4), drawn(3, 8), drawn(5, 4)}) == 3


def test_alphazero_always_plays_the_latest_network(tiny: Tiny, tmp_path: Path) -> None:
    """The same run without a gate: the games of each generation are by the weights before it."""
    config = tiny("algorithm=alphazero", "run_dir=run", "trainer.max_steps=16")
    assert train(config) == 0
    run = RunDirectory(tmp_path / "run")
    versions = [record.weights_version for record in GameFile(run.records).read()]
    assert versions == sorted(versions)
    assert set(versions) == {0, 4, 8, 12}  # four steps a generation
    assert not run.gate.exists()
