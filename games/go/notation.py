"""Go as text: moves, positions and drawn boards. SGF is in `sgf.py`.

Moves are written as in the Go Text Protocol: columns A to T without I, rows from 1 at the bottom,
or `pass`. A position is one line: the rows from the top, the player to move and, if needed, what
the board alone does not show:

    ..O/.XO/XX. b                  the board, Black to move
    .../.X./... w passes=1         Black has just passed (2: the game is over)
    .XO./XO.O/.XO./.... b ko=C3    playing at C3 would repeat an earlier board
    .../.../... b komi=5.5         komi, in a game with several, if it is not the usual one

A smaller board, in a game of several sizes, has fewer rows.

Letters: N board size of the game, n that of the board in play.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from azcore.errors import InvalidTextError
from azcore.game import Game, require_legal

from . import rules

Go: TypeAlias = Any  # the class in game.py, which imports this file

COLUMNS = "ABCDEFGHJKLMNOPQRST"  # no I, which is easily mistaken for J or 1
STONES = ".XO"  # by colour: empty, Black, White
PLAYERS = "bw"  # by seat


# -- moves --------------------------------------------------------------------------------------


def action_to_text(size: int, action: int) -> str:
    """`D4` or `pass`."""
    if action == size * size:
        return "pass"
    return f"{COLUMNS[action % size]}{size - action // size}"


def text_to_action(size: int, text: str) -> int:
    """The action that `text` names on a board of this size, legal or not; case is ignored.

    Raises:
        InvalidTextError: neither a point of the board nor a pass.
    """
    word = text.strip().upper()
    if word == "PASS":
        return size * size
    match = re.fullmatch(f"([{COLUMNS[:size]}])([1-9][0-9]?)", word, re.ASCII)
    if match is None or int(match[2]) > size:
        raise InvalidTextError(
            f"go: a move is pass or a point A1 to {COLUMNS[size - 1]}{size} (no column I), "
            f"got {text[:20]!r}"
        )
    return (size - int(match[2])) * size + COLUMNS.index(match[1])


def text_to_legal_action(game: Game, state: Any, text: str) -> int:
    """The legal action that `text` names.

    Raises:
        InvalidTextError: neither a point of the board nor a pass.
        IllegalActionError: not legal in this state.
    """
    action = text_to_action(state.history.shape[0], text)
    return require_legal(game, state, action)


# -- positions ----------------------------------------------------------------------------------


def state_to_text(state: Any, usual_komi: float) -> str:
    """The position as one line, as described at the top of this file."""
    size = state.history.shape[0]
    words = ["/".join(board_rows(state)), PLAYERS[state.player]]
    if state.komi != usual_komi:
        words.append(komi_word(state.komi))
    if rules.is_terminal(state):
        words.append("passes=2")  # also if the ply limit ended the game
    elif state.passes:
        words.append(f"passes={state.passes}")
    if repeating := repeating_actions(state):
        words.append("ko=" + ",".join(action_to_text(size, action) for action in repeating))
    return " ".join(words)


def komi_word(komi: float) -> str:
    """How a position names its komi."""
    return f"komi={komi:g}"


def state_from_text(game: Go, text: str) -> Any:
    """The position that `text` describes.

    Rows may be separated by slashes or line breaks. Earlier boards, the number of plies and
    prisoners are not in the text, so the history is empty.

    Raises:
        InvalidTextError: the message names the fault and its place.
    """
    size = game.board_size
    position = split_state_text(game, text)
    rows, repeating = position.rows, position.repeating
    state = game.empty_board(len(rows), position.komi)
    for row, stones in enumerate(rows, size - len(rows)):
        for column, stone in enumerate(stones):
            if stone != ".":
                point = rules.point_of(row * size + column, size)
                rules.place_stone(state, point, STONES.index(stone))
    if board_rows(state) != rows:
        raise InvalidTextError("go: a position has a chain without liberties: " + " ".join(rows))
    state.player = position.player
    state.passes = position.passes
    # This board replaces the empty one as the first of the game.
    state.num_positions = 0
    state.filter[:] = 0
    rules.remember_position(state, state.hash)
    for action in repeating:
        point, colour = rules.point_of(action, size), position.player + 1
        if state.board[point] != rules.EMPTY:
            raise InvalidTextError(
                f"go: ko= names {action_to_text(size, action)}, where there is "
                f"{'no point' if state.board[point] == rules.BORDER else 'a stone'}"
            )
        # The board that would be repeated occurred in the game, so its ply counts.
        survives = rules.survives(state, point, colour)
        state.held[point] |= colour
        rules.remember_position(state, rules.hash_after(state, point, colour, survives))
        state.ply += 1
    return state


class Position(NamedTuple):
    """The parts of a position's text, parsed."""

    rows: list[str]  # n of `.XO`, top row first
    player: int  # seat to move
    komi: float
    passes: int  # consecutive
    repeating: list[int]  # actions that would repeat a board


