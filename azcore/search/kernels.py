"""Select, expand and backup over many trees, compiled; nothing here knows any game.

These functions trust their arguments: friendly checks live in `mcts.py`.

Letters as in `tree.py`, and: S slots, a slot being one simulation on its way; T longest path;
b tree, s slot, n node, e edge, i edge as its node counts it (first_edge + i is e).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore.game.compilation import compiled
from azcore.search import gumbel as gumbel_formulas
from azcore.search import puct
from azcore.search import softmax as softmax_formula
from azcore.search import transpositions as shared_positions
from azcore.search import tree as tree_arrays
from azcore.search.gumbel import (
    TINIEST_PRIOR,
    Gumbel,
    best_considered_edge,
    improved_edge,
    improved_weight,
    q_transform,
)
from azcore.search.puct import exploration_scale, first_play_value
from azcore.search.softmax import softmax
from azcore.search.transpositions import (
    Transpositions,
    is_behind,
    key_of_node,
    mean_value,
    place_of,
)
from azcore.search.tree import (
    NO_NODE,
    PENDING,
    InFlight,
    Tree,
    add_node,
    room_for,
    set_total,
    try_next_edge,
)

DONE, NOT_FINITE = 0, -1  # how `expand_and_back_up` ended

_SOURCES = (
    __file__,
    puct.__file__,
    softmax_formula.__file__,
    gumbel_formulas.__file__,
    shared_positions.__file__,
    tree_arrays.__file__,
)


def _compiled(function: Callable[..., Any]) -> Any:
    return compiled(function, sources=_SOURCES)


class Selection(NamedTuple):
    """Numbers of the selection rule; see `puct.py` for each."""

    c_init: float
    c_base: float
    unit: float  # of the scale that c_init is stated for, in our Q
    count_parent: bool
    first_play: float  # constant Q of an untried action, or the reduction if relative; in our Q
    first_play_relative: bool
    virtual_loss: int  # n_vl, added to N for each simulation in flight
    virtual_loss_is_loss: bool  # and taken from W; false: Q is that of what is known


class Slots(NamedTuple):
    """Simulations on their way: the path each has taken from its root to a leaf."""

    tree: npt.NDArray[np.int32]  # [S], or -1: slot is empty
    leaf: npt.NDArray[np.int32]  # [S], node to be expanded
    length: npt.NDArray[np.int32]  # [S], plies from the root
    edges: npt.NDArray[np.int32]  # [S, T], i of each, which stays when edges move
    actions: npt.NDArray[np.int32]  # [S, T], what the edges play, for the game to replay


class Root(NamedTuple):
    """Room to read a root's legal actions, of which a game has A."""

    actions: npt.NDArray[np.int32]  # [A]
    visits: npt.NDArray[np.int32]  # [A], N(s, a)
    q: npt.NDArray[np.float32]  # [A], Q(s, a); 0 where never visited
    priors: npt.NDArray[np.float32]  # [A], P(s, a)


def make_slots(size: int, longest_path: int) -> Slots:
    """S empty slots."""
    return Slots(
        tree=np.full(size, -1, np.int32),
        leaf=np.zeros(size, np.int32),
        length=np.zeros(size, np.int32),
        edges=np.zeros((size, longest_path), np.int32),
        actions=np.zeros((size, longest_path), np.int32),
    )


def make_root(num_actions: int) -> Root:
    """Room for any root."""
    whole, real = np.zeros((2, num_actions), np.int32), np.zeros((2, num_actions), np.float32)
    return Root(actions=whole[0], visits=whole[1], q=real[0], priors=real[1])


