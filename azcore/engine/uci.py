"""The Universal Chess Interface (Meyer-Kahlen and Huber, 2006), for chess GUIs.

`position_server.py` has the part shared with USI and describes how errors are reported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import final

from azcore.engine.lines import Writer
from azcore.engine.options import Option
from azcore.engine.position_server import PositionServer
from azcore.engine.server import Engine
from azcore.engine.thinker import Line, Thought


@final
class UciServer(PositionServer):
    """UCI. Castling is the king's move (`e1g1`); no tablebases, no Chess960.

    A centipawn is an Elo point: score = 400 log10(E / (1 - E)) with E the expected score, so 100
    means an expected score of 64 % and 400 one of 91 %.
    """

    protocol = "uci"
    position_word = "fen"
    clock_letters = ("w", "b")
    numbers = (
        "wtime",
        "btime",
        "winc",
        "binc",
        "movestogo",
        "depth",
        "nodes",
        "mate",
        "movetime",
    )
    no_action = "(none)"  # Stockfish's answer, which python-chess and GUIs know
    centipawns_per_logit = 400 / math.log(10)

    def __init__(self, engine: Engine, writer: Writer) -> None:
        self._shows_chances = False
        super().__init__(engine, writer)

    def _own_options(self) -> list[Option]:
        return [
            self._memory_option("Hash"),
            Option(name="Clear Hash", kind="button", apply=lambda _: self._on_new_game([])),
            self._ponder_option("Ponder"),
            Option(name="UCI_ShowWDL", kind="check", apply=self._show_chances),
        ]

    def _show_chances(self, on: int) -> None:
        self._shows_chances = bool(on)

    def _own_commands(self) -> dict[str, Callable[[list[str]], None]]:
        return {"register": lambda _: None}

    def _without_counters(self, text: str) -> str | None:
        words = text.split()
        if len(words) != 6 or not all(re.fullmatch("[0-9]{1,6}", word) for word in words[4:]):
            return None
        return " ".join(words[:4])

    def _claim(self, line: Line) -> str | None:
        return None

    def _gives_up(self, thought: Thought) -> bool:
        return False  # UCI has no word for it; GUIs adjudicate by the score

    def _chances(self, value: float) -> str:
        """Wins, draws and losses per thousand.

        The network predicts one value and no draws, so draws are 0 and wins are the expected score.
        """
        if not self._shows_chances:
            return ""
        wins = round(500 * (1 + value))
        return f" wdl {wins} 0 {1000 - wins}"
