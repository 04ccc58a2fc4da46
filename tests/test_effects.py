"""A setting that would change nothing is refused, and counts again with what it needs."""

from __future__ import annotations

import pytest

from azcore.cli import roots
from azcore.cli.composition import settings_for
from azcore.cli.effects import CONDITIONS, TARGETS
from azcore.errors import SettingError
from azcore.storage.targets import TARGETS as ALL_TARGETS

# A word that changes nothing in `game=go`, and what makes it count.
WORDS = [
    ("selfplay.temperature=0.5", "search=puct"),
    ("selfplay.temperature_plies=3", "algorithm=alphazero"),
    ("selfplay.temperature_half_life=3", "search=puct"),
    ("selfplay.final_temperature=0.2", "search=puct"),
    ("selfplay.temperatures=[1,0]", "search=puct"),
    ("selfplay.resignation_games=30", "selfplay.resignation=true"),
    ("selfplay.resignation_played_out=0.2", "selfplay.resignation=true"),
    ("selfplay.resignation_false_positives=0.1", "selfplay.resignation=true"),
    ("selfplay.cheap_simulations=4", "selfplay.full_search_share=0.5"),
    ("selfplay.cheap_simulations=4", "method=cheap_ends"),
    ("selfplay.decided_share=0.3", "selfplay.decided_value=0.9"),
    ("selfplay.start_plies=[3,4]", "selfplay.starts=[games.sgf]"),
    ("replay.window_power=0.5", "replay.window_start=100"),
    ("replay.window_slope=0.5", "replay.window_start=100"),
    ("learner.cosine_end=0.1", "method=cosine"),
    ("gate.games=20", "gate.enabled=true"),
    ("gate.threshold=0.6", "algorithm=alphagozero"),
    ("sprt.elo1=20", "gate.enabled=true gate.sprt=true"),
    ("supervised.games=[a.azg]", "algorithm=supervised"),
    ("puct.c_spread=0.5", "search=puct"),
    ("puct.first_play_by_mass=true", "web=true"),
    ("puct.c_spread_prior=0.1", "search=puct puct.c_spread=0.5"),
    ("puct.c_spread_visits=1", "search=puct puct.c_spread=0.5"),
    ("puct.virtual_loss=1", "search=puct search.leaves_per_tree=4"),
    ("puct.virtual_loss_is_loss=false", "web=true"),
    ("learner.sync_batch_norm=false", "trainer.devices=2"),
    ("arena.start_plies=[4]", "arena.starts=[games.sgf]"),
    ("backend.wait=30", "backend=ray"),
    ("export.format=sgf", "export.per_generation=1"),
    ("web.port=9000", "web=true"),
    ("learner.auxiliary_weights.soft_policy=2", "network.auxiliary.soft_policy=true"),
]


@pytest.mark.parametrize(("word", "with_it"), WORDS)
def test_a_setting_without_effect_is_refused(word: str, with_it: str) -> None:
    key = word.partition("=")[0]
    with pytest.raises(SettingError, match=rf"^{key} changes something only with .*; got {key}="):
        settings_for(["game=go", word], {})
    settings_for(["game=go", word, *with_it.split()], {})


@pytest.mark.parametrize(
    "words",
    [
        ["learner.milestones=[0.2]", "learner.schedule=cosine"],
        ["arena.games=4", "arena.every_generations=null"],
        ["backend.restarts=1", "backend=inline"],
        ["selfplay.opening_plies=4", "algorithm=supervised"],
        ["puct.c_init=2", "arena.every_generations=null"],
        ["puct.reuse_limit=1.5", "puct.reuse_subtree=false"],
        ["learner.auxiliary_weights.score=2", "network=dual_res"],
        ["learner.auxiliary_weights.score=2", "network.auxiliary.score=false"],
    ],
)
def test_what_another_word_switches_off_is_refused(words: list[str]) -> None:
    settings_for(["game=go", words[0]], {})
    with pytest.raises(SettingError, match="changes something only with"):
        settings_for(["game=go", *words], {})


@pytest.mark.parametrize("word", ["replay.augment=true", "evaluator.random_symmetry=true"])
def test_symmetries_need_a_game_that_has_some(word: str) -> None:
    settings_for(["game=tic_tac_toe", word], {})
    with pytest.raises(SettingError, match="only with a game that has symmetries"):
        settings_for(["game=chess", word], {})


def test_what_another_word_of_puct_switches_off_is_refused() -> None:
    for words in (
        ["selfplay.temperature_plies=4", "selfplay.temperature_half_life=3"],
        ["search.dirichlet_alpha=0.1", "search.dirichlet_fraction=0"],
    ):
        settings_for(["game=go", "search=puct", words[0]], {})
        with pytest.raises(SettingError, match="changes something only with"):
            settings_for(["game=go", "search=puct", *words], {})


def test_switches_themselves_and_groups_pass() -> None:
    words = ["gate.enabled=false", "supervised.enabled=false", "arena.every_generations=null"]
    settings_for(["game=go", *words, "arena=ratings", "gate=default"], {})


def test_conditions_name_settings_that_there_are() -> None:
    named = [key for condition in CONDITIONS for key in (*condition.keys, *condition.but)]
    assert all(roots.has("train", key) for key in named)
    assert set(TARGETS) == set(ALL_TARGETS)


@pytest.mark.parametrize("words", ["falling_temperature", "[wdl,falling_temperature]"])
def test_a_method_without_effect_is_refused(words: str) -> None:
    told = r"^method=falling_temperature changes something only with search=puct.*; got method="
    with pytest.raises(SettingError, match=told):
        settings_for(["game=go", f"method={words}"], {})
    settings_for(["game=go", "search=puct", f"method={words}"], {})


def test_a_method_of_which_a_part_counts_passes() -> None:
    for method in ("cheap_ends", "muon", "warmup", "without_reply"):
        settings_for(["game=go", f"method={method}"], {})
