"""Every option of every group composes and builds, and one key is not set in two homes."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest

from azcore.assembly.parts import MatchSettings, RunSettings, settings_from
from azcore.assembly.web_settings import web_settings
from azcore.cli import roots
from azcore.cli.composition import settings_for
from azcore.commands.bench.settings import BenchSettings
from azcore.commands.check.report import CheckSettings
from azcore.commands.export.settings import export_settings
from azcore.commands.import_games import ImportSettings
from azcore.commands.tune.parameters import parameters_from
from azcore.commands.tune.tune import TuneSettings
from azcore.engine.settings import engine_settings, thinking_search
from azcore.networks import build_network
from azcore.settings import build

Compose = Callable[..., dict[str, Any]]
# Those of conf/method are composed, each by itself, in test_methods.py.
GROUPS = {
    group.name: sorted(
        option.name.removesuffix(".yaml")
        for option in group.iterdir()
        if option.name.endswith(".yaml")
    )
    for group in files("azcore.conf").iterdir()
    if group.is_dir() and group.name not in ("preset", "method", "noise", "__pycache__")
}


def test_every_option_builds(compose: Compose) -> None:
    chosen = [
        f"{group}={option}"
        for group, options in GROUPS.items()
        for option in options
        # A lone option is in every composition; some options are of other commands.
        if len(options) > 1 and group not in roots.APART and roots.has("train", group)
    ]
    for option in chosen:
        config = compose(option)
        settings_from(config, RunSettings)
    assert len(chosen) > 30


def test_the_other_commands_build(compose: Compose) -> None:
    build(BenchSettings, compose("command=bench")["bench"], "bench")
    build(CheckSettings, compose("command=check")["check"], "check")
    for command in ("engine", "play"):
        engine_settings(compose(f"command={command}"))
        thinking_search(compose(f"command={command}"))
    web_settings(compose("command=web"))
    for what in ("games", "picture", "onnx", "checkpoint", "story", "page"):
        export_settings(compose("command=export", f"what={what}")["export"])
    build(ImportSettings, compose("command=import")["import"], "import")
    tune = compose("command=tune")["tune"]
    parameters = parameters_from(tune.pop("parameters"))
    assert [p.key for p in parameters] == ["puct.c_init", "puct.first_play"]
    build(TuneSettings, tune, "tune")
    settings_from(compose("command=arena"), MatchSettings)


@pytest.mark.parametrize("algorithm", ["alphazero", "alphagozero"])
@pytest.mark.parametrize("scale", ["laptop", "workstation", "paper"])
@pytest.mark.parametrize("game", ["go", "tic_tac_toe"])
def test_scales_and_games(compose: Compose, game: str, scale: str, algorithm: str) -> None:
    settings = settings_from(
        compose(f"game={game}", f"scale={scale}", f"algorithm={algorithm}"), RunSettings
    )
    assert settings.gate.enabled is (algorithm == "alphagozero")
    if game == "go":
        assert settings.game.settings["board_size"] == (19 if scale == "paper" else 9)


def test_paper_scale_has_the_papers_numbers(compose: Compose) -> None:
    config = compose("game=go", "scale=paper")
    assert config["search"]["num_simulations"] == 800
    assert config["puct"]["c_init"] == 1.25
    assert config["puct"]["c_base"] == 19652
    assert config["puct"]["value_range"] == [0, 1]
    assert config["puct"]["first_play"] == 0  # a loss
    assert config["search"]["dirichlet_fraction"] == 0.25
    assert config["selfplay"]["temperature_plies"] == 30
    assert config["replay"]["window_games"] == 1_000_000
    assert config["replay"]["augment"] is False
    assert config["learner"]["batch_size"] == 4096
    assert config["learner"]["learning_rates"] == [0.2, 0.02, 0.002, 0.0002]
    assert config["learner"]["l2"] == 0.0001
    assert config["trainer"]["max_steps"] == 700_000
    settings = settings_from(config, RunSettings)
    assert settings.game.dirichlet_alpha == pytest.approx(0.03)
    assert settings.game.max_game_length == 722
    parameters = sum(
        p.numel() for p in build_network(settings.game, settings.network, 1).parameters()
    )
    # By hand: 3x3 and 1x1 kernels, two numbers a channel of batch norm, weights and biases.
    stem, block = 17 * 9 * 256 + 512, 2 * (9 * 256 * 256 + 512)
    heads = 512 + 4 + 722 * 362 + 362 + 256 + 2 + 361 * 256 + 256 + 256 + 1
    assert parameters == stem + 19 * block + heads


@pytest.mark.parametrize("scale", ["laptop", "workstation"])
def test_small_scales_do_not_take_an_untried_action_for_a_loss(
    compose: Compose, scale: str
) -> None:
    for game in ("go", "chess", "tic_tac_toe"):
        settings = settings_from(compose(f"game={game}", f"scale={scale}"), RunSettings).search
        assert settings.value_range == (-1.0, 1.0)
        assert (settings.first_play_relative, settings.first_play_value) == (False, 0)  # a draw


def test_paper_scale_has_the_numbers_of_alphagozero(compose: Compose) -> None:
    config = compose("game=go", "algorithm=alphagozero", "scale=paper")
    assert config["search"]["num_simulations"] == 1600
    assert config["puct"]["count_parent_visit"] is False
    assert config["search"]["dirichlet_fraction"] == 0.25
    assert config["puct"]["value_range"] == [-1, 1]
    assert config["puct"]["first_play"] == 0  # a draw
    assert config["selfplay"]["temperature_plies"] == 30
    assert config["selfplay"]["resignation"] is True
    assert config["selfplay"]["resignation_false_positives"] == 0.05
    assert config["selfplay"]["resignation_played_out"] == 0.1
    assert config["evaluator"]["random_symmetry"] is True
    assert config["replay"]["window_games"] == 500_000
    assert config["replay"]["augment"] is True
    assert config["learner"]["batch_size"] == 2048
    assert config["learner"]["steps_per_generation"] == 1000
    assert config["learner"]["l2"] == 0.0001
    assert config["learner"]["momentum"] == 0.9
    assert config["trainer"]["max_steps"] == 700_000
    settings = settings_from(config, RunSettings)
    gate = settings.gate
    assert (gate.games, gate.threshold, gate.every_generations) == (400, 0.55, 1)
    assert gate.num_simulations is None  # as in self-play
    # C(s) = log((1 + N + c_base) / c_base) + c_init is constant within float64 at any N.
    assert math.log((1 + 1e6 + settings.search.c_base) / settings.search.c_base) == 0
    assert settings.replay.games_per_generation == 25_000
    assert settings.replay.samples_per_position is None
    assert settings.search.leaves_per_tree == 8


@pytest.mark.parametrize(("name", "blocks"), [("res", 19), ("conv", 11)])
def test_paper_scale_has_the_papers_towers(compose: Compose, name: str, blocks: int) -> None:
    """20 blocks and 12 convolutions, the first convolution among them."""
    for heads in ("dual", "sep"):
        network = compose("game=go", "scale=paper", f"network={heads}_{name}")["network"]
        sizes = [network[key] for key in ("blocks", "channels", "value_hidden")]
        assert sizes == [blocks, 256, 256]
    for other in ("pooled_res", "transformer"):
        network = compose("game=go", "scale=paper", f"network={other}")["network"]
        assert [network[key] for key in ("blocks", "channels", "value_hidden")] == [19, 256, 256]


@pytest.mark.parametrize(("game", "games"), [("go", 140e6), ("chess", 44e6), ("shogi", 24e6)])
def test_paper_scale_makes_as_many_games_as_alphazero(
    compose: Compose, game: str, games: float
) -> None:
    config = compose(f"game={game}", "scale=paper")
    generations = config["trainer"]["max_steps"] / config["learner"]["steps_per_generation"]
    made = config["replay"]["games_per_generation"] * generations
    assert made == pytest.approx(games, rel=1e-4)
    settings_from(config, RunSettings)


def test_paper_scale_has_the_numbers_of_supervised_learning(compose: Compose) -> None:
    config = compose("game=go", "algorithm=supervised", "scale=paper")
    assert config["trainer"]["max_steps"] == 800_000
    settings = settings_from(config, RunSettings)
    assert settings.supervised.enabled
    assert settings.supervised.targets == "played"
    assert settings.learner.value_weight == 0.01
    assert settings.learner.batch_size == 2048
    assert (settings.learner.momentum, settings.learner.l2) == (0.9, 0.0001)
    steps = [0, 200_100, 400_100, 600_100, 700_100]
    rates = [settings.learner.learning_rate(step, 800_000) for step in steps]
    assert rates == [0.1, 0.01, 0.001, 0.0001, 0.00001]
    others = compose("game=go", "algorithm=alphagozero", "scale=paper")
    assert settings_from(others, RunSettings).learner.value_weight == 1
    assert others["network"] == config["network"]  # the same network, which is the comparison


def test_alphazero_has_neither_gate_nor_resignation_nor_symmetries(compose: Compose) -> None:
    config = compose("game=go", "scale=paper", "algorithm=alphazero")
    assert config["replay"]["augment"] is False
    assert config["gate"]["enabled"] is False
    assert config["selfplay"]["resignation"] is False
    assert config["evaluator"]["random_symmetry"] is False


def test_a_network_sees_symmetries_only_if_it_learns_them(compose: Compose) -> None:
    """In each pair of a scale and an algorithm, by one game or the other."""
    for row, algorithm in enumerate(["alphagozero", "alphazero", "azcore", "gumbel"]):
        for number, scale in enumerate(["laptop", "workstation", "paper"]):
            game = ["go", "shogi"][(row + number) % 2]
            config = compose(f"game={game}", f"scale={scale}", f"algorithm={algorithm}")
            assert config["replay"]["augment"] or not config["evaluator"]["random_symmetry"]


# By hand: the paper's rates times the root of what its batch was multiplied by (256 / 4096 = 1/16,
# 1024 / 4096 = 1/4, 256 / 2048 = 1/8, 1024 / 2048 = 1/2), from the paper's sevenths of the run on.
SCHEDULES = {
    ("alphazero", "paper"): [(0, 0.2), (100_000, 0.02), (300_000, 0.002), (500_000, 0.0002)],
    ("alphazero", "workstation"): [(0, 0.1), (28_571, 0.01), (85_714, 0.001), (142_857, 0.0001)],
    ("alphazero", "laptop"): [(0, 0.05), (2857, 0.005), (8571, 0.0005), (14_286, 0.00005)],
    ("alphagozero", "paper"): [(0, 0.01), (400_000, 0.001), (600_000, 0.0001)],
    ("alphagozero", "workstation"): [
        (0, 0.00707107),
        (114_286, 0.000707107),
        (171_429, 0.0000707107),
    ],
    ("alphagozero", "laptop"): [(0, 0.00353553), (11_429, 0.000353553), (17_143, 0.0000353553)],
}


@pytest.mark.parametrize(("algorithm", "scale"), SCHEDULES)
def test_learning_rates_follow_the_papers_by_one_rule(
    compose: Compose, algorithm: str, scale: str
) -> None:
    # Of a game without a preset: those may depart.
    config = compose("game=tic_tac_toe", f"scale={scale}", f"algorithm={algorithm}")
    learner, max_steps = settings_from(config, RunSettings).learner, config["trainer"]["max_steps"]
    expected = SCHEDULES[algorithm, scale]
    schedule = learner.rates_by_step(max_steps)
    if scale == "paper":
        assert schedule == expected  # to the last bit
    assert [step for step, _ in schedule] == [step for step, _ in expected]
    assert [rate for _, rate in schedule] == pytest.approx([rate for _, rate in expected], rel=2e-6)
    for (step, rate), (_, before) in zip(schedule[1:], schedule, strict=False):
        assert learner.learning_rate(step, max_steps) == rate
        assert learner.learning_rate(step - 1, max_steps) == before


@pytest.mark.parametrize("scale", ["laptop", "workstation", "paper"])
def test_scales_state_no_learning_rates(scale: str) -> None:
    text = files("azcore.conf").joinpath("scale", f"{scale}.yaml").read_text()
    assert "learning_rate" not in text
    assert "milestones" not in text


@pytest.mark.parametrize("algorithm", ["alphazero", "alphagozero", "gumbel"])
def test_go_on_a_laptop_keeps_rates_of_its_own(compose: Compose, algorithm: str) -> None:
    learner = settings_from(compose("game=go", f"algorithm={algorithm}"), RunSettings).learner
    assert learner.rates_by_step(20_000) == [(0, 0.1), (1600, 0.02), (8000, 0.005), (14_000, 0.001)]


@pytest.mark.parametrize(
    ("scale", "max_steps", "words"),
    [
        (
            "laptop",
            20_000,
            "0.05 until step 2,857, 0.005 until 8,571, 0.0005 until 14,286, 0.00005 to the end",
        ),
        (
            "paper",
            700_000,
            "0.2 until step 100,000, 0.02 until 300,000, 0.002 until 500,000, 0.0002 to the end",
        ),
        ("paper", 2, "0.02 until step 1, 0.0002 to the end"),  # 2/7, 6/7, 10/7 round to 0, 1, 1
        ("paper", 1, "0.002 to the end"),
    ],
)
def test_the_schedule_in_words(compose: Compose, scale: str, max_steps: int, words: str) -> None:
    config = compose("game=tic_tac_toe", f"scale={scale}", "algorithm=alphazero")
    learner = settings_from(config, RunSettings).learner
    assert learner.describe_schedule(max_steps) == f"learning rate {words}"


def test_the_schedule_in_words_of_a_run_with_a_limit_in_time(compose: Compose) -> None:
    learner = settings_from(compose("game=go", "algorithm=alphazero"), RunSettings).learner
    assert learner.describe_schedule(20_000, 600.0) == (
        "learning rate 0.1 until step 1,600 or 0:00:48, 0.02 until 8,000 or 0:04:00, "
        "0.005 until 14,000 or 0:07:00, 0.001 to the end"
    )


@pytest.mark.parametrize("scale", ["laptop", "paper"])
def test_a_setting_of_the_game_for_self_play_needs_no_file(scale: str) -> None:
    """Go's preset for a laptop has it, the paper's does not."""
    settings = settings_for(["game=go", f"scale={scale}", "selfplay.game.first_pass=0.5"], {})
    assert settings["selfplay"]["game"] == {"first_pass": 0.5}
