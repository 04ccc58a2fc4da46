"""A setting that would change nothing is refused, and counts again with what it needs."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from azcore.cli import roots
from azcore.cli.composition import settings_for
from azcore.cli.effects import CONDITIONS, OF_THE_END, TARGETS, without_effect
from azcore.cli.messages import parsed
from azcore.errors import SettingError
from azcore.storage import targets

# By what is missing: words that change nothing in `game=go`, what switches them off if the defaults
# do not, and what makes them count.
VAIN = {
    "search=puct: a Gumbel search": [
        ("selfplay.temperature=0.5", "", "search=puct"),
        ("selfplay.temperature_plies=3", "", "algorithm=alphazero"),
        ("selfplay.temperature_half_life=3", "", "search=puct"),
        ("selfplay.final_temperature=0.2", "", "search=puct"),
        ("selfplay.temperatures=[1,0]", "", "search=puct"),
    ],
    "selfplay.temperature_half_life=null": [
        (
            "selfplay.temperature_plies=4",
            "search=puct selfplay.temperature_half_life=3",
            "search=puct",
        )
    ],
    "selfplay.temperatures=[]": [
        ("selfplay.temperature=0.5", "search=puct selfplay.temperatures=[1]", "search=puct"),
        ("selfplay.final_temperature=0.5", "search=puct selfplay.temperatures=[1]", "search=puct"),
    ],
    "selfplay.resignation=true": [
        ("selfplay.resignation_games=30", "", "selfplay.resignation=true"),
        ("selfplay.resignation_played_out=0.2", "", "selfplay.resignation=true"),
        ("selfplay.resignation_false_positives=0.1", "", "selfplay.resignation=true"),
    ],
    "selfplay.full_search_share": [
        ("selfplay.cheap_simulations=4", "", "selfplay.full_search_share=0.5"),
        ("selfplay.cheap_simulations=4", "", "method=cheap_ends"),
    ],
    "selfplay.decided_value": [("selfplay.decided_share=0.3", "", "selfplay.decided_value=0.9")],
    "search.dirichlet_fraction": [
        ("search.dirichlet_alpha=0.1", "search=puct search.dirichlet_fraction=0", "search=puct")
    ],
    "search=puct, with ratings": [("puct.c_init=2", "arena.every_generations=null", "")],
    "search=puct, or with web=true": [
        ("puct.c_spread=0.5", "", "search=puct"),
        ("puct.first_play_by_mass=true", "", "web=true"),
    ],
    "puct.c_spread above 0": [
        ("puct.c_spread_prior=0.1", "", "search=puct puct.c_spread=0.5"),
        ("puct.c_spread_visits=1", "", "search=puct puct.c_spread=0.5"),
    ],
    "search=puct and search.leaves_per_tree": [
        ("puct.virtual_loss=1", "", "search=puct search.leaves_per_tree=4"),
        ("puct.virtual_loss_is_loss=false", "", "web=true"),
    ],
    "puct.reuse_subtree=true": [("puct.reuse_limit=1.5", "puct.reuse_subtree=false", "")],
    "selfplay.starts": [("selfplay.start_plies=[3,4]", "", "selfplay.starts=[games.sgf]")],
    "replay.window_start": [
        ("replay.window_power=0.5", "", "replay.window_start=100"),
        ("replay.window_slope=0.5", "", "replay.window_start=100"),
    ],
    "replay.samples_per_position": [
        (
            "replay.least_samples_per_position=0.5",
            "replay.samples_per_position=null replay.games_per_generation=9",
            "",
        )
    ],
    "a game that has symmetries": [
        ("replay.augment=true", "game=chess", ""),
        ("evaluator.random_symmetry=true", "game=chess", ""),
    ],
    "learner.schedule=steps": [("learner.milestones=[0.2]", "learner.schedule=cosine", "")],
    "learner.schedule=cosine": [("learner.cosine_end=0.1", "", "method=cosine")],
    "trainer.devices": [("learner.sync_batch_norm=false", "", "trainer.devices=2")],
    "a game that states score": [
        ("network.auxiliary.score=true", "game=chess", ""),
        ("learner.auxiliary_weights.score=2", "game=chess", ""),
        ("method=score", "game=chess", ""),
    ],
    "a game that states ownership": [("network.auxiliary.ownership=true", "game=chess", "")],
    "a game that states material": [("network.auxiliary.material=true", "", "game=chess")],
    "a network that learns it": [
        ("learner.auxiliary_weights.soft_policy=2", "", "network.auxiliary.soft_policy=true"),
        ("learner.auxiliary_weights.score=2", "network=dual_res", ""),
        ("learner.auxiliary_weights.score=2", "network.auxiliary.score=false", ""),
    ],
    "gate.enabled=true, or": [
        ("gate.games=20", "", "gate.enabled=true"),
        ("gate.threshold=0.6", "", "algorithm=alphagozero"),
    ],
    "gate.enabled=true gate.sprt=true": [
        ("sprt.elo1=20", "", "gate.enabled=true gate.sprt=true"),
        ("sprt=default", "", "gate.enabled=true gate.sprt=true"),
    ],
    "arena.every_generations": [("arena.games=4", "arena.every_generations=null", "")],
    "arena.starts": [("arena.start_plies=[4]", "", "arena.starts=[games.sgf]")],
    "backend=ray": [("backend.wait=30", "", "backend=ray")],
    "backend=process": [("backend.restarts=1", "backend=inline", "")],
    "export.per_generation": [("export.format=sgf", "", "export.per_generation=1")],
    "web=true": [("web.port=9000", "", "web=true")],
    "algorithm=supervised": [("supervised.games=[a.azg]", "", "algorithm=supervised")],
    "self-play, which algorithm=supervised lacks": [
        ("selfplay.opening_plies=4", "algorithm=supervised", ""),
        ("search.num_simulations=4", "algorithm=supervised", ""),
        ("search.forced_visits=2", "algorithm=supervised search=puct", "search=puct"),
        ("search.num_simulations=4", "algorithm=supervised", "plugins.algorithm=package:Mixed"),
        ("backend.processes=2", "algorithm=supervised", ""),
        ("backend=process", "algorithm=supervised", ""),
    ],
    "replay.value_samples_per_game": [
        (
            "replay.samples_per_position=2",
            "algorithm=supervised",
            "algorithm=supervised replay.value_samples_per_game=1",
        ),
        ("replay.least_samples_per_position=1", "algorithm=supervised", ""),
    ],
}


@cache
def composed(words: str) -> dict[str, Any]:
    return settings_for(["game=go", *words.split()], {})


@pytest.mark.parametrize(
    ("wanted", "word", "without", "with_it"),
    [(wanted, *case) for wanted, cases in VAIN.items() for case in cases],
)
def test_a_setting_without_effect_needs_another(
    wanted: str, word: str, without: str, with_it: str
) -> None:
    key, override = word.partition("=")[0], parsed([word])
    what = word if key == "method" else key
    ((named, sentence),) = without_effect(composed(without), override).items()
    assert named == what
    assert sentence.startswith(f"{what} changes something only with {wanted}")
    assert sentence.endswith(f"; got {word}")
    assert without_effect(composed(with_it), override) == {}


def test_a_setting_without_effect_is_refused() -> None:
    with pytest.raises(SettingError, match=r"^gate.games changes something only with gate.en"):
        settings_for(["game=go", "gate.games=20"], {})
    settings_for(["game=go", "gate.games=20", "gate.enabled=true"], {})
    with pytest.raises(SettingError, match=r"^gate.enabled changes something only with self-play"):
        settings_for(["game=go", "gate.enabled=true", "algorithm=supervised"], {})


def test_each_condition_is_tested() -> None:
    untested = {condition.wanted for condition in CONDITIONS}
    untested -= {each for each in untested for wanted in VAIN if each.startswith(wanted)}
    assert untested == {"compare.after_sweep=true"}  # for sweeps; tests/commands/test_sweep.py


def test_switches_themselves_and_groups_pass() -> None:
    words = ["gate.enabled=false", "supervised.enabled=false", "arena.every_generations=null"]
    settings_for(["game=go", *words, "arena=ratings", "gate=default"], {})


def test_conditions_name_settings_that_there_are() -> None:
    named = [key for condition in CONDITIONS for key in (*condition.keys, *condition.but)]
    assert all(roots.has("train", key) for key in named)
    assert (OF_THE_END, TARGETS) == (targets.OF_THE_END, targets.TARGETS)


@pytest.mark.parametrize("words", ["falling_temperature", "[wdl,falling_temperature]"])
def test_a_method_without_effect_is_refused(words: str) -> None:
    told = r"^method=falling_temperature changes something only with search=puct.*; got method="
    with pytest.raises(SettingError, match=told):
        settings_for(["game=go", f"method={words}"], {})
    settings_for(["game=go", "search=puct", f"method={words}"], {})


def test_a_method_of_which_a_part_counts_passes() -> None:
    for method in ("cheap_ends", "muon", "warmup", "without_reply"):
        settings_for(["game=go", f"method={method}"], {})
