"""The search loop: B trees of one game, searched together to give the evaluator full batches.

One simulation is select (walk to a leaf), replay (the game describes the leaf), evaluate, expand
and back up (Silver 2017, Nature 24270, Methods "Search algorithm"). Each call of `wave` advances
every unfinished tree by up to `leaves_per_tree` simulations:

    search.start(row)                     # or start(row, state)
    search.begin(row, num_simulations)    # for each row to be searched
    while search.wave():
        ...
    search.result(row)
    search.advance(row, action)           # keeps the subtree

Letters: B trees, S slots = B * leaves_per_tree, A actions, K legal actions of a root.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.errors import AzcoreError, GameError
from azcore.game import FloatArray, Game, IntArray
from azcore.game.batch import make_batch
from azcore.game.compilation import code_for
from azcore.game.exhaustive_search import nothing_decided
from azcore.game.positions import Paths, make_positions
from azcore.search import (
    backups,
    gumbel,
    proofs,
    puct,
    results,
    roots,
    softmax,
    transpositions,
    tree,
    walks,
)
from azcore.search.evaluators import Evaluator
from azcore.search.forced_wins import ForcedWins
from azcore.search.memory import make_trees
from azcore.search.proofs import proof_of
from azcore.search.rules import refuse_patches
from azcore.search.settings import SearchResult, SearchSettings
from azcore.search.tree import PENDING, bring_next_candidate, with_more_edges
from azcore.settings import require

# (row, K) -> float32 [K], noise of that root: Dirichlet with PUCT, standard Gumbel with Gumbel
Noise = Callable[[int, int], FloatArray]
KERNELS = (backups, gumbel, proofs, puct, results, roots, softmax, transpositions, tree, walks)


class Search:
    """B trees of one game and the evaluator of their leaves.

    Between `select` and `finish` leaves are in flight. Callers may then call `start` and
    `set_evaluator`, but `begin`, `advance` and `result` only for finished trees.

    Args:
        num_trees: B.
        evaluator: evaluates leaves; `set_evaluator` replaces it.

    Raises:
        SettingError: transpositions are enabled, but the game has no `position_key`; `puct.rule`
            cannot be used; or a function of this package was replaced, see `rules.py`.
    """

    def __init__(
        self, *, game: Game, num_trees: int, evaluator: Evaluator, settings: SearchSettings
    ) -> None:
        require(
            not settings.transpositions or game.has_position_key,
            "search.transpositions",
            f"false for {game.name}, which states no position_key",
            settings.transpositions,
        )
        refuse_patches(*KERNELS)
        self.game = game
        self.settings = settings
        self.num_trees = num_trees
        self.states = make_batch(game, num_trees)
        self._evaluator = evaluator
        self.trees, self._slots = make_trees(game, num_trees, settings)
        variants = self.trees.variants
        self._backing_up = variants.only("in_flight", "transpositions", "proofs", "squares")
        self._moving = variants.only("transpositions", "proofs", "squares")
        pruning = ("forced", "in_flight", "squares", "formula") if settings.forced_visits else ()
        self._reading = variants.only("gumbel", "proofs", *pruning)
        slots = len(self._slots.tree)
        self._positions = make_positions(game, slots, keys=settings.transpositions)
        self._code: dict[Any, Callable[..., Any]] = {}  # by kernel, see `call`
        self.num_leaves = 0  # leaves of the current wave
        self._noise: dict[int, Noise] = {}  # keyed by row, to mix in once
        of_game = settings.proof_plies is None
        self._proof_plies = game.proof_plies if of_game else settings.proof_plies or 0
        self._decided = nothing_decided(slots)
        # One ply more at the root, as far as the leaves of its first moves: a search that only
        # compared decided leaves could postpone a win forever.
        self.forced_wins = ForcedWins(self.states, self._proof_plies and self._proof_plies + 1)
        self._only: dict[int, int] = {}  # row -> action that its root keeps once evaluated
        self.proof_seconds = 0.0  # seconds of the current wave, for `proof_plies`

    # -- positions ------------------------------------------------------------------------------

    def change_game(self, game: Game) -> None:
        """Search another game from now on, with the same facts and compiled rules.

        All trees must be started again.
        """
        self.game = self.states.game = game

    def start(self, row: int, state: Any = None) -> None:
        """Put a position (None: the initial one) at the root of an empty tree."""
        self.states.set(row, self.game.initial_state() if state is None else state)
        self._forget(row)
        self.forced_wins.forget([row])
        if (known := self.trees.variants.transpositions) is not None:
            known.root_ply[row] = 0

    def advance(self, row: int, action: int) -> None:
        """Play a legal action at a root; keep the subtree behind it if the settings ask for it."""
        self.states.step(row, action)
        self.forced_wins.forget([row])
        self.call(roots.advance, self.trees._replace(variants=self._moving), row, action)
        self._check_root(row)
        self._clear_decided([row])

    def play(self, actions: IntArray, is_over: npt.NDArray[np.bool_]) -> None:
        """Repeat at the roots what a kernel has played in the trees; see `GameBatch.play`."""
        self.states.play(actions, is_over)
        moved = np.flatnonzero(actions >= 0).tolist()
        self.forced_wins.forget(moved)
        if self.settings.transpositions:
            for row in moved:
                self._check_root(row)
        self._clear_decided(moved)

    def _check_root(self, row: int) -> None:
        """Clear a tree if its root came from another path and has other legal actions by this one.

        Rules about earlier positions, such as superko, may distinguish the two.
        """
        if self.settings.transpositions and self.held(row) >= 0:
            actions = self.trees.tree.edge_action[row, self._root_edges(row)]
            legal = np.flatnonzero(self.game.legal_action_mask(self.states.get(row)))
            if not np.array_equal(np.sort(actions), legal):
                self._clear(row)

    def _clear_decided(self, rows: list[int]) -> None:
        """Clear trees with a decided root if the game continues: the root has no actions."""
        if self._proof_plies:
            is_end = self.trees.tree.nodes["terminal"][:, 0]
            for row in rows:
                if is_end[row] and not self.states.is_terminal(row):
                    self._clear(row)

    def set_evaluator(self, evaluator: Evaluator) -> None:
        """Use another evaluator from now on.

        This clears every tree, since statistics from one evaluator do not hold for another.
        Running searches end and need a new `begin`.
        """
        self._evaluator = evaluator
        for row in range(self.num_trees):
            self._forget(row)

    def _forget(self, row: int) -> None:
        tree, wave, variants = self.trees.tree, self.trees.wave, self.trees.variants
        if variants.in_flight is not None:
            variants.in_flight.nodes[row, : tree.num_nodes[row]] = 0
            variants.in_flight.tried[row, : tree.num_places[row]] = 0
        self._clear(row)
        wave.active[row] = False
        wave.budget[row] = 0
        slots = slice(row * wave.leaves_per_tree, (row + 1) * wave.leaves_per_tree)
        self._slots.tree[slots] = -1
        if variants.transpositions is not None:
            variants.transpositions.slot_waits[slots] = False

    def _clear(self, row: int) -> None:
        self.call(roots.clear_one, self.trees.tree, row, self._moving)

    # -- searching ------------------------------------------------------------------------------

    def begin(
        self,
        row: int,
        num_simulations: int | None = None,
        noise: Noise | None = None,
        best_only: bool = False,
        takes_wins: bool = False,
    ) -> None:
        """Request simulations at a root, in addition to those in its tree if there is room.

        A Gumbel search always begins with an empty tree.

        Args:
            row: the tree; its root is not terminal.
            num_simulations: at most the setting of that name; None: that setting.
            noise: returns the root's noise; called once, when the legal actions are known. A search
                with noise explores: `root_temperature` and `forced_visits` apply to it alone.
            best_only: only the most visited action matters. With `search.stop_early` the search
                then ends as soon as further simulations cannot change it; else this has no effect.
            takes_wins: keep only the action of a forced win, until the root moves.

        Raises:
            GameError: the root is terminal, or more simulations than there is room for.
        """
        simulations = self.settings.num_simulations if num_simulations is None else num_simulations
        if simulations > self.settings.num_simulations:
            raise GameError(
                f"a search may run at most search.num_simulations = "
                f"{self.settings.num_simulations} simulations, got {simulations}"
            )
        if self.states.is_terminal(row):
            raise GameError(f"{self.game.name}: the game is over, so there is nothing to search")
        self._only.pop(row, None)
        if takes_wins and (win := self.forced_wins.action(row)) >= 0:
            self._clear(row)
            self._only[row] = win
        variants = self.trees.variants
        if self.settings.is_gumbel:
            self._clear(row)
        self.call(roots.begin, self.trees._replace(variants=self._moving), row, simulations, 0.0)
        self._noise.pop(row, None)
        if variants.forced is not None:
            variants.forced[row] = self.settings.forced_visits if noise is not None else 0.0
        if variants.best_only is not None:
            variants.best_only[row] = best_only
        if self.settings.is_gumbel:
            self._noise[row] = noise or _no_noise
        elif noise is not None and self.held(row) >= 0:
            self.mix_noise(row, noise)
        elif noise is not None:
            self._noise[row] = noise

    def wave(self) -> bool:
        """Run up to `leaves_per_tree` simulations per unfinished tree; False if none is left."""
        if not self.select():
            return False
        self.finish(*self.evaluate())
        return True

    def run(self, rows: list[int], num_simulations: int | None = None) -> list[SearchResult]:
        """Search some roots until they are finished, without noise."""
        for row in rows:
            self.begin(row, num_simulations)
        while self.wave():
            pass
        return [self.result(row) for row in rows]

    def select(self) -> bool:
        """First part of a wave: find the leaves and describe them; False if no tree needs one."""
        self.proof_seconds = 0.0
        if not self.settings.transpositions:
            self.num_leaves = self._find_leaves(self.trees.wave.active)
            self._describe(self._slots.tree)
            return self.num_leaves > 0
        self.num_leaves = 0
        walked = self.trees.wave.active.copy()
        # If all leaves of a tree were known already, walk it again to fill the evaluator's batch.
        while walked.any():
            self._find_leaves(walked)
            leaves_walked = np.repeat(walked, self.settings.leaves_per_tree)
            # Earlier calls described the others.
            self._describe(np.where(leaves_walked, self._slots.tree, np.int32(-1)))
            self.num_leaves += self.call(
                walks.share,
                self.trees.tree,
                walked,
                self.trees.wave,
                self.trees.variants,
                self._slots,
                self._positions.keys,
            )
        return self.num_leaves > 0

    def _find_leaves(self, walked: npt.NDArray[np.bool_]) -> int:
        """Walk the trees in `walked`, bool [B], down to leaves; returns the number of leaves."""
        return int(self.call(walks.find_leaves, *self._to_find(walked)))

    def _to_find(self, walked: npt.NDArray[np.bool_]) -> tuple[Any, ...]:
        trees = self.trees
        return trees.tree, walked, trees.wave, trees.rule, trees.variants, self._slots

    def _describe(self, rows: IntArray) -> None:
        """Describe the leaves of the slots whose entry in `rows`, int32 [S], is not below 0."""
        slots, positions = self._slots, self._positions
        paths = Paths(rows, slots.actions, slots.length)
        self.states.replay(paths, positions)
        if self._proof_plies:
            before = time.perf_counter()
            is_asked = (rows >= 0) & (slots.length > 0) & ~positions.is_terminal
            asked = paths._replace(roots=np.where(is_asked, rows, np.int32(-1)))
            decided = self._decided
            self.states.decide(asked, self._proof_plies, decided)
            found = decided.result != 0
            positions.is_terminal[found] = True  # for the tree, this is an end of the game
            sign = np.where(decided.player == 0, decided.result, -decided.result)
            positions.outcome[found] = sign[found]
            self.proof_seconds += time.perf_counter() - before

    def evaluate(self) -> tuple[FloatArray, FloatArray]:
        """Middle of a wave: the evaluator's logits [S, A] and values [S] for the leaves."""
        observations = self._positions.observations
        if self.num_leaves == len(observations):
            return self._evaluator.evaluate(observations)
        waiting = np.flatnonzero(self._slots.tree >= 0)
        logits = np.zeros((len(observations), self.game.num_actions), np.float32)
        values = np.zeros(len(observations), np.float32)
        logits[waiting], values[waiting] = self._evaluator.evaluate(observations[waiting])
        return logits, values

    def finish(self, policy_logits: FloatArray, values: FloatArray) -> None:
        """Last part of a wave: give the leaves their evaluations.

        Raises:
            AzcoreError: a value or logit is not a number.
        """
        while True:
            arguments = self._to_expand(policy_logits, values)
            status = self.call(backups.expand_and_back_up, *arguments)
            if status <= backups.DONE:
                break
            room = max(status, 2 * self.trees.tree.edge_action.shape[1])
            self.trees = self.trees._replace(tree=with_more_edges(self.trees.tree, room))
        if status == backups.NOT_FINITE:
            raise AzcoreError("the network returned a policy or value that is not a finite number")
        for row in list(self._only):
            if self.held(row) >= 0:
                self.restrict(row, np.array([self._only.pop(row)], np.int32))
        for row in list(self._noise):
            if self.held(row) >= 0:
                self.mix_noise(row, self._noise.pop(row))

    def _to_expand(self, policy_logits: FloatArray, values: FloatArray) -> tuple[Any, ...]:
        positions = self._positions
        leaves = backups.Leaves(
            legal_actions=positions.legal_actions,
            num_legal=positions.num_legal,
            current_player=positions.current_player,
            is_terminal=positions.is_terminal,
            outcome=positions.outcome,
            policy_logits=np.ascontiguousarray(policy_logits, np.float32),
            values=np.ascontiguousarray(values, np.float32),
        )
        return self.trees.tree, self.trees.wave, self._backing_up, self._slots, leaves

    def kernels(self) -> list[tuple[Any, tuple[Any, ...]]]:
        """The kernels of a wave that take longest to compile, each with arguments for `compile`."""
        slots = len(self._slots.tree)
        policy_logits = np.empty((slots, self.game.num_actions), np.float32)
        return [
            (walks.find_leaves, self._to_find(self.trees.wave.active)),
            (backups.expand_and_back_up, self._to_expand(policy_logits, policy_logits[:, 0])),
        ]

    def result(self, row: int) -> SearchResult:
        """The result of searching one root so far."""
        trees, root = self.trees, self.trees.root
        count, best, value = self.call(
            results.read, trees.tree, row, trees.rule, self._reading, root
        )

        def copied(array: npt.NDArray[Any]) -> Any:
            return array[:count].copy()

        result = SearchResult(
            actions=copied(root.actions),
            visit_counts=copied(root.visits),
            q_values=copied(root.q),
            priors=copied(root.priors),
            value=value,
            network_value=float(trees.tree.nodes["value"][row, 0]),
        )
        if self.settings.is_gumbel and count > 0:
            action = int(root.actions[best])
            return replace(result, improved_policy=copied(root.policy), best_action=action)
        if self.settings.solve:
            return replace(result, pruned_counts=copied(root.kept), proven=copied(root.proven))
        if self.settings.forced_visits:
            return replace(result, pruned_counts=copied(root.kept))
        return result

    def proof(self, row: int) -> int:
        """The proven value of a root: 1 won for the player to move there, -1 lost, 0 unknown."""
        return int(proof_of(row, 0, self.trees.variants.proofs))

    def principal_variation(self, row: int, action: int) -> list[int]:
        """The line of play that the tree expects: a root action, then the most visited ones.

        Ties go to the higher prior, then the lower action, as in the choice of a move.
        """
        trees = self.trees
        line = np.empty(int(trees.tree.num_nodes[row]) + 1, np.int32)
        length = self.call(
            results.principal_variation, trees.tree, row, action, trees.variants.proofs, line
        )
        return [int(planned) for planned in line[:length]]

    def mix_noise(self, row: int, noise: Noise) -> None:
        """Mix noise into the priors of a root whose legal actions are known."""
        trees, settings = self.trees, self.settings
        count = int(trees.tree.nodes["num_edges"][row, 0])
        drawn = np.ascontiguousarray(noise(row, count), np.float32)
        if settings.gumbel is None:
            fraction, temperature = settings.dirichlet_fraction, settings.root_temperature
            self.call(
                roots.mix_root_noise, trees.tree, row, trees.root, drawn, fraction, temperature
            )
        else:
            self.call(roots.consider, trees, row, drawn, settings.gumbel.scale)

    def simulate(self, row: int, value: float | None = None) -> None:
        """Run one simulation in a started tree, however many are left; see `inspection.Stepper`.

        Args:
            row: the tree, the only one that has begun.
            value: the leaf's value in the view of its player, in place of the evaluator's.
        """
        wave = self.trees.wave
        left = int(wave.budget[row])
        is_known = self.held(row) >= 0  # else this evaluates the root, which needs none of them
        wave.active[row] = True
        if is_known:
            wave.budget[row] = min(left, 1)
        if self.select():
            logits, values = self.evaluate()
            if value is not None:
                values = np.full_like(values, value)
            self.finish(logits, values)
        if is_known:
            wave.budget[row] = max(0, left - 1)

    def restrict(self, row: int, actions: IntArray) -> None:
        """Keep only some of the legal actions at a root that is evaluated but not searched.

        Args:
            actions: int32, one or more legal actions.

        Raises:
            GameError: the root is not evaluated yet, was searched, or has none of the actions.
        """
        tree = self.trees.tree
        root, edges = tree.nodes[row, 0], self._root_edges(row)
        if root.num_edges == PENDING or root.visits != 1:
            raise GameError("restrict a root after its evaluation and before its search")
        allowed = np.isin(tree.edge_action[row, edges], actions)
        if not allowed.any():
            raise GameError(f"none of the actions {list(actions)} is legal here")
        order = np.argsort(~allowed, kind="stable")
        for name in ("edge_action", "edge_prior"):
            values = getattr(tree, name)[row, edges]
            values[:] = values[order]
        root.num_edges = int(allowed.sum())
        bring_next_candidate(tree, row, 0)

    def held(self, row: int) -> int:
        """The number of simulations in a tree whose root is evaluated."""
        return int(self.trees.tree.nodes["visits"][row, 0]) - 1

    def room(self, row: int) -> int:
        """The number of further simulations for which a tree has nodes left."""
        tree, most = self.trees.tree, self.settings.num_simulations
        taken = roots.size_of(tree, row) + self.settings.leaves_per_tree
        return int(max(0, min(most, tree.nodes.shape[1] - taken)))

    # -- inside ---------------------------------------------------------------------------------

    def call(self, kernel: Any, *arguments: Any) -> Any:
        """Call a kernel; the types of its arguments are the same in all calls of this search.

        Without this numba would take 20 µs a call to determine them.
        """
        return (self._code.get(kernel) or self.compile(kernel, *arguments))(*arguments)

    def compile(self, kernel: Any, *arguments: Any) -> Callable[..., Any]:
        """A kernel's code for arguments of these types, for `call`."""
        code = self._code[kernel] = code_for(kernel, *arguments)
        return code

    def _root_edges(self, row: int) -> slice:
        """The edges of a tree's root; empty while the root waits."""
        # Read the array's fields: in Python, reading a record's field takes ten times as long.
        first = self.trees.tree.nodes["first_edge"][row, 0]
        count = self.trees.tree.nodes["num_edges"][row, 0]
        return slice(0) if count == PENDING else slice(first, first + count)


def _no_noise(_row: int, num_legal: int) -> FloatArray:
    return np.zeros(num_legal, np.float32)
