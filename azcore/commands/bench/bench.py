"""The command: measures every row for azcore, then for other programs.

Figures to compare are measured alternately within one run and reported as medians, because machines
are shared and their speed drifts.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.status import Status

from azcore.assembly.parts import Config, LearningSettings, settings_from
from azcore.commands.bench.children import ready_cold_seconds, ready_seconds
from azcore.commands.bench.learner import learner_ratio
from azcore.commands.bench.memory import full_trees_mb, replay_bytes_per_position, resident_mb
from azcore.commands.bench.plan import plan_figures, plan_settings
from azcore.commands.bench.results import Figure, Row, machine, print_table, write_results
from azcore.commands.bench.search import (
    search_by_simulations,
    search_by_trees,
    search_us_per_simulation,
)
from azcore.commands.bench.selfplay import (
    selfplay_and_network,
    selfplay_by_cores,
    simulated_device_ratio,
)
from azcore.commands.bench.settings import BenchSettings
from azcore.commands.bench.utilization import gpu_of, traced
from azcore.commands.console import table_console
from azcore.commands.result import write_result
from azcore.errors import AzcoreError, SettingError
from azcore.networks import build_network
from azcore.selfplay.sizes import with_workers
from azcore.settings import build
from azcore.testing.speed import rules_us_per_ply


@dataclass(frozen=True, kw_only=True)
class Task:
    """The inputs of a measurement."""

    config: Config  # as composed
    sized: Config  # `config` with the benchmark's network and number of games
    settings: LearningSettings  # of `sized`
    options: BenchSettings


class Peer(Protocol):
    """Another program that does azcore's work; `benchmarks/compare.py` in the sources has some."""

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions of its packages."""

    def figures(self, row: str, say: Callable[[str], None]) -> Iterator[Figure]:
        """Measure one row; an AzcoreError states why it failed."""


FindPeers = Callable[[Task], Mapping[str, Peer]]  # by name, before anything is measured
find_peers: FindPeers = lambda task: {}  # noqa: E731, the script replaces it


def bench(config: Config) -> int:
    """Measure, print and write `bench.path`. Returns 0, or 1 if a peer failed."""
    options = build(BenchSettings, config["bench"], "bench")
    sized = {
        **config,
        "network": {**config["network"], "blocks": options.blocks, "channels": options.channels},
        "selfplay": {**config["selfplay"], "num_games": options.num_games},
    }
    if "plan" in options.rows:
        plan_settings(config)  # refuse before anything is measured
    settings = settings_from(sized, LearningSettings)
    selfplay = with_workers(settings.selfplay, settings.device.type)
    network = build_network(settings.game, settings.network, settings.seed)
    way = settings.fastest_evaluator(network, selfplay.workers or 1).way
    settings = replace(settings, selfplay=selfplay, evaluation=way.settings(settings.evaluation))
    sized["selfplay"]["workers"] = selfplay.workers
    sized["evaluator"] = {**config["evaluator"], **asdict(way)}
    task = Task(config=config, sized=sized, settings=settings, options=options)
    peers = find_peers(task)
    path = Path(options.path).absolute()
    if not os.access(path.parent, os.W_OK):
        raise SettingError(f"{path} cannot be written")  # report it before the work
    game, header = settings.game, machine(settings)
    rows: list[Row] = []
    failed: list[str] = []
    progress = Progress()

    def add(figure: Figure, peer: str | None) -> None:
        fields = {**vars(figure), "value": float(f"{figure.value:.4g}")}
        rows.append(Row(game=game.name, settings=game.settings, peer=peer, **fields))

    with progress:
        for name in options.rows:
            for figure in MEASURES[name](task, progress.say):
                add(figure, None)
            for who, peer in peers.items():
                progress.say(f"measuring {name} of {who}")
                try:
                    for figure in peer.figures(name, progress.say):
                        add(figure, who)
                except AzcoreError as error:
                    failed.append(str(error))
            # After each row, so that a stopped run leaves the rows it has.
            versions = {who: peer.versions for who, peer in peers.items()}
            write_results(path, machine=header, peers=versions, failed=failed, rows=rows)
    console = table_console()
    print_table(console, _title(settings, options, header), rows, [*peers])
    print(f"written to {options.path}")
    for sentence in failed:
        print(f"azcore: {sentence}", file=sys.stderr)
    write_result(config, rows=[asdict(row) for row in rows], failed=failed, file=path)
    return 1 if failed else 0


class Progress:
    """Shows progress on standard error: one line on a terminal, else a line per message."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._status = Status("", console=self._console)

    def __enter__(self) -> "Progress":
        if self._console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def say(self, text: str) -> None:
        if self._console.is_terminal:
            self._status.update(text)
        else:
            print(f"measuring: {text}", file=sys.stderr, flush=True)


