"""From settings to what a run really does: each test fails when the wire between them is cut."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from azcore.algorithms import alphagozero, ratings
from azcore.algorithms.clock import RunClock
from azcore.algorithms.objects import Objects
from azcore.arena import spread
from azcore.arena.match import MatchResult
from azcore.arena.players import SearchPlayer
from azcore.arena.spread import SpreadMatch
from azcore.assembly.parts import RunSettings, search_player, settings_from
from azcore.assembly.selfplay import NetworkWeights, RecipeOfRun, make_actor
from azcore.commands.train import train, train_run
from azcore.learner.module import LearnerModule
from azcore.networks import build_network
from azcore.search.evaluators import Evaluator
from azcore.selfplay.actor import Actor
from azcore.storage.checkpoint import read_checkpoint
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord
from azcore.storage.replay import ReplayBuffer
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table
from conftest import TINY, compose
from reference_mcts import HashEvaluator, ReferenceSearch
from run_kit import train_until

Tiny = Callable[..., dict[str, Any]]


def column(run: str, name: str) -> list[float]:
    table = Table(RunDirectory(Path(run)).metrics, ["generation", name])
    return [table.number(row, name) for row in table.rows()]


RATES = ("learner.learning_rates=[0.1,0.02,0.003]", "learner.milestones=[0.25,0.75]")


def test_the_learning_rate_falls_by_the_clock_where_time_is_limited(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step 4, 8, 12 and 16 of 1,000 when 10 %, 30 %, 70 % and 80 % of the time have passed."""
    shares = {0: 0.1, 4: 0.3, 8: 0.7, 12: 0.8}  # after so many steps
    config = tiny(
        "run_dir=timed",
        "trainer.max_steps=1000",
        "trainer.max_time=00:01:00:00",
        "learner.learning_rate_batch=16",
        *RATES,
    )
    steps: list[Any] = []
    monkeypatch.setattr(
        RunClock, "on_train_start", lambda self, trainer, module: steps.append(trainer)
    )

    def elapsed(self: RunClock) -> float:
        done = steps[-1].global_step if steps else 0
        return 3600 * next(share for step, share in reversed(shares.items()) if done >= step)

    monkeypatch.setattr(RunClock, "elapsed", elapsed)
    train_until(config, 8)
    assert column("timed", "learning_rate") == [0.02, 0.02]  # as set for the step that follows
    seen: list[tuple[int, float]] = []
    monkeypatch.setattr(
        "azcore.learner.module.LearnerModule.on_train_batch_start",
        lambda self, batch, index: seen.append(
            (self.trainer.global_step, self.trainer.optimizers[0].param_groups[0]["lr"])
        ),
    )
    shares[8] = 0.9  # the clock has gone on before the run does
    train_until({**config, "resume": "timed"}, 12)
    assert seen == [(8, 0.003), (9, 0.003), (10, 0.003), (11, 0.003)]


def test_self_play_makes_no_more_than_learning_asks_for(tiny: Tiny) -> None:
    """Some 60 positions a burst against 64 / 4 = 16 a generation."""
    train(tiny("run_dir=even", "trainer.max_steps=200", "replay.samples_per_position=4"))
    ratio = column("even", "samples_per_position")
    assert max(ratio) <= 4
    assert ratio[-1] > 3.5


