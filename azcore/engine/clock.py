"""How long to think about a move."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Clock:
    """What a player has left, in seconds, as every protocol's clock can be put."""

    remaining: float  # of the main time
    increment: float = 0.0  # added after each move
    byoyomi: float = 0.0  # for each move, on top of the main time or once that is gone
    moves_to_go: int | None = None  # until more time is added; None: it must last for the game

    def seconds_to_think(self, share: float, overhead: float) -> float:
        """Time for the next move: 1/share of what remains, and what each move gets anew.

        AlphaZero took 1/20 of the remaining time (Silver 2018, Methods "Evaluation"). The overhead
        is taken off each time, so that what is spent, and not what is thought, is that share: a
        clock that only gets shorter is then never run out, for below share * overhead seconds
        moves are made at once.

        Args:
            share: 20 in the paper.
            overhead: seconds that a move takes apart from thinking: the wire, the last evaluation.

        Returns:
            Seconds, 0 or more; 0 means to move at once.
        """
        moves = share if self.moves_to_go is None else min(share, max(1, self.moves_to_go))
        remaining = max(0.0, self.remaining)
        wanted = remaining / moves + self.increment + self.byoyomi
        return max(0.0, min(wanted, remaining + self.byoyomi) - overhead)
