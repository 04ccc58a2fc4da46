"""Compares random games between Python and the page's code, position by position."""

import hashlib
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from azcore.commands.export.page.look import Position, clicks_of
from azcore.errors import AzcoreError, SettingError
from azcore.game import ByteArray, CompiledGame
from azcore.testing.random_play import random_game

NODE = "node"
COMPARED = Path(__file__).with_name("compare.mjs")

Plain = dict[str, Any]


def require_node() -> None:
    """Check that Node, which runs the page's code here, is installed."""
    if shutil.which(NODE) is None:
        raise SettingError("what=page needs Node to compare the page with Python: install nodejs")


def random_games(game: CompiledGame, seed: int, positions: int) -> list[list[int]]:
    """Whole random games, as actions, with at least this many positions in all."""
    rng = np.random.default_rng(seed)
    games: list[list[int]] = []
    while sum(len(actions) + 1 for actions in games) < positions:
        games.append(random_game(game, rng))
    return games


def positions_of(game: CompiledGame, actions: Sequence[int]) -> list[Position]:
    """All positions of a game, including the first and last."""
    state, found = game.initial_state(), []
    for action in [*actions, None]:
        board = game.board(state)
        if board is None:
            raise SettingError(f"what=page needs a game that states its board, got {game.name}")
        found.append(Position(state, game.current_player(state), _planes(game, state), board))
        if action is not None:
            state = game.step(state, action)
    return found


def _planes(game: CompiledGame, state: Any) -> ByteArray:
    planes = np.zeros(game.observation_shape, np.uint8)
    game.ask_rule("observe", state, planes)
    return planes


def read_by_page(
    facts: Mapping[str, Any], module: bytes, games: Sequence[Sequence[int]]
) -> list[list[Plain]]:
    """The page's description of all positions of some games.

    Raises:
        AzcoreError: the page's code failed.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rules.wasm").write_bytes(module)
        (folder / "game.json").write_text(json.dumps(facts))
        (folder / "games.json").write_text(json.dumps(games))
        done = subprocess.run([NODE, str(COMPARED), name], capture_output=True, text=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "Error" in line] or [
            "no reason given"
        ]
        raise AzcoreError(f"the rules fail in Node: {errors[0].strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def exceptions_of(games: Sequence[Sequence[Position]], read: Sequence[Sequence[Plain]]) -> Plain:
    """The clicks that the page cannot derive from the board.

    `leaders` are roles that the clicks follow where several pieces move, and `exceptions` the
    clicks of all other such actions, a pass for example, by seat.
    """
    leaders: set[str] = set()
    exceptions: list[dict[str, list[str]]] = [{}, {}]
    for position, seen in _pairs(games, read):
        for action, clicks in clicks_of(position).items():
            if seen["clicks"].get(str(action)) is not None:
                continue
            standing = {piece.place: piece.role for piece in position.board.pieces}
            if len(clicks) == 2 and clicks[0] in standing:
                leaders.add(standing[clicks[0]])
            else:
                exceptions[position.player][str(action)] = clicks
    return {"leaders": sorted(leaders), "exceptions": exceptions}


def require_equal(
    game: CompiledGame, games: Sequence[Sequence[Position]], read: Sequence[Sequence[Plain]]
) -> int:
    """Compare the page with Python; the number of positions compared.

    Raises:
        AzcoreError: the page describes a position differently from Python.
    """
    count = 0
    for position, seen in _pairs(games, read):
        for what, wanted in expected(game, position).items():
            if seen[what] != wanted:
                where = f"{what} of {game.state_to_text(position.state)}"
                raise AzcoreError(
                    f"the page must agree with Python on {where}: {wanted}, got {seen[what]}"
                )
        count += 1
    return count


def expected(game: CompiledGame, position: Position) -> Plain:
    """The correct description of a position."""
    state, _, planes, board = position
    is_over = game.is_terminal(state)
    return {
        "player": position.player,
        "legal": np.flatnonzero(game.legal_action_mask(state)).tolist(),
        "outcome": game.outcome(state) if is_over else None,
        "planes": hashlib.sha256(planes.tobytes()).hexdigest(),
        "pieces": {piece.place: f"{piece.seat} {piece.role}" for piece in board.pieces},
        "hands": [{role: n for role, n in hand.items() if n} for hand in board.hands],
        "clicks": {str(action): path for action, path in clicks_of(position).items()},
    }


def _pairs(
    games: Sequence[Sequence[Position]], read: Sequence[Sequence[Plain]]
) -> list[tuple[Position, Plain]]:
    return [
        pair
        for game, seen in zip(games, read, strict=True)
        for pair in zip(game, seen, strict=True)
    ]
