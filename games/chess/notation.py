"""Chess as text: moves, positions and drawn boards. PGN is in `pgn.py`.

Moves are written as in the Universal Chess Interface (UCI): `e2e4`, `e7e8q`, castling as the king's
move `e1g1`. They are also read in standard algebraic notation (SAN): `Nf3`, `exd5`, `O-O`.
Positions are FEN. The library python-chess handles SAN and checks whether a FEN is a possible
position; it is imported only then. Rules, action numbers and other texts are azcore's.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from azcore.errors import AmbiguousTextError, IllegalActionError, InvalidTextError
from azcore.game import Game, illegal_action_message

from . import rules

if TYPE_CHECKING:
    import chess

COLUMNS = "abcdefgh"
LETTERS = ("PNBRQK", "pnbrqk")  # by seat, then kind
SEATS = "wb"
SEAT_NAMES = ("White", "Black")
PROMOTIONS = "nbrq"
UCI = re.compile("([a-h])([1-8])([a-h])([1-8])([nbrq]?)", re.ASCII)
SAN = re.compile(
    "(?:[KQRBN]?[a-h]?[1-8]?[x-]?[a-h][1-8](?:=?[NBRQnbrq])?|O-O(?:-O)?|0-0(?:-0)?)[+#]?", re.ASCII
)
# FEN's castling letters and their rights, in FEN's order.
RIGHTS = {"K": 1, "Q": 2, "k": 4, "q": 8}


def cell_name(cell: int) -> str:
    """`e4`; the cell is in White's view."""
    return f"{COLUMNS[cell % 8]}{8 - cell // 8}"


# -- moves --------------------------------------------------------------------------------------


def action_to_text(state: Any, action: int) -> str:
    """`e2e4`, `e7e8q`; an action that would leave the board is written as `a1@52`, its plane last.

    A pawn that reaches the last row on a queen plane becomes a queen, so its text ends in `q`.
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
    """The cell where a plane's move from `cell` ends, in the same view; None: off the board."""
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


def text_to_legal_action(game: Game, state: Any, text: str) -> int:
    """The legal action that `text` names in UCI or else in SAN.

    Raises:
        InvalidTextError: neither UCI nor SAN.
        IllegalActionError: no legal move matches.
        AmbiguousTextError: more than one does.
    """
    word = text.strip()
    if UCI.fullmatch(word):
        return uci_to_action(game, state, word)
    if SAN.fullmatch(word):  # before case is ignored: B4c5 is a bishop's move
        return san_to_action(game, state, word)
    if UCI.fullmatch(word.lower()):
        return uci_to_action(game, state, word.lower())
    raise InvalidTextError(
        f"{game.name}: a move is UCI such as e2e4 and e7e8q or SAN such as Nf3, exd5 and O-O, "
        f"got {text[:20]!r}"
    )


def uci_to_action(game: Game, state: Any, word: str) -> int:
    """The legal action of a well-formed UCI move."""
    turned = 56 * rules.current_player(state)
    from_there = [a for a in legal_actions(game, state) if cell_name(a % 64 ^ turned) == word[:2]]
    texts = {action_to_text(state, action): action for action in from_there}
    if word in texts:
        return texts[word]
    if word + "q" in texts:
        raise AmbiguousTextError(
            f"{game.name}: {word} needs the piece that the pawn becomes, such as {word}q"
        )
    raise IllegalActionError(f"{game.name}: {word} is not legal here")


def san_to_action(game: Game, state: Any, word: str) -> int:
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
    """The letter of the piece and the cell it goes to; empty for castling."""
    parts = re.match("([KQRBN]?).*([a-h][1-8])", san)
    return () if parts is None else parts.groups()


def action_to_san(game: Game, state: Any, action: int) -> str:
    """A legal action in standard algebraic notation, `Nf3`, `exd5`, `O-O`, `Qh5#`.

    Raises:
        IllegalActionError: the action is not legal here.
    """
    if action not in legal_actions(game, state):
        raise IllegalActionError(illegal_action_message(game, state, action))
    board = to_board(state)
    return board.san(board.parse_uci(action_to_text(state, action)))


def legal_actions(game: Game, state: Any) -> list[int]:
    actions: list[int] = game.legal_action_mask(state).nonzero()[0].tolist()
    return actions


# -- positions ----------------------------------------------------------------------------------


def piece_at(state: Any, cell: int) -> tuple[int, int] | None:
    """(seat, kind) of the piece on a cell of White's view."""
    return _piece_on(_boards(state), cell)


def _boards(state: Any) -> list[int]:
    """The current bitboards; reading them from a state takes longer than looking at a cell."""
    boards: list[int] = state.boards[int(state.ply) & 7].tolist()
    return boards


def _piece_on(boards: list[int], cell: int) -> tuple[int, int] | None:
    there = [board >> cell & 1 for board in boards]
    return (there[rules.PIECES_OF + 1], there.index(1)) if any(there) else None


def placement_rows(state: Any) -> list[str]:
    """Eight rows of `PNBRQKpnbrqk.`, the eighth rank first."""
    boards = _boards(state)
    pieces = [_piece_on(boards, cell) for cell in range(64)]
    letters = "".join("." if piece is None else LETTERS[piece[0]][piece[1]] for piece in pieces)
    return [letters[first : first + 8] for first in range(0, 64, 8)]