@register_jitable
def best_edge(tree: Tree, b: int, n: int, rule: Selection, in_flight: InFlight | None) -> int:
    """argmax over a of Q(s, a) + U(s, a); ties go to the higher prior, then the lower action.

    A simulation in flight counts as n_vl visits, lost ones (AlphaGo: Silver 2016, Nature 16961,
    Methods "Searching with policy and value networks") or ones that say nothing of the value, so
    that they grow N in U alone (WU-UCT: Liu et al. 2020, "Watch the Unobserved", ICLR, eq. 4).
    """
    node = tree.nodes[b, n]
    tried = node.num_tried
    parent_visits = float(node.visits)
    if in_flight is not None:
        parent_visits += rule.virtual_loss * in_flight.nodes[b, n]
    rate = exploration_scale(parent_visits, rule.count_parent, rule.c_init, rule.c_base)
    scale = rule.unit * rate
    first_play = first_play_value(
        float(node.value), rule.first_play, rule.first_play, rule.first_play_relative
    )
    best = 0  # so that there is one if the network gave no numbers
    best_score = -np.inf
    for i in range(tried):
        edge = tree.tried[b, node.first_tried + i]
        q, bonus = edge.q, edge.bonus
        if in_flight is not None and in_flight.tried[b, node.first_tried + i] > 0:
            waiting = rule.virtual_loss * in_flight.tried[b, node.first_tried + i]
            evaluated, total = edge.visits, edge.total
            if rule.virtual_loss_is_loss:
                evaluated += waiting
                total -= waiting
            q = total / evaluated if evaluated > 0 else first_play
            prior = float(tree.edge_prior[b, node.first_edge + i])
            bonus = prior / (1.0 + edge.visits + waiting)
        score = q + scale * bonus
        if score > best_score or (score == best_score and precedes(tree, b, n, i, best)):
            best = i
            best_score = score
    if tried < node.num_edges:
        score = first_play + scale * float(tree.edge_prior[b, node.first_edge + tried])
        if score > best_score or (score == best_score and precedes(tree, b, n, tried, best)):
            best = tried
    return best


@register_jitable
def precedes(tree: Tree, b: int, n: int, i: int, other: int) -> bool:
    """Whether edge i goes before another of the same score: higher prior, then lower action."""
    first = tree.nodes[b, n].first_edge
    e, f = first + i, first + other
    if tree.edge_prior[b, e] != tree.edge_prior[b, f]:
        return bool(tree.edge_prior[b, e] > tree.edge_prior[b, f])
    return bool(tree.edge_action[b, e] < tree.edge_action[b, f])


@register_jitable
def bring_next_candidate(tree: Tree, b: int, n: int) -> None:
    """Swap the untried edge of highest prior to the place behind the tried ones, if one is left.

    Ties go to the lower action.
    """
    node = tree.nodes[b, n]
    place = node.first_edge + node.num_tried
    end = node.first_edge + node.num_edges
    if place >= end:
        return
    best = place + best_prior(tree.edge_prior[b, place:end], tree.edge_action[b, place:end])
    swap_edges(tree, b, place, best)


@register_jitable
def best_prior(priors: npt.NDArray[np.float32], actions: npt.NDArray[np.uint16]) -> int:
    """The index of the highest prior, among equals of the lowest action."""
    # Of numbers from 0 up the bits are ordered as the numbers are, and for whole numbers the
    # compiler makes wide instructions of both loops.
    bits = priors.view(np.int32)
    highest = bits[0]
    for i in range(bits.shape[0]):
        highest = max(highest, bits[i])
    lowest = np.int64(2**62)
    for i in range(bits.shape[0]):
        candidate = np.int64(actions[i]) << 32 | i
        lowest = min(lowest, candidate if bits[i] == highest else np.int64(2**62))
    return lowest & 0xFFFFFFFF  # type: ignore[return-value]


@register_jitable
def swap_edges(tree: Tree, b: int, one: int, other: int) -> None:
    """Exchange two untried edges, or one edge and itself."""
    action, prior = tree.edge_action[b, one], tree.edge_prior[b, one]
    tree.edge_action[b, one] = tree.edge_action[b, other]
    tree.edge_prior[b, one] = tree.edge_prior[b, other]
    tree.edge_action[b, other] = action
    tree.edge_prior[b, other] = prior


