"""Players: a `Player` chooses its actions in many games at once.

A match reports every action to its players, so each can keep what it needs, such as search trees:

    player.begin(num_games=G, seed=1)
    player.start(row, state)             # the opening position of each game
    actions = player.choose(rows)        # games in which this player is to move
    player.advance(row, action)          # every action of every game, its own included
    player.end()                         # unless another match follows at once

Rows are the games of a match, 0 to G - 1. This module needs no torch: a network is passed as an
`Evaluator`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from azcore.chance import Purpose, generator
from azcore.game import Game
from azcore.game.batch import GameBatch, make_batch
from azcore.search.evaluators import Evaluator
from azcore.search.mcts import Search
from azcore.search.settings import SearchSettings
from azcore.selfplay.schedule import choose_action
from azcore.settings import require

RESIGNATION = "resignation"


@dataclass(frozen=True)
class Forfeit:
    """A player's decision to forfeit the game instead of choosing an action.

    `reason` is a few words for records: `RESIGNATION`, or why a program failed.
    """

    reason: str


Decision = int | Forfeit


class Player(ABC):
    """Chooses actions in several games of one match at once.

    Its choice in a row depends only on that row's game and the seed, never on the other rows.
    """

    name: str  # in results and tables; unique within a rating list
    takes_positions: bool = True  # whether the player can set up a position

    @abstractmethod
    def begin(self, num_games: int, seed: int) -> None:
        """Prepare for a new match of `num_games` games; `start` follows for each row."""

    @abstractmethod
    def start(self, row: int, state: Any, opening: Sequence[int] | None = None) -> None:
        """Game `row` begins from `state`, which is not terminal.

        `opening` holds the actions that lead there from the initial state; None: the game does not
        begin in that state, or they are unknown.
        """

    @abstractmethod
    def choose(self, rows: list[int]) -> Sequence[Decision]:
        """A legal action for each of the rows; this player is to move in all of them.

        Nothing is played yet: `advance` reports the played actions. A `Forfeit` ends the game of
        its row, and the other side wins.
        """

    @abstractmethod
    def advance(self, row: int, action: int) -> None:
        """`action` was played in game `row`, by either player."""

    def end(self) -> None:  # noqa: B027 - most players hold nothing
        """Release what `begin` can create again, such as trees or a process, between matches."""


class RandomPlayer(Player):
    """Plays a uniformly random legal action: the anchor of ratings."""

    def __init__(self, *, game: Game, name: str = "random") -> None:
        self.name = name
        self._game = game
        self._states: GameBatch = make_batch(game, 0)
        self._plies: list[int] = []
        self._seed = 0

    def begin(self, num_games: int, seed: int) -> None:
        self._states = make_batch(self._game, num_games)
        self._plies = [0] * num_games
        self._seed = seed

    def start(self, row: int, state: Any, opening: Sequence[int] | None = None) -> None:
        self._states.set(row, state)
        self._plies[row] = 0

    def choose(self, rows: list[int]) -> list[int]:
        actions = []
        for row in rows:
            legal = np.flatnonzero(self._game.legal_action_mask(self._states.get(row)))
            # Random numbers depend on the row and the ply, so the other games cannot change them.
            rng = generator(Purpose.MATCH, self._seed, row, self._plies[row])
            actions.append(int(rng.choice(legal)))
        return actions

    def advance(self, row: int, action: int) -> None:
        self._states.step(row, action)
        self._plies[row] += 1


class SearchPlayer(Player):
    """Searches each game with its own tree, without noise, and plays the most visited action.

    Ties go to the higher prior, then the lower action. All games of a call are searched together,
    so the evaluator sees full batches.

    Args of the constructor:
        settings: how to search; the noise settings have no effect.
        num_simulations: per action, instead of `settings.num_simulations`; None keeps that.
        temperature: for the first `temperature_plies` actions of a game after its opening, an
            action is drawn with probability N(a)^(1/temperature) / sum N(b)^(1/temperature).
        temperature_plies: counts plies of both players; 0 is the papers' choice for evaluation.

    Raises:
        SettingError: a number is out of range.
    """

    def __init__(
        self,
        *,
        game: Game,
        evaluator: Evaluator,
        settings: SearchSettings,
        name: str = "search",
        num_simulations: int | None = None,
        temperature: float = 0.0,
        temperature_plies: int = 0,
    ) -> None:
        require(temperature >= 0, "temperature", "0 or more", temperature)
        require(temperature_plies >= 0, "temperature_plies", "0 or more", temperature_plies)
        self.name = name
        self._game = game
        self._evaluator = evaluator
        if num_simulations is not None:
            settings = replace(settings, num_simulations=num_simulations)
        self._settings = settings
        self._temperature = temperature
        self._temperature_plies = temperature_plies
        self._search: Search | None = None
        self._plies: list[int] = []
        self._seed = 0

    def begin(self, num_games: int, seed: int) -> None:
        # Trees take most of the memory here, so this reuses those of the last match if they fit.
        if self._search is None or self._search.num_trees != num_games:
            self._search = Search(
                game=self._game,
                num_trees=num_games,
                evaluator=self._evaluator,
                settings=self._settings,
            )
        self._plies = [0] * num_games
        self._seed = seed

    def start(self, row: int, state: Any, opening: Sequence[int] | None = None) -> None:
        self._begun().start(row, state)
        self._plies[row] = 0

    def choose(self, rows: list[int]) -> list[int]:
        search = self._begun()
        for row in rows:
            best_only = self._temperature_in(row) == 0
            search.begin(row, best_only=best_only, takes_wins=True)
        while search.wave():
            pass
        actions = []
        for row in rows:
            rng = generator(Purpose.MATCH, self._seed, row, self._plies[row])
            actions.append(choose_action(search.result(row), self._temperature_in(row), rng))
        return actions

    def _temperature_in(self, row: int) -> float:
        """The temperature of the next choice in a game."""
        return self._temperature if self._plies[row] < self._temperature_plies else 0.0

    def advance(self, row: int, action: int) -> None:
        self._begun().advance(row, action)
        self._plies[row] += 1

    def end(self) -> None:
        self._search = None

    def _begun(self) -> Search:
        if self._search is None:
            raise RuntimeError("begin must come before start, choose and advance")
        return self._search


class Borrowed(Player):
    """A player that exists only during matches, such as a large network."""

    def __init__(self, name: str, make: Callable[[], Player]) -> None:
        self.name = name
        self._make = make
        self._player: Player | None = None

    def begin(self, num_games: int, seed: int) -> None:
        if self._player is None:
            self._player = self._make()
        self._player.begin(num_games, seed)

    def start(self, row: int, state: Any, opening: Sequence[int] | None = None) -> None:
        self._present.start(row, state, opening)

    def choose(self, rows: list[int]) -> Sequence[Decision]:
        return self._present.choose(rows)

    def advance(self, row: int, action: int) -> None:
        self._present.advance(row, action)

    def end(self) -> None:
        self._player = None

    @property
    def _present(self) -> Player:
        assert self._player is not None, "begin comes first"
        return self._player