def _title(settings: LearningSettings, options: BenchSettings, header: Mapping[str, Any]) -> str:
    game = settings.game
    facts = ", ".join(f"{name} {value}" for name, value in game.settings.items())
    where = f"{game.name} ({facts}); {header['cpu']}, {header['cores']} cores, {header['device']}"
    if set(options.rows) == {"plan"}:  # it has the run's own sizes
        return where
    games = f"{options.num_games} games on {settings.selfplay.workers} threads"
    return (
        f"{where}; network of {options.channels} channels x {options.blocks} blocks in "
        f"{header['precision']} on {header['backend']}, {games}, "
        f"{settings.search.num_simulations} simulations a move"
    )


# -- rows ---------------------------------------------------------------------------------------

Say = Callable[[str], None]


def _rules(task: Task, say: Say) -> Iterator[Figure]:
    say("rules")
    yield Figure(
        "rules_us_per_ply", rules_us_per_ply(task.settings.game, task.options.seconds), "us"
    )


def _search(task: Task, say: Say) -> Iterator[Figure]:
    say("search")
    yield Figure(
        "search_us_per_simulation", search_us_per_simulation(task.settings, task.options), "us"
    )


def _selfplay(task: Task, say: Say) -> Iterator[Figure]:
    say("self-play and bare network")
    path = Path(task.options.path)
    path = path.with_name(f"{path.stem}_utilization.csv")
    with traced(gpu_of(task.settings.device), task.options.utilization_ms, path) as trace:
        selfplay, network, efficiency = selfplay_and_network(task.settings, task.options)
    yield Figure("selfplay_evals_per_s", selfplay, "1/s")
    yield Figure("network_evals_per_s", network, "1/s")
    yield Figure("efficiency", efficiency, "ratio")
    if trace.median is not None:
        yield Figure("gpu_utilization", trace.median, "%", note=f"the trace is in {path}")


def _learner(task: Task, say: Say) -> Iterator[Figure]:
    say("learner")
    yield Figure("learner_ratio", learner_ratio(task.settings, task.options), "ratio")


def _ready(task: Task, say: Say) -> Iterator[Figure]:
    say("start, with a warm numba cache")
    yield Figure("ready_s", ready_seconds(task.sized), "s")
    say("start, with an empty numba cache")
    yield Figure("ready_cold_s", ready_cold_seconds(task.sized), "s")


def _memory(task: Task, say: Say) -> Iterator[Figure]:
    say("memory of self-play")
    yield Figure("resident_mb", resident_mb(task.sized, task.options), "MiB")
    say("memory of trees")
    search = task.config["search"]
    games = task.config["selfplay"]["num_games"] or task.options.num_games
    at = {"games": games, "simulations": search["num_simulations"]}
    megabytes, legal = full_trees_mb(task.config, task.options, games)
    yield Figure("full_trees_mb", megabytes, "MiB", at, f"{legal:.0f} legal actions a position")
    say("memory of the replay window")
    size = replay_bytes_per_position(task.config)
    yield Figure("replay_bytes_per_position", size, "B", {"simulations": search["num_simulations"]})


def _growth(task: Task, say: Say) -> Iterator[Figure]:
    options = task.options
    say("search by simulations in a tree")
    times = search_by_simulations(task.settings, options, options.growth_simulations)
    for number, us in zip(options.growth_simulations, times, strict=True):
        at = {"simulations": number}
        yield Figure("search_us_per_simulation", us, "us", at)
        yield Figure("search_growth", us / times[0], "ratio", at)
    say("search by number of trees")
    times = search_by_trees(task.settings, options, options.growth_trees)
    for number, us in zip(options.growth_trees, times, strict=True):
        yield Figure("search_us_per_simulation", us, "us", {"trees": number})
    say("self-play by cores")
    for cores, rate in zip(*selfplay_by_cores(task.sized, options), strict=True):
        yield Figure("selfplay_evals_per_s_per_core", rate / cores, "1/s", {"cores": cores})


def _device(task: Task, say: Say) -> Iterator[Figure]:
    options = task.options
    say("self-play on a simulated device")
    at = {"evals_per_s": round(options.device_rate), "games": options.device_games}
    yield Figure(
        "simulated_device_ratio", simulated_device_ratio(task.settings, options), "ratio", at
    )


def _plan(task: Task, say: Say) -> Iterator[Figure]:
    yield from plan_figures(task.config, say)


MEASURES: Mapping[str, Callable[[Task, Say], Iterator[Figure]]] = {  # of settings.ROWS
    "rules": _rules,
    "search": _search,
    "selfplay": _selfplay,
    "learner": _learner,
    "ready": _ready,
    "memory": _memory,
    "growth": _growth,
    "device": _device,
    "plan": _plan,
}
