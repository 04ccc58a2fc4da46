"""Shogi games as CSA: written and read; `transcripts.py` states what both formats hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from azcore.errors import (
    IllegalActionError,
    InvalidTextError,
    TranscriptError,
)
from azcore.game import Game, GameText, Transcript, TranscriptFormat, unplayable, up_to_fault

from . import notation, rules
from .transcripts import (
    NO_START,
    OFF_THE_BOARD,
    comment_lines,
    dashed,
    is_usual,
    library,
    lines_of,
    no_hands,
    piece_code,
    play_usi,
    result_note,
    seat_0,
    sfen_of,
    slashed,
    start_of,
)

_TYPES = dict(
    zip(
        ("FU", "KY", "KE", "GI", "KI", "KA", "HI", "OU", "TO", "NY", "NK", "NG", "UM", "RY"),
        range(rules.NUM_TYPES),
        strict=True,
    )
)
_PLACED = re.compile(r"(00|[1-9][1-9])([A-Z]{2})", re.ASCII)
_MOVE = re.compile(
    "[+-](00|[1-9][1-9])[1-9][1-9](FU|KY|KE|GI|KI|KA|HI|OU|TO|NY|NK|NG|UM|RY)", re.ASCII
)
_HEADERS = {"event": "$EVENT:", "site": "$SITE:", "date": "$START_TIME:"}
_PLAYERS = ("N+", "N-")  # by seat
_ENDS = (
    *("%TORYO", "%CHUDAN", "%SENNICHITE", "%TIME_UP", "%ILLEGAL_MOVE", "%+ILLEGAL_ACTION"),
    *("%-ILLEGAL_ACTION", "%JISHOGI", "%KACHI", "%HIKIWAKE", "%MATTA", "%TSUMI", "%FUZUMI"),
    *("%MAX_MOVES", "%ERROR"),
)
_OUTCOMES = {  # in the view of the seat to move
    **dict.fromkeys(("%TORYO", "%TIME_UP", "%ILLEGAL_MOVE", "%TSUMI"), -1),
    "%KACHI": 1,
    **dict.fromkeys(("%SENNICHITE", "%JISHOGI", "%HIKIWAKE", "%MAX_MOVES"), 0),
}
_FOULS = {"%+ILLEGAL_ACTION": -1, "%-ILLEGAL_ACTION": 1}  # in the view of seat 0
_RATES = [  # servers' comments with the players' ratings
    re.compile(rf"^'{colour}_rate:.*:(\d{{1,4}}(?:\.\d{{1,6}})?)\s*$", re.MULTILINE | re.ASCII)
    for colour in ("black", "white")
]


def csa(game: Game) -> TranscriptFormat:
    """The CSA format, as `Game.transcript_formats` returns it."""
    return TranscriptFormat(
        suffix=".csa",
        write=partial(write_csa, game),
        read=partial(read_csa, game),
        resignation=lambda seat: "%TORYO",
        draw="%HIKIWAKE",
        games=games_of_csa,
        encodings=("cp932",),
    )


def games_of_csa(lines: Iterable[str]) -> Iterator[str]:
    """The games of a file, separated by a line of `/`."""
    text = GameText()
    for line in lines:
        if line.strip() != "/":
            text.add(line)
        elif (one := text.take()).strip():
            yield one
    if (last := text.take()).strip():
        yield last


def write_csa(game: Game, transcript: Transcript) -> str:
    """A game as CSA (version 2.2); its result is one of CSA's words for an end, such as %TORYO.

    Raises:
        GameError: cshogi is not installed.
        IllegalActionError: an action is not legal where it is played.
        InvalidTextError: the result is not one of CSA's, or differs from that of a finished game.
    """
    cshogi = library()
    state, board = start_of(game, transcript.start_text)
    lines = ["V2.2"]
    for key, name in zip(_PLAYERS, transcript.players, strict=True):
        lines += [f"{key}{name}"] if name else []
    for name, value in transcript.headers.items():
        lines.append(f"{_HEADERS[name]}{slashed(name, value)}")
    lines += ["PI", "+"] if is_usual(transcript.start_text) else board.csa_pos().splitlines()
    for action, comment in zip(transcript.actions, transcript.comments, strict=True):
        successor = game.step(state, action)
        move = board.push_usi(game.action_to_text(state, action))
        lines.append(f"{'+-'[game.current_player(state)]}{cshogi.move_to_csa(move)}")
        lines += comment_lines("'", comment)
        state = successor
    end = _csa_end(game, state)
    if transcript.result is not None:
        end = result_note(game, state, transcript.result, end, _ENDS)
    return "\n".join([*lines, end]) + "\n"


def _csa_end(game: Game, state: Any) -> str:
    if not game.is_terminal(state):
        return "%CHUDAN"
    ending = game.termination(state)
    if ending == "perpetual check":
        return f"%{'-' if game.outcome(state) > 0 else '+'}ILLEGAL_ACTION"
    words = {
        "fourfold repetition": "%SENNICHITE",
        "move limit": "%MAX_MOVES",  # from version 3.0; other programs also write it in 2.2
        "entering king": "%KACHI",
    }
    return words.get(ending, "%TSUMI")


def read_csa(game: Game, text: str) -> Transcript:
    """A CSA game.

    Raises:
        GameError: cshogi is not installed.
        InvalidTextError: not a CSA game, or a start that cannot be read.
        TranscriptError: a move that is illegal or out of turn, or an unknown word; the message
            gives its number, and the error the game before it.
    """
    moves = _CsaMoves(game)
    headers: dict[str, str] = {}
    fault: TranscriptError | None = None
    for line in lines_of(text):
        # Statements may share a line; a comment has its own.
        for part in [line] if line[:1] in "'N$" else line.split(","):
            word = part if part[:1] in "'N$" else part.strip()
            for key in (*_HEADERS.values(), *_PLAYERS):
                if word.startswith(key):
                    headers.setdefault(key, part.removeprefix(key))
            if fault is None:
                try:
                    moves.word(word)
                except TranscriptError as error:
                    fault = error
    if not moves.begun:
        raise fault or InvalidTextError(f"shogi: not a CSA game: no PI and + in {text[:30]!r}")
    end, outcome = moves.end, seat_0(game, moves.state, _OUTCOMES.get(moves.end))
    transcript = Transcript(
        actions=moves.actions,
        comments=["\n".join(said) for said in moves.comments],
        players=(headers.get(_PLAYERS[0], ""), headers.get(_PLAYERS[1], "")),
        result=end if end in _ENDS and end != "%CHUDAN" else None,
        headers={n: dashed(n, headers.get(key, "")) for n, key in _HEADERS.items()},
        start_text=moves.start,
        outcome=_FOULS.get(end, outcome),
        ratings=(_rate(_RATES[0], text), _rate(_RATES[1], text)),
        off_the_board=OFF_THE_BOARD.get(end, ""),
    )
    return up_to_fault(transcript, fault)


class _CsaMoves:
    """Plays the moves among the statements of a game."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._position: list[str] = []  # lines of the starting position
        self.start: str | None = None  # in SFEN; None: the usual one
        self.state, self._board = start_of(game, None)
        self.actions: list[int] = []
        self.comments: list[list[str]] = []  # by ply
        self.begun, self.end = False, ""

    def word(self, word: str) -> None:
        """Process one statement.

        Raises:
            TranscriptError: it cannot be played.
        """
        if word[:1] in ("", "'", "N", "$", "V", "T"):  # comments, names and times
            if word[:1] == "'" and self.actions and not self.end:
                self.comments[-1].append(word[1:])
        elif word[0] == "P" and not self.begun:
            self._position.append(word)
        elif word in ("+", "-") and not self.begun:
            self.start = _csa_start(self._position, word)
            self.state, self._board = start_of(self._game, self.start)
            self.begun = True
        elif _MOVE.fullmatch(word) and not (self.begun or self._position):
            self.begun = True  # the usual start, which some files omit
            self._play(word)
        elif word[0] == "%" and self.begun:
            self.end = self.end or word
        elif word[0] in "+-" and self.begun and not self.end:
            self._play(word)
        else:
            raise TranscriptError(
                "shogi: a CSA game must have its start, then + and moves, then % at the end, "
                f"got {word[:20]!r} after {len(self.actions)} moves",
                "a move that cannot be read",
            )

    def _play(self, word: str) -> None:
        sign = "+-"[self._game.current_player(self.state)]
        move = self._board.move_from_csa(word[1:]) if _MOVE.fullmatch(word) else 0
        if word[0] != sign or not move:
            why = f"it must be a legal move that begins with {sign}, got {word[:20]!r}"
            where = f"shogi: move {len(self.actions) + 1} of the CSA game"
            raise unplayable(self._game, self.state, where, IllegalActionError(why))
        usi = library().move_to_usi(move)
        self.state = play_usi(self._game, self.state, self.actions, usi, "CSA")
        self.comments.append([])
        self._board.push(move)


