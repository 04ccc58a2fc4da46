"""The experiments in `conf/experiment`: every job of each builds, and varies only what it says."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import hydra
import pytest

from azcore.assembly.parts import RunSettings, settings_from
from azcore.commands.arena.settings import comparison_settings
from azcore.networks import build_network
from azcore.storage.targets import TARGETS
from conftest import compose

EXPERIMENTS = sorted(
    option.name.removesuffix(".yaml")
    for option in (files("azcore.conf") / "experiment").iterdir()
    if option.name.endswith(".yaml")
)
GUMBEL = ("actions", "scale", "c_visit", "c_scale", "rescale", "mixed_value")
# Settings of PUCT's search that Gumbel's does not have.
OF_PUCT = {
    *("search.stop_early", "search.solve", "search.leaves_per_tree"),
    *("search.dirichlet_fraction", "search.root_temperature", "search.forced_visits"),
}
# What the jobs of one seed differ in, written out.
VARIED = {
    "papers": set(),
    "papers_gate": {"gate.enabled"},
    "papers_noise": {"search.dirichlet_fraction"},
    "papers_networks": {"network.name"},
    "papers_scale": {"puct.value_range"},
    "papers_augmentation": {"replay.augment"},
    "papers_algorithms": {
        "algorithm",
        "gate.enabled",
        "puct.c_init",
        "puct.c_base",
        "puct.count_parent_visit",
        *(f"search.gumbel.{key}" for key in GUMBEL),
        *OF_PUCT,
        "evaluator.random_symmetry",
        "selfplay.resignation",
    },
    "experts": {
        "supervised.enabled",
        "learner.value_weight",
        "network.auxiliary.later_values",
    },
    "scaling": {"network.channels"},
    "ablation": set(),
    "ablation_go": {
        *(
            f"network.auxiliary.{target}"
            for target in TARGETS
            if target not in ("material", "plies_left")
        ),
        "network.value",
        *OF_PUCT,
        "puct.first_play",
        "puct.first_play_relative",
        "puct.first_play_by_mass",
        "selfplay.full_search_share",
        "puct.c_spread",
        *(f"search.gumbel.{key}" for key in GUMBEL),
        "search.num_simulations",
        "replay.samples_per_position",
        "selfplay.policy_plies",
        "selfplay.branch_share",
        "network.pooling_every",
        "network.squeeze_excite",
        "network.bottleneck",
        "learner.optimizer",
        "learner.momentum",
        "learner.schedule",
        "learner.warmup_steps",
        "learner.learning_rates",
        "learner.milestones",
        "learner.l2",
        "learner.weight_averaging",
        "replay.surprise_share",
        "replay.window_start",
        "replay.root_value_share",
    },
}
# What all of them change in a plain run of the same game.
ARENA = {"arena.every_generations", "arena.games"}
COMPARE = {"compare.checkpoints", "compare.after_sweep"}
LENGTH = {"trainer.max_steps", "learner.learning_rates", "learner.milestones"}
BOARD = {"game.board_size", "game.komi", "selfplay.num_games"}
STEPS = "learner.steps_per_generation"
SAMPLES = "replay.least_samples_per_position"
SHARED = {
    "papers": {*BOARD, *LENGTH, *ARENA, *COMPARE, STEPS, "gate.every_generations", "gate.games"},
    "ablation": {
        *(BOARD | ARENA | COMPARE),
        *("trainer.max_steps", STEPS, SAMPLES, "arena.num_simulations", "compare.rivals"),
    },
    "experts": {
        *(BOARD | ARENA | {"compare.after_sweep"}),  # with as many checkpoints as it comes
        *("trainer.max_steps", STEPS, SAMPLES, "arena.num_simulations", "compare.x"),
        "supervised.held_out",
    },
    "scaling": {
        *(
            ARENA
            | {"compare.after_sweep", "compare.rivals", "compare.x", "compare.num_simulations"}
        ),
        *("trainer.max_steps", STEPS, "arena.num_simulations", "selfplay.num_games"),
    },
}
# The run that an experiment changes.
PLAIN = {
    "papers": ("game=go", "algorithm=alphazero", "seed=1"),
    "experts": ("game=go", "algorithm=azcore", "seed=1"),
    "ablation": ("game=go", "algorithm=azcore", "seed=1"),
    "scaling": ("game=tic_tac_toe", "algorithm=alphazero", "seed=1"),
}

# The same positions, optimizer steps and size of network in every run.
EQUAL = [
    ("trainer", "max_steps"),
    ("learner", "batch_size"),
    ("learner", "steps_per_generation"),
    ("network", "blocks"),
    ("network", "channels"),
]


def params(experiment: str) -> dict[str, list[str]]:
    """What the experiment's sweep goes through, by key."""
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        config = hydra.compose("train", [f"experiment={experiment}"], return_hydra_config=True)
    assert config.hydra.mode.name == "MULTIRUN"
    outside_of_lists = r",(?![^\[]*\])"
    swept = config.hydra.sweeper.params.items()
    return {key: re.split(outside_of_lists, str(values)) for key, values in swept}


