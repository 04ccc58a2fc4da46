# ruff: noqa: RUF001 (KIF has wide colons and digits)
"""Shogi games as KIF: written and read, KI2 read; `transcripts.py` has what it shares with CSA.

Files are in UTF-8 (`.kifu`) or CP932 (`.kif`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from azcore.errors import AmbiguousTextError, IllegalActionError, InvalidTextError, TranscriptError
from azcore.game import Game, Transcript, TranscriptFormat, result_of
from azcore.game.transcript import dated

from . import notation, rules, transcripts
from .transcripts import Move

_FILES, _RANKS = "１２３４５６７８９", "一二三四五六七八九"
_WIDE = str.maketrans(f"{_FILES}０{_RANKS}王竜", "1234567890123456789玉龍")
_TYPES = "歩香桂銀金角飛玉と杏圭全馬龍"
_HAND_NAMES = _TYPES[: rules.NUM_HAND_TYPES]
_MARKS = "▲△▼▽☗☖"
# A move, with digits and names converted by `_WIDE`. KIF states its origin or a drop; KI2 has words
# instead, if several pieces of the kind could have moved.
_MOVE = re.compile(
    rf"\s*(?:(?P<target>[1-9][1-9])|同\s*)(?P<piece>成[銀桂香]|[{_TYPES}])(?P<how>[左右直上行引寄]*)"
    r"(?P<kind>打|成|不成)?(?:\((?P<source>[0-9][0-9])\))?"
)
_REST = re.compile(r"\s*+(?:\([^()]*\))?[\s+]*+")  # the end of a move's line: its time and a sign
_LINE = re.compile(
    rf"\s*(?!9 8 7)([0-9]{{1,6}})(?:\s*[.:：]\s*|手目\s*|\s+)[{_MARKS}]?(\S.*)"
)  # excludes the file numbers above a board
_SHORT = dict(zip(("成銀", "成桂", "成香"), "全圭杏", strict=True))
_OUTCOMES = {  # KIF's words for an end, in the view of the seat to move; None: for neither
    **dict.fromkeys(("投了", "詰み", "切れ負け", "反則負け", "不戦敗", "時間切れ", "接続切れ"), -1),
    **dict.fromkeys(("反則勝ち", "入玉勝ち", "入玉宣言", "不戦勝", "勝ち宣言"), 1),
    **dict.fromkeys(("持将棋", "千日手", "最大手数", "引き分け"), 0),
    **dict.fromkeys(("中断", "不詰", "封じ手", "反則"), None),
}
_UNFINISHED = ("", "中断", "封じ手")
_RESULT = re.compile(
    r"\s*まで.*?手で(?P<how>.*?)(?:(?P<black>先手|下手|▲|☗)|(?P<white>後手|上手|△|☖)|$)(?P<what>.*)"
)
_CELL = re.compile(f"([ v^])(?:([{_TYPES}])|・)")
_HAND = re.compile(f"([{_HAND_NAMES}])(十?)([1-9]?)")
_HEADER = re.compile(r"\s*([^\W\d]\w*)\s*[：:](.*)")
_HEADERS = {"event": "棋戦", "site": "場所", "date": "開始日時"}
_PLAYERS = ("先手", "後手")  # by seat
# Lines that are not moves: comments, bookmarks, boards, headings, the move before a board.
_BESIDE = re.compile(r"\s*(?:$|[#&|+]|手数[-＝=]|変化|まで|9 8 7|後手番|上手番|先手番|下手番)")
_HANDICAPS = {  # the first and second rank, without White's missing pieces
    "平手": None,
    "香落ち": "lnsgkgsn1/1r5b1",
    "右香落ち": "1nsgkgsnl/1r5b1",
    "角落ち": "lnsgkgsnl/1r7",
    "飛車落ち": "lnsgkgsnl/7b1",
    "飛香落ち": "lnsgkgsn1/7b1",
    "二枚落ち": "lnsgkgsnl/9",
    "三枚落ち": "lnsgkgsn1/9",
    "四枚落ち": "1nsgkgsn1/9",
    "五枚落ち": "2sgkgsn1/9",
    "左五枚落ち": "1nsgkgs2/9",
    "六枚落ち": "2sgkgs2/9",
    "八枚落ち": "3gkg3/9",
    "十枚落ち": "4k4/9",
}


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
        IllegalActionError: an action is not legal where it is played.
        InvalidTextError: the result is not one of KIF's, or differs from that of a finished game.
    """
    line = transcripts.main_line(game, "KIF", transcript.start_text)
    state, previous = line.state, ""
    lines = [
        f"{_HEADERS[name]}：{dated(name, value, '-', '/')}"
        for name, value in transcript.headers.items()
    ]
    lines += ["手合割：平手"] if line.start_text is None else _board(notation.position_of(state))
    lines += [f"{_PLAYERS[seat]}：{name}" for seat, name in enumerate(transcript.players)]
    lines.append("手数----指手---------消費時間--")
    for number, action in enumerate(transcript.actions, 1):
        successor = game.step(state, action)
        source, target, piece, after = transcripts.move_of(state, action)
        file, rank = int(target[0]), int(target[1])
        where = "同　" if target == previous else _FILES[file - 1] + _RANKS[rank - 1]
        how = f"{'成' * (after != piece)}({source})" if source else "打"
        lines.append(f"{number:>4} {where}{_TYPES[piece]}{how}")
        lines += transcripts.comment_lines("*", transcript.comments[number - 1])
        state, previous = successor, target
    own, result = _kif_end(game, state)
    word = result_of(game, state, transcript.result, own, _OUTCOMES)
    if word != own:
        winner = _PLAYERS[1 - game.current_player(state)]
        result = f"{winner}の勝ち" if word == "投了" else word
    lines.append(f"{len(transcript.actions) + 1:>4} {word}")
    lines.append(f"まで{len(transcript.actions)}手で{result}")
    return "\n".join(lines) + "\n"


