"""Chess games as PGN files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import partial

from azcore.errors import AmbiguousTextError, IllegalActionError, InvalidTextError, TranscriptError
from azcore.game import Game, GameText, Transcript, TranscriptFormat

from . import rules
from .notation import action_to_san, result_text, state_to_text, termination, text_to_legal_action

RESULTS = ("1-0", "0-1", "1/2-1/2", "*")  # PGN's; * for an unfinished game
OUTCOMES = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}  # in White's view
VARIANTS = ("", "?", "standard", "chess", "from position")  # names of chess itself, in lower case
VALUE = re.compile(r"^value ([+-][01]\.[0-9]{3})(?= |$)", re.MULTILINE)  # as azcore writes it
EVAL = re.compile(r"\[%eval -?[0-9]+\.[0-9]{2}\] ")
MOST_CERTAIN = 0.999  # a value of 1 would be infinitely many pawns; this is 20
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"  # without its counters
PGN_HEADERS = {"event": "Event", "site": "Site", "date": "Date"}
PGN_PLAYERS = ("White", "Black")  # by seat
PGN_RATINGS = ("WhiteElo", "BlackElo")
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
    )


PGN_HEADER = re.compile(r'\[\s*\w+\s*"')
PGN_END = re.compile(r"(?:^|\s)(?:1-0|0-1|1/2-1/2|\*)\s*$")


def games_of_pgn(lines: Iterable[str]) -> Iterator[str]:
    """The games of a PGN text: one ends with its result, or where the headers of the next begin.

    A comment may hold lines that look like headers. One that is never closed ends at the first of
    them that follows an empty line, so it spoils its own game alone.
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
        if line.strip() and not is_header and not (begins_line and line.startswith("%")):
            rest, in_comment = _outside_comments(line, in_comment)
            has_moves |= bool(rest.strip())
            is_over = not in_comment and PGN_END.search(rest) is not None
        begins_line, follows_empty = line.endswith("\n"), not line.strip()
    if named or has_moves:
        yield text.take()


def _outside_comments(line: str, in_comment: bool) -> tuple[str, bool]:
    """What a line says outside comments, and whether a comment is open at its end."""
    parts = []
    while line:
        if in_comment:
            _, closed, line = line.partition("}")
            in_comment = not closed
        else:
            opened = re.search("[{;]", line)
            if opened is None or opened[0] == ";":
                parts.append(line[: opened.start()] if opened else line)
                break
            parts.append(line[: opened.start()])
            line, in_comment = line[opened.end() :], True
    return "".join(parts), in_comment


def write_pgn(game: Game, transcript: Transcript) -> str:
    """A game as PGN.

    A PGN comment ends at its first closing brace, so braces are written as a backslash and a
    parenthesis; `read_pgn` converts them back.

    Raises:
        IllegalActionError: an action is not legal where it is played.
        InvalidTextError: the start is not a position, the result is not one of `RESULTS`, or it
            differs from that of a finished game.
    """
    result = transcript.result
    if result is not None and result not in RESULTS:
        raise InvalidTextError(
            f"{game.name}: the result of a PGN game must be one of {', '.join(RESULTS)}, "
            f"got {result!r}"
        )
    start = transcript.start_text
    state = game.initial_state() if start is None else game.state_from_text(start)
    headers = {
        "Event": "?",
        "Site": "?",
        "Date": "????.??.??",
        "Round": "?",
        **{
            name: player or "?"
            for name, player in zip(PGN_PLAYERS, transcript.players, strict=True)
        },
        "Result": "*",
    }
    for name, value in transcript.headers.items():
        if name == "date" and re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
            value = value.replace("-", ".")
        headers[PGN_HEADERS[name]] = value
    if start is not None:
        headers |= {"SetUp": "1", "FEN": state_to_text(state)}
    words: list[str] = []
    bare = True  # whether the next move needs its number
    for action, comment in zip(transcript.actions, transcript.comments, strict=True):
        black = rules.current_player(state) == 1
        number = f"{int(state.ply) // 2 + 1}{'...' if black else '.'} " if bare or not black else ""
        words.append(number + action_to_san(game, state, action))
        if comment:
            words.append(f"{{ {_without_braces(with_eval(comment, black=black))} }}")
        bare = bool(comment)
        state = game.step(state, action)
    if game.is_terminal(state):
        ending, own = termination(state), result_text(game.outcome(state))
        if result not in (None, own):
            raise InvalidTextError(
                f"{game.name}: the game is over by {ending}, so its result must be {own}, "
                f"got {result}"
            )
        headers["Termination"] = ending
        result = own
    headers["Result"] = result or "*"
    lines = [f'[{name} "{_escaped(value)}"]' for name, value in headers.items()]
    return "\n".join([*lines, "", *_wrapped([*words, headers["Result"]])]) + "\n"


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


PGN_TOKEN = re.compile(
    r"""\s+ | (?P<header>\[\s*(?P<name>\w+)\s*"(?P<value>(?:[^"\\]|\\.)*)"\s*\])
    | (?P<plain>^\[\s*(?P<plain_name>\w+)\s*"(?P<plain_value>[^\n]*)"\s*\][ \t]*$)
    | \{(?P<comment>[^}]*)\} | ;(?P<remark>[^\n]*) | ^%[^\n]*
    | (?P<result>1-0|0-1|1/2-1/2|\*)(?=[\s(){};]|$) | \d+(?:\.+|(?=\s)) | \.+ | \$\d+
    | (?P<bracket>[()])
    | (?P<move>[A-Za-z0-9][^\s(){};$!?]*)[!?]*""",
    re.VERBOSE | re.MULTILINE,
)