@register_jitable
def count_in_flight(
    tree: Tree,
    b: int,
    edges: npt.NDArray[np.int32],
    length: int,
    in_flight: InFlight,
    change: int,
) -> None:
    """Add to the simulations in flight on each edge of a path, the same for every player."""
    n = 0
    for depth in range(length):
        place = tree.nodes[b, n].first_tried + edges[depth]
        in_flight.tried[b, place] += change
        in_flight.nodes[b, n] += change
        n = tree.tried[b, place].child


@register_jitable
def back_up(
    tree: Tree,
    b: int,
    edges: npt.NDArray[np.int32],
    length: int,
    leaf: int,
    transpositions: Transpositions | None,
) -> None:
    """N += 1, W += v along a path; with `back_up_shared` the place where the sign of a value turns.

    The leaf's value is its player's; an edge takes it as the player who chose the edge sees it.
    """
    if transpositions is not None:
        back_up_shared(tree, b, edges, length, leaf, transpositions)
        return
    value = float(tree.nodes[b, leaf].value)
    player = tree.nodes[b, leaf].player
    n = 0
    for depth in range(length):
        node, i = tree.nodes[b, n], edges[depth]
        edge = tree.tried[b, node.first_tried + i]
        total = edge.total + (value if node.player == player else -value)
        set_total(tree, b, n, i, edge.visits + 1, total)
        node.visits += 1
        n = edge.child


@register_jitable
def back_up_shared(
    tree: Tree,
    b: int,
    edges: npt.NDArray[np.int32],
    length: int,
    leaf: int,
    transpositions: Transpositions,
) -> None:
    """N += 1 along a path, and W anew where a shared node lies behind; see `transpositions.py`.

    From the leaf upwards, as what an edge passes on is the change of the one below.
    """
    path = transpositions.scratch
    n = 0
    for depth in range(length):
        path[depth] = n
        n = tree.tried[b, tree.nodes[b, n].first_tried + edges[depth]].child
    change = float(tree.nodes[b, leaf].value)  # as the node behind the edge sees it
    child = leaf
    for depth in range(length - 1, -1, -1):
        n, i = path[depth], edges[depth]
        node = tree.nodes[b, n]
        edge = tree.tried[b, node.first_tried + i]
        visits = edge.visits + 1
        same = node.player == tree.nodes[b, child].player
        if transpositions.node_shared[b, child]:
            mean = mean_value(tree, b, child)
            change = visits * (mean if same else -mean) - edge.total
        elif not same:
            change = -change
        set_total(tree, b, n, i, visits, edge.total + change)
        node.visits += 1
        child = n


@register_jitable
def place_of_last_edge(tree: Tree, b: int, edges: npt.NDArray[np.int32], length: int) -> int:
    """Where in `tried` the last edge of a path lies."""
    n, place = 0, -1
    for depth in range(length):
        place = tree.nodes[b, n].first_tried + edges[depth]
        n = tree.tried[b, place].child
    return place


