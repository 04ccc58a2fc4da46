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

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from azcore.errors import AzcoreError, GameError
from azcore.game import FloatArray, Game, IntArray
from azcore.game.batch import make_batch
from azcore.game.compilation import code_for
from azcore.game.positions import make_positions
from azcore.search import roots, walks
from azcore.search.evaluators import Evaluator
from azcore.search.gumbel import Gumbel, make_gumbel
from azcore.search.proofs import Proofs, make_proofs
from azcore.search.puct import Selection, value_unit
from azcore.search.settings import SearchResult, SearchSettings
from azcore.search.transpositions import Transpositions, make_transpositions
from azcore.search.tree import (
    PENDING,
    PLACES_PER_NODE,
    InFlight,
    Tree,
    Wave,
    allocate,
    bring_next_candidate,
    nothing_in_flight,
    with_more_edges,
)
from azcore.settings import require

# (row, K) -> float32 [K], noise of that root: Dirichlet with PUCT, standard Gumbel with Gumbel
Noise = Callable[[int, int], FloatArray]


class Rules(NamedTuple):
    """What a search selects edges by; None: the method is not used."""

    puct: Selection
    forced: npt.NDArray[np.float64] | None  # [B]
    gumbel: Gumbel | None
    squares: npt.NDArray[np.float64] | None  # [B, M]