def read_pgn(game: Game, text: str) -> Transcript:
    """The main line of the first game in a PGN text, from any starting position.

    Variations and their comments are skipped, and so are comments before the first move.

    Raises:
        InvalidTextError: not PGN, a start that is not a position, or a move that is unreadable,
            illegal, ambiguous or after the end; the message gives its number.
    """
    moves, comments, headers = pgn_parts(text)
    start_text = None
    state = game.initial_state()
    if "FEN" in headers and headers["FEN"].split()[:4] != START.split():
        state = game.state_from_text(headers["FEN"])
        start_text = state_to_text(state)
    elif headers.get("SetUp") == "1" and "FEN" not in headers:
        raise InvalidTextError(
            f'{game.name}: a PGN game with [SetUp "1"] must have a FEN header with its position'
        )
    actions: list[int] = []
    for word in moves:
        black = rules.current_player(state) == 1
        number = f"{int(state.ply) // 2 + 1}{'...' if black else '.'}"
        if game.is_terminal(state):
            raise TranscriptError(
                f"{game.name}: move {number} {word[:20]} of the PGN game comes after its end "
                f"by {termination(state)}",
                "moves after the end",
            )
        try:
            action = text_to_legal_action(game, state, word)
        except (InvalidTextError, IllegalActionError, AmbiguousTextError) as error:
            why = str(error).removeprefix(f"{game.name}: ")
            raise TranscriptError(
                f"{game.name}: move {number} of the PGN game: {why}",
                "a move that is not legal"
                if isinstance(error, IllegalActionError)
                else "a move that cannot be read",
            ) from error
        comments[len(actions)] = without_eval(comments[len(actions)], black=black)
        actions.append(action)
        state = game.step(state, action)
    first, second = (_without_unknown(headers.get(name, "")) for name in PGN_PLAYERS)
    found = {name: _without_unknown(headers.get(key, "")) for name, key in PGN_HEADERS.items()}
    if re.fullmatch(r"\d{4}\.\d\d\.\d\d", found["date"], re.ASCII):
        found["date"] = found["date"].replace(".", "-")
    result = headers.get("Result")
    variant = headers.get("Variant", "")
    first_rating, second_rating = (_rating(headers.get(name, "")) for name in PGN_RATINGS)
    return Transcript(
        actions=actions,
        comments=comments,
        players=(first, second),
        result=result if result in RESULTS and result != "*" else None,
        headers=found,
        start_text=start_text,
        outcome=OUTCOMES.get(result or ""),
        ratings=(first_rating, second_rating),
        other_rules="" if variant.lower() in VARIANTS else f"variant {variant[:20]}",
    )


def _rating(text: str) -> float | None:
    """An Elo rating; None where it is unknown, for which 0 stands too."""
    return float(text) if re.fullmatch(r"[1-9]\d{1,3}", text, re.ASCII) else None


def _without_unknown(value: str) -> str:
    """A header's value; empty for the values by which PGN marks it as unknown."""
    return "" if value in ("?", "????.??.??") else value


def pgn_parts(text: str) -> tuple[list[str], list[str], dict[str, str]]:
    """The main line's moves, the comments after each, and the headers of the first game in a text.

    The result after the moves replaces a missing or unknown result in the headers.

    Raises:
        InvalidTextError: not PGN.
    """
    moves: list[str] = []
    comments: list[list[str]] = []
    headers: dict[str, str] = {}
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")  # some editors write a byte order mark
    depth = at = 0  # open parentheses; position in the text
    found = False  # whether any part of a game
    while at < len(text):
        token = PGN_TOKEN.match(text, at)
        if token is None:
            line = text.count("\n", 0, at) + 1
            rest = text[at : at + 20].split("\n")[0]
            raise InvalidTextError(f"chess: not a readable PGN game, line {line} at {rest!r}")
        at = token.end()
        if token["bracket"]:
            depth += 1 if token["bracket"] == "(" else -1
            if depth < 0:
                raise InvalidTextError("chess: the PGN game has a ) too many")
        elif token["header"] or token["plain"]:  # `plain`: quotes without backslashes
            if moves:
                break  # the next game
            if token["header"]:
                headers[token["name"]] = re.sub(r"\\(.)", r"\1", token["value"])
            else:
                headers[token["plain_name"]] = token["plain_value"]
            found = True
        elif depth == 0 and token["move"]:
            moves.append(token["move"])
            comments.append([])
        elif depth == 0 and moves and token["comment"] is not None:
            comment = token["comment"].removeprefix(" ").removesuffix(" ")
            comments[-1].append(_with_braces(comment))
        elif depth == 0 and moves and token["remark"]:
            comments[-1].append(token["remark"].strip())
        elif depth == 0 and token["result"]:
            if headers.get("Result") in (None, "*", "?"):
                headers["Result"] = token["result"]
            found = True
            break
    if depth:
        raise InvalidTextError("chess: the PGN game has a ( that is not closed")
    if not found and not moves:
        raise InvalidTextError("chess: not a readable PGN game: no header, move or result")
    return moves, ["\n".join(said) for said in comments], headers