def split_state_text(game: Go, text: str) -> Position:
    """The parts of a position's text.

    Raises:
        InvalidTextError: the message names the fault and its place.
    """
    lines = text.replace("/", " ").split()
    size = next((n for n in game.sizes if lines[n : n + 1] in (["b"], ["w"])), game.board_size)
    rows, words = lines[:size], lines[size:]
    for number, row in enumerate(rows, 1):
        if len(row) != size or row.strip(STONES):
            raise InvalidTextError(
                f"go: row {number} from the top must be {size} of {STONES!r}, got {row[:20]!r}"
            )
    if len(rows) < size or not words or words[0] not in PLAYERS:
        sizes = " or ".join(str(n) for n in game.sizes)
        raise InvalidTextError(
            f"go: a position is {sizes} rows and then b or w for the player to move, "
            f"got {len(rows)} rows and then {' '.join(words)[:20]!r}"
        )
    komi, passes = game.komi, 0
    repeating: list[int] = []
    komis = {komi_word(each): each for each in game.komis} if len(game.komis) > 1 else {}
    for word in words[1:]:
        key, _, value = word.partition("=")
        if key == "passes" and value in ("1", "2"):
            passes = int(value)
        elif key == "ko":
            repeating += [text_to_action(game.board_size, name) for name in value.split(",")]
        elif word in komis:
            komi = komis[word]
        else:
            wanted = ", ".join(["passes=1", "passes=2", *komis])
            raise InvalidTextError(
                f"go: after the player to move come {wanted} or ko=, got {word[:20]!r}"
            )
    if game.board_size**2 in repeating or len(set(repeating)) < len(repeating):
        raise InvalidTextError("go: ko= must name points, each once")
    player = PLAYERS.index(words[0])
    return Position(rows=rows, player=player, komi=komi, passes=passes, repeating=repeating)


def board_rows(state: Any) -> list[str]:
    """n rows of `.XO`, top row first."""
    size, used = state.history.shape[0], int(state.size_in_play)
    firsts = [rules.point_of(row * size, size) for row in range(size - used, size)]
    return ["".join(STONES[stone] for stone in state.board[p : p + used]) for p in firsts]


def chains(board: npt.NDArray[np.int8]) -> list[str]:
    """The points of each chain, one line per chain, from a board as `Go.stones` returns it."""
    size, left, lines = len(board), set(np.flatnonzero(board).tolist()), []
    while left:
        chain, edge = [], [min(left)]
        left -= set(edge)
        while edge:
            point = edge.pop()
            chain.append(point)
            row, column = divmod(point, size)
            beside = {point - size, point + size}
            beside |= {point - 1} if column else set()
            beside |= {point + 1} if column < size - 1 else set()
            found = {at for at in beside & left if board.flat[at] == board[row, column]}
            left -= found
            edge += found
        lines.append(" ".join(action_to_text(size, point) for point in sorted(chain)))
    return lines


def repeating_actions(state: Any) -> list[int]:
    """Actions that only superko forbids: they would repeat a board other than the current one."""
    size = state.history.shape[0]
    colour = state.player + 1
    repeating = []
    for action in range(size * size):
        point = rules.point_of(action, size)
        if state.board[point] != rules.EMPTY:
            continue
        survives = rules.survives(state, point, colour)
        if survives or state.suicide:
            board_hash = rules.hash_after(state, point, colour, survives)
            if board_hash != state.hash and rules.has_occurred(state, board_hash):
                repeating.append(action)
    return repeating


# -- drawn boards -------------------------------------------------------------------------------


def render(state: Any) -> str:
    """The board with coordinates and the last move in brackets, prisoners, komi, and turn."""
    size, used = state.history.shape[0], int(state.size_in_play)
    letters = "   " + " ".join(COLUMNS[:used])
    lines = [letters]
    for row, stones in enumerate(board_rows(state), size - used):
        cells = " " + " ".join(stones) + " "
        if state.last_action >= 0 and state.last_action // size == row:
            at = 2 * (int(state.last_action) % size)
            cells = f"{cells[:at]}({cells[at + 1]}){cells[at + 3 :]}"
        lines.append(f"{size - row:2}{cells}{size - row}")
    lines.append(letters)
    lines.append(
        f"Black (X) has taken {state.prisoners[0]}, White (O) {state.prisoners[1]}; "
        f"komi {state.komi:g}"
    )
    if rules.is_terminal(state):
        lines.append(f"The game is over: {score_to_text(rules.score(state))}")
    else:
        last = "" if state.last_action != size * size else "; the last move was a pass"
        lines.append(f"{'White' if state.player else 'Black'} to move{last}")
    return "\n".join(lines)


def score_to_text(lead: float) -> str:
    """A result as SGF writes it: `B+3.5`, `W+1`, `0` for a draw."""
    if lead == 0:
        return "0"
    return f"{'B' if lead > 0 else 'W'}+{abs(lead):g}"