class Spy:
    """Watches a run of AlphaGo Zero's loop: who searched, with which weights and how."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.learned: dict[int, list[float]] = {}  # by step: what the network says of `probe`
        self.played: list[tuple[int, list[float], float | None]] = []  # version, the same, v
        self.matches: list[tuple[str, str, list[SearchPlayer], dict[str, Any]]] = []
        self.optimizers: list[dict[str, Any]] = []
        self.batches: dict[int, Tensor] = {}
        start, set_evaluator = LearnerModule.on_train_batch_start, Actor.set_evaluator

        def on_batch(module: LearnerModule, batch: dict[str, Tensor], index: int) -> None:
            self.learned[module.trainer.global_step] = self.of_network(module)
            self.batches[module.trainer.global_step] = batch["observations"].clone()
            self.optimizers.append(dict(module.trainer.optimizers[0].param_groups[0]))
            start(module, batch, index)

        def on_weights(
            actor: Actor, evaluator: Evaluator, version: int, threshold: float | None = None
        ) -> None:
            self.played.append((version, self.of(evaluator), threshold))
            set_evaluator(actor, evaluator, version, threshold)

        patch.setattr(LearnerModule, "on_train_batch_start", on_batch)
        patch.setattr(Actor, "set_evaluator", on_weights)
        for module in (alphagozero, ratings):
            patch.setattr(module, "play_spread", self.on_match(module.play_spread))
        patch.setattr(spread, "play_from", self.on_players(spread.play_from))

    def on_match(self, play: Any) -> Any:
        def watched(places: Any, game: Any, first: Any, second: Any, **options: Any) -> Any:
            self.matches.append((first.name, second.name, [], {"said": [], **options}))
            return play(places, game, first, second, **options)

        return watched

    def on_players(self, play: Any) -> Any:
        """Runs with one worker play a match in one part."""

        def watched(game: Any, players: Any, *options: Any) -> Any:
            names = tuple(player.name for player in players)
            first, second, found, noted = self.matches[-1]
            assert names == (first, second)
            found += [player for player in players if isinstance(player, SearchPlayer)]
            noted["said"] += [self.of(player._evaluator) for player in found]
            return play(game, players, *options)

        return watched

    probe = np.random.default_rng(3).integers(0, 2, (4, 2, 3, 3)).astype(np.uint8)

    def of(self, evaluator: Evaluator) -> list[float]:
        """The values it gives, copied."""
        return [round(float(value), 5) for value in evaluator.evaluate(self.probe)[1]]

    def of_network(self, module: LearnerModule) -> list[float]:
        network = copy.deepcopy(module.network).eval()
        with torch.no_grad():
            values = network(torch.from_numpy(self.probe))[1]
        return [round(float(value), 5) for value in values]


@pytest.fixture(scope="module")
def spied(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs of both algorithms, watched."""
    patch = pytest.MonkeyPatch()
    patch.chdir(tmp_path_factory.mktemp("spied"))
    found: dict[str, Spy] = {}
    for algorithm in ("alphazero", "alphagozero"):
        with patch.context() as inner:
            found[algorithm] = Spy(inner)
            train(
                compose(
                    *TINY,
                    *RATES,
                    f"algorithm={algorithm}",
                    f"run_dir={algorithm}",
                    "evaluator.random_symmetry=false",
                    "selfplay.workers=1",
                    "selfplay.resignation_false_positives=0.9",
                    "search.num_simulations=9",
                    "arena.every_generations=3",
                    "arena.num_simulations=5",
                    "gate.num_simulations=6",
                    "gate.games=2",
                    "gate.every_generations=2",
                    "gate.threshold=0.2",
                    "learner.learning_rate_batch=16",
                    "learner.l2=0.003",
                    "learner.momentum=0.7",
                    "trainer.max_steps=40",
                )
            )
    yield found
    patch.undo()


def test_every_generation_is_played_by_the_weights_of_its_moment(spied: dict[str, Spy]) -> None:
    spy = spied["alphazero"]
    assert [version for version, _, _ in spy.played] == list(range(0, 40, 4))
    for version, said, _ in spy.played:
        assert said == spy.learned[version]
    assert len({tuple(said) for _, said, _ in spy.played}) == 10


def test_the_best_player_plays_and_is_the_one_that_won(spied: dict[str, Spy]) -> None:
    spy = spied["alphagozero"]
    versions = [version for version, _, _ in spy.played]
    assert len(set(versions)) > 2
    assert versions[:2] == [0, 0]  # the gate comes every second generation
    for version, said, _ in spy.played:
        assert said == spy.learned[version]


def test_games_are_resigned_by_the_threshold_found(spied: dict[str, Spy]) -> None:
    """Nearly all resignations may be wrong here, so that there is a threshold soon."""
    thresholds = [threshold for _, _, threshold in spied["alphagozero"].played]
    assert thresholds[0] is None  # there was no game before
    assert thresholds[-1] is not None
    assert all(threshold is None for _, _, threshold in spied["alphazero"].played)
    rows = Table(RunDirectory(Path("alphagozero")).metrics, []).rows()
    told = [row["resign_threshold"] for row in rows if row["resign_threshold"]]
    assert [float(text) for text in told] == [
        pytest.approx(threshold, rel=1e-5) for threshold in thresholds if threshold is not None
    ]


