"""`azcore.search`: one search of one position, to inspect and to continue."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from azcore.engine.settings import engine_settings, thinking_search
from azcore.errors import GameError
from azcore.game import FloatArray, Game, texts_along
from azcore.game.faults import game_faults
from azcore.library.columns import Columns
from azcore.library.html import beside, escaped, tag
from azcore.library.node import Node
from azcore.library.player import Player
from azcore.library.settings import settings_of_engine
from azcore.pictures import Layers, Picture, draw, heat_of, line_of
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.search.inspection import Simulation as Taken
from azcore.search.inspection import Stepper
from azcore.search.mcts import Search
from azcore.search.settings import SearchResult, SearchSettings
from azcore.settings import altered, require

PLIES = 8  # of an expected line
ROWS = 10  # of the displayed table
COLUMNS = ("move", "visits", "share", "value", "prior", "line", "action")


@dataclass(frozen=True)
class Simulation:
    """One simulation: its path and its result.

    Attributes:
        number: counted from 1 in its tree.
        texts: the actions from the root to the leaf, in the game's notation.
        leaf: the node that it added, or the finished game that it reached again.
        value: the backed-up value, in [-1, 1], view of the player to move at the root.
    """

    number: int
    texts: tuple[str, ...]
    leaf: Node
    value: float

    def __repr__(self) -> str:
        where = "the game ends" if self.leaf.is_terminal else "a new leaf"
        return f"{self.number}: {' '.join(self.texts)}, {where}, value {self.value + 0.0:+.2f}"


class Analysis:
    """The result of a search of a position; `run` and `step` continue it.

    Values are in [-1, 1], in the view of the player to move. `azcore.search` makes one.

    Attributes:
        game: the game.
        state: the position.
    """

    def __init__(
        self, game: Game, state: Any, evaluator: Evaluator, settings: SearchSettings, who: str
    ) -> None:
        self.game, self.state = game, state
        self._who = who
        self._search = Search(game=game, num_trees=1, evaluator=evaluator, settings=settings)
        self._begin()

    def _begin(self) -> None:
        """An empty tree with an evaluated root."""
        self._search.start(0, self.state)
        self._stepper = Stepper(self._search, 0)

    # -- continuing -----------------------------------------------------------------------------

    def run(self, simulations: int) -> "Analysis":
        """Continue with this many more simulations; returns itself.

        Ctrl-C stops and drops the tree, which may hold an incomplete simulation.

        Raises:
            GameError: the tree has no room for that many.
        """
        self._require_room(simulations)
        with self._dropping_what_is_half_done(), game_faults():
            self._search.begin(0, simulations)
            while self._search.wave():
                pass
        return self

    def step(self, simulations: int = 1) -> list[Simulation]:
        """Run one simulation at a time, and yield each one.

        With `solve=True` it ends once the root is solved.

        Raises:
            GameError: the tree has no room for that many.
        """
        self._require_room(simulations)
        with self._dropping_what_is_half_done(), game_faults():
            self._search.begin(0, simulations)
            taken: list[Simulation] = []
            while len(taken) < simulations and not self._search.proof(0):
                taken.append(self._described(self._stepper.step()))
            return taken

    def _described(self, simulation: Taken) -> Simulation:
        leaf = self.tree.after(simulation.actions)
        same = simulation.player == self.game.current_player(self.state)
        return Simulation(
            number=self.simulations,
            texts=tuple(node.text for node in leaf.path),
            leaf=leaf,
            value=(simulation.value if same else -simulation.value) + 0.0,
        )

    def _require_room(self, simulations: int) -> None:
        require(simulations >= 0, "simulations", "0 or more", simulations)
        room = self._search.room(0)
        if simulations > room:
            raise GameError(
                f"the tree has room for {room:,} more simulations, got {simulations:,}; "
                f"azcore.search makes one of any size"
            )

    @contextmanager
    def _dropping_what_is_half_done(self) -> Iterator[None]:
        """Reset the tree if the block ends with an error: leaves may wait in it forever."""
        try:
            yield
        except BaseException:
            self._begin()
            raise

    # -- results --------------------------------------------------------------------------------

    @property
    def result(self) -> SearchResult:
        """The numbers as arrays over the K legal actions, ascending, for NumPy."""
        return self._search.result(0)

    @property
    def best(self) -> int:
        """The best action: the most visited; before any simulation the likeliest."""
        result = self.result
        return int(result.actions[result.ranked()[0]])

    @property
    def value(self) -> float:
        """The value of the position: mean of the simulations; without any, the network's."""
        return self.result.value

    @property
    def simulations(self) -> int:
        """The number of simulations so far."""
        return self._search.held(0)

    @property
    def policy(self) -> FloatArray:
        """float32 [A]: each action's share of the visits; 0 for illegal ones."""
        shares = np.zeros(self.game.num_actions, np.float32)
        shares[self.result.actions] = self.result.policy_target()
        return shares

    @property
    def line(self) -> list[int]:
        """The expected line: the best action and what the tree expects to follow."""
        return self._search.principal_variation(0, self.best)

    @property
    def tree(self) -> Node:
        """The root of the tree, to walk through."""
        return Node(self.game, self._search, self.state)

    def table(self) -> Columns:
        """A row for each legal action, the best first.

        Columns: `move` its text, `visits` N, `share` of the visits, `value` Q (nan if never tried),
        `prior` P, `line` what the tree expects from there, `action` its number.
        """
        result = self.result
        total = max(1, int(result.visit_counts.sum()))
        rows = []
        for i in result.ranked():
            action, visits = int(result.actions[i]), int(result.visit_counts[i])
            line = self._search.principal_variation(0, action)[:PLIES] if visits else []
            row: dict[str, Any] = {
                "move": self.game.action_to_notation(self.state, action),
                "visits": visits,
                "share": visits / total,
                "value": float(result.q_values[i]) if visits else float("nan"),
                "prior": float(result.priors[i]),
                "line": " ".join(texts_along(self.game, self.state, line, notation=True)),
                "action": action,
            }
            rows.append(row)
        return Columns.of_rows(COLUMNS, rows)

    def picture(self, layer: str = "visits", *, theme: str = "auto") -> Picture:
        """The board with the search's results drawn over it.

        Args:
            layer: `visits`, `prior` (the network's policy), `line` (the expected line) or `none`.
            theme: `light`, `dark`, or `auto` for that of the page.

        Raises:
            AzcoreError: the layer or theme is unknown.
        """
        layers = ("visits", "prior", "line", "none")
        require(layer in layers, "layer", f"one of {', '.join(layers)}", layer)
        board = self.game.board(self.state)
        if board is None or layer == "none":
            return draw(self.game, self.state, theme=theme)
        if layer == "line":
            drawn = Layers(line=line_of(self.game, self.state, self.line))
        else:
            result = self.result
            shares = result.policy_target() if layer == "visits" else result.priors
            by_action = dict(zip(result.actions.tolist(), shares.tolist(), strict=True))
            drawn = Layers(heat=heat_of(board, by_action))
        return draw(self.game, self.state, layers=drawn, theme=theme)

    def _title(self) -> str:
        seat = self.game.seat_names[self.game.current_player(self.state)]
        move = self.game.action_to_notation(self.state, self.best)
        return (
            f"{self.game.name}, {seat} to move: {move}, value {self.value + 0.0:+.2f}, "
            f"{self.simulations:,} simulations with {self._who}"
        )

    def __repr__(self) -> str:
        return f"{self._title()}\n{self.table().head(ROWS)!r}"

    def _repr_html_(self) -> str:
        title = tag("p", escaped(self._title()))
        board = tag("div", self.picture().svg, style="width:20rem;max-width:100%")
        return title + beside(board, self.table().head(ROWS)._repr_html_())