def _board(position: notation.Position) -> list[str]:
    """The lines that set up a position."""
    rows = []
    for rank, row in zip(_RANKS, position.board.reshape(9, 9).tolist(), strict=True):
        seats_and_types = [divmod(code - 1, rules.NUM_TYPES) for code in row]
        cells = [
            " v"[seat] + _TYPES[kind] if seat >= 0 else " ・" for seat, kind in seats_and_types
        ]
        rows.append(f"|{''.join(cells)}|{rank}")
    hands = []
    for hand in position.hands.tolist():
        counts = [(_HAND_NAMES[i], hand[i]) for i in (6, 5, 4, 3, 2, 1, 0) if hand[i]]
        hands.append("　".join(name + _count(n) for name, n in counts) or "なし")
    edge = "+---------------------------+"
    return [
        *(f"後手の持駒：{hands[1]}", "  ９ ８ ７ ６ ５ ４ ３ ２ １", edge, *rows, edge),
        f"先手の持駒：{hands[0]}",
        *["後手番"] * position.player,
    ]


def _count(number: int) -> str:
    """From 2 to 18 in characters; empty for one."""
    return "" if number == 1 else "十" * (number > 9) + " 一二三四五六七八九"[number % 10].strip()


def _kif_end(game: Game, state: Any) -> tuple[str, str]:
    """KIF's word for how the game ended, and its words for the result."""
    if not game.is_terminal(state):
        return "中断", "中断"
    ending, winner = game.termination(state), _PLAYERS[game.outcome(state) < 0]
    if ending == "perpetual check":
        wins = (game.outcome(state) > 0) == (game.current_player(state) == rules.BLACK)
        return "反則勝ち" if wins else "反則負け", f"{winner}の反則勝ち"
    words = {
        "fourfold repetition": ("千日手", "千日手"),
        "move limit": ("最大手数", "持将棋"),  # a draw; programs know this word
        "entering king": ("入玉勝ち", f"{winner}の入玉勝ち"),
    }
    return words.get(ending, ("詰み", f"{winner}の勝ち"))


