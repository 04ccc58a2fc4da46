"""Random games of chess compared with python-chess, ply by ply.

    python tests/games/chess/compare.py 2000

Compared on each ply: FEN, legal actions by number, seat to move, planes, end, outcome, the words
for how the game ended, and the text of the action played.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import numpy as np

import azcore


def compare_games(games: int, seed: int = 0, max_plies: int = 512) -> Counter[str]:
    """Play random games by both forms of the rules; how often each kind of end came.

    Every second game prefers captures and pawn moves, so that it ends by other rules.

    Raises:
        AssertionError: the two differ, with the position.
    """
    fast = azcore.make("chess", max_plies=max_plies)
    slow = azcore.make("chess_plain", max_plies=max_plies)
    ends: Counter[str] = Counter()
    for number in range(games):
        rng = np.random.default_rng([seed, number])
        state, other = fast.initial_state(), slow.initial_state()
        while True:
            where = fast.state_to_text(state)
            assert where == slow.state_to_text(other)
            mask = fast.legal_action_mask(state)
            assert np.array_equal(mask, slow.legal_action_mask(other)), where
            assert fast.current_player(state) == slow.current_player(other), where
            assert np.array_equal(fast.observation(state), slow.observation(other)), where
            over = fast.is_terminal(state)
            assert over == slow.is_terminal(other), where
            if over:
                assert fast.outcome(state) == slow.outcome(other), where
                assert fast.termination(state) == slow.termination(other), where
                break
            legal = np.flatnonzero(mask).tolist()
            action = int(rng.choice(legal))
            if number % 2:
                # Progress: actions after which the clock stands at 0, where there are some.
                action = max(
                    rng.permutation(legal)[:4].tolist(),
                    key=lambda one: int(fast.step(state, one).clock == 0),
                )
            text = fast.action_to_text(state, action)
            assert text == slow.action_to_text(other, action), where
            state, other = fast.step(state, action), slow.step(other, action)
        ends[fast.termination(state)] += 1
    return ends


def main() -> None:
    games = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    began = time.perf_counter()
    ends = compare_games(games)
    print(f"{games} games agree, {time.perf_counter() - began:.0f} s: {dict(ends)}")


if __name__ == "__main__":
    main()
