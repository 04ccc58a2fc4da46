"""Chess games as PGN files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import partial

from azcore.errors import AmbiguousTextError, IllegalActionError, InvalidTextError
from azcore.game import Game, Transcript, TranscriptFormat

from . import rules
from .notation import action_to_san, result_text, state_to_text, termination, text_to_legal_action

RESULTS = ("1-0", "0-1", "1/2-1/2", "*")  # PGN's; * for an unfinished game
VALUE = re.compile(r"^value ([+-][01]\.[0-9]{3})(?= |$)", re.MULTILINE)  # as azcore writes it
EVAL = re.compile(r"\[%eval -?[0-9]+\.[0-9]{2}\] ")
MOST_CERTAIN = 0.999  # a value of 1 would be infinitely many pawns; this is 20
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"  # without its counters
PGN_HEADERS = {"event": "Event", "site": "Site", "date": "Date"}
PGN_PLAYERS = ("White", "Black")  # by seat
PGN_COLUMNS = 79  # width of lines of moves; comments are not wrapped


def transcript_format(game: Game) -> TranscriptFormat:
    """The PGN format, as `Game.transcript_formats` returns it."""
    return TranscriptFormat(
        suffix=".pgn",
        write=partial(write_pgn, game),
        read=partial(read_pgn, game),
        resignation=lambda seat: "0-1" if seat == 0 else "1-0",
        split=split_pgn,
    )


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
            raise InvalidTextError(
                f"{game.name}: move {number} {word[:20]} of the PGN game comes after its end "
                f"by {termination(state)}"
            )
        try:
            action = text_to_legal_action(game, state, word)
        except (InvalidTextError, IllegalActionError, AmbiguousTextError) as error:
            why = str(error).removeprefix(f"{game.name}: ")
            raise InvalidTextError(f"{game.name}: move {number} of the PGN game: {why}") from error
        comments[len(actions)] = without_eval(comments[len(actions)], black=black)
        actions.append(action)
        state = game.step(state, action)
    first, second = (_without_unknown(headers.get(name, "")) for name in PGN_PLAYERS)
    found = {name: _without_unknown(headers.get(key, "")) for name, key in PGN_HEADERS.items()}
    if re.fullmatch(r"\d{4}\.\d\d\.\d\d", found["date"], re.ASCII):
        found["date"] = found["date"].replace(".", "-")
    result = headers.get("Result")
    return Transcript(
        actions=actions,
        comments=comments,
        players=(first, second),
        result=result if result in RESULTS and result != "*" else None,
        headers=found,
        start_text=start_text,
    )


def _without_unknown(value: str) -> str:
    """A header's value; empty for the values by which PGN marks it as unknown."""
    return "" if value in ("?", "????.??.??") else value


def split_pgn(text: str) -> list[str]:
    """The texts of the games in a PGN text: each ends at its result, or where headers follow moves.

    What cannot be read belongs to the game in which it stands.
    """
    text = _lines_of_pgn(text)
    games: list[str] = []
    depth = at = begun = 0  # open parentheses; position in the text; where the game begins
    has_moves = False
    while (token := PGN_TOKEN.match(text, at)) is not None:
        if token["bracket"]:
            depth += 1 if token["bracket"] == "(" else -1
        elif token["result"] and depth == 0:
            games.append(text[begun : token.end()])
            begun, has_moves = token.end(), False
        elif token["move"]:
            has_moves = True
        elif (token["header"] or token["plain"]) and has_moves:
            games.append(text[begun:at])
            begun, depth, has_moves = at, 0, False
        at = token.end()
    rest = text[begun:]
    return games if games and _holds_no_game(rest) else [*games, rest]


def _holds_no_game(text: str) -> bool:
    """Whether a text has nothing but spaces and comments."""
    at = 0
    while at < len(text):
        token = PGN_TOKEN.match(text, at)
        if token is None or not (token[0].isspace() or token[0][0] in "{;%"):
            return False
        at = token.end()
    return True


def _lines_of_pgn(text: str) -> str:
    """The text without a byte order mark, which some editors write, and with usual line breaks."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def pgn_parts(text: str) -> tuple[list[str], list[str], dict[str, str]]:
    """The main line's moves, the comments after each, and the headers of the first game in a text.

    The result after the moves replaces a missing or unknown result in the headers.

    Raises:
        InvalidTextError: not PGN.
    """
    moves: list[str] = []
    comments: list[list[str]] = []
    headers: dict[str, str] = {}
    text = _lines_of_pgn(text)
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
