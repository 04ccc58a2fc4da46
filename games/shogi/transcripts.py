# ruff: noqa: RUF001 (KIF has wide colons and digits)
"""Shogi games as KIF and CSA transcripts, by the library cshogi (the extra `azcore[shogi]`).

Both formats hold a main line of moves with comments, names, place and date, and the reason for the
end. They begin at the usual start, with a handicap or in a position; variations and clock times are
skipped.

KIF is written and read as text; files are in UTF-8 (`.kifu`) or CP932 (`.kif`). cshogi writes the
moves and checks them against its board. Lines are parsed here, because cshogi's own readers of
whole games terminate the process on some damaged ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.errors import (
    AzcoreError,
    GameError,
    IllegalActionError,
    InvalidTextError,
    TranscriptError,
)
from azcore.game import Game, GameText, Transcript, TranscriptFormat, unplayable, up_to_fault

from . import notation, rules

_WIDE = str.maketrans("１２３４５６７８９０一二三四五六七八九王竜", "1234567890123456789玉龍")
_HAND_NAMES = "歩香桂銀金角飛"  # by type
# A move, with digits and names converted by `_WIDE`. KIF states its origin or a drop; KI2 has words
# instead, if several pieces of the kind could have moved.
_KIF_MOVE = re.compile(
    r"(?:(?P<target>[1-9][1-9])|(?P<same>同)[ 　]*)"
    f"(?P<piece>成[銀桂香]|[{_HAND_NAMES}玉と杏圭全馬龍])(?P<how>[左右直上行引寄]*)"
    r"(?P<kind>打|成|不成)?(?:\((?P<source>[0-9][0-9])\))?"
)
_KIF_LINE = re.compile(
    r"\s*(?!9 8 7)([0-9]{1,6})(?:\s*[.:：]\s*|手目\s*|\s+)[▲△▼▽☗☖]?(\S.*)", re.ASCII
)  # not the files above a board
_KI2_MOVE = re.compile(f"[▲△▼▽☗☖]{_KIF_MOVE.pattern}")
_SHORT = dict(zip(("成銀", "成桂", "成香"), "全圭杏", strict=True))
_KIF_OUTCOMES = {  # KIF's words for an end, in the view of the seat to move; None: for neither
    **dict.fromkeys(("投了", "詰み", "切れ負け", "反則負け", "不戦敗", "時間切れ", "接続切れ"), -1),
    **dict.fromkeys(("反則勝ち", "入玉勝ち", "入玉宣言", "不戦勝", "勝ち宣言"), 1),
    **dict.fromkeys(("持将棋", "千日手", "最大手数", "引き分け"), 0),
    **dict.fromkeys(("中断", "不詰", "封じ手", "反則"), None),
}
_KIF_ENDS = tuple(_KIF_OUTCOMES)
_KIF_UNFINISHED = ("", "中断", "封じ手")
_KIF_RESULT = re.compile(r"\s*まで.*手で\s*(?:(先手|下手|▲|☗)|(後手|上手|△|☖))の.*勝")
_OFF_THE_BOARD = {
    **dict.fromkeys(("切れ負け", "時間切れ", "%TIME_UP"), "time"),
    **dict.fromkeys(("不戦敗", "不戦勝", "接続切れ"), "absence"),
}
_NO_START = "a start that cannot be read"
_TYPES = dict(zip(f"{_HAND_NAMES}玉と杏圭全馬龍", range(rules.NUM_TYPES), strict=True))
_CSA_TYPES = dict(
    zip(
        ("FU", "KY", "KE", "GI", "KI", "KA", "HI", "OU", "TO", "NY", "NK", "NG", "UM", "RY"),
        range(rules.NUM_TYPES),
        strict=True,
    )
)
_CSA_PLACED = re.compile(r"(00|[1-9][1-9])([A-Z]{2})", re.ASCII)
_KIF_CELL = re.compile(f"([ v^])(?:([{''.join(_TYPES)}])|・)")
_KIF_HAND = re.compile(f"([{_HAND_NAMES}])(十?)([1-9]?)")

_BYTE_ORDER_MARK = "\ufeff"  # some editors write it first

_CSA_MOVE = re.compile(
    "[+-](00|[1-9][1-9])[1-9][1-9](FU|KY|KE|GI|KI|KA|HI|OU|TO|NY|NK|NG|UM|RY)", re.ASCII
)


def library() -> Any:
    """The module cshogi.

    Raises:
        GameError: cshogi is not installed.
    """
    try:
        import cshogi
        import cshogi.CSA
        import cshogi.KIF
    except ImportError as error:
        raise GameError(
            "shogi: KIF and CSA transcripts and the plain form need the library cshogi: "
            "pip install azcore[shogi] (not on Python 3.12, where it needs an old NumPy)"
        ) from error
    return cshogi


# -- KIF ---------------------------------------------------------------------------------------


_KIF_HEADERS = {"event": "棋戦", "site": "場所", "date": "開始日時"}
_KIF_PLAYERS = ("先手", "後手")  # by seat


def kif(game: Game) -> TranscriptFormat:
    """The KIF format, as `Game.transcript_formats` returns it."""
    return TranscriptFormat(
        suffix=".kifu",
        write=partial(write_kif, game),
        read=partial(read_kif, game),
        resignation=lambda seat: "投了",
        draw="持将棋",
        other_suffixes=(".kif", ".ki2"),
        encodings=("cp932",),
    )


def write_kif(game: Game, transcript: Transcript) -> str:
    """A game as KIF; its result is one of KIF's words for an end, such as 投了.

    Raises:
        GameError: cshogi is not installed.
        IllegalActionError: an action is not legal where it is played.
        InvalidTextError: the result is not one of KIF's, or differs from that of a finished game.
    """
    cshogi = library()
    state, board = _start(game, transcript.start_text)
    lines = [
        f"{_KIF_HEADERS[name]}：{_slashed(name, value)}"
        for name, value in transcript.headers.items()
    ]
    lines += ["手合割：平手"] if _is_usual(transcript.start_text) else board.to_bod().split("\n")
    lines += [f"{_KIF_PLAYERS[seat]}：{name}" for seat, name in enumerate(transcript.players)]
    lines.append("手数----指手---------消費時間--")
    previous = None
    for number, action in enumerate(transcript.actions, 1):
        successor = game.step(state, action)
        move = board.push_usi(game.action_to_text(state, action))
        state = successor
        lines.append(f"{number:>4} {cshogi.KIF.move_to_kif(move, previous)}")
        lines += _comment_lines("*", transcript.comments[number - 1])
        previous = move
    word, result = _kif_end(game, state)
    if transcript.result is not None:
        told = _told_result(game, state, transcript.result, word, _KIF_ENDS)
        if told != word:
            loser = game.current_player(state)
            word, result = told, told
            if told == "投了":
                result = f"{_KIF_PLAYERS[1 - loser]}の勝ち"
    lines.append(f"{len(transcript.actions) + 1:>4} {word}")
    lines.append(f"まで{len(transcript.actions)}手で{result}")
    return "\n".join(lines) + "\n"


def _kif_end(game: Game, state: Any) -> tuple[str, str]:
    """KIF's word for how the game ended, and its words for the result."""
    if not game.is_terminal(state):
        return "中断", "中断"
    ending = game.termination(state)
    if ending == "fourfold repetition":
        return "千日手", "千日手"
    if ending == "move limit":
        return "最大手数", "持将棋"  # a draw, in the word that programs know
    winner = _KIF_PLAYERS[game.outcome(state) < 0]
    if ending == "entering king":
        return "入玉勝ち", f"{winner}の入玉勝ち"
    if ending == "perpetual check":
        wins = (game.outcome(state) > 0) == (game.current_player(state) == rules.BLACK)
        return "反則勝ち" if wins else "反則負け", f"{winner}の反則勝ち"
    return "詰み", f"{winner}の勝ち"