def _rate(pattern: re.Pattern[str], text: str) -> float | None:
    found = pattern.search(text)
    return None if found is None else float(found[1])


def _csa_start(lines: Sequence[str], player: str) -> str | None:
    """The start that the lines of a CSA game state, in SFEN; None: the usual one.

    PI is the usual board without the pieces that follow, P1 to P9 are its ranks, P+ and P- place
    pieces one by one; 00 is the hand, and AL all pieces that are left.

    Raises:
        TranscriptError: it cannot be read.
    """
    board, hands = np.zeros(81, np.int8), no_hands()
    stated = [line for line in lines if line not in ("P+", "P-")]  # hands without pieces
    for line in stated or ["PI"]:
        is_white, places = line[1:2] == "-", _PLACED.findall(line, 2)
        if line.startswith("PI"):
            board = notation.read_sfen(notation.START, max_plies=0).board
            for place, _ in places:
                board[_square(place)] = 0
        elif line[1:2] in tuple("123456789"):
            cells = re.findall(r"([+-])(\w\w)| \* ?", line[2:])[:9]
            for file, (sign, piece) in enumerate(cells):
                if sign:
                    board[_square(f"{9 - file}{line[1]}")] = piece_code(
                        _csa_type(piece), sign == "-"
                    )
        for place, piece in places if line[1:2] in ("+", "-") else ():
            if place != "00":
                board[_square(place)] = piece_code(_csa_type(piece), is_white)
            elif piece == "AL":
                there = rules.HAND_TYPE[(board[board > 0] - 1) % rules.NUM_TYPES]
                used = np.bincount(there, minlength=rules.NUM_TYPES)[: rules.NUM_HAND_TYPES]
                hands[int(is_white)] += np.maximum(rules.SUPPLY - used - hands.sum(0), 0)
            else:
                hands[int(is_white), _csa_type(piece, rules.NUM_HAND_TYPES)] += 1
    start = sfen_of(board, hands, rules.WHITE if player == "-" else rules.BLACK)
    return None if start == notation.START else start


def _square(place: str) -> int:
    """The square of a file and a rank, such as 77."""
    return 9 * int(place[1]) - int(place[0])


def _csa_type(piece: str, count: int = rules.NUM_TYPES) -> int:
    """The type of a piece, one of the first `count`."""
    names = list(_TYPES)[:count]
    if piece not in names:
        raise TranscriptError(
            f"shogi: a piece of a CSA game must be one of {', '.join(names)}, got {piece!r}",
            NO_START,
        )
    return _TYPES[piece]
