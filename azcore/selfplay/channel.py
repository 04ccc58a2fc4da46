"""Channels to members elsewhere, and the launchers that start these members."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from azcore.selfplay.member import Answer, Recipe, Request


class LostMemberError(Exception):
    """The member of a channel is lost; the text states how it ended, such as `by signal 9`.

    A hint is the possible cause, after a semicolon, or empty.
    """

    def __init__(self, how: str, hint: str = "") -> None:
        super().__init__(how)
        self.hint = hint


class MovedMemberError(Exception):
    """A member must start elsewhere through no fault of its own; the text is the reason."""


class Channel(ABC):
    """A connection to one member, which starts and ends with it.

    `RemoteMember` calls all methods but `receive` under a lock, so only `receive`, which it calls
    on a thread, may wait for the member.
    """

    @abstractmethod
    def send(self, request: Request) -> None:
        """Send a request; `receive` reports a lost member."""

    @abstractmethod
    def receive(self) -> Answer:
        """Wait for the next answer.

        Raises:
            LostMemberError: the member is lost, or this process ended it.
            MovedMemberError: the member must start elsewhere.
        """

    @abstractmethod
    def end(self) -> None:
        """End the member."""

    @abstractmethod
    def is_better_elsewhere(self) -> bool:
        """Whether a new channel would now find a better place for the member."""


class Launcher(ABC):
    """Starts members: as processes of this machine, or as actors of a cluster.

    Attributes:
        called: the word for a member there, such as `process`.
        count: the most members at once.
    """

    called: str
    count: int

    @abstractmethod
    def launch(self, recipe: Recipe, numbers: Sequence[int], member: int) -> Channel:
        """Start the member with the run's workers of these numbers; returns the channel to it."""

    @abstractmethod
    def published(self, packed: bytes) -> Any:
        """Weights in the form that requests carry to members, each as a separate value."""

    @abstractmethod
    def close(self) -> None:
        """Free its resources, after all its members have ended."""
