"""Levels: their descriptions, how their moves are drawn, and the claims about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import azcore
from azcore.assembly.pretrained import shipped
from azcore.search.evaluators import Evaluator
from azcore.web.levels import (
    DRAWN,
    LEVELS,
    NoisyEvaluator,
    claims,
    describe_levels,
    level,
    strength,
)


class Certain(Evaluator):
    """A policy of 70, 20 and 10 %."""

    def evaluate(self, observations: Any) -> Any:
        logits = np.log(np.array([[0.7, 0.2, 0.1]], np.float32))
        return logits.repeat(len(observations), 0), np.zeros(len(observations), np.float32)


def test_every_game_has_the_same_five_with_a_network_or_without() -> None:
    with_network, alone = describe_levels(True), describe_levels(False)
    assert [row[:2] for row in with_network] == [row[:2] for row in alone]
    assert [row[2] for row in with_network] == [
        "plays random moves",
        "draws moves from the network's policy",
        "network, 1 simulation",
        "network, 50 simulations",
        "network, 800 simulations",
    ]
    assert alone[1][2] == "search without a network, 25 simulations"
    for has_network in (True, False):
        numbers = [level(name, has_network).simulations for name in LEVELS]
        assert numbers == sorted(numbers)


def test_no_level_exceeds_what_the_server_allows() -> None:
    asked = strength("full", True, 100, 9.0)
    assert (asked.limits.simulations, asked.way and asked.way.simulations) == (100, 100)


def test_noise_draws_from_the_policy() -> None:
    logits, values = NoisyEvaluator(Certain(), DRAWN).evaluate(np.zeros((20_000, 1), np.uint8))
    shares = np.bincount(logits.argmax(1), minlength=3) / len(logits)
    assert np.allclose(shares, [0.7, 0.2, 0.1], atol=0.02)
    assert not values.any()


def test_claims_are_those_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "x.levels.csv").write_text("level,points,games\nhard,31.5,40\nbeginner,1,2\n")
    assert claims(tmp_path / "x.ckpt") == {"hard": "scored 31.5 of 40 points against Medium"}
    assert claims(tmp_path / "y.ckpt") == {}


def test_tables_that_ship_are_read_and_no_level_is_weaker_than_the_one_below() -> None:
    tables = [path.with_suffix(".levels.csv") for path in shipped().values()]
    there = [table for table in tables if table.exists()]
    assert there
    for table in there:
        for row in table.read_text().splitlines()[1:]:
            name, points, games = row.split(",")
            assert name in list(LEVELS)[1:]
            assert float(points) > int(games) / 2, (table, row)


def test_a_game_states_its_rules_in_a_line() -> None:
    assert "three marks in a row" in azcore.make("tic_tac_toe").summary
