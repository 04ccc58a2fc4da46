"""The time to think about a move, and the clocks of GTP."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Clock:
    """A player's remaining time in seconds, in a form that fits every protocol's clock."""

    remaining: float  # of the main time
    increment: float = 0.0  # added after each move
    byoyomi: float = 0.0  # for each move, on top of the main time or once that is used up
    moves_to_go: int | None = None  # until more time is added; None: it must last for the game

    def seconds_to_think(self, share: float, overhead: float) -> float:
        """Time for the next move: 1/share of the remaining time, plus increment and byoyomi.

        AlphaZero took 1/20 of the remaining time (Silver 2018, Methods "Evaluation"). The overhead
        is subtracted each time, so that the share covers the whole move, not the thinking alone. A
        clock without increment therefore never runs out: with less than share * overhead seconds
        left, the engine moves at once.

        Args:
            share: 20 in the paper.
            overhead: seconds of a move besides thinking: transmission, the last evaluation.

        Returns:
            Seconds, 0 or more; 0 means to move at once.
        """
        moves = share if self.moves_to_go is None else min(share, max(1, self.moves_to_go))
        remaining = max(0.0, self.remaining)
        wanted = remaining / moves + self.increment + self.byoyomi
        return max(0.0, min(wanted, remaining + self.byoyomi) - overhead)


@dataclass(frozen=True, kw_only=True)
class TimeSettings:
    """The arguments of GTP's `time_settings`, in seconds."""

    main: float
    period: float
    stones: int  # to play in a period
    counts_periods: bool = False  # KGS's byo-yomi: `time_left` counts periods instead of stones


class SeatClock:
    """One seat's clock in GTP, which the engine runs itself between the controller's updates."""

    def __init__(self, settings: TimeSettings) -> None:
        self.settings = settings
        self.left, self.stones = settings.main, 0
        if self.left <= 0:
            self._next_period()

    def set_left(self, left: float, stones: int) -> None:
        self.left = left
        self.stones = min(stones, 1) if self.settings.counts_periods else stones

    def spend(self, seconds: float) -> None:
        """Subtract the time that a move took."""
        self.left -= seconds
        if self.stones > 0:
            self.stones -= 1
            if self.stones == 0:
                self._next_period()
        elif self.left <= 0:
            self._next_period()

    def clock(self) -> Clock:
        if self.stones > 0:
            return Clock(remaining=self.left, moves_to_go=self.stones)
        settings = self.settings
        each = settings.period / settings.stones if settings.stones else 0.0
        return Clock(remaining=self.left, byoyomi=each)

    def _next_period(self) -> None:
        if self.settings.stones > 0:
            self.left, self.stones = self.settings.period, self.settings.stones