@_compiled
def select(
    tree: Tree,
    walked: npt.NDArray[np.bool_],
    active: npt.NDArray[np.bool_],
    budget: npt.NDArray[np.int32],
    leaves_per_tree: int,
    rule: Selection,
    gumbel: Gumbel | None,
    in_flight: InFlight | None,
    transpositions: Transpositions | None,
    slots: Slots,
) -> int:
    """Walk each tree down to leaves that need the network, and note the paths in the slots.

    A known end of the game needs no network: it is backed up at once and the walk begins again. A
    simulation takes one from the tree's budget; the evaluation of a root does not.

    Args:
        tree: changed: new nodes, and what known ends give.
        walked: bool [B], the trees to walk; none has a leaf in flight.
        active: bool [B], whether a tree has a leaf in flight or simulations left; of the trees to
            walk it is written, and may be the same array.
        budget: int32 [B], simulations left, counted down.
        leaves_per_tree: most leaves in flight at once in one tree; the slots of tree b are
            b * leaves_per_tree and following.
        rule: numbers of the selection rule.
        gumbel: of the rule that takes PUCT's place, or None; kernels are compiled for either.
        in_flight: changed; None with one leaf at once, which has nothing in flight to see.
        transpositions: of trees that share positions, or None. A walk over an edge that is behind
            its node is a simulation too, and backed up at once.
        slots: filled; slots of these trees without a leaf are marked empty.

    Returns:
        How many slots hold a leaf.
    """
    filled = 0
    for b in range(walked.shape[0]):
        if not walked[b]:
            continue
        used = 0
        while used < leaves_per_tree:
            s = b * leaves_per_tree + used
            edges = slots.edges[s]
            if tree.nodes[b, 0].num_edges == PENDING:
                if used == 0:  # the root itself; further leaves wait until it is known
                    slots.tree[s], slots.leaf[s], slots.length[s] = b, 0, 0
                    used += 1
                break
            if budget[b] <= 0:
                break
            n, length = 0, 0
            is_new = False
            is_behind_node = False
            while tree.nodes[b, n].num_edges > 0:
                node = tree.nodes[b, n]
                if gumbel is None:
                    i = best_edge(tree, b, n, rule, in_flight)
                elif n == 0:  # as many simulations are done as the root's edges have visits
                    visits = gumbel.considered_visits[b, node.visits - 1]
                    i = best_considered_edge(tree, b, visits, gumbel)
                else:
                    i = improved_edge(tree, b, n, gumbel)
                edges[length] = i
                slots.actions[s, length] = tree.edge_action[b, node.first_edge + i]
                length += 1
                if i == node.num_tried:
                    child = add_node(tree, b)
                    try_next_edge(tree, b, n, child, in_flight)
                    if gumbel is None or n > 0:  # at a Gumbel root they are in order
                        bring_next_candidate(tree, b, n)
                    is_new = True
                    n = child
                    break
                place = node.first_tried + i
                n = tree.tried[b, place].child
                if transpositions is not None and is_behind(tree, transpositions, b, place):
                    is_behind_node = True
                    break
            if tree.nodes[b, n].terminal or is_behind_node:
                budget[b] -= 1
                back_up(tree, b, edges, length, n, transpositions)
                continue
            if not is_new:  # met a leaf that is in flight already: nothing more to find now
                break
            budget[b] -= 1
            if in_flight is not None:
                count_in_flight(tree, b, edges, length, in_flight, 1)
            slots.tree[s], slots.leaf[s], slots.length[s] = b, n, length
            used += 1
        active[b] = used > 0 or budget[b] > 0
        filled += used
    return filled


