"""Ctrl-C and SIGTERM, once and twice, whatever is under way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from numba import config

from azcore import interrupts
from conftest import TINY
from faulty_kit import install

# One that lets a KeyboardInterrupt through is ended by the first Ctrl-C.
HANGS = """while True:
    try:
        print('hangs', flush=True)
        while True: pass
    except BaseException: pass"""
HANGS_COMPILED = "print('hangs')\nwhile state.player >= 0: state.player = 1 - state.player"
TRAIN = [*TINY[1:], "check.before_training=0", "run_dir=run"]
SIGNALS = [signal.SIGINT, signal.SIGTERM]


def started(folder: Path, arguments: Sequence[str], **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "azcore", "game=faulty", *arguments],
        cwd=folder,
        env={**os.environ, **env, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended_by(process: subprocess.Popen[str], first: int, second: int) -> str:
    """What it says from its hanging on, after one signal and a second one."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if "hangs" in line:
            break
    assert "hangs" in said, said
    process.send_signal(first)
    time.sleep(2 * interrupts._AS_ONE)
    assert process.poll() is None  # nothing but a second one helps
    process.send_signal(second)
    said = process.communicate(timeout=60)[0]
    assert process.returncode == 130
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize(
    ("arguments", "typed"),
    [
        ([*TRAIN, "selfplay.workers=2"], ""),
        (["command=arena", "players=[random,search]", "arena.games=2"], ""),
    ],
    ids=["train", "arena"],
)
def test_a_second_one_ends_a_rule_that_never_returns(
    tmp_path: Path, arguments: list[str], typed: str
) -> None:
    env = install(tmp_path, "plain", "step", HANGS)
    with started(tmp_path, arguments, **env) as process:
        assert process.stdin is not None
        process.stdin.write(typed)
        process.stdin.flush()
        said = ended_by(process, signal.SIGINT, signal.SIGTERM)
    assert "azcore: ended at once, during\n" in said
    assert f": step ({tmp_path}/faulty/game.py, line " in said
    if arguments[0] == TRAIN[0]:
        assert "nothing saved; resume with: python -m azcore game=faulty resume=" in said


def test_the_first_one_ends_a_check_whose_rule_never_returns(tmp_path: Path) -> None:
    env = install(tmp_path, "plain", "step", HANGS)
    with started(tmp_path, ["command=check"], **env) as process:
        assert process.stdout is not None
        while "hangs" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[0]
    assert process.returncode == 130
    assert said.startswith(f"azcore: ended during step ({tmp_path}/faulty/game.py, line ")
    assert "Traceback" not in said


@pytest.mark.skipif(config.DISABLE_JIT, reason="of compiled rules")
def test_a_second_one_ends_a_compiled_rule_that_never_returns(tmp_path: Path) -> None:
    env = install(tmp_path, "compiled", "outcome", HANGS_COMPILED)
    with started(tmp_path, [*TRAIN, "selfplay.workers=2"], **env) as process:
        said = ended_by(process, signal.SIGTERM, signal.SIGINT)
    assert ": outcome, a compiled rule of game faulty\n" in said


PROGRAM = """
import os, subprocess, sys
child = subprocess.Popen(["sleep", "100"], stdout=subprocess.DEVNULL)
with open("pids", "w") as file:
    print(os.getpid(), child.pid, file=file)
for line in sys.stdin:
    print("= a1" if "genmove" in line else "=", end="\\n\\n", flush=True)
"""


def test_what_was_started_ends_too(tmp_path: Path) -> None:
    """Another program that plays, and what that has started."""
    env = install(tmp_path, "plain", "step", HANGS)
    (tmp_path / "program.py").write_text(PROGRAM)
    players = f"players=[random,'gtp {sys.executable} {tmp_path}/program.py']"
    arguments = ["command=arena", players, "arena.games=2", "arena.opening_plies=0"]
    with started(tmp_path, arguments, **env) as process:
        ended_by(process, signal.SIGINT, signal.SIGINT)
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        assert not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    for _ in range(100):  # until whoever reaps orphans has done so
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state == "Z":
            return False
        time.sleep(0.1)
    return True


@pytest.mark.parametrize(
    ("number", "seconds"), [*zip(2 * SIGNALS, [0.15, 0.4, 1.0, 2.0], strict=True)]
)
def test_while_modules_load(tmp_path: Path, number: int, seconds: float) -> None:
    """From when Python itself has begun; before that, it has a message of its own."""
    begun = "import sys; sys.argv = ['azcore', 'game=tic_tac_toe', 'run_dir=run']; "
    begun += "from azcore.__main__ import main; from azcore import interrupts; "
    begun += "watch = interrupts.watch; interrupts.watch = lambda: (watch(), print('watches')); "
    with subprocess.Popen(
        [sys.executable, "-uc", begun + "main()"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "watches\n"
        time.sleep(seconds)
        process.send_signal(number)
        errors = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert errors == ""


@pytest.mark.parametrize(
    ("command", "number"), [*zip(["engine", "play", "arena"], 2 * SIGNALS, strict=False)]
)
def test_one_is_enough_where_nothing_hangs(tmp_path: Path, number: int, command: str) -> None:
    # An engine thinks on another thread, so that its main one is free whatever hangs there.
    body = HANGS if command == "engine" else "print('hangs', flush=True)"
    env = install(tmp_path, "plain", "step", body)
    arguments = {
        "engine": [],
        "play": [],
        "arena": ["players=[random,search]", "arena.games=10000"],
    }[command]
    with started(tmp_path, [f"command={command}", *arguments], **env) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("genmove b\n" if command == "engine" else "b2\n")
        process.stdin.flush()
        for line in process.stdout:
            if "hangs" in line:
                break
        process.send_signal(number)
        said = ""
        while process.poll() is None:
            said += process.stdout.readline()
        said += process.stdout.read()
    assert process.returncode == 130, said
    assert "Traceback" not in said


SIGNALLED = """
import os, signal, sys, time
from azcore import interrupts

interrupts.watch()
interrupts.be_tidy()

class Held:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(3):
            time.sleep(0)
        print("freed")

def bound():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(3):
        time.sleep(0)
    print("bound")

try:
    if sys.argv[1] == "finaliser":
        Held()
    else:
        source = {"__name__": "llvmlite.binding.ffi", "bound": bound}
        exec("def close(): bound()", source)
        source["close"]()
    time.sleep(5)
    print("lost")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    ("where", "first"), [("finaliser", "freed"), ("bindings", "bound")], ids=["finaliser", "llvm"]
)
def test_a_signal_waits_where_what_it_raises_would_be_lost(where: str, first: str) -> None:
    command = [sys.executable, "-c", SIGNALLED, where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == ([first, "interrupted"], "")


LATE = """
import os, signal, sys
from azcore import interrupts

class Late:
    def __del__(self, kill=os.kill, process=os.getpid(), number=signal.SIGINT):
        kill(process, number)

interrupts.watch()
interrupts.end()
late = Late()
sys.exit(interrupts.STATUS)
"""


def test_one_that_comes_after_pythons_handlers_are_gone() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")
