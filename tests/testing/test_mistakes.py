"""The table of mistakes in docs/new-game.md: the check names each with the right cause first.

Every row of the table is planted here in tic-tac-toe, which is well otherwise, and checked as
`command=check` checks a game.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import azcore
from azcore.errors import InvalidTextError
from azcore.game import Symmetry
from azcore.game.compiled import rule_signatures
from azcore.testing import ContractError, check_game

PAGE = Path(__file__).resolve().parents[2] / "docs/new-game.md"
INTERPRETED = bool(numba.config.DISABLE_JIT)
PLAIN = type(azcore.make("tic_tac_toe_plain"))
COMPILED = type(azcore.make("tic_tac_toe"))
Make = Callable[[], azcore.Game]


def table() -> dict[str, str]:
    """Mistake -> what the check says, from the page."""
    text = PAGE.read_text("utf-8").partition("| Mistake |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    return {mistake: says.replace("`", "") for mistake, says in rows if not says.startswith(":")}


def plain(**changes: Any) -> Make:
    """The plain form with methods replaced; other names are set on the finished game."""

    def make() -> azcore.Game:
        methods = {name: change for name, change in changes.items() if callable(change)}
        game: azcore.Game = type("Mistaken", (PLAIN,), methods)()
        for name in changes.keys() - methods.keys():
            setattr(game, name, changes[name])
        return game

    return make


def compiled(**rules: Callable[..., Any]) -> Make:
    """The compiled form with rules replaced."""

    def make() -> azcore.Game:
        game = COMPILED()
        signatures = rule_signatures(game.state_type)
        new = {name: numba.njit(signatures[name], nogil=True)(f) for name, f in rules.items()}
        game.rules = dataclasses.replace(game.rules, **new)
        return game

    return make


# -- rules -----------------------------------------------------------------------------------------


def outcome_of_the_mover(self: Any, state: str) -> int:
    return -abs(PLAIN.outcome(self, state))  # whoever would move next has lost


def mask_without_the_end(self: Any, state: str) -> Any:
    return np.array([cell == "." for cell in state])


def step_without_a_check(self: Any, state: str, action: int) -> str:
    return state[:action] + "XO"[self.current_player(state)] + state[action + 1 :]


def step_by_chance(self: Any, state: str, action: int) -> str:
    successor = PLAIN.step(self, state, action)
    is_lucky = successor.count(".") == 5 and next(CHANCE)
    return successor.replace("X", "O", 1) if is_lucky else successor


CHANCE = itertools.cycle((False, True))


def never_over(self: Any, state: str) -> bool:
    return PLAIN.is_terminal(self, state) and "." in state


def turning_planes(self: Any, state: str) -> Any:
    planes = PLAIN.observation(self, state)
    return planes if self.current_player(state) == 0 else planes[::-1]


class Noted(PLAIN):
    """Tic-tac-toe whose states share one list of the actions so far."""

    def initial_state(self) -> Any:
        return ("." * 9, [])

    def step(self, state: Any, action: int) -> Any:
        successor = PLAIN.step(PLAIN(), state[0], action)
        state[1].append(action)
        return (successor, state[1])

    def observation(self, state: Any) -> Any:
        return PLAIN().observation(state[0]) * np.float32(len(state[1]) % 2)


for _method in ("current_player", "legal_action_mask", "is_terminal", "outcome", "render"):
    setattr(Noted, _method, lambda self, state, m=_method: getattr(PLAIN(), m)(state[0]))
for _method in ("action_to_text", "text_to_action"):
    setattr(Noted, _method, lambda self, state, x, m=_method: getattr(PLAIN(), m)(state[0], x))


# -- compiled rules --------------------------------------------------------------------------------


def actions_backwards(state: Any, actions: Any) -> int:
    count = 0
    for cell in range(8, -1, -1):
        if state.board[cell] == 0:
            actions[count] = cell
            count += 1
    return count


def planes_beyond(state: Any, planes: Any) -> None:
    for row in range(4):
        planes[1, row, 0] = 1


def planes_of_weights(state: Any, planes: Any) -> None:
    for cell in range(9):
        if state.board[cell] != 0:
            weight = state.board[cell] + state.board[cell] * np.int8(126)
            planes[0, cell // 3, cell % 3] = weight > 0


def half_a_win(state: Any) -> float:
    return 0.5


# -- the rest --------------------------------------------------------------------------------------


def observation_of_counts(self: Any, state: str) -> Any:
    return PLAIN.observation(self, state) * np.float32(2)


def observation_in_doubles(self: Any, state: str) -> Any:
    return PLAIN.observation(self, state).astype(np.float64)


def observation_in_one_buffer(self: Any, state: str) -> Any:
    self.buffer = getattr(self, "buffer", np.zeros((2, 3, 3), np.float32))
    self.buffer[:] = PLAIN.observation(self, state)
    return self.buffer


CELLS = np.arange(9, dtype=np.int32).reshape(3, 3)
MIRRORED = np.ascontiguousarray(np.fliplr(CELLS)).ravel()
UPSIDE_DOWN = np.ascontiguousarray(np.flipud(CELLS)).ravel()


def swapped_pieces(self: Any, state: str) -> Any:
    """Seat 0 begins with a stone on the left, so the mirrored start is another."""
    return PLAIN.observation(self, state) + LEFT


LEFT = np.zeros((2, 3, 3), np.float32)
LEFT[1, 0, 0] = 1


def text_of_the_column(self: Any, state: str, action: int) -> str:
    return "abc"[action % 3]


def text_read_kindly(self: Any, state: str, text: str) -> int:
    return PLAIN.text_to_action(self, state, text.strip("? \0\n²é"))


def text_read_in_haste(self: Any, state: str, text: str) -> int:
    action = "abc".index(text[0]) + 3 * (3 - int(text[1]))
    return PLAIN.text_to_action(self, state, PLAIN.action_to_text(self, state, action))


def state_without_a_corner(self: Any, state: str) -> str:
    return "." + PLAIN.state_to_text(self, state)[1:]


def state_read_kindly(self: Any, text: str) -> str:
    try:
        return PLAIN.state_from_text(self, text[:13])
    except InvalidTextError:
        raise
    except Exception as error:
        raise InvalidTextError("no position") from error


def key_without_two_cells(self: Any, state: str) -> int | None:
    return PLAIN.position_key(self, ".." + state[2:])


def one_path_for_all(self: Any, state: str) -> Any:
    board = PLAIN.board(self, state)
    return dataclasses.replace(board, actions=dict.fromkeys(board.actions, ("b2",)))


MISTAKES: dict[str, Make] = {
    "the outcome is in the view of the player to move": plain(outcome=outcome_of_the_mover),
    "the outcome is a fraction": compiled(outcome=half_a_win),
    "seats are 1 and 2": plain(current_player=lambda self, state: 1 + state.count(".") % 2),
    "seat 1 begins": plain(current_player=lambda self, state: state.count(".") % 2),
    "a full board is no end": plain(is_terminal=never_over),
    "actions are still legal when the game is over": plain(legal_action_mask=mask_without_the_end),
    "`step` accepts what is not legal": plain(step=step_without_a_check),
    "`step` is left to chance": plain(step=step_by_chance),
    "states share a list that grows": Noted,
    "`max_game_length` is too low": plain(max_game_length=6),
    "legal actions are not listed in ascending order": compiled(legal_actions=actions_backwards),
    "a rule writes beyond the end of an array": compiled(observe=planes_beyond),
    "a counter outgrows its field": compiled(observe=planes_of_weights),
    "a plane holds more than `observation_maximum`": plain(observation=observation_of_counts),
    "an observation is of float64": plain(observation=observation_in_doubles),
    "every observation is the same array": plain(observation=observation_in_one_buffer),
    "seat 0's pieces come first, whoever is to move": plain(observation=turning_planes),
    "a symmetry maps cells in one way and actions in another": plain(
        symmetries=(Symmetry(cells=MIRRORED, actions=UPSIDE_DOWN),)
    ),
    "a symmetry does not map the initial position to itself": plain(
        observation=swapped_pieces,
        observation_maximum=np.full(2, 2, np.float32),
        symmetries=(Symmetry(cells=MIRRORED, actions=MIRRORED),),
    ),
    "two actions have one text": plain(action_to_text=text_of_the_column),
    "a meaningless text is read as an action": plain(text_to_action=text_read_kindly),
    "a meaningless text raises `IndexError`": plain(text_to_action=text_read_in_haste),
    "the text of a position leaves out a piece": plain(state_to_text=state_without_a_corner),
    "the text of a position may end in anything": plain(state_from_text=state_read_kindly),
    "`position_key` leaves out a piece": plain(position_key=key_without_two_cells),
    "two actions are one click on the board": plain(board=one_path_for_all),
}
COMPILED_ALONE = {"a rule writes beyond the end of an array", "a counter outgrows its field"}


def said(game: azcore.Game) -> str:
    """The first line of what the check says, or its warnings."""
    try:
        return "\n".join(
            f"warning: {line}" for line in check_game(game, num_positions=500).warnings
        )
    except ContractError as error:
        return str(error).partition("\n")[0]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_check_names_what_the_page_says(mistake: str) -> None:
    if INTERPRETED and mistake in COMPILED_ALONE:
        pytest.skip("interpreted rules stop by themselves")
    found = said(MISTAKES[mistake]())
    print(mistake, "->", found)
    rows = table()
    assert mistake in rows, found
    for words in rows[mistake].split(" … "):
        assert words in found


def test_the_page_lists_no_other_mistake() -> None:
    assert list(table()) == list(MISTAKES)
    assert len(MISTAKES) >= 20
    assert said(PLAIN()) == said(COMPILED()) == ""
