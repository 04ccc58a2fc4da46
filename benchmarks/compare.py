"""Compares azcore with other programs: `command=bench`, with each row measured for them, too.

    python benchmarks/compare.py --peers pgx openspiel -- game=go bench.rows=[rules,search,selfplay]

A script measures each program in its own process. `benchmarks/peers` has the scripts of the peers
in `peers.yaml`, and describes what a script reads and writes. `--known FILE` names your own peers.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from azcore import cli
from azcore.commands.bench import bench
from azcore.commands.bench.results import Figure
from azcore.errors import AzcoreError, SettingError
from azcore.settings import build

SCRIPTS = Path(__file__).parent / "peers"
_VERSIONS = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        found[name] = None
print(json.dumps(found))
"""


class PeerError(AzcoreError):
    """A peer could not be measured; the message has the reason."""


@dataclass(frozen=True, kw_only=True)
class PeerSettings:
    """A program that can be measured on the same work as azcore, as in `peers/peers.yaml`."""

    script: str | None  # path; None: the script of its name in this folder
    requires: tuple[str, ...]  # packages that its Python must have
    games: dict[str, str]  # our name: its name, with our settings in braces


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A program that is installed and plays the game."""

    name: str
    command: tuple[str, ...]
    folder: Path  # the folder to run it in
    game: str  # its name for the game
    versions: Mapping[str, str]  # of its packages
    task: bench.Task
    batches: Sequence[int]  # numbers of games that it may try; its best counts
    minutes: float  # limit per row

    def work(self, row: str) -> dict[str, Any]:
        """The work that its script receives."""
        options, settings = self.task.options, self.task.settings
        return {
            "rows": [row],  # of bench.rows
            "game": self.game,
            "began": time.time(),  # when its process was started, for the row `ready`
            "seconds": options.seconds,  # to measure each figure, about
            "num_simulations": options.num_simulations,  # a move, in the row `search`
            "opening_plies": options.opening_plies,  # random plies before it
            "selfplay_simulations": settings.search.num_simulations,  # in `selfplay`, `ready`
            "num_games": settings.selfplay.num_games,  # at once; others may suit a peer better
            "batches": list(self.batches),
            "blocks": options.blocks,  # of the network
            "channels": options.channels,
        }

    def figures(self, row: str, say: Callable[[str], None]) -> Iterator[Figure]:
        """Its figures of one row as they arrive.

        Raises:
            PeerError: the peer failed, wrote an invalid row, or took too long.
        """
        where = f"peer {self.name}, {row}"
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                self.command,
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            ) as process,
        ):
            late = threading.Event()

            def end() -> None:
                late.set()
                process.kill()

            timer = threading.Timer(60 * self.minutes, end)
            timer.start()
            try:
                yield from _read_figures(process, self.work(row), where, say)
            finally:
                timer.cancel()
                process.kill()  # it has ended, unless we stop first
                status = process.wait()
            if late.is_set():
                raise PeerError(f"{where}: not done within --minutes {self.minutes:g}")
            if status != 0:
                errors.seek(0)
                words = [line.strip() for line in errors if line.strip()]
                raise PeerError(f"{where}: {words[-1] if words else f'ended with status {status}'}")


def find_peers(wanted: argparse.Namespace, task: bench.Task) -> dict[str, Peer]:
    """The requested peers, checked before anything is measured.

    Raises:
        SettingError: one is unknown, does not play the game or is not installed.
    """
    try:
        known = yaml.safe_load(wanted.known.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise SettingError(f"--known must be a file of peers, got {str(wanted.known)!r}") from error
    for name in wanted.peers:
        if name not in known:
            raise SettingError(f"--peers must be some of {', '.join(known)}, got {name!r}")
    return {
        name: _peer(name, build(PeerSettings, known[name], name), wanted, task)
        for name in wanted.peers
    }


def _peer(name: str, peer: PeerSettings, wanted: argparse.Namespace, task: bench.Task) -> Peer:
    game, python, place = (
        task.settings.game,
        wanted.python,
        f"{name}.games.{task.settings.game.name}",
    )
    if game.name not in peer.games:
        raise SettingError(
            f"peer {name} plays {', '.join(peer.games)} ({name}.games in {wanted.known}), "
            f"got game={game.name}"
        )
    try:
        theirs = peer.games[game.name].format(**game.settings)
    except (LookupError, ValueError) as error:
        raise SettingError(
            f"{place} must name settings of {game.name} in its braces, "
            f"got {peer.games[game.name]!r}"
        ) from error
    versions = _versions(python, peer.requires)
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        raise SettingError(
            f"peer {name} needs {', '.join(missing)} in {python}; install with pip install "
            f"{' '.join(missing)}, or name another Python by --python PATH"
        )
    command, folder = [python, "-m", f"{SCRIPTS.name}.{name}"], SCRIPTS.parent
    if peer.script is not None:
        script = Path(peer.script).absolute()
        if not script.is_file():
            raise SettingError(f"{name}.script must be a file, got {peer.script!r}")
        command, folder = [python, str(script)], Path.cwd()
    return Peer(
        name=name,
        command=tuple(command),
        folder=folder,
        game=theirs,
        versions={name: str(version) for name, version in versions.items()},
        task=task,
        batches=wanted.batches,
        minutes=wanted.minutes,
    )


def _versions(python: str, packages: Sequence[str]) -> dict[str, str | None]:
    """The version of each package in a Python; None where it is not installed."""
    try:
        done = subprocess.run(
            [python, "-c", _VERSIONS, *packages], capture_output=True, text=True, check=True
        )
        found: dict[str, str | None] = json.loads(done.stdout)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        raise SettingError(f"--python must be a Python, got {python!r}") from error
    return found


def _read_figures(
    process: subprocess.Popen[str],
    work: Mapping[str, Any],
    where: str,
    doing: Callable[[str], None],
) -> Iterator[Figure]:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(work))
        process.stdin.close()
    except BrokenPipeError:
        pass  # its exit status is more informative
    for line in process.stdout:
        try:
            said = json.loads(line)
            if "doing" in said:
                doing(f"{where}: {said['doing']}")
                continue
            figure = Figure(
                what=str(said["what"]),
                value=float(said["value"]),
                unit=str(said["unit"]),
                note=str(said.get("note", "")),
            )
        except (ValueError, LookupError, TypeError) as error:
            raise PeerError(f"{where}: {line.strip()!r} is not a row") from error
        yield figure
    process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", nargs="+", required=True, help="peers, named as in --known")
    parser.add_argument(
        "--known", type=Path, default=SCRIPTS / "peers.yaml", help="a YAML file of peers"
    )
    parser.add_argument(
        "--python", default=sys.executable, help="a Python with the peers' packages"
    )
    parser.add_argument("--batches", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--minutes", type=float, default=15.0, help="limit for a peer per row")
    parser.add_argument("words", nargs="*", help="KEY=VALUE of command=bench, after --")
    wanted = parser.parse_args()
    bench.find_peers = partial(find_peers, wanted)
    sys.argv = [sys.argv[0], "bench", *wanted.words]
    cli.main()


if __name__ == "__main__":
    main()
