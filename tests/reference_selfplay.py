"""Slow textbook self-play that `azcore.selfplay` must agree with, game for game, move for move.

One game at a time by the textbook search; nothing is shared with `azcore.selfplay`. Only the chance
is the same: each draw by `azcore.chance`, which must therefore be asked in the same order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from azcore.chance import Purpose, generator
from azcore.game import Game
from azcore.search.evaluators import Evaluator
from reference_mcts import ReferenceSearch, decided


@dataclass
class ReferenceGame:
    """A finished game, as a record has it."""

    actions: list[int] = field(default_factory=list)
    visits: list[dict[int, int]] = field(default_factory=list)  # none in openings, cheap searches
    root_values: list[float] = field(default_factory=list)
    surprises: list[float] = field(default_factory=list)  # 0 where there are no visits
    opening_plies: int = 0
    outcome: int = 0
    resigned_by: int | None = None
    start: str | None = None


def reference_game(
    game: Game,
    evaluator: Evaluator,
    search: Any,
    schedule: Any,
    *,
    seed: int,
    index: int,
    alpha: float,
    resign_below: float | None = None,
    starts: list[tuple[str | None, list[int], int]] | None = None,
) -> ReferenceGame:
    """Game number `index` of a run.

    Args:
        game: what is played.
        evaluator: judges leaves.
        search: settings as of `SearchSettings`, read as plain attributes.
        schedule: the same of `SelfPlaySettings`.
        seed: of the run.
        index: of the game.
        alpha: of the Dirichlet noise, said apart from the game and the settings.
        resign_below: threshold of resignation; None: nobody resigns.
        starts: a position, None for the initial one, moves from there, and the fewest of them that
            a game begins with; None: games begin at the beginning.
    """
    played = ReferenceGame()
    state = game.initial_state()
    if starts is not None:
        rng = generator(Purpose.START, seed, index)
        played.start, moves, least = starts[rng.integers(len(starts))]
        if played.start is not None:
            state = game.state_from_text(played.start)
        for action in moves[: rng.integers(least, len(moves) + 1)]:
            state = game.step(state, action)
            played.actions.append(action)
            played.visits.append({})
            played.root_values.append(0.0)
            played.surprises.append(0.0)
    rng = generator(Purpose.OPENING, seed, index)
    for _ in range(rng.integers(0, schedule.opening_plies, endpoint=True)):
        action = int(rng.choice(np.flatnonzero(game.legal_action_mask(state))))
        if game.is_terminal(game.step(state, action)):
            break
        state = game.step(state, action)
        played.actions.append(action)
        played.visits.append({})
        played.root_values.append(0.0)
        played.surprises.append(0.0)
    more = 0 if schedule.policy_plies is None else int(rng.exponential(schedule.policy_plies))
    for _ in range(more):
        legal = np.flatnonzero(game.legal_action_mask(state))
        tree = ReferenceSearch(game=game, evaluator=evaluator, settings=search)
        tree.start(state)
        tree.search(1, proves=False)
        sums = np.cumsum([np.float64(tree.root.prior[a]) for a in legal])
        drawn = generator(Purpose.OPENING, seed, index, len(played.actions) + 1).random()
        action = int(legal[next(i for i, s in enumerate(sums) if s > drawn * sums[-1])])
        if game.is_terminal(game.step(state, action)):
            break
        state = game.step(state, action)
        played.actions.append(action)
        played.visits.append({})
        played.root_values.append(0.0)
        played.surprises.append(0.0)
    played.opening_plies = len(played.actions)
    for_seat_0: list[float] = []
    tree = ReferenceSearch(game=game, evaluator=evaluator, settings=search)
    tree.start(state)
    while not game.is_terminal(tree.root.state):
        ply, root = len(played.actions), tree.root
        proven = decided(game, root.state, search.proof_plies + 1 if search.proof_plies else 0)
        if proven is not None:
            result, action = proven
            played.actions.append(action)
            played.visits.append({action: 1} if result > 0 else {})
            played.root_values.append(result)
            played.surprises.append(0.0)
            for_seat_0.append(result if root.player == 0 else -result)
            tree.advance(action)
            continue
        legal = np.flatnonzero(game.legal_action_mask(root.state))
        if not root.is_known:
            tree._evaluate([root])
        clean = dict(root.prior)  # without noise
        share = schedule.full_search_share
        if schedule.decided_value is not None:
            winner = for_seat_0[-4:]  # of searched plies
            sure = schedule.decided_value
            for sign in (1, -1):
                if len(winner) == 4 and all(sign * v > sure for v in winner):
                    share *= schedule.decided_share
        is_full = generator(Purpose.PLAYOUT_CAP, seed, index, ply).random() < share
        if is_full:
            noise = generator(Purpose.ROOT_NOISE, seed, index, ply).dirichlet([alpha] * len(legal))
            tree.search(search.num_simulations, noise.astype(np.float32))
        else:
            tree.search(schedule.cheap_simulations)
        kept = tree.kept_visits()
        best = tree.best()
        value = tree.value()
        of_best = dict(zip(legal, tree.q_values(), strict=True))[best]
        if not root.visits[best]:
            of_best = value
        if (
            resign_below is not None
            and index % 10 != 0  # one game in ten is played to its end
            and ply > played.opening_plies
            and np.float32(value) < resign_below
            and np.float32(of_best) < resign_below
        ):
            played.resigned_by = root.player
            played.outcome = -1 if root.player == 0 else 1
            return played
        temperature, searched = schedule.final_temperature, ply - played.opening_plies
        if schedule.temperature_half_life is not None:
            higher = schedule.temperature - schedule.final_temperature
            temperature += higher / 2 ** (searched / schedule.temperature_half_life)
        elif searched < schedule.temperature_plies:
            temperature = schedule.temperature
        action = int(best)
        if temperature > 0:
            shares = np.array([kept[a] for a in legal])
            weights = (shares / max(shares)) ** (1.0 / temperature)
            sums = weights.cumsum() / weights.sum()
            drawn = generator(Purpose.MOVE, seed, index, ply).random()
            action = int(legal[next(i for i, share in enumerate(sums) if share > drawn)])
        played.actions.append(action)
        named = {int(a): kept[a] for a in legal if kept[a]}
        played.visits.append(named if is_full else {})
        played.root_values.append(value)
        surprise = 0.0
        for a, n in named.items():
            pi = n / sum(named.values())
            surprise += pi * math.log(pi / clean[a])
        played.surprises.append(surprise if is_full else 0.0)
        for_seat_0.append(value if root.player == 0 else -value)
        tree.advance(action)
    played.outcome = game.outcome(tree.root.state)
    return played
