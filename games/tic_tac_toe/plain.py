"""Tic-tac-toe over ordinary Python objects: the smallest game without compiled code.

The state may be any object, here a string, and the rules may come from any library. azcore treats
it like a compiled game; it is only slower. Numbers, planes and texts are those of `compiled.py`:

    3  0 1 2
    2  3 4 5
    1  6 7 8
       a b c
"""

import re

import numpy as np

from azcore.errors import InvalidTextError
from azcore.game import Board, BoolArray, Facts, FloatArray, Game, Symmetry, require_legal

from .board import board_of

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def has_line(state: str, stone: str) -> bool:
    return any(all(state[cell] == stone for cell in line) for line in LINES)


class TicTacToePlain(Game):
    """Tic-tac-toe; it has no settings.

    The state is a string of nine cells, `.` empty, `X` seat 0, `O` seat 1. The player to move
    follows from the number of stones.
    """

    def __init__(self) -> None:
        grid = np.arange(9, dtype=np.int32).reshape(3, 3)
        turned = [np.rot90(grid, quarters) for quarters in range(4)]
        mapped = turned[1:] + [np.fliplr(board) for board in turned]  # without the identity
        super().__init__(
            Facts(
                name="tic_tac_toe_plain",
                summary="Take turns to mark a cell; three marks in a row, column or diagonal win.",
                version=1,
                settings={},
                num_actions=9,
                observation_shape=(2, 3, 3),
                plane_names=("own marks", "opponent's marks"),
                max_game_length=9,
                dirichlet_alpha=1.0,  # about 10 / legal actions, like AlphaZero's three
                symmetries=tuple(Symmetry(cells=m.ravel(), actions=m.ravel()) for m in mapped),
                seat_names=("X", "O"),
            ),
        )

    def initial_state(self) -> str:
        return "." * 9

    def current_player(self, state: str) -> int:
        return (9 - state.count(".")) % 2

    def legal_action_mask(self, state: str) -> BoolArray:
        over = self.is_terminal(state)
        return np.array([cell == "." and not over for cell in state])

    def step(self, state: str, action: int) -> str:
        require_legal(self, state, action)
        return state[:action] + "XO"[self.current_player(state)] + state[action + 1 :]

    def is_terminal(self, state: str) -> bool:
        return "." not in state or has_line(state, "X") or has_line(state, "O")

    def outcome(self, state: str) -> int:
        return has_line(state, "X") - has_line(state, "O")

    def observation(self, state: str) -> FloatArray:
        # The stones of the player to move come first, so one network plays both seats. No plane
        # names the seat, since it follows from the number of stones.
        own, other = "XO" if self.current_player(state) == 0 else "OX"
        planes = [[cell == stone for cell in state] for stone in (own, other)]
        return np.array(planes, np.float32).reshape(2, 3, 3)

    def position_key(self, state: str) -> int:
        # Optional. The cells as base-3 digits identify the position.
        return int(state.translate(str.maketrans(".XO", "012")), 3)

    def action_to_text(self, state: str, action: int) -> str:
        return "abc"[action % 3] + "321"[action // 3]

    def text_to_action(self, state: str, text: str) -> int:
        if not re.fullmatch("[abc][123]", text):
            raise InvalidTextError(f"an action is a column a to c and a row 1 to 3, got {text!r}")
        action = "321".index(text[1]) * 3 + "abc".index(text[0])
        return require_legal(self, state, action)

    def state_to_text(self, state: str) -> str:
        return f"{state[:3]}/{state[3:6]}/{state[6:]} {'xo'[self.current_player(state)]}"

    def state_from_text(self, text: str) -> str:
        if not re.fullmatch("[.XO]{3}/[.XO]{3}/[.XO]{3} [xo]", text):
            raise InvalidTextError(f"a position looks like X.O/.X./... o, got {text[:40]!r}")
        player = "xo".index(text[-1])
        if text.count("X") != text.count("O") + player:
            raise InvalidTextError(f"X and O alternate and X begins, which does not fit {text!r}")
        state = text[:11].replace("/", "")
        if has_line(state, "XO"[player]):
            raise InvalidTextError(f"the seat to move already has three in a row in {text!r}")
        return state

    def render(self, state: str) -> str:
        rows = self.state_to_text(state)[:11].split("/")
        return "\n".join(f"{3 - i} {' '.join(row)}" for i, row in enumerate(rows)) + "\n  a b c"

    def board(self, state: str) -> Board:
        # Optional. With it, azcore draws the game and takes clicks.
        return board_of(state, self.current_player(state))
