"""Work that goes on beside the run, such as a match; only its result touches the run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Beside(Generic[Result]):
    """One piece of work at a time, until its result is taken.

    Args:
        name: of its thread.
    """

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, name)
        self._begun: Future[Result] | None = None

    @property
    def is_begun(self) -> bool:
        """Whether there is work whose result was not taken."""
        return self._begun is not None

    @property
    def is_over(self) -> bool:
        """Whether there is a result to take, without waiting."""
        return self._begun is not None and self._begun.done()

    def begin(self, work: Callable[[], Result], *, waits: bool) -> None:
        """Begin work.

        Args:
            work: to do.
            waits: do it on this thread, before this returns; its error is raised at once.
        """
        if not waits:
            self._begun = self._thread.submit(work)
            return
        done: Future[Result] = Future()
        done.set_result(work())
        self._begun = done

    def taken(self) -> Result:
        """Wait for the result and take it.

        Raises:
            BaseException: what went wrong.
        """
        assert self._begun is not None
        begun, self._begun = self._begun, None
        return begun.result()
