"""Go games as SGF, by the library sgfmill, imported when one is written or read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from azcore.errors import InvalidTextError, TranscriptError
from azcore.game import Branch, GameText, MainLine, Transcript, TranscriptFormat
from azcore.game.transcript import LONGEST_GAME

from . import rules
from .notation import (
    PLAYERS,
    STONES,
    Go,
    board_rows,
    komi_word,
    score_to_text,
    state_to_text,
)

SGF_HEADERS = {"event": "EV", "site": "PC", "date": "DT"}
SGF_COLOURS = "BW"  # by seat
# The beginning of a game's text, where an unclosed game before it ends. A comment that quotes a
# game escapes its brackets.
SGF_ROOT = re.compile(r"\(\s*;\s*(?:FF|GM|CA|AP|SZ)\[[^]\\\n]*\]")
SGF_SIGN = re.compile(r"\\.?|[\[\]()]", re.DOTALL)  # a backslash includes the next character
SGF_START = re.compile(r"\(\s*(?:;|[A-Z]{2}\[|\Z)")  # one publisher leaves the first ; out
RESULT = re.compile(
    r"\s*(?:(b|w)(?:lack|hite)?\s*(?:\+|win)|(0|d(?:raw|\+j?)|jigo|tie)\s*$)", re.IGNORECASE
)
# Chinese, Japanese and Korean: black or white ... wins; drawn; by time.
LONGEST_RESULT = 200  # characters
WON = re.compile("[\u9ed1\u9ed2\u767d\ud751\ubc31](?=.*[\u80dc\u52dd\uc2b9])")
DRAWN = re.compile("^\\s*\u548c|\u6301[\u68cb\u7881]|\u30b8\u30b4|\ubb34\uc2b9\ubd80")
ON_TIME = re.compile(
    r"\+\s*t(?:ime)?\b|\u8d85[\u65f6\u6642]|\u6642\u9593\u5207\u308c|\uc2dc\uac04", re.IGNORECASE
)
NUMBER_WON = re.compile(r"\s*([+-]?[01])\.0+\s*$")  # some programs write the outcome alone
KINDS = {
    **dict.fromkeys("d\u6bb5\ub2e8", "d"),
    **dict.fromkeys("k\u7ea7\u7d1a\uae09", "k"),
    "p": "p",
}
RANK = re.compile(rf"\s*(\d{{1,2}})\s*([{''.join(KINDS)}])")
NUMERALS = str.maketrans(
    "\u521d\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d", "1123456789"
)
PROFESSIONAL = 9  # the rank of any professional
# A number, perhaps with three quarters or a half in Chinese or Japanese, and perhaps in stones.
KOMI = re.compile(
    r"\s*([+-]?\d{1,4}(?:[.,]\d{0,20})?)(?![\d.,/e])(\u53c83/4)?\s*(\u00bd|\u76ee?\u534a)?\s*(\u5b50)?"
)
MOST_KOMI = 100  # from here on, hundredths of a point
CHARSET = re.compile(rb"CA\s*\[\s*([\w.:-]{1,40})\s*\]")
CHARSETS = {  # Python's names of common character sets
    **dict.fromkeys(("gb2312", "gbk", "gb18030", "x-gbk", "cp936"), "gb18030"),
    **dict.fromkeys(("big5", "big5-hkscs", "cp950"), "big5hkscs"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j", "cp932"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "cp949", "uhc"), "cp949"),
    **{name: name for name in ("euc-jp", "koi8-r", "koi8-u", "iso-8859-1", "iso-8859-15")},
    **{name: name for name in ("windows-1251", "windows-1252", "iso-8859-2")},
}
ENCODINGS = ("latin-1", "cp932", "gb18030", "big5hkscs", "cp949")  # tried if CA is missing


def transcript_format(game: Go) -> TranscriptFormat:
    """The SGF format, as `Game.transcript_formats` returns it."""
    return TranscriptFormat(
        suffix=".sgf",
        write=partial(write_sgf, game),
        read=partial(read_sgf, game),
        resignation=lambda seat: f"{SGF_COLOURS[1 - seat]}+R",
        draw="0",
        games=games_of_sgf,
        players_count=True,
        has_variations=True,
        encodings=ENCODINGS,
        declared=_charset,
        settings=sgf_settings,
    )


def _charset(head: bytes) -> str | None:
    found = CHARSET.search(head)
    return None if found is None else CHARSETS.get(found[1].decode().lower())


def games_of_sgf(lines: Iterable[str]) -> Iterator[str]:
    """The games of a collection, without the text between them."""
    text = GameText()
    depth = 0  # open parentheses
    in_value = is_escaped = False
    begins_line = True
    for line in lines:
        if depth and begins_line and SGF_ROOT.match(line):
            yield text.take()
            depth, in_value = 0, False
        start, first, is_escaped = 0, int(is_escaped), False
        for sign in SGF_SIGN.finditer(line, first):
            is_escaped = sign[0] == "\\"  # a piece of a long line may end here
            if in_value:
                in_value = sign[0] != "]"
            elif sign[0] == "[":
                in_value = depth > 0
            elif sign[0] == "(" and (depth or SGF_START.match(line, sign.start())):
                start = start if depth else sign.start()
                depth += 1
            elif sign[0] == ")" and depth:
                depth -= 1
                if depth == 0:
                    text.add(line[start : sign.end()])
                    yield text.take()
        if depth:
            text.add(line[start:])
        begins_line = line.endswith("\n")
    if depth:
        yield text.take()


def write_sgf(game: Go, transcript: Transcript) -> str:
    """A game as SGF: SZ, KM, RU as text, names, set-up stones, comments, variations and result.

    A finished game without a result gets its score; an unfinished one gets no RE.

    Raises:
        IllegalActionError: an action is not legal where it is played.
        InvalidTextError: the start is not a position, or has more than stones and a turn.
    """
    from sgfmill import sgf  # needed only to write or read SGF

    start_text = transcript.start_text
    state = game.initial_state() if start_text is None else game.state_from_text(start_text)
    size = state.history.shape[0]
    document = sgf.Sgf_game(int(state.size_in_play))
    root = document.get_root()
    root.set("KM", float(state.komi))
    root.set("RU", "Tromp-Taylor" if state.suicide else "Tromp-Taylor without suicide")
    for seat, name in enumerate(transcript.players):
        if name:
            root.set(f"P{SGF_COLOURS[seat]}", name)
    for header, text in transcript.headers.items():
        root.set(SGF_HEADERS[header], text)
    if start_text is not None:
        if len(state_to_text(state, state.komi).split()) > 2:
            raise InvalidTextError(
                "go: an SGF game can start only from stones and a player to move, got "
                f"{start_text[:400]!r}"
            )
        points = [[_sgf_point(size, i) for i in cells] for cells in _stones(state)]
        root.set_setup_stones(*points)
        root.set("PL", PLAYERS[state.player])
    path = [(root, state)]
    for branch in (Branch(0, transcript.actions), *transcript.variations):
        del path[branch.ply + 1 :]
        for action in branch.actions:
            parent, before = path[-1]
            at = None if action == size * size else _sgf_point(size, action)
            node = parent.new_child()
            path.append((node, game.step(before, action)))
            node.set_move(PLAYERS[before.player], at)
        if branch.actions is transcript.actions:
            state = path[-1][1]
            for (node, _), comment in zip(path[1:], transcript.comments, strict=True):
                if comment:
                    node.set("C", comment)
    result = transcript.result
    if result is None and game.is_terminal(state):
        result = score_to_text(rules.score(state))
    if result is not None:
        root.set("RE", result)
    return str(document.serialise().decode())


def _sgf_point(size: int, action: int) -> tuple[int, int]:
    """sgfmill's (row from the bottom, column) of a point, the same on a smaller board."""
    return size - 1 - action // size, action % size


