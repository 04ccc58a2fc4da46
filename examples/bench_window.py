"""Measures a replay window's memory, disk space and time, in memory and on disk, in pairs.

    python examples/bench_window.py                    # 20,000 games of chess
    python examples/bench_window.py --games 1000000    # as with scale=paper; some minutes
    python examples/bench_window.py --game go --folder /mnt/fast

Games are random and legal, with up to --targets actions in the policy target of each ply; a few
hundred different ones repeat under new numbers. The script prints:

    fill             games/s that enter the window, without reading them from a file
    resume           games/s that it reads from records.azg, checks and adds
    memory           the process's own memory (RssAnon) beyond what it had before, and the file
                     pages that the system maps for it (RssFile) and evicts when something else
                     needs the memory
    batch            time to draw a batch, and on disk / in memory: the median of pairs
    cold             the same after the system has evicted all pages of the window
"""

from __future__ import annotations

import argparse
import gc
import mmap
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import azcore
from azcore.game import Game
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord
from azcore.storage.referee import Referee
from azcore.storage.replay import ReplayBuffer

DIFFERENT = 300
AT_ONCE = 1000
WARM = 3  # batches to warm up


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--game", default="chess", help="a game, with its default settings")
    parser.add_argument("--games", type=int, default=20_000)
    parser.add_argument("--plies", type=int, default=80, help="largest number of plies of a game")
    parser.add_argument(
        "--targets", type=int, default=30, help="largest number of actions in a policy target"
    )
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument(
        "--only", choices=("memory", "disk"), help="measure only this half of the pairs"
    )
    parser.add_argument(
        "--most", type=int, help="MB of the process's own memory; beyond that it ends"
    )
    options = parser.parse_args()
    game = azcore.make(options.game)
    records = random_games(game, DIFFERENT, options.plies, options.targets)
    plies = statistics.mean(map(len, records))
    named = sum(len(r.visit_actions) for r in records) / sum(map(len, records))
    print(
        f"{options.games:,} games of {game.name}: {plies:.0f} plies, {named:.1f} actions a target"
    )
    if options.most:
        resource.setrlimit(resource.RLIMIT_DATA, (options.most * 10**6,) * 2)
        print(f"limited to {options.most:,} MB of memory of its own")
    windows = {}
    for name in [options.only] if options.only else ["memory", "disk"]:
        gc.collect()
        before = resident()
        folder = options.folder if name == "disk" else None
        window = ReplayBuffer(game=game, window_games=options.games, augment=False, folder=folder)
        began = time.perf_counter()
        window.extend(numbered(records, options.games))
        seconds = time.perf_counter() - began
        own, files = (now - then for now, then in zip(resident(), before, strict=True))
        print(
            f"{name}: {window.bytes_held / 1e6:,.0f} MB of games, fill "
            f"{options.games / seconds:,.0f} games/s; memory of its own {own:,.0f} MB, "
            f"of files {files:,.0f} MB"
        )
        windows[name] = window
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in windows}
    reads = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    for pair in range(options.pairs + WARM):
        for name, window in sorted(windows.items(), reverse=pair % 2 == 1):
            times[name].append(seconds_of_batch(window, options.batch, pair))
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_majflt - reads:,} reads from disk")
    for name, taken in times.items():
        clock, processor = (1e3 * statistics.median(t) for t in zip(*taken[WARM:], strict=True))
        print(
            f"{name}: batch of {options.batch:,} in {clock:.1f} ms, {processor:.1f} of a processor"
        )
    if len(times) == 2:
        for place, what in enumerate(("clock", "processor")):
            ratios = sorted(
                d[place] / m[place]
                for d, m in zip(times["disk"][WARM:], times["memory"][WARM:], strict=True)
            )
            median = statistics.median(ratios)
            print(f"{what}: disk / memory {median:.3f}, from {ratios[0]:.3f} to {ratios[-1]:.3f}")
    if "disk" in windows:
        windows.pop("memory", None)
        window = windows["disk"]
        give_up_pages(window)
        reads = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        cold = [seconds_of_batch(window, options.batch, 1000 + turn)[0] for turn in range(3)]
        reads = resource.getrusage(resource.RUSAGE_SELF).ru_majflt - reads
        print("cold: " + ", ".join(f"{1e3 * taken:.0f} ms" for taken in cold), end="")
        print(f", {reads / 3 / options.batch:.1f} reads a position", end="")
        own, files = resident()
        print(f"; the process then holds {own:,.0f} MB of its own and {files:,.0f} MB of files")
    read_back(game, records, options.games, options.folder)


