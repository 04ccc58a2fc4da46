"""Boards of shogi to draw and click: from and to, or a piece in hand and its target.

An optional promotion asks a question; a forced one does not.
"""

from __future__ import annotations

from typing import Any

from azcore.game import Board, Choice, Game, Layout, Piece, Role

from . import notation, rules

PROMOTE, STAY = "promote", "stay"
PROMOTED_NAMES = {"P": "tokin", "B": "horse", "R": "dragon"}  # the rest are "promoted ..."


def roles() -> dict[str, Role]:
    """By the letters of SFEN in capitals: `P`, `+P`."""
    found = {}
    for letter, name in zip(notation.LETTERS, notation.NAMES, strict=True):
        found[letter] = Role(name=name, letter=letter, art=f"koma-{name}")
    for letter in "PLNSBR":
        name = found[letter].name
        found["+" + letter] = Role(
            name=PROMOTED_NAMES.get(letter, f"promoted {name}"),
            letter="+" + letter,
            art=f"koma-promoted-{name}",
            promoted=True,
        )
    return found


LAYOUT = Layout(
    kind="cells",
    columns=tuple("987654321"),
    rows=tuple("abcdefghi"),
    colours=("black", "white"),
    roles=roles(),
    labelled=("right", "above"),
    stars=("7c", "4c", "7f", "4f"),
    hand=tuple(notation.HAND_ORDER),
    choices={PROMOTE: Choice(words="Promote"), STAY: Choice(words="Do not promote")},
    facing=True,
)


def board_of(game: Game, state: Any) -> Board:
    position = notation.position_of(state)
    over = game.is_terminal(state)
    pieces = []
    for square, code in enumerate(position.board.tolist()):
        if code:
            letter = notation.piece_to_text(code)
            seat = int(letter.islower())
            pieces.append(Piece(notation.square_to_text(square), seat, letter.upper()))
    hands = []
    for seat in (rules.BLACK, rules.WHITE):
        counts = dict(zip(notation.LETTERS, position.hands[seat].tolist(), strict=False))
        hands.append({letter: counts[letter] for letter in notation.HAND_ORDER if counts[letter]})
    last: tuple[str, ...] = ()
    if state.last_action >= 0:
        move = notation.action_to_text(1 - position.player, int(state.last_action))
        last = tuple(place for place in places(move) if "*" not in place)
    return Board(
        layout=LAYOUT,
        pieces=tuple(pieces),
        to_move=None if over else position.player,
        actions=paths(game, state, position.player),
        hands=(hands[0], hands[1]),
        last=last,
        check=tuple(
            piece.place
            for piece in pieces
            if state.in_check and piece.seat == position.player and piece.role == "K"
        ),
    )


def places(move: str) -> tuple[str, ...]:
    """`7g7f+` as `7g` and `7f`, `P*5e` as `*P` and `5e`."""
    return (f"*{move[0]}", move[2:4]) if move[1] == "*" else (move[:2], move[2:4])


def paths(game: Game, state: Any, player: int) -> dict[int, tuple[str, ...]]:
    legal = game.legal_action_mask(state).nonzero()[0].tolist()
    texts = {action: notation.action_to_text(player, action) for action in legal}
    known = set(texts.values())
    found = {}
    for action, text in texts.items():
        promotes = text.endswith("+")
        asked = (text.removesuffix("+") if promotes else text + "+") in known
        question = ((PROMOTE if promotes else STAY),) if asked else ()
        found[action] = places(text) + question
    return found
