"""A network's predictions for people to look at: more than search needs.

An `Evaluator` returns policy and value to search, and many networks predict nothing else. Some also
predict how likely a draw is, who will own each cell, the winning margin and the remaining length. A
`Predictor` computes all of it with the whole network; engines and reports show it.

Letters: A actions, H rows, W columns.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from azcore.game import FloatArray, Game


class Chances(NamedTuple):
    """Probabilities of the three results, which sum to 1."""

    win: float
    draw: float
    loss: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Prediction:
    """A network's predictions for one position, in the view of the player to move.

    None: the network does not predict it.
    """

    policy: FloatArray  # [A], softmax over the legal actions, 0 for the others
    value: float  # in [-1, 1]
    chances: Chances | None = None  # from a network whose value is win, draw and loss
    ownership: FloatArray | None = None  # [H, W] in [-1, 1], +1 own; cells as in `Game.ownership`
    score: float | None = None  # by how much the player to move wins, as in `Game.score`
    material: float | None = None  # how far the player to move is ahead at the end, `Game.material`
    plies_left: float | None = None

    def of_other_player(self) -> "Prediction":
        """The same prediction in the other player's view."""
        return replace(
            self,
            value=-self.value,
            chances=None if self.chances is None else Chances(*reversed(self.chances)),
            ownership=None if self.ownership is None else -self.ownership,
            score=None if self.score is None else -self.score,
            material=None if self.material is None else -self.material,
        )

    def in_numbers(self) -> dict[str, Any]:
        """The predictions other than policy, value and ownership, rounded, for JSON."""
        numbers: dict[str, Any] = {}
        if self.chances is not None:
            numbers["chances"] = [round(float(chance), 3) for chance in self.chances]
        if self.score is not None:
            numbers["score"] = round(float(self.score), 1)
        if self.material is not None:
            numbers["material"] = round(float(self.material), 2)
        if self.plies_left is not None:
            numbers["plies_left"] = round(float(self.plies_left))
        return numbers


class Predictor(ABC):
    """Predicts positions one by one or in batches, with a whole network."""

    @property
    @abstractmethod
    def predicts(self) -> frozenset[str]:
        """The fields of `Prediction` that are not None."""

    @abstractmethod
    def predict(self, game: Game, states: Sequence[Any]) -> list[Prediction]:
        """Predictions of some positions, none of them terminal.

        Args:
            game: the states' game, with the shapes of the network's.
        """


def chances_of(value: float, draw: float) -> Chances:
    """The probabilities of win and loss from a value = win - loss and the probability of a draw.

    win = (1 - draw + value) / 2 and loss = (1 - draw - value) / 2 (lc0). The draw counts as at most
    1 - |value|, because with that many draws the value is already as far from 0 as it can be.
    """
    value = max(-1.0, min(1.0, value))
    draw = max(0.0, min(draw, 1 - abs(value)))
    return Chances((1 - draw + value) / 2, draw, (1 - draw - value) / 2)
