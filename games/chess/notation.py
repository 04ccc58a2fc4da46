"""Chess as text: moves, positions, drawn boards, PGN games and opening books.

Moves are written as in the Universal Chess Interface, `e2e4`, `e7e8q`, castling as the king's move
`e1g1`; they are read in standard algebraic notation (SAN) too, `Nf3`, `exd5`, `O-O`. Positions are
FEN. Rules, action numbers and texts are ours; SAN, SVG, books and the question whether a FEN is a
possible position are the library python-chess's, which is imported only when one of them is asked
for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azcore.errors import AmbiguousTextError, GameError, IllegalActionError, InvalidTextError
from azcore.game import Transcript, illegal_action_message

from . import rules

if TYPE_CHECKING:
    import chess

    from .game import Chess

COLUMNS = "abcdefgh"
LETTERS = ("PNBRQK", "pnbrqk")  # by seat, then kind
SEATS = "wb"
SEAT_NAMES = ("White", "Black")
PROMOTIONS = "nbrq"
UCI = re.compile("([a-h])([1-8])([a-h])([1-8])([nbrq]?)", re.ASCII)
SAN = re.compile(
    "(?:[KQRBN]?[a-h]?[1-8]?[x-]?[a-h][1-8](?:=?[NBRQnbrq])?|O-O(?:-O)?|0-0(?:-0)?)[+#]?", re.ASCII
)
RESULTS = ("1-0", "0-1", "1/2-1/2", "*")  # PGN's; * for a game that is not over
VALUE = re.compile(r"^value ([+-][01]\.[0-9]{3})(?= |$)", re.MULTILINE)  # as azcore says it
EVAL = re.compile(r"\[%eval -?[0-9]+\.[0-9]{2}\] ")
MOST_CERTAIN = 0.999  # a value of 1 would be infinitely many pawns; this is 20
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"  # without its counters
# FEN's castling letters with their rights, in the order in which they are written.
RIGHTS = {"K": 1, "Q": 2, "k": 4, "q": 8}


def cell_name(cell: int) -> str:
    """`e4`; the cell is in White's view."""
    return f"{COLUMNS[cell % 8]}{8 - cell // 8}"


# -- moves -------------------------------------------------------------------------------------


