"""GTP as its controller understands it, written anew: what accepted lines make of a game."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import azcore
from azcore.engine import server as engine_module
from azcore.engine.gtp import GtpServer
from azcore.engine.server import Engine, Loaded
from azcore.game import Game
from azcore.search.evaluators import Evaluator
from protocol_kit import Recorder, Target, make_engine

KOMI = (7.5, 0.0, -3.0, 6.5)
SIZES = (3, 4, 5)


@cache
def go(board_size: int, komi: float) -> Game:
    return azcore.make("go", board_size=board_size, komi=komi)


def _make(name: str, **settings: Any) -> Game:
    """As `azcore.make`, but boards made before are kept: thousands of bursts ask for them."""
    if settings["board_size"] not in SIZES:
        settings["board_size"] = 99  # refused, instead of compiled for many sizes
    elif settings["komi"] in KOMI:
        return go(settings["board_size"], settings["komi"])
    return azcore.make(name, **settings)


class Model:
    """The game that a controller believes in, from its lines and the replies to them alone."""

    def __init__(self, size: int, komi: float) -> None:
        self.size, self.komi = size, komi
        self.clear()

    def clear(self) -> None:
        self.game = go(self.size, self.komi)
        self.states = [self.game.initial_state()]
        self.texts: list[str] = []
        self.moves: list[int] = []  # plies of each

    @property
    def state(self) -> Any:
        return self.states[-1]

    def ply(self, text: str) -> None:
        action = self.game.text_to_action(self.state, text)
        self.states.append(self.game.step(self.state, action))
        self.texts.append(text)

    def move(self, colour: str, text: str) -> None:
        seat = "bw".index(colour[0].lower())
        before = len(self.texts)
        if text.lower() == "resign":
            return
        over = self.game.is_terminal(self.state)
        ours = self.game.current_player(self.state) == seat
        if text.lower() == "pass" and (over or not ours):
            pass
        else:
            if not ours:
                self.ply("pass")
            self.ply(text)
        self.moves.append(len(self.texts) - before)

    def stones(self, texts: list[str]) -> None:
        for i, text in enumerate(texts):
            if i:
                self.ply("pass")
            self.ply(text)

    def replay(self, texts: list[str]) -> None:
        for text in texts:
            self.ply(text)

    def accepted(self, name: str, words: list[str], reply: str) -> None:
        """Follow a line that was answered with `=`."""
        if name == "clear_board":
            self.clear()
        elif name == "boardsize":
            self.size = int(words[0])
            self.clear()
        elif name == "komi":
            self.komi = float(words[0])
            texts, moves = self.texts, self.moves
            self.clear()
            self.replay(texts)
            self.moves = moves
        elif name == "play":
            self.move(words[0], words[1])
        elif name == "genmove":
            self.move(words[0], reply)
        elif name.endswith("genmove_analyze"):
            self.move(words[0], reply.split()[-1])
        elif name == "undo":
            for _ in range(self.moves.pop()):
                self.texts.pop()
                self.states.pop()
        elif name in ("fixed_handicap", "place_free_handicap"):
            self.stones(reply.split())
        elif name == "set_free_handicap":
            self.stones(words)
        elif name == "loadsgf":
            record = Path(words[0]).read_text()
            self.size = int(re.findall(r"SZ\[(\d+)\]", record)[0])
            self.komi = float(re.findall(r"KM\[(.*?)\]", record)[0])
            self.clear()
            found = re.findall(r";([BW])\[(\w*)\]", record)
            until = max(0, int(words[1]) - 1) if len(words) > 1 else len(found)
            for colour, at in found[:until]:
                column, row = "ABCDE"[ord(at[0]) - 97], self.size - ord(at[1]) + 97
                self.move(colour, f"{column}{row}")


class GtpTarget(Target):
    """Go on boards of 3×3 to 5×5; a record to load is put into `folder`."""

    def __init__(self, folder: Path) -> None:
        engine_module.make = _make  # type: ignore[assignment]
        self._engines = {
            size: make_engine(
                go(size, 7.5), num_simulations=3, max_simulations=100, report_seconds=0.001
            )
            for size in SIZES
        }
        self._size = 5
        self._record = folder / "game.sgf"
        self._record.write_text("(;GM[1]SZ[4]KM[6.5];B[aa];W[bc];B[dd];W[cb])")

    def lines(self, chance: random.Random) -> Iterator[str]:
        self._size = chance.choice(SIZES)
        while True:
            line = self._line(chance)
            yield f"{chance.randrange(1000)} {line}" if chance.random() < 0.5 else line

    def _line(self, chance: random.Random) -> str:
        kind = chance.random()
        colour = chance.choice(["b", "w", "B", "white", "black"])
        point = chance.choice("ABCDE") + chance.choice("12345")
        if kind < 0.55:
            return f"play {colour} {point if chance.random() < 0.97 else 'pass'}"
        if kind < 0.65:
            return "undo"
        if kind < 0.655:  # to think takes most of the time
            return f"genmove {colour}"
        if kind < 0.658:
            return f"{chance.choice(['lz-', 'kata-', ''])}genmove_analyze {colour} 1"
        if kind < 0.661:
            return f"{chance.choice(['lz-', 'kata-', ''])}analyze {colour} 1 avoid b A1,pass 1"
        if kind < 0.95:
            return chance.choice(
                [
                    "name",
                    "version",
                    "protocol_version",
                    "known_command play",
                    "list_commands",
                    "showboard",
                    "final_score",
                    "final_status_list dead",
                    "time_settings 10 1 5",
                    "time_settings 0 1 0",
                    f"time_left {colour} 0 1",
                    "kgs-time_settings byoyomi 10 1 3",
                    "kgs-time_settings none",
                    "# a comment",
                    "",
                    f"fixed_handicap {chance.randrange(10)}",
                    f"place_free_handicap {chance.randrange(10)}",
                    "gogui-interrupt",
                ]
            )
        return chance.choice(
            [
                f"reg_genmove {colour}",
                "clear_board",
                "clear_board",
                f"set_free_handicap {point} A1 B2",
                f"boardsize {chance.choice(SIZES)}",
                f"komi {chance.choice(KOMI)}",
                f"loadsgf {self._record} {chance.choice(['', '0', '1', '3', '9'])}",
            ]
        )

    def question(self) -> list[str]:
        return ["999 showboard"]

    def answer(self, lines: list[str | None]) -> list[tuple[str, str]]:
        recorder = Recorder()
        engine = self._engines[self._size]
        engine.change_game(board_size=self._size, komi=7.5)
        status = GtpServer(engine, recorder).run(iter(lines))
        assert status == 0
        return recorder.exchanges

    def check(self, exchanges: list[tuple[str, str]]) -> None:
        model = Model(self._size, 7.5)
        for line, told in exchanges:
            # As the specification has it: a comment ends the line, a tab is a space, and other
            # control characters are not there.
            seen = re.sub(r"[\x00-\x08\x0a-\x1f\x7f]", "", re.sub("#.*", "", line, flags=re.S))
            match = re.fullmatch(r"\s*(?:([0-9]{1,10})(?!\S))?\s*(\S*)\s*(.*?)\s*", seen, re.S)
            assert match, line
            number, name, rest = match.groups()
            if not number and not name:
                assert told == "", (line, told)
                continue
            what = f"{line!r} got {told!r}"
            assert told.endswith("\n\n"), what
            assert "\n\n" not in told[:-2], what
            head = told[0] + (number or "") + " "
            assert told[0] in "=?", what
            assert told.startswith(head), what
            assert "internal error" not in told, what
            if told[0] == "=":
                model.accepted(name, rest.split(), told[len(head) : -2])
        assert exchanges[-1][0] == self.question()[-1]
        wanted = f"=999 \n{model.game.render(model.state)}\n\n"
        assert exchanges[-1][1] == wanted, f"{exchanges[-1][1]} but wanted {wanted}"


def talk(game: Game, *lines: str | None, **changes: Any) -> list[str]:
    """All that is written for each line, of a fresh engine with few simulations."""
    recorder = Recorder()
    engine = make_engine(game, **{"num_simulations": 8, **changes})
    assert GtpServer(engine, recorder).run(iter(lines)) == 0
    return [told for _, told in recorder.exchanges]


def says(game: Game, conversation: str, **changes: Any) -> None:
    """Hold a conversation written as `line -> reply` and compare."""
    pairs = [pair.strip().partition("->") for pair in conversation.strip().splitlines()]
    told = talk(game, *[line.strip() for line, _, _ in pairs], **changes)
    got = [text.rstrip("\n") for text in told]
    wanted = [reply.strip() for _, _, reply in pairs]
    for (line, _, _), reply, want in zip(pairs, got, wanted, strict=True):
        if want.endswith("..."):
            assert reply.startswith(want[:-3]), line
        else:
            assert reply.rstrip() == want, line


class Judge(Evaluator):
    """Stands for a network: made for one board."""

    def evaluate(self, observations: Any) -> Any:
        assert observations.shape[2:] == (5, 5)
        return np.zeros((len(observations), 26), np.float32), np.zeros(len(observations), "f4")


def judged(game: Game, evaluator: Any, predictor: Any = None, **changes: Any) -> Engine:
    """An engine of another evaluator."""
    usual = make_engine(game, **changes)
    return Engine(lambda: Loaded(game, evaluator, predictor), usual._search, usual.settings)
