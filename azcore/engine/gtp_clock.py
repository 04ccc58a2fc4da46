"""The clocks of GTP: the time settings that controllers send, and the time left."""

from dataclasses import dataclass

from azcore.engine.clock import Clock


@dataclass(frozen=True, kw_only=True)
class TimeSettings:
    """The arguments of `time_settings`, in seconds."""

    main: float
    period: float
    stones: int  # to play in a period
    counts_periods: bool = False  # KGS's byo-yomi: `time_left` counts periods instead of stones


class SeatClock:
    """One seat's clock, which the engine runs itself between the controller's updates."""

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
