"""The page `/inside`: a visitor steps through one search, a simulation at a time.

All values sent to the page take the view of the player to move at their node, as in the formulas.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from azcore.engine.thought import Line
from azcore.errors import AzcoreError
from azcore.game import Game, texts_along
from azcore.pictures import Hint, Layers, draw, heat_of
from azcore.search.evaluators import Evaluator
from azcore.search.inspection import EdgeView, NodeView, Simulation, Stepper, has_node, node_at
from azcore.search.settings import GumbelSettings, SearchSettings
from azcore.web.ablations import EXPLORATION, NETWORK, NOISE, Changes, begin
from azcore.web.players import Players, title_of_game
from azcore.web.requests import Handlers, RefusedError, Tell, dispatch, line_of_request, text_of
from azcore.web.view import Plain, ending

RULES = ("puct", "gumbel")
MOST_SIMULATIONS = 1000  # simulations of one search
MOST_NODES = 36  # nodes of the drawn tree
MOST_CHOICES = 3  # moves compared at each node of a simulation
MOST_EDGES = 14  # listed edges of a node
MOST_FOUND = 6  # actions listed in a result


class Inside:
    """One search that a visitor steps through.

    One thread at a time calls `do`. PUCT searches as in `search`; Gumbel's rule is not available
    without `gumbel`.
    """

    def __init__(
        self, *, players: Players, search: SearchSettings, gumbel: GumbelSettings | None, send: Tell
    ) -> None:
        self._players, self._send = players, send
        self._search, self._gumbel = search, gumbel
        self._line: Line | None = None
        self._evaluator: Evaluator | None = None
        self._changes = Changes()
        self._rule, self._total = "puct", 1
        self._own_values: dict[int, float] = {}  # values that the visitor set, by simulation
        self._steppers: dict[str, Stepper] = {}  # by rule
        self._last: Simulation | None = None
        self._path: tuple[int, ...] = ()  # to the node shown
        self._title, self._has_network = "", False

    def do(self, request: object) -> None:
        """Execute a request; an error becomes a message to the page."""
        try:
            dispatch(self._handlers, request, self._line is not None, "no search is open")
        except AzcoreError as error:
            self._send({"what": "error", "message": str(error)})

    def close(self) -> None:
        """Drop the search."""
        self._steppers = {}

    @property
    def _handlers(self) -> Handlers:
        """The function for each request; an attribute would keep the room and its tree alive."""
        return {
            "open": self._open,
            "jump": self._jump,
            "look": self._look,
            "value": self._value,
        }

    # -- requests ---------------------------------------------------------------------------------

    def _open(self, request: Mapping[str, Any]) -> None:
        """Open a position, and run the first `at` simulations, if the request has `at`."""
        name = text_of(request, "player", 1000)
        entry = self._players.entry(name)
        game, evaluator, _ = self._players.load(name)
        line = line_of_request(game, request)
        if line.is_over:
            raise RefusedError("the game is over, so there is nothing to search")
        rule = _one_of(request, "rule", RULES, "puct")
        if rule == "gumbel" and self._gumbel is None:
            raise RefusedError(
                "start the server with azcore command=web search=gumbel to use Gumbel's search"
            )
        changes = Changes(
            network=_one_of(request, "network", NETWORK, "both"),
            noise=_one_of(request, "noise", NOISE, "none"),
            exploration=_one_of(request, "exploration", EXPLORATION, "usual"),
            turns=bool(request.get("turns", True)),
        )
        total = _whole(request, "simulations", 1, MOST_SIMULATIONS)
        at = _whole({"at": 0, **request}, "at", 0, total)
        self._line, self._evaluator, self._changes = line, evaluator, changes
        self._rule, self._total = rule, total
        self._has_network = entry.group != "search"
        self._title = f"{title_of_game(game.name, game.settings)} · {entry.player}"
        self._own_values, self._path = {}, ()
        self._begin()
        self._step_to(at)
        self._show()

    def _jump(self, request: Mapping[str, Any]) -> None:
        self._step_to(_whole(request, "at", 0, self._total))
        self._show()

    def _look(self, request: Mapping[str, Any]) -> None:
        path = request.get("path")
        if not isinstance(path, list) or any(type(action) is not int for action in path):
            raise RefusedError("a path must be a list of actions")
        if not has_node(self._stepper.search, 0, path):
            raise RefusedError("the search has not reached this node yet")
        self._path = tuple(path)
        self._show()

    def _value(self, request: Mapping[str, Any]) -> None:
        """Run the next simulation with a value from the visitor instead of the network's."""
        value = request.get("value")
        if not (isinstance(value, int | float) and -1 <= value <= 1):
            raise RefusedError("a value must be a number from -1 (lost) to 1 (won)")
        at = self._stepper.done + 1
        if at > self._total:
            raise RefusedError(f"all {self._total} simulations are done")
        self._own_values = {
            **{n: v for n, v in self._own_values.items() if n < at},
            at: float(value),
        }
        self._step_to(at)
        self._show()

    # -- the search -----------------------------------------------------------------------------

    @property
    def _stepper(self) -> Stepper:
        return self._steppers[self._rule]

    @property
    def _game(self) -> Game:
        assert self._line is not None
        return self._line.game

    def _begin(self) -> None:
        """Start the search, and a search by the other rule if it is available."""
        assert self._line is not None
        assert self._evaluator is not None
        usual = replace(
            self._search,
            num_simulations=self._total,
            leaves_per_tree=1,
            transpositions=False,
            stop_early=False,
            solve=False,  # else a search stops at a proven root
            proof_plies=0,  # and shows nothing below a decided leaf
            forced_visits=0.0,
            root_temperature=1.0,
        )
        kinds = {"puct": usual}
        if self._gumbel is not None:
            kinds["gumbel"] = replace(usual, gumbel=self._gumbel)
        self._steppers = {
            rule: begin(self._game, self._evaluator, settings, self._line.state, self._changes)
            for rule, settings in kinds.items()
        }
        self._last = None

    def _step_to(self, at: int) -> None:
        """Bring both searches to simulation `at`; going back restarts them."""
        if at < self._stepper.done:
            self._begin()
        for rule, stepper in self._steppers.items():
            while stepper.done < at:
                value = self._own_values.get(stepper.done + 1)
                if rule == self._rule and stepper.done == at - 1:
                    self._last = stepper.step(value)
                else:
                    stepper.search.simulate(0, value)
        if not has_node(self._stepper.search, 0, self._path):
            self._path = ()

    # -- showing --------------------------------------------------------------------------------

    def _show(self) -> None:
        game, search = self._game, self._stepper.search
        node = node_at(search, 0, self._path)
        state = self._state(node.path)
        other = next((rule for rule in self._steppers if rule != self._rule), None)
        self._send(
            {
                "what": "inside",
                "title": self._title,
                "seats": list(game.seat_names),
                "at": self._stepper.done,
                "of": self._total,
                "rule": self._rule,
                "rules": list(self._steppers),
                "turns": self._changes.turns,
                "hasNetwork": self._has_network and self._changes.network in ("both", "value"),
                "isOwn": self._stepper.done in self._own_values,
                "last": None if self._last is None else self._plain_simulation(self._last),
                "node": self._plain_node(node, state),
                "tree": self._tree(),
                "rivals": {
                    rule: self._shares(self._steppers[rule])
                    for rule in ([self._rule, other] if other else [self._rule])
                },
                "svg": self._picture(node, state),
            }
        )

    def _state(self, path: Sequence[int]) -> Any:
        assert self._line is not None
        state = self._line.state
        for action in path:
            state = self._game.step(state, action)
        return state

    def _texts(self, path: Sequence[int]) -> list[str]:
        """Actions from the root in notation."""
        assert self._line is not None
        return texts_along(self._game, self._line.state, path, notation=True)

    def _seat(self, path: Sequence[int]) -> str:
        """The name of the player to move; of seat 0 if the game is over."""
        state = self._state(path)
        game = self._game
        return game.seat_names[0 if game.is_terminal(state) else game.current_player(state)]

    def _plain_simulation(self, simulation: Simulation) -> Plain:
        actions = simulation.actions
        texts = self._texts(actions)
        return {
            "path": list(actions),
            "steps": [
                {
                    "text": text,
                    "seat": self._seat(actions[:i]),
                    "before": list(step.before),
                    "after": list(step.after),
                    "gain": step.gain,
                    "rule": step.node.rule,
                    "choices": self._choices(step.node),
                }
                for i, (text, step) in enumerate(zip(texts, simulation.path, strict=True))
            ],
            "value": simulation.value,
            "seat": self._seat(actions),
            "over": simulation.is_terminal,
        }

    def _choices(self, node: NodeView) -> list[Plain]:
        """The moves with the highest scores that a simulation could take, the one taken first."""
        state, text = self._state(node.path), self._game.action_to_notation
        able = sorted(
            (edge for edge in node.edges if edge.is_eligible or edge.is_next),
            key=lambda edge: (not edge.is_next, -edge.score),
        )
        return [
            {"text": text(state, edge.action), "terms": list(edge.terms)}
            for edge in able[:MOST_CHOICES]
        ]

    def _plain_node(self, node: NodeView, state: Any) -> Plain:
        game = self._game
        shown = [e for i, e in enumerate(node.edges) if i < MOST_EDGES or e.is_next]
        return {
            "path": list(node.path),
            "texts": self._texts(node.path),
            "seat": self._seat(node.path),
            "visits": node.visits,
            "value": node.value,
            "mean": node.mean,
            "over": ending(game, state) if node.is_terminal else "",
            "rule": node.rule,
            "rate": node.rate,
            "under": node.parent_visits,
            "edges": [
                {
                    "action": edge.action,
                    "text": game.action_to_notation(state, edge.action),
                    "n": edge.visits,
                    "w": edge.total,
                    "q": edge.q,
                    "p": edge.prior,
                    "terms": list(edge.terms),
                    "score": edge.score,
                    "eligible": edge.is_eligible,
                    "next": edge.is_next,
                }
                for edge in shown
            ],
            "hidden": len(node.edges) - len(shown),
        }

    def _tree(self) -> Plain:
        """The most visited nodes and those of the last simulation, each below its parent."""
        search = self._stepper.search
        lit = () if self._last is None else self._last.actions
        wanted = {lit[:depth] for depth in range(len(lit) + 1)} | {self._path, ()}
        wanted |= {self._path[:depth] for depth in range(len(self._path))}
        nodes = {path: node_at(search, 0, path) for path in sorted(wanted, key=len)}
        ready = _children(nodes)
        while ready and len(nodes) < MOST_NODES:
            path = max(ready, key=lambda path: (ready[path], -len(path)))
            del ready[path]
            nodes[path] = node_at(search, 0, path)
            ready |= _children({path: nodes[path]})

        return self._below((), None, nodes, lit)

    def _below(
        self,
        path: tuple[int, ...],
        edge: EdgeView | None,
        nodes: Mapping[tuple[int, ...], NodeView],
        lit: tuple[int, ...],
    ) -> Plain:
        """A node reached by `edge`, and the other `nodes` below it."""
        node = nodes[path]
        below = [e for e in node.edges if (*path, e.action) in nodes]
        hidden = sum(1 for e in node.edges if e.visits and (*path, e.action) not in nodes)
        return {
            "path": list(path),
            "text": "" if edge is None else self._texts(path)[-1],
            "n": node.visits if edge is None else edge.visits,
            "q": node.mean if edge is None else edge.q,
            "lit": path == lit[: len(path)],
            "over": node.is_terminal,
            "hidden": hidden,
            "below": [self._below((*path, e.action), e, nodes, lit) for e in below],
        }

    def _shares(self, stepper: Stepper) -> Plain:
        """The result of a search: its choice, and each action's share of the visits or of pi'."""
        assert self._line is not None
        result = stepper.search.result(0)
        order = result.ranked()
        policy = result.policy_target()
        best = result.best_action
        if best is None:
            best = int(result.actions[order[0]])
        text = self._game.action_to_notation
        return {
            "best": text(self._line.state, best),
            "value": result.value,
            "rows": [
                [
                    text(self._line.state, int(result.actions[i])),
                    int(result.visit_counts[i]),
                    float(policy[i]),
                ]
                for rank, i in enumerate(order)
                if result.actions[i] == best
                or (rank < MOST_FOUND and (result.visit_counts[i] or policy[i] > 0.001))
            ],
        }

    def _picture(self, node: NodeView, state: Any) -> str:
        """A node's position, with the visits of its edges and the next simulation's choice."""
        game = self._game
        board = game.board(state)
        layers = Layers()
        if board is not None and node.edges:
            total = max(1, sum(edge.visits for edge in node.edges))
            shares = {edge.action: edge.visits / total for edge in node.edges if edge.visits}
            mark: tuple[Hint, ...] = ()
            if node.next_action is not None and (path := board.actions.get(node.next_action, ())):
                share = shares.pop(node.next_action, None)
                words = "?" if share is None else f"{100 * share:.0f}?"
                mark = (Hint(path=path, weight=1.0, text=words, seat=board.to_move or 0),)
            layers = Layers(heat=heat_of(board, shares), line=mark)
        return draw(game, state, layers=layers).svg


def _children(nodes: Mapping[tuple[int, ...], NodeView]) -> dict[tuple[int, ...], int]:
    """Visits of tried edges that lead to none of the drawn nodes, by path."""
    return {
        (*path, edge.action): edge.visits
        for path, node in nodes.items()
        for edge in node.edges
        if edge.visits and (*path, edge.action) not in nodes
    }


def _one_of(request: Mapping[str, Any], key: str, names: Collection[str], usual: str) -> str:
    value = request.get(key, usual)
    if not isinstance(value, str) or value not in names:
        raise RefusedError(f"{key} must be one of {', '.join(names)}")
    return value


def _whole(request: Mapping[str, Any], key: str, least: int, most: int) -> int:
    value = request.get(key)
    if type(value) is not int or not least <= value <= most:
        raise RefusedError(f"{key} must be a whole number from {least} to {most:,}")
    return value
