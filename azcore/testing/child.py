"""Checks a game in a separate process: rules may write anywhere, and need not return.

The child is a fork, so it starts in milliseconds with everything already loaded. It shares some
memory with its parent, in which it records the next call of the game, and the moves before it.
"""

import faulthandler
import mmap
import os
import pickle
import re
import resource
import select
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import IO, Any, NoReturn, TypeVar

from azcore.errors import AzcoreError, FailedProgramError, FaultyGameError
from azcore.game import CompiledGame, Game, crashes, hangs
from azcore.game.faults import game_faults, game_of

_NOTE_BYTES = 1 << 16
_PIECE = 1 << 16  # bytes read at once
Result = TypeVar("Result")


def in_child(game: Game, work: "Callable[[Note], Result]") -> Result:
    """The result of `work` in a child process.

    Args:
        work: its argument takes notes; its result is pickled.

    Raises:
        FaultyGameError: a rule ended the child by a signal; the text names it and the moves.
        FailedProgramError: a rule did not return.
        BaseException: `work` raised it.
    """
    note = Note()
    reading, writing = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # or the child prints it again
    with tempfile.TemporaryFile() as trace, open(reading, "rb", 0) as answers:
        with warnings.catch_warnings():
            # Python warns of a fork with other threads, which may hold locks; here they only wait.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _work(work, note, writing, trace)
        os.close(writing)
        try:
            answer = _answer(answers, note)
        except BaseException:
            _end(child)
            rule, moves = _place(note, trace)
            print(f"azcore: ended during {rule}, {moves}", file=sys.stderr)
            raise
        if answer is None:
            _end(child)
            rule, moves = _place(note, trace)
            raise FailedProgramError(f"game {game.name}: {rule} does not return, {moves}")
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if not answer:
            raise _death(game, status, *_place(note, trace))
    is_well, value = pickle.loads(answer)
    if not is_well:
        raise value
    result: Result = value
    return result


class Note:
    """Memory that a child shares with its parent and that survives any end of the child.

    Attributes:
        looks: how often the child's `hangs` has looked, modulo 256; only a rule that holds the GIL
            stops it.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _NOTE_BYTES)
        self._moves: list[str] = []
        self._way = ""

    def __call__(self, what: str, moves: Sequence[str]) -> None:
        """Record the next call of the game, and the moves that led to the position."""
        if self._moves != moves:
            self._moves, self._way = list(moves), " ".join(moves)
        words = f"{what}\nafter {self._way or '(no action)'}\0".encode()
        self._memory[1 : 1 + len(words)] = words

    def __str__(self) -> str:
        return self._memory[1:].partition(b"\0")[0].decode()

    @property
    def looks(self) -> int:
        return self._memory[0]

    def look(self) -> None:
        self._memory[0] = (self._memory[0] + 1) % 256


def _answer(answers: IO[bytes], note: Note) -> bytes | None:
    """The child's last message; None: it hangs."""
    parts: list[bytes] = []
    looks, silent = note.looks, 0
    while silent < hangs.SECONDS * (hangs.LOOKS + 1):
        # Seconds are counted, not timed, since a stopped process is not at fault.
        if select.select([answers], [], [], 1.0)[0]:
            parts.append(answers.read(_PIECE))
            if not parts[-1]:
                return b"".join(parts)
        elif note.looks == looks:
            silent += 1
        else:
            looks, silent = note.looks, 0
    return None


def _end(child: int) -> None:
    os.kill(child, signal.SIGABRT)  # which makes it write its current place
    os.waitpid(child, 0)


def _place(note: Note, trace: IO[bytes]) -> tuple[str, str]:
    """The rule in which a child ended, and the moves before it."""
    trace.seek(0)
    places = re.findall(r'File "(.*)", line (\d+) in (.*)', trace.read().decode())
    what, _, moves = str(note).partition("\n")
    inside = (f"{name} ({f}, line {n})" for f, n, name in places if game_of(f))
    return next(inside, what), moves  # the innermost comes first


def _death(game: Game, status: int, rule: str, moves: str) -> FaultyGameError:
    """The error for a child that ended without an answer."""
    how = f"with status {status}" if status >= 0 else f"by {signal.Signals(-status).name}"
    hint = ""
    if isinstance(game, CompiledGame):
        hint = f"\n  hint: {crashes.likely_cause(game.name)}"
    return FaultyGameError(
        f"game {game.name} is at fault in {rule}: it ended its process {how}\n{moves}{hint}"
    )


def _work(work: Callable[[Note], Any], note: Note, writing: int, trace: IO[bytes]) -> NoReturn:
    """The child's work."""
    try:
        signal.set_wakeup_fd(-1)  # the parent's
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # which is for the parent, too
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.enable(trace)

        def send(is_well: bool, value: Any) -> None:
            with open(writing, "wb") as pipe:
                pipe.write(pickle.dumps((is_well, value)))

        def end(report: str) -> None:
            send(False, FailedProgramError(report))
            os._exit(0)

        hangs.watch(end, note.look)
        try:
            with game_faults():
                answer = True, work(note)
        except AzcoreError as error:
            answer = False, error
        except BaseException as error:  # a fault in azcore
            answer = False, RuntimeError("".join(traceback.format_exception(error)))
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # the rules' own output
        send(*answer)
    finally:
        os._exit(0)