def search(
    game: Game,
    state: Any = None,
    player: Player | None = None,
    *,
    simulations: int = 100,
    **constants: Any,
) -> Analysis:
    """Search a position; the result can be inspected and continued.

    The search is PUCT without noise, one simulation after another, so it gives the same result
    each time. The constants are those of `conf/search`.

    Args:
        game: the game.
        state: the position; None: the initial one.
        player: the player whose network evaluates positions; None: every leaf counts as even,
            except ends of games.
        simulations: how many; 0 only evaluates the root, for `step`.
        constants: other constants of the search by their names in `conf/search`, such as
            `c_init=2.5`.

    Raises:
        GameError: the game is over, or the player was trained on another game.
        SettingError: a constant cannot be used, or `game` is no game.
    """
    wanted = "a game, as azcore.make(NAME) returns it"
    require(isinstance(game, Game), "game", wanted, game)
    state = game.initial_state() if state is None else state
    if player is not None:
        player.require_game(game)
    settings = settings_of_engine(game)
    room = max(simulations, engine_settings(settings).max_simulations)
    found = Analysis(
        game,
        state,
        UniformEvaluator(game) if player is None else player.evaluator,
        _search_settings(settings, constants, room),
        "no network" if player is None else player.name,
    )
    return found.run(simulations)


# Constants that an analysis refuses, with the reason.
_OWN = {
    "num_simulations": "it is simulations= here",
    **dict.fromkeys(
        ("leaves_per_tree", "reuse_subtree", "reuse_limit", "stop_early"),
        "an analysis visits one leaf at a time in its own tree",
    ),
    "proof_plies": "an analysis shows the results of network and search alone",
    **dict.fromkeys(
        ("dirichlet_alpha", "dirichlet_fraction", "root_temperature", "forced_visits"),
        "an analysis uses no self-play noise",
    ),
}


def _search_settings(
    composed: Mapping[str, Any], constants: Mapping[str, Any], room: int
) -> SearchSettings:
    """The search of an analysis: PUCT as in engines, one leaf at a time."""
    for name in _OWN:
        require(name not in constants, name, f"left out: {_OWN[name]}", constants.get(name))
    plain = replace(thinking_search(composed), proof_plies=0)
    settings = altered(plain, constants, "search")
    require(settings.gumbel is None, "search.gumbel", "null: an analysis uses PUCT", "others")
    return replace(settings, num_simulations=room, leaves_per_tree=1, reuse_subtree=False)
