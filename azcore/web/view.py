"""Positions and search results as plain values for the page.

Values are in the view of seat 0, so that bar and graph share one sign; the table of actions is in
the view of the player to move, as in every engine.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from azcore.engine.thought import Line, Thought, Variation
from azcore.game import Game, texts_along
from azcore.game.board import Board
from azcore.pictures import Layers, draw, heat_of, line_of, loose_pieces, overlay, owners_of
from azcore.pictures.geometry import Box
from azcore.pictures.palette import BODIES
from azcore.pictures.words import describe_pieces

ROWS = 12  # actions in the table
PLIES = 10  # of an expected line

Plain = dict[str, Any]


def position(game: Game, line: Line, *, flip: bool, letters: bool) -> Plain:
    """The last position of a line: its picture and the possible clicks."""
    state = line.state
    picture = draw(game, state, flip=flip, letters=letters)
    board = game.board(state)
    return {
        "svg": picture.svg,
        "targets": {name: list(box) for name, box in picture.targets.items()},
        "listed": [list(entry) for entry in picture.listed],
        "toMove": None if line.is_over else line.player,
        "over": ending(game, state) if line.is_over else "",
        "text": game.state_to_text(state),
        **(
            _NO_BOARD
            if board is None
            else _clicks(game, state, board, picture.targets, flip, letters)
        ),
    }


_NO_BOARD: Plain = {
    "kind": "",
    "paths": {},
    "choices": {},
    "own": [],
    "words": {},
    "note": "",
    "loose": None,
    "taken": None,
}


def _clicks(
    game: Game, state: Any, board: Board, targets: Mapping[str, Box], flip: bool, letters: bool
) -> Plain:
    """The data that a page needs to take clicks, describe places, and draw ahead of the server."""
    choices, seat = board.layout.choices, board.to_move or 0
    put = _put_down(game, state, board, targets)
    wanted = {choice.role for choice in choices.values() if choice.role is not None}
    loose: dict[Any, tuple[int, str, str | None]] = {
        role: (seat, role, None) for role in sorted(wanted)
    }
    loose |= {size: (seat, *piece) for size, piece in put.items()}
    for by, of_seat in enumerate(board.taken or ()):
        loose |= {(by, role): (1 - by, role, None) for role in of_seat}
    definitions, drawn = loose_pieces(board, loose.values(), flip=flip, letters=letters)
    names = dict(zip(loose, drawn, strict=True))
    return {
        "kind": board.layout.kind,
        "paths": {str(action): list(path) for action, path in board.actions.items()},
        "choices": {
            name: [choice.words, names.get(choice.role or "")] for name, choice in choices.items()
        },
        "own": [piece.place for piece in board.pieces if piece.seat == board.to_move],
        "words": {where: what for what, where in describe_pieces(board, game.seat_names)},
        "note": board.note,
        "loose": {"definitions": definitions, "put": {size: names[size] for size in put}},
        "taken": None
        if board.taken is None
        else [
            [
                [names[by, role], of_seat[role], of_role.name]
                for role, of_role in board.layout.roles.items()
                if of_seat.get(role)
            ]
            for by, of_seat in enumerate(board.taken)
        ],
    }


def _put_down(
    game: Game, state: Any, board: Board, targets: Mapping[str, Box]
) -> dict[str, tuple[str, str]]:
    """By the size of a target, as `100x100`: the role that a click there puts down, and where."""
    found: dict[str, tuple[str, str] | None] = {}
    for action, path in board.actions.items():
        if len(path) > 1 or path[0] not in board.layout.places:
            continue
        _, _, width, height = targets[path[0]]
        if (size := f"{width}x{height}") not in found:
            after = game.board(game.step(state, action))
            pieces = () if after is None else after.pieces
            roles = [piece.role for piece in pieces if piece.place == path[0]]
            found[size] = (roles[0], path[0]) if roles else None
    return {size: piece for size, piece in found.items() if piece is not None}


def colours(game: Game) -> list[str]:
    """The colours of the seats' pieces in CSS; dark and light if the game has no board."""
    board = game.board(game.initial_state())
    names = ("black", "white") if board is None else board.layout.colours
    return [BODIES[name][0] for name in names]


def ending(game: Game, state: Any) -> str:
    return f"{game.result_text(state)}, {game.termination(state)}"


def notations(game: Game, states: Sequence[Any], actions: Sequence[int]) -> list[str]:
    """Each action as people write it, from the state before it."""
    return [
        game.action_to_notation(state, action)
        for state, action in zip(states, actions, strict=False)
    ]


def texts(game: Game, states: Sequence[Any], actions: Sequence[int]) -> list[str]:
    """Each action in the form that a request or a link has."""
    return [
        game.action_to_text(state, action) for state, action in zip(states, actions, strict=False)
    ]


def movers(game: Game, states: Sequence[Any]) -> list[int]:
    """The seats that made the moves between the states."""
    return [game.current_player(state) for state in states[:-1]]


def along(game: Game, state: Any, actions: Sequence[int]) -> list[str]:
    """The first actions of an expected line, as people write them."""
    return texts_along(game, state, actions[:PLIES], notation=True)


def thought(game: Game, found: Thought, *, layer: str, flip: bool) -> Plain:
    """The state of a search, with an overlay: `visits`, `prior`, `line`, `owner` or none."""
    state = found.state
    sign = 1 if game.current_player(state) == 0 else -1
    board = game.board(state)
    total = max(1, sum(variation.visits for variation in found.variations))
    rows = [_row(game, state, variation, total) for variation in found.variations[:ROWS]]
    plain: Plain = {
        "value": sign * found.value,
        "simulations": found.simulations,
        "seconds": round(found.seconds, 1),
        "full": found.fullness >= 1,
        "rows": rows,
        "overlay": "" if board is None else _overlay(game, board, found, layer, flip),
    }
    prediction = found.prediction
    if prediction is not None:
        seen = prediction if sign > 0 else prediction.of_other_player()
        plain |= {"network": round(float(seen.value), 3), **seen.in_numbers()}
    return plain


def _row(game: Game, state: Any, variation: Variation, total: int) -> Plain:
    seen = variation.prediction
    return {
        "action": variation.action,
        "text": game.action_to_notation(state, variation.action),
        "visits": variation.visits,
        "share": round(variation.visits / total, 4),
        "prior": round(variation.prior, 4),
        "value": round(variation.value, 3) if variation.visits else None,
        "points": None if seen is None or seen.score is None else round(float(seen.score), 1),
        "line": along(game, state, variation.actions),
    }


def _overlay(game: Game, board: Board, found: Thought, layer: str, flip: bool) -> str:
    layers = Layers()
    if layer in ("visits", "prior"):
        total = max(1, sum(variation.visits for variation in found.variations))
        shares = {
            v.action: v.visits / total if layer == "visits" else v.prior for v in found.variations
        }
        layers = Layers(heat=heat_of(board, shares))
    elif layer == "line" and found.best is not None:
        layers = Layers(line=line_of(game, found.state, found.best.actions))
    elif layer == "owner" and found.prediction is not None:
        seen = found.prediction
        if board.to_move == 1:
            seen = seen.of_other_player()
        if seen.ownership is not None:
            layers = Layers(owner=owners_of(board, seen.ownership))
    return overlay(board, layers, flip=flip)


def line_overlay(game: Game, state: Any, actions: Sequence[int], flip: bool) -> str:
    """The overlay of an expected line, for the table row under the pointer."""
    board = game.board(state)
    if board is None:
        return ""
    return overlay(board, Layers(line=line_of(game, state, actions, most=6)), flip=flip)
