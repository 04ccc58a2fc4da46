"""The contract of a game, and everything that needs only its rules.

Start with `contract.Game`, which a plugin implements. `facts` holds the fixed properties of a game,
`compiled` the faster way to state rules, `board` a position to draw and click, `transcript` the
content of transcripts, `knowledge` books and tablebases. `registry` finds games, `batch` replays
many games at once and fills `positions`, `symmetries` maps these, `compilation` runs numba,
`rule_table` hands rules to kernels, `faults` reports errors in a game's code, and `hangs` reports
rules that do not return.
"""

from azcore.game.board import Board, Choice, Layout, Piece, Role
from azcore.game.compiled import CompiledGame, Rules
from azcore.game.contract import Game, illegal_action_message, lead, require_legal, texts_along
from azcore.game.facts import BoolArray, ByteArray, Facts, FloatArray, IntArray, Setting, Symmetry
from azcore.game.knowledge import Book, Solved, Tablebase
from azcore.game.transcript import (
    Branch,
    GameText,
    MainLine,
    Transcript,
    TranscriptFormat,
    result_of,
)

__all__ = [
    "Board",
    "Book",
    "BoolArray",
    "Branch",
    "ByteArray",
    "Choice",
    "CompiledGame",
    "Facts",
    "FloatArray",
    "Game",
    "GameText",
    "IntArray",
    "Layout",
    "MainLine",
    "Piece",
    "Role",
    "Rules",
    "Setting",
    "Solved",
    "Symmetry",
    "Tablebase",
    "Transcript",
    "TranscriptFormat",
    "illegal_action_message",
    "lead",
    "require_legal",
    "result_of",
    "texts_along",
]
