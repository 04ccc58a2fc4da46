"""Settings of a run that need others to have an effect; azcore refuses one without effect.

A choice of a group has only the keys that it uses. This covers keys that depend on a switch
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hydra.core.override_parser.types import Override

from azcore.cli.plugins import keys_of_method
from azcore.errors import SettingError

if TYPE_CHECKING:
    from azcore.game import Game

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Condition:
    """The condition under which keys have an effect."""

    keys: tuple[str, ...]  # including those below them
    holds: Callable[[Settings], bool]
    wanted: str  # completes "KEY changes something only with"
    but: tuple[str, ...] = ()  # keys below them that do not need it


def _learns(target: str) -> Condition:
    return Condition(
        (f"learner.auxiliary_weights.{target}",),
        lambda s: bool(s["network"].get("auxiliary", {}).get(target)),
        f"a network that learns it, such as network=pooled_res network.auxiliary.{target}=true",
    )


def _states(target: str) -> Condition:
    return Condition(
        (f"network.auxiliary.{target}", f"learner.auxiliary_weights.{target}"),
        lambda s: bool(getattr(_game(s), f"has_{target}")),
        f"a game that states {target}",
    )


def _plays_itself(settings: Settings) -> bool:
    # An algorithm of a package may do so, whatever it derives from.
    return not settings["supervised"]["enabled"] or settings["plugins"]["algorithm"] is not None


def _by_puct(settings: Settings) -> bool:
    return "gumbel" not in settings["search"]


def _beside(settings: Settings) -> bool:
    return bool(settings["web"]["beside"])  # its engine searches by PUCT


def _game(settings: Settings) -> Game:
    from azcore.game.registry import unprepared  # with the compiler, for the few words that need it

    return unprepared(**settings["game"])


# Equal to those of `azcore.storage.targets`, as a test checks: that file imports the compiler.
OF_THE_END = ("ownership", "score", "material")
TARGETS = (*OF_THE_END, "reply", "soft_policy", "later_values", "plies_left")
SELF_PLAY = "self-play, which algorithm=supervised lacks"
_PLIES = ("temperature", "temperature_plies", "temperature_half_life", "final_temperature")
TEMPERATURE = tuple(f"selfplay.{name}" for name in _PLIES)
_NOISE = ("dirichlet_fraction", "root_temperature", "forced_visits")
_NEW_GAMES = ("samples_per_position", "games_per_generation", "least_samples_per_position")
RESIGNATION = tuple(
    f"selfplay.resignation_{name}" for name in ("false_positives", "played_out", "games")
)
CONDITIONS = (
    Condition(
        (*TEMPERATURE, "selfplay.temperatures"),
        _by_puct,
        "search=puct: a Gumbel search already chooses its move",
    ),
    Condition(
        ("selfplay.temperature_plies",),
        lambda s: s["selfplay"]["temperature_half_life"] is None,
        "selfplay.temperature_half_life=null, which has no such step otherwise",
    ),
    Condition(
        TEMPERATURE,
        lambda s: not s["selfplay"]["temperatures"],
        "selfplay.temperatures=[], which holds them all",
    ),
    Condition(
        RESIGNATION, lambda s: bool(s["selfplay"]["resignation"]), "selfplay.resignation=true"
    ),
    Condition(
        ("selfplay.cheap_simulations",),
        lambda s: (
            s["selfplay"]["full_search_share"] < 1 or s["selfplay"]["decided_value"] is not None
        ),
        "selfplay.full_search_share below 1, or with selfplay.decided_value",
    ),
    Condition(
        ("selfplay.decided_share",),
        lambda s: s["selfplay"]["decided_value"] is not None,
        "selfplay.decided_value",
    ),
    Condition(
        ("search.dirichlet_alpha",),
        lambda s: _beside(s) or (_plays_itself(s) and s["search"].get("dirichlet_fraction") != 0),
        "search.dirichlet_fraction above 0",
    ),
    Condition(
        ("puct",),
        lambda s: _by_puct(s) or _beside(s) or s["arena"]["every_generations"] is not None,
        "search=puct, with ratings (arena.every_generations), or with web=true",
    ),
    Condition(  # of these the player `search` of ratings has the papers' values
        ("puct.c_spread", "puct.first_play_by_mass"),
        lambda s: _by_puct(s) or _beside(s),
        "search=puct, or with web=true",
    ),
    Condition(
        ("puct.c_spread_prior", "puct.c_spread_visits"),
        lambda s: s["puct"]["c_spread"] != 0 and (_by_puct(s) or _beside(s)),
        "puct.c_spread above 0 and search=puct",
    ),
    Condition(
        ("puct.virtual_loss", "puct.virtual_loss_is_loss"),
        lambda s: s["search"].get("leaves_per_tree", 1) != 1 or _beside(s),
        "search=puct and search.leaves_per_tree above 1, or with web=true",
    ),
    Condition(
        ("puct.reuse_limit",), lambda s: bool(s["puct"]["reuse_subtree"]), "puct.reuse_subtree=true"
    ),
    Condition(
        ("selfplay.start_plies",), lambda s: bool(s["selfplay"]["starts"]), "selfplay.starts"
    ),
    Condition(
        ("replay.window_power", "replay.window_slope"),
        lambda s: s["replay"]["window_start"] is not None,
        "replay.window_start, from which the window grows",
    ),
    Condition(
        ("replay.least_samples_per_position",),
        lambda s: s["replay"]["samples_per_position"] is not None,
        "replay.samples_per_position, without replay.games_per_generation",
    ),
    Condition(
        ("replay.augment", "evaluator.random_symmetry"),
        lambda s: bool(_game(s).symmetries),
        "a game that has symmetries",
    ),
    Condition(
        ("learner.milestones",),
        lambda s: s["learner"]["schedule"] == "steps",
        "learner.schedule=steps",
    ),
    Condition(
        ("learner.cosine_end",),
        lambda s: s["learner"]["schedule"] == "cosine",
        "learner.schedule=cosine",
    ),
    Condition(
        ("learner.sync_batch_norm",),
        lambda s: s["trainer"]["devices"] != 1 or s["trainer"]["num_nodes"] != 1,
        "trainer.devices or trainer.num_nodes above 1",
    ),
    *map(_states, OF_THE_END),
    *map(_learns, TARGETS),
    Condition(
        ("gate.enabled",),
        lambda s: _plays_itself(s) or not s["gate"]["enabled"],
        SELF_PLAY,
    ),
    Condition(
        ("gate",),
        lambda s: bool(s["gate"]["enabled"]),
        "gate.enabled=true, or algorithm=alphagozero",
        but=("gate.enabled",),
    ),
    Condition(
        ("sprt",),
        lambda s: bool(s["gate"]["enabled"] and s["gate"]["sprt"]),
        "gate.enabled=true gate.sprt=true",
    ),
    Condition(
        ("arena",),
        lambda s: s["arena"]["every_generations"] is not None,
        "arena.every_generations, as there are no ratings without it",
        but=("arena.every_generations",),
    ),
    Condition(("arena.start_plies",), lambda s: bool(s["arena"]["starts"]), "arena.starts"),
    Condition(("backend.wait",), lambda s: s["backend"]["name"] == "ray", "backend=ray"),
    Condition(
        ("backend.restarts",),
        lambda s: s["backend"]["name"] != "inline",
        "backend=process, or with backend=ray",
    ),
    Condition(
        ("export.format",),
        lambda s: s["export"]["per_generation"] != 0,
        "export.per_generation above 0",
    ),
    Condition(("web",), _beside, "web=true", but=("web.beside",)),
    Condition(
        ("supervised",),
        lambda s: bool(s["supervised"]["enabled"] or s["compare"]["after_sweep"]),
        "algorithm=supervised, or in a comparison after a sweep",
        but=("supervised.enabled",),
    ),
    Condition(
        (
            "selfplay",
            "search.num_simulations",  # matches have their own number, and no noise
            *(f"search.{name}" for name in _NOISE),
        ),
        _plays_itself,
        SELF_PLAY,
        but=("selfplay.workers",),  # which also play the matches
    ),
    Condition(
        tuple(f"replay.{name}" for name in _NEW_GAMES),
        lambda s: _plays_itself(s) or s["replay"]["value_samples_per_game"] is not None,
        f"replay.value_samples_per_game, or with {SELF_PLAY}",
    ),
    Condition(
        ("backend",),
        lambda s: _plays_itself(s) or bool(s["compare"]["after_sweep"]),
        SELF_PLAY,
    ),
    Condition(
        ("compare",),
        lambda s: bool(s["compare"]["after_sweep"]),
        "compare.after_sweep=true",
        but=("compare.after_sweep",),
    ),
)


def require_effective(settings: Settings, words: Sequence[Override]) -> None:
    """Refuse words of a command line that would have no effect.

    Args:
        settings: a run's settings, as plain values.

    Raises:
        SettingError: the message names the key, and what it needs.
    """
    for sentence in without_effect(settings, words).values():
        raise SettingError(sentence)


def without_effect(settings: Settings, words: Sequence[Override]) -> dict[str, str]:
    """The words without effect, each with a sentence on what its key needs."""
    found = {}
    for word in words:
        for what, keys in _keys_of(word, settings).items():
            wanted = [_wanted_by(key, settings) for key in keys]
            if wanted and None not in wanted:
                reason = f"{what} changes something only with {wanted[0]}"
                found[what] = f"{reason}; got {word.input_line}"
    return found


def _keys_of(word: Override, settings: Settings) -> dict[str, list[str]]:
    """The settings that a word sets, of each method separately."""
    name = word.key_or_group
    if name == "method":
        chosen = word.value()
        chosen = chosen if isinstance(chosen, list) else [chosen]
        return {f"method={method}": keys_of_method(str(method)) for method in chosen}
    group = settings.get(name)
    return {name: [f"{name}.{key}" for key in group] if isinstance(group, Mapping) else [name]}


def _wanted_by(key: str, settings: Settings) -> str | None:
    """The unmet condition for a setting's effect; None: it has an effect."""
    for condition in CONDITIONS:
        is_of = any(f"{key}.".startswith(f"{own}.") for own in condition.keys)
        if is_of and key not in condition.but and not condition.holds(settings):
            return condition.wanted
    return None
