"""The Universal Shogi Interface (Romstad 2007, with Shogidokoro's additions), for shogi GUIs.

`position_server.py` has the part shared with UCI and describes how errors are reported. Beyond UCI,
USI has byoyomi, resignation, the declared win of an entering king, and mate problems (`go mate`).
The server does not solve mate problems and says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import final

from azcore.engine.options import Option
from azcore.engine.position_server import PositionServer
from azcore.engine.thinker import Line, Thought
from azcore.search.predictions import Prediction


@final
class UsiServer(PositionServer):
    """USI. It allows no spaces in the names of options.

    The score is 600 ln(E / (1 - E)) with E the expected score, the scale of shogi engines since
    Ponanza: 600 means an expected score of 73 %.
    """

    protocol = "usi"
    position_word = "sfen"
    clock_letters = ("b", "w")
    numbers = (
        "btime",
        "wtime",
        "binc",
        "winc",
        "byoyomi",
        "movestogo",
        "depth",
        "nodes",
        "movetime",
    )
    overhead_option = "MoveOverhead"
    no_action = "resign"
    centipawns_per_logit = 600

    def _own_options(self) -> list[Option]:
        return [self._memory_option("USI_Hash"), self._ponder_option("USI_Ponder")]

    def _own_commands(self) -> dict[str, Callable[[list[str]], None]]:
        return {"go": self._on_go, "gameover": lambda _: self._stop_thinking()}

    def _on_go(self, words: list[str]) -> None:
        if words[:1] == ["mate"]:
            self._stop_thinking()
            self._say("checkmate notimplemented")
        else:
            self.think(words)

    def _without_counters(self, text: str) -> str | None:
        words = text.split()
        if len(words) != 4 or not re.fullmatch("[0-9]{1,6}", words[3]):
            return None
        return " ".join([*words[:3], "1"])

    def _claim(self, line: Line) -> str | None:
        return "bestmove win" if self._game.can_declare_win(line.state) else None

    def _gives_up(self, thought: Thought) -> bool:
        return thought.should_resign(self.engine.settings.resign_below)

    def _shows_prediction(self) -> bool:
        return False

    def _chances(self, value: float, root: Prediction | None) -> str:
        return ""
