"""The time from the start of a new process to its first move."""

import statistics
import tempfile
import time

from azcore.assembly.parts import Config, LearningSettings, settings_from
from azcore.commands.bench.children import in_new_process
from azcore.networks import build_network
from azcore.search.mcts import Search

STARTS = 3  # with numba's cache; without it everything is compiled, which is measured once


def ready_seconds(config: Config) -> float:
    """Seconds from the start of a process to its first move, with a warm numba cache."""
    return statistics.median(_start(config, {}) for _ in range(STARTS))


def ready_cold_seconds(config: Config) -> float:
    """Seconds from the start of a process to its first move, with an empty numba cache."""
    with tempfile.TemporaryDirectory() as folder:
        return _start(config, {"NUMBA_CACHE_DIR": folder})


def _start(config: Config, environment: dict[str, str]) -> float:
    began = time.perf_counter()
    in_new_process("azcore.commands.bench.ready:first_move", config, environment=environment)
    return time.perf_counter() - began


def first_move(config: Config) -> None:
    """Do what a program does before its first move: build everything and search once."""
    settings = settings_from(config, LearningSettings)
    evaluator = settings.evaluator(build_network(settings.game, settings.network, settings.seed))
    search = Search(game=settings.game, num_trees=1, evaluator=evaluator, settings=settings.search)
    search.run([0])
