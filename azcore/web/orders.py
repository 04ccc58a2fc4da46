"""Orders of a page: how every room reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from azcore.engine.thought import Line
from azcore.errors import AzcoreError
from azcore.game import Game
from azcore.web.view import Plain

LONGEST_TEXT = 200_000  # characters of a pasted game or position

Tell = Callable[[Plain], None]
Later = Callable[[object], None]  # queues what `do` gets after the page's orders
Orders = Mapping[
    str, Callable[[Mapping[str, Any]], None]
]  # the function for each order, by its name


class RefusedError(AzcoreError):
    """An order that the room refuses; the message is for the visitor."""


def obey(orders: Orders, order: object, is_open: bool, nothing: str) -> None:
    """Execute an order of a page.

    Args:
        orders: those that a room knows; `open` among them.
        order: anything that the page sent.
        is_open: whether orders other than `open` are valid.
        nothing: the message if they are not.

    Raises:
        RefusedError: there is no such order, or it is not valid now.
        AzcoreError: it fails.
    """
    name = order.get("do") if isinstance(order, dict) else None
    if not isinstance(order, dict) or not isinstance(name, str) or name not in orders:
        raise RefusedError("this server does not know the page's order")
    if not is_open and name != "open":
        raise RefusedError(nothing)
    orders[name](order)


def text_of(order: Mapping[str, Any], key: str, most: int) -> str:
    """A text field of an order.

    Raises:
        RefusedError: it is not a text of 1 to `most` characters.
    """
    value = order.get(key)
    if not isinstance(value, str) or not value or len(value) > most:
        raise RefusedError(f"{key} must be a text of 1 to {most:,} characters")
    return value


def line_of_order(game: Game, order: Mapping[str, Any]) -> Line:
    """A game from its start, if not the default one, and its moves.

    Raises:
        AzcoreError: the start is not a position, or a move is illegal.
    """
    start = text_of(order, "start", LONGEST_TEXT) if order.get("start") else None
    line = Line(game, start)
    moves = order.get("moves", [])
    if not isinstance(moves, list) or len(moves) > game.max_game_length:
        raise RefusedError(f"moves must be a list of at most {game.max_game_length} texts")
    for move in moves:
        if line.is_over:
            raise RefusedError(f"move {len(line.actions) + 1} comes after the end of the game")
        if not isinstance(move, str) or len(move) > 100:
            raise RefusedError("a move must be a short text")
        line.play(game.text_to_action(line.state, move))
    return line
