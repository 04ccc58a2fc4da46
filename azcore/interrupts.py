"""Ctrl-C and SIGTERM: the first asks azcore to end, the second ends it.

Python runs a signal handler on its main thread, between two bytecode instructions. The handler
never runs if that thread is in a compiled rule that does not return, or waits for one. So `watch`
makes the interpreter also write each signal to a pipe, which a separate thread reads. Compiled
rules and kernels run without the GIL, and plain Python lets other threads run. Only a C library
that holds the GIL stops this thread too; then SIGQUIT still works.
"""

import atexit
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

STATUS = 130  # exit status after Ctrl-C or SIGTERM, as in shells
SIGNALS = (signal.SIGINT, signal.SIGTERM)

_AS_ONE = 0.2  # seconds: the terminal and the parent process may both send the same Ctrl-C
_PATIENCE = 3.0  # seconds after the first signal before azcore reports what it waits for
_RETRY = 0.01  # seconds before calling again a handler that must not raise now
_GRACE = 1.0  # seconds after the second signal for the current shutdown to finish

_is_over = False  # whether the interpreter is shutting down
_is_tidy = False  # whether the first signal leaves the shutdown to the command
_last_words: Callable[[], str] = str  # see `say_at_the_end`


def watch() -> None:
    """Handle both signals from now on; until `be_tidy`, the first one ends azcore at once."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in SIGNALS:
        signal.signal(number, interrupt)
    threading.Thread(target=_read, args=(reading, _terminal()), daemon=True).start()


def be_tidy() -> None:
    """Raise KeyboardInterrupt on the first signal from now on, so that a command saves its work."""
    global _is_tidy
    _is_tidy = True


def be_curt() -> None:
    """End at once on the first signal from now on: this process has nothing to save."""
    global _is_tidy
    _is_tidy = False


def say_at_the_end(words: Callable[[], str]) -> None:
    """Set the text to print when a second signal ends azcore: what is saved, how to resume."""
    global _last_words
    _last_words = words


def interrupt(_signal: int, frame: FrameType | None) -> None:
    """The handler of both signals."""
    if _is_tidy and may_raise(frame):
        raise KeyboardInterrupt


def may_raise(frame: FrameType | None) -> bool:
    """Whether a signal handler may raise now; if not, it is called again shortly.

    Python swallows exceptions in a finaliser or in a callback from C. LLVM's bindings have both,
    and interrupting them frees their memory twice.
    """
    while frame is not None and not _is_over:
        module = str(frame.f_globals.get("__name__"))
        if frame.f_code.co_name == "__del__" or module.startswith("llvmlite.binding"):
            signal.signal(signal.SIGALRM, _again)
            signal.setitimer(signal.ITIMER_REAL, _RETRY)
            return False
        frame = frame.f_back
    return True


@atexit.register
def _forget() -> None:
    """Ignore SIGINT as Python exits: without its handlers, a signal would change the status."""
    global _is_over
    _is_over = True
    signal.setitimer(signal.ITIMER_REAL, 0)
    if signal.getsignal(signal.SIGINT) is no_handler:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # SIGTERM still ends a shutdown that hangs


def _again(_signal: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)


def end() -> None:
    """Raise nothing from now on: the command has ended, and Python would print a traceback.

    Only the main thread receives signals, so on another there is nothing to do.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    for number in SIGNALS:
        signal.signal(number, no_handler)


def no_handler(_signal: int, _frame: FrameType | None) -> None:
    """The handler while azcore shuts down; SIG_IGN would miss a second signal."""


def running() -> str:
    """The place of each busy thread, in a line or two."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    lines = []
    for ident, frame in sys._current_frames().items():
        if ident != threading.get_ident() and (found := place(frame)):
            lines.append(f"  {names.get(ident, 'a thread')}: {found}")
    return "\n".join(lines)


def place(innermost: FrameType) -> str:
    """The rule or function that a thread runs; empty if it only waits."""
    if innermost.f_globals.get("__name__") in ("threading", "selectors", "queue"):
        return ""
    # Compiled code has no frame of its own: its callers define a local function that names it.
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
            _say(f"azcore: finishing current work; another signal ends it at once\n{running()}\n")
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
    under_way = running()  # where it hangs now, before a tidy shutdown proceeds
    time.sleep(_GRACE)
    _say(f"azcore: ended at once, during\n{under_way}\n{_last_words()}".rstrip() + "\n")
    for child in _children(os.getpid()):
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
    with contextlib.suppress(OSError, termios.error):
        if terminal is not None:
            termios.tcsetattr(0, termios.TCSANOW, terminal)
        if os.isatty(1):
            os.write(1, b"\x1b[?25h")  # show the cursor, which a progress bar hides
    os._exit(STATUS)


def _say(text: str) -> None:
    """Write to standard error, unless that would block."""
    with contextlib.suppress(OSError):
        if select.select([], [2], [], 0)[1]:
            os.write(2, text.encode()[: select.PIPE_BUF])


def _children(process: int) -> Iterator[int]:
    """All descendants of a process."""
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                yield from _children(child)
                yield child


def _terminal() -> list[int | list[bytes | int]] | None:
    """The terminal's settings, which line editing changes."""
    try:
        return termios.tcgetattr(0)
    except (OSError, termios.error):
        return None