def _stones(state: Any) -> list[list[int]]:
    """The points of Black's and of White's stones, as actions."""
    size, rows = state.history.shape[0], board_rows(state)
    cells = "".join(row.ljust(size, STONES[0]) for row in rows)
    first = size * (size - len(rows))
    return [[i for i, stone in enumerate(cells, first) if stone == colour] for colour in STONES[1:]]


def read_sgf(game: Go, text: str) -> Transcript:
    """An SGF game, with stones set up before its first move, such as a handicap.

    The board may be any of the game's. Komi and rules in the file change no action: a komi that the
    game has is that of the start, and others are compared and reported. Oddities in other
    properties are ignored, and so is a pass after the end. Comments in variations are not kept.

    Raises:
        InvalidTextError: not SGF, another board size.
        TranscriptError: stones set up during the game, or a move that is no point, out of turn or
            illegal; the message gives its number, and the error the game before it.
    """
    nodes, others, is_closed = _nodes(text)
    root = nodes[0]
    if (kind := _text(root, "GM").strip()).lower() not in ("", "1", "01", "go"):
        raise TranscriptError(
            f"go: the SGF game must be Go, GM[1], got GM[{kind[:20]}]", "another game than Go"
        )
    size = _size(root)
    if size not in game.sizes:
        wanted = " or ".join(f"{n}x{n}" for n in game.sizes)
        raise TranscriptError(
            f"go: the SGF board must be {wanted}, got {size}x{size}", f"a board of {size}x{size}"
        )
    stated = _komi(root)
    komi: float = game.komi if stated is None or stated not in game.komis else stated
    line, result = _main_line(game, size, komi, nodes, others), _text(root, "RE")
    if not is_closed:
        why = "be closed by )"
        if len(text) > LONGEST_GAME:
            why = f"end within {LONGEST_GAME:,} characters"
        line.stop(
            f"an SGF text's first game must {why}; moves may follow", "a game that is cut off"
        )
    if stated is None and _text(root, "KM").strip():
        line.ignored.add("a komi that cannot be read")
    return line.transcript(
        players=(_text(root, "PB"), _text(root, "PW")),
        result=result or None,
        headers={name: _text(root, key) for name, key in SGF_HEADERS.items()},
        outcome=_outcome(result),
        ratings=(_rating(_text(root, "BR")), _rating(_text(root, "WR"))),
        other_rules=_other_rules(root, stated, komi),
        off_the_board=_off_the_board(result),
    )


