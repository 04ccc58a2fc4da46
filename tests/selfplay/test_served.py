"""Self-play in processes whose positions another process evaluates: the same games."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest
import torch

from azcore.assembly import parts
from azcore.assembly.evaluation_server import ServerProcess
from azcore.assembly.parts import RunSettings, settings_from
from azcore.assembly.selfplay import NetworkWeights, RecipeOfRun, make_actor
from azcore.errors import AzcoreError
from azcore.networks import build_network
from azcore.selfplay.pool import WorkerPool
from azcore.selfplay.processes import ProcessLauncher
from azcore.selfplay.remote import RemotePool
from process_kit import backend_settings as backend
from process_kit import gone


@pytest.fixture
def settings(tiny: Callable[..., dict[str, Any]]) -> RunSettings:
    return settings_from(
        tiny(
            "game=tic_tac_toe",
            "selfplay.num_games=7",
            "selfplay.workers=3",
            "evaluator.backend=torch",
            "evaluator.precision=float32",
            "evaluator.threads=1",
            "device=cpu",
        ),
        RunSettings,
    )


def served_pool(settings: RunSettings, server: ServerProcess) -> RemotePool:
    return RemotePool(
        game=settings.selfplay_game,
        settings=settings.selfplay,
        launcher=ProcessLauncher(2, servers=[server]),
        recipe=RecipeOfRun(settings, [server.address]),
        restarts=2,
        say=lambda _: None,
    )


def history(pool: WorkerPool, settings: RunSettings) -> list[Any]:
    """Games by three networks, one after the other."""
    made: list[Any] = []
    for version in range(3):
        network = build_network(settings.game, settings.network, version)
        pool.set_weights(NetworkWeights(settings, network, version))
        made += [record.to_bytes() for record in pool.play(60)]
    return made


def test_auto_is_processes_where_they_pay() -> None:
    assert backend("auto").on("cuda").name == "process"
    assert backend("auto").on("cpu").name == "inline"
    assert backend("auto", processes=3).on("cpu") == backend("process", processes=3)
    for name in ("inline", "process"):
        assert backend(name).on("cuda").name == name


@pytest.mark.parametrize(("name", "wanted"), [("go", "process"), ("mine", "inline")])
def test_a_game_of_this_process_is_played_in_it(
    monkeypatch: pytest.MonkeyPatch, name: str, wanted: str
) -> None:
    monkeypatch.setattr(parts, "choose_device", lambda _: torch.device("cuda"))
    config = {"backend": asdict(backend("auto")), "device": "auto", "game": {"name": name}}
    assert parts._backend(config).name == wanted


def test_games_are_those_of_threads(settings: RunSettings) -> None:
    first = settings.search_evaluator(build_network(settings.game, settings.network, 1), 0, 3)
    wanted = history(make_actor(settings, settings.selfplay, first, None), settings)
    server = ServerProcess(settings, settings.device)
    process = server._process.pid
    with contextlib.closing(served_pool(settings, server)) as pool:
        assert history(pool, settings) == wanted
    assert gone([process])
    assert not os.path.exists(server.address)


def test_a_lost_server_ends_the_run_with_one_sentence(settings: RunSettings) -> None:
    server = ServerProcess(settings, settings.device)
    with contextlib.closing(served_pool(settings, server)) as pool:
        network = build_network(settings.game, settings.network, 1)
        pool.set_weights(NetworkWeights(settings, network, 0))
        os.kill(server._process.pid, signal.SIGKILL)
        with pytest.raises(AzcoreError, match="process that evaluates positions for this one"):
            pool.play(10_000)