def test_a_gate_is_between_candidate_and_best_at_its_simulations(spied: dict[str, Spy]) -> None:
    spy = spied["alphagozero"]
    gates = [match for match in spy.matches if match[1].startswith("best-")]
    assert [match[0] for match in gates] == [f"step-{step}" for step in range(8, 41, 8)]
    for name, best, players, options in gates:
        assert [player._settings.num_simulations for player in players] == [6, 6]
        steps = int(name.removeprefix("step-")), int(best.removeprefix("best-"))
        for step, said in zip(steps, options["said"], strict=True):
            if step < 40:  # nothing is learned after the last
                assert said == spy.learned[step]
        assert options["num_games"] == 2


@pytest.mark.parametrize("algorithm", ["alphazero", "alphagozero"])
def test_ratings_are_of_the_weights_of_their_moment(spied: dict[str, Spy], algorithm: str) -> None:
    """Every third generation, and at the end; the first weights are the first opponent."""
    spy = spied[algorithm]
    rated = [match for match in spy.matches if not match[1].startswith("best-")]
    assert list(dict.fromkeys(match[0] for match in rated)) == [
        f"step-{step}" for step in (12, 24, 36, 40)
    ]
    for name, opponent, players, options in rated:
        assert {player._settings.num_simulations for player in players} == {5}
        for player, said in zip(players, options["said"], strict=True):
            if player.name.startswith("step-") and player.name != "step-40":
                assert said == spy.learned[int(player.name.removeprefix("step-"))]
        assert opponent != name
    assert "step-0" in {match[1] for match in rated if match[0] == "step-12"}
    met = {match[1] for match in rated if match[0] == "step-40"}
    assert "step-36" in met
    assert {"step-12", "step-24"} & met


class AveragingSpy(Spy):
    """One whose `learned` is of the average of the weights, worked out from those of each step."""

    step = -1

    def of_network(self, module: LearnerModule) -> list[float]:
        before, self.step = self.step, module.trainer.global_step
        step, latest = self.step, module.network.state_dict()
        if step <= 1:
            self.average = {name: tensor.double() for name, tensor in latest.items()}
        elif step != before:
            kept = min(0.7, (step - 1) / (step + 8))
            for name, tensor in latest.items():
                self.average[name] = kept * self.average[name] + (1 - kept) * tensor.double()
        network = copy.deepcopy(module.network).eval()
        network.load_state_dict(self.average)
        with torch.no_grad():
            return [float(value) for value in network(torch.from_numpy(self.probe))[1]]


