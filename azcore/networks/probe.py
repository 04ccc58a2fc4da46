"""Finds the backend, precision and number of threads that run a network fastest on this machine.

A CPU's flags do not predict its speed: of two Xeons with AVX512-BF16, one runs bfloat16 at twice
the speed of float32 and one at half. So azcore measures what `conf/evaluator` leaves open, in about
a second. It caches the result on disk for each machine, network, board and version, unless the
machine was busy.
"""

import hashlib
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import torch
from torch import nn

from azcore.atomic import replacing
from azcore.errors import SettingError
from azcore.game import ByteArray, Game
from azcore.game.compilation import user_caches
from azcore.measuring import OF_OTHERS, is_busy, undisturbed
from azcore.networks.backends import PRECISIONS, Conditions, EvaluatorSettings, backend_named
from azcore.search.evaluators import Evaluator

AUTO = ("openvino", "cuda_graphs", "torch")  # what `auto` tries, the preferred one first
BETTER = 1.1  # times the rate of the preferred way; two measurements differ by a few percent
SLOWEST = OF_OTHERS  # of the best rate; stop measuring a way that is slower with one position
BATCH = {"cpu": 32, "cuda": 256}  # positions per call
BATCH_SECONDS = 0.05  # a large network gets smaller batches
SECONDS = 0.05  # per measurement
ROUNDS = 4  # each measures all ways once
MOST_SECONDS = 1.5  # no round begins after this time
MOST_CACHED = 500  # results in the file
PACKAGES = ("azcore", "torch", "openvino")  # whose versions matter


@dataclass(frozen=True)
class Way:
    """One way to run a network."""

    backend: str  # a name of `evaluator.backend`, not auto
    precision: str  # float32 or bfloat16
    threads: int  # cores of the CPU, for all callers together

    def __str__(self) -> str:
        return f"{self.backend} {self.precision} on {self.threads} thread{'s' * (self.threads > 1)}"

    def evaluator(
        self, network: nn.Module, game: Game, device: torch.device, callers: int
    ) -> Evaluator:
        """An evaluator that runs the network this way.

        Raises:
            SettingError: the network cannot run this way here.
        """
        conditions = Conditions(
            game=game,
            device=device,
            dtype=PRECISIONS[self.precision],
            cores=self.threads,
            callers=callers,
        )
        return backend_named(self.backend).evaluator(network, conditions)

    def settings(self, evaluation: EvaluatorSettings) -> EvaluatorSettings:
        """These settings, completed by this way to run the network."""
        return replace(evaluation, **asdict(self))


@dataclass(frozen=True)
class Probe:
    """The fastest way, and the rates in evaluations/s that chose it.

    Without a choice there are no rates.
    """

    way: Way
    rates: dict[Way, float]
    busy: bool = False  # whether other programs used the machine meanwhile


def fastest(
    evaluation: EvaluatorSettings,
    network: nn.Module,
    game: Game,
    device: torch.device,
    *,
    cores: int,
    callers: int,
) -> Probe:
    """The fastest way to run a network among those that the settings allow.

    Args:
        evaluation: leaves open a backend or precision of `auto`, and a missing number of threads.
        cores: the CPU's cores, the most threads to use.
        callers: threads that will evaluate at once.

    Raises:
        SettingError: of several ways, none can run this network here.
    """
    ways = list(_ways(evaluation, device, cores))
    if len(ways) == 1:
        return Probe(ways[0], {})
    key = _key(ways, network, game, device, callers)
    if key not in _probes:
        cached = _cached(key, ways)
        if cached is None:
            busy = is_busy()
            cached = replace(_probe(ways, network, game, device, callers), busy=busy)
            if not busy:
                _cache(key, ways, cached)
        _probes[key] = cached
    return _probes[key]


_probes: dict[str, Probe] = {}


def _ways(evaluation: EvaluatorSettings, device: torch.device, cores: int) -> Iterator[Way]:
    """The ways that settings and device allow, the preferred ones first."""
    on_cpu = device.type == "cpu"
    backends = [evaluation.backend]
    if evaluation.backend == "auto":
        backends = [name for name in AUTO if backend_named(name).wanted_instead(device) is None]
    precisions = [evaluation.precision]
    if evaluation.precision == "auto":
        precisions = list(PRECISIONS)  # float32 first: it is the more exact
        if not on_cpu and not torch.cuda.is_bf16_supported():
            precisions.remove("bfloat16")
    threads = [min(evaluation.threads or cores, cores)]
    if evaluation.threads is None and on_cpu and (fewer := _cores_without_siblings(cores)) < cores:
        threads.append(fewer)
    for backend, precision, number in product(backends, precisions, threads):
        if backend == "torch":  # predictions in the learner's thread must not reduce its cores
            if number != threads[0]:
                continue
            # If only OpenVINO has fast bfloat16, torch's takes 20 times as long as its float32.
            if on_cpu and backend != backends[0] and precision != precisions[0]:
                continue
        yield Way(backend, precision, number)


def _cores_without_siblings(cores: int) -> int:
    """Cores of the machine if the threads that share a core count once, else `cores`."""
    found = set()
    for cpu in os.sched_getaffinity(0):
        path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            found.add(path.read_text())
        except OSError:
            return cores
    return min(cores, len(found))