def state_to_text(state: Any) -> str:
    """FEN; the en passant cell is given only if the capture is legal."""
    placement = "/".join(placement_rows(state))
    placement = re.sub(r"\.+", lambda empty: str(len(empty[0])), placement)
    rights = "".join(letter for letter, bit in RIGHTS.items() if int(state.castling) & bit)
    passed = "-" if state.en_passant < 0 else cell_name(int(state.en_passant))
    player = SEATS[rules.current_player(state)]
    counters = f"{int(state.clock)} {int(state.ply) // 2 + 1}"
    return f"{placement} {player} {rights or '-'} {passed} {counters}"


def state_from_text(state: Any, text: str) -> Any:
    """Set up the position of a FEN in a blank state.

    The counters may be left out, as in EPD; they default to `0 1`. The move number gives
    the ply, which counts towards the ply limit; a position at the limit is over. Like other
    programs, this accepts what GUIs write and drops what is impossible: castling rights without
    king and rook in place, an en passant cell that no pawn has passed, and a move number that
    leaves no ply to play, which becomes 1.

    Args:
        state: a blank state, which is changed and returned.

    Raises:
        InvalidTextError: the message names the fault and its place.
    """
    words = text.split()
    if not 4 <= len(words) <= 6:
        raise InvalidTextError(
            "chess: a FEN is placement, w or b, castling, en passant and two counters, "
            f"got {len(words)} words in {text[:90]!r}"
        )
    placement, player, castling, passed = words[:4]
    clock, number = (*words, "0", "0")[4:6]
    pieces = read_placement(placement)
    if player not in tuple(SEATS):
        raise InvalidTextError(f"chess: the player to move must be w or b, got {player[:20]!r}")
    if castling != "-" and not re.fullmatch("(?:KQ?|QK?)?(?:kq?|qk?)?", castling):
        raise InvalidTextError(f"chess: castling must be - or some of KQkq, got {castling[:20]!r}")
    if passed != "-" and not re.fullmatch("[a-h][36]", passed, re.ASCII):
        raise InvalidTextError(
            f"chess: en passant must be - or a cell such as e3, got {passed[:20]!r}"
        )
    for what, word in (("plies without progress", clock), ("the move number", number)):
        if re.fullmatch("[0-9]{1,5}", word, re.ASCII) is None:
            raise InvalidTextError(f"chess: {what} must be a number, got {word[:20]!r}")
    ply = 2 * max(0, int(number) - 1) + SEATS.index(player)
    if ply > state.max_plies:
        ply = SEATS.index(player)
    board = possible_board(f"{placement} {player} - {passed} 0 1", castling, text)
    rights = (
        RIGHTS["K"] * board.has_kingside_castling_rights(True)
        + RIGHTS["Q"] * board.has_queenside_castling_rights(True)
        + RIGHTS["k"] * board.has_kingside_castling_rights(False)
        + RIGHTS["q"] * board.has_queenside_castling_rights(False)
    )
    passed_cell = -1 if board.ep_square is None else board.ep_square ^ 56  # theirs count from a1
    rules.set_up(state, pieces, rights, passed_cell, min(int(clock), rules.FIFTY_MOVES), ply)
    return state


def read_placement(placement: str) -> list[tuple[int, int, int]]:
    """(seat, kind, cell in White's view) of the pieces of FEN's first word.

    Raises:
        InvalidTextError: the message names the row that is wrong.
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
    """The position as a python-chess board, without impossible castling rights and en passant.

    Args:
        fen: a well-formed FEN without castling rights.
        castling: the rights, `-` or some of KQkq.
        text: what to quote in the error.

    Raises:
        InvalidTextError: no king, the opponent in check, and so on; the message lists all faults.
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
    if not board.castling_rights and castling == "KQkq":
        shuffled = chess.Board(fen.replace(" - ", " KQkq ", 1), chess960=True)
        if shuffled.castling_rights.bit_count() == 4:
            raise InvalidTextError(f"chess: a position of Chess960, got {text[:90]!r}")
    if board.status() & chess.STATUS_INVALID_EP_SQUARE:
        board.ep_square = None
    status = board.status()
    if status:
        wrong = ", ".join(name for bit, name in names.items() if status & bit)
        raise InvalidTextError(f"chess: {wrong or 'an impossible position'} in {text[:90]!r}")
    return board


def to_board(state: Any) -> chess.Board:
    """The position as a python-chess board, without history."""
    import chess

    return chess.Board(state_to_text(state))


# -- how a game ended ---------------------------------------------------------------------------


def termination(state: Any) -> str:
    """How the game ended; if several reasons apply, the first in FIDE's order."""
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
    """`1-0`, `1/2-1/2` or `0-1` for an outcome in the view of seat 0."""
    return {1: "1-0", 0: "1/2-1/2", -1: "0-1"}[outcome]


# -- drawn boards -------------------------------------------------------------------------------


def render(game: Game, state: Any) -> str:
    """The board as White sees it, with coordinates, the last move, and the player to move."""
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
    """The cells that the last action left and entered, White's view; None at the start."""
    if state.last_action < 0:
        return None
    plane, cell = divmod(int(state.last_action), 64)
    end = target_cell(cell, plane)
    assert end is not None, "an action that was played stays on the board"
    mirror = 56 * (1 - rules.current_player(state))
    return cell ^ mirror, end ^ mirror
