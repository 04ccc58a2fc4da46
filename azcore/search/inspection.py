"""A search in single steps, with every number behind its choices.

    stepper = Stepper(search, simulations=200)     # of one tree, with a position at its root
    simulation = stepper.step()                    # or step(value=0.5), in the network's place
    at = node_at(search, 0, simulation.actions[:1])   # any node by the actions that lead to it

The search itself runs unchanged; this is not a second search. Values are in [-1, 1].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from azcore.errors import GameError
from azcore.search import gumbel as formulas
from azcore.search import puct
from azcore.search.gumbel import Gumbel
from azcore.search.mcts import Noise, Search
from azcore.search.roots import Trees
from azcore.search.tree import PENDING, Tree, mean_value
from azcore.search.walks import choose_edge


@dataclass(frozen=True, kw_only=True)
class EdgeView:
    """An action of a node. Its score is the sum of two terms, which depend on the node's rule.

    - `puct`: Q(s, a) and U(s, a);
    - `considered` (the root of a Gumbel search): g + log P(a) and sigma(completedQ(a));
    - `improved` (below it): pi'(a) and -N(a) / (1 + sum N(b)).
    """

    action: int
    visits: int  # N(s, a)
    total: float  # W(s, a), view of the node's player
    q: float  # W / N; for an action without visits, the rule's substitute
    prior: float  # P(s, a), noise included
    terms: tuple[float, float]
    is_eligible: bool  # false: the rule does not consider it now (sequential halving)
    is_next: bool  # the next simulation through the node takes it

    @property
    def score(self) -> float:
        return sum(self.terms)


@dataclass(frozen=True, kw_only=True)
class NodeView:
    """A node of a search tree."""

    path: tuple[int, ...]  # the actions that lead to it from the root
    player: int  # the seat to move; after the end, the seat whose view the outcome takes
    visits: int  # N(s): 1 for its evaluation, and the sum of its edges' visits
    value: float  # the evaluator's value, or the outcome; view of `player`
    mean: float  # mean of all values below, its own included; the same view
    is_terminal: bool
    rule: str  # `puct`, `considered` or `improved`
    rate: float  # C(s) on the scale of Q, for `puct` alone; else 0
    parent_visits: float  # N(s) under the root in U, for `puct` alone; else 0
    edges: tuple[EdgeView, ...]  # most visits first, then the highest prior

    @property
    def next_action(self) -> int | None:
        """The next simulation's action at the node; None if the game is over."""
        return next((edge.action for edge in self.edges if edge.is_next), None)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One edge of a simulation's path, before and after it."""

    action: int
    player: int  # the seat that chose it
    before: tuple[int, float]  # N, W
    after: tuple[int, float]
    gain: float  # the value added to W: the leaf's, in the view of `player`
    node: NodeView  # where it was chosen, before the simulation


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """The result of one simulation; the first evaluates the root and takes no edge."""

    path: tuple[Step, ...]
    player: int  # the seat to move at the leaf
    value: float  # the leaf's value, view of `player`
    is_terminal: bool  # the value is the outcome, without an evaluation

    @property
    def actions(self) -> tuple[int, ...]:
        return tuple(step.action for step in self.path)