@_compiled
def share(
    tree: Tree,
    walked: npt.NDArray[np.bool_],
    active: npt.NDArray[np.bool_],
    budget: npt.NDArray[np.int32],
    leaves_per_tree: int,
    in_flight: InFlight | None,
    transpositions: Transpositions,
    slots: Slots,
    keys: npt.NDArray[np.uint64],
) -> int:
    """Link the leaves whose positions are known to their nodes; they need no evaluation.

    Such a simulation is backed up at once, or by `expand_and_back_up` if its node waits in an
    earlier slot of this wave. The nodes that `select` made for the others close the gaps: they come
    last in a tree, in the order of the slots, and have nothing written in them yet.

    Args:
        tree: changed.
        walked: bool [B], the trees whose slots to look at. Left True: those that have simulations
            left and not one leaf in flight, since all leaves were known already.
        active: as for `select`.
        budget: as for `select`, only read.
        leaves_per_tree: as for `select`.
        in_flight: as for `select`.
        transpositions: changed.
        slots: slots whose leaf is known are emptied.
        keys: uint64 [S], `Game.position_key` of each leaf.

    Returns:
        How many of these slots still hold a leaf.
    """
    filled = 0
    for b in range(walked.shape[0]):
        if not walked[b]:
            continue
        first_slot, end_slot = b * leaves_per_tree, (b + 1) * leaves_per_tree
        waiting = 0
        nodes = tree.num_nodes[b]
        for s in range(first_slot, end_slot):
            if slots.tree[s] >= 0 and slots.length[s] > 0:
                nodes -= 1
        for s in range(first_slot, end_slot):
            if slots.tree[s] < 0:
                continue
            length = slots.length[s]
            key = key_of_node(transpositions, b, keys[s], length)
            if length == 0:
                transpositions.node_key[b, 0] = key
                transpositions.node_shared[b, 0] = False
                waiting += 1
                continue
            place = place_of(transpositions, b, key)
            n = transpositions.table[b, place]
            if n == NO_NODE:
                n = nodes
                nodes += 1
                transpositions.table[b, place] = n
                transpositions.node_key[b, n] = key
                transpositions.node_shared[b, n] = False
                waiting += 1
            else:
                transpositions.node_shared[b, n] = True
                slots.tree[s] = -1
            slots.leaf[s] = n
            tree.tried[b, place_of_last_edge(tree, b, slots.edges[s], length)].child = n
            if slots.tree[s] >= 0:
                continue
            if tree.nodes[b, n].num_edges == PENDING:
                transpositions.slot_waits[s] = True
                continue
            if in_flight is not None:
                count_in_flight(tree, b, slots.edges[s], length, in_flight, -1)
            back_up(tree, b, slots.edges[s], length, n, transpositions)
        tree.num_nodes[b] = nodes
        active[b] = waiting > 0 or budget[b] > 0
        walked[b] = waiting == 0 and budget[b] > 0
        filled += waiting
    return filled


@_compiled
def expand_and_back_up(
    tree: Tree,
    active: npt.NDArray[np.bool_],
    budget: npt.NDArray[np.int32],
    leaves_per_tree: int,
    in_flight: InFlight | None,
    transpositions: Transpositions | None,
    slots: Slots,
    legal_actions: npt.NDArray[np.int32],
    num_legal: npt.NDArray[np.int32],
    current_player: npt.NDArray[np.int8],
    is_terminal: npt.NDArray[np.bool_],
    outcome: npt.NDArray[np.int8],
    policy_logits: npt.NDArray[np.float32],
    values: npt.NDArray[np.float32],
) -> int:
    """Give each slot's leaf its edges and value and back the value up.

    Args:
        tree: changed.
        active: bool [B], as for `select`; written for trees that had a leaf in flight.
        budget: as for `select`, only read.
        leaves_per_tree: as for `select`.
        in_flight: as for `select`.
        transpositions: as for `select`.
        slots: the paths; emptied.
        legal_actions: int32 [S, A], the first num_legal of a row count.
        num_legal: int32 [S].
        current_player: int8 [S], seat to move at the leaf.
        is_terminal: bool [S].
        outcome: int8 [S], final result as seat 0 sees it; read where terminal.
        policy_logits: float32 [S, A]; read where not terminal.
        values: float32 [S], view of the player to move; read where not terminal.

    Returns:
        DONE; or NOT_FINITE if a value or logit read was not, and then the trees are not to be used;
        or, nothing having been changed, the number of edges for which a tree needs room.
    """
    wanted = most_edges(tree, leaves_per_tree, slots, num_legal)
    if wanted > tree.edge_action.shape[1]:
        return wanted
    finite = True
    for b in range(active.shape[0]):
        had_leaf = False
        for s in range(b * leaves_per_tree, (b + 1) * leaves_per_tree):
            n = slots.leaf[s]
            if transpositions is not None and transpositions.slot_waits[s]:
                transpositions.slot_waits[s] = False  # an earlier slot has just expanded its leaf
                if in_flight is not None:
                    count_in_flight(tree, b, slots.edges[s], slots.length[s], in_flight, -1)
                back_up(tree, b, slots.edges[s], slots.length[s], n, transpositions)
            if slots.tree[s] < 0:
                continue
            had_leaf = True
            node = tree.nodes[b, n]
            node.player = current_player[s]
            node.first_edge = tree.num_edges[b]
            node.visits = 1
            if is_terminal[s]:
                node.terminal = True
                node.num_edges = 0
                result = float(outcome[s])
                node.value = result if current_player[s] == 0 else -result
            else:
                node.value = values[s]
                count = num_legal[s]
                node.num_edges = count
                first = tree.num_edges[b]
                tree.num_edges[b] = first + count
                for i in range(count):
                    tree.edge_action[b, first + i] = legal_actions[s, i]
                total = softmax(
                    policy_logits[s],
                    legal_actions[s],
                    tree.edge_prior[b, first : first + count],
                )
                finite = finite and math.isfinite(total) and math.isfinite(values[s])
                bring_next_candidate(tree, b, n)
            if in_flight is not None:
                count_in_flight(tree, b, slots.edges[s], slots.length[s], in_flight, -1)
            back_up(tree, b, slots.edges[s], slots.length[s], n, transpositions)
            slots.tree[s] = -1
        if had_leaf:
            active[b] = budget[b] > 0
    return DONE if finite else NOT_FINITE


