"""Self-play makes the games that slow textbook self-play makes, from settings to records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.game import Game
from azcore.selfplay.actor import Actor
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord
from azcore.storage.starts import Starts, read_starts
from reference_mcts import HashEvaluator
from reference_selfplay import reference_game
from search_kit import ALPHA_GO_ZERO, search_settings
from selfplay_kit import played, selfplay_settings

SEED = 11
# Games with the alpha that their rules state, said again here.
GAMES: dict[str, tuple[Game, float]] = {
    "tic_tac_toe": (azcore.make("tic_tac_toe"), 1.0),
    "go 3x3": (azcore.make("go", board_size=3, komi=0.0), 0.03 * 361 / 9),
}
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # of search and of self-play
    "as alphazero does": ({"value_range": (0.0, 1.0)}, {}),
    "as alphago zero does": (ALPHA_GO_ZERO, {"temperature_plies": 2}),
    "without a subtree": ({"reuse_subtree": False}, {"temperature": 0.5}),
    "with noise of its own": ({"dirichlet_alpha": 0.7, "dirichlet_fraction": 0.6}, {}),
    "without noise": ({"dirichlet_fraction": 0.0}, {"final_temperature": 0.25}),
    "with playout caps": ({}, {"full_search_share": 0.4, "cheap_simulations": 7}),
    "with caps and openings": (
        {"reuse_subtree": False},
        {"full_search_share": 0.25, "cheap_simulations": 5, "opening_plies": 3},
    ),
    "cheap where it is decided": (
        {},
        {
            "decided_value": 0.05,
            "decided_share": 0.2,
            "cheap_simulations": 7,
            "temperature_half_life": 2.5,
            "final_temperature": 0.2,
        },
    ),
    "from openings of the policy": (
        {},
        {"opening_plies": 1, "policy_plies": 6.0, "full_search_share": 0.5},
    ),
    "with forced visits": (
        {"forced_visits": 2.0, "root_temperature": 1.25, "num_simulations": 40},
        {"full_search_share": 0.6, "cheap_simulations": 9, "temperature_plies": 5},
    ),
    "solved": ({"solve": True, "num_simulations": 40}, {"temperature_plies": 3}),
    "solved, with forced visits": (
        {"solve": True, "forced_visits": 2.0, "num_simulations": 12},
        {"full_search_share": 0.6, "cheap_simulations": 3},
    ),
    "played out by proofs": ({"proof_plies": 2}, {"opening_plies": 2}),
    "with proofs of one ply and caps": (
        {"proof_plies": 1, "reuse_subtree": False},
        {"full_search_share": 0.5, "policy_plies": 2.0},
    ),
    "without noise, softened": ({"dirichlet_fraction": 0.0, "root_temperature": 2.0}, {}),
    "from openings": ({"num_simulations": 9}, {"opening_plies": 3, "temperature_plies": 1}),
    "from starts": ({"num_simulations": 9}, {"temperature_plies": 2}),
    "from openings after starts": ({}, {"opening_plies": 2, "policy_plies": 1.0}),
}
FROM_STARTS = ("from starts", "from openings after starts")


# Starts by game: positions, and moves of a file of positions or of games.
POSITIONS = {
    "tic_tac_toe": ["startpos", "X../.../... o", "X../.O./... x moves c1", "startpos moves b2 a1"],
    "go 3x3": ["startpos moves B2 A1", "X../.../... w moves C1", ".X./.O./... b"],
}
MOVES = {
    "tic_tac_toe": ["b2", "a1", "c3", "b1"],
    "go 3x3": ["B2", "A2", "A1", "B1", "pass"],
}


def starts_of(name: str, tmp_path: Path) -> tuple[Starts, list[tuple[str | None, list[int], int]]]:
    """Starts from files, and what they are."""
    game, _ = GAMES[name]
    (tmp_path / "positions.txt").write_text("\n".join(POSITIONS[name]))
    known: list[tuple[str | None, list[int], int]] = []

    def understood(state: Any, moves: list[str]) -> list[int]:
        actions = []
        for move in moves:
            actions.append(game.text_to_action(state, move))
            state = game.step(state, actions[-1])
        return actions

    for line in POSITIONS[name]:
        text, _, rest = line.partition(" moves ")
        first = game.initial_state() if text == "startpos" else game.state_from_text(text)
        moves = understood(first, rest.split())
        known.append((None if text == "startpos" else text, moves, len(moves)))
    record = replace(
        played(game, 1)[0], actions=np.array(understood(game.initial_state(), MOVES[name]), "u2")
    )
    known.append((None, record.actions.tolist(), 1))
    lines = [str(tmp_path / "positions.txt"), str(tmp_path / "game.azg")]
    empty = {"visit_actions": [], "visit_counts": [], "visit_offsets": [0] * (len(record) + 1)}
    GameFile(tmp_path / "game.azg").append(
        [
            replace(
                record,
                resigned_by=0,
                outcome=-1,
                players=np.arange(len(record)) % 2,
                root_values=np.zeros(len(record)),
                best_child_values=np.zeros(len(record)),
                **{key: np.array(values, int) for key, values in empty.items()},
            )
        ]
    )
    starts = read_starts(game, lines, (1, 40), "selfplay.starts")
    assert starts is not None
    return starts, known


def records(
    game: Game,
    search: Any,
    schedule: Any,
    threshold: float | None,
    starts: Starts | None,
    num_games: int,
) -> list[GameRecord]:
    actor = Actor(
        game=game,
        search=search,
        settings=schedule,
        seed=SEED,
        evaluator=HashEvaluator(game, 5),
        record_surprise=True,
        starts=starts,
    )
    actor.set_evaluator(HashEvaluator(game, 5), 7, threshold)
    return actor.play(num_games=num_games)


# Resignation is independent of the other ways, so four of them are enough.
RESIGNING = (
    "as alphago zero does",
    "with caps and openings",
    "solved, with forced visits",
    "from openings after starts",
)


WHOLE = [*((way, None) for way in WAYS), *((way, -0.3) for way in RESIGNING)]
MORE = pytest.mark.long(short="tests/selfplay/test_matches_reference.py::test_whole_games")


@pytest.mark.parametrize(
    ("name", "way", "threshold"),
    [
        *(("go 3x3", *whole) for whole in WHOLE),
        ("tic_tac_toe", "as alphazero does", None),
        ("tic_tac_toe", "from starts", None),
        *(pytest.param("tic_tac_toe", *whole, marks=MORE) for whole in WHOLE),
    ],
)
def test_whole_games(name: str, way: str, threshold: float | None, tmp_path: Path) -> None:
    game, alpha = GAMES[name]
    of_search, of_selfplay = WAYS[way]
    search = search_settings(**{"num_simulations": 25, **of_search})
    schedule = selfplay_settings(**of_selfplay)
    starts, known = starts_of(name, tmp_path) if way in FROM_STARTS else (None, None)
    found = records(game, search, schedule, threshold, starts, 9)
    assert len(found) >= 9
    for record in found:
        expected = reference_game(
            game,
            HashEvaluator(game, 5),
            search,
            schedule,
            seed=SEED,
            index=record.game_index,
            alpha=search.dirichlet_alpha or alpha,
            resign_below=threshold,
            starts=known,
        )
        assert record.start == expected.start
        assert record.actions.tolist() == expected.actions
        offsets = record.visit_offsets.tolist()
        for ply, visits in enumerate(expected.visits):
            named = slice(offsets[ply], offsets[ply + 1])
            actions, counts = record.visit_actions[named], record.visit_counts[named]
            assert dict(zip(actions.tolist(), counts.tolist(), strict=True)) == visits
        assert record.root_values.tolist() == pytest.approx(expected.root_values, abs=1e-6)
        assert record.surprises.tolist() == pytest.approx(expected.surprises, abs=1e-5)
        assert (record.outcome, record.resigned_by) == (expected.outcome, expected.resigned_by)
        assert record.opening_plies == expected.opening_plies
        assert record.weights_version == 7
    if threshold is not None:
        resigned = {record.game_index for record in found if record.resigned_by is not None}
        assert resigned
        assert not any(index % 10 == 0 for index in resigned)


def test_starts_of_every_kind_are_played(tmp_path: Path) -> None:
    """Positions with either seat to move, and games cut where the draw says."""
    for name, (game, _) in GAMES.items():
        starts, known = starts_of(name, tmp_path)
        found = records(game, search_settings(), selfplay_settings(), None, starts, 25)
        begun = {(record.start, tuple(record.actions[: record.opening_plies])) for record in found}
        cut = {(None, tuple(known[-1][1][:plies])) for plies in range(1, len(known[-1][1]) + 1)}
        whole = {(text, tuple(moves)) for text, moves, _ in known[:-1]}
        assert begun <= whole | cut
        assert len(begun & whole) == len(whole)
        assert len(begun & cut) > 1
        assert {int(r.players[0]) for r in found if r.start is not None} == {0, 1}
        (tmp_path / "game.azg").unlink()
