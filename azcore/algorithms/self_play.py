"""Fits a run to its machine: the evaluator, the workers, the games and a generation's steps.

A resumed run keeps its values; a new one measures what its settings leave open. A run of a sweep
reuses the values of the first run with its network and board, so that all train alike.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from torch import nn

from azcore.assembly.evaluation_server import servers_of
from azcore.assembly.launcher import launcher_of
from azcore.assembly.parts import LearningSettings, RunSettings, settings_from
from azcore.assembly.selfplay import RecipeOfRun, make_actor
from azcore.errors import AzcoreError, SettingError
from azcore.networks import openvino_evaluator
from azcore.networks.backends import EvaluatorSettings, require_runnable
from azcore.selfplay.actor import Actor
from azcore.selfplay.pool import WorkerPool
from azcore.selfplay.remote import RemotePool
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.sizes import with_games, with_workers
from azcore.storage.run_directory import RunDirectory, Sizes
from azcore.storage.run_settings import read_config, require_received_games
from azcore.storage.starts import Starts

GENERATION = 30.0  # seconds of self-play
PARTS = 6  # generations that a run with a limit has at least
GENERATION_STEPS = (5, 10, 20, 50)  # few numbers, so that a probe's noise seldom changes a run


def fitted_to_machine(
    settings: RunSettings,
    network: nn.Module,
    run: RunDirectory,
    say: Callable[[str], None],
    beside: Path | None = None,
) -> RunSettings:
    """The settings with an evaluator, a generation's steps and, if known, workers and games.

    Args:
        network: a network of the shape that will play.
        run: the directory of sizes.json, if the run exists already.
        beside: a folder of runs whose values to reuse.
    """
    sizes = run.read_sizes()
    if sizes == Sizes() and beside is not None and (like := _like(beside, settings)) is not None:
        name, sizes = like
        say(f"open sizes as in {name}, so that both train alike")
    selfplay = with_workers(
        replace(
            settings.selfplay,
            num_games=sizes.num_games or settings.selfplay.num_games,
            workers=sizes.workers or settings.selfplay.workers,
        ),
        settings.device.type,
    )
    evaluation = _as_before(settings, sizes) or settings.evaluation
    settings = replace(settings, selfplay=selfplay, evaluation=evaluation)
    callers = 1 if settings.supervised.enabled else selfplay.workers
    assert callers is not None
    probe = settings.fastest_evaluator(network, callers)
    measured = "; ".join(f"{way} {rate:,.0f}" for way, rate in probe.rates.items())
    line = f"evaluator {probe.way}" + (f"; evaluations/s: {measured}" if measured else "")
    if probe.busy:
        line += "; the machine is busy, so the next run measures again"
    is_open = evaluation.backend == "auto" and settings.device.type == "cpu"
    if is_open and not openvino_evaluator.is_installed():
        line += "; OpenVINO is often faster on a CPU: pip install openvino"
    say(line)
    steps = settings.learner.steps_per_generation or sizes.steps_per_generation
    if steps is None:
        steps = steps_in_time(settings, max(probe.rates.values(), default=math.inf))
        if steps < GENERATION_STEPS[-1]:
            say(f"a generation has {steps} steps: self-play would take longer for more")
    return replace(
        settings,
        evaluation=probe.way.settings(evaluation),
        learner=replace(settings.learner, steps_per_generation=steps),
    )


def steps_in_time(settings: RunSettings, rate: float) -> int:
    """The most of `GENERATION_STEPS` whose games self-play makes in `GENERATION` seconds.

    Args:
        settings: of a run whose `learner.steps_per_generation` is open.
        rate: evaluations/s; infinite: not measured.
    """
    samples = settings.replay.fewest_samples
    if samples is None or settings.supervised.enabled:  # no time is needed, or games are counted
        return GENERATION_STEPS[-1]
    seconds = min(GENERATION, (settings.trainer.max_seconds or math.inf) / PARTS)
    evaluations = settings.learner.batch_size / samples * settings.evaluations_per_position
    fitting = [steps for steps in GENERATION_STEPS if steps * evaluations <= seconds * rate]
    return fitting[-1] if fitting else GENERATION_STEPS[0]


def _like(beside: Path, settings: RunSettings) -> tuple[str, Sizes] | None:
    """The first run in a folder with the same network and board, and its sizes.

    It omits values that the settings fix, and a number of games for other workers.
    """
    begun = sorted(beside.glob("*/sizes.json"), key=lambda path: path.stat().st_mtime)
    for path in begun:
        other = RunDirectory(path.parent)
        try:
            config = read_config(other)
            require_received_games(config)
            theirs = settings_from({**config, "device": "cpu"}, LearningSettings)
            sizes = other.read_sizes()
        except (AzcoreError, OSError):
            continue
        if (
            theirs.game.observation_shape != settings.game.observation_shape
            or theirs.game.num_actions != settings.game.num_actions
            or theirs.network != settings.network
        ):
            continue
        wanted = settings.selfplay
        if wanted.workers not in (None, sizes.workers):
            sizes = replace(sizes, workers=None, num_games=None)
        if wanted.num_games is not None:
            fits = sizes.workers is not None and sizes.workers <= wanted.num_games
            sizes = replace(sizes, num_games=None, workers=sizes.workers if fits else None)
        return other.path.name, sizes
    return None


def _as_before(settings: RunSettings, sizes: Sizes) -> EvaluatorSettings | None:
    """The run's first evaluator, if its settings still allow it and it works here."""
    wanted = settings.evaluation
    if sizes.backend is None or sizes.precision is None or sizes.threads is None:
        return None
    if wanted.backend not in ("auto", sizes.backend):
        return None
    if wanted.precision not in ("auto", sizes.precision):
        return None
    if wanted.threads not in (None, sizes.threads):
        return None
    try:
        require_runnable(sizes.backend, settings.device)
        return replace(
            wanted, backend=sizes.backend, precision=sizes.precision, threads=sizes.threads
        )
    except SettingError:
        return None


