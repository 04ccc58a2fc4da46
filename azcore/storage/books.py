"""Opening books for any game: from games, from positions with best moves, or in its own format.

    book = read_book(game, "openings.pgn", "engine.book", plies=20)
    book.actions(state)      # [(action, weight), ...], the largest weight first

The suffix of a file determines its content:

* transcripts of the game (`.sgf`, `.pgn`, ...) or game records (`.azg`): the weight of an
  action is the number of games that played it in that position, whoever won;
* the game's own format, see `Game.opening_book`;
* anything else is text with a position and its best moves on each line, `POSITION bm MOVES;` as in
  EPD, all with equal weight.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from azcore.errors import AzcoreError, GameFileError
from azcore.game import Book, Game
from azcore.settings import require
from azcore.storage.puzzles import read_puzzles
from azcore.storage.starts import RECORDS, games_of
from azcore.storage.transcripts import formats_by_suffix


class CountedBook(Book):
    """Counts of actions by position: pieces, player to move and legal actions, however reached.

    Args:
        played: (state, action) as often as it counts.
        left_out: why lines and games of a file are left out; grows while `played` is read.
    """

    def __init__(
        self, game: Game, played: Iterable[tuple[Any, int]], left_out: Sequence[AzcoreError] = ()
    ) -> None:
        self._game, self.left_out = game, left_out
        self._counts: dict[Hashable, Counter[int]] = defaultdict(Counter)
        for state, action in played:
            self._counts[self._key(state)][action] += 1

    def __len__(self) -> int:
        return len(self._counts)

    def _key(self, state: Any) -> Hashable:
        placement = self._game.state_to_text(state).partition(" ")[0]
        legal = np.packbits(self._game.legal_action_mask(state)).tobytes()
        return placement, self._game.current_player(state), legal

    def actions(self, state: Any) -> list[tuple[int, float]]:
        counts = self._counts.get(self._key(state), Counter())
        return [(action, float(count)) for action, count in counts.most_common()]


def read_book(game: Game, name: str, where: str, *, plies: int) -> Book:
    """The book in a file.

    Args:
        where: the setting that names it, for errors.
        plies: how many plies of a game go into the book.

    Raises:
        SettingError: the file is missing or empty.
        AzcoreError: it cannot be read, or is of another game; the message gives the place.
    """
    path = Path(name)
    require(path.is_file(), where, "a file", name)
    own = game.opening_book(path)
    if own is not None:
        return own
    suffix = path.suffix.lower()
    left_out: list[AzcoreError] = []
    if suffix == RECORDS or suffix in formats_by_suffix(game):
        played = _of_games(game, path, plies, left_out)
    else:
        played = _of_positions(game, path, left_out)
    book = CountedBook(game, played, left_out)
    if left_out and not len(book):
        raise left_out[0]
    require(len(book) > 0, where, "a file with games or positions", name)
    return book


def choose(found: Sequence[tuple[int, float]], rng: np.random.Generator | None) -> int:
    """An action of a book: drawn by weight, or without a generator the heaviest."""
    if rng is None:
        return found[0][0]
    weights = np.array([weight for _, weight in found])
    return found[int(rng.choice(len(found), p=weights / weights.sum()))][0]


def _of_games(
    game: Game, path: Path, plies: int, left_out: list[AzcoreError]
) -> Iterator[tuple[Any, int]]:
    for _, start, actions in games_of(path, game, left_out):
        state = game.initial_state() if start is None else game.state_from_text(start)
        for action in actions[:plies]:
            yield state, action
            state = game.step(state, action)


def _of_positions(game: Game, path: Path, left_out: list[AzcoreError]) -> Iterator[tuple[Any, int]]:
    for puzzle in read_puzzles(path, game):
        if isinstance(puzzle, GameFileError):
            left_out.append(puzzle)
        else:
            for action in sorted(puzzle.solutions):
                yield puzzle.state, action
