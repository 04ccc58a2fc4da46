"""Matches of one network against itself with different search settings.

    python examples/compare_search.py runs/first 400 "value_range=[-1,1]" "value_range=[0,1]"

Each argument after the number of games is a search: settings of the group `search`, separated by
spaces. The first plays each of the others, with the run's `arena.num_simulations`.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import islice

import yaml

from azcore.arena.elo import rating_list
from azcore.arena.match import play_match
from azcore.arena.players import Player
from azcore.assembly.parts import Settings, search_player, settings_from
from azcore.search.settings import SearchSettings
from azcore.settings import build
from azcore.storage.run_directory import find_run
from azcore.storage.run_settings import read_config


def player_of(settings: Settings, checkpoint: str, words: str) -> Player:
    """A player with the run's settings, overridden by `words`."""
    changed = dict(word.split("=", 1) for word in words.split())
    values = {**vars(settings.search), **{key: yaml.safe_load(v) for key, v in changed.items()}}
    searched = replace(settings, search=build(SearchSettings, values, "search"))
    evaluator = settings.checkpoint_evaluator(find_run(checkpoint, "").last_checkpoint)
    return search_player(searched, evaluator, words)


def main(run: str, games: str, *searches: str) -> None:
    settings = settings_from({**read_config(find_run(run, "")), "device": "auto"})
    for words in islice(searches, 1, None):
        result = play_match(
            settings.game,
            player_of(settings, run, searches[0]),
            player_of(settings, run, words),
            num_games=int(games),
            opening_plies=4,
            seed=settings.seed,
        )
        rating = rating_list([result.distinct], {words: 0.0}).ratings[searches[0]]
        print(
            f"{searches[0]}: {rating.value:+.0f} Elo [{rating.low:+.0f}, {rating.high:+.0f}] above "
            f"{words}, score {result.score:.1%}, {result.distinct_games} distinct games",
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
