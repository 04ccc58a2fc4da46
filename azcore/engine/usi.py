"""The Universal Shogi Interface (Romstad 2007, with Shogidokoro's additions), for shogi GUIs.

`position_server.py` has the part shared with UCI and describes how errors are reported. Beyond UCI,
USI has byoyomi, resignation, the declared win of an entering king, and mate problems (`go mate`),
in which every move of the attacker must give check.
"""

import re
from collections.abc import Callable
from typing import final

from azcore.engine.mates import LONGEST
from azcore.engine.options import NUMBER, Option, memory_option, ponder_option
from azcore.engine.position_server import PositionServer
from azcore.engine.thought import Limits, Line, Thought
from azcore.game import texts_along
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
    end_words = ("resign", "win", "pass")
    centipawns_per_logit = 600

    def _own_options(self) -> list[Option]:
        settings = self.engine.settings
        return [
            memory_option("USI_Hash", settings, self._change),
            ponder_option("USI_Ponder", settings, self._change),
        ]

    def _own_commands(self) -> dict[str, Callable[[list[str]], None]]:
        return {"go": self._on_go, "gameover": lambda _: self._stop_thinking()}

    def _on_go(self, words: list[str]) -> None:
        if words[:1] == ["mate"]:
            self._solve(words[1:])
        else:
            self.think(words)

    def _solve(self, words: list[str]) -> None:
        """`go mate`, with milliseconds or `infinite`: prove a mate, or its absence."""
        thinker = self._load()
        self._stop_thinking()
        seconds = None
        if words and NUMBER.fullmatch(words[0]):
            given = max(0, int(words[0])) / 1000
            seconds = max(given / 2, given - self.engine.settings.move_overhead)
        elif words not in ([], ["infinite"]):
            self._note(f"go mate needs milliseconds or infinite, got {words[0][:20]!r}")
        if not self._game.has_check:
            self._say("checkmate notimplemented")
        elif self._is_refused:
            self._say("checkmate timeout")
        elif self.line.is_over:
            self._say("checkmate nomate")
        else:
            self._thinks = True
            thinker.set_line(self.line)
            thinker.start(
                Limits(seconds=seconds, mate_plies=LONGEST, only_checks=True),
                on_done=lambda thought: self._say(self._checkmate(thought)),
                on_error=self._say_no_mate,
            )

    def _checkmate(self, thought: Thought) -> str:
        assert thought.proof is not None
        line = thought.proof.line
        if line is not None:
            return f"checkmate {' '.join(texts_along(self._game, thought.state, line))}"
        return "checkmate nomate" if thought.proof.is_refuted else "checkmate timeout"

    def _say_no_mate(self, error: Exception) -> None:
        self._note_error(error, "mate search failed: ")
        self._say("checkmate timeout")

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
