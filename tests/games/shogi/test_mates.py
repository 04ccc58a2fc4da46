"""Mate problems: does search with a network that knows nothing find what must be found?

The problems are written by build_mates.py, which says how they are chosen.

    python tests/games/shogi/test_mates.py

prints how many mates in two the textbook search of tests/reference_mcts.py finds, `TEXTBOOK` below.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import azcore
from azcore.search.evaluators import UniformEvaluator
from azcore.search.mcts import Search
from azcore.search.settings import SearchSettings, search_settings
from azcore.storage.starts import read_starts

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data"
EXAMPLES = ROOT / "examples"
SIMULATIONS = 800  # as AlphaZero's

# Of the 40 mates in two, how many the textbook search gets right with the same settings.
TEXTBOOK = 14


def settings_of_search() -> SearchSettings:
    """Those of conf/puct, but an untried action is a draw, as at the small scales.

    With a network that knows nothing an untried action that is a loss is hardly ever tried.
    """
    files = {"search": "search/puct", "puct": "puct/default", "noise": "noise/puct"}
    read = {
        group: yaml.safe_load((ROOT / "conf" / f"{file}.yaml").read_text())
        for group, file in files.items()
    }
    search, puct = {**read["search"], **read["noise"]}, {**read["puct"], "value_range": [-1.0, 1.0]}
    return search_settings({"search": search, "puct": puct})


def problems(name: str) -> list[tuple[str, set[str]]]:
    """Each position with its right first moves, none where the file names none."""
    lines = (DATA / f"shogi_mates_in_{name}.txt").read_text().splitlines()
    parts = [line.partition("; ") for line in lines]
    return [(sfen, set(moves.split())) for sfen, _, moves in parts]


def most_visited(game: Any, sfens: list[str]) -> list[str]:
    """The move that search visits most, for each position; the first of several."""
    search = Search(
        game=game,
        num_trees=len(sfens),
        evaluator=UniformEvaluator(game),
        settings=settings_of_search(),
    )
    states = [game.state_from_text(sfen) for sfen in sfens]
    for row, state in enumerate(states):
        search.start(row, state)
    results = search.run(list(range(len(sfens))), SIMULATIONS)
    return [
        game.action_to_text(state, int(result.actions[int(np.argmax(result.visit_counts))]))
        for state, result in zip(states, results, strict=True)
    ]


@pytest.fixture(name="game", scope="module")
def game_fixture() -> Any:
    return azcore.make("shogi")


def test_problems_are_as_described(game: Any) -> None:
    ones, twos = problems("one"), problems("two")
    assert len(ones) >= 60
    assert len(twos) == 40
    for sfen, firsts in ones + twos:
        state = game.state_from_text(sfen)
        assert 10 <= int(game.legal_action_mask(state).sum()) <= (40 if firsts else 150)
        mates = mating(game, state)
        assert bool(mates) != bool(firsts)
        for first in firsts:
            after = game.step(state, game.text_to_action(state, first))
            assert not game.is_terminal(after)
            for reply in np.flatnonzero(game.legal_action_mask(after)).tolist():
                assert mating(game, game.step(after, reply)), (sfen, first)


def mating(game: Any, state: Any) -> list[int]:
    """The legal actions that checkmate."""
    found = []
    for action in np.flatnonzero(game.legal_action_mask(state)).tolist():
        after = state.copy()
        game.rules.step(after, action)
        if game.is_terminal(after) and game.termination(after) == "checkmate":
            found.append(action)
    return found


def test_every_mate_in_one_is_found(game: Any) -> None:
    sfens = [sfen for sfen, _ in problems("one")]
    for sfen, move in zip(sfens, most_visited(game, sfens), strict=True):
        state = game.state_from_text(sfen)
        assert game.text_to_action(state, move) in mating(game, state), (sfen, move)


def test_as_many_mates_in_two_are_found_as_by_the_textbook(game: Any) -> None:
    moves = most_visited(game, [sfen for sfen, _ in problems("two")])
    right = sum(move in firsts for move, (_, firsts) in zip(moves, problems("two"), strict=True))
    assert right >= TEXTBOOK, f"{right} of 40"


def test_the_puzzles_that_come_with_azcore_are_these() -> None:
    lines = (EXAMPLES / "puzzles" / "shogi_mates.epd").read_text().splitlines()
    twos = (DATA / "shogi_mates_in_two.txt").read_text().splitlines()
    assert lines[1:] == [line.replace("; ", " bm ") + ";" for line in twos]


def test_the_starts_that_come_with_azcore_go_on(game: Any, tmp_path: Path) -> None:
    lines = (EXAMPLES / "starts" / "shogi_before_mate.sfen").read_text().splitlines()
    assert len(set(lines)) == 3000
    some = tmp_path / "some.sfen"
    some.write_text("\n".join(lines[::10]))
    starts = read_starts(game, [str(some)], (0,), "selfplay.starts")
    assert starts is not None
    assert len(starts) == 300


def count_by_the_textbook(make_search: Callable[..., Any]) -> int:
    game = azcore.make("shogi")
    right = 0
    for sfen, firsts in problems("two"):
        state = game.state_from_text(sfen)
        search = make_search(
            game=game, evaluator=UniformEvaluator(game), settings=settings_of_search()
        )
        search.start(state)
        search.search(SIMULATIONS)
        visits = search.root.visits
        best = min(visits, key=lambda action: (-visits[action], action))
        right += game.action_to_text(state, best) in firsts
    return right


if __name__ == "__main__":
    import sys

    sys.path.insert(0, str(ROOT / "tests"))
    from reference_mcts import ReferenceSearch

    print(count_by_the_textbook(ReferenceSearch))
