"""The test kit for authors of games: checks a game against `azcore/game/contract.py`.

    report = check_game(game)                   # random games, every identity of the contract
    report = check_game(game, oracle=slow_game) # and a second statement of the same rules
    check_position(game, moves=["b2"], player=1, illegal={"b2"})   # a fact you know
    check_playthrough(game, Path("game.txt").read_text())          # a recorded game, as it was
    perft(game, 5) == 4865609                   # how many games of five plies there are

A broken identity raises `ContractError`, whose text gives the identity, the value received and the
value wanted, the actions that lead to the position, and a drawing of it.

From a game alone, the kit checks forms and ranges, masks against `step`, changed states, lengths,
unsteady observations, texts, boards, symmetries, compiled against interpreted rules, batches,
position keys and writes out of bounds. It cannot detect rules that are wrong but consistent, such
as an outcome with the wrong sign, a forgotten repetition rule or history planes one ply late. Those
need an oracle (a second implementation of the game, ideally on top of somebody else's rules), facts
stated by the author, or a playthrough recorded when the game was correct; `swap_colours` detects
observations from the wrong view. Random games seldom reach rare rules: state those as facts.

Start with `contract.py`, which lists the identities. `identities.py` has `check_game`, which plays
and calls the checks of `rules.py`, `texts.py`, `compiled.py`, `agreement.py`, `boards.py`,
`transcripts.py` and `positions.py`.
`checker.py` holds what these share: the current position, the counts, and error reporting.
`child.py` runs them in a separate process. `facts.py`, `playthrough.py`, `random_play.py`,
`counts.py` for perft and `speed.py` are separate; `view.py` holds everything that a game returns
for one state.

Letters: A actions, C planes, H rows, W columns. The kit depends on numpy, the contract and
`azcore/game/batch.py`, but on no search and no network.
"""

from azcore.testing.contract import ContractError, Identity, Report
from azcore.testing.counts import perft
from azcore.testing.facts import check_position
from azcore.testing.identities import check_game
from azcore.testing.playthrough import check_playthrough, record_playthrough
from azcore.testing.random_play import random_game, random_states

__all__ = [
    "ContractError",
    "Identity",
    "Report",
    "check_game",
    "check_playthrough",
    "check_position",
    "perft",
    "random_game",
    "random_states",
    "record_playthrough",
]
