"""Shogi games as CSA: written and read; `transcripts.py` has what it shares with KIF."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from azcore.errors import IllegalActionError, InvalidTextError, TranscriptError
from azcore.game import Game, GameText, MainLine, Transcript, TranscriptFormat, result_of
from azcore.game.transcript import dated

from . import notation, rules, transcripts

_TYPES = ("FU", "KY", "KE", "GI", "KI", "KA", "HI", "OU", "TO", "NY", "NK", "NG", "UM", "RY")
_PLACED = re.compile(r"(00|[1-9][1-9])([A-Z]{2})", re.ASCII)
_MOVE = re.compile(f"([+-])(00|[1-9][1-9])([1-9][1-9])({'|'.join(_TYPES)})", re.ASCII)
_HEADERS = {"event": "$EVENT:", "site": "$SITE:", "date": "$START_TIME:"}
_PLAYERS = ("N+", "N-")  # by seat
_OUTCOMES = {  # CSA's words for an end, in the view of the seat to move; None: for neither
    **dict.fromkeys(("%TORYO", "%TIME_UP", "%ILLEGAL_MOVE", "%TSUMI"), -1),
    "%KACHI": 1,
    **dict.fromkeys(("%SENNICHITE", "%JISHOGI", "%HIKIWAKE", "%MAX_MOVES"), 0),
    **dict.fromkeys(("%CHUDAN", "%MATTA", "%FUZUMI", "%ERROR"), None),
    **dict.fromkeys(("%+ILLEGAL_ACTION", "%-ILLEGAL_ACTION"), None),
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
    """The games of a file, separated by a line of `/`, or each with a version after an end."""
    text, is_over = GameText(), False
    for line in lines:
        divides = line.strip() == "/"
        if (divides or (is_over and line.startswith("V"))) and (one := text.take()).strip():
            yield one
            is_over = False
        text.add("" if divides else line)
        is_over |= line.startswith("%")
    if (last := text.take()).strip():
        yield last


def write_csa(game: Game, transcript: Transcript) -> str:
    """A game as CSA (version 2.2); its result is one of CSA's words for an end, such as %TORYO.

    Raises:
        IllegalActionError: an action is not legal where it is played.
        InvalidTextError: the result is not one of CSA's, or differs from that of a finished game.
    """
    line = transcripts.main_line(game, "CSA", transcript.start_text)
    lines = ["V2.2"]
    for key, name in zip(_PLAYERS, transcript.players, strict=True):
        lines += [f"{key}{name}"] if name else []
    for name, value in transcript.headers.items():
        lines.append(f"{_HEADERS[name]}{dated(name, value, '-', '/')}")
    lines += ["PI", "+"] if line.start_text is None else _board(notation.position_of(line.state))
    state = line.state
    for action, comment in zip(transcript.actions, transcript.comments, strict=True):
        successor = game.step(state, action)
        move = transcripts.move_of(state, action)
        sign = "+-"[game.current_player(state)]
        lines.append(f"{sign}{move.source or '00'}{move.target}{_TYPES[move.after]}")
        lines += transcripts.comment_lines("'", comment)
        state = successor
    end = result_of(game, state, transcript.result, _csa_end(game, state), _OUTCOMES)
    return "\n".join([*lines, end]) + "\n"


def _board(position: notation.Position) -> list[str]:
    """The lines that set up a position."""
    lines = []
    for rank, row in enumerate(position.board.reshape(9, 9).tolist(), 1):
        seats_and_types = [divmod(code - 1, rules.NUM_TYPES) for code in row]
        cells = [
            "+-"[seat] + _TYPES[kind] if seat >= 0 else " * " for seat, kind in seats_and_types
        ]
        lines.append(f"P{rank}{''.join(cells)}")
    for sign, hand in zip("+-", position.hands.tolist(), strict=True):
        held = "".join(f"00{name}" * count for name, count in zip(_TYPES, hand, strict=False))
        lines += [f"P{sign}{held}"] if held else []
    return [*lines, "+-"[position.player]]


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
    """A CSA game. Words that are neither moves nor begin like other statements are ignored.

    Raises:
        InvalidTextError: not a CSA game, or a start that cannot be read.
        TranscriptError: a move that is illegal or out of turn, or a statement out of place; the
            message gives its number, and the error the game before it.
    """
    text = next(games_of_csa(text.splitlines(keepends=True)), "")
    headers: dict[str, str] = {}
    position: list[str] = []
    line: MainLine | None = None
    end = ""
    for words in transcripts.lines_of(text):
        # Statements may share a line; a comment has its own.
        for part in [words] if words[:1] in "'N$" else words.split(","):
            word = part if part[:1] in "'N$" else part.strip()
            if word[:1] in ("", "N", "$", "V", "T"):  # names, headers, version and times
                for key in (*_HEADERS.values(), *_PLAYERS):
                    if word.startswith(key):
                        headers.setdefault(key, part.removeprefix(key))
            elif word[0] == "'":
                if line is not None and not end:
                    line.comment(word[1:])
            elif line is None:
                if word[0] == "P":
                    position.append(word)
                elif word in ("+", "-") or (_MOVE.fullmatch(word) and not position):
                    line = transcripts.main_line(game, "CSA", _csa_start(position, word))
                    if word not in ("+", "-"):  # some files omit the usual start
                        _play(line, word)
                else:
                    raise InvalidTextError(
                        "shogi: a CSA game must have its start, then + or -, then moves, got "
                        f"{word[:20]!r}"
                    )
            elif word[0] == "%":
                end = end or word
            elif end or word[0] == "P":
                line.stop(
                    "a CSA game must have its start, then moves, then % at the end, got "
                    f"{word[:20]!r} after {len(line.actions)} moves",
                    transcripts.UNREADABLE,
                )
            elif word[0] in "+-0123456789":
                _play(line, word)
            else:
                line.ignored.add("a word that is not a move")
    if line is None:
        raise InvalidTextError(f"shogi: not a CSA game: no PI and + in {text[:30]!r}")
    first, second = (rate.search(text) for rate in _RATES)
    if end not in ("", *_OUTCOMES):
        line.ignored.add("an end that CSA does not have")
    return line.transcript(
        players=(headers.get(_PLAYERS[0], ""), headers.get(_PLAYERS[1], "")),
        result=end if end in _OUTCOMES and end != "%CHUDAN" else None,
        headers={n: dated(n, headers.get(key, ""), "/", "-") for n, key in _HEADERS.items()},
        outcome=_FOULS.get(end, transcripts.seat_0(line, _OUTCOMES.get(end))),
        ratings=(first and float(first[1]), second and float(second[1])),
        off_the_board=transcripts.OFF_THE_BOARD.get(end, ""),
    )


def _play(line: MainLine, word: str) -> None:
    sign = "+-"[line.game.current_player(line.state)]
    stated = _MOVE.fullmatch(word)

    def action() -> int:
        if stated is not None and stated[1] == sign:
            source, after = stated[2].replace("00", ""), _TYPES.index(stated[4])
            for action, move in transcripts.moves_to(line, stated[3]).items():
                if (move.source, move.after) == (source, after):
                    return action
        raise IllegalActionError(
            f"it must be a legal move that begins with {sign}, got {word[:20]!r}"
        )

    line.play(action)


def _csa_start(lines: Sequence[str], player: str) -> str | None:
    """The start that the lines of a CSA game state, in SFEN; None: the usual one.

    PI is the usual board without the pieces that follow, P1 to P9 are its ranks, P+ and P- place
    pieces one by one; 00 is the hand, and AL all pieces that are left.

    Raises:
        TranscriptError: it cannot be read.
    """
    start = transcripts.Setup()
    stated = [line for line in lines if line not in ("P+", "P-")]  # hands without pieces
    for line in stated or ["PI"]:
        is_white, places = line[1:2] == "-", _PLACED.findall(line, 2)
        if line.startswith("PI"):
            start.board = notation.read_sfen(notation.START, max_plies=0).board
            for place, _ in places:
                start.board[transcripts.square(place)] = 0
        elif line[1:2] in tuple("123456789"):
            cells = re.findall(r"([+-])(\w\w)| \* ?", line[2:])[:9]
            for file, (sign, piece) in enumerate(cells):
                if sign:
                    start.put(f"{9 - file}{line[1]}", _type(piece), is_white=sign == "-")
        for place, piece in places if line[1:2] in ("+", "-") else ():
            if place != "00":
                start.put(place, _type(piece), is_white=is_white)
            elif piece == "AL":
                pieces = (start.board[start.board > 0] - 1) % rules.NUM_TYPES
                used = np.bincount(rules.HAND_TYPE[pieces], minlength=rules.NUM_TYPES)
                left = rules.SUPPLY - used[: rules.NUM_HAND_TYPES] - start.hands.sum(0)
                start.hands[int(is_white)] += np.maximum(left, 0)
            else:
                start.hands[int(is_white), _type(piece, rules.NUM_HAND_TYPES)] += 1
    return start.start(rules.WHITE if player == "-" else rules.BLACK)


def _type(piece: str, count: int = rules.NUM_TYPES) -> int:
    """The type of a piece, one of the first `count`."""
    if piece not in _TYPES[:count]:
        raise TranscriptError(
            f"shogi: a piece of a CSA game must be one of {', '.join(_TYPES[:count])}, "
            f"got {piece!r}",
            transcripts.NO_START,
        )
    return _TYPES.index(piece)