def read_kif(game: Game, text: str) -> Transcript:
    """The main line of a KIF or KI2 game.

    Raises:
        GameError: cshogi is not installed.
        InvalidTextError: not KIF, or a start that cannot be read.
        TranscriptError: a move that is unreadable, ambiguous or illegal; the message gives its
            number, and the error the game before it.
    """
    lines = _lines(text)
    start = _kif_start(lines)
    moves = _KifMoves(game, start)
    headers: dict[str, str] = {}
    winner: int | None = None
    fault: TranscriptError | None = None
    for line in lines:
        if line.startswith("変化"):
            break  # variations come after the main line
        if line.startswith("*"):
            moves.comment(line[1:])
            continue
        if header := re.match(r"\s*([^\W\d]\w*)：(.*)", line):
            headers.setdefault(header[1], header[2])
        elif stated := _KIF_RESULT.match(line):
            winner = 1 if stated[1] else -1
        elif fault is None:
            try:
                moves.line(line)
            except TranscriptError as error:
                fault = error
    end = moves.end
    if not moves.actions and not end and fault is None and "手合割" not in text:
        raise InvalidTextError(f"shogi: not a KIF game: no moves in {text[:30]!r}")
    outcome = _seat_0(game, moves.state, _KIF_OUTCOMES.get(end))
    transcript = Transcript(
        actions=moves.actions,
        comments=["\n".join(said) for said in moves.comments],
        players=(
            headers.get("先手", headers.get("下手", "")),
            headers.get("後手", headers.get("上手", "")),  # with a handicap, where White begins
        ),
        result=None if end in _KIF_UNFINISHED else end,
        headers={n: _dashed(n, headers.get(key, "")) for n, key in _KIF_HEADERS.items()},
        start_text=start,
        outcome=winner if outcome is None else outcome,
        off_the_board=_OFF_THE_BOARD.get(end, ""),
    )
    return up_to_fault(transcript, fault)


