"""Chess for azcore: facts, settings and their checks; the rest is in the other files here.

`rules.py` has the rules, `encoding.py` the planes, `notation.py` the texts, `board.py` boards to
draw, `pgn.py` transcripts, `book.py` opening books, `tables.py` tablebases, `oracle.py` the same
game by the library python-chess, and README.md the specifications in tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from azcore.errors import GameError
from azcore.game import Board, Book, CompiledGame, Facts, Rules, Tablebase, TranscriptFormat, lead

from . import board, book, encoding, notation, pgn, rules, tables


class Chess(CompiledGame):
    """Chess by FIDE's rules; repetition and fifty moves draw without a claim. Seat 0 is White.

    Actions are plane × 64 + from-cell, 73 planes, in the view of the player to move; see
    `rules.py`. Actions are written in UCI (`e2e4`, `e7e8q`), positions in FEN.

    Args:
        max_plies: the game is a draw after this many plies, 1 to 12,000.

    Raises:
        GameError: a setting has the wrong type or is out of range.
    """

    def __init__(self, *, max_plies: int = 512) -> None:
        # The default is for direct use; runs take theirs from conf/game/chess.yaml.
        check_settings("chess", max_plies)
        self.max_plies = max_plies
        super().__init__(
            Facts(
                name="chess",
                summary="Checkmate the opponent's king: attack it so that it cannot escape.",
                version=1,
                settings={"max_plies": max_plies},
                num_actions=64 * rules.NUM_PLANES,
                action_planes=rules.NUM_PLANES,
                observation_shape=(encoding.NUM_PLANES, 8, 8),
                observation_maximum=encoding.MAXIMUM,
                plane_names=encoding.PLANE_NAMES,
                plane_ages=encoding.PLANE_AGES,
                max_game_length=max_plies,
                dirichlet_alpha=0.3,  # AlphaZero's
                proof_plies=2,
                seat_names=("white", "black"),
                protocol="uci",
            ),
            state_dtype=rules.STATE,
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

    def blank_state(self) -> Any:
        state = super().blank_state()
        state.max_plies = self.max_plies
        return state

    def initial_state(self) -> Any:
        state = self.blank_state()
        back = [rules.ROOK, rules.KNIGHT, rules.BISHOP, rules.QUEEN]
        back += [rules.KING, rules.BISHOP, rules.KNIGHT, rules.ROOK]
        pieces = [(0, kind, 56 + i) for i, kind in enumerate(back)]
        pieces += [(0, rules.PAWN, 48 + i) for i in range(8)]
        pieces += [(1, kind, cell ^ 56) for _, kind, cell in pieces]
        rules.set_up(state, pieces, castling=15, passed=-1, clock=0, ply=0)
        return state

    def is_check(self, state: Any) -> bool:
        return bool(rules.is_check(state))

    def material(self, state: Any) -> float:
        boards: list[int] = state.boards[state.ply % rules.NUM_BOARDS].tolist()
        worth = [
            sum(
                each * (boards[kind] & boards[rules.PIECES_OF + seat]).bit_count()
                for kind, each in enumerate(rules.WORTH)
            )
            for seat in range(2)
        ]
        return lead(*worth)

    def opening_book(self, path: Path) -> Book | None:
        return book.PolyglotBook(self, path) if path.suffix.lower() == book.SUFFIX else None

    def tablebase(self, path: str) -> Tablebase:
        return tables.Syzygy(self, path)

    def termination(self, state: Any) -> str:
        return notation.termination(state)

    def result_text(self, state: Any) -> str:
        return notation.result_text(self.outcome(state))

    def action_to_text(self, state: Any, action: int) -> str:
        return notation.action_to_text(state, action)

    def action_to_notation(self, state: Any, action: int) -> str:
        return notation.action_to_san(self, state, action)

    def text_to_action(self, state: Any, text: str) -> int:
        return notation.text_to_legal_action(self, state, text)

    def state_to_text(self, state: Any) -> str:
        return notation.state_to_text(state)

    def state_from_text(self, text: str) -> Any:
        return notation.state_from_text(self.blank_state(), text)

    def render(self, state: Any) -> str:
        return notation.render(self, state)

    def board(self, state: Any) -> Board:
        return board.board_of(self, state)

    def transcript_formats(self) -> Mapping[str, TranscriptFormat]:
        return {"pgn": pgn.transcript_format(self)}


def check_settings(name: str, max_plies: object) -> None:
    """Refuse an invalid number of plies; a bool does not count as a number.

    Raises:
        GameError: the message names the value and the values allowed.
    """
    if type(max_plies) is not int or not 1 <= max_plies <= rules.MAX_PLIES:
        raise GameError(
            f"{name}: max_plies must be a whole number from 1 to {rules.MAX_PLIES}, "
            f"got {max_plies!r}"
        )