def sgf_settings(text: str) -> dict[str, Any]:
    """Size and komi of an SGF game, as settings of the game.

    Raises:
        InvalidTextError: it is not SGF, or its board is not square.
    """
    root = _nodes(text)[0][0]
    komi = _komi(root)
    return {"board_size": _size(root)} | ({} if komi is None else {"komi": komi})


Node: TypeAlias = Mapping[str, list[bytes]]  # values by property, UTF-8


def _nodes(text: str) -> tuple[list[Node], list[tuple[int, list[Node]]], bool]:
    """The nodes of a text's first game, and whether its main line is closed.

    The main line goes from each node to its first child, so it ends at the first ). After it come
    the other lines, each with the number of first nodes that it shares with the line before it.
    """
    from sgfmill import sgf_grammar

    begun = re.sub(r"\A\(\s*(?=[A-Z])", "(;", text[:LONGEST_GAME])
    tokens, _ = sgf_grammar.tokenise(begun.encode("utf-8", "replace"))
    if not tokens:
        raise InvalidTextError("go: not a readable SGF game: it has no (;")
    lines: list[tuple[int, list[dict[str, list[bytes]]]]] = [(0, [])]
    opened: list[int] = []  # the nodes before each ( that is still open
    count, is_over = 0, False  # nodes so far in this line; a ) was its last sign
    for kind, token in tokens:
        if kind == "I":
            key = token.decode()
        elif kind == "V":
            if not is_over:
                lines[-1][1][-1].setdefault(key, []).append(token)
        elif token == b";":
            if is_over:
                lines.append((count, []))
                is_over = False
            lines[-1][1].append({})
            count += 1
            key = ""
        elif token == b"(":
            opened.append(count)
        else:
            count, is_over = opened.pop(), True
    (_, main), *others = lines
    is_closed = is_over or len(lines) > 1
    return list(main), [(shared, list(nodes)) for shared, nodes in others], is_closed


