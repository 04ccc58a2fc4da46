"""The Universal Chess Interface (Meyer-Kahlen and Huber, 2006), for chess GUIs.

`position_server.py` has the part shared with USI and describes how errors are reported.
"""

import math
import re
from collections.abc import Callable
from typing import final

from azcore.engine.lines import Writer
from azcore.engine.options import Option, memory_option, ponder_option, whole_option
from azcore.engine.position_server import PositionServer
from azcore.engine.server import Engine
from azcore.engine.thought import Line, Thought
from azcore.search.predictions import Chances, Prediction, chances_of


@final
class UciServer(PositionServer):
    """UCI. Castling is the king's move (`e1g1`); no Chess960.

    A centipawn is an Elo point: score = 400 log10(E / (1 - E)) with E the expected score, so 100
    means an expected score of 64 % and 400 one of 91 %.
    """

    protocol = "uci"
    position_word = "fen"
    clock_letters = ("w", "b")
    numbers = ("wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime")
    overhead_option = "Move Overhead"  # Stockfish's; python-chess takes no other spelling
    no_action = "(none)"  # Stockfish's answer, which python-chess and GUIs know
    centipawns_per_logit = 400 / math.log(10)

    def __init__(self, engine: Engine, writer: Writer) -> None:
        self._shows_chances = False
        self._told_why_not = False  # that there are no chances to show
        super().__init__(engine, writer)

    def _own_options(self) -> list[Option]:
        return [
            memory_option("Hash", self.engine.settings, self._change),
            Option(name="Clear Hash", kind="button", apply=lambda _: self._on_new_game([])),
            ponder_option("Ponder", self.engine.settings, self._change),
            Option(name="UCI_ShowWDL", kind="check", apply=self._show_chances),
            # Clients such as lichess-bot set these by default, and fail on an unknown option.
            whole_option("Threads", 1, 1024, self._ignore_threads),
            Option(
                name="SyzygyPath",
                kind="string",
                text=self.engine.settings.tablebase or "",
                apply_text=lambda path: self._change_known(tablebase=path or None),
            ),
            Option(name="OwnBook", kind="check", default=1, apply=self._set_own_book),
            Option(
                name="BookFile",
                kind="string",
                text=self.engine.settings.book or "",
                apply_text=lambda path: self._change_known(book=path or None),
            ),
        ]

    def _ignore_threads(self, _: int) -> None:
        self._note("Threads has no effect: evaluator.threads sets it")

    def _show_chances(self, on: int) -> None:
        self._shows_chances = bool(on)
        self._told_why_not = False

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
        return False  # UCI has no resignation; GUIs adjudicate by the score

    def _shows_prediction(self) -> bool:
        if not self._shows_chances:
            return False
        predictor = self._load().predictor
        if predictor is not None and "chances" in predictor.predicts:
            return True
        if not self._told_why_not:  # the option was declared before the network was loaded
            self._told_why_not = True
            self._note("UCI_ShowWDL has no effect, since this network does not predict draws")
        return False

    def _chances(self, value: float, root: Prediction | None) -> str:
        """Wins, draws and losses per thousand.

        The network predicts draws for the root; the search averages only values, from which wins
        and losses follow by `chances_of`.
        """
        if root is None or root.chances is None:
            return ""
        wins, draws, losses = per_thousand(chances_of(value, root.chances.draw))
        return f" wdl {wins} {draws} {losses}"


def per_thousand(chances: Chances) -> tuple[int, int, int]:
    """Win, draw and loss in thousandths, which sum to 1000."""
    wins = round(1000 * chances.win)
    losses = min(round(1000 * chances.loss), 1000 - wins)
    return wins, 1000 - wins - losses, losses
