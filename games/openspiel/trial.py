"""Loads a game of OpenSpiel and plays it at random: a program that needs only pyspiel.

    python trial.py ID MEGABYTES SECONDS [FOLDER ...]

It prints why azcore cannot play the game, or nothing; status 1 means that it does not load.
OpenSpiel's constructors can take any time and memory while holding Python's lock, so azcore first
tries unlisted ids here, in a process that it can kill. It looks for pyspiel in the folders.
"""

from __future__ import annotations

import random
import resource
import sys

MOST_PLIES = 200  # plies of the game


def main(spiel_id: str, megabytes: str, seconds: str, *folders: str) -> int:
    """Print why azcore cannot play the game; returns the exit status."""
    for limit, most in (
        (resource.RLIMIT_AS, int(megabytes) << 20),
        (resource.RLIMIT_CPU, int(seconds)),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (most, most))
    sys.path[:0] = folders
    import pyspiel

    state = None
    try:
        state = pyspiel.load_game(spiel_id).new_initial_state()
        rng = random.Random(1)
        for ply in range(MOST_PLIES):
            if state.is_terminal() or state.current_player() < 0:  # or chance, which azcore refuses
                break
            legal = state.legal_actions()
            if not legal:
                print(f"no player can move after {ply} plies, but the game is not over")
                break
            action = rng.choice(legal)
            state.action_to_string(state.current_player(), action)
            state.apply_action(action)
            str(state)
    except MemoryError:
        print(f"it takes more than {megabytes} MB of memory")
    except Exception as error:  # a SpielError, or any C++ exception
        print((str(error).splitlines() or [type(error).__name__])[0])
    return int(state is None)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
