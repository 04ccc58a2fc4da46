"""Reports rules that do not return: a thread checks the other threads every few seconds.

After seeing the same call of a rule `LOOKS` times, it reports the call with the position. Rules and
searches record nothing, so watching costs nothing between two checks. A library that holds the GIL
stops this thread, too: `azcore.testing.child` watches from another process.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from types import FrameType

from azcore import interrupts
from azcore.game import faults

SECONDS = 5.0  # between two checks
LOOKS = 6  # counted rather than timed, since a stopped process is not at fault
TEXT_SECONDS = 3.0  # for the game's texts, whose rules may hang, too
# Methods that may take long: they compile, or read large files.
_SLOW = {"prepare", "opening_book", "tablebase"}
_has_begun = threading.Event()
os.register_at_fork(after_in_child=_has_begun.clear)  # its threads exist only in the parent
# thread -> its call of a rule, and how many checks saw it
Seen = dict[int, tuple[FrameType, int]]


def watch(
    tell: Callable[[str], None] | None = None, has_looked: Callable[[], None] | None = None
) -> None:
    """Watch the rules of this process from now on; idempotent.

    Args:
        tell: called with each report; None: print it on standard error.
        has_looked: called after each check.
    """
    if not _has_begun.is_set():
        _has_begun.set()
        arguments = (tell or print_it, has_looked or (lambda: None))
        threading.Thread(target=_watch, args=arguments, name="hangs", daemon=True).start()


def print_it(report: str) -> None:
    """Print a report."""
    print(f"azcore: {report}", file=sys.stderr, flush=True)


def _watch(tell: Callable[[str], None], has_looked: Callable[[], None]) -> None:
    seen: Seen = {}
    pause = threading.Event()
    while not pause.wait(SECONDS):
        seen = _look(seen, tell)
        has_looked()


def _look(before: Seen, tell: Callable[[str], None]) -> Seen:
    seen: Seen = {}
    for thread, innermost in sys._current_frames().items():
        call = _call_of_rule(innermost)
        if call is not None:
            known, looks = before.get(thread, (None, 0))
            seen[thread] = call, (looks + 1 if known is call else 0)
            if seen[thread][1] == LOOKS:
                tell(_report(call))
    return seen


@cache
def _rules() -> frozenset[str]:
    from azcore.game.compiled import Rules
    from azcore.game.contract import Game

    methods = {name for name, value in vars(Game).items() if callable(value)}
    return frozenset((methods - _SLOW) | Rules.__annotations__.keys())


def _call_of_rule(innermost: FrameType) -> FrameType | None:
    """The frame of the rule that runs on this thread, or of its caller if it is compiled."""
    if "under_way" in innermost.f_code.co_varnames:
        return innermost if "under_way" in innermost.f_locals else None
    rule = None
    frame: FrameType | None = innermost
    while frame is not None:
        file = frame.f_code.co_filename
        if faults.game_of(file) is not None:
            rule = frame if frame.f_code.co_name in _rules() else rule
        elif faults.is_azcores(file):
            return rule
        frame = frame.f_back
    return None  # a program of the author's own calls it


def _report(call: FrameType) -> str:
    rule = interrupts.place(call)
    texts: list[str] = []

    def collect() -> None:
        with suppress(Exception):  # another fault must not hide the one to report
            for text in _texts(call):
                texts.append(text)

    thread = threading.Thread(target=collect, daemon=True)
    thread.start()
    thread.join(TEXT_SECONDS)
    way = " ".join(texts)
    return f"{rule} has not returned for {SECONDS * LOOKS:g} s" + (f"\n  {way}" if way else "")


def _texts(call: FrameType) -> Iterator[str]:
    """The position in which azcore called a rule: an earlier position and the actions from it."""
    names, values = call.f_code.co_varnames, call.f_locals
    game, state, actions = None, None, []
    if not values.get("under_way"):
        game, state = (values.get(name) for name in names[:2])
        actions = [values[names[2]]] if call.f_code.co_name == "step" else []
    frame: FrameType | None = call
    while frame is not None:
        if "position_here" in frame.f_code.co_varnames and "position_here" in frame.f_locals:
            game, state, actions = frame.f_locals["position_here"]()
        frame = frame.f_back
    if game is None:
        return
    yield f"from {game.state_to_text(state)}:"
    for ply, action in enumerate(actions):
        if ply > 0:
            state = game.step(state, actions[ply - 1])
        yield game.action_to_text(state, action)
