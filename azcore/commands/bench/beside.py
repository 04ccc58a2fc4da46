"""Runs other programs on azcore's work, each by a script in its own process.

`benchmarks/peers` in azcore's sources has those of the peers that it knows, and describes what a
script reads and writes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azcore.assembly.parts import LearningSettings
from azcore.commands.bench.settings import BenchSettings, PeerSettings
from azcore.errors import AzcoreError, SettingError

_SCRIPTS = Path(__file__).parents[3] / "benchmarks" / "peers"  # present in a checkout only
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
class Peer:
    """A program that is installed and plays the game."""

    name: str
    command: tuple[str, ...]
    folder: Path  # where the command is run
    game: str  # its name for the game
    versions: Mapping[str, str]  # of its packages


def find_peers(
    wanted: object,
    known: Mapping[str, PeerSettings],
    options: BenchSettings,
    settings: LearningSettings,
) -> list[Peer]:
    """The requested peers, checked before anything is measured.

    Args:
        wanted: the names in `peers`.
        known: the peers of the settings by name.
        options: name the Python that has them.
        settings: name the game.

    Raises:
        SettingError: one is unknown, does not play the game or is not installed.
    """
    names = ", ".join(known)
    if not isinstance(wanted, list | tuple):
        raise SettingError(f"peers must be a list of {names}, got {wanted!r}")
    for name in wanted:
        if not isinstance(name, str) or name not in known:
            raise SettingError(f"peers must be some of {names}, got {name!r}")
    return [_peer(name, known[name], options, settings) for name in dict.fromkeys(wanted)]


def _peer(
    name: str, peer: PeerSettings, options: BenchSettings, settings: LearningSettings
) -> Peer:
    game, python = settings.game, options.peers_python or sys.executable
    if game.name not in peer.games:
        raise SettingError(
            f"peer {name} plays {', '.join(peer.games)} (bench.peers.{name}.games), "
            f"got game={game.name}"
        )
    try:
        theirs = peer.games[game.name].format(**game.settings)
    except (LookupError, ValueError) as error:
        raise SettingError(
            f"bench.peers.{name}.games.{game.name} must name settings of {game.name} in its "
            f"braces, got {peer.games[game.name]!r}"
        ) from error
    versions = _versions(python, peer.requires)
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        raise SettingError(
            f"peer {name} needs {', '.join(missing)} in {python}; install with pip install "
            f"{' '.join(missing)}, or name another Python by bench.peers_python=PATH"
        )
    if peer.script is None:
        if not (_SCRIPTS / f"{name}.py").is_file():
            raise SettingError(
                f"bench.peers.{name}.script must be a path, got None: "
                f"{_SCRIPTS / name}.py exists in azcore's sources only"
            )
        command, folder = [python, "-m", f"{_SCRIPTS.name}.{name}"], _SCRIPTS.parent
    else:
        script = Path(peer.script).absolute()
        if not script.is_file():
            raise SettingError(f"bench.peers.{name}.script must be a file, got {peer.script!r}")
        command, folder = [python, str(script)], Path.cwd()
    return Peer(
        name=name,
        command=tuple(command),
        folder=folder,
        game=theirs,
        versions={name: str(version) for name, version in versions.items()},
    )


def _versions(python: str, packages: Sequence[str]) -> dict[str, str | None]:
    """The version of each package in a Python; None where it is not installed."""
    try:
        done = subprocess.run(
            [python, "-c", _VERSIONS, *packages], capture_output=True, text=True, check=True
        )
        found: dict[str, str | None] = json.loads(done.stdout)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        raise SettingError(f"bench.peers_python must be a Python, got {python!r}") from error
    return found


def work_for(
    peer: Peer, row: str, options: BenchSettings, settings: LearningSettings
) -> dict[str, Any]:
    """The work that a script receives."""
    return {
        "rows": [row],  # of bench.rows
        "game": peer.game,
        "began": time.time(),  # when its process was started, for the row `ready`
        "seconds": options.seconds,  # to measure each figure, about
        "num_simulations": options.num_simulations,  # a move, in the row `search`
        "opening_plies": options.opening_plies,  # random plies before it
        "selfplay_simulations": settings.search.num_simulations,  # a move, in `selfplay`, `ready`
        "num_games": settings.selfplay.num_games,  # at once; another number may suit a peer better
        "batches": list(options.peer_batches),  # numbers of games that a peer may try
        "blocks": options.blocks,  # of the network
        "channels": options.channels,
    }


def run_peer(
    peer: Peer, work: Mapping[str, Any], minutes: float, doing: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """A peer's rows as they arrive: what, value, unit, note.

    Args:
        peer: the program.
        work: see `work_for`.
        minutes: time limit, after which the process is killed.
        doing: called with the peer's current task.

    Raises:
        PeerError: the peer failed, wrote an invalid row, or took too long.
    """
    where = f"peer {peer.name}, {', '.join(work['rows'])}"
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            peer.command,
            cwd=peer.folder,
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

        timer = threading.Timer(60 * minutes, end)
        timer.start()
        try:
            yield from _read_rows(process, work, where, doing)
        finally:
            timer.cancel()
            process.kill()  # it has ended, unless we stop first
            status = process.wait()
        if late.is_set():
            raise PeerError(f"{where}: not done within bench.peer_minutes={minutes:g}")
        if status != 0:
            errors.seek(0)
            words = [line.strip() for line in errors if line.strip()]
            raise PeerError(f"{where}: {words[-1] if words else f'ended with status {status}'}")


def _read_rows(
    process: subprocess.Popen[str],
    work: Mapping[str, Any],
    where: str,
    doing: Callable[[str], None],
) -> Iterator[dict[str, Any]]:
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
            found = {
                "what": str(said["what"]),
                "value": float(said["value"]),
                "unit": str(said["unit"]),
                "note": str(said.get("note", "")),
            }
        except (ValueError, LookupError, TypeError) as error:
            raise PeerError(f"{where}: {line.strip()!r} is not a row") from error
        yield found
    process.wait()