@register_jitable
def most_edges(
    tree: Tree, leaves_per_tree: int, slots: Slots, num_legal: npt.NDArray[np.int32]
) -> int:
    """How many edges the largest tree will have with those of its leaves in flight."""
    most = np.int64(0)
    for b in range(tree.num_edges.shape[0]):
        edges = np.int64(tree.num_edges[b])
        for s in range(b * leaves_per_tree, (b + 1) * leaves_per_tree):
            if slots.tree[s] >= 0:
                edges += num_legal[s]
        most = max(most, edges)
    return int(most)


clear = _compiled(tree_arrays.clear)


@_compiled
def read_root(tree: Tree, b: int, order: npt.NDArray[np.int64], root: Root) -> float:
    """What is known of the root of tree b.

    Args:
        tree: only read.
        b: the tree.
        order: int64 [K], i of each edge, the actions ascending.
        root: written.

    Returns:
        The sum of W(s, a).
    """
    node = tree.nodes[b, 0]
    total = 0.0
    for rank in range(order.shape[0]):
        i = order[rank]
        root.actions[rank] = tree.edge_action[b, node.first_edge + i]
        root.priors[rank] = tree.edge_prior[b, node.first_edge + i]
        root.visits[rank] = 0
        root.q[rank] = 0.0
        if i < node.num_tried:
            edge = tree.tried[b, node.first_tried + i]
            root.visits[rank] = edge.visits
            root.q[rank] = edge.q
            total += edge.total
    return total


@_compiled
def mix_root_noise(
    tree: Tree,
    b: int,
    order: npt.NDArray[np.int64],
    noise: npt.NDArray[np.float32],
    fraction: float,
) -> None:
    """P = (1 - fraction) P + fraction noise at the root of tree b.

    Args:
        tree: changed.
        b: the tree.
        order: as for `read_root`.
        noise: float32 [K], one entry per legal action, ascending.
        fraction: epsilon of the papers.
    """
    root = tree.nodes[b, 0]
    for rank in range(root.num_edges):
        i = order[rank]
        e = root.first_edge + i
        prior = float(tree.edge_prior[b, e])
        tree.edge_prior[b, e] = (1.0 - fraction) * prior + fraction * float(noise[rank])
        if i < root.num_tried:
            edge = tree.tried[b, root.first_tried + i]
            set_total(tree, b, 0, i, edge.visits, edge.total)
    bring_next_candidate(tree, b, 0)


