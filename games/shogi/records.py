# ruff: noqa: RUF001 (KIF has wide colons and digits)
"""Shogi games as KIF and CSA records, through the library cshogi (the extra `azcore[shogi]`).

Both formats hold a main line of moves, with comments, and why the game ended. Only games from the
usual start are read; variations, clocks and names are passed over.

KIF is written and read as text; files are in UTF-8 (`.kifu`) or CP932 (`.kif`). cshogi writes the
moves and compares them with its board; lines are taken apart here, because its own readers of whole
games end the process on some that are damaged.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from azcore.errors import AzcoreError, GameError, IllegalActionError, InvalidTextError

from . import notation, rules

if TYPE_CHECKING:
    from .game import Shogi

_FILES, _RANKS = "１２３４５６７８９", "一二三四五六七八九"
_HAND_NAMES = "歩香桂銀金角飛"  # by type
_KIF_MOVE = re.compile(
    f"(?:(?P<file>[{_FILES}])(?P<rank>[{_RANKS}])|(?P<same>同)[ 　]?)"
    f"(?P<piece>[{_HAND_NAMES}玉と杏圭全馬龍])"
    r"(?:(?P<drop>(?<=[歩香桂銀金角飛])打)|"
    r"(?P<promotion>成?)\((?P<from_file>[1-9])(?P<from_rank>[1-9])\))"
)
_KIF_ENDS = (
    *("中断", "投了", "持将棋", "千日手", "詰み", "不詰", "切れ負け", "反則勝ち", "反則負け"),
    *("入玉勝ち", "入玉宣言", "最大手数", "不戦敗"),
)

_BYTE_ORDER_MARK = "\ufeff"  # some editors put it first

_CSA_MOVE = re.compile(
    "[+-](00|[1-9][1-9])[1-9][1-9](FU|KY|KE|GI|KI|KA|HI|OU|TO|NY|NK|NG|UM|RY)", re.ASCII
)


def library() -> Any:
    """The module cshogi.

    Raises:
        GameError: it is not installed.
    """
    try:
        import cshogi
        import cshogi.CSA
        import cshogi.KIF
    except ImportError as error:
        raise GameError(
            "shogi: KIF and CSA records and the plain form need the library cshogi: "
            "pip install azcore[shogi] (not on Python 3.12, where it wants an old NumPy)"
        ) from error
    return cshogi


# -- KIF ---------------------------------------------------------------------------------------


def game_to_kif(game: Shogi, actions: Sequence[int], comments: Sequence[str] | None = None) -> str:
    """A game as KIF.

    Args:
        game: whose rules say how it ended.
        actions: from the initial state, each legal.
        comments: a text for each action, empty for none; fewer texts than actions are allowed.

    Raises:
        GameError: cshogi is not installed.
        IllegalActionError: an action is not legal where it is played.
    """
    cshogi = library()
    lines = ["手合割：平手", "先手：", "後手：", "手数----指手---------消費時間--"]
    board = cshogi.Board()
    previous = None
    state = game.initial_state()
    for number, action in enumerate(actions, 1):
        successor = game.step(state, action)
        move = board.push_usi(game.action_to_text(state, action))
        state = successor
        lines.append(f"{number:>4} {cshogi.KIF.move_to_kif(move, previous)}")
        lines += [f"*{line}" for line in _comment(comments, number - 1)]
        previous = move
    word, result = _kif_end(game, state)
    lines.append(f"{len(actions) + 1:>4} {word}")
    lines.append(f"まで{len(actions)}手で{result}")
    return "\n".join(lines) + "\n"


def _kif_end(game: Shogi, state: Any) -> tuple[str, str]:
    """KIF's word for how the game ended, and its words for the result."""
    if not game.is_terminal(state):
        return "中断", "中断"
    ending = game.termination(state)
    if ending == "fourfold repetition":
        return "千日手", "千日手"
    if ending == "move limit":
        return "最大手数", "持将棋"  # a draw, in the word that readers of results know
    winner = "先手" if game.outcome(state) > 0 else "後手"
    if ending == "entering king":
        return "入玉勝ち", f"{winner}の入玉勝ち"
    if ending == "perpetual check":
        wins = (game.outcome(state) > 0) == (game.current_player(state) == rules.BLACK)
        return "反則勝ち" if wins else "反則負け", f"{winner}の反則勝ち"
    return "詰み", f"{winner}の勝ち"


