"""Makes shogi.sfen: 3,000 positions of shogi shortly before a mate, from which self-play may begin.

    python examples/starts/make_shogi.py > examples/starts/shogi.sfen

A player that learns shogi from nothing soon learns not to be mated, long before it can mate: its
games grow to the limit of plies and are drawn. Near the end of random games a mate is within reach.
"""

import numpy as np

import azcore

POSITIONS, SEED = 3000, 1
BEFORE = (1, 40)  # plies before the end of the game


def main() -> None:
    game = azcore.make("shogi")
    rng = np.random.default_rng(SEED)
    made = 0
    while made < POSITIONS:
        states = [game.initial_state()]
        while not game.is_terminal(states[-1]):
            legal = np.flatnonzero(game.legal_action_mask(states[-1]))
            states.append(game.step(states[-1], int(rng.choice(legal))))
        before = int(rng.integers(*BEFORE, endpoint=True))
        if game.outcome(states[-1]) != 0 and len(states) > before:
            position, _, _ply = game.state_to_text(states[-1 - before]).rpartition(" ")
            print(position, 1)  # so that all plies up to the limit are left
            made += 1


if __name__ == "__main__":
    main()
