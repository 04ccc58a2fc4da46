"""Boards of chess to draw and click: from, to, and what a pawn becomes."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from azcore.game import Board, Choice, Game, Layout, Piece, Role

from . import notation, rules

ARMY = Counter("PPPPPPPPNNBBRRQK")  # of each player at the start
NAMES = ("pawn", "knight", "bishop", "rook", "queen", "king")  # by kind
LAYOUT = Layout(
    kind="cells",
    columns=tuple(notation.COLUMNS),
    rows=tuple("87654321"),
    colours=("white", "black"),
    surface="checkered",
    roles={
        letter: Role(name=name, letter=letter, art=f"staunton-{name}")
        for letter, name in zip(notation.LETTERS[0], NAMES, strict=True)
    },
    choices={
        letter: Choice(words=f"Becomes a {NAMES[notation.LETTERS[1].index(letter)]}", role=role)
        for letter, role in zip("qrbn", "QRBN", strict=True)
    },
)


def board_of(game: Game, state: Any) -> Board:
    over = game.is_terminal(state)
    seat = rules.current_player(state)
    placement = "".join(notation.placement_rows(state))
    pieces = [
        Piece(notation.cell_name(cell), int(letter.islower()), letter.upper())
        for cell, letter in enumerate(placement)
        if letter != "."
    ]
    texts = {a: notation.action_to_text(state, a) for a in notation.legal_actions(game, state)}
    last = notation.last_move(state)
    in_check = rules.is_check(state)
    return Board(
        layout=LAYOUT,
        pieces=tuple(pieces),
        to_move=None if over else seat,
        actions={action: tuple(re.findall("[a-h][1-8]|[qrbn]", t)) for action, t in texts.items()},
        last=() if last is None else tuple(map(notation.cell_name, last)),
        taken=(_lost(pieces, 1), _lost(pieces, 0)),
        check=tuple(p.place for p in pieces if in_check and p.seat == seat and p.role == "K"),
    )


def _lost(pieces: list[Piece], seat: int) -> dict[str, int]:
    """The pieces that a seat has lost; a promoted one stands for a pawn."""
    left = Counter(piece.role for piece in pieces if piece.seat == seat)
    promoted = left - ARMY
    lost = ARMY - left
    lost["P"] -= promoted.total()
    return dict(+lost)
