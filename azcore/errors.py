"""The errors that azcore raises for input it cannot use.

Every error a user can cause is an `AzcoreError`, whose text is one sentence with the value received
and the value wanted. The command line prints that sentence and exits with status 2. Any other
exception is a bug in the program and keeps its traceback.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class AzcoreError(ValueError):
    """Base of every error caused by input: settings, files, moves, plugins."""


class SettingError(AzcoreError):
    """A setting is unknown, of the wrong type or out of range."""


class GameError(AzcoreError):
    """A game is unknown, cannot have the board requested, or breaks the contract."""


class FaultyGameError(GameError):
    """A game's own code is at fault; the text has several lines, written for its author."""


class InvalidTextError(AzcoreError):
    """Text that is not an action or a state, such as `z99`."""


class TranscriptError(InvalidTextError):
    """A transcript that is not a game of these settings, or not one to learn from.

    Args:
        reason: a few words shared by errors of its kind, to count them by.
        before: a `Transcript` of the game up to the unreadable or illegal move; None: even its
            start is unreadable.
    """

    def __init__(self, sentence: str, reason: str, before: Any = None) -> None:
        super().__init__(sentence)
        self.reason, self.before = reason, before


class IllegalActionError(AzcoreError):
    """A well-formed action that the rules forbid in this state."""


class AmbiguousTextError(AzcoreError):
    """Text that could mean more than one legal action."""


class GameFileError(AzcoreError):
    """A game file or transcript is truncated, altered, of another game, or cannot be written."""


class CheckpointError(AzcoreError):
    """A checkpoint is truncated, altered, of another game or version, or missing."""


class DivergedError(AzcoreError):
    """Training produced a loss or weights that are not finite; earlier checkpoints stay valid."""


class FailedProgramError(AzcoreError):
    """A playing program cannot be restarted, or a rule does not return. Exit status: 1."""


class LostProcessError(AzcoreError):
    """A process of self-play or of matches died, and restarting it did not help."""


def first_line(error: BaseException) -> str:
    """The first line of another library's error message; without a message, the error's type."""
    return next(iter(str(error).splitlines()), type(error).__name__)


@contextmanager
def os_errors_as(kind: type[Exception], what: str) -> Iterator[None]:
    """Raise the system's errors as `kind`: what failed, then the system's reason."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what}: {error.strerror}") from error
