"""Each game runs what the others run: trains, rates, resumes exactly, reports, in either form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import azcore
from azcore.commands.train import train
from azcore.selfplay.actor import Actor
from reference_mcts import HashEvaluator
from run_kit import fingerprint, train_until
from search_kit import search_settings
from selfplay_kit import selfplay_settings

Tiny = Callable[..., dict[str, Any]]
SHORT = {  # settings under which a game of random moves ends soon
    "chess": {"max_plies": 16},
    "shogi": {"max_plies": 16},
    "go": {"board_size": 3},
}


@pytest.mark.parametrize("name", SHORT)
def test_trains_and_resumes_exactly(tiny: Tiny, tmp_path: Path, name: str) -> None:
    settings = [f"game.{key}={value}" for key, value in SHORT[name].items()]

    def config(*changes: str) -> dict[str, Any]:
        return tiny(f"game={name}", *settings, "trainer.max_steps=8", *changes)

    assert train(config("run_dir=whole")) == 0
    written = {path.name for path in (tmp_path / "whole").iterdir()}
    assert {"report.html", "matches.csv", "metrics.csv", "result.json"} <= written
    halves = config("run_dir=halves")
    train_until(halves, 5)
    assert fingerprint(tmp_path / "halves") != fingerprint(tmp_path / "whole")
    assert train({**halves, "resume": "halves"}) == 0
    assert fingerprint(tmp_path / "halves") == fingerprint(tmp_path / "whole")


@pytest.mark.parametrize("name", ["chess", "shogi", "tic_tac_toe"])
def test_compiled_and_plain_play_the_same_games(name: str) -> None:
    if name == "shogi":
        pytest.importorskip("cshogi", reason="the plain form of shogi needs azcore[shogi]")

    def games(registered: str) -> list[tuple[list[int], list[int], int]]:
        game = azcore.make(registered, **SHORT.get(name, {}))
        actor = Actor(
            game=game,
            search=search_settings(num_simulations=12),
            settings=selfplay_settings(num_games=3, resignation=False, temperature_plies=16),
            seed=1,
            evaluator=HashEvaluator(game),
        )
        return [
            (record.actions.tolist(), record.visit_counts.tolist(), record.outcome)
            for record in actor.play(60)
        ]

    assert games(name) == games(f"{name}_plain")
