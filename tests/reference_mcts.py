"""The slow textbook search that `azcore.search` must agree with, number for number.

One tree, one node object per position, a dict entry per legal action, a plain maximum over all of
them; states are stepped one at a time through `Game`. It shares no code with `azcore.search`.

Priors are kept in float32, as the arrays keep them, so that ties break alike. Letters are the
papers' (N, W, Q, P), each said below.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from azcore.game import ByteArray, FloatArray, Game
from azcore.search.evaluators import Evaluator


class HashEvaluator(Evaluator):
    """Judges a position by the hash of its observation: arbitrary, but always the same.

    Logits are halves and values eighths, coarse enough that scores tie now and then.
    """

    def __init__(self, game: Game, seed: int = 0) -> None:
        self._num_actions = game.num_actions
        self._seed = seed
        self._known: dict[bytes, tuple[FloatArray, np.float32]] = {}

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        judged = [self._judge(observation.tobytes()) for observation in observations]
        if not judged:
            return np.zeros((0, self._num_actions), np.float32), np.zeros(0, np.float32)
        logits, values = zip(*judged, strict=True)
        return np.stack(logits), np.array(values, np.float32)

    def _judge(self, key: bytes) -> tuple[FloatArray, np.float32]:
        if key not in self._known:
            rng = np.random.default_rng([self._seed, zlib.crc32(key)])
            logits = rng.integers(-3, 4, self._num_actions).astype(np.float32) / 2
            self._known[key] = logits, np.float32(rng.integers(-8, 9) / 8)
        return self._known[key]


def decided(game: Game, state: Any, plies: int) -> tuple[int, int] | None:
    """What is forced within the fewest plies, and by which action."""
    found = (forced(game, state, n) for n in range(1, plies + 1))
    return next((one for one in found if one is not None), None)


def forced(game: Game, state: Any, plies: int) -> tuple[int, int] | None:
    """(1, a) if action a wins for sure within so many plies, (-1, a) if all lose, a last."""
    me = game.current_player(state)

    def value(state: Any, left: int) -> int:  # for me, as far as the plies reach; 0: open or drawn
        if game.is_terminal(state):
            return game.outcome(state) * (1 if me == 0 else -1)
        if left == 0:
            return 0
        actions = np.flatnonzero(game.legal_action_mask(state))
        values = [value(game.step(state, a), left - 1) for a in actions]
        return max(values) if game.current_player(state) == me else min(values)

    values = {a: value(game.step(state, a), plies - 1) for a in legal_actions(game, state)}
    if plies % 2 == 1 and max(values.values()) == 1:
        return 1, next(a for a, v in values.items() if v == 1)
    if plies % 2 == 0 and max(values.values()) == -1:
        return -1, list(values)[-1]
    return None


def legal_actions(game: Game, state: Any) -> list[int]:
    return [int(action) for action in np.flatnonzero(game.legal_action_mask(state))]


@dataclass(eq=False)
class Node:
    """One position. Edge values are seen by `player`, who chooses among the edges."""

    state: Any
    player: int
    is_terminal: bool
    value: float = 0.0  # evaluation or final result, view of `player`
    is_known: bool = False  # the evaluation has arrived, or the final result has
    prior: dict[int, float] = field(default_factory=dict)  # P(s, a), keys are the legal actions
    visits: dict[int, int] = field(default_factory=dict)  # N(s, a), without those in flight
    total: dict[int, float] = field(default_factory=dict)  # W(s, a)
    in_flight: dict[int, int] = field(default_factory=dict)  # simulations below that edge
    children: dict[int, Node] = field(default_factory=dict)
    squares: float = 0.0  # sum of the squares of its visits' values, its own evaluation included
    winner: int | None = None  # the seat that is proven to win
    forced_winner: int | None = None  # within `proof_plies`; then `is_terminal`

    def is_lost(self, a: int) -> bool:
        """Whether an action is proven to lose for `player`."""
        child = self.children.get(a)
        return child is not None and child.winner == 1 - self.player

    def is_won(self, a: int) -> bool:
        """Whether an action is proven to win for `player`."""
        child = self.children.get(a)
        return child is not None and child.winner == self.player


class ReferenceSearch:
    """One tree; settings as of `SearchSettings`, read as plain attributes."""

    def __init__(self, *, game: Game, evaluator: Evaluator, settings: Any) -> None:
        self.game = game
        self.evaluator = evaluator
        self.settings = settings
        self.ends_met: Counter[int] = Counter()  # simulations that ended the game, by outcome
        self.forced_met = 0  # roots and leaves that `proof_plies` decided
        self.start(game.initial_state())

    def start(self, state: Any) -> None:
        self.root = self._node(state)
        self.forces = False  # visits at the root, in the latest search

    def advance(self, action: int) -> None:
        child = self.root.children.get(action)
        limit = 1 + int(self.settings.reuse_limit * self.settings.num_simulations)
        cut_off = child is not None and child.forced_winner is not None
        if child is None or cut_off or not self.settings.reuse_subtree or count(child) > limit:
            child = self._node(self.game.step(self.root.state, action))
        self.root = child

    def search(
        self,
        num_simulations: int,
        noise: Sequence[float] | None = None,
        best_only: bool = False,
        proves: bool = True,
    ) -> None:
        """Run simulations, up to `leaves_per_tree` evaluated together, after the root is known.

        Args:
            num_simulations: how many.
            noise: one number per legal action, ascending; mixed into the root's priors.
            best_only: end once no other action can become the first choice.
            proves: keep only the action of a forced win at the root, if there is one.
        """
        if not self.root.is_known:
            self._evaluate([self.root])
        plies = self.settings.proof_plies + 1 if self.settings.proof_plies and proves else 0
        found = decided(self.game, self.root.state, plies)
        if found is not None and found[0] > 0:
            self.forced_met += 1
            only = found[1]  # from a tree of nothing but the root
            self.root.prior = {only: self.root.prior[only]}
            self.root.visits, self.root.total = {only: 0}, {only: 0.0}
            self.root.in_flight, self.root.children = {only: 0}, {}
            self.root.winner = None
        if found is not None and found[0] > 0 and noise is not None:
            noise = noise[:1]
        self.visits_before = sum(self.root.visits.values())
        if noise is not None:
            epsilon, inverse = self.settings.dirichlet_fraction, 1 / self.settings.root_temperature
            if inverse != 1:
                highest = max(self.root.prior.values())
                softened = {
                    a: (self.root.prior[a] / highest) ** inverse for a in sorted(self.root.prior)
                }
                whole = 0.0
                for weight in softened.values():
                    whole += weight
                self.root.prior = {a: softened[a] / whole for a in self.root.prior}
            for a, eta in zip(sorted(self.root.prior), noise, strict=True):
                mixed = (1.0 - epsilon) * self.root.prior[a] + epsilon * float(eta)
                self.root.prior[a] = float(np.float32(mixed))
        self.forces = noise is not None
        left = num_simulations
        while left > 0 and self.root.winner is None:
            wave: list[tuple[list[tuple[Node, int]], Node]] = []
            while left > 0 and len(wave) < self.settings.leaves_per_tree:
                if self.root.winner is not None:
                    left = 0
                    break
                if best_only and self._is_settled(left + len(wave)):
                    left = 0
                    break
                path, leaf, is_new = self._descend()
                if leaf.is_terminal and leaf.is_known:
                    left -= 1
                    self._back_up(path, leaf)
                elif is_new:
                    left -= 1
                    wave.append((path, leaf))
                    for node, a in path:
                        node.in_flight[a] += 1
                else:
                    break  # that leaf is being evaluated: the wave is full
            self._evaluate([leaf for _, leaf in wave])
            for path, leaf in wave:
                for node, a in path:
                    node.in_flight[a] -= 1
                self._back_up(path, leaf)

    def _is_settled(self, left: int) -> bool:
        """Whether the first choice is the same, whichever action gets all visits that are left."""
        root = self.root

        def first_choice(visits: dict[int, int]) -> int:
            return max(visits, key=lambda a: (visits[a], root.prior[a], -a))

        ends = [{**root.visits, a: root.visits[a] + left} for a in root.visits]
        return {first_choice(visits) for visits in ends} == {first_choice(root.visits)}

    def _node(self, state: Any) -> Node:
        return Node(state, self.game.current_player(state), self.game.is_terminal(state))

    def _descend(self) -> tuple[list[tuple[Node, int]], Node, bool]:
        """Walk to a leaf: the path, the leaf, and whether this walk made it."""
        node, path = self.root, []
        while node.is_known and not node.is_terminal:
            a = self._best_action(node)
            path.append((node, a))
            if a not in node.children:
                child = node.children[a] = self._node(self.game.step(node.state, a))
                found = None
                if not child.is_terminal:
                    found = decided(self.game, child.state, self.settings.proof_plies)
                if found is not None:
                    self.forced_met += 1
                    wins = found[0] > 0
                    child.is_terminal = True
                    child.forced_winner = child.player if wins else 1 - child.player
                return path, child, True
            node = node.children[a]
        return path, node, False

    def _best_action(self, node: Node) -> int:
        """argmax of Q + U, ties to the higher prior and then to the lower action."""
        rule = self.settings
        losses = rule.virtual_loss if rule.leaves_per_tree > 1 else 0
        visits = {a: node.visits[a] + losses * node.in_flight[a] for a in node.prior}
        if rule.virtual_loss_is_loss:
            evaluated = visits
            total = {a: node.total[a] - losses * node.in_flight[a] for a in node.prior}
        else:
            evaluated, total = node.visits, node.total
        n = sum(visits.values())
        if rule.count_parent_visit:
            n += 1
        c = rule.c_init
        if not math.isinf(rule.c_base):
            c = math.log((1.0 + n + rule.c_base) / rule.c_base) + rule.c_init
        lost, won = rule.value_range
        unit = 2.0 / (won - lost)  # of that scale in Q from -1 to 1
        if rule.first_play_relative:
            reduction = rule.first_play * unit
            if rule.first_play_by_mass:
                mass = 0.0
                for a in node.children:  # in the order of their first visits
                    mass += node.prior[a]
                reduction *= math.sqrt(mass)
            first_play = node.value - reduction
        else:
            first_play = (rule.first_play - lost) * unit - 1.0
        spread = self._spread_factor(node)
        if node is self.root and self.forces:
            lacking = [
                a for a in node.children if node.visits[a] < self._forced(a) and not node.is_lost(a)
            ]
            if lacking:
                return max(lacking, key=lambda a: (node.prior[a], -a))

        def rank(a: int) -> tuple[float, float, int]:
            q = total[a] / evaluated[a] if evaluated[a] else first_play
            scale = unit * (c * math.sqrt(n)) * spread  # rounded in this order
            u = scale * (node.prior[a] / (1.0 + visits[a]))
            return q + u, node.prior[a], -a

        return max((a for a in node.prior if not node.is_lost(a)), key=rank)

    def _spread_factor(self, node: Node) -> float:
        """1 + k (spread / prior - 1), the spread with a prior that counts for some visits."""
        rule, n = self.settings, 1 + sum(node.visits.values())
        if not rule.c_spread or n == 1:
            return 1.0
        whole = node.value
        for a in node.children:  # in the order of their first visits
            whole += node.total[a]
        mean = whole / n
        prior = (mean * mean + rule.c_spread_prior * rule.c_spread_prior) * rule.c_spread_visits
        total = max(node.squares, mean * mean * n) + prior
        variance = total / (rule.c_spread_visits + n - 1.0) - mean * mean
        sigma = math.sqrt(max(0.0, variance))
        return float(1.0 + rule.c_spread * (sigma / rule.c_spread_prior - 1.0))

    def _forced(self, a: int) -> float:
        """Visits that a tried action of the root has at least: sqrt(k P(a) N)."""
        prior, simulations = self.root.prior[a], sum(self.root.visits.values())
        return math.sqrt(self.settings.forced_visits * prior * simulations)

    def best(self) -> int:
        """The action to play: won before all, lost after all, then by visits."""
        root = self.root

        def rank(a: int) -> tuple[bool, bool, int, float, int]:
            return root.is_won(a), not root.is_lost(a), root.visits[a], root.prior[a], -a

        return max(root.visits, key=rank)

    def q_values(self) -> list[float]:
        """Q(s, a) of the root's actions, ascending."""
        root, found = self.root, []
        for a in sorted(root.visits):
            q = root.total[a] / max(1, root.visits[a])
            found.append(1.0 if root.is_won(a) else -1.0 if root.is_lost(a) else q)
        return found

    def value(self) -> float:
        """The value of the root: proven, or a mean, or the evaluator's."""
        root = self.root
        if root.winner is not None:
            return 1.0 if root.winner == root.player else -1.0
        if not any(root.visits.values()):
            return root.value
        return float(np.sum([root.total[a] for a in sorted(root.total)])) / sum(
            root.visits.values()
        )

    def kept_visits(self) -> dict[int, int]:
        """The root's visits that a policy target has: none forced, none that is proven to lose."""
        visits, root = dict(self.root.visits), self.root
        if any(map(root.is_won, visits)):
            return {a: n * root.is_won(a) for a, n in visits.items()}
        if all(map(root.is_lost, visits)):
            return visits
        kept = {a: n * (not root.is_lost(a)) for a, n in self._unforced_visits().items()}
        if any(visits.values()) and not any(kept.values()):
            kept[self.best()] = 1
        return kept

    def _unforced_visits(self) -> dict[int, int]:
        """The root's visits without the forced ones that its PUCT would not have made."""
        root, rule = self.root, self.settings
        kept = dict(root.visits)
        if not (self.forces and rule.forced_visits):
            return kept
        n = sum(kept.values()) + rule.count_parent_visit
        c = rule.c_init
        if not math.isinf(rule.c_base):
            c = math.log((1.0 + n + rule.c_base) / rule.c_base) + rule.c_init
        scale = 2.0 / (rule.value_range[1] - rule.value_range[0]) * (c * math.sqrt(n))
        scale *= self._spread_factor(root)
        best = self.best()

        def score(a: int, visits: int) -> float:
            return root.total[a] / root.visits[a] + scale * (root.prior[a] / (1.0 + visits))

        for a in kept:
            if a == best or root.is_lost(a):
                continue
            for _ in range(min(int(self._forced(a)), root.visits[a])):
                if score(a, kept[a] - 1) < score(best, root.visits[best]):
                    kept[a] -= 1
                else:
                    break
            if kept[a] == 1:
                kept[a] = 0
        return kept

    def _evaluate(self, leaves: list[Node]) -> None:
        for node in leaves:
            node.is_known = True
            if node.is_terminal:
                if node.forced_winner is None:
                    z = self.game.outcome(node.state)
                else:
                    z = 1 if node.forced_winner == 0 else -1
                node.value = float(z if node.player == 0 else -z)
                if self.settings.solve and z != 0:
                    node.winner = 0 if z > 0 else 1
                continue
            logits, values = self.evaluator.evaluate(
                self.game.observation(node.state)[None].astype(np.uint8)
            )
            node.value = float(values[0])
            node.squares = node.value * node.value
            legal = [int(a) for a in np.flatnonzero(self.game.legal_action_mask(node.state))]
            highest = max(float(logits[0, a]) for a in legal)
            weights = [float(np.float32(math.exp(float(logits[0, a]) - highest))) for a in legal]
            whole = 0.0
            for weight in weights:  # not sum(), which rounds otherwise from Python 3.12 on
                whole += weight
            for a, weight in zip(legal, weights, strict=True):
                node.prior[a] = float(np.float32(weight / whole))
                node.visits[a], node.total[a], node.in_flight[a] = 0, 0.0, 0

    def _back_up(self, path: list[tuple[Node, int]], leaf: Node) -> None:
        if leaf.is_terminal:
            forced = leaf.forced_winner
            z = self.game.outcome(leaf.state) if forced is None else 1 - 2 * forced
            self.ends_met[z] += 1
        for node, a in path:
            node.visits[a] += 1
            node.total[a] += leaf.value if node.player == leaf.player else -leaf.value
        for node, _ in path:
            node.squares += leaf.value * leaf.value
        for node, _ in reversed(path):
            if any(map(node.is_won, node.prior)):
                node.winner = node.player
            if all(map(node.is_lost, node.prior)):
                node.winner = 1 - node.player


def count(top: Node) -> int:
    """Nodes of a subtree."""
    waiting, found = [top], 0
    while waiting:
        node = waiting.pop()
        found += 1
        waiting.extend(node.children.values())
    return found


Snapshot = dict[tuple[int, ...], tuple[Any, ...]]


def snapshot(top: Node) -> Snapshot:
    """Everything a tree holds, by path from its root.

    Each entry: player, is_terminal, value, N(s), {action: (P, N, W)}.
    """
    waiting: list[tuple[tuple[int, ...], Node]] = [((), top)]
    found: Snapshot = {}
    while waiting:
        path, node = waiting.pop()
        edges = {a: (node.prior[a], node.visits[a], node.total[a]) for a in node.prior}
        visits = 1 + sum(node.visits.values()) if node.is_known else 0
        found[path] = (node.player, node.is_terminal, node.value, visits, edges)
        waiting.extend(((*path, a), child) for a, child in node.children.items())
    return found
