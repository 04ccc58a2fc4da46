"""Every option of every group composes and builds, and one key is not set in two homes."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest

from azcore.assembly import settings_from
from azcore.bench import BenchSettings
from azcore.check.report import CheckSettings
from azcore.networks import build_network
from azcore.settings import build
from azcore.thinking import EngineSettings

Compose = Callable[..., dict[str, Any]]
GROUPS = sorted(
    f"{group.name}={option.name.removesuffix('.yaml')}"
    for group in files("azcore.conf").iterdir()
    if group.is_dir() and group.name not in ("preset", "__pycache__")
    for option in group.iterdir()
    if option.name.endswith(".yaml")
)


@pytest.mark.parametrize("option", GROUPS)
def test_every_option_builds(compose: Compose, option: str) -> None:
    config = compose(option)
    settings_from(config)
    build(BenchSettings, config["bench"], "bench")
    build(CheckSettings, config["check"], "check")
    build(EngineSettings, config["engine"], "engine")


@pytest.mark.parametrize("algorithm", ["alphazero", "alphagozero"])
@pytest.mark.parametrize("scale", ["laptop", "workstation", "paper"])
@pytest.mark.parametrize("game", ["go", "tic_tac_toe"])
def test_scales_and_games(compose: Compose, game: str, scale: str, algorithm: str) -> None:
    settings = settings_from(compose(f"game={game}", f"scale={scale}", f"algorithm={algorithm}"))
    assert settings.gate.enabled is (algorithm == "alphagozero")
    if game == "go":
        assert settings.game.settings["board_size"] == (19 if scale == "paper" else 9)


def test_paper_scale_has_the_papers_numbers(compose: Compose) -> None:
    config = compose("game=go", "scale=paper")
    assert config["search"]["num_simulations"] == 800
    assert config["search"]["c_init"] == 1.25
    assert config["search"]["c_base"] == 19652
    assert config["search"]["dirichlet_fraction"] == 0.25
    assert config["selfplay"]["temperature_plies"] == 30
    assert config["replay"]["window_games"] == 1_000_000
    assert config["replay"]["augment"] is False
    assert config["learner"]["batch_size"] == 4096
    assert config["learner"]["learning_rates"] == [0.2, 0.02, 0.002, 0.0002]
    assert config["learner"]["l2"] == 0.0001
    assert config["trainer"]["max_steps"] == 700_000
    settings = settings_from(config)
    steps = [100_100, 300_300, 499_800]  # 100k, 300k and 500k within a thousandth of the run
    rates = [settings.learner.learning_rate(step, 700_000) for step in [0, *steps]]
    assert rates == [0.2, 0.02, 0.002, 0.0002]
    assert settings.game.dirichlet_alpha == pytest.approx(0.03)
    assert settings.game.max_game_length == 722
    parameters = sum(
        p.numel() for p in build_network(settings.game, settings.network, 1).parameters()
    )
    # By hand: 3x3 and 1x1 kernels, two numbers a channel of batch norm, weights and biases.
    stem, block = 17 * 9 * 256 + 512, 2 * (9 * 256 * 256 + 512)
    heads = 512 + 4 + 722 * 362 + 362 + 256 + 2 + 361 * 256 + 256 + 256 + 1
    assert parameters == stem + 19 * block + heads


def test_paper_scale_has_the_numbers_of_alphagozero(compose: Compose) -> None:
    config = compose("game=go", "algorithm=alphagozero", "scale=paper")
    assert config["search"]["num_simulations"] == 1600
    assert config["search"]["count_parent_visit"] is False
    assert config["search"]["dirichlet_fraction"] == 0.25
    assert config["search"]["first_play"] == 0
    assert config["selfplay"]["temperature_plies"] == 30
    assert config["selfplay"]["resignation"] is True
    assert config["selfplay"]["resignation_false_positives"] == 0.05
    assert config["selfplay"]["resignation_played_out"] == 0.1
    assert config["selfplay"]["random_symmetry"] is True
    assert config["replay"]["window_games"] == 500_000
    assert config["replay"]["augment"] is True
    assert config["learner"]["batch_size"] == 2048
    assert config["learner"]["steps_per_generation"] == 1000
    assert config["learner"]["l2"] == 0.0001
    assert config["learner"]["momentum"] == 0.9
    assert config["trainer"]["max_steps"] == 700_000
    settings = settings_from(config)
    steps = [0, 399_000, 400_100, 600_100]
    rates = [settings.learner.learning_rate(step, 700_000) for step in steps]
    assert rates == [0.01, 0.01, 0.001, 0.0001]
    gate = settings.gate
    assert (gate.games, gate.threshold, gate.every_generations) == (400, 0.55, 1)
    assert gate.num_simulations is None  # as in self-play
    # C(s) = log((1 + N + c_base) / c_base) + c_init is constant within float64 at any N.
    assert math.log((1 + 1e6 + settings.search.c_base) / settings.search.c_base) == 0
    # An iteration: 25,000 games of some 200 plies to 1,000 steps.
    positions = 1000 * 2048 / settings.replay.samples_per_position
    assert positions / 200 == pytest.approx(25_000, rel=0.05)


def test_alphazero_has_neither_gate_nor_resignation_nor_symmetries(compose: Compose) -> None:
    config = compose("game=go", "scale=paper", "algorithm=alphazero")
    assert config["replay"]["augment"] is False
    assert config["gate"]["enabled"] is False
    assert config["selfplay"]["resignation"] is False
    assert config["selfplay"]["random_symmetry"] is False
