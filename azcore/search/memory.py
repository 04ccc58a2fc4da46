"""The arrays of a search by its settings, and their memory."""

import numpy as np

from azcore.game import Game
from azcore.search import rules
from azcore.search.backups import Slots, make_slots
from azcore.search.gumbel import make_gumbel
from azcore.search.proofs import make_proofs
from azcore.search.puct import Selection, value_unit
from azcore.search.roots import Trees, make_root
from azcore.search.settings import SearchSettings
from azcore.search.transpositions import make_transpositions
from azcore.search.tree import PLACES_PER_NODE, Wave, allocate, nothing_in_flight
from azcore.search.variants import Variants


def make_trees(game: Game, num_trees: int, settings: SearchSettings) -> tuple[Trees, Slots]:
    """B empty trees with room for one search and the kept part of the previous one, and slots."""
    leaves, gumbel = settings.leaves_per_tree, settings.gumbel
    # Sequential halving divides the simulations of one search, so it cannot use earlier ones.
    reuse = settings.reuse_subtree and not settings.is_gumbel
    reused = int(settings.reuse_limit * settings.num_simulations) if reuse else 0
    max_nodes = 1 + settings.num_simulations + reused + leaves
    longest = min(game.max_game_length, max_nodes) + 1
    some_edges = min(game.num_actions, 64) * min(max_nodes, 32)  # it grows when needed
    tree = allocate(num_trees, max_nodes, some_edges)
    variants = Variants(
        best_only=np.zeros(num_trees, np.bool_) if settings.stop_early else None,
        forced=np.zeros(num_trees) if settings.forced_visits else None,
        gumbel=None
        if gumbel is None
        else make_gumbel(
            num_trees=num_trees,
            num_considered=gumbel.actions,
            num_simulations=settings.num_simulations,
            num_actions=game.num_actions,
            c_visit=gumbel.c_visit,
            c_scale=gumbel.c_scale,
            rescale=gumbel.rescale,
            mixed_value=gumbel.mixed_value,
        ),
        in_flight=nothing_in_flight(tree) if leaves > 1 else None,
        transpositions=make_transpositions(
            num_trees=num_trees,
            nodes_per_tree=max_nodes,
            num_slots=num_trees * leaves,
            longest_path=longest,
            max_game_length=game.max_game_length,
        )
        if settings.transpositions
        else None,
        proofs=make_proofs(num_trees, max_nodes, longest) if settings.solve else None,
        squares=np.zeros((num_trees, max_nodes)) if settings.c_spread else None,
        formula=None if settings.rule is None else rules.formula_named(settings.rule),
    )
    trees = Trees(
        tree=tree,
        wave=Wave(
            active=np.zeros(num_trees, np.bool_),
            budget=np.zeros(num_trees, np.int32),
            leaves_per_tree=leaves,
        ),
        rule=Selection(
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
        ),
        variants=variants,
        most_kept=1 + reused if reuse else 0,
        root=make_root(game.num_actions),
        new_id=np.empty(max_nodes, np.int32),
        new_tried=np.empty_like(tree.tried[0]),
    )
    return trees, make_slots(num_trees * leaves, longest)


def bytes_needed(trees: Trees, legal_actions: int) -> int:
    """Memory of full trees whose positions have `legal_actions` legal actions each."""
    num_trees, max_nodes = trees.tree.nodes.shape
    node, place, edge = _bytes_each(trees)
    return int(num_trees * max_nodes * (node + PLACES_PER_NODE * place + edge * legal_actions))


def bytes_used(trees: Trees, row: int) -> int:
    """Memory of the current content of one tree."""
    tree, (node, place, edge) = trees.tree, _bytes_each(trees)
    return int(
        tree.num_nodes[row] * node + tree.num_places[row] * place + tree.num_edges[row] * edge
    )


def _bytes_each(trees: Trees) -> tuple[float, int, int]:
    """Bytes of a node, of a place for a tried edge and of an edge."""
    tree, variants = trees.tree, trees.variants
    node: float = tree.nodes.itemsize
    place = tree.tried.itemsize
    if variants.in_flight is not None:
        node += variants.in_flight.nodes.itemsize
        place += variants.in_flight.tried.itemsize
    if (known := variants.transpositions) is not None:
        node += known.node_key.itemsize + known.node_shared.itemsize
        node += known.table[0].nbytes / tree.nodes.shape[1]
    if variants.proofs is not None:
        node += variants.proofs.nodes.itemsize
    if variants.squares is not None:
        node += variants.squares.itemsize
    return node, place, tree.edge_action.itemsize + tree.edge_prior.itemsize
