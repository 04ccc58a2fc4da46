"""Trains variants of settings (arms) for equal time, and ranks them by game.

    python benchmarks/learning.py --folder runs/learning --minutes 20 --seeds 1 2 3 \
        --games connect_four chess --arms 'base:' 'few: replay.samples_per_position=0.5'

An arm is `NAME: KEY=VALUE ...`. Each run has one core and ends after `--minutes` of processor time,
so other work on the machine does not matter; self-play is one thread with a fixed number of games.
The script skips finished work: after Ctrl-C the same command resumes.

All runs of a game then play each other, search without a network and random play. The table has a
row per arm and game:

    Elo         mean over seeds in the pool of its game, by PUCT with 64 simulations; ± its 95 %
                interval from the scatter of seeds (one seed: from its games alone)
    steps, Mev  optimizer steps, and millions of evaluations, in that time
    explained   share of the variance of outcomes that searches of new games explain, in the last
                third of the run; 0 or less: the values predict nothing
    gain        games of 20 that 16 simulations win against the policy alone
    draws, plies  of the last games of self-play
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import shlex
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
HERE = ROOT / "examples/starts"
STARTS = "selfplay.start_share=0.5 selfplay.opening_plies=4 selfplay.starts="
GAMES = {  # settings by name; any other installed game works, too
    "go_7x7": "game=go game.board_size=7 game.komi=9",
    "chess_starts": f"game=chess {STARTS}[{HERE}/chess_few_pieces.epd,"
    f"{HERE}/chess_before_mate.epd]",
    "shogi_starts": f"game=shogi game.entering_king=true {STARTS}[{HERE}/shogi_before_mate.sfen]",
}
COMMON = [
    "selfplay.num_games=128",
    "selfplay.workers=1",
    "learner.steps_per_generation=50",
    "backend=inline",
    "arena.every_generations=null",
    "check.before_training=0",
]
POOL = "num_simulations=64 gumbel=null"  # the search of all runs of a game in matches
T_95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}  # Student's t, by the number of seeds


class Arm:
    """One run: a game, an arm and a seed."""

    def __init__(self, folder: Path, game: str, name: str, words: list[str], seed: int) -> None:
        self.game, self.name, self.seed, self._words = game, name, seed, words
        self.run = folder / game / f"{name}-{seed}"
        self._spent = self.run.with_suffix(".seconds")

    @property
    def seconds(self) -> float:
        """Seconds of a core that the run has used so far."""
        return float(self._spent.read_text()) if self._spent.exists() else 0.0

    def train(self, minutes: float, core: int) -> None:
        """Train until the minutes of a core are used up."""
        words = GAMES.get(self.game, f"game={self.game}").split() + COMMON + self._words
        words += [f"seed={self.seed}", f"run_dir={self.run}", "trainer.max_steps=1000000"]
        if (self.run / "config.yaml").exists():
            words.append("resume=latest")
        before, limit = self.seconds, 60.0 * minutes
        self.run.parent.mkdir(parents=True, exist_ok=True)
        with (
            self.run.with_suffix(".log").open("a") as log,
            subprocess.Popen(
                [*on_core(core), *words],
                stdout=log,
                stderr=log,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            ) as process,
        ):
            while process.poll() is None and self.seconds < limit:
                time.sleep(1.0)
                self._spent.write_text(f"{before + used(process.pid)}\n")
            process.send_signal(signal.SIGINT)
        if self.seconds < limit:
            raise SystemExit(f"{self.run.with_suffix('.log')}: the run has ended early")

    def rows(self) -> list[dict[str, str]]:
        with (self.run / "metrics.csv").open() as file:
            return list(csv.DictReader(file))

    def mean(self, column: str) -> float:
        """The mean explained variance of the last third of the run's generations, where known."""
        rows = self.rows()
        known = [float(row[column]) for row in rows[len(rows) * 2 // 3 :] if row[column]]
        return statistics.mean(known) if known else math.nan


def on_core(core: int) -> list[str]:
    """The beginning of an azcore command line that runs on one core at low priority."""
    return ["taskset", "-c", str(core), "nice", "-n", "19", sys.executable, "-m", "azcore"]


def used(pid: int) -> float:
    """Seconds of a core that a process has used; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def arena(folder: Path, players: Iterable[str], games: int, core: int) -> dict[str, dict[str, str]]:
    """The rating list of players, by name."""
    words = ["arena", f"players={json.dumps(list(players))}", f"arena.games={games}"]
    words += ["arena.opening_plies=4", f"run_dir={folder}"]
    command = [*on_core(core), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)}: {done.stderr[-1000:]}")
    with (folder / "ratings.csv").open() as file:
        return {row["player"]: row for row in csv.DictReader(file)}


def rated(arms: list[Arm], folder: Path, games: int, core: int) -> None:
    """Play the pool of a game and print its rows."""
    players = {arm: f"{arm.run} {POOL}" for arm in arms}
    ratings = arena(folder / "pool", [*players.values(), "search:64", "random"], games, core)
    elo, within = {}, {}
    for arm in arms:
        row = next(row for name, row in ratings.items() if f"{arm.run.name}@" in name)
        elo[arm], within[arm] = float(row["elo"]), (float(row["high"]) - float(row["low"])) / 2
    plain = float(ratings["search:64"]["elo"])
    names = list(dict.fromkeys(arm.name for arm in arms))
    for name in sorted(
        names, key=lambda name: -statistics.mean(elo[a] for a in arms if a.name == name)
    ):
        seeds = [arm for arm in arms if arm.name == name]
        values = [elo[arm] for arm in seeds]
        error = within[seeds[0]]
        if len(seeds) > 1:
            error = T_95.get(len(seeds), 2.6) * statistics.stdev(values) / math.sqrt(len(seeds))
        gain = statistics.mean(gained(arm, folder, core) for arm in seeds)
        last = [arm.rows()[-1] for arm in seeds]
        cells = [
            f"{statistics.mean(values):+.0f} ± {error:.0f}",
            f"{statistics.mean(int(row['step']) for row in last):,.0f}",
            f"{statistics.mean(int(row['evaluations']) for row in last) / 1e6:.1f}",
            f"{statistics.mean(arm.mean('explained_variance') for arm in seeds):+.2f}",
            f"{gain:.1f}",
            f"{statistics.mean(arm.mean('draw_rate') for arm in seeds):.0%}",
            f"{statistics.mean(arm.mean('game_length') for arm in seeds):.0f}",
        ]
        print(f"| {arms[0].game} | {name} | {len(seeds)} | " + " | ".join(cells) + " |", flush=True)
    print(f"| {arms[0].game} | search:64 | | {plain:+.0f} | | | | | | |", flush=True)


def gained(arm: Arm, folder: Path, core: int) -> float:
    """Points of 20 games that 16 simulations score against the policy alone."""
    players = [f"{arm.run} num_simulations=16", f"{arm.run} num_simulations=1"]
    ratings = arena(folder / f"gain-{arm.run.name}", players, 20, core)
    searched = next(row for name, row in ratings.items() if "simulations=16" in name)
    return 20 * float(searched["score"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("runs/learning"))
    parser.add_argument(
        "--games", nargs="+", required=True, help=f"{', '.join(GAMES)}, or any game"
    )
    parser.add_argument("--arms", nargs="+", required=True, help="'NAME: KEY=VALUE ...' each")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument(
        "--minutes", type=float, default=20.0, help="minutes of one core for each run"
    )
    parser.add_argument("--pair", type=int, default=10, help="games between two players of a pool")
    parser.add_argument("--core", type=int, default=0, help="the number of the core to use")
    asked = parser.parse_args()
    named = [
        (name, shlex.split(words)) for name, _, words in (arm.partition(":") for arm in asked.arms)
    ]
    arms = [
        Arm(asked.folder, game, name, words, seed)
        for seed in asked.seeds
        for game in asked.games
        for name, words in named
    ]
    for arm in arms:
        if arm.seconds < 60.0 * asked.minutes:
            print(f"training {arm.run}", file=sys.stderr, flush=True)
            arm.train(asked.minutes, asked.core)
    print("| Game | Arm | Seeds | Elo | Steps | Mev | Explained | Gain | Draws | Plies |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for game in asked.games:
        pool = [arm for arm in arms if arm.game == game]
        pairing = "-".join(
            [f"{asked.minutes:g}", *(name for name, _ in named), *map(str, asked.seeds)]
        )
        rated(pool, asked.folder / game / f"matches-{pairing}", asked.pair, asked.core)


if __name__ == "__main__":
    main()
