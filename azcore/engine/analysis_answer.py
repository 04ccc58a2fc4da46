"""Answers of KataGo's JSON analysis protocol: the result of a search of one position."""

import math
from typing import Any

from azcore.engine.analysis_query import Query
from azcore.engine.gtp_words import seats_by_word
from azcore.engine.thought import Line, Thought, Variation
from azcore.game import FloatArray, texts_along
from azcore.search.predictions import Prediction


def answer(query: Query, turn: int, thought: Thought, *, is_during_search: bool) -> dict[str, Any]:
    """One answer about one turn.

    Win rates, leads and ownership take the view that the query asks for. `lcb` is the lower end of
    a 95 % interval that counts each visit as a game, because the search does not store the variance
    of values. Leads and ownership are predictions of the network; the search does not average them.
    """
    line = query.lines[turn]
    seats = seats_by_word(line.game)
    # Times a value in the mover's view.
    sign = 1 if seats.get(query.view.lower(), line.player) == line.player else -1
    tried = [variation for variation in thought.variations if variation.visits > 0]
    root = thought.prediction
    found: dict[str, Any] = {
        "id": query.id,
        "isDuringSearch": is_during_search,
        "turnNumber": turn,
        "moveInfos": [
            _move(query, line, thought, variation, order, sign)
            for order, variation in enumerate(tried or thought.variations[:1])
        ],
        "rootInfo": {
            "currentPlayer": "B" if line.player == seats["b"] else "W",
            **_rate(sign * thought.value, thought.simulations, sign),
            **_lead(root, sign),
            "visits": thought.simulations,
        },
    }
    if query.ownership and root is not None and root.ownership is not None:
        found["ownership"] = _cells(root.ownership, sign)
    if query.policy and thought.variations:
        priors = [-1.0] * line.game.num_actions
        for variation in thought.variations:
            priors[variation.action] = variation.prior
        found["policy"] = priors
    return found


def nothing(query: Query, turn: int) -> dict[str, Any]:
    """The answer about a turn that was terminated before its search."""
    return {"id": query.id, "isDuringSearch": False, "noResults": True, "turnNumber": turn}


def _move(
    query: Query, line: Line, thought: Thought, variation: Variation, order: int, sign: int
) -> dict[str, Any]:
    value = variation.value if variation.visits else thought.value
    plan = texts_along(line.game, thought.state, variation.actions[: 1 + query.pv_length])
    info = {
        "move": plan[0],
        "visits": variation.visits,
        **_rate(sign * value, variation.visits, sign),
        **_lead(variation.prediction, sign),
        "prior": variation.prior,
        "order": order,
        "pv": plan,
    }
    after = variation.prediction
    if query.moves_ownership and after is not None and after.ownership is not None:
        info["ownership"] = _cells(after.ownership, sign)
    return info


def _rate(value: float, visits: int, sign: int) -> dict[str, float]:
    """Win rate and utility; the bound is on the side that is worse for the player to move."""
    rate = min(1.0, max(0.0, (1 + value) / 2))
    bound = rate - sign * 1.96 * math.sqrt(rate * (1 - rate) / max(1, visits))
    return {"winrate": rate, "utility": value, "lcb": bound, "utilityLcb": 2 * bound - 1}


def _lead(prediction: Prediction | None, sign: int) -> dict[str, float]:
    """The expected score under KataGo's three names for it; see `gtp_analysis`."""
    if prediction is None or prediction.score is None:
        return {}
    score = float(sign * prediction.score)
    return {"scoreLead": score, "scoreMean": score, "scoreSelfplay": score}


def _cells(ownership: FloatArray, sign: int) -> list[float]:
    return [round(float(sign * cell), 6) for cell in ownership.ravel()]
