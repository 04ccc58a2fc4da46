"""Search without a network finds mates, in positions of chess built by build_mates.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import pytest

import azcore
from azcore.search.evaluators import UniformEvaluator
from azcore.search.mcts import Search
from azcore.search.settings import SearchSettings, search_settings
from reference_mcts import ReferenceSearch

from .build_mates import PUZZLES, forces_mate_in_two, mates_in_one, puzzle

DATA = Path(__file__).parents[2] / "data"
SIMULATIONS = 800

# Positions with a mate in one and with a mate in two.
IN_ONE = 64
IN_TWO = 40
# Those in which the textbook search of tests/reference_mcts.py, with the same settings, visits a
# right move most.
TEXTBOOK_IN_ONE = 64
TEXTBOOK_IN_TWO = 24


@pytest.fixture(name="settings")
def default_settings(compose: Callable[..., dict[str, Any]]) -> SearchSettings:
    """As `game=chess` has them: a preset that changes how search explores shows here."""
    search = search_settings(compose("game=chess", "algorithm=alphazero"))
    return replace(search, num_simulations=SIMULATIONS)


def positions(name: str) -> list[str]:
    return (DATA / name).read_text().splitlines()


def found_in_one(text: str, move: str) -> bool:
    return chess.Move.from_uci(move) in mates_in_one(chess.Board(text))


def found_in_two(text: str, move: str) -> bool:
    return forces_mate_in_two(chess.Board(text), chess.Move.from_uci(move))


def most_visited(texts: list[str], settings: SearchSettings) -> list[str]:
    """The move of each position that azcore's search visits most, in UCI."""
    game = azcore.make("chess")
    evaluator = UniformEvaluator(game)
    search = Search(game=game, num_trees=len(texts), evaluator=evaluator, settings=settings)
    states = [game.state_from_text(text) for text in texts]
    for row, state in enumerate(states):
        search.start(row, state)
    results = search.run(list(range(len(texts))))
    return [
        game.action_to_text(state, int(result.actions[result.visit_counts.argmax()]))
        for state, result in zip(states, results, strict=True)
    ]


def most_visited_by_the_textbook(texts: list[str], settings: SearchSettings) -> list[str]:
    """The same of the slow search, one position after the other."""
    game = azcore.make("chess")
    search = ReferenceSearch(game=game, evaluator=UniformEvaluator(game), settings=settings)
    moves = []
    for text in texts:
        state = game.state_from_text(text)
        search.start(state)
        search.search(settings.num_simulations)
        visits = search.root.visits
        action = max(visits, key=lambda action: (visits[action], -action))
        moves.append(game.action_to_text(state, action))
    return moves


def test_every_mate_in_one_is_found(settings: SearchSettings) -> None:
    texts = positions("chess_mates_in_one.txt")
    moves = most_visited(texts, settings)
    missed = [pair for pair in zip(texts, moves, strict=True) if not found_in_one(*pair)]
    assert len(texts) == IN_ONE
    assert not missed


def test_mates_in_two_are_found_as_by_the_textbook(settings: SearchSettings) -> None:
    texts = positions("chess_mates_in_two.txt")
    moves = most_visited(texts, settings)
    assert len(texts) == IN_TWO
    assert sum(map(found_in_two, texts, moves)) >= TEXTBOOK_IN_TWO


@pytest.mark.long(
    short="tests/games/chess/test_mates.py::test_mates_in_two_are_found_as_by_the_textbook"
)
def test_the_textbook_finds_as_many_as_noted(settings: SearchSettings) -> None:
    texts = positions("chess_mates_in_one.txt")
    moves = most_visited_by_the_textbook(texts, settings)
    assert sum(map(found_in_one, texts, moves)) == TEXTBOOK_IN_ONE
    texts = positions("chess_mates_in_two.txt")
    moves = most_visited_by_the_textbook(texts, settings)
    assert sum(map(found_in_two, texts, moves)) == TEXTBOOK_IN_TWO


def test_the_puzzles_that_come_with_azcore_are_these() -> None:
    assert PUZZLES.read_text().splitlines()[1:] == [
        puzzle(text) for text in positions("chess_mates_in_two.txt")
    ]