def kif_to_actions(game: Shogi, text: str) -> list[int]:
    """The actions of the main line of a KIF game.

    Raises:
        GameError: cshogi is not installed.
        InvalidTextError: not KIF, another start, or a move that cannot be read or is not legal,
            with its number.
    """
    cshogi = library()
    board = cshogi.Board()
    actions: list[int] = []
    state = game.initial_state()
    previous = ""  # USI of the move before
    ended = False
    for line in text.removeprefix(_BYTE_ORDER_MARK).splitlines():
        if line.startswith("変化"):
            break  # variations come after the main line
        _check_kif_header(line)
        match = re.match(r"\s*([0-9]{1,6})\s+(\S.*)", line, re.ASCII)
        if match is None:
            continue
        number = len(actions) + 1
        if ended or int(match[1]) != number:
            raise InvalidTextError(
                f"shogi: a KIF game has its moves in order and then its end; move {number} comes "
                f"next, got {line[:30]!r}"
            )
        if match[2].startswith(_KIF_ENDS):
            ended = True
            continue
        move = _KIF_MOVE.match(_short_names(match[2]))
        if move is None or (move["same"] and not previous):
            raise InvalidTextError(
                f"shogi: move {number} of the KIF game cannot be read: {line[:30]!r}"
            )
        usi = _kif_to_usi(move, previous)
        state = _play(game, state, actions, usi, "KIF")
        moved = _KIF_MOVE.match(cshogi.KIF.move_to_kif(board.push_usi(usi)))
        if moved is None or moved["piece"] != move["piece"]:
            raise InvalidTextError(
                f"shogi: move {number} of the KIF game, {usi}, is not made by the piece named: "
                f"{line[:30]!r}"
            )
        previous = usi
    if not actions and not ended and "手合割" not in text:
        raise InvalidTextError(f"shogi: no KIF game: no moves in {text[:30]!r}")
    return actions


def _kif_to_usi(move: re.Match[str], previous: str) -> str:
    target = previous[2:4]
    if not move["same"]:
        target = f"{_FILES.index(move['file']) + 1}{'abcdefghi'[_RANKS.index(move['rank'])]}"
    if move["drop"]:
        return f"{notation.LETTERS[_HAND_NAMES.index(move['piece'])]}*{target}"
    source = f"{move['from_file']}{'abcdefghi'[int(move['from_rank']) - 1]}"
    return f"{source}{target}{'+' if move['promotion'] else ''}"


def _short_names(word: str) -> str:
    """A move with each piece named by one character, as cshogi writes it."""
    for long, short in zip(("王", "竜", "成銀", "成桂", "成香"), "玉龍全圭杏", strict=True):
        word = word.replace(long, short)
    return word


def _check_kif_header(line: str) -> None:
    header = re.match(r"\s*手合割\s*[：:](.*)", line)
    if header is not None and header[1].strip() != "平手":
        raise InvalidTextError(
            "shogi: only KIF games from the usual start (平手) can be read, "
            f"got {header[1].strip()[:20]!r}"
        )
    if line.startswith("|"):
        raise InvalidTextError(
            "shogi: the KIF game sets up a position, and only games from the usual start can be "
            "read"
        )


# -- CSA ---------------------------------------------------------------------------------------


def game_to_csa(game: Shogi, actions: Sequence[int], comments: Sequence[str] | None = None) -> str:
    """A game as CSA (version 2.2).

    Args:
        game: whose rules say how it ended.
        actions: from the initial state, each legal.
        comments: a text for each action, empty for none; fewer texts than actions are allowed.

    Raises:
        GameError: cshogi is not installed.
        IllegalActionError: an action is not legal where it is played.
    """
    cshogi = library()
    exporter = cshogi.CSA.Exporter()
    exporter.f = io.StringIO()
    exporter.info(version="V2.2")
    board = cshogi.Board()
    state = game.initial_state()
    for ply, action in enumerate(actions):
        successor = game.step(state, action)
        move = board.push_usi(game.action_to_text(state, action))
        exporter.move(move, comment="\n'".join(_comment(comments, ply)))
        state = successor
    exporter.endgame(_csa_end(game, state))
    return str(exporter.f.getvalue())


