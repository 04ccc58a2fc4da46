"""Shogi as text: moves, positions and drawn boards. `kif.py` and `csa.py` have transcripts.

Moves are written as in the Universal Shogi Interface (USI): `7g7f`, `8h2b+` with promotion, `P*5e`
for a drop; files 9 to 1 from Black's left, ranks a to i from the top. Positions are SFEN: the board
row by row from the top, the player to move, both hands, and the number of the next move:

    lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1

Capitals are Black's pieces, small letters White's; `+` precedes a promoted piece. `startpos` is
read as the position above. The text does not include how often positions have occurred.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.errors import InvalidTextError
from azcore.game import Game, require_legal

from . import rules

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
LETTERS = "PLNSGBRK"  # by type; a promoted type has its unpromoted letter
NAMES = ("pawn", "lance", "knight", "silver", "gold", "bishop", "rook", "king")
SEATS = ("Black", "White")
PLAYERS = "bw"  # by seat
HAND_ORDER = "RBGSNLP"  # as SFEN writes hands
DIRECTIONS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


# -- moves -------------------------------------------------------------------------------------


def square_to_text(square: int) -> str:
    """`7g`; square 0 is 9a."""
    return f"{9 - square % 9}{'abcdefghi'[square // 9]}"


def action_to_text(player: int, action: int) -> str:
    """An action of seat `player` in USI.

    Actions that leave the board, which are legal in no position, have a text that is not USI, such
    as `9aNE3+`: three cells to the north-east, with promotion.
    """
    plane, cell = divmod(action, rules.NUM_CELLS)
    square = square_to_text(rules.square_of(cell, player))
    if plane >= rules.DROP_PLANE:
        return f"{LETTERS[plane - rules.DROP_PLANE]}*{square}"
    kind = plane % rules.NUM_MOVE_PLANES
    promotion = "+" if plane >= rules.NUM_MOVE_PLANES else ""
    if kind >= rules.KNIGHT_PLANE:
        rows, columns = -2, 2 * (kind - rules.KNIGHT_PLANE) - 1
        way = f"N{'W' if columns < 0 else 'E'}jump"
    else:
        direction, distance = kind >> 3, (kind & 7) + 1
        step = int(rules.STEP[direction])
        rows = (step + 10) // 9 - 1
        columns = step - 9 * rows
        rows, columns = rows * distance, columns * distance
        way = f"{DIRECTIONS[direction]}{distance}"
    row, column = cell // 9 + rows, cell % 9 + columns
    if not (0 <= row < 9 and 0 <= column < 9):
        return f"{square}{way}{promotion}"
    return f"{square}{square_to_text(rules.square_of(9 * row + column, player))}{promotion}"


def text_to_action(player: int, text: str) -> int:
    """The action of seat `player` that USI `text` names, legal or not.

    Raises:
        InvalidTextError: not a move in USI, or one that no piece can make.
    """
    word = text.strip()
    match = re.fullmatch(r"([PLNSGBR])\*([1-9])([a-i])", word, re.ASCII)
    if match is not None:
        plane = rules.DROP_PLANE + LETTERS.index(match[1])
        return plane * rules.NUM_CELLS + _cell(player, match[2], match[3])
    match = re.fullmatch(r"([1-9])([a-i])([1-9])([a-i])(\+?)", word, re.ASCII)
    if match is None:
        raise InvalidTextError(
            f"shogi: a move is written like 7g7f, 8h2b+ or P*5e, got {text[:20]!r}"
        )
    source = _cell(player, match[1], match[2])
    target = _cell(player, match[3], match[4])
    rows, columns = target // 9 - source // 9, target % 9 - source % 9
    distance = max(abs(rows), abs(columns))
    if rows == -2 and abs(columns) == 1:
        plane = rules.KNIGHT_PLANE + (columns > 0)
    elif distance > 0 and (rows == 0 or columns == 0 or abs(rows) == abs(columns)):
        step = 9 * (rows // distance) + columns // distance
        plane = 8 * rules.STEP.tolist().index(step) + distance - 1
    else:
        raise InvalidTextError(f"shogi: no piece moves like {word!r}")
    if match[5]:
        plane += rules.NUM_MOVE_PLANES
    return plane * rules.NUM_CELLS + source


def _cell(player: int, file: str, rank: str) -> int:
    return rules.square_of(9 * "abcdefghi".index(rank) + 9 - int(file), player)


def text_to_legal_action(game: Game, state: Any, text: str) -> int:
    """The legal action that `text` names.

    Raises:
        InvalidTextError: not a move in USI, or one that no piece can make.
        IllegalActionError: not legal in this state.
    """
    action = text_to_action(int(state.player), text)
    return require_legal(game, state, action)


# -- positions ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Position:
    """The contents of an SFEN."""

    board: npt.NDArray[np.int8]  # [81], row by row from 9a: 0, 1 + type Black, 15 + type White
    hands: npt.NDArray[np.int8]  # [2, 7], count by seat and type
    player: int  # seat to move
    ply: int  # number of plies played before

    def to_sfen(self) -> str:
        rows = "/".join(sfen_row(row) for row in self.board.reshape(9, 9))
        hands = ""
        for seat in (rules.BLACK, rules.WHITE):
            for letter in HAND_ORDER:
                count = int(self.hands[seat, LETTERS.index(letter)])
                if count > 0:
                    number = str(count) if count > 1 else ""
                    hands += number + (letter if seat == rules.BLACK else letter.lower())
        return f"{rows} {PLAYERS[self.player]} {hands or '-'} {self.ply + 1}"


def position_of(state: Any) -> Position:
    slot = state.latest & 7
    return Position(
        board=state.boards[slot],
        hands=state.hands[slot],
        player=int(state.player),
        ply=int(state.ply),
    )


def piece_to_text(code: int) -> str:
    """`P`, `+r`: a piece as SFEN writes it, from its code on the board."""
    seat, piece = divmod(code - 1, rules.NUM_TYPES)
    letter = LETTERS[rules.HAND_TYPE[piece]]
    promotion = "+" if piece > rules.KING else ""
    return promotion + (letter if seat == rules.BLACK else letter.lower())


def sfen_row(row: npt.NDArray[np.int8]) -> str:
    text, empty = "", 0
    for code in row.tolist():
        if code == 0:
            empty += 1
            continue
        text += (str(empty) if empty else "") + piece_to_text(code)
        empty = 0
    return text + (str(empty) if empty else "")


def read_sfen(text: str, max_plies: int) -> Position:
    """The position that an SFEN describes.

    Pieces may be missing, as in handicap games and mate problems, where the attacker has no king.

    Args:
        text: SFEN, perhaps without its move number, which is then 1; or `startpos`.
        max_plies: the move number may exceed it by one: then the game is over by its length.

    Raises:
        InvalidTextError: the message names the fault and its place.
    """
    words = text.split()
    if words == ["startpos"]:
        words = START.split()
    if len(words) == 3:
        words.append("1")
    if len(words) != 4:
        raise InvalidTextError(
            "shogi: a position is board, b or w, hands and move number (or startpos), "
            f"got {len(words)} words: {text[:40]!r}"
        )
    board = _read_board(words[0])
    if words[1] not in ("b", "w"):
        raise InvalidTextError(
            f"shogi: after the board comes b or w for the player to move, got {words[1][:20]!r}"
        )
    player = PLAYERS.index(words[1])
    hands = _read_hands(words[2])
    number = words[3]
    if not re.fullmatch("[1-9][0-9]{0,5}", number, re.ASCII) or int(number) > max_plies + 1:
        raise InvalidTextError(
            f"shogi: the move number must be 1 to {max_plies + 1}, as games have at most "
            f"{max_plies} plies, got {number[:20]!r}"
        )
    position = Position(board=board, hands=hands, player=player, ply=int(number) - 1)
    _check_pieces(position)
    return position


def _read_board(word: str) -> npt.NDArray[np.int8]:
    rows = word.split("/")
    if len(rows) != 9:
        raise InvalidTextError(
            f"shogi: a board is 9 rows with slashes between them, got {len(rows)}: {word[:40]!r}"
        )
    board = np.zeros((9, 9), np.int8)
    for number, row in enumerate(rows, 1):
        where = f"row {number} from the top, {row[:20]!r}"
        column = 0
        for part in re.findall(r"\+?.", row, re.DOTALL):
            letter = part[-1]
            if part in tuple("123456789"):
                column += int(part)
                continue
            piece = LETTERS.find(letter.upper()) if letter.isascii() else -1
            promoted = int(rules.PROMOTED[piece]) if part[0] == "+" else piece
            if piece < 0 or letter == "+" or (part[0] == "+" and promoted == piece):
                raise InvalidTextError(
                    f"shogi: {where}: {part!r} is neither a piece (PLNSGBRK, + before a promoted "
                    "PLNSBR, small for White) nor a number of empty squares"
                )
            if column < 9:
                seat = rules.BLACK if letter.isupper() else rules.WHITE
                board[number - 1, column] = 1 + promoted + rules.NUM_TYPES * seat
            column += 1
        if column != 9:
            raise InvalidTextError(f"shogi: {where}, must have 9 squares, has {column}")
    return board.reshape(81)


def _read_hands(word: str) -> npt.NDArray[np.int8]:
    hands = np.zeros((2, rules.NUM_HAND_TYPES), np.int8)
    if word == "-":
        return hands
    if not re.fullmatch("((?:[2-9]|1[0-8])?[RBGSNLPrbgsnlp])+", word, re.ASCII):
        raise InvalidTextError(
            "shogi: hands are - or letters of RBGSNLP (small for White), each once with its "
            f"count of 2 to 18 before it, got {word[:40]!r}"
        )
    for count, letter in re.findall("([0-9]*)([A-Za-z])", word):
        seat = rules.BLACK if letter.isupper() else rules.WHITE
        piece = LETTERS.index(letter.upper())
        if hands[seat, piece]:
            raise InvalidTextError(f"shogi: {letter} occurs twice in the hands {word[:40]!r}")
        hands[seat, piece] = int(count or 1)
    return hands


def _check_pieces(position: Position) -> None:
    """Refuse positions that cannot occur in a game.

    Raises:
        InvalidTextError: the message names the fault and its place.
    """
    seats, pieces = np.divmod(position.board.astype(np.int64) - 1, rules.NUM_TYPES)
    if not np.any((seats >= 0) & (pieces == rules.KING)):
        raise InvalidTextError("shogi: at least one side must have a king, got none")
    for seat in (rules.BLACK, rules.WHITE):
        kings = np.count_nonzero((seats == seat) & (pieces == rules.KING))
        if kings > 1:
            raise InvalidTextError(f"shogi: {SEATS[seat]} must have one king, has {kings}")
        last_rank = 0 if seat == rules.BLACK else 8
        for square in np.flatnonzero(seats == seat).tolist():
            piece = int(pieces[square])
            if piece > rules.KNIGHT:
                continue
            if abs(square // 9 - last_rank) < rules.DEAD_ROWS[piece]:
                raise InvalidTextError(
                    f"shogi: {SEATS[seat]}'s {NAMES[piece]} on {square_to_text(square)} "
                    "could never move"
                )
        files = np.flatnonzero((seats == seat) & (pieces == rules.PAWN)) % 9
        for column, pawns in enumerate(np.bincount(files, minlength=9).tolist()):
            if pawns > 1:
                raise InvalidTextError(
                    f"shogi: {SEATS[seat]} has {pawns} pawns on file {9 - column}, "
                    "must have at most one"
                )
    for piece, supply in enumerate(rules.SUPPLY):
        on_board = (seats >= 0) & (rules.HAND_TYPE[pieces] == piece)
        total = int(np.count_nonzero(on_board)) + int(position.hands[:, piece].sum())
        if total > supply:
            raise InvalidTextError(
                f"shogi: there are {supply} {NAMES[piece]}s in a set, got {total} on board and in "
                "hands"
            )
    state = np.zeros(1, np.dtype((np.record, np.dtype(rules.state_fields(1), align=True))))[0]
    rules.set_up(state, position.board, position.hands, position.player, 0, 1, False)
    if rules.is_attacked(state, 1 - position.player):
        other = SEATS[1 - position.player]
        raise InvalidTextError(
            f"shogi: {SEATS[position.player]} is to move and could take {other}'s king"
        )


# -- ends and drawn boards ---------------------------------------------------------------------


def termination(state: Any) -> str:
    """How the game ended, in a few words."""
    if state.ended == rules.REPETITION:
        return "fourfold repetition"
    if state.ended in (rules.BLACK_CHECKED, rules.WHITE_CHECKED):
        return "perpetual check"
    if state.ended == rules.ENTERED:
        return "entering king"
    if state.ply >= state.max_plies and rules.has_action(state):
        return "move limit"
    return "checkmate" if state.in_check else "no legal move"


def hand_to_text(hand: npt.NDArray[np.int8]) -> str:
    """`R B2 P10`, or `nothing`: a seat's prisoners."""
    parts = []
    for letter in HAND_ORDER:
        count = int(hand[LETTERS.index(letter)])
        if count > 0:
            parts.append(letter + (str(count) if count > 1 else ""))
    return " ".join(parts) or "nothing"


def render(game: Game, state: Any) -> str:
    """The board with coordinates, White's in small letters; hands, last move, and turn or end."""
    position = position_of(state)
    lines = ["    9  8  7  6  5  4  3  2  1"]
    for row, codes in enumerate(position.board.reshape(9, 9).tolist()):
        cells = "".join(f"{piece_to_text(code) if code else '.':>3}" for code in codes)
        lines.append(f"  {cells}  {'abcdefghi'[row]}")
    for seat in (rules.WHITE, rules.BLACK):
        case = "small letters" if seat == rules.WHITE else "capitals"
        lines.append(f"{SEATS[seat]} ({case}) holds {hand_to_text(position.hands[seat])}")
    if state.last_action >= 0:
        mover = 1 - position.player
        move = action_to_text(mover, int(state.last_action))
        lines.append(f"Move {position.ply}, {SEATS[mover]}: {move}")
    if game.is_terminal(state):
        winner = {1: "Black wins", 0: "draw", -1: "White wins"}[game.outcome(state)]
        lines.append(f"The game is over: {winner} ({termination(state)})")
    else:
        check = ", in check" if state.in_check else ""
        lines.append(f"{SEATS[position.player]} to move{check}")
    return "\n".join(lines)
