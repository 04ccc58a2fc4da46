"""Ctrl-C and SIGTERM: the first asks azcore to end, a second one ends it.

Python runs the handler of a signal on its main thread, between two of its own instructions: never,
if that thread is in a compiled rule that does not return, or waits for one. So `watch` has the
interpreter write each signal to a pipe as well, and a thread of its own reads them there. Compiled
rules and kernels run without the GIL, and plain Python lets other threads run; only a library in C
that keeps the GIL stops this one too, and then SIGQUIT is left.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

STATUS = 130  # exit status after Ctrl-C or SIGTERM, as shells have it
SIGNALS = (signal.SIGINT, signal.SIGTERM)

_AS_ONE = 0.2  # seconds: a terminal and the program that started us may both send the same Ctrl-C
_PATIENCE = 3.0  # seconds after the first until people are told what it waits for
_GRACE = 1.0  # seconds after the second in which an end that is under way may come

_is_tidy = False  # whether the first signal leaves the end to the command
_last_words: Callable[[], str] = str  # see `say_at_the_end`


def watch() -> None:
    """Look after both signals from now on; the first one ends azcore at once until `be_tidy`."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in SIGNALS:
        signal.signal(number, interrupt)
    threading.Thread(target=_read, args=(reading, _terminal()), daemon=True).start()


def be_tidy() -> None:
    """From now on the first signal is a KeyboardInterrupt, so that what is under way is kept."""
    global _is_tidy
    _is_tidy = True


def say_at_the_end(words: Callable[[], str]) -> None:
    """Tell people, when a second signal ends azcore, what is kept and how to go on."""
    global _last_words
    _last_words = words


def interrupt(_signal: int, _frame: FrameType | None) -> None:
    """The handler of both signals."""
    if _is_tidy:
        raise KeyboardInterrupt


def no_handler(_signal: int, _frame: FrameType | None) -> None:
    """The handler while azcore is ending: not SIG_IGN, by which a second one would be missed."""


def running() -> str:
    """Where each thread is that does something, in a line or two each."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    lines = []
    for ident, frame in sys._current_frames().items():
        if ident != threading.get_ident() and (place := _place(frame)):
            lines.append(f"  {names.get(ident, 'a thread')}: {place}")
    return "\n".join(lines)


def _place(innermost: FrameType) -> str:
    """The rule or function that a thread is in; nothing for one that only waits."""
    if innermost.f_globals.get("__name__") in ("threading", "selectors", "queue"):
        return ""
    # What is compiled has no frame of its own: who calls rules has a local function that knows.
    under_way = innermost.f_locals.get("under_way")
    if under_way is not None:
        return str(under_way())
    frame: FrameType | None = innermost
    while frame is not None:
        if not _is_library(frame):
            return f"{frame.f_code.co_name} ({frame.f_code.co_filename}, line {frame.f_lineno})"
        frame = frame.f_back
    return ""


def _is_library(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file.startswith("<") or os.path.dirname(os.__file__) in file


# -- on the watching thread ----------------------------------------------------------------------


def _read(pipe: int, terminal: list[int | list[bytes | int]] | None) -> None:
    first: float | None = None  # when the first signal came
    has_spoken = False
    while True:
        wait = first is not None and not has_spoken
        if not select.select([pipe], [], [], _PATIENCE if wait else None)[0]:
            _say(f"azcore: waits for what is under way; once more ends it at once\n{running()}\n")
            has_spoken = True
            continue
        if not any(number in SIGNALS for number in os.read(pipe, 64)):
            continue
        now = time.monotonic()
        if not _is_tidy:
            os._exit(STATUS)
        if first is None:
            first = now
        elif now - first > _AS_ONE:
            _end(terminal)


def _end(terminal: list[int | list[bytes | int]] | None) -> None:
    under_way = running()  # where it hangs, not where a tidy end has got to
    time.sleep(_GRACE)
    _say(f"azcore: ended at once, in the midst of\n{under_way}\n{_last_words()}".rstrip() + "\n")
    for child in _children(os.getpid()):
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
    with contextlib.suppress(OSError, termios.error):
        if terminal is not None:
            termios.tcsetattr(0, termios.TCSANOW, terminal)
        if os.isatty(1):
            os.write(1, b"\x1b[?25h")  # the cursor, which a progress bar hides
    os._exit(STATUS)


def _say(text: str) -> None:
    """Write to standard error, unless nobody takes it away there."""
    with contextlib.suppress(OSError):
        if select.select([], [2], [], 0)[1]:
            os.write(2, text.encode()[: select.PIPE_BUF])


def _children(process: int) -> Iterator[int]:
    """All processes that this one has started, and theirs."""
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                yield from _children(child)
                yield child


def _terminal() -> list[int | list[bytes | int]] | None:
    """How the terminal is set: the line being typed changes it."""
    try:
        return termios.tcgetattr(0)
    except (OSError, termios.error):
        return None
