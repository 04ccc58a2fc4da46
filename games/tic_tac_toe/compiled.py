"""Tic-tac-toe with compiled rules: the smallest complete game, meant to be copied.

The state is a NumPy record, the rules are functions of it, and `TicTacToe` adds the facts and the
texts. `azcore/game/contract.py` specifies what each must do; `plain.py` is the same game without
compiled code. Cells and actions have the same numbers, row by row from the top left:

    3  0 1 2
    2  3 4 5
    1  6 7 8
       a b c
"""

import re
from typing import Any

import numpy as np
from numba.extending import register_jitable

from azcore.errors import InvalidTextError
from azcore.game import Board, CompiledGame, Facts, Rules, Symmetry, require_legal

from .board import board_of

# Every position in play is one such state; azcore stores many of them in one array.
STATE = [
    ("board", np.int8, (9,)),  # 0 empty, 1 a stone of seat 0 (X), 2 a stone of seat 1 (O)
    ("player", np.int8),  # seat to move
]

LINES = np.array(
    [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]]
)


@register_jitable  # compiled along with the rules that call it
def has_line(board: Any, stone: int) -> bool:
    for line in LINES:
        if board[line[0]] == stone and board[line[1]] == stone and board[line[2]] == stone:
            return True
    return False


def current_player(state: Any) -> int:
    return int(state.player)


def legal_actions(state: Any, actions: Any) -> int:
    count = 0
    for cell in range(9):
        if state.board[cell] == 0:
            actions[count] = cell
            count += 1
    return count


def step(state: Any, action: int) -> None:
    state.board[action] = state.player + 1
    state.player = 1 - state.player


def is_terminal(state: Any) -> bool:
    # Only the seat that has just moved can have completed a line.
    return has_line(state.board, 2 - state.player) or bool(np.all(state.board != 0))


def outcome(state: Any) -> int:
    if has_line(state.board, 2 - state.player):
        return 1 if state.player == 1 else -1  # with seat 1 to move, seat 0 has won
    return 0


def observe(state: Any, planes: Any) -> None:
    # The stones of the player to move come first, so one network plays both seats. No plane names
    # the seat, since it follows from the number of stones.
    for cell in range(9):
        if state.board[cell] != 0:
            plane = 0 if state.board[cell] == state.player + 1 else 1
            planes[plane, cell // 3, cell % 3] = 1


def position_key(state: Any) -> int:
    # Optional. The cells as base-3 digits identify the position; the seat follows from them.
    key = 0
    for cell in range(9):
        key = 3 * key + int(state.board[cell])
    return key


class TicTacToe(CompiledGame):
    """Tic-tac-toe; it has no settings."""

    def __init__(self) -> None:
        grid = np.arange(9, dtype=np.int32).reshape(3, 3)
        turned = [np.rot90(grid, quarters) for quarters in range(4)]
        mapped = turned[1:] + [np.fliplr(board) for board in turned]  # without the identity
        super().__init__(
            Facts(
                name="tic_tac_toe",
                summary="Take turns to mark a cell; three marks in a row, column or diagonal win.",
                version=1,
                settings={},
                num_actions=9,
                observation_shape=(2, 3, 3),
                plane_names=("own marks", "opponent's marks"),
                max_game_length=9,
                dirichlet_alpha=1.0,  # about 10 / legal actions, like AlphaZero's three
                proof_plies=2,
                symmetries=tuple(Symmetry(cells=m.ravel(), actions=m.ravel()) for m in mapped),
                seat_names=("X", "O"),
            ),
            state_dtype=STATE,
            rules=Rules(
                current_player=current_player,
                legal_actions=legal_actions,
                step=step,
                is_terminal=is_terminal,
                outcome=outcome,
                observe=observe,
                position_key=position_key,
            ),
        )

    def initial_state(self) -> Any:
        return self.blank_state()  # zeros: an empty board, seat 0 to move

    def action_to_text(self, state: Any, action: int) -> str:
        return "abc"[action % 3] + "321"[action // 3]

    def text_to_action(self, state: Any, text: str) -> int:
        if not re.fullmatch("[abc][123]", text):
            raise InvalidTextError(f"an action is a column a to c and a row 1 to 3, got {text!r}")
        action = "321".index(text[1]) * 3 + "abc".index(text[0])
        return require_legal(self, state, action)

    def state_to_text(self, state: Any) -> str:
        cells = "".join(".XO"[stone] for stone in state.board)
        return f"{cells[:3]}/{cells[3:6]}/{cells[6:]} {'xo'[state.player]}"

    def state_from_text(self, text: str) -> Any:
        if not re.fullmatch("[.XO]{3}/[.XO]{3}/[.XO]{3} [xo]", text):
            raise InvalidTextError(f"a position looks like X.O/.X./... o, got {text[:40]!r}")
        state = self.blank_state()
        state.board[:] = [".XO".index(cell) for cell in text[:11].replace("/", "")]
        state.player = "xo".index(text[-1])
        if text.count("X") != text.count("O") + state.player:
            raise InvalidTextError(f"X and O alternate and X begins, which does not fit {text!r}")
        if has_line(state.board, state.player + 1):
            raise InvalidTextError(f"the seat to move already has three in a row in {text!r}")
        return state

    def render(self, state: Any) -> str:
        rows = self.state_to_text(state)[:11].split("/")
        return "\n".join(f"{3 - i} {' '.join(row)}" for i, row in enumerate(rows)) + "\n  a b c"

    def board(self, state: Any) -> Board:
        # Optional. With it, azcore draws the game and takes clicks.
        return board_of("".join(".XO"[stone] for stone in state.board), int(state.player))
