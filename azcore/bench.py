"""`command=bench`: how fast rules, search, self-play and learner are on this machine.

Prints a table and writes the same rows to `bench.json`, each `{game, board_size, what, value, unit,
peer}` (peer null: azcore itself). Figures that are compared are taken in turn within one run, and
medians are given, because machines are shared and drift.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from azcore.assembly import Config, Settings, settings_from
from azcore.errors import SettingError
from azcore.evaluators import Evaluator
from azcore.game import ByteArray, FloatArray, Game
from azcore.learner.module import LearnerModule
from azcore.networks import build_network
from azcore.replay import ReplayBuffer
from azcore.search.mcts import Search
from azcore.selfplay.actor import Actor
from azcore.selfplay.sizes import with_workers
from azcore.settings import build, require
from azcore.testing.speed import rules_us_per_ply


@dataclass(frozen=True, kw_only=True)
class BenchSettings:
    """What to measure; the numbers are in `conf/bench`."""

    seconds: float
    num_simulations: int
    opening_plies: int
    blocks: int
    channels: int
    num_games: int

    def __post_init__(self) -> None:
        require(self.seconds > 0, "bench.seconds", "above 0", self.seconds)
        require(
            self.num_simulations >= 1, "bench.num_simulations", "1 or more", self.num_simulations
        )
        require(self.opening_plies >= 0, "bench.opening_plies", "0 or more", self.opening_plies)


class FreeEvaluator(Evaluator):
    """Answers at once with the same random numbers: what is left is the cost of searching."""

    def __init__(self, game: Game, size: int) -> None:
        rng = np.random.default_rng(1)
        self._policy_logits = rng.normal(size=(size, game.num_actions)).astype(np.float32)
        self._values = rng.uniform(-0.1, 0.1, size).astype(np.float32)

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        return self._policy_logits[: len(observations)], self._values[: len(observations)]


def bench(config: Config) -> int:
    """Measure, print and write `bench.json` in the current directory.

    Raises:
        AzcoreError: a setting cannot be used, or the file cannot be written.
    """
    options = build(BenchSettings, config["bench"], "bench")
    settings = settings_from(config)
    settings = replace(
        settings,
        network=replace(settings.network, blocks=options.blocks, channels=options.channels),
        selfplay=with_workers(
            replace(settings.selfplay, num_games=options.num_games), settings.device.type
        ),
    )
    game = settings.game
    rows: list[dict[str, Any]] = []

    def add(what: str, value: float, unit: str) -> None:
        rows.append(
            {
                "game": game.name,
                "board_size": game.settings.get("board_size"),
                "what": what,
                "value": float(f"{value:.4g}"),
                "unit": unit,
                "peer": None,
            }
        )

    console = Console()
    with console.status("") as status:
        status.update("rules")
        add("rules_us_per_ply", rules_us_per_ply(game, options.seconds), "us")
        status.update("search")
        add("search_us_per_simulation", search_us_per_simulation(settings, options), "us")
        status.update("self-play and bare network")
        selfplay, network, efficiency = selfplay_and_network(settings, options)
        add("selfplay_evals_per_s", selfplay, "1/s")
        add("network_evals_per_s", network, "1/s")
        add("efficiency", efficiency, "ratio")
        status.update("learner")
        add("learner_ratio", learner_ratio(settings, options), "ratio")
        add("rss_mb", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MiB")
        status.update("start, from numba's cache and without it")
        add("ready_s", ready_seconds(config, cold=False), "s")
        add("ready_cold_s", ready_seconds(config, cold=True), "s")

    table = Table(
        title=f"{game.name} {game.settings}, {torch.get_num_threads()} threads, self-play rows "
        f"with {options.channels} channels x {options.blocks} blocks, "
        f"{settings.selfplay.num_games} games, {settings.search.num_simulations} simulations"
    )
    table.add_column("what")
    table.add_column("value", justify="right")
    table.add_column("unit")
    for row in rows:
        table.add_row(row["what"], f"{row['value']:,}", row["unit"])
    console.print(table)
    path = Path("bench.json")
    try:
        path.write_text(json.dumps(rows, indent=1) + "\n")
    except OSError as error:
        raise SettingError(f"{path.absolute()} cannot be written: {error.strerror}") from error
    console.print(f"written to {path}")
    return 0


def search_us_per_simulation(settings: Settings, options: BenchSettings) -> float:
    """Search with a network that costs nothing, microseconds a simulation on one core."""
    game, trees = settings.game, 64
    search = Search(
        game=game,
        num_trees=trees,
        evaluator=FreeEvaluator(game, trees),
        settings=replace(settings.search, num_simulations=options.num_simulations),
    )
    rng = np.random.default_rng(1)

    def middle_game(row: int) -> None:
        state = game.initial_state()
        for _ in range(options.opening_plies):
            following = game.step(
                state, int(rng.choice(np.flatnonzero(game.legal_action_mask(state))))
            )
            if game.is_terminal(following):
                break
            state = following
        search.start(row, state)

    for row in range(trees):
        middle_game(row)
    search.run(list(range(trees)))
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - began < options.seconds:
        for row in range(trees):
            result = search.result(row)
            search.advance(row, int(result.actions[result.visit_counts.argmax()]))
            if game.is_terminal(search.states.get(row)):
                middle_game(row)
        simulations = trees * options.num_simulations
        times.append(_timed(lambda: search.run(list(range(trees)))) / simulations)
    return statistics.median(times) * 1e6


def selfplay_and_network(settings: Settings, options: BenchSettings) -> tuple[float, float, float]:
    """Evaluations/s of self-play and of the bare network in turn, and the median of their ratio."""
    game = settings.game
    shares = settings.selfplay.shares()
    network = build_network(game, settings.network, settings.seed)
    evaluator = settings.evaluator(network, len(shares))
    actor = Actor(
        game=game,
        search=settings.search,
        settings=settings.selfplay,
        seed=settings.seed,
        evaluator=evaluator,
    )
    rng = np.random.default_rng(1)
    bare = [
        (evaluator if number == 0 else evaluator.for_another_thread()).prepared(
            rng.integers(0, 2, (share, *game.observation_shape), np.uint8)
        )
        for number, share in enumerate(shares)
    ]
    rates: list[tuple[float, float]] = []
    for number in range(1 + max(5, round(options.seconds))):
        actor.reset_statistics()
        end = time.perf_counter() + 1.0
        actor.play_while(lambda _, end=end: time.perf_counter() < end)  # type: ignore[misc]
        selfplay = actor.statistics.evaluations / actor.statistics.seconds
        if number > 0:  # the first loads or compiles what it needs
            rates.append((selfplay, _bare_rate(bare, shares, 1.0)))
    return (
        statistics.median(rate[0] for rate in rates),
        statistics.median(rate[1] for rate in rates),
        statistics.median(rate[0] / rate[1] for rate in rates),
    )


def _bare_rate(runs: list[Callable[[], object]], shares: list[int], seconds: float) -> float:
    """Evaluations/s of a network whose input is in its memory already, on as many threads."""

    def repeat(run: Callable[[], object]) -> int:
        done, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            run()
            done += 1
        return done

    began = time.perf_counter()
    with ThreadPoolExecutor(len(runs)) as pool:
        calls = list(pool.map(repeat, runs))
    done = sum(share * count for share, count in zip(shares, calls, strict=True))
    return done / (time.perf_counter() - began)


def learner_ratio(settings: Settings, options: BenchSettings) -> float:
    """Training steps/s with batches drawn from the window, over those with one batch in memory."""
    game = settings.game
    actor = Actor(
        game=game,
        search=replace(settings.search, num_simulations=2),
        settings=replace(settings.selfplay, workers=1),
        seed=settings.seed,
        evaluator=FreeEvaluator(game, options.num_games),
    )
    buffer = ReplayBuffer(game=game, window_games=10_000, augment=settings.replay.augment)
    buffer.extend(actor.play(2000))
    module = LearnerModule(
        network=build_network(game, settings.network, settings.seed).to(settings.device),
        settings=settings.learner,
        max_steps=1,
        description={},
    )
    optimizer = module.configure_optimizers()["optimizer"]

    def step(batch: dict[str, torch.Tensor]) -> None:
        optimizer.zero_grad()
        loss, _ = module.loss({name: tensor.to(settings.device) for name, tensor in batch.items()})
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if settings.device.type == "cuda":
            torch.cuda.synchronize()

    rng = np.random.default_rng(1)

    def draw() -> dict[str, torch.Tensor]:
        samples = buffer.sample(settings.learner.batch_size, rng)
        return {name: torch.from_numpy(array) for name, array in vars(samples).items()}

    batch = draw()
    step(batch)
    ratios: list[float] = []
    began = time.perf_counter()
    while len(ratios) < 5 or time.perf_counter() - began < options.seconds:
        in_memory = _timed(lambda: step(batch))
        ratios.append(in_memory / _timed(lambda: step(draw())))
    return statistics.median(ratios)


def ready_seconds(config: Config, *, cold: bool) -> float:
    """Seconds until a new process has played its first move, with or without numba's cache."""
    code = "import json, sys; from azcore.bench import first_move; first_move(json.load(sys.stdin))"
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder} if cold else dict(os.environ)
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(config),
            text=True,
            check=True,
            env=environment,
        )
        return time.perf_counter() - began


def first_move(config: Config) -> None:
    """What a program does before its first move: build everything and search once."""
    settings = settings_from(config)
    evaluator = settings.evaluator(build_network(settings.game, settings.network, settings.seed))
    search = Search(game=settings.game, num_trees=1, evaluator=evaluator, settings=settings.search)
    search.run([0], 1)


def _timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began