def _text(node: Node, key: str) -> str:
    """The first value of a property; empty if missing."""
    from sgfmill import sgf_grammar

    value: bytes = sgf_grammar.text_value(node[key][0]) if node.get(key) else b""
    return value.decode()


def _size(root: Node) -> int:
    """The board's, 19 if none is stated."""
    stated = _text(root, "SZ").strip()
    found = re.fullmatch("(\\d{1,4})(?:[:xX\u00d7 ]+(\\d{1,4}))?", stated or "19")
    if found is None:
        raise InvalidTextError(f"go: an SGF board needs a size, got SZ[{stated[:20]}]")
    columns, rows = int(found[1]), int(found[2] or found[1])
    if columns != rows:
        raise TranscriptError(
            f"go: an SGF board must be square, got {columns}x{rows}",
            f"a board of {columns}x{rows}",
        )
    return columns


def _komi(root: Node) -> float | None:
    """The stated komi, whatever unit follows it; None: not stated.

    A komi in the stones of Chinese counting is worth twice as many points. From 100 on, it is in
    hundredths, as one server writes it: of points, or of such stones (375 is 3.75 of them).
    """
    found = KOMI.match(_text(root, "KM"))
    if found is None:
        return None
    number, quarters, half, stones = found.groups()
    komi = float(number.replace(",", ".")) + bool(quarters) * 0.75 + bool(half) * 0.5
    if komi >= MOST_KOMI:
        komi /= 100
        stones = stones or not (2 * komi).is_integer()
    return 2 * komi if stones else komi


def _handicap(root: Node) -> int:
    """The stated number of stones; 0 if none is stated."""
    found = re.match(r"\s*(\d{1,3})", _text(root, "HA"), re.ASCII)
    return 0 if found is None else int(found[1])


def _main_line(
    game: Go, size: int, komi: float, nodes: list[Node], others: list[tuple[int, list[Node]]]
) -> MainLine:
    """The moves of the main line's nodes and of the others', on a board of this size."""
    moving = [i for i, node in enumerate(nodes) if "B" in node or "W" in node]
    stones = _handicap(nodes[0])
    placed = set(moving[:stones] if stones > 1 else [])
    if len(placed) == stones and all("B" in nodes[i] for i in placed):
        nodes = [{"AB": n["B"]} if i in placed else n for i, n in enumerate(nodes)]
        moving = moving[stones:]  # a handicap placed in turns without White's
    first = next(iter(moving), len(nodes))
    start = _start(size, nodes[: first + 1])
    if komi != game.komi:
        start = f"{start} {komi_word(komi)}"
    usual = game.state_to_text(game.initial_state())
    line = MainLine(game, "SGF", None if start == usual else start)
    plies: list[int | None] = []  # after each node of the current line; None: it was not reached
    for number, node in enumerate(nodes):
        _play_node(line, game.board_size, size, node, number, has_begun=number > first)
        plies.append(None if line.is_broken else line.ply)
    # The nodes before another first move must hold all of the start.
    least = first + bool(nodes[first:] and {"AB", "AW", "AE"} & set(nodes[first]))
    for shared, rest in others:
        line.branch(plies[shared - 1] if shared >= least else None)
        del plies[shared:]
        for number, node in enumerate(rest, shared):
            if not line.is_broken:
                _play_node(line, game.board_size, size, node, number, has_begun=True)
            plies.append(None if line.is_broken else line.ply)
    return line


def _play_node(
    line: MainLine, side: int, size: int, node: Node, number: int, *, has_begun: bool
) -> None:
    if has_begun and {"AB", "AW", "AE"} & set(node):
        line.stop(
            f"the SGF game sets up stones after its start, which cannot be read (node {number})",
            "stones set up during the game",
        )
    moves = [(key, len(node[key])) for key in node if key in SGF_COLOURS]
    for colour, _ in moves:
        _play(line, side, size, colour, _text(node, colour))
    if sum(count for _, count in moves) > 1:
        line.ignored.add("several moves in a node")
    if comment := _text(node, "C"):  # a comment without a move belongs to the move before
        line.comment(comment)


