"""Measurements that need their own process: start time, peak memory, fewer cores."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from azcore.assembly.parts import Config, LearningSettings, settings_from
from azcore.errors import AzcoreError
from azcore.networks import build_network
from azcore.search.mcts import Search

STARTS = 3  # with numba's cache; without it everything is compiled, which is measured once

# Set the cores before importing torch, which counts them.
_CODE = """
import json, os, sys
function, cores, arguments = json.load(sys.stdin)
if cores:
    os.sched_setaffinity(0, cores)
from pkgutil import resolve_name
print(json.dumps(resolve_name(function)(*arguments)))
"""


def in_new_process(
    function: str,
    config: Config,
    *arguments: Any,
    cores: Sequence[int] = (),
    environment: dict[str, str] | None = None,
) -> Any:
    """The result of a function that runs in a new Python process.

    Args:
        function: as `azcore.commands.bench.children:first_move`; takes the configuration and the
            arguments.
        arguments: plain values.
        cores: the cores it may use; empty: this process's cores.

    Raises:
        AzcoreError: the process failed; its output is on standard error.
    """
    done = subprocess.run(
        [sys.executable, "-c", _CODE],
        input=json.dumps([function, list(cores), [config, *arguments]]),
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    if done.returncode != 0:
        raise AzcoreError(f"{function} in its own process exited with status {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def ready_seconds(config: Config) -> float:
    """Seconds from the start of a process to its first move, with a warm numba cache."""
    return statistics.median(_start(config, {}) for _ in range(STARTS))


def ready_cold_seconds(config: Config) -> float:
    """Seconds from the start of a process to its first move, with an empty numba cache."""
    with tempfile.TemporaryDirectory() as folder:
        return _start(config, {"NUMBA_CACHE_DIR": folder})


def _start(config: Config, environment: dict[str, str]) -> float:
    began = time.perf_counter()
    in_new_process("azcore.commands.bench.children:first_move", config, environment=environment)
    return time.perf_counter() - began


def first_move(config: Config) -> None:
    """Do what a program does before its first move: build everything and search once."""
    settings = settings_from(config, LearningSettings)
    evaluator = settings.evaluator(build_network(settings.game, settings.network, settings.seed))
    search = Search(game=settings.game, num_trees=1, evaluator=evaluator, settings=settings.search)
    search.run([0])