class Stepper:
    """Runs the simulations of one search one by one.

    Args of the constructor:
        search: a search of one leaf at a time, with its position at root `row`, not searched yet.
        simulations: their total number, which a Gumbel search divides in advance.
        noise: the root's noise, as in `Search.begin`.
        row: the tree.

    Raises:
        GameError: several leaves at once, transpositions, or the game is over.
    """

    def __init__(
        self, search: Search, simulations: int, noise: Noise | None = None, row: int = 0
    ) -> None:
        settings = search.settings
        if settings.leaves_per_tree > 1 or settings.transpositions:
            raise GameError(
                "steps through a search need search.leaves_per_tree=1 and "
                "search.transpositions=false"
            )
        self.search, self.row = search, row
        search.begin(row, simulations, noise)
        search.simulate(row)  # evaluates the root

    @property
    def done(self) -> int:
        """The simulations so far."""
        return self.search.held(self.row)

    def step(self, value: float | None = None) -> Simulation:
        """Run one more simulation.

        Args:
            value: a value in [-1, 1] for the leaf, in the view of the player to move there, in
                place of the evaluator's. It cannot replace the outcome of a game.
        """
        walk = list(self._walk())
        self.search.simulate(self.row, value)
        return self._described(walk)

    def _walk(self) -> list[NodeView]:
        """The nodes on the next simulation's path, from the root to the last known one."""
        nodes = [node_at(self.search, self.row)]
        while (action := nodes[-1].next_action) is not None:
            path = (*nodes[-1].path, action)
            if not has_node(self.search, self.row, path):
                break
            nodes.append(node_at(self.search, self.row, path))
        return nodes

    def _described(self, walk: Sequence[NodeView]) -> Simulation:
        last = walk[-1].next_action
        path = walk[-1].path if last is None else (*walk[-1].path, last)
        leaf = node_at(self.search, self.row, path)
        steps = []
        for before, action in zip(walk, path, strict=False):
            after = node_at(self.search, self.row, before.path)
            old, new = (_edge(each, action) for each in (before, after))
            steps.append(
                Step(
                    action=action,
                    player=before.player,
                    before=(old.visits, old.total),
                    after=(new.visits, new.total),
                    gain=leaf.value if before.player == leaf.player else -leaf.value,
                    node=before,
                )
            )
        return Simulation(
            path=tuple(steps), player=leaf.player, value=leaf.value, is_terminal=leaf.is_terminal
        )


def _edge(node: NodeView, action: int) -> EdgeView:
    return next(edge for edge in node.edges if edge.action == action)


def has_node(search: Search, b: int, path: Sequence[int]) -> bool:
    """Whether tree b has evaluated the position after some actions."""
    return _find(search.trees.tree, b, path) is not None


def is_end(search: Search, b: int, path: Sequence[int]) -> bool:
    """Whether a line of actions from a root leads to a visited terminal node."""
    n = _find(search.trees.tree, b, path)
    return n is not None and bool(search.trees.tree.nodes["terminal"][b, n])


def _find(tree: Tree, b: int, path: Sequence[int]) -> int | None:
    """The node that some actions from the root lead to, as n; None if the tree has none."""
    n = 0
    for action in path:
        node = tree.nodes[b, n]
        if node.num_edges == PENDING:
            return None
        first = node.first_edge
        tried = tree.edge_action[b, first : first + node.num_tried]
        places = np.flatnonzero(tried == action)
        if not len(places):
            return None
        n = int(tree.tried[b, node.first_tried + int(places[0])].child)
    return None if tree.nodes[b, n].num_edges == PENDING else n


def node_at(search: Search, b: int, path: Sequence[int] = ()) -> NodeView:
    """A node of a tree, and why the next simulation takes its edge.

    Args:
        b: the tree.
        path: the actions that lead to the node from the root.

    Raises:
        GameError: the tree has no evaluated node there.
    """
    trees, tree, gumbel = search.trees, search.trees.tree, search.trees.variants.gumbel
    n = _find(tree, b, path)
    if n is None:
        raise GameError(f"the search has not evaluated the position after {list(path)}")
    node = tree.nodes[b, n]
    rule = "puct" if gumbel is None else "improved" if n else "considered"
    rate = visits = 0.0
    terms: list[tuple[float, float]] = []
    eligible = [True] * int(node.num_edges)
    qs, first = _values(tree, b, n), 0.0
    is_spent = False
    if gumbel is None:
        shared, terms = _puct_terms(trees, b, n)
        rate, visits, first = shared.rate, shared.visits, shared.first_play
    elif n:
        first, terms = _improved_terms(tree, b, n, gumbel, qs)
    elif node.num_edges:
        is_spent = int(node.visits) > gumbel.considered_visits.shape[1]  # the root's schedule
        first, terms, eligible = _considered_terms(tree, b, gumbel, qs, is_spent)
    taken = -1
    if node.num_edges > 0 and not is_spent:
        taken = int(choose_edge(tree, b, n, trees.rule, trees.variants))
    edges = [
        EdgeView(
            action=int(tree.edge_action[b, node.first_edge + i]),
            visits=_visits(tree, b, n, i),
            total=_total(tree, b, n, i),
            q=float(first if q is None else q),
            prior=float(tree.edge_prior[b, node.first_edge + i]),
            terms=(float(terms[i][0]), float(terms[i][1])),
            is_eligible=eligible[i],
            is_next=i == taken,
        )
        for i, q in enumerate(qs)
    ]
    edges.sort(key=lambda edge: (-edge.visits, -edge.prior, edge.action))
    return NodeView(
        path=tuple(int(action) for action in path),
        player=int(node.player),
        visits=max(1, int(node.visits)),
        value=float(node.value),
        mean=float(node.value) if node.visits <= 1 else float(mean_value(tree, b, n)),
        is_terminal=bool(node.terminal),
        rule=rule,
        rate=float(rate),
        parent_visits=float(visits),
        edges=tuple(edges),
    )


