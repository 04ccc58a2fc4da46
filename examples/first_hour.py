"""A researcher's first hour as a script: what they type, how long it takes, what they see.

    python examples/first_hour.py                      # a quarter of an hour on two cores
    python examples/first_hour.py --games go --seconds 60

The plain command trains each game for `--seconds`. The table has the requested time, and the
seconds from the command to the first line, the first generation, the first rating and the end. Then
the script interrupts and resumes a run, passes wrong arguments, runs a sweep, lists runs, plays a
match, starts an engine and writes a report. It exits with status 1 if azcore breaks a promise. A
run may take 10 % or 10 s longer than requested.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AZCORE = [sys.executable, "-m", "azcore"]
SILENCE = 35.0  # most seconds without a line; azcore promises one every 30 s


class Hour:
    """Runs commands in a folder, and counts broken promises.

    Args:
        folder: the folder of the runs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.failures = folder, 0

    def expect(self, what: str, is_kept: bool, found: object = "") -> None:
        """Print one promise, and whether it was kept."""
        self.failures += not is_kept
        print(f"{'kept  ' if is_kept else 'BROKEN'}  {what}  {found}", flush=True)

    def run(self, *words: str, status: int = 0, wanted: str = "", typed: str = "") -> None:
        """Run a command, which must print `wanted` and exit with `status`."""
        began = time.monotonic()
        done = subprocess.run(
            [*AZCORE, *words], cwd=self.folder, input=typed, capture_output=True, text=True
        )
        printed = done.stdout + done.stderr
        is_kept = done.returncode == status and wanted in printed
        if not is_kept:
            print(printed[-2000:])
        seconds = f"status {done.returncode}, {time.monotonic() - began:.0f} s"
        self.expect(f"azcore {' '.join(words)}", is_kept, seconds)

    def train(self, game: str, seconds: int) -> dict[str, float]:
        """Train by the plain command; return the seconds from its start to each stage."""
        minutes, rest = divmod(seconds, 60)
        words = [f"game={game}", f"trainer.max_time=00:00:{minutes:02}:{rest:02}", "log=json"]
        began = last = time.monotonic()
        reached: dict[str, float] = {"asked": seconds}
        silence, is_explained = 0.0, False
        with subprocess.Popen(
            [*AZCORE, *words, f"run_dir={game}"], cwd=self.folder, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                now = time.monotonic()
                silence, last = max(silence, now - last), now
                content = json.loads(line)
                reached.setdefault("line", now - began)
                if content["kind"] == "generation":
                    reached.setdefault("generation", now - began)
                if content.get("rating"):
                    reached.setdefault("rating", now - began)
                is_explained |= content.get("text", "").startswith("no rating")
        reached["end"] = time.monotonic() - began
        self.expect(f"{game} ends with status 0", process.returncode == 0, process.returncode)
        self.expect(f"{game} prints a line each 30 s", silence < SILENCE, f"{silence:.0f} s")
        self.expect(f"{game} learns", "generation" in reached)
        is_kept = "rating" in reached or is_explained  # a tenth of the time may be too short
        self.expect(f"{game} is rated, or the run states why not", is_kept)
        late = reached["end"] - seconds
        self.expect(f"{game} ends in time", late < max(10.0, 0.1 * seconds), f"{late:+.0f} s")
        return reached

    def interrupt(self) -> None:
        """Press Ctrl-C after the first generation, then resume by `resume=latest`."""
        words = ["game=tic_tac_toe", "scale=smoke", "trainer.max_steps=100000", "run_dir=stopped"]
        with subprocess.Popen(
            [*AZCORE, *words], cwd=self.folder, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if "generation 1 " in line:
                    process.send_signal(signal.SIGINT)
        self.expect("Ctrl-C ends a run with status 130", process.returncode == 130)
        row = (self.folder / "stopped/metrics.csv").read_text().splitlines()[-1]
        step = int(row.split(",")[1]) + 8
        words[2] = f"trainer.max_steps={step}"
        self.run(*words, "resume=latest", wanted=f"step {step}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--games", nargs="+", default=["go", "chess", "shogi"])
    parser.add_argument("--seconds", type=int, default=120)
    asked = parser.parse_args()
    os.environ.pop("HYDRA_FULL_ERROR", None)
    with tempfile.TemporaryDirectory() as folder:
        hour = Hour(Path(folder))
        hour.run("--version", wanted="azcore")
        hour.run("--help", wanted="game=NAME")
        hour.run("game=go", "lr=0.1", status=2, wanted="learner.learning_rates")
        hour.run("game=go", "selfplay.temperature=2", status=2, wanted="search=puct")
        table = {game: hour.train(game, asked.seconds) for game in asked.games}
        hour.interrupt()
        smoke = ["game=tic_tac_toe", "scale=smoke"]
        hour.run("-m", *smoke, "seed=1,2", "hydra.sweep.dir=sweep", "compare.after_sweep=false")
        hour.run("runs", "runs.folder=.", wanted="stopped")
        hour.run("arena", "players=[stopped,random]", "arena.games=20", wanted="Elo")
        hour.run("engine", "checkpoint=stopped", typed="genmove b\nquit\n", wanted="= ")
        hour.run("report", "run_dir=stopped", wanted="report.html")
        hour.run("info", "checkpoint=stopped", wanted="tic_tac_toe")
    stages = ["asked", "line", "generation", "rating", "end"]
    print(f"\n{'seconds to':<12}" + "".join(f"{stage:>12}" for stage in stages))
    for game, reached in table.items():
        numbers = (f"{reached[stage]:.0f}" if stage in reached else "-" for stage in stages)
        print(f"{game:<12}" + "".join(f"{number:>12}" for number in numbers))
    return 1 if hour.failures else 0


if __name__ == "__main__":
    sys.exit(main())
