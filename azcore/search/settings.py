"""The settings of a search, and its result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.errors import SettingError
from azcore.game import FloatArray, IntArray
from azcore.search.proofs import rank
from azcore.search.puct import value_from, value_unit
from azcore.settings import build, require, unknown_key

NOISE = (  # settings of self-play alone, in `conf/noise`
    *("dirichlet_alpha", "dirichlet_fraction", "gumbel.scale", "root_temperature"),
    "forced_visits",
)
PUCT = (  # the group `puct`, which Gumbel's search does not know
    *("c_init", "c_base", "c_spread", "c_spread_prior", "c_spread_visits", "value_range"),
    *("count_parent_visit", "first_play", "first_play_relative", "first_play_by_mass"),
    *("virtual_loss", "virtual_loss_is_loss", "reuse_subtree", "reuse_limit"),
)
# What does not happen in a search whose group has no key for it.
LEFT_OUT: Mapping[str, Any] = {
    "leaves_per_tree": 1,
    "dirichlet_fraction": 0.0,
    "dirichlet_alpha": None,
    "root_temperature": 1.0,
    "forced_visits": 0.0,
    "stop_early": False,
    "solve": False,
    "gumbel": None,
}
TARGET_PARTS = 65_535  # of a policy that is stored as whole numbers


@dataclass(frozen=True, kw_only=True)
class GumbelSettings:
    """Gumbel AlphaZero's search instead of PUCT; the numbers are in `conf/search/gumbel`."""

    actions: int
    scale: float
    c_visit: float
    c_scale: float
    rescale: bool
    mixed_value: bool

    def __post_init__(self) -> None:
        require(self.actions >= 1, "search.gumbel.actions", "1 or more", self.actions)
        for name in ("scale", "c_visit", "c_scale"):
            value = getattr(self, name)
            require(0 <= value < math.inf, f"search.gumbel.{name}", "0 or more", value)


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How to search; the numbers and their sources are in `conf/search`, `puct` and `noise`."""

    num_simulations: int
    c_init: float
    c_base: float
    c_spread: float
    c_spread_prior: float
    c_spread_visits: float
    value_range: tuple[float, float]
    count_parent_visit: bool
    first_play: float
    first_play_relative: bool
    first_play_by_mass: bool
    virtual_loss: int
    virtual_loss_is_loss: bool
    leaves_per_tree: int
    dirichlet_fraction: float
    dirichlet_alpha: float | None  # None: the game's own
    root_temperature: float
    forced_visits: float
    reuse_subtree: bool
    reuse_limit: float
    transpositions: bool
    stop_early: bool
    solve: bool
    gumbel: GumbelSettings | None  # None: PUCT everywhere

    def __post_init__(self) -> None:
        require(
            self.num_simulations >= 1, "search.num_simulations", "1 or more", self.num_simulations
        )
        require(self.c_base > 0, "puct.c_base", "above 0", self.c_base)
        require(0 <= self.c_init < math.inf, "puct.c_init", "0 or more", self.c_init)
        require(0 <= self.c_spread <= 1, "puct.c_spread", "0 to 1", self.c_spread)
        require(
            self.c_spread == 0 or not self.transpositions,
            "puct.c_spread",
            "0 with transpositions, whose backups are no single values",
            self.c_spread,
        )
        require(
            0 < self.c_spread_prior < math.inf,
            "puct.c_spread_prior",
            "above 0",
            self.c_spread_prior,
        )
        require(
            0 <= self.c_spread_visits < math.inf,
            "puct.c_spread_visits",
            "0 or more",
            self.c_spread_visits,
        )
        require(
            len(self.value_range) == 2
            and all(map(math.isfinite, self.value_range))
            and self.value_range[0] < self.value_range[1],
            "puct.value_range",
            "[lost, won], a lower number and a higher one",
            list(self.value_range),
        )
        require(math.isfinite(self.first_play), "puct.first_play", "finite", self.first_play)
        require(self.virtual_loss >= 0, "puct.virtual_loss", "0 or more", self.virtual_loss)
        require(
            self.leaves_per_tree >= 1, "search.leaves_per_tree", "1 or more", self.leaves_per_tree
        )
        require(
            self.leaves_per_tree == 1 or self.virtual_loss > 0,
            "puct.virtual_loss",
            "above 0 when leaves_per_tree is above 1, or all leaves are one",
            self.virtual_loss,
        )
        require(
            0 <= self.dirichlet_fraction <= 1,
            "search.dirichlet_fraction",
            "0 to 1",
            self.dirichlet_fraction,
        )
        require(
            self.dirichlet_alpha is None or self.dirichlet_alpha > 0,
            "search.dirichlet_alpha",
            "above 0, or null for the game's own",
            self.dirichlet_alpha,
        )
        require(
            self.first_play_relative or not self.first_play_by_mass,
            "puct.first_play_by_mass",
            "false unless first_play_relative is true, since it scales the reduction",
            self.first_play_by_mass,
        )
        require(
            0 < self.root_temperature < math.inf,
            "search.root_temperature",
            "above 0",
            self.root_temperature,
        )
        require(
            0 <= self.forced_visits < math.inf,
            "search.forced_visits",
            "0 or more",
            self.forced_visits,
        )
        require(
            self.forced_visits == 0 or (self.leaves_per_tree == 1 and self.gumbel is None),
            "search.forced_visits",
            "0 with search=gumbel or with leaves_per_tree above 1",
            self.forced_visits,
        )
        require(0 <= self.reuse_limit < math.inf, "puct.reuse_limit", "0 or more", self.reuse_limit)
        require(
            not self.solve or (self.gumbel is None and not self.transpositions),
            "search.solve",
            "false with search=gumbel and with transpositions, where nodes have several histories",
            self.solve,
        )
        require(
            self.gumbel is None or not self.stop_early,
            "search.stop_early",
            "false with search=gumbel, which does not choose by visits alone",
            self.stop_early,
        )
        require(
            not (self.stop_early and self.solve),
            "search.stop_early",
            "false with search.solve, since a later simulation may prove another action",
            self.stop_early,
        )
        require(
            self.gumbel is None or self.root_temperature == 1,
            "search.root_temperature",
            "1 with search=gumbel, whose noise is on the policy as it is",
            self.root_temperature,
        )
        require(
            self.gumbel is None or self.leaves_per_tree == 1,
            "search.leaves_per_tree",
            "1 with search=gumbel, which counts each visit before the next",
            self.leaves_per_tree,
        )

    @property
    def first_play_value(self) -> float:
        """`first_play` in our Q: the value of an untried action, or the reduction if relative."""
        if self.first_play_relative:
            return self.first_play * value_unit(self.value_range)
        return value_from(self.first_play, self.value_range)

    @property
    def is_gumbel(self) -> bool:
        """Whether Gumbel AlphaZero's search replaces PUCT; see `gumbel.py`."""
        return self.gumbel is not None

    @property
    def explores(self) -> bool:
        """Whether a search in self-play differs from one in a match."""
        return bool(
            self.is_gumbel
            or self.dirichlet_fraction
            or self.forced_visits
            or self.root_temperature != 1
        )

    def baseline(self) -> SearchSettings:
        """The same without the methods that came after AlphaZero.

        So a player of this name is the same in runs that try them.
        """
        return replace(
            self,
            gumbel=None,
            stop_early=False,
            solve=False,
            c_spread=0.0,
            first_play_by_mass=False,
            forced_visits=0.0,
            root_temperature=1.0,
        )

    def most_targets(self, num_actions: int) -> int:
        """The most actions that a policy target may have; with PUCT, these are the visited ones.

        A kept subtree may add as many as the simulations do.
        """
        return num_actions if self.is_gumbel else min(num_actions, 2 * self.num_simulations)


