"""Boards of minishogi to be drawn and clicked: from and to, or a piece in hand and where it drops.

The pieces are those of shogi. A move that may promote or not asks for it; one that must promote
does so without a question.
"""

from __future__ import annotations

from typing import Any

from azcore import Game
from azcore.game import Board, Choice, Layout, Piece, Role

from . import notation, rules

PROMOTE, STAY = "promote", "stay"
_NAMES = dict(
    zip(notation.LETTERS, ("pawn", "silver", "gold", "bishop", "rook", "king"), strict=True)
)
_PROMOTED = {"P": "tokin", "S": "promoted silver", "B": "horse", "R": "dragon"}
ROLES = {
    **{
        letter: Role(name=name, letter=letter, art=f"koma-{name}")
        for letter, name in _NAMES.items()
    },
    **{
        f"+{letter}": Role(
            name=name,
            letter=f"+{letter}",
            art=f"koma-promoted-{_NAMES[letter]}",
            promoted=True,
        )
        for letter, name in _PROMOTED.items()
    },
}
LAYOUT = Layout(
    kind="cells",
    columns=tuple("54321"),
    rows=tuple("abcde"),
    colours=("black", "white"),
    roles=ROLES,
    labelled=("right", "above"),
    hand=tuple(notation.HAND_ORDER),
    choices={PROMOTE: Choice(words="Promote"), STAY: Choice(words="Do not promote")},
    facing=True,
)


def board_of(game: Game, state: Any) -> Board:
    player = int(state.player)
    pieces = []
    for cell, code in enumerate(notation.board_of_black(state).tolist()):
        if code:
            text = notation.piece_to_text(code)
            place = notation.square_to_text(cell, rules.BLACK)
            pieces.append(Piece(place, int(text.islower()), text.upper()))
    hands = [
        {
            letter: n
            for letter in notation.HAND_ORDER
            if (n := counts[notation.LETTERS.index(letter)])
        }
        for counts in state.hands.tolist()
    ]
    king = rules.king_of(state.board)
    last = int(state.last_cell)
    return Board(
        layout=LAYOUT,
        pieces=tuple(pieces),
        to_move=None if game.is_terminal(state) else player,
        actions=paths(game, state, player),
        hands=(hands[0], hands[1]),
        last=() if last < 0 else (notation.square_to_text(last, player),),
        check=(notation.square_to_text(king, player),) if state.in_check else (),
    )


def paths(game: Game, state: Any, player: int) -> dict[int, tuple[str, ...]]:
    legal = game.legal_action_mask(state).nonzero()[0].tolist()
    texts = {action: notation.action_to_text(player, action) for action in legal}
    known = set(texts.values())
    found: dict[int, tuple[str, ...]] = {}
    for action, text in texts.items():
        if text[1] == "*":
            found[action] = (f"*{text[0]}", text[2:])
            continue
        promotes = text.endswith("+")
        asked = (text[:4] if promotes else f"{text}+") in known
        question = ((PROMOTE if promotes else STAY),) if asked else ()
        found[action] = (text[:2], text[2:4], *question)
    return found
