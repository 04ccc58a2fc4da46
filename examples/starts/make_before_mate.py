"""Writes 3,000 positions shortly before a mate, from which self-play of chess or shogi may begin.

    python examples/starts/make_before_mate.py chess > examples/starts/chess_before_mate.epd
    python examples/starts/make_before_mate.py shogi > examples/starts/shogi_before_mate.sfen

A player that learns from nothing learns to avoid mates long before it can mate: its games grow to
the limit of plies and are drawn. Near the end of random games, a mate is within reach.
"""

import sys

import numpy as np

import azcore

POSITIONS, SEED = 3000, 1
BEFORE = (1, 40)  # plies before the end of the game


def main() -> None:
    game = azcore.make(sys.argv[1])
    rng = np.random.default_rng(SEED)
    made = 0
    while made < POSITIONS:
        states = [game.initial_state()]
        while not game.is_terminal(states[-1]):
            legal = np.flatnonzero(game.legal_action_mask(states[-1]))
            states.append(game.step(states[-1], int(rng.choice(legal))))
        before = int(rng.integers(*BEFORE, endpoint=True))
        if game.outcome(states[-1]) != 0 and len(states) > before:
            position, _, _number = game.state_to_text(states[-1 - before]).rpartition(" ")
            print(position, 1)  # move number 1, so that all plies up to the limit remain
            made += 1


if __name__ == "__main__":
    main()
