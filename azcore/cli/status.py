"""Maps unusable input to a one-sentence message and an exit status."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, NoReturn

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from azcore import interrupts
from azcore.commands import COMMANDS
from azcore.errors import AzcoreError, FailedProgramError, FaultyGameError


def run_command(command: str, config: dict[str, Any]) -> int:
    """Run a command with its settings. Returns its exit status."""
    run: Callable[[dict[str, Any]], int] = resolve_name(COMMANDS[command])
    from azcore.game import crashes, hangs  # imports numba, for which --help need not wait

    hangs.watch()
    crashes.watch((config.get("game") or {}).get("name"))
    interrupts.be_tidy()  # before this, only imports run
    interrupts.say_at_the_end(str)  # nothing yet; in a sweep, drop the previous job's
    return run(config)


def status_of(work: Callable[[], int]) -> int:
    """The exit status of some work: 2 and a message for unusable input."""
    from azcore.game.faults import game_faults  # imports numba, for which --help should not wait

    try:
        with game_faults():
            return work()
    except FaultyGameError as error:
        print(f"azcore: {error}", file=sys.stderr)  # its lines and boards are for the author
    except FailedProgramError as error:
        tell(str(error))
        return 1
    except (AzcoreError, OmegaConfBaseException) as error:
        tell(str(error))
    except MemoryError:
        tell("these settings need more memory than this machine has")
    except BrokenPipeError:
        raise
    except OSError as error:  # any other error of a disk or file system
        tell(f"{os.fsdecode(error.filename or 'a file')}: {error.strerror or error}")
    return 2


def contained(work: Callable[[], int]) -> int:
    """As `status_of`, but 1 with a traceback for a bug, so that a sweep continues."""
    try:
        return status_of(work)
    except (BrokenPipeError, HydraException):
        raise
    except Exception:
        traceback.print_exc()
        return 1


def tell(sentence: str) -> None:
    """Print one line, with terminal control characters escaped: names are untrusted."""
    words = " ".join(sentence.split())
    shown = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in words)
    print(f"azcore: {shown}", file=sys.stderr)


def refuse(sentence: str) -> NoReturn:
    tell(sentence)
    sys.exit(2)
