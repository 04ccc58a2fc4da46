"""Lines that no sane program sends to a UCI or USI engine, by the hundred thousand.

Good lines, mutated ones, noise and very long ones go to a server in this process. After each line
what was said is looked at; after each burst every `go` must have had one answer, and the server
must stand where a rules library stands that has followed the `position` lines it accepted.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

BURST = 100
GAMES = 100  # from which positions are drawn
STARTS = {"id", "option", "uciok", "usiok", "readyok", "info", "bestmove", "checkmate"}
COMMON = (
    "isready stop ponderhit go go_infinite go_ponder go_nodes_3 go_depth_2 go_movetime_1 "
    "debug_on debug_off setoption_name_MultiPV_value_3 setoption_name_MultiPV_value_1 "
    "setoption_name_MoveOverhead_value_7 go_wtime_5_btime_5 go_wtime_-3_btime_9_winc_1_binc_1"
)


class Oracle(ABC):
    """Follows a game independently of azcore."""

    commands: tuple[str, ...]
    position_word: str
    extra: tuple[str, ...]  # more lines of this protocol
    shuffle: str  # four moves after which all is as before

    @abstractmethod
    def follow(self, start: str | None, words: list[str]) -> str:
        """The position after all words; raises where one is not legal."""

    @abstractmethod
    def random_game(self, draw: random.Random) -> tuple[str | None, list[str]]:
        """A start and some legal moves."""


class ChessOracle(Oracle):
    commands = (
        "uci",
        "ucinewgame",
        "isready",
        "position",
        "go",
        "stop",
        "ponderhit",
        "setoption",
        "debug",
        "register",
        "quit",
    )
    position_word = "fen"
    extra = ("uci", "ucinewgame", "register later", "setoption name Clear Hash", "go mate 2")
    shuffle = "g1f3 g8f6 f3g1 f6g8"

    def __init__(self) -> None:
        import chess

        self._chess = chess

    def follow(self, start: str | None, words: list[str]) -> str:
        board = self._chess.Board(start or self._chess.STARTING_FEN)
        board.castling_rights = board.clean_castling_rights()
        if board.status() & self._chess.STATUS_INVALID_EP_SQUARE:
            board.ep_square = None
        assert board.is_valid()
        for word in words:
            try:
                board.push_uci(word.lower())
            except ValueError:
                board.push_san(word)
        return str(board.fen(en_passant="legal"))

    def random_game(self, draw: random.Random) -> tuple[str | None, list[str]]:
        board, words = self._chess.Board(), []
        for _ in range(draw.randrange(60)):
            if board.is_game_over(claim_draw=False):
                break
            move = draw.choice(list(board.legal_moves))
            board.push(move)
            words.append(move.uci())
        if draw.random() < 0.5:
            return None, words
        return str(board.fen()), []


class ShogiOracle(Oracle):
    commands = (
        "usi",
        "usinewgame",
        "isready",
        "position",
        "go",
        "stop",
        "ponderhit",
        "setoption",
        "debug",
        "gameover",
        "quit",
    )
    position_word = "sfen"
    extra = (
        "usi",
        "usinewgame",
        "gameover win",
        "go mate 100",
        "go btime 0 wtime 0 byoyomi 2",
        "setoption name USI_Hash value 16",
    )
    shuffle = "2h3h 8b7b 3h2h 7b8b"

    def __init__(self) -> None:
        import cshogi

        self._cshogi = cshogi

    def follow(self, start: str | None, words: list[str]) -> str:
        board = self._cshogi.Board()
        if start not in (None, "startpos"):
            board.set_sfen(start)
        for word in words:
            assert board.move_from_usi(word) in list(board.legal_moves), word
            board.push_usi(word)
        return str(board.sfen())

    def random_game(self, draw: random.Random) -> tuple[str | None, list[str]]:
        board, words = self._cshogi.Board(), []
        for _ in range(draw.randrange(60)):
            if board.is_game_over():
                break
            move = draw.choice(list(board.legal_moves))
            words.append(self._cshogi.move_to_usi(move))
            board.push(move)
        if draw.random() < 0.5:
            return None, words
        return str(board.sfen()), []


ORACLES: dict[str, tuple[str, Callable[[], Oracle]]] = {
    "uci": ("chess", ChessOracle),
    "usi": ("shogi", ShogiOracle),
}


class Recorder:
    """A stream that keeps what was written since it was last asked."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def write(self, text: str) -> int:
        self._lines += text.splitlines()
        return len(text)

    def flush(self) -> None:
        pass

    def take(self) -> list[str]:
        lines, self._lines = self._lines, []
        return lines


def mutated(line: str, draw: random.Random) -> str:
    """One of many ways to spoil a line."""
    words, kind = line.split(" "), draw.randrange(9)
    at = draw.randrange(len(words))
    spot = draw.randrange(len(line) + 1)
    if kind == 0:
        return line[:spot]
    if kind == 1:
        return line[:spot] + line[spot + 1 :]
    if kind == 2:
        return line[:spot] + chr(draw.randrange(1, 0x2100)) + line[spot:]
    if kind == 3:
        return " ".join(words[:at] + words[at + 1 :])
    if kind == 4:
        return " ".join([*words[:at], words[at], *words[at:]])
    if kind == 5:
        words[at] = draw.choice(["", "moves", "99999999999999999999", "-1", "\x00", "e1e8", "nan"])
        return " ".join(words)
    if kind == 6:
        draw.shuffle(words)
        return " ".join(words)
    if kind == 7:
        return line.swapcase()
    return draw.choice(["joho ", "\t ", "\ufeff", "0 "]) + line


