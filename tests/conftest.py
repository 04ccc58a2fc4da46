"""What several tests share: the composed configuration, and sizes that finish in seconds."""

from __future__ import annotations

import os
import signal

# A shell that starts tests in the background has them and their children ignore Ctrl-C, which some
# tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# As the command line does, before torch is imported: see azcore/cli/application.py.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hydra
import pytest
from omegaconf import OmegaConf

from azcore import cli
from azcore.game import faults

TINY = [
    "game=tic_tac_toe",
    "algorithm=alphazero",
    "network.blocks=1",
    "network.channels=4",
    "network.value_hidden=4",
    "search.num_simulations=8",
    "selfplay.num_games=4",
    "evaluator.precision=float32",
    "evaluator.backend=torch",
    "replay.window_games=60",
    "replay.samples_per_position=2",  # so that every generation has games
    "learner.batch_size=16",
    "learner.steps_per_generation=4",
    "arena.games=2",
    "arena.every_generations=2",
    "arena.num_simulations=4",
    "trainer.max_steps=16",
]


def compose(*overrides: str) -> dict[str, Any]:
    """The configuration as the command line composes it, as plain values.

    Of several algorithms the last one counts, so that a test can choose another than TINY's.
    """
    chosen = [word for word in overrides if word.startswith("algorithm=")][-1:]
    others = [word for word in overrides if not word.startswith("algorithm=")]
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        config = hydra.compose("config", overrides=[*others, *chosen])
    container = OmegaConf.to_container(config, resolve=True)
    assert isinstance(container, dict)
    return container  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def no_games_of_other_tests() -> None:
    """A game that a test defines makes this folder its code, and any error from here its fault."""
    here = Path(__file__).parent
    for folder in [folder for folder in faults._folders if folder.is_relative_to(here)]:
        del faults._folders[folder]


@pytest.fixture(name="compose")
def compose_fixture() -> Callable[..., dict[str, Any]]:
    return compose


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Composes a run of tic-tac-toe that takes a second or two, in an empty current directory."""
    monkeypatch.chdir(tmp_path)
    return lambda *overrides: compose(*TINY, *overrides)


@pytest.fixture(name="azcore")
def azcore_fixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs `python -m azcore ARGS` within this process: (status, output, errors)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["azcore", *arguments])
        capfd.readouterr()
        try:
            cli.main()
            status = 0
        except SystemExit as exit_:
            status = int(exit_.code or 0)
        output, errors = capfd.readouterr()
        return status, output, errors

    return run