@_compiled
def consider(
    tree: Tree,
    b: int,
    order: npt.NDArray[np.int64],
    noise: npt.NDArray[np.float32],
    scale: float,
    gumbel: Gumbel,
) -> None:
    """Put the m edges of highest g + log P first at the root of tree b, best first.

    The Gumbel-Top-k trick: that is m actions drawn without replacement from P (equations 3 to
    5 of the paper of `gumbel.py`); without noise, the m of highest prior. Ties: the lower action.

    Args:
        tree: changed.
        b: the tree; its root is known and none of its edges is tried.
        order: as for `read_root`.
        noise: float32 [K], one draw of the standard Gumbel distribution per legal action,
            ascending.
        scale: of the noise; 0: none.
        gumbel: `num_considered` of the tree is read, `root_scores` written.
    """
    first, count = tree.nodes[b, 0].first_edge, tree.nodes[b, 0].num_edges
    scores = np.empty(count, np.float64)
    for rank in range(count):
        i = order[rank]
        prior = max(float(tree.edge_prior[b, first + i]), TINIEST_PRIOR)
        scores[i] = scale * float(noise[rank]) + math.log(prior)
    for i in range(gumbel.num_considered[b]):
        best = i
        for j in range(i + 1, count):
            lower = tree.edge_action[b, first + j] < tree.edge_action[b, first + best]
            if scores[j] > scores[best] or (scores[j] == scores[best] and lower):
                best = j
        gumbel.root_scores[b, i] = scores[best]
        scores[best] = scores[i]
        swap_edges(tree, b, first + i, first + best)


@_compiled
def improve(tree: Tree, b: int, gumbel: Gumbel, policy: npt.NDArray[np.float64]) -> int:
    """The improved policy of the root of tree b and the edge to play, when the search is done.

    Args:
        tree: not changed.
        b: the tree; its root is known.
        gumbel: the rule.
        policy: float64 [K], filled in the order of the edges: pi' of all legal actions.

    Returns:
        i of the best g + log P + sigma(completedQ) among the edges with the most visits.
    """
    completion, _, slope, highest = q_transform(tree, b, 0, gumbel)
    root = tree.nodes[b, 0]
    total, most = 0.0, 0
    for i in range(policy.shape[0]):
        q = completion
        if i < root.num_tried:
            edge = tree.tried[b, root.first_tried + i]
            most = max(most, edge.visits)
            if edge.visits > 0:
                q = edge.q
        prior = float(tree.edge_prior[b, root.first_edge + i])
        policy[i] = improved_weight(prior, q, slope, highest)
        total += policy[i]
    for i in range(policy.shape[0]):
        policy[i] /= total
    return int(best_considered_edge(tree, b, most, gumbel))


@register_jitable
def mark_subtree(tree: Tree, b: int, top: int, new_id: npt.NDArray[np.int32]) -> None:
    """Set new_id to 0 for `top` and what lies below it; a node comes after the one that made it."""
    new_id[top] = 0
    for n in range(top, tree.num_nodes[b]):
        if new_id[n] != NO_NODE:
            node = tree.nodes[b, n]
            for i in range(node.num_tried):
                new_id[tree.tried[b, node.first_tried + i].child] = 0


@register_jitable
def mark_subgraph(
    tree: Tree, b: int, top: int, new_id: npt.NDArray[np.int32], waiting: npt.NDArray[np.int32]
) -> None:
    """`mark_subtree` where an edge may lead to an older node, older than `top` even."""
    new_id[top] = 0
    waiting[0] = top
    count = 1
    while count > 0:
        count -= 1
        n = waiting[count]
        node = tree.nodes[b, n]
        for i in range(node.num_tried):
            child = tree.tried[b, node.first_tried + i].child
            if new_id[child] == NO_NODE:
                new_id[child] = 0
                waiting[count] = child
                count += 1


