"""Shogi for azcore: facts, settings and their checks; the rest is in the other files here.

`rules.py` has the rules, `encoding.py` the planes, `notation.py` the texts, `board.py` boards to
draw, `kif.py` and `csa.py` transcripts, `oracle.py` the same game by the library cshogi, and
README.md the specifications in tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from azcore.errors import GameError
from azcore.game import Board, CompiledGame, Facts, Rules, TranscriptFormat, lead

from . import board, csa, encoding, kif, notation, rules

MOST_PLIES = 10_000


class Shogi(CompiledGame):
    """Shogi. Seat 0 is Black (sente).

    Actions are AlphaZero's 139 planes × 81 cells, view of the player to move; see `rules.py`.

    Args:
        max_plies: the game is a draw after this many plies, 1 to 10,000.
        entering_king: whether a player to move who may declare an entered king (27-point rule)
            wins.

    Raises:
        GameError: a setting has the wrong type or is out of range.
    """

    def __init__(self, *, max_plies: int = 512, entering_king: bool = False) -> None:
        # The defaults are for direct use; runs take theirs from conf/game/shogi.yaml.
        check_settings("shogi", max_plies, entering_king)
        self.max_plies = max_plies
        self.entering_king = entering_king
        super().__init__(
            Facts(
                name="shogi",
                summary="Checkmate the king; captured pieces change sides and can be dropped back.",
                version=1,
                settings={"max_plies": max_plies, "entering_king": entering_king},
                num_actions=rules.NUM_ACTIONS,
                action_planes=rules.NUM_ACTIONS // 81,
                observation_shape=(encoding.NUM_PLANES, 9, 9),
                observation_maximum=encoding.MAXIMUM,
                plane_names=encoding.PLANE_NAMES,
                plane_ages=encoding.PLANE_AGES,
                max_game_length=max_plies,
                dirichlet_alpha=0.15,  # AlphaZero's (Silver et al. 2018, Methods)
                proof_plies=2,
                symmetries=encoding.symmetries(),
                protocol="usi",
            ),
            state_dtype=rules.state_fields(max_plies),
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

    @cached_property
    def _initial(self) -> Any:
        return self.state_from_text(notation.START)  # takes a millisecond, and a file has thousands

    def initial_state(self) -> Any:
        return self._initial.copy()

    def can_declare_win(self, state: Any) -> bool:
        """Whether the player to move may declare an entered king, whatever the setting."""
        return bool(rules.has_entered(state))

    def material(self, state: Any) -> float:
        worth = [0, 0]
        for code in state.boards[state.latest & 7].tolist():
            if code:
                seat, piece = divmod(code - 1, rules.NUM_TYPES)
                worth[seat] += rules.WORTH[piece]
        for seat, hand in enumerate(state.hands[state.latest & 7].tolist()):
            worth[seat] += sum(n * each for n, each in zip(hand, rules.WORTH, strict=False))
        return lead(*worth)

    def is_check(self, state: Any) -> bool:
        return bool(state.in_check)

    def termination(self, state: Any) -> str:
        return notation.termination(state)

    def action_to_text(self, state: Any, action: int) -> str:
        return notation.action_to_text(int(state.player), action)

    def text_to_action(self, state: Any, text: str) -> int:
        return notation.text_to_legal_action(self, state, text)

    def state_to_text(self, state: Any) -> str:
        return notation.position_of(state).to_sfen()

    def state_from_text(self, text: str) -> Any:
        position = notation.read_sfen(text, self.max_plies)
        state = self.blank_state()
        rules.set_up(
            state,
            position.board,
            position.hands,
            position.player,
            position.ply,
            self.max_plies,
            self.entering_king,
        )
        return state

    def render(self, state: Any) -> str:
        return notation.render(self, state)

    def board(self, state: Any) -> Board:
        return board.board_of(self, state)

    def transcript_formats(self) -> Mapping[str, TranscriptFormat]:
        return {"kif": kif.kif(self), "csa": csa.csa(self)}


def check_settings(name: str, max_plies: object, entering_king: object) -> None:
    """Refuse settings of the wrong type or out of range; a bool does not count as a number.

    Raises:
        GameError: the message names the value and the values allowed.
    """
    if type(max_plies) is not int or not 1 <= max_plies <= MOST_PLIES:
        raise GameError(
            f"{name}: max_plies must be a whole number from 1 to {MOST_PLIES}, got {max_plies!r}"
        )
    if type(entering_king) is not bool:
        raise GameError(f"{name}: entering_king must be true or false, got {entering_king!r}")