def action_to_text(state: Any, action: int) -> str:
    """`e2e4`, `e7e8q`; an action that would leave the board is written as `a1@52`, its plane last.

    A pawn's move to the last row by a queen's plane has the q; on it rests what the text means.
    """
    seat = rules.current_player(state)
    plane, cell = divmod(int(action), 64)
    start = cell ^ 56 * seat
    end_cell = target_cell(cell, plane)
    if end_cell is None:
        return f"{cell_name(start)}@{plane}"
    promotion = ""
    if plane >= rules.UNDERPROMOTION_PLANE:
        promotion = PROMOTIONS[(plane - rules.UNDERPROMOTION_PLANE) // 3]
    elif end_cell < 8 and piece_at(state, start) == (seat, rules.PAWN):
        promotion = "q"
    return cell_name(start) + cell_name(end_cell ^ 56 * seat) + promotion


def target_cell(cell: int, plane: int) -> int | None:
    """Where a plane's move from `cell` ends, both in one view; None: off the board."""
    if plane < rules.KNIGHT_PLANE:
        direction, distance = plane // 7, plane % 7 + 1
    elif plane < rules.UNDERPROMOTION_PLANE:
        direction, distance = plane - rules.KNIGHT_PLANE + rules.KNIGHT_STEP, 1
    else:
        ways = (rules.NORTH_WEST, rules.NORTH, rules.NORTH_EAST)
        direction, distance = ways[(plane - rules.UNDERPROMOTION_PLANE) % 3], 1
    row = cell // 8 + distance * rules.STEPS[direction][0]
    column = cell % 8 + distance * rules.STEPS[direction][1]
    return 8 * row + column if row in range(8) and column in range(8) else None


def text_to_legal_action(game: Chess, state: Any, text: str) -> int:
    """The legal action that `text` means: UCI, or else SAN.

    Raises:
        InvalidTextError: neither of the two.
        IllegalActionError: no legal move is written so.
        AmbiguousTextError: more than one is.
    """
    word = text.strip()
    if UCI.fullmatch(word):
        return uci_to_action(game, state, word)
    if SAN.fullmatch(word):  # before capitals are looked through: B4c5 is a bishop's move
        return san_to_action(game, state, word)
    if UCI.fullmatch(word.lower()):
        return uci_to_action(game, state, word.lower())
    raise InvalidTextError(
        f"{game.name}: a move is UCI such as e2e4 and e7e8q or SAN such as Nf3, exd5 and O-O, "
        f"got {text[:20]!r}"
    )


def uci_to_action(game: Chess, state: Any, word: str) -> int:
    """The legal action of a well-formed UCI move."""
    legal = legal_actions(game, state)
    texts = {action_to_text(state, action): action for action in legal}
    if word in texts:
        return texts[word]
    if word + "q" in texts:
        raise AmbiguousTextError(
            f"{game.name}: {word} needs the piece that the pawn becomes, such as {word}q"
        )
    raise IllegalActionError(f"{game.name}: {word} is not legal here")


def san_to_action(game: Chess, state: Any, word: str) -> int:
    """The legal action of a well-formed SAN move."""
    import chess

    board = to_board(state)
    try:
        move = board.parse_san(word)
    except chess.AmbiguousMoveError as error:
        sans = [board.san(move) for move in board.legal_moves]
        which = ", ".join(san for san in sans if piece_and_target(san) == piece_and_target(word))
        raise AmbiguousTextError(f"{game.name}: {word} may mean any of {which}") from error
    except chess.IllegalMoveError as error:
        if re.search("[18][+#]?$", word):
            with suppress(chess.IllegalMoveError):
                board.parse_san(word.rstrip("+#") + "=Q")
                raise AmbiguousTextError(
                    f"{game.name}: {word} needs the piece that the pawn becomes, "
                    f"such as {word.rstrip('+#')}=Q"
                ) from error
        raise IllegalActionError(f"{game.name}: {word} is not legal here") from error
    return uci_to_action(game, state, move.uci())


def piece_and_target(san: str) -> tuple[str | None, ...]:
    """The letter of the piece and the cell it goes to; nothing for castling."""
    parts = re.match("([KQRBN]?).*([a-h][1-8])", san)
    return () if parts is None else parts.groups()


def action_to_san(game: Chess, state: Any, action: int) -> str:
    """A legal action in standard algebraic notation, `Nf3`, `exd5`, `O-O`, `Qh5#`.

    Raises:
        IllegalActionError: the action is not legal here.
    """
    if action not in legal_actions(game, state):
        raise IllegalActionError(illegal_action_message(game, state, action))
    board = to_board(state)
    return board.san(board.parse_uci(action_to_text(state, action)))


def legal_actions(game: Chess, state: Any) -> list[int]:
    actions: list[int] = game.legal_action_mask(state).nonzero()[0].tolist()
    return actions


# -- positions ---------------------------------------------------------------------------------


def piece_at(state: Any, cell: int) -> tuple[int, int] | None:
    """(seat, kind) of the piece on a cell of White's view."""
    boards = [int(board) >> cell & 1 for board in state.boards[int(state.ply) & 7]]
    if not any(boards):
        return None
    return boards[rules.PIECES_OF + 1], boards.index(1)


def placement_rows(state: Any) -> list[str]:
    """Eight rows of `PNBRQKpnbrqk.`, the eighth rank first."""
    pieces = [piece_at(state, cell) for cell in range(64)]
    letters = "".join("." if piece is None else LETTERS[piece[0]][piece[1]] for piece in pieces)
    return [letters[first : first + 8] for first in range(0, 64, 8)]


def state_to_text(state: Any) -> str:
    """FEN; the en passant cell is named only where the capture is legal."""
    placement = "/".join(placement_rows(state))
    placement = re.sub(r"\.+", lambda empty: str(len(empty[0])), placement)
    rights = "".join(letter for letter, bit in RIGHTS.items() if int(state.castling) & bit)
    passed = "-" if state.en_passant < 0 else cell_name(int(state.en_passant))
    player = SEATS[rules.current_player(state)]
    counters = f"{int(state.clock)} {int(state.ply) // 2 + 1}"
    return f"{placement} {player} {rights or '-'} {passed} {counters}"


def state_from_text(state: Any, text: str) -> Any:
    """Set up the position of a FEN, on a blank state of its game.

    Both counters may be left out together, as in EPD: they are then `0 1`. The move number gives
    the ply, which the limit of plies is compared with; a position at the limit is over. As other
    programs do, we take what GUIs write and drop what cannot be so: castling rights without king
    and rook in place, and an en passant cell that no pawn has passed.

    Args:
        state: a blank state, which is changed and returned.

    Raises:
        InvalidTextError: names what is wrong and where.
    """
    words = text.split()
    if len(words) not in (4, 6):
        raise InvalidTextError(
            "chess: a FEN is placement, w or b, castling, en passant and two counters, "
            f"got {len(words)} words in {text[:90]!r}"
        )
    placement, player, castling, passed = words[:4]
    clock, number = words[4:] or ("0", "1")
    pieces = read_placement(placement)
    if player not in tuple(SEATS):
        raise InvalidTextError(f"chess: the player to move must be w or b, got {player[:20]!r}")
    if castling != "-" and not re.fullmatch("(?:KQ?|QK?)?(?:kq?|qk?)?", castling):
        raise InvalidTextError(f"chess: castling must be - or some of KQkq, got {castling[:20]!r}")
    if passed != "-" and not re.fullmatch("[a-h][36]", passed, re.ASCII):
        raise InvalidTextError(
            f"chess: en passant must be - or a cell such as e3, got {passed[:20]!r}"
        )
    for what, word, least, most in (
        ("plies without progress", clock, 0, rules.FIFTY_MOVES),
        ("the move number", number, 1, int(state.max_plies) // 2 + 1),
    ):
        short = re.fullmatch("[0-9]{1,5}", word, re.ASCII)
        if short is None or not least <= int(word) <= most:
            raise InvalidTextError(f"chess: {what} must be {least} to {most}, got {word[:20]!r}")
    ply = 2 * (int(number) - 1) + SEATS.index(player)
    if ply > state.max_plies:
        raise InvalidTextError(
            f"chess: the game ends after {state.max_plies} plies, "
            f"got move {number} with {player} to move, ply {ply}"
        )
    board = possible_board(f"{placement} {player} - {passed} 0 1", castling, text)
    rights = (
        RIGHTS["K"] * board.has_kingside_castling_rights(True)
        + RIGHTS["Q"] * board.has_queenside_castling_rights(True)
        + RIGHTS["k"] * board.has_kingside_castling_rights(False)
        + RIGHTS["q"] * board.has_queenside_castling_rights(False)
    )
    passed_cell = -1 if board.ep_square is None else board.ep_square ^ 56  # theirs begin at a1
    rules.set_up(state, pieces, rights, passed_cell, int(clock), ply)
    return state


def read_placement(placement: str) -> list[tuple[int, int, int]]:
    """(seat, kind, cell in White's view) of the pieces of FEN's first word.

    Raises:
        InvalidTextError: names the row that is wrong.
    """
    rows = placement.split("/")
    if len(rows) != 8:
        raise InvalidTextError(
            f"chess: a placement has 8 rows, got {len(rows)} in {placement[:90]!r}"
        )
    pieces = []
    for number, row in enumerate(rows):
        cells = re.sub("[1-8]", lambda digit: "." * int(digit[0]), row)
        if len(cells) != 8 or "." in row or cells.strip("." + LETTERS[0] + LETTERS[1]):
            raise InvalidTextError(
                f"chess: rank {8 - number} must be 8 cells of PNBRQKpnbrqk and digits, "
                f"got {row[:20]!r}"
            )
        if re.search("[1-8]{2}", row):
            raise InvalidTextError(f"chess: rank {8 - number} has two digits in a row: {row!r}")
        for column, letter in enumerate(cells):
            if letter != ".":
                seat = int(letter.islower())
                pieces.append((seat, LETTERS[seat].index(letter), 8 * number + column))
    return pieces


def possible_board(fen: str, castling: str, text: str) -> chess.Board:
    """The position as python-chess's board, less the rights and the en passant that cannot be.

    Args:
        fen: a well-formed FEN without castling rights.
        castling: the rights, `-` or some of KQkq.
        text: what to name in the error.

    Raises:
        InvalidTextError: there is no king, the opponent is in check, and so on; says all of it.
    """
    import chess

    names = {
        chess.STATUS_NO_WHITE_KING: "no white king",
        chess.STATUS_NO_BLACK_KING: "no black king",
        chess.STATUS_TOO_MANY_KINGS: "too many kings",
        chess.STATUS_TOO_MANY_WHITE_PAWNS: "too many white pawns",
        chess.STATUS_TOO_MANY_BLACK_PAWNS: "too many black pawns",
        chess.STATUS_PAWNS_ON_BACKRANK: "a pawn on the first or last rank",
        chess.STATUS_TOO_MANY_WHITE_PIECES: "too many white pieces",
        chess.STATUS_TOO_MANY_BLACK_PIECES: "too many black pieces",
        chess.STATUS_OPPOSITE_CHECK: "the player not to move in check",
        chess.STATUS_TOO_MANY_CHECKERS: "more checks at once than a move can give",
        chess.STATUS_IMPOSSIBLE_CHECK: "a check that no move can have given",
    }
    board = chess.Board(fen)
    corners = {"K": chess.BB_H1, "Q": chess.BB_A1, "k": chess.BB_H8, "q": chess.BB_A8}
    board.castling_rights = sum(corners[letter] for letter in set(castling.strip("-")))
    board.castling_rights = board.clean_castling_rights()
    if board.status() & chess.STATUS_INVALID_EP_SQUARE:
        board.ep_square = None
    status = board.status()
    if status:
        wrong = ", ".join(name for bit, name in names.items() if status & bit)
        raise InvalidTextError(f"chess: {wrong or 'no possible position'} in {text[:90]!r}")
    return board


def to_board(state: Any) -> chess.Board:
    """The position as python-chess's board, without history."""
    import chess

    return chess.Board(state_to_text(state))


# -- how a game ended --------------------------------------------------------------------------


def termination(state: Any) -> str:
    """How a terminal state came about; where two reasons hold, the first in FIDE's order."""
    now = int(state.ply) & 7
    if not rules.has_legal_action(state):
        return "checkmate" if rules.is_check(state) else "stalemate"
    if rules.is_insufficient(state):
        return "insufficient material"
    if state.repetitions[now] >= 2:
        return "threefold repetition"
    if state.clock >= rules.FIFTY_MOVES:
        return "fifty moves"
    return "move limit"


def result_text(outcome: int) -> str:
    """`1-0`, `1/2-1/2` or `0-1` for an outcome as seat 0 sees it."""
    return {1: "1-0", 0: "1/2-1/2", -1: "0-1"}[outcome]


# -- drawn boards ------------------------------------------------------------------------------


def render(game: Chess, state: Any) -> str:
    """The board as White sees it, with coordinates, the last move, and who is to move."""
    letters = "   " + " ".join(COLUMNS)
    lines = [letters]
    for number, row in enumerate(placement_rows(state)):
        lines.append(f" {8 - number} {' '.join(row)} {8 - number}")
    lines.append(letters)
    number = int(state.ply) // 2 + 1
    last = last_move(state)
    after = "" if last is None else f", after {cell_name(last[0])}{cell_name(last[1])}"
    if game.is_terminal(state):
        result = result_text(game.outcome(state))
        lines.append(f"The game is over{after}: {termination(state)}, {result}")
    else:
        check = ", in check" if rules.is_check(state) else ""
        player = SEAT_NAMES[rules.current_player(state)]
        lines.append(f"Move {number}, {player} to move{check}{after}")
    return "\n".join(lines)


def last_move(state: Any) -> tuple[int, int] | None:
    """Cells, White's view, that the last action left and entered; None at the start."""
    if state.last_action < 0:
        return None
    plane, cell = divmod(int(state.last_action), 64)
    end = target_cell(cell, plane)
    assert end is not None, "an action that was played stays on the board"
    mirror = 56 * (1 - rules.current_player(state))
    return cell ^ mirror, end ^ mirror


def to_svg(state: Any) -> str:
    """The board as an SVG picture: last move and a king in check are marked; White is below."""
    import chess
    import chess.svg

    board = to_board(state)
    last = last_move(state)
    move = None if last is None else chess.Move(last[0] ^ 56, last[1] ^ 56)
    check = board.king(board.turn) if board.is_check() else None
    return str(chess.svg.board(board, lastmove=move, check=check))


# -- games and books ---------------------------------------------------------------------------


PGN_HEADERS = {"event": "Event", "site": "Site", "date": "Date"}
PGN_PLAYERS = ("White", "Black")  # by seat
PGN_COLUMNS = 79  # as far as lines of moves go; comments are not broken


def write_pgn(game: Chess, transcript: Transcript) -> str:
    """A game as PGN.

    A comment ends at the first brace, so braces are written as a backslash and a parenthesis,
    which `read_pgn` turns back.

    Raises:
        IllegalActionError: an action is not legal where it is played.
        InvalidTextError: the start is no position, or the result is none of `RESULTS`, or not that
            of a game that is over.
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
    """Lines of words; a comment counts by its last line."""
    line = ""
    for word in words:
        first = word.partition("\n")[0]
        if line and len(line.rpartition("\n")[2]) + 1 + len(first) > PGN_COLUMNS:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
    yield line


def with_eval(comment: str, *, black: bool) -> str:
    """The comment on a move, behind the evaluation in it as other programs read it.

    `value -0.312 ...` of Black's move becomes `[%eval 1.75] value -0.312 ...`: pawns, as White sees
    it. They are those by which Lichess draws an expected score of (1 + value) / 2, its winning
    chances being 2 / (1 + exp(-0.00368208 centipawns)) - 1 (https://lichess.org/page/accuracy).
    """
    found = VALUE.search(comment)
    if found is None:
        return comment
    value = max(-MOST_CERTAIN, min(MOST_CERTAIN, float(found[1])))
    pawns = 2 * math.atanh(-value if black else value) / 0.368208
    return f"[%eval {pawns + 0.0:.2f}] {comment}"


def without_eval(comment: str, *, black: bool) -> str:
    """What `with_eval` was given; the evaluations of other programs stay."""
    plain = EVAL.sub("", comment, count=1)
    return plain if with_eval(plain, black=black) == comment else comment


def _without_braces(comment: str) -> str:
    """Braces as a backslash and a parenthesis; backslashes that this could be taken for, doubled.

    A comment in PGN has no escapes of its own: it ends at the first closing brace.
    """

    def escaped(match: re.Match[str]) -> str:
        slashes, bracket = match.groups()
        if bracket in "{}":
            return f"{slashes}{slashes}\\{'(' if bracket == '{' else ')'}"
        return f"{slashes}{slashes}{bracket}"

    return re.sub(r"(\\*)([(){}])", escaped, comment)


def _with_braces(comment: str) -> str:
    """What `_without_braces` was given."""

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


def read_pgn(game: Chess, text: str) -> Transcript:
    """The main line of the first game in a PGN text, from whatever position it starts.

    Variations are passed over, and so are comments in them and before the first move.

    Raises:
        InvalidTextError: not PGN, a start that is no position, or a move that is none, is not
            legal, may mean several or comes after the end, with its number.
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
    first, second = (_known(headers.get(name, "")) for name in PGN_PLAYERS)
    found = {name: _known(headers.get(key, "")) for name, key in PGN_HEADERS.items()}
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


def _known(value: str) -> str:
    """A header's value, without those by which PGN says that it is not known."""
    return "" if value in ("?", "????.??.??") else value


def pgn_parts(text: str) -> tuple[list[str], list[str], dict[str, str]]:
    """Moves of the main line, the comments behind each, and headers of the first game in a text.

    The result behind the moves stands in for a header that says none.

    Raises:
        InvalidTextError: not PGN.
    """
    moves: list[str] = []
    comments: list[list[str]] = []
    headers: dict[str, str] = {}
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")  # a mark that some editors put first
    depth = at = 0  # brackets that are open; the place in the text
    found = False  # anything of a game
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
        elif token["header"] or token["plain"]:  # the other kind has quotes without backslashes
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


def book_actions(game: Chess, state: Any, path: str | Path) -> list[tuple[int, int]]:
    """The legal actions that an opening book in Polyglot's format has here, with their weights.

    Returns:
        (action, weight) with the largest weight first; empty where the book has no move to play.

    Raises:
        GameError: the file cannot be read.
    """
    import chess.polyglot

    legal = {action_to_text(state, action): action for action in legal_actions(game, state)}
    try:
        with chess.polyglot.open_reader(path) as reader:
            entries = [
                (entry.move.uci(), entry.weight) for entry in reader.find_all(to_board(state))
            ]
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        raise GameError(f"{game.name}: the book {path} cannot be read: {error}") from error
    found = [(legal[move], weight) for move, weight in entries if move in legal]
    return sorted(found, key=lambda entry: -entry[1])
