"""The contract between azcore and a game: read this file first.

A game states its rules, how a position looks to the network, and how actions are written. azcore
does the rest. There are two ways to state the rules, and azcore treats them alike:

* `CompiledGame`: the state is a NumPy record and the rules are six plain functions over it (and an
  optional seventh), which azcore compiles with numba and calls for many positions at once.
* `Game`: the state is any Python object. This is slower, with the same results.

`facts.Facts` holds the fixed properties of a game (sizes, names, symmetries). This file names no
game: the folder `games` holds examples of both kinds, and docs/new-game.md explains how to write
one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.errors import GameError, IllegalActionError
from azcore.game import faults
from azcore.game.board import Board
from azcore.game.facts import BoolArray, Facts, FloatArray, Setting
from azcore.game.knowledge import Book, Tablebase
from azcore.game.transcript import TranscriptFormat

OUTCOMES = (-1, 0, 1)
OUTCOMES_AS_TEXT = "-1, 0 or +1"
PLAIN_FORM = "_plain"  # suffix of a game that states another's rules without compiling


class Game(ABC):
    """The rules, encoding and texts of one game with one set of settings, without any position.

    Shapes: A actions; C planes, H rows and W columns of an observation. Seats are numbered 0 (moves
    first) and 1; each game defines its own colours.

    Twelve identities must hold; `azcore.testing.check_game` checks them on positions of random
    games from `start_states`:

    1. A state is terminal or has a legal action, never both.
    2. `step` accepts exactly the actions of `legal_action_mask`, returns a new state and leaves the
       old one untouched.
    3. A game ends within `max_game_length` plies.
    4. `current_player` is 0 or 1, and `outcome` is -1, 0 or +1, view of seat 0.
    5. `observation` is float32 [C, H, W] of whole numbers from 0 to `observation_maximum`, view of
       the player to move. Equal states have equal observations, and observing a state twice gives
       the same result.
    6. Texts round-trip: `text_to_action(s, action_to_text(s, a)) == a`, and a state read back from
       `state_to_text` allows the same actions for the same player. The first word of that text is
       the placement of the pieces. A state read back has no history, so it may allow an action that
       only history forbids. Each of `start_states` is read back whole.
    7. For each symmetry: playing the mapped actions gives the mapped mask, the mapped observation
       and the same outcome, from the initial state (mapped: `Symmetry.start`) and from each start
       that looks like its image.
    8. Compiled rules and interpreted rules agree.
    9. If the game has a `position_key`, positions with the same key after the same number of
       actions have the same player to move, the same legal actions, the same end and the same
       outcome.
    10. A transcript reads back as it was written: see `TranscriptFormat`.
    11. `ownership`, `score` and `material`, if the game has them, hold numbers in their ranges at
        every end, a mapped game has the mapped ownership, the same score and the same material, and
        a score's sign is the outcome.
    12. `board`, if the game has it, shows the placement of `state_to_text`, and each legal action
        has one path of clicks, which is not the beginning of another's.

    Args of the constructor:
        facts: the fixed properties of the game, which are also its attributes.
    """

    def __init__(self, facts: Facts) -> None:
        self.name = facts.name
        self.summary = facts.summary
        self.version = facts.version
        self.settings = dict(facts.settings)
        self.num_actions = facts.num_actions
        self.action_planes = facts.action_planes
        self.observation_shape = facts.observation_shape
        self.observation_maximum = np.array(facts.maximum_of_planes, np.float32)  # [C]
        self.plane_names = None if facts.plane_names is None else tuple(facts.plane_names)
        ages = facts.plane_ages
        self.plane_ages = (0,) * facts.observation_shape[0] if ages is None else tuple(ages)
        self.max_game_length = facts.max_game_length
        self.dirichlet_alpha = facts.dirichlet_alpha
        self.proof_plies = facts.proof_plies
        self.symmetries = facts.symmetries
        self.seat_names = facts.seat_names
        self.protocol = facts.protocol
        self.score_maximum = facts.score_maximum
        faults.register(facts.name, type(self).__module__)

    @property
    def identity(self) -> dict[str, Any]:
        """Name, version and settings, which weights and game records must share."""
        return {"name": self.name, "version": self.version, "settings": dict(self.settings)}

    def is_played_as(self, identity: Mapping[str, Any]) -> bool:
        """Whether weights for the game of this identity can play this game.

        That is the same game, or its other form: `NAME_plain`, with the same version and settings,
        states the rules of NAME again, with the same actions and planes.
        """
        name = str(identity["name"]).removesuffix(PLAIN_FORM)
        same = name == self.name.removesuffix(PLAIN_FORM)
        return same and {**identity, "name": self.name} == self.identity

    @classmethod  # noqa: B027 - optional
    def require_received(cls, settings: Mapping[str, Any]) -> None:
        """Refuse settings that come from a file, such as a game record, before a game has them.

        Anybody may have written the file. A game whose constructor refuses everything that costs
        much time or memory, or is more than data, need not override this.

        Args:
            settings: the settings in the file, perhaps not all.

        Raises:
            GameError: the message names the value got and the value wanted.
        """

    def __repr__(self) -> str:
        settings = "".join(f", {key}={value!r}" for key, value in self.settings.items())
        return f"make({self.name!r}{settings})"

    def prepare(self) -> None:  # noqa: B027 - most games have nothing to prepare
        """Do slow work now, such as compiling; `azcore.make` calls it."""

    def source_of(self, rule: str) -> Callable[..., Any]:
        """A rule as its author wrote it, so that errors can give its place."""
        function: Callable[..., Any] = getattr(type(self), rule)
        return function

    # -- rules, one position at a time ----------------------------------------------------------

    @abstractmethod
    def initial_state(self) -> Any:
        """A new state, in which seat 0 is to move."""

    def start_states(self) -> Sequence[Any]:
        """The states in which games of self-play begin, each as likely as the others; optional.

        So one run learns a game with variants, such as several board sizes. Matches begin in the
        initial state, and so does self-play unless a game overrides this; `selfplay.starts` and
        `arena.starts` override both. A start is the position in its text, without history; either
        seat may be to move, and the game is not over.
        """
        return [self.initial_state()]

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
        """float32 [C, H, W], the input of the network, from the view of the player to move.

        Whole numbers only, 0 to `observation_maximum`: azcore stores them as bytes.
        """

    def position_key(self, state: Any) -> int | None:
        """A number, 0 to 2**64 - 1, by which a search recognises a position; optional.

        Equal keys after the same number of actions mean: the same player to move, the same legal
        actions, the same end and outcome now, and the same game from here on, whatever the path to
        the position. The key may omit the number of actions played. It may also omit differences
        that only a rule about earlier positions can see (repetition, superko), unless that rule
        forbids an action or ends the game in this very position. If positions share a key in spite
        of such a difference, `step` must accept, with any result, an action that the rule forbids
        or that follows an end by the rule.

        The network may see the path to a position in its planes. Positions with equal keys share
        the evaluation of the one met first.

        None, for every state: the game has no key.
        """
        return None

    @property
    def has_position_key(self) -> bool:
        """Whether `position_key` returns a number."""
        return self.position_key(self.initial_state()) is not None

    def ownership(self, state: Any) -> npt.NDArray[np.int8] | None:
        """Who owns each cell of a terminal state, view of seat 0; optional.

        A network that also predicts ownership learns from every cell of a game, not only from its
        winner (Wu 2019, section 4.1). The cells are those of an observation, in the same order for
        both players: a game that rotates the board for the player to move cannot state it.

        Returns:
            int8 [H, W]: +1 seat 0, 0 nobody, -1 seat 1. None: not known at this end.
        """
        return None

    def score(self, state: Any) -> float | None:
        """By how much seat 0 won a terminal state; negative: lost; 0: a draw. Optional.

        At most `score_maximum` (a fact, without which azcore does not ask) in absolute value. None:
        not known at this end.
        """
        return None

    def material(self, state: Any) -> float:
        """How far seat 0 is ahead in pieces, in any state: the `lead` of their worth. Optional.

        Pieces in hand count, and kings do not.
        Unlike a score it need not agree with the outcome: a mated player may be ahead.

        Returns:
            -1 to 1; 0 where nobody has any.
        """
        return 0.0

    @property
    def has_ownership(self) -> bool:
        """Whether the game states `ownership`."""
        return type(self).ownership is not Game.ownership

    @property
    def has_score(self) -> bool:
        """Whether the game states `score`."""
        return self.score_maximum is not None

    @property
    def has_material(self) -> bool:
        """Whether the game states `material`."""
        return type(self).material is not Game.material

    def can_declare_win(self, state: Any) -> bool:
        """Whether the player to move may end the game by declaring a win, without an action.

        Some games allow such a claim, for example when a king has entered the far camp. The default
        is False.
        """
        return False

    def is_check(self, state: Any) -> bool:
        """Whether the player to move is in check: a threat to end the game, which must be met.

        A search for mates considers only checks, see `azcore.engine.mates`. The default is False,
        for games without such a notion.
        """
        return False

    @property
    def has_check(self) -> bool:
        """Whether the game states `is_check`."""
        return type(self).is_check is not Game.is_check

    # -- outside knowledge -----------------------------------------------------------------------

    def opening_book(self, path: Path) -> Book | None:
        """The book in a file of one of this game's own formats; optional.

        azcore itself makes books of positions with moves (EPD), of the game's transcripts and of
        game records.

        Returns:
            None: by its name, the file has another format.

        Raises:
            GameError: it cannot be used; its sender may be malicious.
        """
        return None

    def tablebase(self, path: str) -> Tablebase | None:
        """The tables of endgames at a path, which may name several folders; optional.

        Returns:
            None: the game has none.

        Raises:
            GameError: there are no such tables, or they are damaged.
        """
        return None

    # -- texts, for people, protocols and pages -------------------------------------------------

    def termination(self, state: Any) -> str:
        """The reason why the game ended, in a few words (`checkmate`, `two passes`).

        The default follows from the outcome.
        """
        return self._by_outcome(state, "first player won", "draw", "second player won")

    def result_text(self, state: Any) -> str:
        """The result of a terminal state as the game's transcripts write it (`B+3.5`, `1-0`).

        The default follows from the outcome.
        """
        first, second = self.seat_names
        return self._by_outcome(state, f"{first} wins", "draw", f"{second} wins")

    def _by_outcome(self, state: Any, won: str, draw: str, lost: str) -> str:
        outcome = self.outcome(state)
        if outcome not in OUTCOMES:
            raise faults.broken_promise(
                self.name, self.source_of("outcome"), outcome, OUTCOMES_AS_TEXT
            )
        return {1: won, 0: draw, -1: lost}[outcome]

    def score_text(self, state: Any) -> str | None:
        """The result if the game stopped here, as `result_text` writes it.

        None: not known. The default knows the result only in a terminal state; a game that can
        count at any time overrides it.
        """
        return self.result_text(state) if self.is_terminal(state) else None

    def status_of_stones(self, state: Any) -> Mapping[str, list[str]] | None:
        """Stones that would be `alive`, `dead` or in `seki` if the game stopped here.

        Each status has a list of lines, one line with the points of each chain. None: the game has
        no such status.
        """
        return None

    def named_rules(self) -> Mapping[str, Setting]:
        """The game's rules in the terms of KataGo's `kata-get-rules`; empty: it has no such terms.

        A term that is also a setting may be set.
        """
        return {}

    def handicap_actions(self, count: int) -> list[int]:
        """The actions that place `count` handicap stones of the first seat, by custom.

        Raises:
            GameError: custom has no such handicap.
        """
        raise GameError(f"{self.name} has no fixed places for a handicap")

    @abstractmethod
    def action_to_text(self, state: Any, action: int) -> str:
        """The action as the game's protocol writes it (`D4`, `e7e8q`, `P*5e`)."""

    def action_to_notation(self, state: Any, action: int) -> str:
        """A legal action as transcript comments write it (`Nf3`); `text_to_action` reads it."""
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
        """The position as text for `state_from_text`, starting with the placement of the pieces."""

    @abstractmethod
    def state_from_text(self, text: str) -> Any:
        """A state with this position; history that the text does not hold is empty.

        Raises:
            InvalidTextError: not a position.
        """

    def swap_colours(self, text: str) -> str | None:
        """The text of the position with the seats exchanged, to move and all; optional.

        `text` is one of `state_to_text`. The player to move there must see the same as before and
        have the same actions, by which the kit detects an observation from the wrong view. A game
        that rotates the board for the player to move rotates it here too. None, for every text: the
        seats are too different, or the observation distinguishes them.
        """
        return None

    @property
    def has_swap_colours(self) -> bool:
        """Whether the game states `swap_colours`."""
        return type(self).swap_colours is not Game.swap_colours

    @abstractmethod
    def render(self, state: Any) -> str:
        """The board as several lines of text for a terminal."""

    def board(self, state: Any) -> Board | None:
        """The position as plain data, from which azcore draws it and takes clicks; optional.

        None, for every state: azcore shows the text of `render`, with a list of legal actions.
        """
        return None

    @property
    def has_board(self) -> bool:
        """Whether the game states `board`; overridden where that depends on settings."""
        return type(self).board is not Game.board

    def transcript_formats(self) -> Mapping[str, TranscriptFormat]:
        """The transcript formats of this game by name, such as `sgf`; the usual one first.

        With none, as by default, games are written as moves in JSON (`azcore.storage`). A format
        whose library is not installed is listed as well, and raises a GameError when it is used.
        """
        return {}