def read_kif(game: Game, text: str) -> Transcript:
    """The main line of a KIF or KI2 game.

    Raises:
        InvalidTextError: not KIF, or a start that cannot be read.
        TranscriptError: a move that is unreadable, ambiguous or illegal; the message gives its
            number, and the error the game before it.
    """
    lines = transcripts.lines_of(text)
    moves = _KifMoves(game, _kif_start(lines))
    headers: dict[str, str] = {}
    winner: int | None = None
    how = ""  # the end, in the result's words
    for line in lines:
        if line.startswith("変化"):
            moves.line.left_out.add("variations")  # they come after the main line
            break
        if line.startswith("*"):
            if not moves.end:
                moves.line.comment(line[1:])
        elif header := _HEADER.match(line):
            headers.setdefault(header[1], header[2])
        elif stated := _RESULT.match(line):
            how = stated["how"]
            if re.search("[勝負]", stated["what"]):
                wins = 1 if stated["black"] else -1
                winner = -wins if "負" in stated["what"] else wins
        else:
            moves.read(line)
    main = moves.line
    end = moves.end or next((word for word in _OUTCOMES if how.startswith(word)), "")
    if not (main.actions or end or main.fault or ("手合割" in headers and not main.ignored)):
        raise InvalidTextError(f"shogi: not a KIF game: no moves in {text[:30]!r}")
    outcome = transcripts.seat_0(main, _OUTCOMES.get(end))
    if winner is not None and (outcome is None or not moves.end):
        outcome = winner
    return main.transcript(
        players=(
            headers.get("先手", headers.get("下手", "")),
            headers.get("後手", headers.get("上手", "")),  # with a handicap, where White begins
        ),
        result=None if end in _UNFINISHED else end,
        headers={n: dated(n, headers.get(key, ""), "/", "-") for n, key in _HEADERS.items()},
        outcome=outcome,
        off_the_board=transcripts.OFF_THE_BOARD.get(end, ""),
    )


class _KifMoves:
    """Plays the moves of the lines of a game."""

    def __init__(self, game: Game, start: str | None) -> None:
        self.line = transcripts.main_line(game, "KIF", start)
        self._target = ""  # the previous move's target
        self._begun = False  # whether it has read the heading of the moves
        self.end = ""

    def read(self, line: str) -> None:
        """Play a line: a number and a move or the end, or moves with the marks of KI2."""
        plain = line.translate(_WIDE)
        if numbered := _LINE.match(plain):
            if self.end or int(numbered[1]) != self.line.number:
                self.line.stop(
                    "a KIF game has its moves in order and then its end; move "
                    f"{self.line.number} comes next, got {line[:30]!r}",
                    "moves out of order",
                )
            self._word(numbered[2], line)
        elif plain.startswith("手数--"):
            self._begun = True
        elif not _BESIDE.match(plain):
            words = re.split(f"[{_MARKS}]", plain)
            if words[0].strip():
                self._ignore()
            for word in words[1:]:
                self._word(word, word)

    def _ignore(self) -> None:
        if self._begun or self.line.actions:
            self.line.ignored.add("words that are not a move")

    def _word(self, plain: str, line: str) -> None:
        """Play a move or take the end; other words behind it are ignored."""
        if ends := [end for end in _OUTCOMES if plain.startswith(end)]:
            self.end = self.end or max(ends, key=len)
            return
        stated = _MOVE.match(plain)
        self.line.play(partial(self._action, stated, line))
        if stated is not None and not _REST.fullmatch(plain, stated.end()):
            self._ignore()

    def _action(self, stated: re.Match[str] | None, line: str) -> int:
        target = stated and (stated["target"] or self._target)
        if stated is None or not target:
            raise InvalidTextError(f"it cannot be read: {line[:30]!r}")
        moves = transcripts.moves_to(self.line, target)
        found = {action: move for action, move in moves.items() if _fits(move, stated)}
        if len(found) > 1:
            seat = self.line.game.current_player(self.line.state)
            found = _told_apart(found, stated["how"], seat)
        if not found:
            raise IllegalActionError(f"it must be legal and made by the piece named: {line[:30]!r}")
        if len(found) > 1:
            usi = (self.line.game.action_to_text(self.line.state, action) for action in found)
            raise AmbiguousTextError(f"it may be any of {', '.join(sorted(usi))}: {line[:30]!r}")
        self._target = target
        return next(iter(found))


