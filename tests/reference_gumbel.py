"""The slow textbook form of Gumbel AlphaZero's search (Danihelka et al. 2022), for comparison.

As `reference_mcts.py`, whose nodes and backup it takes: everything is computed anew at every step
over all actions of the game, with dictionaries and full softmaxes. It shares no code with
`azcore.search`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from azcore.game import FloatArray
from reference_mcts import Node, ReferenceSearch


def halving(num_considered: int, num_simulations: int) -> Iterator[int]:
    """For each simulation, how many visits the action has that it goes to.

    Sequential halving (Karnin et al. 2013) with the visits of all actions written down.
    """
    visits = [0] * num_considered
    survivors = num_considered
    rounds = max(1, math.ceil(math.log2(num_considered)))
    while True:
        share = max(1, int(num_simulations / (rounds * survivors)))
        for _ in range(share):
            for i in range(survivors):
                yield visits[i]
                visits[i] += 1
        survivors = max(min(2, num_considered), survivors // 2)


class GumbelReference(ReferenceSearch):
    """One tree; a search always begins with an empty one."""

    def search(self, num_simulations: int, noise: Sequence[float] | None = None) -> None:
        """Run simulations, one at a time.

        Args:
            num_simulations: how many.
            noise: one standard Gumbel draw per legal action, ascending; None: zeros.
        """
        self.root = self._node(self.root.state)
        self._evaluate([self.root])
        legal = sorted(self.root.prior)
        draws = [0.0] * len(legal) if noise is None else [float(g) for g in noise]
        scale = self.settings.gumbel.scale
        self.noise = {a: scale * g for a, g in zip(legal, draws, strict=True)}
        considered = min(self.settings.gumbel.actions, len(legal))
        wanted = halving(considered, num_simulations)
        for _ in range(num_simulations):
            self._wanted = next(wanted)
            path, leaf, _ = self._descend()
            if not leaf.is_known:
                self._evaluate([leaf])
            self._back_up(path, leaf)

    def best_action(self) -> int:
        """argmax of g + logits + sigma(q) among the most visited (algorithm 2)."""
        return self._best_at_root(max(self.root.visits.values()))

    def improved_policy(self, node: Node) -> FloatArray:
        """pi' = softmax(logits + sigma(completedQ)), [A] with zeros where illegal (equation 11)."""
        size = self.game.num_actions
        logits = np.full(size, -np.inf)
        for a, prior in node.prior.items():
            logits[a] = math.log(prior)
        logits += self._sigma(node)
        weights = np.exp(logits - logits.max())
        return np.asarray(weights / weights.sum())

    def root_value(self) -> float:
        """The sum of pi'(a) completedQ(a) over legal actions."""
        policy, completed = self.improved_policy(self.root), self._completed(self.root)
        return float(sum(policy[a] * completed[a] for a in self.root.prior))

    def _best_action(self, node: Node) -> int:
        if node is self.root:
            return self._best_at_root(self._wanted)
        policy = self.improved_policy(node)
        total = 1 + sum(node.visits.values())
        return max(node.prior, key=lambda a: (policy[a] - node.visits[a] / total, -a))  # eq. 14

    def _best_at_root(self, visits: int) -> int:
        node, sigma = self.root, self._sigma(self.root)
        candidates = [a for a in node.prior if node.visits[a] == visits]
        return max(
            candidates, key=lambda a: (self.noise[a] + math.log(node.prior[a]) + sigma[a], -a)
        )

    def _completed(self, node: Node) -> FloatArray:
        """completedQ of all actions, illegal ones too, as mctx has it (equations 10 and 33)."""
        rule = self.settings
        tried = [a for a in node.prior if node.visits[a]]
        count = sum(node.visits.values())
        completion = node.value
        if rule.gumbel.mixed_value and tried:
            q = {a: node.total[a] / node.visits[a] for a in tried}
            share = sum(node.prior[a] for a in tried)
            mean = sum(node.prior[a] * q[a] for a in tried) / share
            completion = (node.value + count * mean) / (1 + count)
        completed = np.full(self.game.num_actions, completion)
        for a in tried:
            completed[a] = node.total[a] / node.visits[a]
        return completed

    def _sigma(self, node: Node) -> FloatArray:
        """sigma(completedQ), [A] (equation 8)."""
        rule, completed = self.settings, self._completed(node)
        if rule.gumbel.rescale:
            reach = completed.max() - completed.min()
            completed = (completed - completed.min()) / max(reach, 1e-8)
        most = max(node.visits.values())
        return (rule.gumbel.c_visit + most) * rule.gumbel.c_scale * completed