def _csa_end(game: Shogi, state: Any) -> str:
    if not game.is_terminal(state):
        return "%CHUDAN"
    ending = game.termination(state)
    if ending == "perpetual check":
        return f"%{'-' if game.outcome(state) > 0 else '+'}ILLEGAL_ACTION"
    words = {
        "fourfold repetition": "%SENNICHITE",
        "move limit": "%MAX_MOVES",  # of version 3.0; others write it in 2.2 as well
        "entering king": "%KACHI",
    }
    return words.get(ending, "%TSUMI")


def csa_to_actions(game: Shogi, text: str) -> list[int]:
    """The actions of a CSA game.

    Raises:
        GameError: cshogi is not installed.
        InvalidTextError: not a CSA game, another start, or a move that is not legal or not of the
            player to move, with its number.
    """
    board = library().Board()
    actions: list[int] = []
    state = game.initial_state()
    start: list[str] = []  # lines of the position at the start
    begun = ended = False
    for line in text.removeprefix(_BYTE_ORDER_MARK).splitlines():
        # Statements may share a line; a comment has its own.
        for word in [line] if line[:1] in "'N$" else line.rstrip().split(","):
            if word[:1] in ("", "'", "N", "$", "V", "T"):
                continue  # comments, names and times
            if word[0] == "P" and not begun:
                start.append(word)
            elif word in ("+", "-") and not begun:
                _check_csa_start(start, word, board)
                begun = True
            elif word[0] == "%" and begun:
                ended = True
            elif word[0] in "+-" and begun and not ended:
                sign = "+-"[game.current_player(state)]
                move = board.move_from_csa(word[1:]) if _CSA_MOVE.fullmatch(word) else 0
                if word[0] != sign or not move:
                    raise InvalidTextError(
                        f"shogi: move {len(actions) + 1} of the CSA game must be a legal move that "
                        f"begins with {sign}, got {word[:20]!r}"
                    )
                state = _play(game, state, actions, library().move_to_usi(move), "CSA")
                board.push(move)
            else:
                raise InvalidTextError(
                    "shogi: a CSA game is its start, + and moves, and % at the end, "
                    f"got {word[:20]!r} after {len(actions)} moves"
                )
    if not begun:
        raise InvalidTextError(f"shogi: no CSA game: no start (PI and +) in {text[:30]!r}")
    return actions


def _check_csa_start(lines: list[str], player: str, board: Any) -> None:
    usual = [line.replace(" ", "") for line in str(board.csa_pos()).splitlines()[:-1]]
    if player != "+" or (lines != ["PI"] and [line.replace(" ", "") for line in lines] != usual):
        raise InvalidTextError(
            "shogi: only CSA games from the usual start (PI and +) can be read, "
            f"got {' '.join(lines)[:40]!r} and {player}"
        )


# -- both --------------------------------------------------------------------------------------


def _comment(comments: Sequence[str] | None, ply: int) -> Iterator[str]:
    """The lines of the comment on the action at `ply`; a record has no empty ones."""
    if comments is not None and ply < len(comments):
        for line in comments[ply].splitlines():
            if line.strip():
                yield line


def _play(game: Shogi, state: Any, actions: list[int], usi: str, form: str) -> Any:
    """Play one more move of a record.

    Raises:
        InvalidTextError: it is not legal; with its number.
    """
    try:
        action = game.text_to_action(state, usi)
    except AzcoreError as error:
        over = game.is_terminal(state) and isinstance(error, IllegalActionError)
        why = str(error).removeprefix(f"{game.name}: ")
        if over:
            why = f"the game was over ({game.termination(state)})"
        raise InvalidTextError(
            f"shogi: move {len(actions) + 1} of the {form} game: {why}"
        ) from error
    actions.append(action)
    return game.step(state, action)
