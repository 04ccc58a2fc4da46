"""Learning from given games: predicts those held out, which it never learns from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.algorithms.supervised import Supervised
from azcore.assembly.parts import RunSettings, settings_from
from azcore.commands.predict import predict_games
from azcore.commands.train import train
from azcore.errors import AzcoreError, SettingError
from azcore.game import ByteArray, FloatArray
from azcore.learner.imported_games import is_held_out, predict, read_games, with_targets
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.search.settings import search_settings
from azcore.selfplay.actor import Actor
from azcore.storage.checkpoint import read_checkpoint
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord
from azcore.storage.replay import ReplayBuffer
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table
from run_kit import fingerprint, train_until
from selfplay_kit import TIC_TAC_TOE, selfplay_settings

Tiny = Callable[..., dict[str, Any]]
MODE = [
    "algorithm=supervised",
    "supervised.held_out=0.2",
    "supervised.games=[teacher.azg]",
    "replay.window_games=200",
]


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """150 games, from up to three random plies on, by search that sees to the end of the game."""
    from conftest import compose

    words = ("game=tic_tac_toe", "search.num_simulations=100", "search.proof_plies=0")
    search = search_settings(compose(*words))
    actor = Actor(
        game=TIC_TAC_TOE,
        search=search,
        settings=selfplay_settings(
            num_games=50, opening_plies=3, temperature_plies=0, resignation=False
        ),
        seed=1,
        evaluator=UniformEvaluator(TIC_TAC_TOE),
    )
    records: list[GameRecord] = []
    while len(records) < 150:
        records += actor.play(100)
    path = tmp_path_factory.mktemp("games") / "teacher.azg"
    GameFile(path).append(records[:150])
    return path


@pytest.fixture
def expert(tiny: Tiny, taught: Path, tmp_path: Path) -> Tiny:
    """Composes a tiny supervised run in the current directory, where the games are."""
    (tmp_path / "teacher.azg").write_bytes(taught.read_bytes())
    return lambda *overrides: tiny(*MODE, *overrides)


def record_of(actions: list[int], outcome: int, **changed: Any) -> GameRecord:
    """A game as a transcript of another program gives it: moves and a result."""
    size = len(actions)
    values: dict[str, Any] = {
        "game": TIC_TAC_TOE.identity,
        "actions": np.array(actions, np.uint16),
        "visit_offsets": np.zeros(size + 1, np.uint32),
        "visit_actions": np.zeros(0, np.uint16),
        "visit_counts": np.zeros(0, np.uint32),
        "root_values": np.zeros(size, np.float32),
        "best_child_values": np.zeros(size, np.float32),
        "players": np.arange(size, dtype=np.uint8) % 2,
        "outcome": outcome,
        "resigned_by": None,
        "resign_threshold": None,
        "played_out": True,
        "opening_plies": 0,
        "seed": 0,
        "game_index": 0,
        "weights_version": 0,
        "counts": "visits",
    }
    return GameRecord(**{**values, **changed})


class Constant(Evaluator):
    """The same logits and value for every position."""

    def __init__(self, policy_logits: list[float], value: float) -> None:
        self._logits, self._value = np.array(policy_logits, np.float32), np.float32(value)

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        size = len(observations)
        return np.tile(self._logits, (size, 1)), np.full(size, self._value)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("replay.root_value_share=0.3", r"replay\.root_value_share must be 0 for these games"),
        (
            "network.auxiliary.later_values=true",
            r"later_values must be false .* method=without_later",
        ),
    ],
)
def test_values_of_a_search_that_nobody_made_are_no_targets(
    expert: Tiny, tmp_path: Path, word: str, sentence: str
) -> None:
    words = ["network=pooled_res", "supervised.held_out=0.001", "run_dir=run"]
    config = expert(*words, "network.auxiliary.later_values=false", word)
    Supervised(around(config))  # games of self-play have them
    (tmp_path / "teacher.azg").unlink()
    GameFile(tmp_path / "teacher.azg").append([record_of([0, 3, 1, 4, 2], 1)])
    with pytest.raises(SettingError, match=sentence):
        Supervised(around(config))


def test_surprises_that_nobody_recorded_are_no_shares(expert: Tiny, tmp_path: Path) -> None:
    config = expert("supervised.held_out=0.001", "replay.surprise_share=0.5", "run_dir=run")
    with pytest.raises(SettingError, match=r"surprise_share must be 0 for these games"):
        Supervised(around(config))
    surprised = record_of([0, 3, 1, 4, 2], 1, surprises=np.ones(5, np.float32))
    GameFile(tmp_path / "teacher.azg").append([surprised])
    Supervised(around(config))


def around(config: dict[str, Any]) -> Any:
    return SimpleNamespace(settings=settings_from(config, RunSettings))


def test_predictions_by_hand() -> None:
    # The first player takes the upper row: 0 3 1 4 2. Weights 4, 3 and 2 for cells 0 to 2, 1 for
    # each other one: those of the free cells add up to 15, 11, 10, 7 and 6. The likeliest cell is
    # what the first player takes each time, never what the second does.
    logits = [math.log(4), math.log(3), math.log(2), 0, 0, 0, 0, 0, 0]
    record = with_targets(record_of([0, 3, 1, 4, 2], 1), "played")
    found = predict(Constant(logits, 0.5), TIC_TAC_TOE, [record], 100)
    likelihoods = [4 / 15, 1 / 11, 3 / 10, 1 / 7, 2 / 6]
    assert found.positions == 5
    assert found.accuracy == pytest.approx(3 / 5)
    assert found.policy_loss == pytest.approx(-sum(map(math.log, likelihoods)) / 5)
    assert found.value_loss == pytest.approx((3 * 0.5**2 + 2 * 1.5**2) / 5)  # z - v by mover
    # No more than asked for, spread over all: of five positions the first and the third.
    few = predict(Constant(logits, 0.5), TIC_TAC_TOE, [record], 2)
    assert (few.positions, few.accuracy) == (2, 1.0)


def test_policy_targets() -> None:
    visits = {
        "visit_offsets": np.array([0, 0, 2, 3, 3, 3], np.uint32),  # second and third ply alone
        "visit_actions": np.array([5, 8, 7], np.uint16),
        "visit_counts": np.array([3, 1, 9], np.uint32),
    }
    record = record_of([0, 3, 1, 4, 2], 1, **visits)
    played = with_targets(record, "played")
    assert [played.policy_target(ply, 9).argmax() for ply in range(5)] == [0, 3, 1, 4, 2]
    assert all(played.policy_target(ply, 9).max() == 1 for ply in range(5))
    searched = with_targets(record, "visits")
    assert searched.policy_target(1, 9).tolist() == [0, 0, 0, 0, 0, 0.75, 0, 0, 0.25]
    assert [searched.policy_target(ply, 9).argmax() for ply in range(5)] == [0, 5, 7, 4, 2]


def test_held_out_by_moves_alone() -> None:
    rng = np.random.default_rng(1)
    records = [record_of(rng.permutation(9).tolist(), 0) for _ in range(2000)]
    held_out = [is_held_out(record, 0.3) for record in records]
    assert np.mean(held_out) == pytest.approx(0.3, abs=0.04)  # four standard deviations
    # Told by its moves, whoever played and whichever file it is in; a smaller share is within it.
    again = [replace(record, seed=7, game_index=3, outcome=1) for record in records]
    assert [is_held_out(record, 0.3) for record in again] == held_out
    assert all(is_held_out(r, 0.3) for r in records if is_held_out(r, 0.1))


def test_foretells_games_it_has_not_seen(expert: Tiny, tmp_path: Path) -> None:
    config = expert(
        "run_dir=run",
        "network.channels=16",
        "learner.batch_size=64",
        "learner.steps_per_generation=50",
        "learner.learning_rates=[0.1,0.05]",
        "learner.milestones=[0.5]",
        "trainer.max_steps=250",
        "arena.every_generations=5",
    )
    assert train(config) == 0
    run, settings = RunDirectory(tmp_path / "run"), settings_from(config, RunSettings)
    rows = Table(run.metrics, []).rows()
    division = read_games(settings.supervised, settings.game)
    blind = predict(UniformEvaluator(settings.game), settings.game, division.held_out, 10000)
    first, last = rows[0], rows[-1]
    assert float(last["held_out_accuracy"]) > 0.65
    assert blind.accuracy < 0.45  # the first free cell, which in this game is often good
    assert float(last["held_out_policy_loss"]) < 0.7 * blind.policy_loss
    assert float(first["held_out_accuracy"]) < float(last["held_out_accuracy"])
    # Games are given once, all of them, and the arena rates what came of them.
    assert {row["games"] for row in rows} == {str(len(division.learned))}
    assert len(list(GameFile(run.records).read())) == len(division.learned)
    assert (run.checkpoints / "step-250.ckpt").exists()


def test_processes_of_self_play_are_not_needed(expert: Tiny) -> None:
    """`scale=workstation` has them; a cluster would have been meant for something."""
    assert train(expert("run_dir=run", "backend=process", "trainer.max_steps=2")) == 0
    with pytest.raises(SettingError, match="backend must be inline without self-play, got 'ray'"):
        train(expert("run_dir=other", "backend=ray"))


def test_held_out_games_are_never_learned_from(
    expert: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: set[bytes] = set()
    extend = ReplayBuffer.extend

    def watch(self: ReplayBuffer, records: Any) -> None:
        records = list(records)
        if self.augment:  # the window, not the buffer by which predictions are measured
            learned.update(record.actions.tobytes() for record in records)
        extend(self, records)

    monkeypatch.setattr(ReplayBuffer, "extend", watch)
    assert train(expert("run_dir=run")) == 0
    given = list(GameFile(tmp_path / "teacher.azg").read())
    held_out = {r.actions.tobytes() for r in given if is_held_out(r, 0.2)}
    assert len(held_out) > 10
    assert learned == {r.actions.tobytes() for r in given} - held_out
    kept = {r.actions.tobytes() for r in GameFile(tmp_path / "run/games/records.azg").read()}
    assert kept == learned


@pytest.mark.parametrize("stop", [2, 4, 10])  # in the first generation, at its end, later
def test_stopped_and_resumed_equals_never_stopped(expert: Tiny, tmp_path: Path, stop: int) -> None:
    assert train(expert("run_dir=whole")) == 0
    halves = expert("run_dir=halves")
    train_until(halves, stop)
    assert read_checkpoint(tmp_path / "halves/checkpoints/last.ckpt")["global_step"] == stop
    assert train({**halves, "resume": "halves"}) == 0
    assert fingerprint(tmp_path / "halves") == fingerprint(tmp_path / "whole")
    measured = [
        [
            (row["generation"], row["held_out_accuracy"], row["held_out_value_loss"])
            for row in Table(RunDirectory(tmp_path / name).metrics, []).rows()
        ]
        for name in ("whole", "halves")
    ]
    assert measured[0] == measured[1]
    assert len(measured[0]) == 4


def test_other_games_are_refused_on_resume(expert: Tiny, tmp_path: Path) -> None:
    config = expert("run_dir=run")
    train_until(config, 4)
    games = GameFile(tmp_path / "teacher.azg")
    games.append([record for record in games.read() if not is_held_out(record, 0.2)][:1])
    with pytest.raises(AzcoreError, match="must contain the same games as at the start of the run"):
        train({**config, "resume": "run"})


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _of_another_game(path: Path) -> None:
    other = azcore.make("tic_tac_toe_plain")
    path.write_bytes(record_of([0, 3, 1, 4, 2], 1, game=other.identity).to_bytes())


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("spoil", "change", "sentence"),
    [
        (
            _empty,
            "seed=1",
            "supervised.games must contain games to learn from, got none in teacher",
        ),
        (
            _of_another_game,
            "seed=1",
            r"teacher.azg, byte 0: records must be of .*tic_tac_toe'.*got .*plain",
        ),
        (_cut, "seed=1", "the record is truncated"),
        (Path.unlink, "seed=1", "supervised.games must be files of game records .*'teacher.azg'"),
        (Path.touch, "supervised.games=[]", "supervised.games must be a list of .azg files"),
        (Path.touch, "supervised.held_out=0", "supervised.held_out must be between 0 and 1"),
        (Path.touch, "supervised.targets=best", "supervised.targets must be one of played, visits"),
        (Path.touch, "replay.window_games=3", "replay.window_games must be 1.. or more, .*got 3"),
    ],
)
def test_games_that_cannot_be_used(
    expert: Tiny, tmp_path: Path, spoil: Callable[[Path], None], change: str, sentence: str
) -> None:
    config = expert(change, "run_dir=run")
    spoil(tmp_path / "teacher.azg")
    with pytest.raises(AzcoreError, match=sentence):
        train(config)
    assert not (tmp_path / "run").exists()


def test_command_predict(
    expert: Tiny, tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table agrees with what the run measured of the same weights on the same games."""
    from conftest import own

    assert train(expert("run_dir=run")) == 0
    config = tiny("command=predict", *own(MODE, "predict"), "checkpoint=run/checkpoints/last.ckpt")
    capsys.readouterr()
    assert predict_games(config) == 0
    told = capsys.readouterr().out
    last = Table(RunDirectory(tmp_path / "run").metrics, []).rows()[-1]
    line = next(line for line in told.splitlines() if "held out" in line)
    assert f"{float(last['held_out_accuracy']):.1%}" in line
    assert f"{float(last['held_out_policy_loss']):.3f}" in line
    assert f"{float(last['held_out_value_loss']):.3f}" in line
    assert "the others" in told
    with pytest.raises(AzcoreError, match="needs checkpoint=PATH"):
        predict_games({**config, "checkpoint": None})
