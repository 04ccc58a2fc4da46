"""Chess games as PGN files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from azcore.errors import InvalidTextError, TranscriptError
from azcore.game import Game, GameText, MainLine, Transcript, TranscriptFormat, result_of
from azcore.game.transcript import dated, lines_of, tree_of

from . import rules
from .notation import (
    SAN,
    action_to_san,
    action_to_text,
    result_text,
    state_to_text,
    termination,
    text_to_legal_action,
    to_board,
    uci_to_action,
)

if TYPE_CHECKING:
    import chess

RESULTS = ("1-0", "0-1", "1/2-1/2", "*")  # PGN's; * for an unfinished game
OUTCOMES = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}  # in White's view
VARIANTS = ("", "?", "standard", "chess", "from position")  # names of chess itself, in lower case
VALUE = re.compile(r"^value ([+-][01]\.[0-9]{3})(?= |$)", re.MULTILINE)  # written by azcore
EVAL = re.compile(r"\[%eval -?[0-9]+\.[0-9]{2}\] ")
MOST_CERTAIN = 0.999  # a value of 1 would be infinitely many pawns; this is 20
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"  # without its counters
PGN_HEADERS = {"event": "Event", "site": "Site", "date": "Date"}
PGN_PLAYERS = ("White", "Black")  # by seat
PGN_RATINGS = ("WhiteElo", "BlackElo")
UNKNOWN = ("?", "????.??.??")  # values of headers
PGN_COLUMNS = 79  # width of lines of moves; comments are not wrapped


def transcript_format(game: Game) -> TranscriptFormat:
    """The PGN format, as `Game.transcript_formats` returns it."""
    return TranscriptFormat(
        suffix=".pgn",
        write=partial(write_pgn, game),
        read=partial(read_pgn, game),
        resignation=lambda seat: "0-1" if seat == 0 else "1-0",
        draw="1/2-1/2",
        games=games_of_pgn,
        has_variations=True,
    )


# A tag; a program that forgets to escape quotes in a value still has one tag on the line.
TAG = re.compile(
    r'\[\s*(\w+)\s*"((?:[^"\\]|\\.)*)"\s*\]|^\[\s*(\w+)\s*"(.*)"\s*\]\s*$', re.MULTILINE
)
COMMENT = re.compile(r"\{[^}]*\}?|;[^\n]*")  # the last may lack its end
PGN_HEADER = re.compile(r'\[\s*\w+\s*"')
PGN_END = re.compile(r"(?:^|\s)(?:1-0|0-1|1/2-1/2|\*)\s*$")


def games_of_pgn(lines: Iterable[str]) -> Iterator[str]:
    """The games of a PGN text: one ends with its result, or where the headers of the next begin.

    A comment may contain lines that look like headers. An unclosed one ends at the first of them
    that follows an empty line, so it spoils only its own game.
    """
    text = GameText()
    named = has_moves = is_over = in_comment = False
    begins_line = follows_empty = True
    for line in lines:
        is_header = begins_line and PGN_HEADER.match(line) is not None
        is_header &= follows_empty or not in_comment
        is_event = is_header and line.startswith("[Event ")
        if (is_over and line.strip()) or (is_header and has_moves) or (is_event and named):
            yield text.take()
            named = has_moves = is_over = in_comment = False
        text.add(line)
        named |= is_event
        moves = "{" * in_comment + line
        if is_header:  # moves may follow a tag on its line
            moves = TAG.sub("", line) if TAG.match(line) else ""
        if moves.strip() and not (begins_line and line.startswith("%")):
            in_comment = any(said[0] == "{" and said[-1] != "}" for said in COMMENT.findall(moves))
            rest = COMMENT.sub("", moves)
            has_moves |= bool(rest.strip())
            is_over = not in_comment and PGN_END.search(rest) is not None
        begins_line, follows_empty = line.endswith("\n"), not line.strip()
    if named or has_moves:
        yield text.take()


def write_pgn(game: Game, transcript: Transcript) -> str:
    """A game as PGN.

    A PGN comment ends at its first closing brace, so braces are written as a backslash and a
    parenthesis; `read_pgn` converts them back.

    Raises:
        IllegalActionError: an action is not legal where it is played.
        InvalidTextError: the start is not a position, the result is not one of `RESULTS`, or it
            differs from that of a finished game.
    """
    start = transcript.start_text
    state = game.initial_state() if start is None else game.state_from_text(start)
    first, second = (player or "?" for player in transcript.players)
    headers = {
        "Event": "?",
        "Site": "?",
        "Date": "????.??.??",
        "Round": "?",
        "White": first,
        "Black": second,
        "Result": "*",
    }
    for name, value in transcript.headers.items():
        headers[PGN_HEADERS[name]] = dated(name, value, "-", ".")
    if start is not None:
        headers |= {"SetUp": "1", "FEN": state_to_text(state)}
    words, state = _movetext(game, transcript, state)
    own = "*"
    if game.is_terminal(state):
        headers["Termination"], own = termination(state), result_text(game.outcome(state))
    headers["Result"] = result_of(game, state, transcript.result, own, RESULTS)
    lines = [f'[{name} "{_escaped(value)}"]' for name, value in headers.items()]
    return "\n".join([*lines, "", *_wrapped([*words, headers["Result"]])]) + "\n"


def _movetext(game: Game, transcript: Transcript, state: Any) -> tuple[list[str], Any]:
    """The words of moves, comments and variations, and the position after the main line."""
    tree = tree_of(lines_of(transcript.actions, transcript.variations))
    words: list[str] = []
    comments = iter(transcript.comments)
    end, bare = state, True  # bare: the next move needs its number
    waiting: list[tuple[Any, dict[int, Any], str, bool] | None] = [(state, tree, "", True)]
    while waiting:
        step = waiting.pop()
        if step is None:
            words[-1] += ")"
            bare = True
            continue
        state, moves, bracket, is_main = step
        if not moves:
            continue
        (action, below), *others = moves.items()
        black = rules.current_player(state) == 1
        bare |= bool(bracket)
        number = f"{int(state.ply) // 2 + 1}{'...' if black else '.'} " if bare or not black else ""
        words.append(bracket + number + action_to_san(game, state, action))
        bare = False
        following = game.step(state, action)
        if is_main:
            end = following
            if comment := next(comments):
                words.append(f"{{ {_without_braces(with_eval(comment, black=black))} }}")
                bare = True
        if bracket:
            waiting.append(None)
        waiting.append((following, below, "", is_main))
        waiting += [(state, {other: after}, "(", False) for other, after in reversed(others)]
    return words, end


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _wrapped(words: list[str]) -> Iterator[str]:
    """The words wrapped into lines; a comment of several lines counts by its last."""
    line = ""
    for word in words:
        first = word.partition("\n")[0]
        if line and len(line.rpartition("\n")[2]) + 1 + len(first) > PGN_COLUMNS:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
    yield line


def with_eval(comment: str, *, black: bool) -> str:
    """The comment on a move, preceded by its value in the form that other programs read.

    `value -0.312 ...` of Black's move becomes `[%eval 1.75] value -0.312 ...`, pawns from White's
    view: those for which Lichess draws an expected score of (1 + value) / 2, as its winning chances
    are 2 / (1 + exp(-0.00368208 centipawns)) - 1 (https://lichess.org/page/accuracy).
    """
    found = VALUE.search(comment)
    if found is None:
        return comment
    value = max(-MOST_CERTAIN, min(MOST_CERTAIN, float(found[1])))
    pawns = 2 * math.atanh(-value if black else value) / 0.368208
    return f"[%eval {pawns + 0.0:.2f}] {comment}"


def without_eval(comment: str, *, black: bool) -> str:
    """The inverse of `with_eval`; evaluations by other programs stay."""
    plain = EVAL.sub("", comment, count=1)
    return plain if with_eval(plain, black=black) == comment else comment


def _without_braces(comment: str) -> str:
    """Write braces as a backslash and a parenthesis; double backslashes before either.

    A PGN comment has no escapes of its own: it ends at the first closing brace.
    """

    def escaped(match: re.Match[str]) -> str:
        slashes, bracket = match.groups()
        if bracket in "{}":
            return f"{slashes}{slashes}\\{'(' if bracket == '{' else ')'}"
        return f"{slashes}{slashes}{bracket}"

    return re.sub(r"(\\*)([(){}])", escaped, comment)


def _with_braces(comment: str) -> str:
    """The inverse of `_without_braces`."""

    def plain(match: re.Match[str]) -> str:
        slashes, bracket = match.groups()
        half = slashes[: len(slashes) // 2]
        return half + ("{}"["()".index(bracket)] if len(slashes) % 2 else bracket)

    return re.sub(r"(\\*)([()])", plain, comment)


# A comment, a remark of a whole line, a parenthesis, a glyph or a word.
PART = re.compile(COMMENT.pattern + r"|^%[^\n]*|[()}]|\$\d+|[^\s(){};$!?]+", re.MULTILINE)
NUMBER = re.compile(r"^\d+[.…]+|^\d+$")
EN_PASSANT = re.compile(r"e\.?p\.?(?=[+#]*$)")
# Parts that only moves have: a square, castling (also in Cyrillic letters), a null move.
MOVE = re.compile("[a-h][1-8]|[o0\u043e][-\u2013][o0\u043e]|--|Z0|0000", re.IGNORECASE)
OFF_THE_BOARD = {  # by words of PGN's Termination, in the standard and of servers
    "time": r"^time forfeit|\b(?:on time|timeout)\b",
    "absence": r"^abandoned|\bgame abandoned",
    "forfeit": "^forfeit",
    "ruling": "^(?:rules infraction|adjudication|death|emergency)",
}
SPELLED = {  # results, as they are written
    **{f"1{sign}0": "1-0" for sign in "-:–"},
    **{f"0{sign}1": "0-1" for sign in "-:–"},
    **dict.fromkeys(("1/2-1/2", "1/2", "1/2:1/2", "1/2–1/2", "½", "½-½", "½:½"), "1/2-1/2"),
    "*": "*",
}


def read_pgn(game: Game, text: str) -> Transcript:
    """The first game in a PGN text, from any starting position.

    Glyphs, remarks without braces, and comments before the first move and in variations are
    skipped.

    Raises:
        InvalidTextError: no PGN, or a start that is not a position.
        TranscriptError: another variant of chess, or a move that is unreadable, illegal, ambiguous
            or after the end; the message gives its number, and the error the game before it.
    """
    text = next(games_of_pgn(text.removeprefix("\ufeff").splitlines(keepends=True)), "")
    headers, movetext = _parts(text)
    variant = headers.get("variant", "")
    if variant.lower() not in VARIANTS:
        name = variant[:20]
        raise TranscriptError(
            f"{game.name}: a PGN game must be standard chess, got [Variant {name!r}]",
            f"variant {name}",
        )
    start_text = None
    if "fen" in headers and headers["fen"].split()[:4] != START.split():
        start_text = state_to_text(game.state_from_text(headers["fen"]))
    elif headers.get("setup") == "1" and "fen" not in headers:
        raise InvalidTextError(
            f'{game.name}: a PGN game with [SetUp "1"] must have a FEN header with its position'
        )
    line = MainLine(game, "PGN", start_text)
    result = _play(line, movetext)
    is_other_text = line.ignored and "1." not in movetext
    if not headers and (is_other_text or not (line.actions or result or line.fault)):
        raise InvalidTextError(
            f"{game.name}: not a readable PGN game: no header, and no move or other words"
        )
    known = {key: "" if value in UNKNOWN else value for key, value in headers.items()}
    first, second = (known.get(name.lower(), "") for name in PGN_PLAYERS)
    stated = SPELLED.get("".join(headers.get("result", "").split()), "*")
    result = (result or "*") if stated == "*" else stated
    first_rating, second_rating = (_rating(headers.get(name.lower(), "")) for name in PGN_RATINGS)
    return line.transcript(
        players=(first, second),
        result=None if result == "*" else result,
        headers={n: dated(n, known.get(k.lower(), ""), ".", "-") for n, k in PGN_HEADERS.items()},
        outcome=OUTCOMES.get(result),
        ratings=(first_rating, second_rating),
        off_the_board=_off_the_board(headers.get("termination", "")),
    )


def _off_the_board(ending: str) -> str:
    ending = ending.strip().lower()
    return next((name for name, words in OFF_THE_BOARD.items() if re.search(words, ending)), "")


def _rating(text: str) -> float | None:
    """An Elo rating; None if it is unknown, also written as 0."""
    return float(text) if re.fullmatch(r"[1-9]\d{1,3}", text, re.ASCII) else None


def _parts(text: str) -> tuple[dict[str, str], str]:
    """The tags of a game, by their names in lower case, and its movetext."""
    headers: dict[str, str] = {}
    end = 0
    for tag in TAG.finditer(text):
        closed, brace, rest = text[end : tag.start()].rpartition("}")
        between = re.sub(r"\{[^}]*\}|[;%][^\n]*", "", closed + brace)
        if (between + re.sub(r"[;%][^\n]*", "", rest)).strip():
            break  # a comment, or a move before it
        name, value, plain_name, plain = tag.groups()
        value = plain if value is None else re.sub(r"\\(.)", r"\1", value)
        headers[(name or plain_name).lower()] = value
        end = tag.end()
    return headers, text[end:]


def _play(line: MainLine, movetext: str) -> str | None:
    """Play the moves of a movetext up to its result, which is returned, or to a fault.

    python-chess reads each move; its reader of whole games skips unreadable parts, so it reads Zf3
    as f3.
    """
    # Of the main line and of the variations in progress; None: not one move yet.
    boards: list[chess.Board | None] = [None]
    for found in PART.finditer(movetext):
        part = found[0]
        in_variation = len(boards) > 1
        if part == "(":
            line.branch(None if line.is_broken else line.ply - 1)  # instead of the last move
            boards.append(None)
        elif part == ")":
            if in_variation:
                line.rejoin()
                boards.pop()
        elif part[0] in "%$" or (in_variation and (part[0] in "{};" or part in SPELLED)):
            continue
        elif part == "}":  # what is before it may belong to the comment
            line.ignored.add("a } without its {")
        elif part[0] == "{" and part[-1] != "}":
            _cut(line, "an unclosed {")
        elif part[0] in "{;":
            inside = part[1:].removesuffix("}").removeprefix(" ").removesuffix(" ")
            text = _with_braces(inside) if part[0] == "{" else part[1:].strip()
            black = rules.current_player(line.state) == 0  # the player who has moved
            line.comment(without_eval(text, black=black))
        elif part in SPELLED:
            return SPELLED[part]
        elif line.is_broken:
            continue
        elif MOVE.search(part):
            board = boards[-1] = boards[-1] or to_board(line.state)
            word = EN_PASSANT.sub("", NUMBER.sub("", part))
            black = rules.current_player(line.state) == 1
            number = f"{int(line.state.ply) // 2 + 1}{'...' if black else '.'}"
            state = line.state
            read = partial(_action, line, board, word)
            action = line.play(read, move=word[:20], number=number)
            if action is not None:
                board.push_uci(action_to_text(state, action))
        elif part.strip("0123456789.…") and not in_variation:
            line.ignored.add("a word that is not a move")
        if line.fault:
            return None
    if len(boards) > 1:
        for _ in boards[1:]:
            line.rejoin()
        _cut(line, "an unclosed (")
    return None


def _cut(line: MainLine, why: str) -> None:
    line.stop(f"the PGN game has {why}, and moves may follow it", why)


def _action(line: MainLine, board: chess.Board, word: str) -> int:
    plain = word.rstrip("+-#=/±∓∞.,")
    if SAN.fullmatch(plain):
        with suppress(ValueError):  # some UCI looks like SAN; other words get a reason
            return uci_to_action(line.game, line.state, board.parse_san(plain).uci())
    return text_to_legal_action(line.game, line.state, plain or word)
