"""What the tests of self-play and of the window share: settings with one change, made-up games."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import azcore
from azcore.selfplay.actor import Actor
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.storage.game_record import GameRecord
from search_kit import search_settings


def selfplay_settings(**changed: Any) -> SelfPlaySettings:
    """Four games at once, the papers' temperature for six plies, except for `changed`."""
    values: dict[str, Any] = {
        "num_games": 4,
        "workers": 1,
        "opening_plies": 0,
        "policy_plies": None,
        "starts": (),
        "start_plies": (0, 40),
        "start_share": 1.0,
        "branch_share": 0.0,
        "regret_share": 0.0,
        "round_waves": 16,
        "temperature": 1.0,
        "temperature_plies": 6,
        "final_temperature": 0.0,
        "temperature_half_life": None,
        "temperatures": (),
        "decided_value": None,
        "decided_share": 0.1,
        "full_search_share": 1.0,
        "cheap_simulations": 16,
        "resignation": True,
        "resignation_false_positives": 0.05,
        "resignation_played_out": 0.1,
        "resignation_games": 2500,
    }
    return SelfPlaySettings(**{**values, **changed})


def played(game: azcore.Game, num_positions: int) -> list[GameRecord]:
    """Games of a quick search, of so many positions in all."""
    from azcore.commands.bench.search import FreeEvaluator  # brings torch

    actor = Actor(
        game=game,
        search=search_settings(num_simulations=4),
        settings=selfplay_settings(temperature_plies=100),
        seed=3,
        evaluator=FreeEvaluator(game, 4),
    )
    return actor.play(num_positions)


def assert_games_depend_on_seed_and_index_alone(actor: Callable[..., Actor]) -> None:
    """`actor(game, num_games=, seed=)` plays a game alike in any company, another seed another."""
    game = azcore.make("tic_tac_toe")
    few = {r.game_index: r.to_bytes() for r in actor(game, num_games=3).play(150)}
    many = {r.game_index: r.to_bytes() for r in actor(game, num_games=16).play(150)}
    shared = few.keys() & many.keys()
    assert len(shared) >= 10
    assert all(few[index] == many[index] for index in shared)
    other = {r.game_index: r.to_bytes() for r in actor(game, num_games=3, seed=2).play(150)}
    assert any(other[index] != few[index] for index in few.keys() & other.keys())


def rounds(count: int) -> Callable[[int], bool]:
    """For `Actor.play_while`: so many rounds, and with several workers one more."""
    left = iter(range(count))
    return lambda _positions: next(left, None) is not None


TIC_TAC_TOE = azcore.make("tic_tac_toe")


def record_of_values(
    values: Any,
    outcome: int,
    *,
    best_child_values: Any = None,
    players: Any = None,
    opening_plies: int = 0,
    played_out: bool = True,
    resign_threshold: float | None = None,
) -> GameRecord:
    """A record of which only values, seats and outcome are of use.

    The first ply, at which nobody resigns, is added and looks even. Seats alternate and the best
    child is worth what the root is unless said otherwise.
    """
    values = np.append(np.zeros(1 + opening_plies), values).astype(np.float32)
    size = len(values)
    if players is None:
        players = np.arange(size) % 2
    else:
        players = np.append(np.zeros(1 + opening_plies), players)
    children = values
    if best_child_values is not None:
        children = np.append(np.zeros(1 + opening_plies), best_child_values)
    return GameRecord(
        game=TIC_TAC_TOE.identity,
        actions=np.zeros(size, np.uint16),
        visit_offsets=np.zeros(size + 1, np.uint32),
        visit_actions=np.zeros(0, np.uint16),
        visit_counts=np.zeros(0, np.uint32),
        root_values=values,
        best_child_values=np.asarray(children, np.float32),
        players=np.asarray(players, np.uint8),
        outcome=outcome,
        resigned_by=None,
        resign_threshold=resign_threshold,
        played_out=played_out,
        opening_plies=opening_plies,
        seed=1,
        game_index=0,
        weights_version=0,
        counts="visits",
    )