class Search:
    """B trees of one game and the evaluator of their leaves.

    Between `select` and `finish` leaves are in flight. Callers may then call `start` and
    `set_evaluator`, but `begin`, `advance` and `result` only for finished trees.

    Args:
        game: the game to search.
        num_trees: B.
        evaluator: evaluates leaves; `set_evaluator` replaces it.
        settings: how to search.

    Raises:
        SettingError: transpositions are enabled, but the game has no `position_key`.
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
        self.game = game
        self.settings = settings
        self.num_trees = num_trees
        self.states = make_batch(game, num_trees)
        self._evaluator = evaluator
        leaves = settings.leaves_per_tree
        # Sequential halving divides the simulations of one search, so it cannot use earlier ones.
        self._reuse = settings.reuse_subtree and not settings.is_gumbel
        reused = int(settings.reuse_limit * settings.num_simulations) if self._reuse else 0
        self._most_kept = 1 + reused if self._reuse else 0  # as for `roots.move_root`
        self._max_nodes = 1 + settings.num_simulations + reused + leaves
        some_edges = min(game.num_actions, 64) * min(self._max_nodes, 32)  # more when needed
        self._tree = allocate(num_trees, self._max_nodes, some_edges)
        longest = min(game.max_game_length, self._max_nodes) + 1
        self._slots = walks.make_slots(num_trees * leaves, longest)
        self._positions = make_positions(game, num_trees * leaves, keys=settings.transpositions)
        self._in_flight: InFlight | None = None
        if leaves > 1:
            self._in_flight = nothing_in_flight(self._tree)
        self._transpositions: Transpositions | None = None
        if settings.transpositions:
            self._transpositions = make_transpositions(
                num_trees=num_trees,
                nodes_per_tree=self._max_nodes,
                num_slots=num_trees * leaves,
                longest_path=longest,
                max_game_length=game.max_game_length,
            )
        self._proofs: Proofs | None = None
        if settings.solve:
            self._proofs = make_proofs(num_trees, self._max_nodes, longest)
        self._squares: npt.NDArray[np.float64] | None = None  # see `puct.spread_factor`
        if settings.c_spread:
            self._squares = np.zeros((num_trees, self._max_nodes))
        self._rule = Selection(
            c_init=settings.c_init,
            c_base=settings.c_base,
            unit=value_unit(settings.value_range),
            count_parent=settings.count_parent_visit,
            first_play=settings.first_play_value,
            first_play_relative=settings.first_play_relative,
            first_play_by_mass=settings.first_play_by_mass,
            virtual_loss=settings.virtual_loss,
            virtual_loss_is_loss=settings.virtual_loss_is_loss,
            spread=settings.c_spread,
            spread_prior=settings.c_spread_prior,
            spread_visits=settings.c_spread_visits,
        )
        self._forced = np.zeros(num_trees) if settings.forced_visits else None
        self._gumbel = None
        if settings.gumbel is not None:
            self._gumbel = make_gumbel(
                num_trees=num_trees,
                num_considered=settings.gumbel.actions,
                num_simulations=settings.num_simulations,
                num_actions=game.num_actions,
                c_visit=settings.gumbel.c_visit,
                c_scale=settings.gumbel.c_scale,
                rescale=settings.gumbel.rescale,
                mixed_value=settings.gumbel.mixed_value,
            )
        self._code: dict[Any, Callable[..., Any]] = {}  # by kernel, see `call`
        self.num_leaves = 0  # leaves of the wave under way
        self._budget = np.zeros(num_trees, np.int32)
        self._active = np.zeros(num_trees, np.bool_)  # begun and not yet finished
        self._wave = Wave(active=self._active, budget=self._budget, leaves_per_tree=leaves)
        # Searches that may end early, see `begin`.
        self._best_only = np.zeros(num_trees, np.bool_) if settings.stop_early else None
        self._noise: dict[int, Noise] = {}  # by row, to be mixed in once
        self._root = roots.make_root(game.num_actions)
        self._new_id = np.empty(self._max_nodes, np.int32)
        self._new_tried = np.empty_like(self._tree.tried[0])

    def bytes_needed(self, legal_actions: int) -> int:
        """Memory of full trees whose positions have `legal_actions` legal actions each."""
        node, place, edge = self._bytes_each()
        each = node + PLACES_PER_NODE * place + edge * legal_actions
        return int(self.num_trees * self._max_nodes * each)

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
        if self._transpositions is not None:
            self._transpositions.root_ply[row] = 0

    def advance(self, row: int, action: int) -> None:
        """Play a legal action at a root; keep the subtree behind it if the settings say so."""
        self.states.step(row, action)
        self.call(roots.advance, self.trees, row, action)
        self._check_root(row)

    def play(self, actions: IntArray, is_over: npt.NDArray[np.bool_]) -> None:
        """Play on the roots what a kernel has played in the trees; see `GameBatch.play`."""
        self.states.play(actions, is_over)
        if self._transpositions is not None:
            for row in np.flatnonzero(actions >= 0).tolist():
                self._check_root(row)

    def _check_root(self, row: int) -> None:
        """Clear a tree whose root was kept from another path and has other legal actions by this.

        Rules about earlier positions, such as superko, may distinguish the two.
        """
        if self._transpositions is not None and self.held(row) >= 0:
            actions = self._tree.edge_action[row, self._root_edges(row)]
            legal = np.flatnonzero(self.game.legal_action_mask(self.states.get(row)))
            if not np.array_equal(np.sort(actions), legal):
                self._clear(row)

    def set_evaluator(self, evaluator: Evaluator) -> None:
        """Use another evaluator from now on.

        This clears every tree, since statistics from one evaluator do not hold for another.
        Searches under way end and need a new `begin`.
        """
        self._evaluator = evaluator
        for row in range(self.num_trees):
            self._forget(row)

    def _forget(self, row: int) -> None:
        if self._in_flight is not None:
            self._in_flight.nodes[row, : self._tree.num_nodes[row]] = 0
            self._in_flight.tried[row, : self._tree.num_places[row]] = 0
        self._clear(row)
        self._active[row] = False
        self._budget[row] = 0
        self._slots.tree[self._slot_range(row)] = -1
        if self._transpositions is not None:
            self._transpositions.slot_waits[self._slot_range(row)] = False

    def _clear(self, row: int) -> None:
        self.call(roots.clear_tree, self._tree, row, self._transpositions, self._proofs)

    # -- searching ------------------------------------------------------------------------------

    def begin(
        self,
        row: int,
        num_simulations: int | None = None,
        noise: Noise | None = None,
        best_only: bool = False,
    ) -> None:
        """Request simulations at a root, in addition to those in its tree if there is room.

        A Gumbel search always begins with an empty tree.

        Args:
            row: the tree; its root is not terminal.
            num_simulations: at most the setting of that name; None: that setting.
            noise: returns the root's noise; called once, when the legal actions are known. A search
                with noise explores: `root_temperature` and `forced_visits` hold in it alone.
            best_only: only the most visited action matters. With `search.stop_early` the search
                then ends as soon as further simulations cannot change it; else this has no effect.

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
            raise GameError(f"{self.game.name}: the game is over, there is nothing to search")
        self.call(roots.begin, self.trees, row, simulations)
        self._noise.pop(row, None)
        if self._best_only is not None:
            self._best_only[row] = best_only
        if self._forced is not None:
            self._forced[row] = self.settings.forced_visits if noise is not None else 0.0
        if self._gumbel is not None:
            self._noise[row] = noise or _no_noise
        elif noise is not None and self.held(row) >= 0:
            self.mix_noise(row, noise)
        elif noise is not None:
            self._noise[row] = noise

    def wave(self) -> bool:
        """Up to `leaves_per_tree` simulations in every unfinished tree; False when none is left."""
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
        if self._transpositions is None:
            self.num_leaves = self._find_leaves(self._active)
            self._describe(self._slots.tree)
            return self.num_leaves > 0
        self.num_leaves = 0
        walked = self._active.copy()
        # If all leaves of a tree were known already, walk it again to fill the evaluator's batch.
        while walked.any():
            self._find_leaves(walked)
            leaves_walked = np.repeat(walked, self.settings.leaves_per_tree)
            self._describe(
                np.where(leaves_walked, self._slots.tree, np.int32(-1))
            )  # the others were described before
            self.num_leaves += self.call(
                walks.share,
                self._tree,
                walked,
                self._wave,
                self._in_flight,
                self._transpositions,
                self._slots,
                self._positions.keys,
            )
        return self.num_leaves > 0

    def _find_leaves(self, walked: npt.NDArray[np.bool_]) -> int:
        """Walk the trees in `walked`, bool [B], down to leaves; returns the number of leaves."""
        return int(self.call(walks.find_leaves, *self._to_find(walked)))

    def _to_find(self, walked: npt.NDArray[np.bool_]) -> tuple[Any, ...]:
        return (
            self._tree,
            walked,
            self._wave,
            self._best_only,
            self._rule,
            self._forced,
            self._gumbel,
            self._in_flight,
            self._transpositions,
            self._proofs,
            self._squares,
            self._slots,
        )

    def _describe(self, roots: IntArray) -> None:
        """Describe the leaves of the slots whose entry in `roots`, int32 [S], is not below 0."""
        self.states.replay(roots, self._slots.actions, self._slots.length, self._positions)

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
            status = self.call(walks.expand_and_back_up, *arguments)
            if status <= walks.DONE:
                break
            self._grow_edges(max(status, 2 * self._tree.edge_action.shape[1]))
        if status == walks.NOT_FINITE:
            raise AzcoreError("the network gave a policy or value that is not a finite number")
        for row in list(self._noise):
            if self.held(row) >= 0:
                self.mix_noise(row, self._noise.pop(row))

    def _to_expand(self, policy_logits: FloatArray, values: FloatArray) -> tuple[Any, ...]:
        positions = self._positions
        leaves = walks.Leaves(
            legal_actions=positions.legal_actions,
            num_legal=positions.num_legal,
            current_player=positions.current_player,
            is_terminal=positions.is_terminal,
            outcome=positions.outcome,
            policy_logits=np.ascontiguousarray(policy_logits, np.float32),
            values=np.ascontiguousarray(values, np.float32),
        )
        return (
            self._tree,
            self._wave,
            self._in_flight,
            self._transpositions,
            self._proofs,
            self._squares,
            self._slots,
            leaves,
        )

    def kernels(self) -> list[tuple[Any, tuple[Any, ...]]]:
        """The kernels of a wave that take longest to compile, each with arguments for `compile`."""
        slots = len(self._slots.tree)
        policy_logits = np.empty((slots, self.game.num_actions), np.float32)
        return [
            (walks.find_leaves, self._to_find(self._active)),
            (walks.expand_and_back_up, self._to_expand(policy_logits, policy_logits[:, 0])),
        ]

    def finished(self, row: int) -> bool:
        """Whether the simulations of a tree are done."""
        return not self._active[row]

    def result(self, row: int) -> SearchResult:
        """The result of searching one root so far."""
        root = self._root
        count, best, value = self.call(
            roots.read,
            self._tree,
            row,
            self._rule,
            self._forced,
            self._gumbel,
            self._proofs,
            self._squares,
            root,
        )
        actions = root.actions[:count].copy()
        is_gumbel = self._gumbel is not None and count > 0
        is_pruned = self._forced is not None or self._proofs is not None
        return SearchResult(
            actions=actions,
            visit_counts=root.visits[:count].copy(),
            q_values=root.q[:count].copy(),
            priors=root.priors[:count].copy(),
            value=value,
            network_value=float(self._tree.nodes["value"][row, 0]),
            improved_policy=root.policy[:count].copy() if is_gumbel else None,
            best_action=int(actions[best]) if is_gumbel else None,
            pruned_counts=root.kept[:count].copy() if is_pruned else None,
            proven=None if self._proofs is None else root.proven[:count].copy(),
        )

    def proof(self, row: int) -> int:
        """What is proven of a root: 1 won for the player to move there, -1 lost, 0 unknown."""
        return 0 if self._proofs is None else int(self._proofs.nodes[row, 0])

    def principal_variation(self, row: int, action: int) -> list[int]:
        """The line of play that the tree expects: a root action, then the most visited ones.

        Ties go to the higher prior, then the lower action, as in the choice of a move.
        """
        line = np.empty(int(self._tree.num_nodes[row]) + 1, np.int32)
        length = roots.principal_variation(self._tree, row, action, self._proofs, line)
        return [int(planned) for planned in line[:length]]

    def mix_noise(self, row: int, noise: Noise) -> None:
        """Give noise to a root whose legal actions are known."""
        count = int(self._tree.nodes["num_edges"][row, 0])
        drawn = np.ascontiguousarray(noise(row, count), np.float32)
        settings = self.settings
        if settings.gumbel is None:
            fraction, temperature = settings.dirichlet_fraction, settings.root_temperature
            self.call(
                roots.mix_root_noise, self._tree, row, self._root, drawn, fraction, temperature
            )
        else:
            simulations, scale = int(self._budget[row]), settings.gumbel.scale
            self.call(
                roots.consider,
                self._tree,
                row,
                simulations,
                self._root,
                drawn,
                scale,
                self._gumbel,
            )

    def simulate(self, row: int, value: float | None = None) -> None:
        """One simulation in a tree that has begun, however many are left; see `inspection.Stepper`.

        Args:
            row: the tree, the only one that has begun.
            value: of the leaf in the view of its player, in place of the evaluator's.
        """
        left = int(self._budget[row])
        is_known = self.held(row) >= 0  # else this evaluates the root, which takes none of them
        self._active[row] = True
        if is_known:
            self._budget[row] = min(left, 1)
        if self.select():
            logits, values = self.evaluate()
            if value is not None:
                values = np.full_like(values, value)
            self.finish(logits, values)
        if is_known:
            self._budget[row] = max(0, left - 1)

    @property
    def tree(self) -> Tree:
        """All trees, as `inspection` reads them."""
        return self._tree

    @property
    def trees(self) -> roots.Trees:
        """All that a search knows of its trees, for kernels that move in all of them."""
        return roots.Trees(
            tree=self._tree,
            wave=self._wave,
            rule=self._rule,
            forced=self._forced,
            gumbel=self._gumbel,
            transpositions=self._transpositions,
            proofs=self._proofs,
            squares=self._squares,
            most_kept=self._most_kept,
            root=self._root,
            new_id=self._new_id,
            new_tried=self._new_tried,
        )

    @property
    def rules(self) -> Rules:
        return Rules(self._rule, self._forced, self._gumbel, self._squares)

    def restrict(self, row: int, actions: IntArray) -> None:
        """Keep only some of the legal actions at a root that is evaluated but not searched.

        Args:
            row: the tree.
            actions: int32, one or more legal actions.

        Raises:
            GameError: the root is not evaluated yet, was searched, or has none of the actions.
        """
        tree = self._tree
        root, edges = tree.nodes[row, 0], self._root_edges(row)
        if root.num_edges == PENDING or root.visits != 1:
            raise GameError(
                "a root can be restricted once it is evaluated and before it is searched"
            )
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
        return int(self._tree.nodes["visits"][row, 0]) - 1

    def room(self, row: int) -> int:
        """The number of further simulations for which a tree has nodes left."""
        taken = int(roots.size_of(self._tree, row)) + self.settings.leaves_per_tree
        return max(0, min(self.settings.num_simulations, self._max_nodes - taken))

    def bytes_used(self, row: int) -> int:
        """Memory of the current content of one tree."""
        tree = self._tree
        node, place, edge = self._bytes_each()
        return int(
            tree.num_nodes[row] * node + tree.num_places[row] * place + tree.num_edges[row] * edge
        )

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

    def _bytes_each(self) -> tuple[float, int, int]:
        """Bytes of a node, of a place for a tried edge and of an edge."""
        tree = self._tree
        node: float = tree.nodes.itemsize
        place = tree.tried.itemsize
        if self._in_flight is not None:
            node += self._in_flight.nodes.itemsize
            place += self._in_flight.tried.itemsize
        if self._transpositions is not None:
            per_node = (getattr(self._transpositions, n) for n in ("node_key", "node_shared"))
            node += sum(array.itemsize for array in per_node)
            node += self._transpositions.table[0].nbytes / self._max_nodes
        if self._proofs is not None:
            node += self._proofs.nodes.itemsize
        if self._squares is not None:
            node += self._squares.itemsize
        return node, place, tree.edge_action.itemsize + tree.edge_prior.itemsize

    def _root_edges(self, row: int) -> slice:
        """The edges of a tree's root; empty while the root waits."""
        # As fields of the array: in Python, reading a field of a record takes ten times as long.
        first = self._tree.nodes["first_edge"][row, 0]
        count = self._tree.nodes["num_edges"][row, 0]
        return slice(0) if count == PENDING else slice(first, first + count)

    def _slot_range(self, row: int) -> slice:
        leaves = self.settings.leaves_per_tree
        return slice(row * leaves, (row + 1) * leaves)

    def _grow_edges(self, room: int) -> None:
        self._tree = with_more_edges(self._tree, room)


def _no_noise(_row: int, num_legal: int) -> FloatArray:
    return np.zeros(num_legal, np.float32)