class _KifMoves:
    """Plays the moves of the lines of a game."""

    def __init__(self, game: Game, start: str | None) -> None:
        self._game, self._cshogi = game, library()
        self.state, self._board = _start(game, start)
        self._target = ""  # of the previous move
        self.actions: list[int] = []
        self.comments: list[list[str]] = []  # by ply
        self.end = ""

    def comment(self, text: str) -> None:
        if self.actions and not self.end:
            self.comments[-1].append(text)

    def line(self, line: str) -> None:
        """Play a line: a number and a move or the end, or moves with the marks of KI2.

        Raises:
            TranscriptError: it cannot be played.
        """
        plain = line.translate(_WIDE)
        numbered = _KIF_LINE.match(plain)
        if numbered is None:
            for move in _KI2_MOVE.finditer(plain):
                self._play(move, move[0])
            return
        number = len(self.actions) + 1
        if self.end or int(numbered[1]) != number:
            raise TranscriptError(
                f"shogi: a KIF game has its moves in order and then its end; move {number} comes "
                f"next, got {line[:30]!r}",
                "moves out of order",
            )
        if numbered[2].startswith(_KIF_ENDS):
            self.end = max(filter(numbered[2].startswith, _KIF_ENDS), key=len)
        else:
            self._play(_KIF_MOVE.match(numbered[2]), line)

    def _play(self, move: re.Match[str] | None, line: str) -> None:
        number = len(self.actions) + 1
        if move is None or (move["same"] and not self._target):
            raise TranscriptError(
                f"shogi: move {number} of the KIF game cannot be read: {line[:30]!r}",
                "a move that cannot be read",
            )
        target = move["target"] or self._target
        found = [each for each in self._candidates() if _fits(each[1], move, target)]
        if len(found) > 1:
            found = _told_apart(found, move["how"], target, self._game.current_player(self.state))
        if len(found) > 1:
            raise TranscriptError(
                f"shogi: move {number} of the KIF game may be any of "
                f"{', '.join(usi for usi, _ in found)}: {line[:30]!r}",
                "a move that is ambiguous",
            )
        if not found:
            why = f"it must be legal and made by the piece named: {line[:30]!r}"
            where = f"shogi: move {number} of the KIF game"
            raise unplayable(self._game, self.state, where, IllegalActionError(why))
        usi = found[0][0]
        self.state = _play(self._game, self.state, self.actions, usi, "KIF")
        self.comments.append([])
        self._board.push_usi(usi)
        self._target = target

    def _candidates(self) -> Iterator[tuple[str, re.Match[str]]]:
        """The legal moves, in USI and in cshogi's KIF."""
        for move in self._board.legal_moves:
            written = _KIF_MOVE.match(self._cshogi.KIF.move_to_kif(move).translate(_WIDE))
            assert written is not None
            yield self._cshogi.move_to_usi(move), written