class Fuzz:
    """Sends lines to a server and checks it.

    Args:
        server: a `PositionServer` whose writer goes to `out`.
        out: the recorder.
        oracle: of its game.
        seed: of all that is drawn.
    """

    def __init__(self, server: Any, out: Recorder, oracle: Oracle, seed: int) -> None:
        self._server, self._out, self._oracle = server, out, oracle
        self._draw = random.Random(seed)
        self._start: str | None = None  # of the last accepted position
        self._words: list[str] = []
        self._exact = True  # counters of moves too
        self._goes = self._answers = 0
        self._has_position = True
        self._games = [oracle.random_game(self._draw) for _ in range(GAMES)]
        self._games.append((None, oracle.shuffle.split() * 4))
        self._game = self._games[0]
        self._told = 0
        self.accepted = self.refused = 0
        common = tuple(line.replace("_", " ") for line in COMMON.split())
        self._plain = (*common, *oracle.extra)

    def run(self, lines: int) -> None:
        """Send so many lines, in bursts."""
        for i in range(lines):
            self.send(self._line())
            if i % BURST == BURST - 1:
                self._check()
        self._check()

    def send(self, line: str) -> None:
        """One line, and what can be said of it alone."""
        command, words = self._parsed(line)
        before = self._server.line
        alive = self._server.answer(line)
        assert alive == (command != "quit"), line
        said = self._heard(line)
        if command == "go":
            self._goes += 1
            answers = [text for text in said if text.startswith("bestmove ")]
            if not self._has_position and words[:1] != ["mate"]:
                held = {"infinite", "ponder"} & set(words)
                assert held or answers[-1] == "bestmove (none)", (line, said)
        elif command == "position":
            if self._server.line is before:
                assert said, line
                self.refused += 1
                self._has_position = False
            else:
                self._accept(words, said)
        elif command != "go":  # which goes on from a finished game's position
            assert self._server.line is before, line

    def _accept(self, words: list[str], said: list[str]) -> None:
        self.accepted += 1
        self._has_position = True
        end = words.index("moves") if "moves" in words else len(words)
        self._start = None if words[0] == "startpos" else " ".join(words[1:end])
        self._words = words[end + 1 :]
        self._exact = not any("without its counters" in text for text in said)

    def _parsed(self, line: str) -> tuple[str, list[str]]:
        """The first word that is a command, and those behind it."""
        words = line.split()
        for i, word in enumerate(words):
            if word in self._oracle.commands:
                return word, words[i + 1 :]
        return "", []

    def _heard(self, line: str) -> list[str]:
        said = self._out.take()
        for text in said:
            assert text.split(" ")[0] in STARTS, (line, text)
            assert text.isprintable(), (line, text)
            assert len(text) < (320 if text.startswith("info string") else 5000), (line, text)
        self._answers += sum(text.startswith(("bestmove ", "checkmate ")) for text in said)
        return said

    def _check(self) -> None:
        """All is answered, and the position is that of the library."""
        self.send("stop")
        assert self._answers == self._goes
        line = self._server.line
        got = line.game.state_to_text(line.state).split()
        wanted = self._oracle.follow(self._start, self._words).split()
        told = self._server._given
        if told.forgotten or not self._exact:
            number = 4 if len(wanted) == 6 else 3
            got, wanted = got[:number], wanted[:number]
        assert got == wanted, (self._start, self._words)

    def _line(self) -> str:
        draw = self._draw
        kind = draw.random()
        if kind < 0.20:
            return self._position()
        if kind < 0.25:
            return draw.choice(self._plain)
        if kind < 0.40:
            return mutated(self._position(), draw)
        if kind < 0.55:
            return mutated(draw.choice(self._plain), draw)
        if kind < 0.99:
            size = draw.randrange(1, 60)
            return draw.randbytes(size).decode(errors="replace").replace("\n", " ")
        if kind < 0.9995:
            return mutated(mutated(self._position(), draw), draw) * draw.randrange(1, 5)
        long = draw.choice(["x", " ", "go ", "position startpos moves e2e4 ", "\x00", "9"])
        return long * draw.randrange(10_000, 50_000)

    def _position(self) -> str:
        """A game that grows by a few moves with each line, as GUIs send it."""
        start, words = self._game
        if self._told >= len(words):
            self._game = start, words = self._draw.choice(self._games)
            self._told = 0
        self._told = min(len(words), self._told + self._draw.randrange(1, 4))
        place = "startpos" if start is None else f"{self._oracle.position_word} {start}"
        moves = f" moves {' '.join(words[: self._told])}" if self._told else ""
        return f"position {place}{moves}"


def make_fuzz(protocol: str, config: dict[str, Any], seed: int) -> Fuzz:
    """A fuzz of one protocol; few simulations, no network."""
    import azcore
    from azcore.engine.uci import UciServer
    from azcore.engine.usi import UsiServer
    from engine.partner import make_server

    name, make_oracle = ORACLES[protocol]
    out = Recorder()
    kind = {"uci": UciServer, "usi": UsiServer}[protocol]
    settings = {"num_simulations": 3, "max_simulations": 50, "report_seconds": 0.01}
    server = make_server(kind, config, azcore.make(name), out, **settings)
    return Fuzz(server, out, make_oracle(), seed)
