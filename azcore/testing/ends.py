"""Checks of a game's data on its ends: `ownership`, `score` and `material`."""

import math
from collections import Counter
from typing import Any

import numpy as np

from azcore.game import Game, Symmetry
from azcore.testing.checker import Checker
from azcore.testing.contract import Identity
from azcore.testing.view import View

_ENOUGH_ENDS = 20  # decided ends needed to doubt a sign
_NEARLY_ALL = 0.9  # of them; a mated player may have more material


class Signs:
    """Counts the decided ends at which ownership or material is on the loser's side."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._agree: Counter[str] = Counter()
        self._contradict: Counter[str] = Counter()

    def note(self, state: Any, outcome: int) -> None:
        sides: dict[str, float] = {}
        if self.game.has_ownership and (cells := self.game.ownership(state)) is not None:
            sides["ownership"] = float(cells.sum(dtype=np.int64))
        if self.game.has_material:
            sides["material"] = self.game.material(state)
        for name, side in sides.items():
            self._agree[name] += side * outcome > 0
            self._contradict[name] += side * outcome < 0

    def warnings(self) -> list[str]:
        """Warnings about data that contradict the outcome at nearly all ends."""
        return [
            f"{name} was on the loser's side in {count} of {count + self._agree[name]} decided "
            "ends: is it in the view of seat 1, or of the player to move?"
            for name, count in self._contradict.items()
            if count + self._agree[name] >= _ENOUGH_ENDS
            and count > _NEARLY_ALL * (count + self._agree[name])
        ]


def check_end(
    checker: Checker, state: Any, view: View, mapped: list[tuple[int, Symmetry, Any]]
) -> None:
    """Check the end of a game. `mapped`: it under each symmetry, as index, symmetry and state."""
    game, identity = checker.game, Identity.ENDS
    if game.has_ownership:
        cells = _ownership(checker, state)
        for i, symmetry, image in mapped:
            want = None if cells is None else cells.ravel()[symmetry.cells].reshape(cells.shape)
            agree = np.array_equal(_ownership(checker, image), want)  # type: ignore[arg-type]
            checker.expect(identity, agree, f"symmetry {i} does not map the ownership")
    has_method = type(game).score is not Game.score
    if has_method or game.has_score:
        message = (
            f"score_maximum is {game.score_maximum}, but there is {'a' if has_method else 'no'}"
        )
        checker.expect(identity, has_method == game.has_score, f"{message} method score")
    if game.has_score:
        score = _score(checker, state)
        if score is not None:
            message = f"score is {score}, but the outcome {view.outcome}"
            checker.expect(identity, np.sign(score) == view.outcome, message)
        for i, _, image in mapped:
            got = _score(checker, image)
            checker.expect(identity, got == score, f"symmetry {i} has score {got}, want {score}")
    if game.has_material:
        material = _material(checker, state)
        for i, _, image in mapped:
            got = _material(checker, image)
            message = f"symmetry {i} has material {got}, want {material}"
            checker.expect(identity, math.isclose(got, material, abs_tol=1e-9), message)


def _ownership(checker: Checker, state: Any) -> Any:
    cells = checker.ask(Identity.ENDS, "ownership", state)
    if cells is not None:
        checker.expect_form(Identity.ENDS, cells, f"int8 {checker.game.observation_shape[1:]}")
        message = f"ownership must be -1, 0 or 1, got {cells}"
        checker.expect(Identity.ENDS, np.isin(cells, (-1, 0, 1)).all(), message)
        cells = cells.copy()
    return cells


def _score(checker: Checker, state: Any) -> float | None:
    score: float | None = checker.ask(Identity.ENDS, "score", state)
    if score is None:
        return None
    most = checker.game.score_maximum or 0.0
    fits = isinstance(score, float | int) and math.isfinite(score) and abs(score) <= most
    checker.expect(Identity.ENDS, fits, f"score is {score!r}, want a number from -{most} to {most}")
    return score


def _material(checker: Checker, state: Any) -> float:
    material: float = checker.ask(Identity.ENDS, "material", state)
    fits = isinstance(material, float | int) and abs(material) <= 1
    checker.expect(Identity.ENDS, fits, f"material is {material!r}, want a number from -1 to 1")
    return material