def random_games(game: Game, count: int, plies: int, targets: int) -> list[GameRecord]:
    """Random legal games of at most `plies` plies; one that is cut short counts as resigned."""
    rng = np.random.default_rng(1)
    made = []
    for index in range(count):
        state, actions, named, offsets, players = game.initial_state(), [], [], [0], []
        while not game.is_terminal(state) and len(actions) < plies:
            legal = np.flatnonzero(game.legal_action_mask(state))
            some = np.sort(rng.permutation(legal)[:targets])
            named.append(some)
            offsets.append(offsets[-1] + len(some))
            players.append(game.current_player(state))
            actions.append(int(rng.choice(legal)))
            state = game.step(state, actions[-1])
        over = game.is_terminal(state)
        loser = None if over else int(game.current_player(state))
        visited = np.concatenate(named).astype(np.uint16)
        made.append(
            GameRecord(
                game=game.identity,
                actions=np.array(actions, np.uint16),
                visit_offsets=np.array(offsets, np.uint32),
                visit_actions=visited,
                visit_counts=rng.integers(1, 100, len(visited)).astype(np.uint32),
                root_values=rng.uniform(-1, 1, len(actions)).astype(np.float32),
                best_child_values=rng.uniform(-1, 1, len(actions)).astype(np.float32),
                players=np.array(players, np.uint8),
                outcome=int(game.outcome(state)) if over else (-1 if loser == 0 else 1),
                resigned_by=loser,
                resign_threshold=-0.9,
                played_out=index % 10 == 0,
                opening_plies=0,
                seed=1,
                game_index=index,
                weights_version=0,
                counts="visits",
            )
        )
    return made


def numbered(records: list[GameRecord], count: int) -> Iterator[GameRecord]:
    """The first `count` games of an endless repetition, under new numbers."""
    for index in range(count):
        yield replace(records[index % len(records)], game_index=index, weights_version=index)


def seconds_of_batch(window: ReplayBuffer, size: int, seed: int) -> tuple[float, float]:
    """Seconds of wall time and of processor time."""
    clock, processor = time.perf_counter(), time.process_time()
    window.sample(size, np.random.default_rng(seed))
    return time.perf_counter() - clock, time.process_time() - processor


def resident() -> tuple[float, float]:
    """MB of this process's own memory, and of file pages."""
    lines = Path("/proc/self/status").read_text().splitlines()
    values = dict(line.split(":", 1) for line in lines)
    own, files = (int(values[name].split()[0]) for name in ("RssAnon", "RssFile"))
    return own * 1024 / 1e6, files * 1024 / 1e6


def give_up_pages(window: ReplayBuffer) -> None:
    """Make the system write all pages of a window to disk and evict them."""
    for ring in (window._games, window._headers, window._plies, window._named):
        mapped = memoryview(ring.room.base).obj  # type: ignore[arg-type]
        assert isinstance(mapped, mmap.mmap)
        mapped.flush()
        mapped.madvise(mmap.MADV_DONTNEED)
        assert ring._file is not None
        descriptor = ring._file.descriptor
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def read_back(game: Game, records: list[GameRecord], games: int, folder: Path) -> None:
    """Do what a resume does: read the window's games from disk, check them and add them."""
    games = min(games, 20_000)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        file = GameFile(Path(place, "records.azg"))
        some = list(numbered(records, AT_ONCE))
        for _ in range(0, games, AT_ONCE):
            file.append(some)
        size = file.size()
        window = ReplayBuffer(game=game, window_games=games, augment=False, folder=folder)
        window.extend(
            Referee(game).read(file)
        )  # the second time everything is compiled and in memory
        clock, processor = time.perf_counter(), time.process_time()
        window.extend(Referee(game).read(file))
        rates = games / (time.perf_counter() - clock), games / (time.process_time() - processor)
    print(
        f"records: {size / games:,.0f} bytes a game; resume {rates[0]:,.0f} games/s, "
        f"{rates[1]:,.0f} in a second of a processor"
    )


if __name__ == "__main__":
    main()
