"""The time to think about a move."""

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
