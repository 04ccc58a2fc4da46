"""Orders of a page: what every room reads from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from azcore.engine.thought import Line
from azcore.errors import AzcoreError
from azcore.game import Game
from azcore.web.view import Plain

LONGEST_TEXT = 200_000  # characters of a game or position that is pasted

Tell = Callable[[Plain], None]
Later = Callable[[object], None]  # puts in line what `do` gets after the page's orders
Orders = Mapping[str, Callable[[Mapping[str, Any]], None]]  # what obeys an order, by its name


class RefusedError(AzcoreError):
    """An order that cannot be obeyed, in words for the visitor."""


def obey(orders: Orders, order: object, is_open: bool, nothing: str) -> None:
    """Obey an order of a page.

    Args:
        orders: those that a room knows; `open` among them.
        order: whatever the page sent.
        is_open: whether others than `open` have a meaning.
        nothing: what to say if they have none.

    Raises:
        RefusedError: there is no such order, or not now.
        AzcoreError: it cannot be obeyed.
    """
    name = order.get("do") if isinstance(order, dict) else None
    if not isinstance(order, dict) or not isinstance(name, str) or name not in orders:
        raise RefusedError("the page sent an order that this server does not know")
    if not is_open and name != "open":
        raise RefusedError(nothing)
    orders[name](order)


def text_of(order: Mapping[str, Any], key: str, most: int) -> str:
    """A text of an order.

    Raises:
        RefusedError: it is no text of 1 to `most` characters.
    """
    value = order.get(key)
    if not isinstance(value, str) or not value or len(value) > most:
        raise RefusedError(f"{key} must be a text of 1 to {most:,} characters")
    return value


def line_of_order(game: Game, order: Mapping[str, Any]) -> Line:
    """A game by its start, if it is not the usual one, and its moves.

    Raises:
        AzcoreError: the start is no position, or a move is not legal in its place.
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
