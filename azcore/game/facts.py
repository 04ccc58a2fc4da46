"""The fixed properties of a game: `Facts`, checked on creation, and `Symmetry`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from azcore.errors import GameError

Setting = str | int | float | bool | list[int] | list[float]
ByteArray = npt.NDArray[np.uint8]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int32]
PROTOCOLS = ("gtp", "uci", "usi")
LONGEST_NAME = 80  # characters of a plane's name
LONGEST_SUMMARY = 160  # characters of a summary
MOST_ACTIONS = 65_536  # trees and game records store an action in two bytes
MOST_PROOF = 8  # plies of the longest win that searches look for at each leaf


@dataclass(frozen=True, kw_only=True, eq=False)
class Symmetry:
    """One symmetry of a game, as two permutations.

    If `g` is the mapped position of `s`, then
    `observation(g)[:, cell] == observation(s)[:, cells[cell]]` over flattened cells, and
    `mask(g)[a] == mask(s)[actions[a]]`: entry i is the index in `s` from which i in `g` comes.

    The rules must be symmetric, but the initial position need not be: no game needs to reach its
    image, as long as both are played and won alike.
    """

    cells: IntArray  # [H * W]
    actions: IntArray  # [A]
    start: str | None = None  # text of the state that the initial one maps to; None: itself


@dataclass(frozen=True, kw_only=True, eq=False)
class Facts:
    """The fixed properties of a game with one set of settings.

    Args:
        name: registry name, as in `game=<name>`.
        summary: the rules in one sentence of at most 160 characters, for people who choose a game.
            Empty: none.
        version: increased whenever rules or encodings change; checkpoints and game records store
            it, and azcore refuses those of another version.
        settings: the game's settings, `{"board_size": 9, "komi": 7.0}`; stored and compared too.
        num_actions: A, 1 to 65,536. Actions are the integers 0 to A - 1.
        action_planes: the number of action planes, if actions are numbered plane by plane and each
            plane cell by cell, as in AlphaZero: a convolution can then predict them. Actions that
            belong to no cell, such as a pass, come after the planes (A >= planes × H × W). None:
            actions are numbered differently.
        observation_shape: (C, H, W).
        observation_maximum: the largest value of each plane, C numbers from 1 to 255; None: 1 in
            all. Networks divide by it, so that a counter weighs no more than a piece.
        plane_names: what each plane holds, C different texts of at most 80 characters, for people
            who look at planes. Reports group planes whose names have the same part after the last
            comma, such as `own stones, 1 ply ago`. None: reports number the planes.
        plane_ages: which plies ago the position was that each plane shows, C whole numbers, 0 for
            planes of the present. `network.history` lets a network see only the latest positions.
            None: all planes show the present.
        max_game_length: the maximum length of a game, in plies.
        score_maximum: the largest absolute value of `Game.score`; None: the game has no score.
        dirichlet_alpha: concentration of the root noise, inversely proportional to the usual number
            of legal actions (AlphaZero's three values are near 10 / that number).
        proof_plies: how far searches look for forced wins by the rules alone, from each new
            position (`search.proof_plies=null`): 2 sees a win in one ply, and positions in which
            every move allows one. 0 disables it, which suits games that no single move ends, and
            rules in plain Python, which are slow.
        symmetries: zero or more, without the identity.
        seat_names: the names of the seats, as in "black to move".
        protocol: the protocol of engines for this game, one of `PROTOCOLS`. Any game without a
            protocol of its own can use GTP.

    Raises:
        GameError: a fact is out of range; the text names it and its value.
    """

    name: str
    version: int
    settings: Mapping[str, Setting]
    num_actions: int
    action_planes: int | None = None
    observation_shape: tuple[int, int, int]
    observation_maximum: Sequence[int] | None = None
    plane_names: Sequence[str] | None = None
    plane_ages: Sequence[int] | None = None
    max_game_length: int
    score_maximum: float | None = None
    dirichlet_alpha: float
    proof_plies: int = 0
    symmetries: tuple[Symmetry, ...] = ()
    seat_names: tuple[str, str] = ("black", "white")
    protocol: str = "gtp"
    summary: str = ""

    def __post_init__(self) -> None:
        for fact in ("version", "num_actions", "max_game_length", "dirichlet_alpha"):
            value = getattr(self, fact)
            if not (isinstance(value, int | float | np.number) and value > 0):
                self._refuse(fact, "a number above 0", repr(value))
        if type(self.proof_plies) is not int or not 0 <= self.proof_plies <= MOST_PROOF:
            self._refuse("proof_plies", f"0 to {MOST_PROOF}", repr(self.proof_plies))
        if self.num_actions > MOST_ACTIONS:
            self._refuse("num_actions", f"at most {MOST_ACTIONS:,}", f"{self.num_actions:,}")
        if len(self.observation_shape) != 3 or min(self.observation_shape) < 1:
            self._refuse(
                "observation_shape", "three positive sizes (C, H, W)", repr(self.observation_shape)
            )
        planes, height, width = self.observation_shape
        maximum = self.maximum_of_planes
        if np.shape(maximum) != (planes,) or not all(value in range(1, 256) for value in maximum):
            want = f"{planes} whole numbers from 1 to 255"
            self._refuse("observation_maximum", want, repr(maximum))
        names = self.plane_names
        if names is not None and not (
            len(set(names)) == len(names) == planes
            and all(_is_line(name, LONGEST_NAME) for name in names)
        ):
            want = f"{planes} different texts of at most {LONGEST_NAME} characters, or None"
            self._refuse("plane_names", want, repr(names))
        ages = self.plane_ages
        if ages is not None and not (
            np.shape(ages) == (planes,) and 0 in ages and all(age in range(256) for age in ages)
        ):
            want = f"{planes} whole numbers from 0 to 255, one of them 0, or None"
            self._refuse("plane_ages", want, repr(ages))
        if self.summary and not _is_line(self.summary, LONGEST_SUMMARY):
            want = f"one line of at most {LONGEST_SUMMARY} characters"
            self._refuse("summary", want, repr(self.summary))
        if self.protocol not in PROTOCOLS:
            self._refuse("protocol", f"one of {', '.join(PROTOCOLS)}", repr(self.protocol))
        if len(self.seat_names) != 2 or self.seat_names[0] == self.seat_names[1]:
            self._refuse("seat_names", "two names", repr(self.seat_names))
        cells = height * width
        if self.action_planes is not None and not (
            1 <= self.action_planes <= self.num_actions // cells
        ):
            want = f"1 to num_actions / (H * W) = {self.num_actions / cells:g}, or None"
            self._refuse("action_planes", want, repr(self.action_planes))
        if self.score_maximum is not None and not 0 < self.score_maximum < np.inf:
            self._refuse("score_maximum", "above 0, or None", repr(self.score_maximum))
        for i, symmetry in enumerate(self.symmetries):
            for what, permutation, size in (
                ("cells", symmetry.cells, cells),
                ("actions", symmetry.actions, self.num_actions),
            ):
                if not np.array_equal(np.sort(permutation), np.arange(size)):
                    want = f"a permutation of {size} {what}"
                    self._refuse(f"{what} of symmetry {i}", want, repr(permutation))

    @property
    def maximum_of_planes(self) -> Sequence[int]:
        """The largest value of each plane, C numbers."""
        if self.observation_maximum is None:
            return [1] * self.observation_shape[0]
        return self.observation_maximum

    def _refuse(self, fact: str, want: str, got: str) -> None:
        raise GameError(f"{self.name}: {fact} must be {want}, got {got}")


def _is_line(text: object, longest: int) -> bool:
    return isinstance(text, str) and 0 < len(text) <= longest and text.isprintable()
