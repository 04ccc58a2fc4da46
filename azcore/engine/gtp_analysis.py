"""Analysis with the arguments and in the output formats of Leela Zero and KataGo."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from azcore.engine.thought import Line, Thought
from azcore.game import texts_along
from azcore.search.predictions import Prediction

LONG, MANY, SHORT = 20, 10, 5  # 20 plies of each of the first 10 variations, 5 of the others


# KataGo's keywords for further output, which azcore does not compute.
UNKNOWN = ("ownershipstdev", "movesownership", "pvvisits", "pvedgevisits")


@dataclass(kw_only=True)
class Question:
    """The requested content of an analysis."""

    seat: int | None = None
    seconds: float  # between two lines
    fewest: int = 0  # moves
    most: int | None = None
    rules: list[tuple[bool, int, list[str]]] = field(default_factory=list)  # allowed?, seat, moves
    root: bool = False
    ownership: bool = False
    is_kata: bool = False


def considered(
    rules: Sequence[tuple[bool, int, list[str]]], line: Line, action_of: Callable[[Line, str], int]
) -> list[int] | None:
    """The actions that rules (allowed?, seat, moves) leave, ascending; empty: all, None: none.

    `action_of` returns the action of a text, -1 for none.
    """
    own = [(allowed, moves) for allowed, seat, moves in rules if seat == line.player]
    if not own:
        return []
    left = set(np.flatnonzero(line.game.legal_action_mask(line.state)).tolist())
    for allowed, moves in own:
        named = {action_of(line, move) for move in moves}
        left = left & named if allowed else left - named
    return sorted(left) or None


def analysis(question: Question, line: Line, thought: Thought) -> str:
    """One line about the moves of the root in Leela Zero's or KataGo's format; may be empty.

    Win rates, leads and ownership are in the view of the player to move. `lcb` is the lower end of
    a 95 % interval that counts each visit as a game, because the search does not store the variance
    of values. Leads and ownership are the network's predictions for the position after a
    move or for the root; the search does not average them.
    """
    tried = sum(variation.visits > 0 for variation in thought.variations)
    shown = thought.variations[: max(tried, question.fewest)][: question.most]
    parts = []
    for order, variation in enumerate(shown):
        rate = (1 + variation.value) / 2 if variation.visits else (1 + thought.value) / 2
        rate = min(1.0, max(0.0, rate))
        low = max(0.0, rate - 1.96 * math.sqrt(rate * (1 - rate) / max(1, variation.visits)))
        most = LONG if order < MANY else SHORT
        plan = texts_along(line.game, thought.state, variation.actions[:most])
        numbers = (
            f"utility {2 * rate - 1:.6f} winrate {rate:.6f}{_lead(variation.prediction)} "
            f"prior {variation.prior:.6f} lcb {low:.6f}"
            if question.is_kata
            else f"winrate {rate * 1e4:.0f} prior {variation.prior * 1e4:.0f} lcb {low * 1e4:.0f}"
        )
        parts.append(
            f"info move {plan[0]} visits {variation.visits} {numbers} order {order} "
            f"pv {' '.join(plan)}"
        )
    if question.root and parts:
        rate = (1 + thought.value) / 2
        parts.append(
            f"rootInfo visits {thought.simulations} utility {thought.value:.6f} winrate {rate:.6f}"
            f"{_lead(thought.prediction)}"
        )
    root = thought.prediction
    if question.ownership and parts and root is not None and root.ownership is not None:
        cells = " ".join(f"{cell:.6f}" for cell in root.ownership.ravel())
        parts.append(f"ownership {cells}")
    return " ".join(parts)


def _lead(prediction: Prediction | None) -> str:
    """The expected score under both of KataGo's names for it, after a space; may be empty.

    KataGo's lead is the number of points that would make the game even. Ours is the mean score of
    self-play, the closest that a network can learn from scores alone.
    """
    if prediction is None or prediction.score is None:
        return ""
    return f" scoreMean {prediction.score:.6f} scoreLead {prediction.score:.6f}"
