"""Minishogi as text: moves as in USI, positions as in SFEN, and drawn boards.

Files count 5 to 1 from Black's left, ranks a to e from the top: `5e5d`, `5b5a+` with promotion,
`P*3c` for a drop. A position is the board row by row from the top, the player to move, both hands,
and the number of the next move; capitals are Black's pieces and `+` precedes a promoted one:

    rbsgk/4p/5/P4/KGSBR b - 1
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.errors import InvalidTextError

from . import rules
from .rules import NUM_CELLS, SIZE

START = "rbsgk/4p/5/P4/KGSBR b - 1"
LETTERS = "PSGBRK"  # by type; a promoted type has its unpromoted letter
HAND_ORDER = "RBGSP"  # as SFEN writes hands
DIRECTIONS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
Board = npt.NDArray[np.int8]  # [25]


def square_to_text(cell: int, player: int) -> str:
    """The square of a cell as seat `player` sees it: cell 0 is 5a for Black and 1e for White."""
    square = cell if player == rules.BLACK else NUM_CELLS - 1 - cell
    return f"{SIZE - square % SIZE}{'abcde'[square // SIZE]}"


def text_to_cell(text: str, player: int) -> int:
    square = SIZE * "abcde".index(text[1]) + SIZE - int(text[0])
    return square if player == rules.BLACK else NUM_CELLS - 1 - square


def action_to_text(player: int, action: int) -> str:
    """An action in USI; one that leaves the board, legal nowhere, has a text such as `5aNE3+`."""
    plane, cell = divmod(action, NUM_CELLS)
    square = square_to_text(cell, player)
    if plane >= rules.DROP_PLANE:
        return f"{LETTERS[plane - rules.DROP_PLANE]}*{square}"
    target = rules.target_of(plane, cell)
    direction, steps = divmod(plane % rules.NUM_MOVE_PLANES, rules.MOST_STEPS)
    to = f"{DIRECTIONS[direction]}{steps + 1}" if target < 0 else square_to_text(target, player)
    return f"{square}{to}{'+' if plane >= rules.NUM_MOVE_PLANES else ''}"


def text_to_action(player: int, text: str) -> int:
    """The action that USI `text` names, legal or not.

    Raises:
        InvalidTextError: not a move in USI, or one that no piece can make.
    """
    word = text.strip()
    if match := re.fullmatch(r"([PSGBR])\*([1-5][a-e])", word, re.ASCII):
        plane = rules.DROP_PLANE + LETTERS.index(match[1])
        return plane * NUM_CELLS + text_to_cell(match[2], player)
    if match := re.fullmatch(r"([1-5][a-e])([1-5][a-e])(\+?)", word, re.ASCII):
        cell, target = text_to_cell(match[1], player), text_to_cell(match[2], player)
        first = rules.NUM_MOVE_PLANES if match[3] else 0
        for plane in range(first, first + rules.NUM_MOVE_PLANES):
            if rules.target_of(plane, cell) == target:
                return plane * NUM_CELLS + cell
        raise InvalidTextError(f"no piece moves like {word!r}")
    raise InvalidTextError(f"a move is written like 5e5d, 5b5a+ or P*3c, got {text[:20]!r}")


# -- positions ---------------------------------------------------------------------------------


def board_of_black(state: Any) -> Board:
    """The board as Black sees it, 1 + type for Black's pieces and 11 + type for White's."""
    board: Board = np.array(state.board)
    if state.player == rules.WHITE:
        rules.turn(board)
    return board


def piece_to_text(code: int) -> str:
    """`P`, `+r`: a piece as SFEN writes it, from its code as Black sees it."""
    seat, piece = divmod(code - 1, rules.NUM_TYPES)
    letter = ("+" if piece > rules.KING else "") + LETTERS[rules.HAND_TYPE[piece]]
    return letter.lower() if seat else letter


def state_to_text(state: Any) -> str:
    codes = board_of_black(state).reshape(SIZE, SIZE).tolist()
    rows = ["".join(piece_to_text(code) if code else "1" for code in row) for row in codes]
    board = re.sub("1+", lambda ones: str(len(ones[0])), "/".join(rows))
    hands = "".join(hand_to_text(state, seat) for seat in range(2))
    return f"{board} {'bw'[state.player]} {hands or '-'} {state.ply + 1}"


def hand_to_text(state: Any, seat: int) -> str:
    """`R2P`, `r2p`: a seat's prisoners."""
    counts = {letter: state.hands[seat, LETTERS.index(letter)] for letter in HAND_ORDER}
    text = "".join(f"{n if n > 1 else ''}{letter}" for letter, n in counts.items() if n)
    return text.lower() if seat else text