def _fits(legal: re.Match[str], move: re.Match[str], target: str) -> bool:
    """Whether a legal move may be the written one."""
    if legal["target"] != target or legal["piece"] != _SHORT.get(move["piece"], move["piece"]):
        return False
    kind = None if move["kind"] == "不成" else move["kind"]
    if move["source"]:
        return legal["source"] == move["source"] and legal["kind"] == kind
    return legal["kind"] == kind or (kind is None and legal["kind"] == "打")


def _told_apart(
    found: list[tuple[str, re.Match[str]]], how: str, target: str, seat: int
) -> list[tuple[str, re.Match[str]]]:
    """The moves to a point that match KI2's words.

    Without a word for a drop, a piece on the board moves. Up, down and sideways are its direction;
    right and left choose one of several; all in the view of the player to move.
    """
    found = [each for each in found if each[1]["source"]] or found
    sign = 1 if seat == 0 else -1

    def way(source: str) -> str:
        up = sign * (int(source[1]) - int(target[1]))
        if up == 0:
            return "寄"
        return "引" if up < 0 else "直上" if up == 1 and source[0] == target[0] else "上"

    for word in how.replace("行", "上"):
        if word in "左右":
            files = [sign * int(match["source"][0]) for _, match in found]
            end = min(files) if word == "右" else max(files)
            found = [each for each, file in zip(found, files, strict=True) if file == end]
        else:
            found = [each for each in found if word in way(each[1]["source"])]
    return found


def _kif_start(lines: Sequence[str]) -> str | None:
    """The start that a KIF game names or draws, in SFEN; None: the usual one.

    Raises:
        TranscriptError: it cannot be read.
    """
    name, seat, rows, hands = "平手", rules.BLACK, list[list[int]](), _no_hands()
    for line in lines:
        plain = line.translate(_WIDE)
        if _KIF_LINE.match(plain):
            break
        if header := re.match(r"\s*手合割\s*[：:](.*)", line):
            name = header[1].strip() or name
        elif held := re.match(r"\s*(?:(先手|下手)|後手|上手)の持駒\s*[：:](.*)", plain):
            holder = rules.BLACK if held[1] else rules.WHITE
            for piece, ten, rest in _KIF_HAND.findall(held[2]):
                hands[holder, _TYPES[piece]] += 10 * len(ten) + int(rest or not ten)
        elif plain.startswith("|"):
            cells = _KIF_CELL.findall(plain)
            rows.append([_code(_TYPES[p], mark == "v") if p else 0 for mark, p in cells])
        elif plain.strip() in ("後手番", "上手番"):
            seat = rules.WHITE
    if rows:
        if [len(row) for row in rows] != [9] * 9:
            raise TranscriptError(
                "shogi: the game's start: a board must have 9 rows of 9 squares, got "
                f"{[len(row) for row in rows][:10]}",
                _NO_START,
            )
        return _sfen(np.array(rows, np.int8).reshape(81), hands, seat)
    start: str | None = library().KIF.Parser.HANDYCAP_SFENS.get(name)
    if start is None:
        raise TranscriptError(
            f"shogi: a KIF game must name a handicap or draw its board, got {name[:20]!r}",
            _NO_START,
        )
    return None if start == notation.START else start


# -- CSA ---------------------------------------------------------------------------------------