def lead(own: float, other: float) -> float:
    """(own - other) / (own + other) of two sides' non-negative sums; 0 if both are 0."""
    return (own - other) / (own + other) if own + other > 0 else 0.0


def texts_along(
    game: Game, state: Any, actions: Sequence[int], *, notation: bool = False
) -> list[str]:
    """The texts of actions played in sequence from a state, or their notations."""
    write = game.action_to_notation if notation else game.action_to_text
    texts: list[str] = []
    for ply, action in enumerate(actions):
        if ply > 0:
            state = game.step(state, actions[ply - 1])
        texts.append(write(state, action))
    return texts


def require_legal(game: Game, state: Any, action: int) -> int:
    """The action itself, if it is legal in a state.

    Raises:
        IllegalActionError: it is not.
    """
    if 0 <= action < game.num_actions and game.legal_action_mask(state)[action]:
        return action
    raise IllegalActionError(illegal_action_message(game, state, action))


def illegal_action_message(game: Game, state: Any, action: int) -> str:
    """One sentence for an action that `game` forbids in `state`."""
    if not 0 <= action < game.num_actions:
        return f"{game.name}: action must be 0 to {game.num_actions - 1}, got {action}"
    return f"{game.name}: {game.action_to_text(state, action)} (action {action}) is not legal here"
