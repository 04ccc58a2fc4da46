"""How many instructions search and rules take, counted by valgrind: machines and noise apart.

    python tests/speed/measure.py           # what they take now, beside instructions.json
    python tests/speed/measure.py --write   # and keep that in instructions.json

All that is measured runs in one process under callgrind, which counts only between two requests
made by `Callgrind`; a first process without it fills numba's cache. Both compile for one processor,
named in `environment`, so that the code is the same on every machine. What is counted includes
Python's and NumPy's share, so figures are good for one set of `versions`.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from itertools import cycle
from pathlib import Path

import numpy as np

from azcore.game import ByteArray, CompiledGame, FloatArray
from azcore.search.evaluators import Evaluator

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).with_name("instructions.json")
ALLOWED_RISE = 1.15
GAMES = ("go 9x9", "go 19x19", "chess", "shogi", "connect four")
TREES, SIMULATIONS, OPENING_PLIES = 32, 50, 20  # of a search; the plies are random
PLIES = 2000  # of random games
SELF_PLAY = {  # of Go 9x9: settings of the search, and after how many waves a game moves
    "puct": ({"num_simulations": 64}, 64),
    "gumbel": ({"num_simulations": 16}, 17),
}

Counts = dict[str, int]  # instructions of a simulation, a ply or an evaluation, by what is measured


def versions() -> dict[str, str]:
    """What the counts depend on beside our own code."""
    libraries = {name: version(name) for name in ("numba", "llvmlite", "numpy")}
    return {"python": ".".join(platform.python_version_tuple()[:2]), **libraries}


def why_not(kept_versions: dict[str, str]) -> str | None:
    """Why counts cannot be compared here with those kept; None: they can."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    if platform.machine() != "x86_64" or "avx2" not in Path("/proc/cpuinfo").read_text():
        return "instructions are counted on x86-64 processors with AVX2 alone"
    if kept_versions != versions():
        return f"figures are kept for {kept_versions}, installed is {versions()}; see measure.py"
    return None


def rises(measured: Counts, kept: Counts) -> list[str]:
    """A sentence for each figure that is too high, and for each that is there on one side only."""
    told = [f"{name}: measured or kept only" for name in sorted(measured.keys() ^ kept.keys())]
    for name in sorted(measured.keys() & kept.keys()):
        if measured[name] > ALLOWED_RISE * kept[name]:
            rise = measured[name] / kept[name] - 1
            told.append(f"{name}: {measured[name]} instructions, {rise:.0%} above {kept[name]}")
    return told


def measure(games: Sequence[str] = GAMES) -> Counts:
    """Count, in processes of their own; half a minute if numba has compiled everything before.

    Args:
        games: those of `GAMES` whose rules and search are measured, and self-play of Go 9x9.
    """
    command = [sys.executable, __file__, "--child", *games]
    environment = {
        **os.environ,
        "NUMBA_CPU_NAME": "x86-64-v3",
        "NUMBA_CPU_FEATURES": "+avx,+avx2,+bmi,+bmi2,+fma,+lzcnt,+popcnt",
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'examples/plugins/connect_four/src'}",
    }
    with tempfile.TemporaryDirectory() as folder:
        callgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no"]
        callgrind += [f"--callgrind-out-file={folder}/out"]
        for prefix in ([], callgrind):
            done = subprocess.run(
                [*prefix, *command], cwd=ROOT, env=environment, capture_output=True, text=True
            )
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(prefix)} failed:\n{done.stdout}{done.stderr}")
        counts = {}
        for path in Path(folder).iterdir():
            text = path.read_text()
            if named := re.search(r"^desc: Trigger: Client Request: (\d+) (.+)$", text, re.M):
                total = re.search(r"^(?:totals|summary): (\d+)$", text, re.M)
                assert total is not None, text[:400]
                counts[named[2]] = round(int(total[1]) / int(named[1]))
        return counts


class Callgrind:
    """Asks the callgrind that this process runs under to count; without it nothing happens."""

    # valgrind.h's request for x86-64: rotations of rdi by 128 bits in all and an exchange of rbx
    # with itself, which do nothing elsewhere; rax points to six words and rdx is returned.
    _CODE = "4889f8 4889f2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3"
    _ZERO, _DUMP, _START, _STOP = ((ord("C") << 24) + (ord("T") << 16) + i for i in (1, 3, 4, 5))

    def __init__(self) -> None:
        rights = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        self._memory = mmap.mmap(-1, mmap.PAGESIZE, prot=rights)
        self._memory.write(bytes.fromhex(self._CODE))
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        request = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)
        self._request = request(address)

    def count(self, name: str, parts: int, run: Callable[[], object]) -> None:
        """Have the instructions of `run` written to a file; it makes so many `parts` of `name`."""
        text = ctypes.create_string_buffer(f"{parts} {name}".encode())
        self._ask(self._START)
        self._ask(self._ZERO)  # or it would count from where the last stop was
        run()
        self._ask(self._DUMP, ctypes.addressof(text))  # afterwards there would be nothing to write
        self._ask(self._STOP)

    def _ask(self, what: int, argument: int = 0) -> None:
        words = (ctypes.c_uint64 * 6)(what, argument)
        self._request(ctypes.addressof(words), 0)