def _start(size: int, nodes: list[Node]) -> str:
    """The position set up by the nodes up to the first move, including its own."""
    rows = [[STONES[0]] * size for _ in range(size)]
    turn = ""
    for node in nodes:
        for stone, key in zip((*STONES[1:], STONES[0]), ("AB", "AW", "AE"), strict=True):
            for row, column in _points(size, node, key):
                rows[row][column] = stone
        turn = _text(node, "PL").strip().lower()[:1] or turn
    if turn not in tuple(PLAYERS):
        has_black, has_white = (any(stone in row for row in rows) for stone in STONES[1:])
        turn = PLAYERS[has_black and not has_white]
        turn = next((key.lower() for key in SGF_COLOURS if key in nodes[-1]), turn)
    return "/".join("".join(row) for row in rows) + f" {turn}"


def _points(size: int, node: Node, key: str) -> set[tuple[int, int]]:
    """(row from the top, column) of the points that a property lists."""
    from sgfmill import sgf_properties

    try:
        presenter = sgf_properties.Presenter(size, "UTF-8")
        points = presenter.interpret(key, node[key]) if key in node else set()
    except ValueError as error:
        raise InvalidTextError(
            f"go: {key} of the SGF game must be points of the board, got {_text(node, key)[:20]!r}"
        ) from error
    return {(size - 1 - row, column) for row, column in points}


def _play(line: MainLine, side: int, size: int, colour: str, value: str) -> None:
    """Play a move, but no pass after the end, on a board of `size` in a corner of `side`."""
    from sgfmill import sgf_properties

    wanted = PLAYERS[line.state.player].upper()
    word = value.strip().lower().removeprefix("pass").encode()

    def action() -> int:
        try:
            at = sgf_properties.interpret_go_point(word, size)
        except ValueError as error:
            raise InvalidTextError(
                f"it must be a point such as ee or empty for a pass, got {value[:20]!r}"
            ) from error
        if colour != wanted:
            raise TranscriptError(f"it must be {wanted}'s, got {colour}'s", "a move out of turn")
        return side**2 if at is None else (side - 1 - at[0]) * side + at[1]

    if word in (b"", b"tt") and line.game.is_terminal(line.state):
        line.ignored.add("a pass after the end")
    else:
        line.play(action)


def _outcome(result: str) -> int | None:
    """The outcome that a result states, in Black's view; None: no outcome or no result."""
    result = result[:LONGEST_RESULT]
    if number := NUMBER_WON.match(result):
        return int(number[1])
    if won := WON.search(result):
        return -1 if won[0] in "\u767d\ubc31" else 1
    found = RESULT.match(result)
    if found is None:
        return 0 if DRAWN.search(result) else None
    return 0 if found[2] else 1 if found[1].upper() == "B" else -1


def _off_the_board(result: str) -> str:
    if ON_TIME.search(result):
        return "time"
    return "forfeit" if re.search(r"\+\s*f(?:orfeit)?\b", result, re.IGNORECASE) else ""


def _rating(rank: str) -> float | None:
    """A rank as a number: 3 for 3 dan, 0 for 1 kyu, -9 for 10 kyu, 9 for a professional."""
    found = RANK.match(rank.lower().translate(NUMERALS))
    if found is None:
        return None
    number, kind = int(found[1]), KINDS[found[2]]
    return float(PROFESSIONAL if kind == "p" else number if kind == "d" else 1 - number)


def _other_rules(root: Node, stated: float | None, komi: float) -> str:
    """How a file's rules differ from the game's; empty if no named rule differs.

    Rules by area agree with the game's on the winner, whatever their names.
    """
    if stated is not None and stated != komi:
        return f"komi {stated:g}"
    if (stones := _handicap(root)) > 1:
        return f"handicap {stones}"
    rules_named = _text(root, "RU").strip()
    if rules_named.lower().startswith(("jap", "kor")):
        return f"{rules_named[:20].capitalize()} rules"
    return ""