def search_settings(config: Mapping[str, Any]) -> SearchSettings:
    """The settings of a search from the groups `search` and `puct`.

    Raises:
        SettingError: one of them cannot be used.
    """
    search, puct = config["search"], config["puct"]
    for group in (search, puct):
        require(isinstance(group, Mapping), "search and puct", "settings by name", group)
    for key in puct:
        if key not in PUCT:
            raise SettingError(unknown_key(f"puct.{key}", [f"puct.{name}" for name in PUCT]))
    own = {**LEFT_OUT, **search}
    if isinstance(own["gumbel"], Mapping):
        own["gumbel"] = {"scale": 0.0, **own["gumbel"]}
    homes = dict.fromkeys(PUCT, "puct")
    for key in search:
        if key in homes:
            raise SettingError(unknown_key(f"search.{key}", [f"puct.{key}"]))
    return build(SearchSettings, {**own, **puct}, "search", homes)


@dataclass(frozen=True)
class SearchResult:
    """The result of a search at one root; values in the view of the player to move there."""

    actions: IntArray  # [K], legal actions, ascending
    visit_counts: IntArray  # [K], N(s, a)
    q_values: FloatArray  # [K], Q(s, a); 0 where never visited, the outcome where proven
    priors: FloatArray  # [K], P(s, a), noise included where it was added
    # PUCT: mean over the root's simulations; the outcome if it is proven. Gumbel: sum of pi' and
    # completed Q, since its simulations are shared out to find the best action and their mean says
    # little. Either: the network's own value if there were none.
    value: float
    network_value: float  # the evaluator's value of the root itself
    improved_policy: FloatArray | None = None  # [K], pi' of a Gumbel search; None with PUCT
    best_action: int | None = None  # the choice of a Gumbel search; None with PUCT
    # [K], N without forced visits and as `proofs.py` says; None if nothing was forced or proven.
    pruned_counts: IntArray | None = None
    proven: IntArray | None = None  # [K], 1 won, -1 lost, 0 unknown; None without `search.solve`

    @property
    def kept_counts(self) -> IntArray:
        """The visits that a move is drawn by and the policy learns from, int32 [K]."""
        return self.visit_counts if self.pruned_counts is None else self.pruned_counts

    def ranked(self) -> npt.NDArray[np.int64]:
        """The actions from best to worst, int64 [K], as indices into the arrays above.

        Most visits first; ties go to the higher prior, then the lower action. Before all are
        actions that are proven won, after all those that are proven lost.
        """
        proven = np.zeros_like(self.actions) if self.proven is None else self.proven
        return rank(self.actions, self.visit_counts, self.priors, proven)

    def policy_target(self) -> FloatArray:
        """The training target of the policy, float32 [K].

        PUCT: kept visits normalised (move choice applies its temperature separately). Gumbel: pi'.
        """
        if self.improved_policy is not None:
            return self.improved_policy
        total = max(1, int(self.kept_counts.sum()))
        return np.asarray(self.kept_counts / total, np.float32)

    def target_counts(self) -> IntArray:
        """The policy target as whole numbers for a game record, int32 [K]; 0 where it is left out.

        PUCT: the visits, without those that were forced. Gumbel: pi' in parts of 65,535.
        Probabilities that round to 0 are too small for learning to tell from 0; without them, a
        surer policy makes a shorter record.
        """
        if self.improved_policy is None:
            return self.kept_counts
        return np.rint(self.improved_policy * TARGET_PARTS).astype(np.int32)