def child() -> None:
    """What runs under callgrind."""
    from connect_four.game import ConnectFour  # type: ignore[import-not-found]

    import azcore

    sys.path.insert(0, str(ROOT / "tests"))
    callgrind = Callgrind()
    make: dict[str, Callable[[], CompiledGame]] = {
        "go 9x9": lambda: azcore.make("go", board_size=9),
        "go 19x19": lambda: azcore.make("go", board_size=19),
        "chess": lambda: azcore.make("chess"),
        "shogi": lambda: azcore.make("shogi"),
        "connect four": ConnectFour,
    }
    assert tuple(make) == GAMES
    for name in sys.argv[2:]:
        game = make[name]()
        count_search(callgrind, name, game)
        count_rules(callgrind, name, game)
    if "go 9x9" in sys.argv:
        for name in SELF_PLAY:
            count_self_play(callgrind, name, make["go 9x9"]())


def count_search(callgrind: Callgrind, name: str, game: CompiledGame) -> None:
    """Simulations from positions of the middle game with a network that costs nothing."""
    from azcore.search.mcts import Search
    from search_kit import random_position, search_settings

    rng = np.random.default_rng(1)
    evaluator = free_evaluator(game, rng)
    settings = search_settings(num_simulations=SIMULATIONS)
    search = Search(game=game, num_trees=TREES, evaluator=evaluator, settings=settings)
    rows = list(range(TREES))

    def start() -> None:
        for row in rows:
            search.start(row, random_position(game, OPENING_PLIES, rng))

    for _ in range(2):  # what is done once is not counted
        start()
        search.run(rows)
    start()
    callgrind.count(f"{name}, a simulation", TREES * SIMULATIONS, partial(search.run, rows))


def count_self_play(callgrind: Callgrind, name: str, game: CompiledGame) -> None:
    """A move in every game with a network that costs nothing."""
    from azcore.selfplay.worker import Worker
    from search_kit import gumbel, search_settings
    from selfplay_kit import selfplay_settings

    changed, waves = SELF_PLAY[name]
    worker = Worker(
        game=game,
        variant=game,
        search=search_settings(**changed, gumbel=gumbel() if name == "gumbel" else None),
        settings=selfplay_settings(),
        num_games=TREES,
        first_index=0,
        index_step=1,
        seed=1,
        evaluator=free_evaluator(game, np.random.default_rng(1)),
        record_surprise=False,
    )

    def play() -> None:
        for _ in range(waves):
            worker.play_wave()

    for _ in range(3):
        play()
    callgrind.count(f"go 9x9, self-play, {name}", waves * TREES, play)


def free_evaluator(game: CompiledGame, rng: np.random.Generator) -> Evaluator:
    """As that of command=bench, which would bring torch: callgrind would load it for long."""
    policies = rng.normal(size=(4 * TREES, game.num_actions)).astype(np.float32)
    values = rng.uniform(-0.1, 0.1, 4 * TREES).astype(np.float32)
    first = cycle(range(0, 3 * TREES, 7))

    class Free(Evaluator):
        def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
            given = slice(here := next(first), here + len(observations))
            return policies[given], values[given]

    return Free()


def count_rules(callgrind: Callgrind, name: str, game: CompiledGame) -> None:
    """Legal actions, a random one of them, and whether that was the end."""
    from azcore.testing.speed import random_plies_kernel

    play = random_plies_kernel(game.state_type)
    states = np.zeros(2, game.state_dtype)
    states[0] = game.initial_state()
    rules = (game.rules.legal_actions, game.rules.step, game.rules.is_terminal)
    actions = np.zeros(game.num_actions, np.int32)
    play(*rules, states, actions, 4, 1)
    run = partial(play, *rules, states, actions, PLIES, 1)
    callgrind.count(f"{name}, a random ply", PLIES, run)


def main() -> None:
    if "--child" in sys.argv:
        child()
        return
    measured = measure()
    kept = json.loads(KEPT.read_text())["instructions"] if KEPT.exists() else {}
    for name, count in measured.items():
        print(f"{name:30} {count:8} now {kept.get(name, '-'):>8} kept")
    if "--write" in sys.argv:
        figures = {"versions": versions(), "instructions": dict(sorted(measured.items()))}
        KEPT.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
