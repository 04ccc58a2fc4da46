"""Games of others are replayed by the rules before anything is done with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import azcore
from azcore.errors import GameFileError
from azcore.learner.imported_games import SupervisedSettings, read_games
from azcore.report.games import Games
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord
from azcore.storage.referee import Referee
from azcore.storage.replay import ReplayBuffer
from azcore.storage.run_directory import RunDirectory
from selfplay_kit import played

GAMES = [
    azcore.make("tic_tac_toe"),
    azcore.make("tic_tac_toe_plain"),
    azcore.make("go", board_size=3),
]


@pytest.fixture(params=GAMES, ids=lambda game: game.name)
def game(request: pytest.FixtureRequest) -> azcore.Game:
    return request.param  # type: ignore[no-any-return]


def cut(record: GameRecord, plies: int) -> dict[str, Any]:
    """The first plies of a record, as changes to it."""
    named = int(record.visit_offsets[plies])
    return {
        "visit_offsets": record.visit_offsets[: plies + 1],
        "visit_actions": record.visit_actions[:named],
        "visit_counts": record.visit_counts[:named],
        **{
            name: getattr(record, name)[:plies]
            for name in ("actions", "root_values", "best_child_values", "players")
        },
    }


def stretched(record: GameRecord, plies: int) -> dict[str, Any]:
    """A record whose last action is played again and again."""
    more = plies - len(record)
    last = record.visit_offsets[-1:]
    return {
        "visit_offsets": np.concatenate([record.visit_offsets, np.repeat(last, more)]),
        **{
            name: np.resize(getattr(record, name), plies)
            for name in ("root_values", "best_child_values", "players")
        },
        "actions": np.append(record.actions, np.repeat(record.actions[-1:], more)),
    }


def with_entry(array: Any, place: int, value: int) -> Any:
    array = array.copy()
    array[place] = value
    return array


Change = Callable[[azcore.Game, GameRecord], dict[str, Any]]
LIES: list[tuple[Change, str]] = [
    (lambda g, r: stretched(r, len(r) + 1), "is after the game's end|at most"),
    (lambda g, r: stretched(r, 60_000), r"must have at most \d+ plies, got 60000"),
    (lambda g, r: {"actions": with_entry(r.actions, 2, g.num_actions)}, "ply 2, .* is not legal"),
    (lambda g, r: {"actions": with_entry(r.actions, 2, 65_535)}, "action 65535, is not legal"),
    (lambda g, r: {"actions": with_entry(r.actions, 1, r.actions[0])}, "ply 1, .*is not legal"),
    (lambda g, r: {"visit_actions": with_entry(r.visit_actions, 0, 65_535)}, "policy target"),
    (lambda g, r: {"visit_actions": with_entry(r.visit_actions, -1, r.actions[0])}, "not legal"),
    (
        lambda g, r: {"visit_actions": with_entry(r.visit_actions, 1, r.visit_actions[0])},
        "names an action twice",
    ),
    (lambda g, r: {"players": 1 - r.players}, "belongs to the other seat"),
    (lambda g, r: {"outcome": -r.outcome}, "rules' outcome of this game is"),
    (lambda g, r: {"resigned_by": 0 if r.outcome < 0 else 1}, "got a resignation"),
    (lambda g, r: cut(r, len(r) - 1), "one that is not over after"),
    (lambda g, r: {"game": {**g.identity, "version": 99}}, "records must be of"),
]


def decided(game: azcore.Game) -> GameRecord:
    """A game that somebody won, whose first ply names two actions."""
    return next(
        record
        for record in played(game, 300)
        if record.outcome and record.visit_offsets[1] > 1 and len(record) > 3
    )


def test_games_of_self_play_are_by_the_rules(game: azcore.Game) -> None:
    referee = Referee(game)
    for record in played(game, 300):
        referee.check(record, "here")
        # Before the last ply somebody may have resigned.
        short = replace(record, **cut(record, len(record) - 1), outcome=-1, resigned_by=0)
        referee.check(short, "here")
        missing = {"best_child_values": np.zeros(0), "players": np.zeros(0)}
        referee.check(replace(record, **missing), "here")


@pytest.mark.parametrize(("change", "told"), LIES)
def test_a_game_against_the_rules_is_refused(
    game: azcore.Game, change: Change, told: str, tmp_path: Path
) -> None:
    record = decided(game)
    lie = replace(record, **change(game, record))
    referee = Referee(game)
    with pytest.raises(GameFileError, match=f"^here: .*({told})"):
        referee.check(lie, "here")
    referee.check(record, "here")
    # Whoever reads records of others asks.
    file = GameFile(tmp_path / "lie.azg")
    file.append([lie])
    settings = SupervisedSettings(
        enabled=True,
        games=(str(file.path),),
        targets="visits",
        held_out=0.5,
        held_out_positions=9,
    )
    with pytest.raises(GameFileError, match=r"lie\.azg, byte 0"):
        read_games(settings, game)
    run = RunDirectory(tmp_path)
    run.records.parent.mkdir()
    GameFile(run.records).append([lie])
    shown, notes = Games(run, torch.device("cpu")).shown(step=0)
    assert not shown
    assert re.search(told, notes[0])


def test_what_is_believed_can_be_learned_from(game: azcore.Game) -> None:
    """Every position of a game that is let through has one legal policy target."""
    referee, buffer = Referee(game), ReplayBuffer(game=game, window_games=99, augment=False)
    for record in played(game, 200)[:99]:
        referee.check(record, "here")
        buffer.extend([record])
    samples = buffer.positions(np.arange(buffer.num_positions))
    assert (samples.policy_targets[~samples.legal_action_mask] == 0).all()
