# ruff: noqa: RUF001 (KIF has wide colons and digits)
"""Shogi games as KIF: written and read; `transcripts.py` states what both formats hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from azcore.errors import (
    IllegalActionError,
    InvalidTextError,
    TranscriptError,
)
from azcore.game import Game, Transcript, TranscriptFormat, unplayable, up_to_fault

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

_WIDE = str.maketrans("１２３４５６７８９０一二三四五六七八九王竜", "1234567890123456789玉龍")
_HAND_NAMES = "歩香桂銀金角飛"  # by type
# A move, with digits and names converted by `_WIDE`. KIF states its origin or a drop; KI2 has words
# instead, if several pieces of the kind could have moved.
_MOVE = re.compile(
    r"(?:(?P<target>[1-9][1-9])|(?P<same>同)[ 　]*)"
    f"(?P<piece>成[銀桂香]|[{_HAND_NAMES}玉と杏圭全馬龍])(?P<how>[左右直上行引寄]*)"
    r"(?P<kind>打|成|不成)?(?:\((?P<source>[0-9][0-9])\))?"
)
_LINE = re.compile(
    r"\s*(?!9 8 7)([0-9]{1,6})(?:\s*[.:：]\s*|手目\s*|\s+)[▲△▼▽☗☖]?(\S.*)", re.ASCII
)  # not the files above a board
_KI2_MOVE = re.compile(f"[▲△▼▽☗☖]{_MOVE.pattern}")
_SHORT = dict(zip(("成銀", "成桂", "成香"), "全圭杏", strict=True))
_OUTCOMES = {  # KIF's words for an end, in the view of the seat to move; None: for neither
    **dict.fromkeys(("投了", "詰み", "切れ負け", "反則負け", "不戦敗", "時間切れ", "接続切れ"), -1),
    **dict.fromkeys(("反則勝ち", "入玉勝ち", "入玉宣言", "不戦勝", "勝ち宣言"), 1),
    **dict.fromkeys(("持将棋", "千日手", "最大手数", "引き分け"), 0),
    **dict.fromkeys(("中断", "不詰", "封じ手", "反則"), None),
}
_ENDS = tuple(_OUTCOMES)
_UNFINISHED = ("", "中断", "封じ手")
_RESULT = re.compile(r"\s*まで.*手で\s*(?:(先手|下手|▲|☗)|(後手|上手|△|☖))の.*勝")
_TYPES = dict(zip(f"{_HAND_NAMES}玉と杏圭全馬龍", range(rules.NUM_TYPES), strict=True))
_CELL = re.compile(f"([ v^])(?:([{''.join(_TYPES)}])|・)")
_HAND = re.compile(f"([{_HAND_NAMES}])(十?)([1-9]?)")
_HEADERS = {"event": "棋戦", "site": "場所", "date": "開始日時"}
_PLAYERS = ("先手", "後手")  # by seat


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
    state, board = start_of(game, transcript.start_text)
    lines = [
        f"{_HEADERS[name]}：{slashed(name, value)}" for name, value in transcript.headers.items()
    ]
    lines += ["手合割：平手"] if is_usual(transcript.start_text) else board.to_bod().split("\n")
    lines += [f"{_PLAYERS[seat]}：{name}" for seat, name in enumerate(transcript.players)]
    lines.append("手数----指手---------消費時間--")
    previous = None
    for number, action in enumerate(transcript.actions, 1):
        successor = game.step(state, action)
        move = board.push_usi(game.action_to_text(state, action))
        state = successor
        lines.append(f"{number:>4} {cshogi.KIF.move_to_kif(move, previous)}")
        lines += comment_lines("*", transcript.comments[number - 1])
        previous = move
    word, result = _kif_end(game, state)
    if transcript.result is not None:
        told = result_note(game, state, transcript.result, word, _ENDS)
        if told != word:
            loser = game.current_player(state)
            word, result = told, told
            if told == "投了":
                result = f"{_PLAYERS[1 - loser]}の勝ち"
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
    winner = _PLAYERS[game.outcome(state) < 0]
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
    lines = lines_of(text)
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
        elif stated := _RESULT.match(line):
            winner = 1 if stated[1] else -1
        elif fault is None:
            try:
                moves.line(line)
            except TranscriptError as error:
                fault = error
    end = moves.end
    if not moves.actions and not end and fault is None and "手合割" not in text:
        raise InvalidTextError(f"shogi: not a KIF game: no moves in {text[:30]!r}")
    outcome = seat_0(game, moves.state, _OUTCOMES.get(end))
    transcript = Transcript(
        actions=moves.actions,
        comments=["\n".join(said) for said in moves.comments],
        players=(
            headers.get("先手", headers.get("下手", "")),
            headers.get("後手", headers.get("上手", "")),  # with a handicap, where White begins
        ),
        result=None if end in _UNFINISHED else end,
        headers={n: dashed(n, headers.get(key, "")) for n, key in _HEADERS.items()},
        start_text=start,
        outcome=winner if outcome is None else outcome,
        off_the_board=OFF_THE_BOARD.get(end, ""),
    )
    return up_to_fault(transcript, fault)


class _KifMoves:
    """Plays the moves of the lines of a game."""

    def __init__(self, game: Game, start: str | None) -> None:
        self._game, self._cshogi = game, library()
        self.state, self._board = start_of(game, start)
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
        numbered = _LINE.match(plain)
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
        if numbered[2].startswith(_ENDS):
            self.end = max(filter(numbered[2].startswith, _ENDS), key=len)
        else:
            self._play(_MOVE.match(numbered[2]), line)

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
        self.state = play_usi(self._game, self.state, self.actions, usi, "KIF")
        self.comments.append([])
        self._board.push_usi(usi)
        self._target = target

    def _candidates(self) -> Iterator[tuple[str, re.Match[str]]]:
        """The legal moves, in USI and in cshogi's KIF."""
        for move in self._board.legal_moves:
            written = _MOVE.match(self._cshogi.KIF.move_to_kif(move).translate(_WIDE))
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
    name, seat, rows, hands = "平手", rules.BLACK, list[list[int]](), no_hands()
    for line in lines:
        plain = line.translate(_WIDE)
        if _LINE.match(plain):
            break
        if header := re.match(r"\s*手合割\s*[：:](.*)", line):
            name = header[1].strip() or name
        elif held := re.match(r"\s*(?:(先手|下手)|後手|上手)の持駒\s*[：:](.*)", plain):
            holder = rules.BLACK if held[1] else rules.WHITE
            for piece, ten, rest in _HAND.findall(held[2]):
                hands[holder, _TYPES[piece]] += 10 * len(ten) + int(rest or not ten)
        elif plain.startswith("|"):
            cells = _CELL.findall(plain)
            rows.append([piece_code(_TYPES[p], mark == "v") if p else 0 for mark, p in cells])
        elif plain.strip() in ("後手番", "上手番"):
            seat = rules.WHITE
    if rows:
        if [len(row) for row in rows] != [9] * 9:
            raise TranscriptError(
                "shogi: the game's start: a board must have 9 rows of 9 squares, got "
                f"{[len(row) for row in rows][:10]}",
                NO_START,
            )
        return sfen_of(np.array(rows, np.int8).reshape(81), hands, seat)
    start: str | None = library().KIF.Parser.HANDYCAP_SFENS.get(name)
    if start is None:
        raise TranscriptError(
            f"shogi: a KIF game must name a handicap or draw its board, got {name[:20]!r}",
            NO_START,
        )
    return None if start == notation.START else start
