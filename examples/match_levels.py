"""Plays matches between neighbouring levels of the page, for the table in docs/experiments.md.

python examples/match_levels.py pretrained/go9                # a network
python examples/match_levels.py tic_tac_toe --games 100       # a game, without a network
python examples/match_levels.py pretrained/go9 --levels hard full --games 20
python examples/match_levels.py pretrained/go9 --table games/go/pretrained/go9.levels.csv
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import replace
from pathlib import Path

import azcore
from azcore.arena.match import play_match
from azcore.arena.players import SearchPlayer
from azcore.commands.engine import loaded
from azcore.engine.server import Loaded
from azcore.engine.settings import thinking_search
from azcore.game.registry import installed_games
from azcore.search.settings import SearchSettings
from azcore.web.levels import LEVELS, evaluator_for, level, search_for

OPENING_PLIES = 2  # random moves, so that games differ


def player(name: str, has_network: bool, own: Loaded, search: SearchSettings) -> SearchPlayer:
    """A player at one of the page's levels."""
    way = level(name, has_network)
    return SearchPlayer(
        game=own.game,
        evaluator=evaluator_for(way, own.game, own.evaluator, has_network),
        settings=search_for(way, search),
        name=LEVELS[name].title,
        num_simulations=way.simulations,
    )


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("player", help="a checkpoint, or the name of a game")
    asked.add_argument("--levels", nargs="+", default=list(LEVELS), choices=list(LEVELS))
    asked.add_argument("--games", type=int, default=40, help="games per match")
    asked.add_argument(
        "--table", type=Path, help="add the results to this table, which the page shows"
    )
    given = asked.parse_args()
    is_game = given.player in installed_games()
    config = azcore.compose("command=web", *([f"game={given.player}"] if is_game else []))
    own = loaded({**config, "checkpoint": None if is_game else given.player})
    leaves = config["search"]["leaves_per_tree"]
    search = replace(thinking_search(config), leaves_per_tree=leaves)
    for below, name in zip(given.levels, given.levels[1:], strict=False):
        players = [player(each, not is_game, own, search) for each in (name, below)]
        match = play_match(
            own.game, *players, num_games=given.games, opening_plies=OPENING_PLIES, seed=1
        )
        points = match.wins + match.draws / 2
        print(f"{name}: {points:g} of {given.games} points against {below}", flush=True)
        if given.table is not None:
            is_new = not given.table.exists()
            with given.table.open("a", newline="") as file:
                rows = csv.writer(file, lineterminator="\n")
                if is_new:
                    rows.writerow(("level", "points", "games"))
                rows.writerow((name, f"{points:g}", given.games))


if __name__ == "__main__":
    main()
