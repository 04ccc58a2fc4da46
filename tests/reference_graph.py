"""The slow textbook graph search that `azcore.search` must agree with where positions are shared.

As `reference_mcts.py`, whose choice among actions it takes: one object per position and ply, found
by a dictionary. Values are kept as the definition has them, not as running sums: a node's Q is
worked out from its evaluation and from what each of its edges last saw behind it,

    Q(s) = (v + sum N(s, a) q(s, a)) / (1 + sum N(s, a)),

and q(s, a) is Q of the node behind, turned to the player here, as it was when the edge was last
passed. Whether a node is shared makes no difference to that. A walk over an edge that has fewer
visits than the node behind it ends there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from azcore.game import Game
from azcore.search.evaluators import Evaluator
from reference_gumbel import GumbelReference, halving
from reference_mcts import Node, ReferenceSearch

Path = list[tuple[Node, int]]


@dataclass
class Walk:
    """One simulation that waits for the end of its wave."""

    path: Path
    state: Any  # at its end
    node: Node | None = None  # there, once the position has been looked up
    is_second: bool = False  # an earlier walk of the wave ends there too


class GraphReference(ReferenceSearch):
    """One graph; settings as of `SearchSettings`, read as plain attributes."""

    def __init__(self, *, game: Game, evaluator: Evaluator, settings: Any) -> None:
        self.met_again = 0  # new edges that led to a known position
        self.caught_up = 0  # walks that ended at an edge that was behind
        self.evaluations = 0
        self.forgotten = 0  # roots whose legal actions were not those of their node
        super().__init__(game=game, evaluator=evaluator, settings=settings)

    def start(self, state: Any) -> None:
        self.state = state  # of the root; its node may have been met on another way
        self.ply = 0
        self.nodes: dict[tuple[int, int], Node] = {}  # by ply and key, the root left out
        super().start(state)

    def advance(self, action: int) -> None:
        child = self.root.children.get(action)
        self.state = self.game.step(self.state, action)
        self.ply += 1
        limit = 1 + int(self.settings.reuse_limit * self.settings.num_simulations)
        legal = np.flatnonzero(self.game.legal_action_mask(self.state)).tolist()
        kept = self.settings.reuse_subtree and child is not None
        if kept and child is not None:
            below = reachable(child)
            self.forgotten += sorted(child.prior) != legal
            edges = sum(len(node.children) for node in below)  # at least one for each node but one
            kept = 1 + edges <= limit and sorted(child.prior) == legal
            self.nodes = {key: n for key, n in self.nodes.items() if n in below and n is not child}
        if not kept or child is None:
            child = self._node(self.state)
            self.nodes = {}
        self.root = child

    def search(self, num_simulations: int, noise: Sequence[float] | None = None) -> None:
        self.begin(noise)
        self.simulate(num_simulations)

    def simulate(self, num_simulations: int) -> None:
        """Run simulations from a root that is known, up to `leaves_per_tree` in a wave."""
        left = num_simulations
        while left > 0:
            wave: list[Walk] = []
            while left > 0 and len(wave) < self.settings.leaves_per_tree:
                path, end = self._walk()
                if end is not None and not end.is_known:
                    break  # that position is being evaluated: the wave is full
                left -= 1
                if end is not None:
                    self._back_up(path, end)
                    continue
                node, a = path[-1]
                node.children[a] = self._node(None)  # a place, until it is known what lies there
                wave.append(Walk(path, self._state_after(path)))
                self._fly(path, 1)
            for walk in wave:
                self._look_up(walk)
            for walk in wave:
                if walk.node is None:
                    continue
                if not walk.is_second:
                    self.evaluations += not walk.node.is_terminal
                    self._evaluate([walk.node])
                self._fly(walk.path, -1)
                self._back_up(walk.path, walk.node)

    def begin(self, noise: Sequence[float] | None) -> None:
        """The root's evaluation and noise."""
        if not self.root.is_known:
            self.evaluations += 1
            self._evaluate([self.root])
        if noise is not None:
            epsilon = self.settings.dirichlet_fraction
            for a, eta in zip(sorted(self.root.prior), noise, strict=True):
                mixed = (1.0 - epsilon) * self.root.prior[a] + epsilon * float(eta)
                self.root.prior[a] = float(np.float32(mixed))

    def _look_up(self, walk: Walk) -> None:
        """Link the walk's last edge to its position; known ones are backed up at once."""
        node, a = walk.path[-1]
        key = (self.ply + len(walk.path), self.game.position_key(walk.state))
        known = self.nodes.get(key)
        if known is None:
            self.nodes[key] = walk.node = node.children[a] = super()._node(walk.state)
            return
        self.met_again += 1
        node.children[a] = known
        if known.is_known:
            self._fly(walk.path, -1)
            self._back_up(walk.path, known)
        else:
            walk.node, walk.is_second = known, True

    def _walk(self) -> tuple[Path, Node | None]:
        """The path and the known node, or the one in flight, where it ends; None: a new edge."""
        node, path = self.root, []
        while node.is_known and not node.is_terminal:
            a = self._best_action(node)
            path.append((node, a))
            if a not in node.children:
                return path, None
            child = node.children[a]
            if child.is_known and not child.is_terminal and node.visits[a] < visits_of(child):
                self.caught_up += 1
                return path, child
            node = child
        return path, node

    def _node(self, state: Any) -> Node:
        return super()._node(state) if state is not None else Node(None, 0, False)

    def _state_after(self, path: Path) -> Any:
        state = self.state
        for _, a in path:
            state = self.game.step(state, a)
        return state

    def _fly(self, path: Path, change: int) -> None:
        for node, a in path:
            node.in_flight[a] += change

    def _back_up(self, path: Path, leaf: Node) -> None:
        if leaf.is_terminal:
            self.ends_met[self.game.outcome(leaf.state)] += 1
        for node, a in reversed(path):
            child = node.children[a]
            node.visits[a] += 1
            q = mean_of(child) if child.player == node.player else -mean_of(child)
            node.total[a] = node.visits[a] * q


def visits_of(node: Node) -> int:
    return 1 + sum(node.visits.values())


def mean_of(node: Node) -> float:
    """Q(s); `total` is N(s, a) times what the edge last saw."""
    return (node.value + sum(node.total.values())) / visits_of(node)


def reachable(top: Node) -> set[Node]:
    """The nodes of a graph, each once."""
    waiting, found = [top], {top}
    while waiting:
        for child in waiting.pop().children.values():
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


class GumbelGraphReference(GraphReference, GumbelReference):
    """The same with the choices of Gumbel AlphaZero; a search always begins with an empty graph."""

    def search(self, num_simulations: int, noise: Sequence[float] | None = None) -> None:
        self.root, self.nodes = self._node(self.state), {}
        self.begin(None)
        legal = sorted(self.root.prior)
        draws = [0.0] * len(legal) if noise is None else [float(g) for g in noise]
        scale = self.settings.gumbel.scale
        self.noise = {a: scale * g for a, g in zip(legal, draws, strict=True)}
        wanted = halving(min(self.settings.gumbel.actions, len(legal)), num_simulations)
        for _ in range(num_simulations):
            self._wanted = next(wanted)
            self.simulate(1)