_CSA_HEADERS = {"event": "$EVENT:", "site": "$SITE:", "date": "$START_TIME:"}
_CSA_PLAYERS = ("N+", "N-")  # by seat
_CSA_ENDS = (
    *("%TORYO", "%CHUDAN", "%SENNICHITE", "%TIME_UP", "%ILLEGAL_MOVE", "%+ILLEGAL_ACTION"),
    *("%-ILLEGAL_ACTION", "%JISHOGI", "%KACHI", "%HIKIWAKE", "%MATTA", "%TSUMI", "%FUZUMI"),
    *("%MAX_MOVES", "%ERROR"),
)
_CSA_OUTCOMES = {  # in the view of the seat to move
    **dict.fromkeys(("%TORYO", "%TIME_UP", "%ILLEGAL_MOVE", "%TSUMI"), -1),
    "%KACHI": 1,
    **dict.fromkeys(("%SENNICHITE", "%JISHOGI", "%HIKIWAKE", "%MAX_MOVES"), 0),
}
_CSA_FOULS = {"%+ILLEGAL_ACTION": -1, "%-ILLEGAL_ACTION": 1}  # in the view of seat 0
_CSA_RATES = [  # servers' comments with the players' ratings
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
    state, board = _start(game, transcript.start_text)
    lines = ["V2.2"]
    for key, name in zip(_CSA_PLAYERS, transcript.players, strict=True):
        lines += [f"{key}{name}"] if name else []
    for name, value in transcript.headers.items():
        lines.append(f"{_CSA_HEADERS[name]}{_slashed(name, value)}")
    lines += ["PI", "+"] if _is_usual(transcript.start_text) else board.csa_pos().splitlines()
    for action, comment in zip(transcript.actions, transcript.comments, strict=True):
        successor = game.step(state, action)
        move = board.push_usi(game.action_to_text(state, action))
        lines.append(f"{'+-'[game.current_player(state)]}{cshogi.move_to_csa(move)}")
        lines += _comment_lines("'", comment)
        state = successor
    end = _csa_end(game, state)
    if transcript.result is not None:
        end = _told_result(game, state, transcript.result, end, _CSA_ENDS)
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
    for line in _lines(text):
        # Statements may share a line; a comment has its own.
        for part in [line] if line[:1] in "'N$" else line.split(","):
            word = part if part[:1] in "'N$" else part.strip()
            for key in (*_CSA_HEADERS.values(), *_CSA_PLAYERS):
                if word.startswith(key):
                    headers.setdefault(key, part.removeprefix(key))
            if fault is None:
                try:
                    moves.word(word)
                except TranscriptError as error:
                    fault = error
    if not moves.begun:
        raise fault or InvalidTextError(f"shogi: not a CSA game: no PI and + in {text[:30]!r}")
    end, outcome = moves.end, _seat_0(game, moves.state, _CSA_OUTCOMES.get(moves.end))
    transcript = Transcript(
        actions=moves.actions,
        comments=["\n".join(said) for said in moves.comments],
        players=(headers.get(_CSA_PLAYERS[0], ""), headers.get(_CSA_PLAYERS[1], "")),
        result=end if end in _CSA_ENDS and end != "%CHUDAN" else None,
        headers={n: _dashed(n, headers.get(key, "")) for n, key in _CSA_HEADERS.items()},
        start_text=moves.start,
        outcome=_CSA_FOULS.get(end, outcome),
        ratings=(_rate(_CSA_RATES[0], text), _rate(_CSA_RATES[1], text)),
        off_the_board=_OFF_THE_BOARD.get(end, ""),
    )
    return up_to_fault(transcript, fault)


class _CsaMoves:
    """Plays the moves among the statements of a game."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._position: list[str] = []  # lines of the starting position
        self.start: str | None = None  # in SFEN; None: the usual one
        self.state, self._board = _start(game, None)
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
            self.state, self._board = _start(self._game, self.start)
            self.begun = True
        elif _CSA_MOVE.fullmatch(word) and not (self.begun or self._position):
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
        move = self._board.move_from_csa(word[1:]) if _CSA_MOVE.fullmatch(word) else 0
        if word[0] != sign or not move:
            why = f"it must be a legal move that begins with {sign}, got {word[:20]!r}"
            where = f"shogi: move {len(self.actions) + 1} of the CSA game"
            raise unplayable(self._game, self.state, where, IllegalActionError(why))
        usi = library().move_to_usi(move)
        self.state = _play(self._game, self.state, self.actions, usi, "CSA")
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
    board, hands = np.zeros(81, np.int8), _no_hands()
    stated = [line for line in lines if line not in ("P+", "P-")]  # hands without pieces
    for line in stated or ["PI"]:
        is_white, places = line[1:2] == "-", _CSA_PLACED.findall(line, 2)
        if line.startswith("PI"):
            board = notation.read_sfen(notation.START, max_plies=0).board
            for place, _ in places:
                board[_square(place)] = 0
        elif line[1:2] in tuple("123456789"):
            cells = re.findall(r"([+-])(\w\w)| \* ?", line[2:])[:9]
            for file, (sign, piece) in enumerate(cells):
                if sign:
                    board[_square(f"{9 - file}{line[1]}")] = _code(_csa_type(piece), sign == "-")
        for place, piece in places if line[1:2] in ("+", "-") else ():
            if place != "00":
                board[_square(place)] = _code(_csa_type(piece), is_white)
            elif piece == "AL":
                there = rules.HAND_TYPE[(board[board > 0] - 1) % rules.NUM_TYPES]
                used = np.bincount(there, minlength=rules.NUM_TYPES)[: rules.NUM_HAND_TYPES]
                hands[int(is_white)] += np.maximum(rules.SUPPLY - used - hands.sum(0), 0)
            else:
                hands[int(is_white), _csa_type(piece, rules.NUM_HAND_TYPES)] += 1
    start = _sfen(board, hands, rules.WHITE if player == "-" else rules.BLACK)
    return None if start == notation.START else start


# -- both --------------------------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    """Lines as in both formats; Python's other line separators stay in the text."""
    text = text.removeprefix(_BYTE_ORDER_MARK)
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _comment_lines(mark: str, comment: str) -> list[str]:
    return [mark + line for line in comment.split("\n")] if comment else []


def _seat_0(game: Game, state: Any, outcome: int | None) -> int | None:
    """An outcome in the view of the seat to move as one in the view of seat 0."""
    if outcome is None:
        return None
    return outcome if game.current_player(state) == rules.BLACK else -outcome


def _slashed(header: str, value: str) -> str:
    """A header's value, with a date in the form of Japanese transcripts, 2026/01/31."""
    whole = header == "date" and re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII)
    return value.replace("-", "/") if whole else value


