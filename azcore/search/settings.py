"""The settings of a search, and its result."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from azcore.errors import SettingError
from azcore.game import FloatArray, IntArray
from azcore.game.facts import MOST_PROOF
from azcore.plugins import named
from azcore.search.proofs import rank
from azcore.search.puct import value_from, value_unit
from azcore.settings import (
    NOT_NEGATIVE,
    ONE_OR_MORE,
    POSITIVE,
    Checked,
    Test,
    build,
    or_null,
    require,
    unknown_key,
    within,
)

NOISE = (  # settings of self-play alone, in `conf/noise`
    *("dirichlet_alpha", "dirichlet_fraction", "gumbel.scale", "root_temperature"),
    "forced_visits",
)
PUCT = (  # the group `puct`, which Gumbel's search ignores
    *("c_init", "c_base", "c_spread", "c_spread_prior", "c_spread_visits", "value_range"),
    *("count_parent_visit", "first_play", "first_play_relative", "first_play_by_mass"),
    *("virtual_loss", "virtual_loss_is_loss", "reuse_subtree", "reuse_limit", "rule"),
)
# Values of settings for a search whose group lacks them.
LEFT_OUT: Mapping[str, Any] = {
    "leaves_per_tree": 1,
    "dirichlet_fraction": 0.0,
    "dirichlet_alpha": None,
    "root_temperature": 1.0,
    "forced_visits": 0.0,
    "stop_early": False,
    "solve": False,
    "proof_plies": 0,
    "gumbel": None,
    "rule": None,
}
RULES = "azcore.search_rules"  # the group of entry points

OWN = "null for the game's own"
FINITE: Test = (lambda value: 0 <= value < math.inf, "0 or more")
ABOVE_0: Test = (lambda value: 0 < value < math.inf, "above 0")
ZERO_TO_ONE: Test = (lambda value: 0 <= value <= 1, "0 to 1")


@dataclass(frozen=True, kw_only=True)
class GumbelSettings(Checked, group="search.gumbel"):
    """Gumbel AlphaZero's search instead of PUCT; the numbers are in `conf/search/gumbel`."""

    actions: Annotated[int, ONE_OR_MORE]
    scale: Annotated[float, FINITE]
    c_visit: Annotated[float, FINITE]
    c_scale: Annotated[float, FINITE]
    rescale: bool
    mixed_value: bool


@dataclass(frozen=True, kw_only=True)
class SearchSettings(Checked, group="search"):
    """How to search; the numbers and their sources are in `conf/search`, `puct` and `noise`."""

    num_simulations: Annotated[int, ONE_OR_MORE]
    c_init: Annotated[float, FINITE, "puct"]
    c_base: Annotated[float, POSITIVE, "puct"]
    c_spread: Annotated[float, ZERO_TO_ONE, "puct"]
    c_spread_prior: Annotated[float, ABOVE_0, "puct"]
    c_spread_visits: Annotated[float, FINITE, "puct"]
    value_range: tuple[float, float]
    count_parent_visit: bool
    first_play: Annotated[float, (math.isfinite, "finite"), "puct"]
    first_play_relative: bool
    first_play_by_mass: bool
    virtual_loss: Annotated[int, NOT_NEGATIVE, "puct"]
    virtual_loss_is_loss: bool
    leaves_per_tree: Annotated[int, ONE_OR_MORE]
    dirichlet_fraction: Annotated[float, ZERO_TO_ONE]
    dirichlet_alpha: Annotated[float | None, or_null(POSITIVE, OWN)]
    root_temperature: Annotated[float, ABOVE_0]
    forced_visits: Annotated[float, FINITE]
    reuse_subtree: bool
    reuse_limit: Annotated[float, FINITE, "puct"]
    transpositions: bool
    stop_early: bool
    solve: bool
    proof_plies: Annotated[int | None, or_null(within(0, MOST_PROOF), OWN)]
    gumbel: GumbelSettings | None  # None: PUCT everywhere
    rule: str | None  # a package's formula, see `rules.py`; None: azcore's

    def __post_init__(self) -> None:
        super().__post_init__()
        is_gumbel, several = self.gumbel is not None, self.leaves_per_tree > 1
        ordered = all(map(math.isfinite, self.value_range)) and len(self.value_range) == 2
        require(
            ordered and self.value_range[0] < self.value_range[1],
            "puct.value_range",
            "[lost, won], a lower number and a higher one",
            list(self.value_range),
        )
        # Settings that exclude each other.
        unfit = {
            "puct.c_spread": (
                self.c_spread != 0 and self.transpositions,
                "0 with transpositions, whose backups are not single values",
            ),
            "puct.virtual_loss": (
                several and self.virtual_loss == 0,
                "above 0 when leaves_per_tree is above 1, or all leaves are one",
            ),
            "puct.first_play_by_mass": (
                self.first_play_by_mass and not self.first_play_relative,
                "false unless first_play_relative is true, since it scales the reduction",
            ),
            "search.forced_visits": (
                self.forced_visits != 0 and (several or is_gumbel),
                "0 with search=gumbel or with leaves_per_tree above 1",
            ),
            "search.solve": (
                self.solve and (is_gumbel or self.transpositions),
                "false with search=gumbel and with transpositions, where nodes have several "
                "histories",
            ),
            "search.stop_early": (
                self.stop_early and (is_gumbel or self.solve),
                "false with search=gumbel, which does not choose by visits alone"
                if is_gumbel
                else "false with search.solve, since a later simulation may prove another action",
            ),
            "search.root_temperature": (
                is_gumbel and self.root_temperature != 1,
                "1 with search=gumbel, which adds its noise to the unchanged policy",
            ),
            "puct.rule": (
                is_gumbel and self.rule is not None,
                "null with search=gumbel, which has its own formulas",
            ),
            "search.leaves_per_tree": (
                is_gumbel and several,
                "1 with search=gumbel, which counts each visit before the next",
            ),
        }
        for key, (is_unfit, wanted) in unfit.items():
            require(not is_unfit, key, wanted, getattr(self, key.partition(".")[2]))

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

    def baseline(self) -> "SearchSettings":
        """The same search without the methods published after AlphaZero.

        So the player `search` is the same in runs that try them.
        """
        return replace(
            self,
            gumbel=None,
            rule=None,
            stop_early=False,
            solve=False,
            proof_plies=0,
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
    if puct.get("rule") is not None:
        named(RULES, puct["rule"], "puct.rule")
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
    # completed Q, since its simulations serve to find the best action and their mean says
    # little. Either: the network's own value if there were none.
    value: float
    network_value: float  # the evaluator's value of the root itself
    improved_policy: FloatArray | None = None  # [K], pi' of a Gumbel search; None with PUCT
    best_action: int | None = None  # the choice of a Gumbel search; None with PUCT
    # [K], N without forced visits, after `proofs.py`; None if nothing was forced or proven.
    pruned_counts: IntArray | None = None
    proven: IntArray | None = None  # [K], 1 won, -1 lost, 0 unknown; None without `search.solve`

    @property
    def kept_counts(self) -> IntArray:
        """The visits for move choice and the policy target, int32 [K]."""
        return self.visit_counts if self.pruned_counts is None else self.pruned_counts

    def ranked(self) -> npt.NDArray[np.int64]:
        """The actions from best to worst, int64 [K], as indices into the arrays above.

        Most visits first; ties go to the higher prior, then the lower action. Actions proven won
        come first, actions proven lost come last.
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
