"""The page `/sees`: what the network sees of a position, and the game's symmetries."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from azcore.engine.thought import Line
from azcore.errors import AzcoreError
from azcore.game import FloatArray, Game
from azcore.game.symmetries import SymmetryTables, symmetry_names
from azcore.pictures import draw, draw_plane
from azcore.search.evaluators import Evaluator
from azcore.web.players import Players, title_of_game
from azcore.web.requests import Handlers, RefusedError, Tell, dispatch, line_of_request, text_of
from azcore.web.view import Plain

NOW = "Now"  # the head of planes whose name has no comma


class Planes:
    """The planes of one position. One thread at a time calls `do`."""

    def __init__(self, *, players: Players, send: Tell) -> None:
        self._players, self._send = players, send
        self._line: Line | None = None
        self._evaluator: Evaluator | None = None
        self._title = ""

    def do(self, request: object) -> None:
        """Execute a request; an error becomes a message to the page."""
        try:
            dispatch(self._handlers, request, self._line is not None, "no position is open")
        except AzcoreError as error:
            self._send({"what": "error", "message": str(error)})

    def close(self) -> None:
        """Nothing runs in the background."""

    @property
    def _handlers(self) -> Handlers:
        """The function for each request; an attribute would keep the room and its tree alive."""
        return {"open": self._open, "turn": self._turn}

    def _open(self, request: Mapping[str, Any]) -> None:
        name = text_of(request, "player", 1000)
        entry = self._players.entry(name)
        game, evaluator, _ = self._players.load(name)
        self._line = line_of_request(game, request)
        self._evaluator = None if entry.group == "search" else evaluator
        self._title = f"{title_of_game(game.name, game.settings)} · {entry.player}"
        self._turn({"symmetry": 0, **request})

    def _turn(self, request: Mapping[str, Any]) -> None:
        """Show the planes through one of the game's symmetries."""
        assert self._line is not None
        game, state = self._line.game, self._line.state
        names = symmetry_names(game)
        which = request.get("symmetry")
        if type(which) is not int or not 0 <= which < len(names):
            raise RefusedError(f"symmetry must be a whole number from 0 to {len(names) - 1}")
        tables = SymmetryTables(game)
        seen = game.observation(state)[None]
        shown = tables.map_observations(seen, np.array([which]))[0]
        planes, height, width = game.observation_shape
        self._send(
            {
                "what": "sees",
                "title": self._title,
                "seat": game.seat_names[game.current_player(state)],
                "shape": f"{planes} planes of {height} × {width}",
                "svg": draw(game, state).svg,
                "symmetries": names,
                "symmetry": which,
                "sections": sections(game, shown),
                "views": self._views(game, state, tables, names),
            }
        )

    def _views(
        self, game: Game, state: Any, tables: SymmetryTables, names: list[str]
    ) -> list[Plain]:
        """The network's output through each symmetry, with moves mapped back."""
        if self._evaluator is None or game.is_terminal(state):
            return []
        which = np.arange(len(tables))
        seen = np.repeat(game.observation(state)[None].astype(np.uint8), len(tables), 0)
        logits, values = self._evaluator.evaluate(tables.map_observations(seen, which))
        legal = game.legal_action_mask(state)
        views = []
        for name, actions, row, value in zip(names, tables.actions, logits, values, strict=True):
            back = np.empty_like(row)
            back[actions] = row
            policy = _softmax(np.where(legal, back, -np.inf))
            best = int(policy.argmax())
            views.append(
                {
                    "name": name,
                    "value": round(float(value), 3),
                    "best": game.action_to_notation(state, best),
                    "share": round(float(policy[best]), 4),
                }
            )
        return views


def sections(game: Game, observation: FloatArray) -> list[Plain]:
    """Pictures of the planes, grouped by name; planes of zeros by name alone."""
    names = game.plane_names or [f"plane {i}" for i in range(len(observation))]
    found: dict[str, Plain] = {}
    for number, (name, plane) in enumerate(zip(names, observation, strict=True)):
        what, _, when = name.rpartition(", ")
        what, when = (what, when) if what else (name, NOW)
        part = found.setdefault(when, {"name": when, "planes": [], "zeros": []})
        if plane.any():
            svg = draw_plane(plane, float(game.observation_maximum[number]), name)
            part["planes"].append({"number": number, "name": what, "svg": svg})
        else:
            part["zeros"].append(what)
    return list(found.values())


def _softmax(logits: FloatArray) -> FloatArray:
    powers = np.exp(logits - logits.max())
    shares: FloatArray = powers / powers.sum()
    return shares