def _fits(move: Move, stated: re.Match[str]) -> bool:
    """Whether a legal move to the right square may be the one stated."""
    if _TYPES[move.piece] != _SHORT.get(stated["piece"], stated["piece"]):
        return False
    if stated["source"] and move.source != stated["source"].replace("00", ""):
        return False
    if stated["kind"] == "打":
        return not move.source
    return (move.after != move.piece) == (stated["kind"] == "成")


def _told_apart(found: dict[int, Move], how: str, seat: int) -> dict[int, Move]:
    """The moves to a point that match KI2's words.

    Without a word for a drop, a piece on the board moves. Up, down and sideways are its direction;
    right and left choose one of several; all in the view of the player to move.
    """
    found = {action: move for action, move in found.items() if move.source} or found
    sign = 1 if seat == rules.BLACK else -1

    def way(move: Move) -> str:
        up = sign * (int(move.source[1]) - int(move.target[1]))
        if up == 0:
            return "寄"
        return "引" if up < 0 else "直上" if up == 1 and move.source[0] == move.target[0] else "上"

    for word in how.replace("行", "上"):
        files = {action: sign * int(move.source[0]) for action, move in found.items()}
        if word in "左右" and files:
            end = (min if word == "右" else max)(files.values())
            found = {action: found[action] for action, file in files.items() if file == end}
        else:
            found = {action: move for action, move in found.items() if word in way(move)}
    return found


def _kif_start(lines: Sequence[str]) -> str | None:
    """The start that a KIF game names or draws, in SFEN; None: the usual one.

    Raises:
        TranscriptError: it cannot be read.
    """
    start, name, seat, rows = transcripts.Setup(), "平手", rules.BLACK, list[list[Any]]()
    for line in lines:
        plain = line.translate(_WIDE)
        if _LINE.match(plain):
            break
        if header := _HEADER.match(line):
            key, value = header[1], header[2]
            if key == "手合割":
                name = value.strip() or name
            elif key.endswith("の持駒"):
                held = start.hands[int(key[:2] in ("後手", "上手"))]
                for piece, ten, rest in _HAND.findall(value.translate(_WIDE)):
                    held[_TYPES.index(piece)] += 10 * len(ten) + int(rest or not ten)
        elif plain.startswith("|"):
            rows.append(_CELL.findall(plain))
        elif plain.strip() in ("後手番", "上手番"):
            seat = rules.WHITE
    if [len(row) for row in rows] == [9] * 9:
        for rank, row in enumerate(rows, 1):
            for file, (mark, piece) in zip("987654321", row, strict=True):
                if piece:
                    start.put(f"{file}{rank}", _TYPES.index(piece), is_white=mark == "v")
        return start.start(seat)
    if rows or name not in _HANDICAPS:
        got = [len(row) for row in rows][:10] or repr(name[:20])
        raise TranscriptError(
            "shogi: the game's start: it must name a handicap or draw a board with 9 rows of 9 "
            f"squares, got {got}",
            transcripts.NO_START,
        )
    ranks = _HANDICAPS[name]
    return ranks and f"{ranks}/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