def state_from_text(state: Any, text: str) -> Any:
    """Fill `state`, all zeros, with the position that SFEN or `startpos` describes.

    Raises:
        InvalidTextError: the message names what is wrong.
    """
    words = (START if text.strip() == "startpos" else text).split()
    if len(words) != 4 or words[1] not in ("b", "w"):
        raise InvalidTextError(f"a position is written like {START!r}, got {text[:60]!r}")
    board, hands, player = read_board(words[0]), read_hands(words[2]), "bw".index(words[1])
    number = words[3]
    if not re.fullmatch("[1-9][0-9]{0,2}", number, re.ASCII) or int(number) > rules.MOST_PLIES + 1:
        raise InvalidTextError(
            f"the move number must be 1 to {rules.MOST_PLIES + 1}, got {number[:20]!r}"
        )
    check_pieces(board, hands)
    if player == rules.WHITE:
        rules.turn(board)
    rules.set_up(state, board, hands, player, int(number) - 1)
    theirs = board.copy()
    rules.turn(theirs)
    if rules.is_attacked(theirs, rules.king_of(theirs)):
        raise InvalidTextError(f"the player to move could take the king in {text[:60]!r}")
    return state


def read_board(word: str) -> Board:
    rows = word.split("/")
    codes: list[int] = []
    for row in rows:
        if not re.fullmatch(r"(\+[PSBRpsbr]|[PSGBRKpsgbrk]|[1-5])+", row, re.ASCII):
            raise InvalidTextError(f"a row has pieces and numbers of empty cells, got {row[:20]!r}")
        before = len(codes)
        for part in re.findall(r"\+?.", row):
            if part.isdigit():
                codes += [0] * int(part)
                continue
            piece = LETTERS.index(part[-1].upper())
            if part[0] == "+":
                piece = int(rules.PROMOTED[piece])
            codes.append(1 + piece + (0 if part[-1].isupper() else rules.NUM_TYPES))
        if len(codes) != before + SIZE:
            raise InvalidTextError(f"a row must have 5 cells, got {row[:20]!r}")
    if len(rows) != SIZE:
        raise InvalidTextError(f"a board has 5 rows with slashes between, got {word[:40]!r}")
    return np.array(codes, np.int8)


def read_hands(word: str) -> npt.NDArray[np.int8]:
    hands = np.zeros((2, rules.NUM_HAND_TYPES), np.int8)
    if word != "-" and not re.fullmatch("(2?[RBGSPrbgsp])+", word, re.ASCII):
        raise InvalidTextError(f"hands are - or letters such as R2p, got {word[:20]!r}")
    for two, letter in re.findall("(2?)([A-Za-z])", word):
        seat, piece = int(letter.islower()), LETTERS.index(letter.upper())
        if hands[seat, piece]:
            raise InvalidTextError(f"{letter} is twice in the hands {word[:20]!r}")
        hands[seat, piece] = 2 if two else 1
    return hands


def check_pieces(board: Board, hands: npt.NDArray[np.int8]) -> None:
    """Refuse a board, in Black's view, and hands that no game reaches.

    Raises:
        InvalidTextError: the message names what is wrong.
    """
    for seat, name, last in ((0, "Black", board[:SIZE]), (1, "White", board[-SIZE:])):
        first = 1 + rules.NUM_TYPES * seat
        if (kings := np.count_nonzero(board == first + rules.KING)) != 1:
            raise InvalidTextError(f"{name} must have one king, has {kings}")
        pawns = (board == first + rules.PAWN).reshape(SIZE, SIZE)
        if pawns.sum(axis=0).max() > 1:
            raise InvalidTextError(f"{name} has two pawns on a file")
        if (last == first + rules.PAWN).any():
            raise InvalidTextError(f"{name} has a pawn that could never move")
    on_board = rules.HAND_TYPE[(board[board > 0] - 1) % rules.NUM_TYPES]
    for piece in range(rules.NUM_HAND_TYPES):
        total = np.count_nonzero(on_board == piece) + int(hands[:, piece].sum())
        if total > rules.SUPPLY:
            raise InvalidTextError(
                f"there are {rules.SUPPLY} of {LETTERS[piece]} in a set, got {total}"
            )


# -- ends and drawn boards ---------------------------------------------------------------------


def termination(state: Any) -> str:
    """How the game ended, in a few words."""
    if state.ended != rules.NOT_ENDED:
        perpetual = state.ended == rules.PERPETUAL_CHECK
        return "perpetual check" if perpetual else "fourfold repetition"
    if state.ply >= rules.MOST_PLIES and rules.has_action(state):
        return "move limit"
    return "checkmate" if state.in_check else "no legal move"


def render(state: Any) -> str:
    """The board as Black sees it, two characters per cell, with both hands next to it."""
    rows = board_of_black(state).reshape(SIZE, SIZE).tolist()
    lines = [
        "".join(f"{piece_to_text(code) if code else '.':>3}" for code in row) + f"  {'abcde'[y]}"
        for y, row in enumerate(rows)
    ]
    hands = [hand_to_text(state, seat) or "nothing" for seat in range(2)]
    return "\n".join(
        [
            f"White has {hands[1]} in hand",
            "  5  4  3  2  1",
            *lines,
            f"Black has {hands[0]} in hand",
        ]
    )
