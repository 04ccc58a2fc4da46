"""Go for azcore: facts, settings and their checks; the rest is in the other files here.

`rules.py` has the rules, `encoding.py` the planes and symmetries, `notation.py` the texts,
`board.py` boards to draw, `sgf.py` transcripts, and README.md the specifications in tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from azcore.errors import GameError
from azcore.game import Board, CompiledGame, Facts, Rules, Setting, TranscriptFormat

from . import board, encoding, notation, rules, sgf

MAX_KOMI = rules.MAX_SIZE**2


class Go(CompiledGame):
    """Go by area scoring with positional superko. Seat 0 is Black.

    Actions 0 to N × N - 1 are the points row by row from the top left; N × N is a pass.

    Args:
        board_size: N, 2 to 19.
        komi: points added to White's area, whole or half. A whole number allows draws.
        suicide: whether a play may remove its own chain.
        first_pass: 0 to 2. Passing is not allowed in the first `first_pass` × N × N plies while
            another action is legal; as a factor, one setting fits every board size.
        other_komis: self-play uses each of them as often as `komi`. Each is -25 to 25.
        other_sizes: smaller boards; self-play uses each of them as often as the whole one.
            Such a board lies at the bottom left, so points have the same names and actions.

    With `other_komis` or `other_sizes` the observation has two more planes.

    Raises:
        GameError: a setting has the wrong type or is out of range.
    """

    def __init__(
        self,
        *,
        board_size: int = 9,
        komi: int | float = 7.5,
        suicide: bool = False,
        first_pass: int | float = 0.0,
        other_komis: Sequence[int | float] = (),
        other_sizes: Sequence[int] = (),
    ) -> None:
        # The defaults are for direct use; runs take theirs from conf/game/go.yaml.
        check_settings(board_size, komi, suicide, first_pass)
        check_others(board_size, komi, other_komis, other_sizes)
        self.board_size = board_size
        self.komi = float(komi)
        self.suicide = suicide
        self.first_pass = float(first_pass)
        # `board_size` and `komi` themselves come first.
        self.sizes = [board_size, *sorted(set(other_sizes), reverse=True)]
        self.komis = [self.komi, *sorted({float(other) for other in other_komis} - {self.komi})]
        # Present only if used, so that games, weights and records without them stay the same.
        others: dict[str, Setting] = {}
        if other_komis:
            others["other_komis"] = sorted({float(other) for other in other_komis})
        if other_sizes:
            others["other_sizes"] = self.sizes[1:]
        planes = encoding.maximum_of_planes(several=bool(others))
        num_cells = board_size * board_size
        super().__init__(
            Facts(
                name="go",
                summary="Surround points, capture stones without liberties; the larger area wins.",
                version=1,
                settings={
                    "board_size": board_size,
                    "komi": self.komi,
                    "suicide": suicide,
                    "first_pass": self.first_pass,
                    **others,
                },
                num_actions=num_cells + 1,
                action_planes=1,  # and a pass
                observation_shape=(len(planes), board_size, board_size),
                observation_maximum=planes,
                plane_names=encoding.plane_names(several=bool(others)),
                plane_ages=encoding.plane_ages(several=bool(others)),
                max_game_length=rules.max_plies(board_size),
                score_maximum=num_cells + max(abs(each) for each in self.komis),
                # The paper's 0.03 on 19×19, inversely proportional to the number of points.
                dirichlet_alpha=0.03 * 361 / num_cells,
                symmetries=encoding.symmetries(board_size),
            ),
            state_dtype=rules.state_fields(board_size),
            rules=Rules(
                current_player=rules.current_player,
                legal_actions=rules.legal_actions,
                step=rules.step,
                is_terminal=rules.is_terminal,
                outcome=rules.outcome,
                observe=encoding.observe,
                position_key=rules.position_key,
            ),
        )

    def initial_state(self) -> Any:
        return self.empty_board(self.board_size, self.komi)

    def start_states(self) -> list[Any]:
        return [self.empty_board(size, komi) for size in self.sizes for komi in self.komis]

    def empty_board(self, size: int, komi: float) -> Any:
        """The initial state of a game on one of `sizes` with one of `komis`."""
        state = self.blank_state()
        first_pass = round(self.first_pass * size**2)
        rules.set_up(state, size, komi, self.komi, self.suicide, first_pass)
        return state

    def termination(self, state: Any) -> str:
        return "two passes" if state.passes >= 2 else "move limit"

    def result_text(self, state: Any) -> str:
        return notation.score_to_text(self.score(state))

    def score_text(self, state: Any) -> str:
        return notation.score_to_text(self.score(state))

    def status_of_stones(self, state: Any) -> dict[str, list[str]]:
        """All stones are alive: area scoring counts every stone on the board here."""
        return {"alive": notation.chains(self.stones(state)), "dead": [], "seki": []}

    def named_rules(self) -> dict[str, Setting]:
        return {
            "hasButton": False,
            "ko": "POSITIONAL",
            "scoring": "AREA",
            "suicide": self.suicide,
            "tax": "NONE",
            "whiteHandicapBonus": "0",
            "friendlyPassOk": False,
        }

    def handicap_actions(self, count: int) -> list[int]:
        """The fixed points of the Go Text Protocol (draft 2 of version 2, section 4.1.1)."""
        size = self.board_size
        most = 0 if size < 7 else 4 if size == 7 or size % 2 == 0 else 9
        if not 2 <= count <= most:
            wanted = f"2 to {most} stones" if most else "none on a board this small"
            raise GameError(f"go: the handicap must be {wanted}, got {count}")
        near = 2 if size < 13 else 3  # third or fourth line, counted from 0
        middle, far = size // 2, size - 1 - near
        # As (column, row from the bottom).
        corners = [(near, near), (far, far), (near, far), (far, near)]
        sides = [(near, middle), (far, middle), (middle, near), (middle, far)]
        points = corners[: min(count, 4)] + sides[: max(0, count - 4) // 2 * 2]
        if count >= 5 and count % 2:
            points.append((middle, middle))
        return [(size - 1 - row) * size + column for column, row in points]

    def score(self, state: Any) -> float:
        """Black's area minus White's and komi, in any state; `outcome` is its sign."""
        return rules.score(state)

    def ownership(self, state: Any) -> npt.NDArray[np.int8]:
        """int8 [N, N], top row first: 1 Black's area, -1 White's, 0 neither; in any state.

        Points outside a smaller board are 0.
        """
        owners = np.zeros(rules.num_points(self.board_size), np.int8)
        rules.fill_area(state, owners)
        points = [rules.point_of(i, self.board_size) for i in range(self.board_size**2)]
        return owners[points].reshape(self.board_size, self.board_size)

    def stones(self, state: Any) -> npt.NDArray[np.int8]:
        """int8 [N, N], top row first: 0 empty, 1 Black, 2 White; a copy."""
        boards = state.history
        stones: npt.NDArray[np.int8] = (boards & 1 | boards >> 7 & 2).astype(np.int8)
        return stones

    def action_to_text(self, state: Any, action: int) -> str:
        return notation.action_to_text(self.board_size, action)

    def text_to_action(self, state: Any, text: str) -> int:
        return notation.text_to_legal_action(self, state, text)

    def state_to_text(self, state: Any) -> str:
        return notation.state_to_text(state, self.komi)

    def state_from_text(self, text: str) -> Any:
        return notation.state_from_text(self, text)

    def render(self, state: Any) -> str:
        return notation.render(state)

    def board(self, state: Any) -> Board:
        return board.board_of(self, state, self.stones(state))

    def transcript_formats(self) -> Mapping[str, TranscriptFormat]:
        return {"sgf": sgf.transcript_format(self)}


def check_settings(board_size: object, komi: object, suicide: object, first_pass: object) -> None:
    """Refuse settings of the wrong type or out of range; a bool does not count as a number.

    Raises:
        GameError: the message names the value and the values allowed.
    """
    sizes = range(rules.MIN_SIZE, rules.MAX_SIZE + 1)
    if type(board_size) is not int or board_size not in sizes:
        raise GameError(
            f"go: board_size must be a whole number from {sizes[0]} to {sizes[-1]}, "
            f"got {board_size!r}"
        )
    if not (is_half_number(komi) and abs(komi) <= MAX_KOMI):
        raise GameError(
            f"go: komi must be a whole or half number from -{MAX_KOMI} to {MAX_KOMI}, got {komi!r}"
        )
    if type(suicide) is not bool:
        raise GameError(f"go: suicide must be true or false, got {suicide!r}")
    if type(first_pass) not in (int, float) or not 0 <= first_pass <= 2:  # type: ignore[operator]
        raise GameError(
            f"go: first_pass must be a number of board fills from 0 to 2, got {first_pass!r}"
        )


def check_others(board_size: int, komi: float, other_komis: object, other_sizes: object) -> None:
    """Refuse other komi or sizes of the wrong type or out of range.

    Args:
        board_size: a valid one.
        komi: a valid one.
        other_komis: as given.
        other_sizes: as given.

    Raises:
        GameError: the message names the value and the values allowed.
    """
    for name, values in (("other_komis", other_komis), ("other_sizes", other_sizes)):
        if not isinstance(values, Sequence) or isinstance(values, str):
            raise GameError(f"go: {name} must be a list, such as [5], got {values!r}")
    for size in other_sizes:  # type: ignore[attr-defined]
        if type(size) is not int or not rules.MIN_SIZE <= size < board_size:
            raise GameError(
                f"go: each of other_sizes must be a whole number from {rules.MIN_SIZE} and below "
                f"board_size {board_size}, got {size!r}"
            )
    if other_komis or other_sizes:
        most = encoding.MOST_KOMI
        for each in (komi, *other_komis):  # type: ignore[misc]
            if not (is_half_number(each) and abs(each) <= most):
                raise GameError(
                    "go: with other_komis or other_sizes each komi must be a whole or half number "
                    f"from -{most} to {most}, got {each!r}"
                )


def is_half_number(value: object) -> TypeGuard[float]:
    """Whether a value is a whole or half number."""
    return type(value) in (int, float) and math.isfinite(value) and value * 2 == int(value * 2)  # type: ignore[arg-type,operator]
