"""What a game is, and all that is done with its rules alone.

Begin at `contract.Game`, which a plugin fills in. `facts` is what it states about itself,
`compiled` the faster way to state rules, `transcript` what transcripts hold. `registry` finds
games, `batch` replays many positions at once, `symmetries` maps them, `compilation` is how numba is
used, `faults` what is said of a game whose code fails.
"""

from azcore.game.compiled import CompiledGame, Rules
from azcore.game.contract import Game, illegal_action_message, texts_along
from azcore.game.facts import (
    BoolArray,
    ByteArray,
    Facts,
    FloatArray,
    IntArray,
    Setting,
    Symmetry,
)
from azcore.game.transcript import Transcript, TranscriptFormat

__all__ = [
    "BoolArray",
    "ByteArray",
    "CompiledGame",
    "Facts",
    "FloatArray",
    "Game",
    "IntArray",
    "Rules",
    "Setting",
    "Symmetry",
    "Transcript",
    "TranscriptFormat",
    "illegal_action_message",
    "texts_along",
]