def jobs(experiment: str) -> list[tuple[str, ...]]:
    """The overrides of every job."""
    swept = params(experiment)
    return [
        tuple(f"{key}={value}" for key, value in zip(swept, values, strict=True))
        for values in itertools.product(*swept.values())
    ]


def flat(node: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(node, Mapping) or not node:
        return {prefix: node}
    parts = [flat(value, f"{prefix}.{key}".lstrip(".")) for key, value in node.items()]
    return {key: value for part in parts for key, value in part.items()}


def changed(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    first, second = flat(one), flat(other)
    return {key for key in first.keys() | second.keys() if first.get(key) != second.get(key)}


def test_every_experiment_is_listed_here() -> None:
    assert set(EXPERIMENTS) == set(VARIED)


MANY = pytest.mark.long(
    short="tests/commands/test_experiments.py::test_jobs_build_and_differ_in_what_they_say"
)


@pytest.mark.parametrize(
    "experiment",
    [
        pytest.param(each, marks=MANY) if each == "ablation_go" else each  # as ablation
        for each in EXPERIMENTS
    ],
)
def test_jobs_build_and_differ_in_what_they_say(experiment: str) -> None:
    overrides = jobs(experiment)
    assert {job[0] for job in overrides} == {"seed=1", "seed=2", "seed=3"}
    of_one_seed = [job for job in overrides if job[0] == "seed=1"]
    assert len(of_one_seed) * 3 == len(overrides)
    base = experiment.partition("_")[0]
    assert len(of_one_seed) >= (1 if experiment in ("papers", "ablation") else 2)
    configs = [compose(f"experiment={experiment}", *job) for job in of_one_seed]
    plain = compose(*PLAIN[base])
    for config, job in zip(configs, of_one_seed, strict=True):
        settings = settings_from(config, RunSettings)
        build_network(settings.game, settings.network, settings.seed)
        comparison_settings({**config["compare"], "runs": ["x"]})
        # As many simulations for each sample in every run, whatever search; as the presets have it.
        ratio = 64 / 4 if experiment == "scaling" else 64 / 6
        assert settings.search.num_simulations / settings.replay.samples_per_position == ratio
        if base == "papers":  # a run of its own: the file says nothing beside the sweep
            assert changed(config, compose(f"experiment={base}", *job)) == set()
        same = {key.partition("=")[0] for key in set.intersection(*map(set, of_one_seed))}
        if experiment != "ablation":  # which names no game
            assert changed(config, plain) - VARIED[experiment] - same == SHARED[base]
        for group, key in EQUAL:  # compute
            if f"{group}.{key}" not in VARIED[experiment]:
                assert config[group][key] == configs[0][group][key]
    found = set().union(*(changed(a, b) for a, b in itertools.combinations(configs, 2)))
    assert found == VARIED[experiment]
    assert changed(compose(f"experiment={experiment}", *overrides[-1]), configs[-1]) == {"seed"}


@pytest.mark.parametrize("experiment", ["papers", "ablation_go", "experts"])
def test_no_draws_and_something_to_win_for_both(experiment: str) -> None:
    """7x7 is solved as a win of nine points for Black: komi lies half a point below."""
    game = compose(f"experiment={experiment}")["game"]
    assert (game["board_size"], game["komi"]) == (7, 8.5)