def _visits(tree: Tree, b: int, n: int, i: int) -> int:
    node = tree.nodes[b, n]
    return int(tree.tried[b, node.first_tried + i].visits) if i < node.num_tried else 0


def _total(tree: Tree, b: int, n: int, i: int) -> float:
    node = tree.nodes[b, n]
    return float(tree.tried[b, node.first_tried + i].total) if i < node.num_tried else 0.0


def _values(tree: Tree, b: int, n: int) -> list[float | None]:
    """Q(s, a) of each edge of a node; None without a visit."""
    node = tree.nodes[b, n]
    return [
        float(tree.tried[b, node.first_tried + i].q) if _visits(tree, b, n, i) else None
        for i in range(node.num_edges)
    ]


def _priors(tree: Tree, b: int, n: int) -> list[float]:
    node = tree.nodes[b, n]
    return [float(tree.edge_prior[b, node.first_edge + i]) for i in range(node.num_edges)]


def _puct_terms(trees: Trees, b: int, n: int) -> tuple[puct.Shared, list[tuple[float, float]]]:
    """The shared terms of a node's scores, and (Q, U) of each edge."""
    tree, rule = trees.tree, trees.rule
    shared = puct.shared_terms(tree, b, n, rule, trees.variants)
    terms = []
    for i in range(tree.nodes[b, n].num_edges):
        if i < tree.nodes[b, n].num_tried:
            edge = puct.tried_edge(tree, b, n, i, rule, None, shared.first_play)
        else:
            edge = puct.untried_edge(tree, b, n, i, shared.first_play)
        terms.append((edge.q, puct.exploration(edge, shared, trees.variants.formula)))
    return shared, terms


def _improved_terms(
    tree: Tree, b: int, n: int, gumbel: Gumbel, qs: Sequence[float | None]
) -> tuple[float, list[tuple[float, float]]]:
    """v_mix, and (pi', -N / (1 + sum N)) of each edge."""
    completion, _, slope, highest = formulas.q_transform(tree, b, n, gumbel)
    weights = [
        formulas.improved_weight(prior, completion if q is None else q, slope, highest)
        for q, prior in zip(qs, _priors(tree, b, n), strict=True)
    ]
    whole = sum(weights) or 1.0
    visits = float(tree.nodes[b, n].visits)
    return completion, [
        (weight / whole, -_visits(tree, b, n, i) / visits) for i, weight in enumerate(weights)
    ]


def _considered_terms(
    tree: Tree, b: int, gumbel: Gumbel, qs: Sequence[float | None], is_spent: bool
) -> tuple[float, list[tuple[float, float]], list[bool]]:
    """v_mix, (g + log P, sigma(completedQ)) of each edge, and whether it may be next."""
    completion, low, slope, _ = formulas.q_transform(tree, b, 0, gumbel)
    considered = int(gumbel.num_considered[b])
    wanted = -1
    if not is_spent:
        wanted = int(gumbel.considered_visits[b, int(tree.nodes[b, 0].visits) - 1])
    terms, eligible = [], []
    for i, (q, prior) in enumerate(zip(qs, _priors(tree, b, 0), strict=True)):
        is_drawn = i < considered
        score = float(gumbel.root_scores[b, i]) if is_drawn else math.log(max(prior, 1e-38))
        terms.append((score, slope * ((completion if q is None else q) - low)))
        eligible.append(is_drawn and _visits(tree, b, 0, i) == wanted)
    return completion, terms, eligible
