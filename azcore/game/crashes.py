"""Reports when rules end the process by a signal: a shell does it, since the process cannot.

Compiled rules may write anywhere. Python's `faulthandler` writes to a pipe where the process was;
the shell reads it, prints one sentence on standard error, and ends with the process in any case.
"""

import faulthandler
import os
import signal
import sys
from contextlib import suppress

CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE)
# The shell's input: "Fatal Python error: Segmentation fault", then lines, of which the innermost
# place is first: " File "rules.py", line 3 in step". The shell runs orphaned, since this process
# may count or kill its children.
_SHELL = """exec 3<&0
{ read -r what && {
    while read -r place; do case $place in File*) break;; esac; done
    printf '%s\\n' "azcore: ended by a ${what#*: }${place:+ in ${place#File }}; $0" >&2
} } <&3 &"""
_trace: int | None = None  # the write end of the pipe


def likely_cause(game: str = "NAME") -> str:
    """The likely cause of a crash, and how to find it."""
    return (
        "a compiled rule may have written past the end of an array: python -m azcore check "
        f"game={game} names the rule and the moves, and with NUMBA_DISABLE_JIT=1 it stops there"
    )


def likely_cause_of(status: int) -> str:
    """The likely cause of a self-play process's end; empty: none."""
    if -status in CRASHES:
        return likely_cause()
    return (
        "the kernel ends processes this way when memory runs out"
        if -status == signal.SIGKILL
        else ""
    )


def watch(game: object = None) -> None:
    """From now on, report it when a signal of `CRASHES` ends this process."""
    global _trace
    is_anothers = faulthandler.is_enabled() and _trace is None  # as by `python -X faulthandler`
    if sys.stderr is None or is_anothers:
        return
    known = isinstance(game, str) and game.isidentifier()
    cause = likely_cause(str(game)) if known else likely_cause()
    reading, writing = os.pipe()
    with suppress(OSError), open(reading, "rb", 0):  # OSError: there is no shell
        shell = os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", _SHELL, cause],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, reading, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),  # readers wait until it ends
            ],
            setsid=True,  # Ctrl-C is for this process alone
        )
        os.waitpid(shell, 0)
    faulthandler.enable(writing, all_threads=False)
    if _trace is not None:
        os.close(_trace)
    _trace = writing