def _probe(
    ways: Sequence[Way], network: nn.Module, game: Game, device: torch.device, callers: int
) -> Probe:
    """Measure the ways alternately."""
    began = time.perf_counter()
    evaluators: dict[Way, Evaluator] = {}
    refused: Exception | None = None
    for way in ways:
        try:
            evaluators[way] = way.evaluator(network, game, device, callers)
        except (SettingError, torch.OutOfMemoryError) as error:
            refused = error
    if not evaluators:
        assert refused is not None
        raise refused
    positions = _positions(game, BATCH.get(device.type, 32))
    # All in separate threads, since torch's number of threads is set for the calling thread.
    with ThreadPoolExecutor(callers) as pool:

        def rate_alone(way: Way) -> float:
            return pool.submit(_rate, evaluators[way], positions[:1], min).result()

        def rate_of_all(way: Way) -> float:
            return _rate_of_all(pool, evaluators[way], positions[:size], callers)

        alone = undisturbed({way: [rate_alone(way)] for way in evaluators}, rate_alone)
        left = [way for way in evaluators if alone[way] >= SLOWEST * max(alone.values())]
        size = int(np.clip(min(alone[way] for way in left) * BATCH_SECONDS, 1, len(positions)))
        rates: dict[Way, list[float]] = {way: [] for way in left}
        for number in range(ROUNDS):
            if number and time.perf_counter() - began > MOST_SECONDS:
                break
            for way in left:
                rates[way].append(rate_of_all(way))
        found = alone | undisturbed(rates, rate_of_all, alone)
    evaluators.clear()
    if device.type == "cuda":  # other processes, such as self-play's server, need the memory
        torch.cuda.empty_cache()
    return Probe(_preferred(found), found)


def _preferred(rates: dict[Way, float]) -> Way:
    """The first way, or a later one that is clearly faster than all before it."""
    best, *others = rates
    for way in others:
        if rates[way] > BETTER * rates[best]:
            best = way
    return best


def _positions(game: Game, size: int) -> ByteArray:
    """Arbitrary planes of zeros and ones."""
    generator = np.random.default_rng(0)
    return generator.integers(0, 2, (size, *game.observation_shape), np.uint8)


def _rate_of_all(
    pool: ThreadPoolExecutor, evaluator: Evaluator, positions: ByteArray, callers: int
) -> float:
    """Evaluations/s of all callers together, each in its own thread."""
    own = [evaluator.for_another_thread() for _ in range(callers)]
    list(pool.map(lambda each: each.prepare(positions), own))
    return sum(pool.map(lambda each: _rate(each, positions), own))


def _rate(
    evaluator: Evaluator,
    positions: ByteArray,
    typical: Callable[[list[float]], float] = statistics.median,
) -> float:
    """Evaluations/s by the median call, after warming up.

    The shortest call (`min`) shows, even on a busy machine, whether a way is inherently slow.
    """
    evaluator.prepare(positions)
    marks = [time.perf_counter()]
    while len(marks) < 2 or marks[-1] - marks[0] < SECONDS:
        evaluator.evaluate(positions)
        marks.append(time.perf_counter())
    return len(positions) / typical([after - before for before, after in pairwise(marks)])


def _key(
    ways: Sequence[Way], network: nn.Module, game: Game, device: torch.device, callers: int
) -> str:
    """A name of the machine, the versions, the network's and board's shape, and the ways."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else processor()
    versions = []
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            versions.append(f"{package} {version(package)}")
    shapes = [(weights, list(tensor.shape)) for weights, tensor in network.state_dict().items()]
    shape = hashlib.sha256(f"{type(network).__qualname__} {shapes}".encode()).hexdigest()[:16]
    choice = ", ".join(map(str, ways))
    board = "x".join(map(str, game.observation_shape))  # weights may not depend on it
    return f"{name}; {'; '.join(versions)}; network {shape} on {board}; {callers} callers; {choice}"


def processor() -> str:
    """The model of the CPU."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def cache_file() -> Path:
    """The file of earlier results, by `_key`."""
    return user_caches() / "azcore" / "evaluators.json"


def _read() -> dict[str, object]:
    """All results; empty if the file is missing or unreadable."""
    try:
        results = json.loads(cache_file().read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return results if isinstance(results, dict) else {}


def _cached(key: str, ways: Sequence[Way]) -> Probe | None:
    """The result of an earlier probe, if the file has a valid one."""
    match _read().get(key):
        case {"fastest": int(number), "rates": [*rates]} if 0 <= number < len(ways) == len(
            rates
        ) and all(isinstance(rate, float) or rate is None for rate in rates):
            measured = zip(ways, rates, strict=True)
            return Probe(ways[number], {way: rate for way, rate in measured if rate is not None})
    return None


def _cache(key: str, ways: Sequence[Way], probe: Probe) -> None:
    """Add a result to the file; if that fails, the next run measures again."""
    result = {"fastest": ways.index(probe.way), "rates": [probe.rates.get(way) for way in ways]}
    results = dict(list(_read().items())[1 - MOST_CACHED :]) | {key: result}
    path = cache_file()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            json.dump(results, file, indent=1)
