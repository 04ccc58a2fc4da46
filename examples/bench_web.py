"""Measures how fast `command=web` answers many visitors.

    python -m azcore command=web web.port=8765 web.open=false &
    python examples/bench_web.py --visitors 20 --simulations 200 --seconds 30
    python examples/bench_web.py --seconds 120 --run runs/go/TIME    # a run that trains meanwhile

Each visitor plays random moves against a checkpoint, as fast as it answers. The script prints the
time from a click to the picture that shows the move, the time until the engine's answer, the
simulations/s of all visitors together, and the server's memory before, with and after them. With
`--run` it also prints that run's evaluations/s before, with and after them. The visitors' own work
in this program takes part of the machine, too.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from websockets.sync.client import connect


class Visitor(threading.Thread):
    """One page, which plays games until a given time."""

    def __init__(self, place: str, player: str, simulations: int, until: float, seed: int) -> None:
        super().__init__(daemon=True)
        self.place, self.player, self.simulations, self.until = place, player, simulations, until
        self.random = random.Random(seed)
        self.clicks: list[float] = []
        self.answers: list[float] = []
        self.thought = 0

    def run(self) -> None:
        with connect(f"ws://{self.place}/room", origin=f"http://{self.place}") as socket:
            while time.perf_counter() < self.until:
                order = {"do": "open", "player": self.player, "people": [0]}
                socket.send(json.dumps({**order, "strengths": [str(self.simulations)] * 2}))
                position = self.wait(socket)
                while not position["over"] and time.perf_counter() < self.until:
                    action = self.random.choice(list(position["paths"]))
                    sent = time.perf_counter()
                    socket.send(
                        json.dumps({"do": "play", "action": int(action), "ply": position["ply"]})
                    )
                    position = self.wait(socket)
                    self.clicks.append(time.perf_counter() - sent)
                    if not position["over"]:
                        position = self.wait(socket)
                        self.answers.append(time.perf_counter() - sent)

    def wait(self, socket: Any) -> dict[str, Any]:
        """The next position."""
        last = 0
        while True:
            message: dict[str, Any] = json.loads(socket.recv(timeout=120))
            if message["what"] == "error":
                raise RuntimeError(message["message"])
            if message["what"] == "thought":
                last = message["simulations"]
            if message["what"] == "position":
                self.thought += last
                return message


class RunWatcher(threading.Thread):
    """Records when a run writes a row of its table, and its evaluations until then."""

    def __init__(self, run: Path) -> None:
        super().__init__(daemon=True)
        self.table = run / "metrics.csv"
        self.rows: list[tuple[float, int]] = []

    def run(self) -> None:
        size = -1
        while True:
            if self.table.stat().st_size != size:
                size = self.table.stat().st_size
                with self.table.open() as file:
                    evaluations = int(list(csv.DictReader(file))[-1]["evaluations"])
                self.rows.append((time.perf_counter(), evaluations))
            time.sleep(0.05)

    def rate(self, begin: float, end: float) -> float:
        """Evaluations/s between the first and the last row in a period."""
        rows = [row for row in self.rows[1:] if begin <= row[0] <= end]
        if len(rows) < 2:
            return float("nan")
        return (rows[-1][1] - rows[0][1]) / (rows[-1][0] - rows[0][0])


def server_on(port: int) -> Path:
    """The folder in /proc of the process that listens on a port of this machine."""
    inodes = {
        line.split()[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if int(line.split()[1].split(":")[1], 16) == port and line.split()[3] == "0A"
    }
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            links = {str(link.readlink()) for link in (folder / "fd").iterdir()}
        except OSError:
            continue
        if any(f"socket:[{inode}]" in links for inode in inodes):
            return folder
    raise SystemExit(f"no process of yours listens on port {port}")


def memory_of(server: Path) -> float:
    """MB."""
    return int((server / "status").read_text().split("VmRSS:")[1].split()[0]) / 1000


def processor_of(server: Path) -> float:
    """Seconds of processor time that a process has used."""
    fields = (server / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--visitors", type=int, default=20)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--player", default="pretrained/go9")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--run", type=Path, help="a run that trains on the same machine")
    options = parser.parse_args()
    place = f"127.0.0.1:{options.port}"
    warm = Visitor(place, options.player, options.simulations, time.perf_counter() + 3, 0)
    warm.start()
    warm.join()
    time.sleep(1)
    server = server_on(options.port)
    watcher = None if options.run is None else RunWatcher(options.run)
    alone = time.perf_counter()
    if watcher is not None:
        watcher.start()
        time.sleep(options.seconds / 2)
    before = memory_of(server)
    began, own, its = time.perf_counter(), time.process_time(), processor_of(server)
    until = time.perf_counter() + options.seconds
    visitors = [
        Visitor(place, options.player, options.simulations, until, seed)
        for seed in range(1, options.visitors + 1)
    ]
    for visitor in visitors:
        visitor.start()
    time.sleep(options.seconds / 2)
    amid = memory_of(server)
    for visitor in visitors:
        visitor.join()
    left = time.perf_counter()
    available = (left - began) * len(os.sched_getaffinity(0))
    own, its = (time.process_time() - own) / available, (processor_of(server) - its) / available
    time.sleep(2)
    clicks = 1000 * np.concatenate([visitor.clicks for visitor in visitors])
    answers = 1000 * np.concatenate([visitor.answers for visitor in visitors])
    thought = sum(visitor.thought for visitor in visitors)
    print(f"{options.visitors} visitors, {options.simulations} simulations, {len(clicks)} moves")
    for name, found in (("click to picture", clicks), ("click to the engine's move", answers)):
        middle, high = np.percentile(found, [50, 95])
        print(f"{name}: median {middle:.0f} ms, 95 % below {high:.0f} ms")
    print(f"{thought / options.seconds:,.0f} simulations/s in the trees that moved")
    if watcher is not None:
        time.sleep(options.seconds / 2)
        times = ((alone, began), (began, left), (left, time.perf_counter()))
        first, during, last = (watcher.rate(*period) for period in times)
        rates = f"{first:,.0f} before, {during:,.0f} with them, {last:,.0f} after"
        print(f"evaluations/s of the run: {rates}")
        print(f"the run lost {1 - 2 * during / (first + last):.0%}")
    print(f"of the processors' time the page took {its:.1%}, the visitors {own:.1%}")
    after = memory_of(server)
    print(f"memory {before:.0f} MB before, {amid:.0f} MB with them, {after:.0f} MB after")


if __name__ == "__main__":
    main()
