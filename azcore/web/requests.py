"""Requests of a page: every room reads and dispatches them in the same way."""

from collections.abc import Callable, Mapping
from typing import Any

from azcore.engine.thought import Line
from azcore.errors import AzcoreError
from azcore.game import Game
from azcore.web.view import Plain

LONGEST_TEXT = 200_000  # characters of a pasted game or position

Tell = Callable[[Plain], None]
Later = Callable[[object], None]  # queues what `do` gets after the page's requests
Handlers = Mapping[
    str, Callable[[Mapping[str, Any]], None]
]  # the function for each request, by its name


class RefusedError(AzcoreError):
    """A request that the room refuses; the message is for the visitor."""


def dispatch(handlers: Handlers, request: object, is_open: bool, nothing: str) -> None:
    """Execute a page's request.

    Args:
        handlers: the room's own, among them `open`.
        request: anything that the page sent.
        is_open: whether requests other than `open` are valid.
        nothing: the message if they are not.

    Raises:
        RefusedError: there is no such request, or it is not valid now.
        AzcoreError: it fails.
    """
    name = request.get("do") if isinstance(request, dict) else None
    if not isinstance(request, dict) or not isinstance(name, str) or name not in handlers:
        raise RefusedError("this server does not know the page's request")
    if not is_open and name != "open":
        raise RefusedError(nothing)
    handlers[name](request)


def text_of(request: Mapping[str, Any], key: str, most: int) -> str:
    """A text field of a request.

    Raises:
        RefusedError: it is not a text of 1 to `most` characters.
    """
    value = request.get(key)
    if not isinstance(value, str) or not value or len(value) > most:
        raise RefusedError(f"{key} must be a text of 1 to {most:,} characters")
    return value


def line_of_request(game: Game, request: Mapping[str, Any]) -> Line:
    """A game from its start, if not the default one, and its moves.

    Raises:
        AzcoreError: the start is not a position, or a move is illegal.
    """
    start = text_of(request, "start", LONGEST_TEXT) if request.get("start") else None
    line = Line(game, start)
    play_texts(line, request.get("moves", []))
    return line


def play_texts(line: Line, moves: object) -> None:
    """Play the moves of a request, as texts.

    Raises:
        AzcoreError: they are not texts, too many, or one is illegal.
    """
    most = line.game.max_game_length
    if not isinstance(moves, list) or len(moves) > most:
        raise RefusedError(f"moves must be a list of at most {most} texts")
    for move in moves:
        if line.is_over:
            raise RefusedError(f"move {len(line.actions) + 1} comes after the end of the game")
        if not isinstance(move, str) or len(move) > 100:
            raise RefusedError("a move must be a short text")
        line.play(line.game.text_to_action(line.state, move))


def ply_of(value: object, line: Line) -> int:
    """A ply of a line.

    Raises:
        RefusedError: it has no such ply.
    """
    most = len(line.actions)
    if type(value) is not int or not 0 <= value <= most:
        raise RefusedError(f"a ply must be 0 to {most}, got {str(value)[:40]}")
    return value


def seat_of(value: object) -> int | None:
    """The seat that has resigned, if any.

    Raises:
        RefusedError: it is not a seat.
    """
    if value is not None and (type(value) is not int or value not in (0, 1)):
        raise RefusedError(f"resigned must be a seat, 0 or 1, got {str(value)[:40]!r}")
    return value