def pool_of_run(
    settings: RunSettings,
    network: nn.Module,
    starts: Starts | None,
    say: Callable[[str], None],
    measured: Callable[[float], None] = lambda _: None,
) -> WorkerPool:
    """The workers of a run, in this process or in others.

    Args:
        settings: the run's settings, fitted to the machine; measures an open number of games, which
            takes seconds.
        network: a network of the shape that will play.
        starts: what games begin from; None: the initial position.
        measured: called with the pool's evaluations/s if it measures them.

    Raises:
        SettingError: the backend cannot provide these processes or actors.
    """
    workers, backend = settings.selfplay.workers, settings.backend
    assert workers is not None
    of_first_games = functools.cache(lambda: settings.search_evaluator(network, 0, workers))

    def actor_of(tried: SelfPlaySettings) -> Actor:
        return make_actor(settings, tried, of_first_games(), starts)

    backend.require_device(settings.device.type)
    members = backend.members_for(workers)
    selfplay, trials = with_games(
        settings.selfplay,
        settings.device.type,
        actor_of,
        processes=members or 1,
        cells=math.prod(settings.game.observation_shape[1:]),
    )
    tried = ", ".join(f"{trial.num_games}: {trial.evaluations_per_s:,.0f}" for trial in trials)
    rates = f"; evaluations/s by games: {tried}" if trials else ""
    where = ""
    if members:
        kinds = ("actor", "actors") if backend.name == "ray" else ("process", "processes")
        where = f" in {members} {kinds[members > 1]}"
    for trial in trials:
        if trial.num_games == selfplay.num_games:
            measured(trial.evaluations_per_s)
    threads = f"{workers} thread{'s' * (workers > 1)}"
    say(f"self-play {selfplay.num_games} games on {threads}{where}{rates}")
    if not members:
        actor = actor_of(selfplay)
        actor.compile(0)  # while the terminal shows that it waits; without a probe nothing has yet
        return actor
    settings = replace(settings, selfplay=selfplay)
    servers = servers_of(settings, members)
    recipe = RecipeOfRun(settings, [server.address for server in servers])
    environment = {"OMP_NUM_THREADS": str(recipe.threads(-(-workers // members)))}
    return RemotePool(
        game=settings.selfplay_game,
        settings=selfplay,
        launcher=launcher_of(backend, members, workers, say, environment, servers),
        recipe=recipe,
        restarts=backend.restarts,
        say=say,
    )
