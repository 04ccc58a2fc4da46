"""A text description of a position, for people who listen to a page."""

from collections.abc import Iterable

from azcore.game.board import Board

Described = tuple[str, str]  # what, and where


def describe_pieces(board: Board, seats: tuple[str, str]) -> list[Described]:
    """`white pawn`, `e4` for each piece, those of the first seat first."""
    roles = list(board.layout.roles)
    order = sorted(board.pieces, key=lambda piece: (piece.seat, roles.index(piece.role)))
    return [(describe_piece(board, seats, piece.seat, piece.role), piece.place) for piece in order]


def describe_piece(board: Board, seats: tuple[str, str], seat: int, role: str) -> str:
    """`white pawn`; or `X`, if that is enough."""
    letter, name = board.layout.roles[role].letter, board.layout.roles[role].name
    return seats[seat] if letter.lower() == seats[seat].lower() else f"{seats[seat]} {name}"


def describe_hand(board: Board, seats: tuple[str, str], seat: int, role: str) -> Described:
    count = board.hands[seat].get(role, 0)
    return f"{seats[seat]} in hand", f"{count} {board.layout.roles[role].name}"


def grouped(parts: Iterable[Described]) -> str:
    """`white pawn a2, b2; white rook a1`."""
    groups: dict[str, list[str]] = {}
    for what, where in parts:
        groups.setdefault(what, []).append(where)
    return "; ".join(f"{what} {', '.join(places)}" for what, places in groups.items())


def describe_board(board: Board, seats: tuple[str, str]) -> str:
    """Describe the whole position in a few sentences."""
    parts = [describe_pieces(board, seats)]
    parts.append(
        [
            describe_hand(board, seats, seat, role)
            for seat, hand in enumerate(board.hands)
            for role in board.layout.hand
            if hand.get(role)
        ]
    )
    sentences = [grouped(part) for part in parts if part] or ["no pieces"]
    for what, places in (
        ("last action", board.last),
        ("in check", board.check),
        ("won by", board.marks),
    ):
        if places:
            sentences.append(f"{what} {', '.join(places)}")
    sentences.append(
        "the game is over" if board.to_move is None else f"{seats[board.to_move]} to move"
    )
    if board.note:
        sentences.append(board.note)
    return ". ".join(f"{sentence[:1].upper()}{sentence[1:]}" for sentence in sentences) + "."