@pytest.mark.parametrize("algorithm", ["alphazero", "alphagozero"])
def test_the_average_of_the_weights_plays_is_rated_and_saved(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    spy = AveragingSpy(monkeypatch)

    def on_end(module: LearnerModule) -> None:
        spy.of_network(module)  # after the last step too

    monkeypatch.setattr(LearnerModule, "on_train_epoch_end", on_end)
    settings = ["learner.weight_averaging=0.7", "trainer.max_steps=24", "selfplay.workers=1"]
    gate = ["gate.games=2", "gate.every_generations=2", "gate.threshold=0.2"]
    plain = "evaluator.random_symmetry=false"
    train(tiny(f"algorithm={algorithm}", "run_dir=run", plain, *settings, *gate))
    versions = [version for version, _, _ in spy.played]
    assert versions[:2] == [0, 0 if algorithm == "alphagozero" else 4]
    assert len(set(versions)) > 2
    for version, said, _ in spy.played:
        assert said == pytest.approx(spy.learned[version], abs=2e-5)
    told = 0
    for _, _, players, options in spy.matches:
        for player, said in zip(players, options["said"], strict=True):
            step = player.name.partition("-")[2]
            if step.isdecimal() and step != "24":  # not the baseline
                assert said == pytest.approx(spy.learned[int(step)], abs=2e-5)
                told += 1
    assert told > 5
    run = RunDirectory(Path("run"))
    checkpoint = read_checkpoint(run.last_checkpoint)
    assert list(spy.average) == list(checkpoint["latest_weights"])
    different = 0
    for name, tensor in spy.average.items():
        saved, latest = checkpoint["state_dict"]["network." + name], checkpoint["latest_weights"]
        if saved.is_floating_point():
            torch.testing.assert_close(saved.double(), tensor, rtol=1e-4, atol=1e-6)
            different += not saved.equal(latest[name])
    assert different > 5


def test_the_optimizer_has_the_settings_of_the_run(spied: dict[str, Spy]) -> None:
    groups = spied["alphazero"].optimizers
    assert {group["momentum"] for group in groups} == {0.7}
    assert {group["weight_decay"] for group in groups} == {0.006}
    assert [group["lr"] for group in groups] == [0.1] * 10 + [0.02] * 20 + [0.003] * 10


def test_every_step_draws_a_batch_of_its_own(spied: dict[str, Spy]) -> None:
    batches = spied["alphazero"].batches
    assert len({batch.numpy().tobytes() for batch in batches.values()}) == 40
    assert {len(batch) for batch in batches.values()} == {16}


@pytest.mark.parametrize("augment", [False, True])
def test_settings_of_replay_and_self_play_arrive(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, augment: bool
) -> None:
    made: dict[str, Any] = {}
    for kind in (ReplayBuffer, Actor):
        begin = kind.__init__

        def init(self: Any, *, _begin: Any = begin, **options: Any) -> None:
            made[type(self).__name__] = options
            _begin(self, **options)

        monkeypatch.setattr(kind, "__init__", init)
    Path("starts.txt").write_text("X../.../... w\nstartpos moves B2\n")
    config = tiny(
        "game=go",
        "game.board_size=3",
        "selfplay.starts=[starts.txt]",
        f"replay.augment={augment}",
        "replay.window_games=77",
        "replay.root_value_share=0.3",
        "replay.value_samples_per_game=6",
        "replay.surprise_share=0.4",
        "network=pooled_res",
        "network.auxiliary.score=true",
        "network.auxiliary.reply=true",
        "selfplay.game={first_pass: 0.5}",
        "selfplay.temperature_plies=3",
        "seed=9",
        "trainer.max_steps=2",
    )
    train({**config, "run_dir": "run"})
    assert (made["ReplayBuffer"]["augment"], made["ReplayBuffer"]["window_games"]) == (augment, 77)
    assert made["ReplayBuffer"]["root_value_share"] == 0.3
    assert made["ReplayBuffer"]["value_positions"] == 3.0  # each position is sampled twice
    assert made["ReplayBuffer"]["surprise_share"] == 0.4
    assert made["Actor"]["record_surprise"] is True
    assert made["ReplayBuffer"]["targets"] == ("score", "reply")
    assert made["ReplayBuffer"]["game"].settings["first_pass"] == 0.0
    assert made["Actor"]["variant"].settings["first_pass"] == 0.5
    assert made["Actor"]["game"].settings["first_pass"] == 0.0
    assert made["Actor"]["settings"].temperature_plies == 3
    assert made["Actor"]["search"].num_simulations == 8
    assert made["Actor"]["seed"] == 9
    assert made["Actor"]["starts"].describe() == "2 positions"
    records = list(GameFile(RunDirectory(Path("run")).records).read())
    assert {record.start for record in records} == {None, "X../.../... w"}
    assert all(record.start or record.actions[0] == 4 for record in records)


def test_workers_in_processes_are_built_like_those_here(tiny: Tiny) -> None:
    """What travels to a process makes the games of a pool on threads, by everything set here."""
    Path("starts.txt").write_text("X../.../... w\nstartpos moves B2\n")
    config = tiny(
        "game=go",
        "game.board_size=3",
        "selfplay.starts=[starts.txt]",
        "selfplay.game={first_pass: 0.5}",
        "selfplay.workers=2",
        "evaluator.random_symmetry=true",
        "replay.surprise_share=0.4",
        "seed=9",
    )
    settings = settings_from(config, RunSettings)
    settings = replace(settings, evaluation=replace(settings.evaluation, threads=2))
    network = build_network(settings.game, settings.network, 5)
    weights = NetworkWeights(settings, network, 7)
    here = make_actor(
        settings,
        settings.selfplay,
        settings.search_evaluator(network, 0, 2),
        settings.selfplay_starts(),
    )
    here.set_weights(weights, -0.9)
    made = {record.game_index: record for record in here.play(num_games=20)}
    assert {record.start for record in made.values()} == {None, "X../.../... w"}
    recipe = RecipeOfRun(settings)
    for number in (0, 1):
        member = pickle.loads(pickle.dumps(recipe)).build([number], number)
        there = member._actor
        member.weights(weights.packed(), 7, -0.9)
        games: dict[int, GameRecord] = {}
        # torch counts threads by caller: on one that has set another number, sums round otherwise.
        with ThreadPoolExecutor(1) as rounds:
            while len(games) < 8:
                ended = rounds.submit(there.play_round, 0).result()
                games |= {record.game_index: record for record in ended}
        both = games.keys() & made.keys()
        assert len(both) > 3
        assert [games[i].to_bytes() for i in both] == [made[i].to_bytes() for i in both]


def test_games_of_a_run_begin_in_the_start_states_unless_files_name_others(tiny: Tiny) -> None:
    Path("starts.txt").write_text("X../.../... w\n")
    several = ["game=go", "game.board_size=3", "game.other_komis=[2]", "game.other_sizes=[2]"]
    starts = settings_from(tiny(*several), RunSettings).selfplay_starts()
    assert starts is not None
    assert starts.describe() == "4 positions"
    starts = settings_from(
        tiny(*several, "selfplay.starts=[starts.txt]"), RunSettings
    ).selfplay_starts()
    assert starts is not None
    assert starts.describe() == "1 position"
    assert settings_from(tiny(*several), RunSettings).arena_starts() is None
    assert settings_from(tiny(*several[:2]), RunSettings).selfplay_starts() is None


def test_matches_of_a_run_begin_from_its_starts(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("book.txt").write_text("X../.../... o\nX../.O./... x\n")
    played: list[MatchResult] = []
    play_spread = ratings.play_spread

    def spy(*players: Any, **options: Any) -> SpreadMatch:
        match = play_spread(*players, **options)
        played.append(match.result)
        return match

    monkeypatch.setattr(ratings, "play_spread", spy)
    train(tiny("arena.starts=[book.txt]", "arena.opening_plies=0", "arena.games=4", "run_dir=run"))
    assert "matches begin from 2 positions" in capsys.readouterr().out
    assert len(played) > 2
    for result in played:
        starts = [game.start for game in result.games]
        assert sorted(starts[::2], key=str) == ["X../.../... o", "X../.O./... x"]
        assert starts[::2] == starts[1::2]
    records = GameFile(RunDirectory(Path("run")).records).read()
    assert {record.start for record in records} == {None}


def test_players_of_matches_take_the_most_visited_action(compose_settings: Any) -> None:
    """As the textbook search says, without noise, its tree kept from move to move."""
    settings = compose_settings(
        "game=tic_tac_toe", "algorithm=alphazero", "arena.num_simulations=23", "arena.games=2"
    )
    game, evaluator = settings.game, HashEvaluator(settings.game, 4)
    player = search_player(settings, evaluator, "someone")
    tree = ReferenceSearch(game=game, evaluator=evaluator, settings=settings.search)
    player.begin(1, seed=3)
    player.start(0, game.initial_state())
    plies = 0
    while not game.is_terminal(tree.root.state):
        tree.search(23)
        root = tree.root
        best = max(root.visits, key=lambda a: (root.visits[a], root.prior[a], -a))
        assert player.choose([0]) == [best]
        player.advance(0, best)
        tree.advance(best)
        plies += 1
    assert plies > 4


@pytest.fixture
def compose_settings() -> Any:
    return lambda *words: settings_from(compose(*words), RunSettings)


@pytest.mark.parametrize("parts", [1, 2])
def test_a_row_of_metrics_has_the_means_of_its_steps(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    seen: list[float] = []
    loss = LearnerModule.loss

    def noted(module: LearnerModule, batch: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        found, metrics = loss(module, batch)
        seen.append(float(metrics["value_loss"].detach()))
        return found, metrics

    told: list[float] = []

    class Reader(Callback):
        def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
            told.append(float(trainer.callback_metrics["value_loss"]))

    monkeypatch.setattr(LearnerModule, "loss", noted)
    words = ("trainer.max_steps=8", f"trainer.accumulate_grad_batches={parts}")
    objects = Objects(callbacks=[Reader()])
    assert train_run(tiny("run_dir=run", *words), objects=objects)[1] == 0
    generations = np.array(seen).reshape(2, -1)
    assert generations.shape == (2, 4 * parts)
    assert generations.std() > 1e-4
    assert column("run", "value_loss") == pytest.approx(generations.mean(1), rel=1e-4)
    assert told == pytest.approx(generations.mean(1), rel=1e-4)