@_compiled
def reroot(
    tree: Tree,
    b: int,
    action: int,
    transpositions: Transpositions | None,
    new_id: npt.NDArray[np.int32],
    new_tried: npt.NDArray[Any],
) -> bool:
    """Make the child behind `action` the root of tree b and move what lies below to the front.

    Nodes and their edges lie in the order in which they were made, but for the root, which comes
    first whatever its age and is the one node that no later root keeps. So both move towards the
    front in their order and nothing is overwritten before it is read. Tried edges, few and in the
    order in which their nodes last moved them, go by way of a copy.

    Args:
        tree: changed.
        b: the tree; no simulation in flight.
        action: a legal action of the root.
        transpositions: of trees that share positions, or None; changed. The ply of the root is the
            caller's.
        new_id: int32 [M], scratch.
        new_tried: TRIED [R], scratch.

    Returns:
        False if that child was never visited; the tree is then as it was.
    """
    top = NO_NODE
    root = tree.nodes[b, 0]
    for i in range(root.num_tried):
        if tree.edge_action[b, root.first_edge + i] == action:
            top = tree.tried[b, root.first_tried + i].child
    if top == NO_NODE:
        return False
    new_id[: tree.num_nodes[b]] = NO_NODE
    oldest = top
    if transpositions is None:
        mark_subtree(tree, b, top, new_id)
    else:
        mark_subgraph(tree, b, top, new_id, transpositions.scratch)
        oldest = 1
    nodes = 1
    for n in range(oldest, tree.num_nodes[b]):
        if new_id[n] != NO_NODE and n != top:
            new_id[n] = nodes
            nodes += 1
    edges, tried, places = 0, 0, 0
    for n in range(oldest, tree.num_nodes[b]):
        m = new_id[n]
        if m == NO_NODE:
            continue
        tree.nodes[b, m] = tree.nodes[b, n]
        node = tree.nodes[b, m]
        if transpositions is not None:
            transpositions.node_key[b, m] = transpositions.node_key[b, n]
            transpositions.node_shared[b, m] = transpositions.node_shared[b, n]
        for e in range(node.first_edge, node.first_edge + node.num_edges):
            tree.edge_action[b, edges] = tree.edge_action[b, e]
            tree.edge_prior[b, edges] = tree.edge_prior[b, e]
            edges += 1
        node.first_edge = edges - node.num_edges
        for i in range(node.num_tried):
            new_tried[places + i] = tree.tried[b, node.first_tried + i]
            new_tried[places + i].child = new_id[new_tried[places + i].child]
        node.first_tried = places
        tried += node.num_tried
        places += room_for(node.num_tried)
    for place in range(places):
        tree.tried[b, place] = new_tried[place]
    tree.num_tried[b] = tried
    tree.num_places[b] = places
    tree.num_nodes[b] = nodes
    tree.num_edges[b] = edges
    if transpositions is not None:
        transpositions.table[b] = NO_NODE
        for n in range(1, nodes):
            place = place_of(transpositions, b, transpositions.node_key[b, n])
            transpositions.table[b, place] = n
    return True


@_compiled
def principal_variation(tree: Tree, b: int, action: int, line: npt.NDArray[np.int32]) -> int:
    """Write the root's `action` and then the most visited action of each node to `line`.

    Ties go to the higher prior, then the lower action.

    Args:
        tree: of trees, only read.
        b: the tree.
        action: a legal action of the root.
        line: int32, room for one more than the tree has nodes.

    Returns:
        How many were written.
    """
    line[0] = action
    length, n = 1, 0
    while True:
        best, node = -1, tree.nodes[b, n]
        for i in range(node.num_tried):
            if n == 0:
                if tree.edge_action[b, node.first_edge + i] == action:
                    best = i
                continue
            visits = tree.tried[b, node.first_tried + i].visits
            if visits == 0:
                continue
            most = tree.tried[b, node.first_tried + best].visits if best >= 0 else 0
            if visits > most or (visits == most and precedes(tree, b, n, i, best)):
                best = i
        if best < 0:
            return length
        if n != 0:
            line[length] = tree.edge_action[b, node.first_edge + best]
            length += 1
        n = tree.tried[b, node.first_tried + best].child
        if tree.nodes[b, n].num_edges <= 0:  # not evaluated yet, or over
            return length
