"""Learning proved by a run that reaches a stated strength: tic-tac-toe against exact minimax."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.assembly.parts import RunSettings, search_player, settings_from
from azcore.commands.train import train
from conftest import compose


def test_tic_tac_toe_never_loses_to_minimax(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line of a perfect opponent, from both seats: a draw at least."""
    monkeypatch.chdir(tmp_path)
    config = compose(
        "game=tic_tac_toe",
        "run_dir=run",
        "search.num_simulations=32",
        "selfplay.num_games=64",  # a probe would find what this machine does best now: other games
        "selfplay.workers=2",
        "evaluator.backend=torch",  # likewise
        "evaluator.precision=float32",
        "network.blocks=1",
        "network.channels=16",
        "trainer.max_steps=600",
        "learner.batch_size=128",
        "replay.samples_per_position=12",
        "replay.augment=true",
        "arena.every_generations=1000",
        "arena.num_simulations=400",  # untrained it loses all the same
    )
    train(config)
    settings = settings_from(config, RunSettings)
    player = search_player(
        settings, settings.checkpoint_evaluator(tmp_path / "run/checkpoints/last.ckpt"), "trained"
    )
    worst = [_worst_outcome(settings.game, player, seat) for seat in (0, 1)]
    assert worst == [0, 0]


def _worst_outcome(game: azcore.Game, player: Any, seat: int) -> int:
    """What the player holds, in its own view, against every best reply there is."""
    value = _minimax(game)
    worst = 1
    pending: list[list[int]] = [[]]
    while pending:
        states, lines = [], []
        for line in pending:
            state = game.initial_state()
            for action in line:
                state = game.step(state, action)
            if game.is_terminal(state):
                worst = min(worst, game.outcome(state) * (1 if seat == 0 else -1))
                continue
            states.append(state)
            lines.append(line)
        mine = [i for i, state in enumerate(states) if game.current_player(state) == seat]
        chosen: dict[int, int] = {}
        if mine:
            player.begin(len(mine), seed=1)
            for row, i in enumerate(mine):
                player.start(row, states[i])
            chosen = dict(zip(mine, player.choose(list(range(len(mine)))), strict=True))
        pending = []
        for i, (state, line) in enumerate(zip(states, lines, strict=True)):
            if i in chosen:
                pending.append([*line, chosen[i]])
                continue
            legal = [int(a) for a in np.flatnonzero(game.legal_action_mask(state))]
            values = {a: value([*line, a]) for a in legal}
            best = min(values.values()) if seat == 0 else max(values.values())
            pending += [[*line, a] for a in legal if values[a] == best]
    return worst


def _minimax(game: azcore.Game) -> Callable[[list[int]], int]:
    """Outcome as seat 0 sees it with best play after a line of actions."""

    @cache
    def of(text: str) -> int:
        state = game.state_from_text(text)
        if game.is_terminal(state):
            return game.outcome(state)
        legal = np.flatnonzero(game.legal_action_mask(state))
        values = [of(game.state_to_text(game.step(state, int(a)))) for a in legal]
        return max(values) if game.current_player(state) == 0 else min(values)

    def after(line: list[int]) -> int:
        state = game.initial_state()
        for action in line:
            state = game.step(state, action)
        return of(game.state_to_text(state))

    return after