def _dashed(header: str, value: str) -> str:
    """The inverse of `_slashed`."""
    whole = header == "date" and re.fullmatch(r"\d{4}/\d\d/\d\d", value.strip(), re.ASCII)
    return value.replace("/", "-") if whole else value


def _is_usual(start: str | None) -> bool:
    return start in (None, "startpos", notation.START)


def _start(game: Game, start: str | None) -> tuple[Any, Any]:
    """The state in which a game begins, and cshogi's board.

    Raises:
        TranscriptError: the rules refuse it.
    """
    if start is None or _is_usual(start):
        return game.initial_state(), library().Board()
    try:
        state = game.state_from_text(start)
    except AzcoreError as error:
        why = str(error).removeprefix(f"{game.name}: ")
        raise TranscriptError(f"shogi: the game's start: {why}", _NO_START) from error
    return state, library().Board(game.state_to_text(state))


def _square(place: str) -> int:
    """The square of a file and a rank, such as 77."""
    return 9 * int(place[1]) - int(place[0])


def _code(piece: int, is_white: bool) -> int:
    """A piece as `notation.Position.board` has it."""
    return 1 + piece + rules.NUM_TYPES * is_white


def _csa_type(piece: str, count: int = rules.NUM_TYPES) -> int:
    """The type of a piece, one of the first `count`."""
    names = list(_CSA_TYPES)[:count]
    if piece not in names:
        raise TranscriptError(
            f"shogi: a piece of a CSA game must be one of {', '.join(names)}, got {piece!r}",
            _NO_START,
        )
    return _CSA_TYPES[piece]


def _no_hands() -> npt.NDArray[np.int64]:
    return np.zeros((2, rules.NUM_HAND_TYPES), np.int64)


def _sfen(board: npt.NDArray[np.int8], hands: npt.NDArray[np.int64], seat: int) -> str:
    """The SFEN of a position; the reader refuses hands that no set of pieces allows."""
    few = np.minimum(hands, 99).astype(np.int8)
    return notation.Position(board=board, hands=few, player=seat, ply=0).to_sfen()


def _told_result(game: Game, state: Any, told: str, own: str, ends: Sequence[str]) -> str:
    """The end stated by a transcript, if the format has it and it agrees with the rules.

    Raises:
        InvalidTextError: the format does not have it, or the game ended otherwise.
    """
    if told not in ends:
        raise InvalidTextError(
            f"shogi: the result must be one of {', '.join(ends)}, got {told[:20]!r}"
        )
    if game.is_terminal(state) and told != own:
        raise InvalidTextError(
            f"shogi: the game is over by {game.termination(state)}, so its result must be {own}, "
            f"got {told}"
        )
    return told


def _play(game: Game, state: Any, actions: list[int], usi: str, form: str) -> Any:
    """Play one more move of a transcript.

    Raises:
        InvalidTextError: the move is not legal; the message gives its number.
    """
    try:
        action = game.text_to_action(state, usi)
    except AzcoreError as error:
        where = f"shogi: move {len(actions) + 1} of the {form} game"
        raise unplayable(game, state, where, error) from error
    actions.append(action)
    return game.step(state, action)
