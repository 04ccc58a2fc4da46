"""Matches in parallel to the run: only their result affects it.

A checkpoint stores the moment of their weights, so that a resumed run can restart them.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, NamedTuple, TypeVar

from azcore.errors import CheckpointError
from azcore.learner.data import SelfPlayData
from azcore.storage.checkpoint import like

Result = TypeVar("Result")


class Moment(NamedTuple):
    """The moment at which a run had certain weights."""

    generation: int  # the one that ended with them
    step: int


class ParallelMatches(Generic[Result]):
    """Matches of the weights of one moment at a time, until the run uses their result.

    Attributes:
        moment: the moment of the weights that play or, after a resume, must play again; None: no
            match.
    """

    def __init__(self, name: str) -> None:
        self.moment: Moment | None = None
        self._name = name
        self._thread = ThreadPoolExecutor(1, name)
        self._begun: Future[Result] | None = None

    @property
    def is_begun(self) -> bool:
        """Whether there are matches whose result the run has not used yet."""
        return self._begun is not None

    @property
    def is_over(self) -> bool:
        """Whether a result is available without waiting."""
        return self._begun is not None and self._begun.done()

    def begin(self, moment: Moment, work: Callable[[], Result], *, waits: bool) -> None:
        """Start matches; with `waits`, play them here before returning, and raise their errors."""
        self.moment = moment
        if not waits:
            self._begun = self._thread.submit(work)
            return
        done: Future[Result] = Future()
        done.set_result(work())
        self._begun = done

    def taken(self) -> tuple[Moment, Result]:
        """Wait for the result and return it.

        Raises:
            BaseException: as raised by the matches.
        """
        assert self._begun is not None
        assert self.moment is not None
        moment, begun = self.moment, self._begun
        self.moment = self._begun = None
        return moment, begun.result()

    def state_dict(self) -> dict[str, Any]:
        return {} if self.moment is None else self.moment._asdict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a moment.

        Raises:
            CheckpointError: it is not a moment.
        """
        found = like(state, Moment(0, 0)._asdict(), f"the {self._name} in progress")
        try:
            self.moment = Moment(**found)
        except TypeError as error:
            raise CheckpointError(
                f"the {self._name} in progress lacks its moment: {error}"
            ) from None

    def require_past(self, data: SelfPlayData, step: int) -> None:
        """Refuse a restored moment later than the run.

        Raises:
            CheckpointError: it is later.
        """
        loader = data.loader
        if self.moment is None:
            return
        if self.moment.generation >= loader.generation + (loader.batch > 0) or (
            self.moment.step > step
        ):
            raise CheckpointError(
                f"the {self._name} in progress must be of generation {loader.generation:,} and "
                "step "
                f"{step:,} at most, got {self.moment.generation:,} and {self.moment.step:,}"
            )
