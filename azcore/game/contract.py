"""The contract between azcore and a game: read this file first.

A game states its rules, how a position looks to the network, and how actions are written. azcore
does the rest. There are two ways to state the rules, and azcore treats them alike:

* `CompiledGame`: the state is a NumPy record and the rules are six plain functions over it (and a
  seventh if you like), which azcore compiles with numba and calls for many positions at once.
* `Game`: the state is any Python object. Slower, same results.

What is fixed about a game (sizes, names, symmetries) stands in `facts.Facts`. No game is named
here: the folder `games` holds examples of both, and docs/new-game.md tells how to write one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from azcore.errors import GameError
from azcore.game import faults
from azcore.game.facts import BoolArray, Facts, FloatArray, Setting
from azcore.game.transcript import TranscriptFormat

OUTCOMES = (-1, 0, 1)
OUTCOMES_IN_WORDS = "-1, 0 or +1"


class Game(ABC):
    """Rules, encoding and texts of one game with one set of settings. Holds no position.

    Shapes: A actions; C planes, H rows and W columns of an observation. Seats are numbered 0 (moves
    first) and 1; colours are a matter of each game.

    Ten identities must hold; `azcore.testing.check_game` checks them on random positions:

    1. A state is terminal or has a legal action, never both.
    2. `step` accepts exactly the actions of `legal_action_mask`, returns a new state and leaves the
       old one untouched.
    3. A game ends within `max_game_length` plies.
    4. `current_player` is 0 or 1, and `outcome` is -1, 0 or +1 as seat 0 sees it.
    5. `observation` is float32 [C, H, W] of whole numbers from 0 to `observation_maximum`, seen by
       the player to move. Equal states have equal observations, and a state seen twice is the same
       twice.
    6. Texts round-trip: `text_to_action(s, action_to_text(s, a)) == a`, and a state read back from
       `state_to_text` allows the same actions for the same player. The first word of that text is
       the placement of the pieces. A state read back has no history, so it may allow an action that
       only history forbids.
    7. For each symmetry: playing the mapped actions gives the mapped mask, the mapped observation
       and the same outcome.
    8. Rules compiled and rules interpreted agree.
    9. Where there is a `position_key`, positions with the same key after equally many actions have
       the same player to move, the same legal actions, the same end and the same outcome.
    10. A transcript is read as it was written: see `TranscriptFormat`.

    Args of the constructor:
        facts: what is fixed about the game; each is an attribute of the game too.
    """

    def __init__(self, facts: Facts) -> None:
        self.name = facts.name
        self.version = facts.version
        self.settings = dict(facts.settings)
        self.num_actions = facts.num_actions
        self.action_planes = facts.action_planes
        self.observation_shape = facts.observation_shape
        self.observation_maximum = np.array(facts.maximum_of_planes, np.float32)  # [C]
        self.max_game_length = facts.max_game_length
        self.dirichlet_alpha = facts.dirichlet_alpha
        self.symmetries = facts.symmetries
        self.seat_names = facts.seat_names
        self.protocol = facts.protocol
        faults.register(facts.name, type(self).__module__)

    @property
    def identity(self) -> dict[str, Any]:
        """Name, version and settings: what weights and game records must have in common."""
        return {"name": self.name, "version": self.version, "settings": dict(self.settings)}

    def prepare(self) -> None:  # noqa: B027 - nothing to do is the usual case
        """Do now what takes time, such as compiling; `azcore.make` calls it."""

    def source_of(self, rule: str) -> Callable[..., Any]:
        """A rule as its author wrote it, to tell where it is."""
        function: Callable[..., Any] = getattr(type(self), rule)
        return function

    # -- rules, one position at a time ----------------------------------------------------------

    @abstractmethod
    def initial_state(self) -> Any:
        """A new state, in which seat 0 is to move."""

    @abstractmethod
    def current_player(self, state: Any) -> int:
        """The seat to move, 0 or 1. In a terminal state: the seat that would move next."""

    @abstractmethod
    def legal_action_mask(self, state: Any) -> BoolArray:
        """bool [A], True = legal; all False in a terminal state."""

    @abstractmethod
    def step(self, state: Any, action: int) -> Any:
        """The state after `action`; `state` itself is not changed.

        Raises:
            IllegalActionError: the action is not legal here.
        """

    @abstractmethod
    def is_terminal(self, state: Any) -> bool:
        """Whether the game is over."""

    @abstractmethod
    def outcome(self, state: Any) -> int:
        """Final result z of a terminal state: +1 seat 0 won, 0 draw, -1 seat 1 won."""

    @abstractmethod
    def observation(self, state: Any) -> FloatArray:
        """float32 [C, H, W], what the network sees, from the view of the player to move.

        Whole numbers only, 0 to `observation_maximum`: azcore keeps them as bytes.
        """

    def position_key(self, state: Any) -> int | None:
        """A number, 0 to 2**64 - 1, by which a search knows a position again; optional.

        Equal keys after equally many actions mean: the same player to move, the same legal actions,
        the same end and outcome now, and from here the same game, whatever way led here. The number
        of actions played need not be in the key. Nor need what only a rule about earlier positions
        can tell apart (repetition, superko), unless it forbids an action or ends the game right
        here: positions that differ in no more than this may share a key, and `step` must then bear,
        in any way it likes, an action that such a rule forbids or that follows such an end.

        The network may see the way to a position in its planes. Positions of equal keys share what
        it said of the one met first.

        None, for every state: the game has no such key.
        """
        return None

    @property
    def has_position_key(self) -> bool:
        """Whether `position_key` gives a number."""
        return self.position_key(self.initial_state()) is not None

    def can_declare_win(self, state: Any) -> bool:
        """Whether the player to move may end the game as a win by a word, without an action.

        For games whose rules know such a claim and leave it to the player, as when a king has
        entered the far camp; False unless a game knows better.
        """
        return False

    # -- texts, for people, protocols and pages -------------------------------------------------

    def termination(self, state: Any) -> str:
        """How a terminal state came about, in a few words (`checkmate`, `two passes`).

        Made from the outcome unless a game knows better.
        """
        return self._by_outcome(state, "first player won", "draw", "second player won")

    def result_text(self, state: Any) -> str:
        """The result of a terminal state as the game's transcripts write it (`B+3.5`, `1-0`).

        Made from the outcome unless a game knows better.
        """
        first, second = self.seat_names
        return self._by_outcome(state, f"{first} wins", "draw", f"{second} wins")

    def _by_outcome(self, state: Any, won: str, draw: str, lost: str) -> str:
        outcome = self.outcome(state)
        if outcome not in OUTCOMES:
            raise faults.broken_promise(
                self.name, self.source_of("outcome"), outcome, OUTCOMES_IN_WORDS
            )
        return {1: won, 0: draw, -1: lost}[outcome]

    def score_text(self, state: Any) -> str | None:
        """The result if the game stopped here, as `result_text` writes it.

        Known at the end alone, unless a game counts at any time; None: not known.
        """
        return self.result_text(state) if self.is_terminal(state) else None

    def status_of_stones(self, state: Any) -> Mapping[str, list[str]] | None:
        """Stones that count as `alive`, `dead` and in `seki` if the game stopped here.

        Each is a list of lines, a line the points of one chain; None: the game has no such thing.
        """
        return None

    def named_rules(self) -> Mapping[str, Setting]:
        """Its rules in the words of KataGo's `kata-get-rules`; empty: it has no such words.

        A word that is also a setting may be set.
        """
        return {}

    def handicap_actions(self, count: int) -> list[int]:
        """Where the first seat begins with `count` stones, by the game's custom.

        Raises:
            GameError: no such handicap is the custom.
        """
        raise GameError(f"{self.name} has no fixed places for a handicap")

    @abstractmethod
    def action_to_text(self, state: Any, action: int) -> str:
        """The action as the game's protocol writes it (`D4`, `e7e8q`, `P*5e`)."""

    def action_to_notation(self, state: Any, action: int) -> str:
        """A legal action as comments in transcripts have it (`Nf3`); `text_to_action` reads it."""
        return self.action_to_text(state, action)

    @abstractmethod
    def text_to_action(self, state: Any, text: str) -> int:
        """The legal action that `text` means.

        Raises:
            InvalidTextError: not an action at all.
            IllegalActionError: an action that is not legal here.
            AmbiguousTextError: more than one legal action.
        """

    @abstractmethod
    def state_to_text(self, state: Any) -> str:
        """The position as text that `state_from_text` reads: first the placement of the pieces."""

    @abstractmethod
    def state_from_text(self, text: str) -> Any:
        """A state with this position; history that the text does not hold is empty.

        Raises:
            InvalidTextError: not a position.
        """

    @abstractmethod
    def render(self, state: Any) -> str:
        """The board drawn for a terminal, several lines."""

    def transcript_formats(self) -> Mapping[str, TranscriptFormat]:
        """The formats of transcripts for this game by name, such as `sgf`; the usual one first.

        Empty unless a game has any. A format whose library is not installed is there as well, and
        says so with a GameError when it is used.
        """
        return {}


def texts_along(game: Game, state: Any, actions: Sequence[int]) -> list[str]:
    """The texts of actions that are played one after the other from a state."""
    texts: list[str] = []
    for ply, action in enumerate(actions):
        if ply > 0:
            state = game.step(state, actions[ply - 1])
        texts.append(game.action_to_text(state, action))
    return texts


def illegal_action_message(game: Game, state: Any, action: int) -> str:
    """One sentence for an action that `game` forbids in `state`."""
    if not 0 <= action < game.num_actions:
        return f"{game.name}: action must be 0 to {game.num_actions - 1}, got {action}"
    return f"{game.name}: {game.action_to_text(state, action)} (action {action}) is not legal here"
