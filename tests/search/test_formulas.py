"""Numbers of the papers' formulas, worked out by hand in the comments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from azcore.game import BoolArray, ByteArray, Facts, FloatArray, Game
from azcore.search.evaluators import Evaluator
from azcore.search.mcts import Search
from azcore.search.puct import exploration_rate, first_play_value, shared_terms
from search_kit import search_settings, tree_snapshot

INFINITE = float("inf")


class Line(Game):
    """One legal action a ply, until the end: nothing to choose, so only backup is seen.

    The state is the number of plies; `seats` says who moves after each. The observation is that
    number too, so an evaluator may look values up by it.
    """

    def __init__(self, seats: tuple[int, ...] = (0, 1, 0, 1), result: int = 1) -> None:
        super().__init__(
            Facts(
                name="line",
                version=1,
                settings={},
                num_actions=1,
                observation_shape=(1, 1, 1),
                max_game_length=len(seats) - 1,
                dirichlet_alpha=1.0,
            ),
        )
        self._seats = seats
        self._result = result

    def initial_state(self) -> int:
        return 0

    def current_player(self, state: int) -> int:
        return self._seats[state]

    def legal_action_mask(self, state: int) -> BoolArray:
        return np.full(self.num_actions, not self.is_terminal(state))

    def step(self, state: int, action: int) -> int:
        return state + 1

    def is_terminal(self, state: int) -> bool:
        return state == len(self._seats) - 1

    def outcome(self, state: int) -> int:
        return self._result

    def observation(self, state: int) -> FloatArray:
        return np.full(self.observation_shape, state, np.float32)

    def action_to_text(self, state: int, action: int) -> str:
        return str(action)

    def text_to_action(self, state: int, text: str) -> int:
        return int(text)

    def state_to_text(self, state: int) -> str:
        return str(state)

    def state_from_text(self, text: str) -> int:
        return int(text)

    def render(self, state: int) -> str:
        return str(state)


class Arms(Line):
    """One choice by seat 0, each action ending the game with its own result."""

    def __init__(self, results: tuple[int, ...]) -> None:
        super().__init__()
        self.num_actions = len(results)
        self._results = results

    def step(self, state: int, action: int) -> int:
        return 10 + action

    def current_player(self, state: int) -> int:
        return int(state >= 10)

    def is_terminal(self, state: int) -> bool:
        return state >= 10

    def outcome(self, state: int) -> int:
        return self._results[state - 10]


class Fork(Line):
    """One choice of two by seat 0, then a line each that is no choice; nothing ends early."""

    def __init__(self) -> None:
        super().__init__(seats=(0, 1, 0, 1, 0))
        self.num_actions = 2

    def step(self, state: int, action: int) -> int:
        return 1 + 10 * action if state == 0 else state + 1

    def current_player(self, state: int) -> int:
        return self._seats[state % 10]

    def legal_action_mask(self, state: int) -> BoolArray:
        return np.array([not self.is_terminal(state), state == 0])

    def is_terminal(self, state: int) -> bool:
        return state % 10 == len(self._seats) - 1


class Told(Evaluator):
    """The same logits everywhere, and a value looked up by the observation's number."""

    def __init__(self, logits: list[float], values: list[float]) -> None:
        self._logits = np.array(logits, np.float32)
        self._values = np.array(values, np.float32)

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        plies = observations[:, 0, 0, 0].astype(int).clip(max=len(self._values) - 1)
        return np.tile(self._logits, (len(plies), 1)), self._values[plies]


def visits_of(game: Game, evaluator: Evaluator, simulations: int, **changed: Any) -> list[int]:
    search = Search(
        game=game,
        num_trees=1,
        evaluator=evaluator,
        settings=search_settings(num_simulations=simulations, **changed),
    )
    counts: list[int] = search.run([0])[0].visit_counts.tolist()
    return counts


@pytest.mark.rules
def test_exploration_rate() -> None:
    # log((1 + 0 + 19652) / 19652) + 1.25 = log(1.00005088...) + 1.25 = 1.2500508...
    assert exploration_rate(0.0, 1.25, 19652.0) == pytest.approx(1.25005088, abs=1e-8)
    # 1 + N + c_base = 2 c_base where N = 19651, and log 2 = 0.69314718
    assert exploration_rate(19651.0, 1.25, 19652.0) == pytest.approx(1.94314718, abs=1e-8)
    # (1 + 3 + 4) / 4 = 2 again
    assert exploration_rate(3.0, 0.0, 4.0) == pytest.approx(0.69314718, abs=1e-8)
    # with c_base infinite, AlphaGo Zero's constant
    assert exploration_rate(19651.0, 1.25, INFINITE) == 1.25


def exploration_scale(visits: int, **changed: Any) -> float:
    """C(s) sqrt(N(s)) of a root with so many visits, its own included."""
    settings = search_settings(**changed)
    search = Search(game=Line(), num_trees=1, evaluator=Told([0.0], [0.0]), settings=settings)
    search.trees.tree.nodes[0, 0].visits = visits
    shared = shared_terms(search.trees.tree, 0, 0, search.trees.rule, search.trees.variants)
    assert shared.scale == pytest.approx(shared.rate * math.sqrt(shared.visits))
    return shared.scale


@pytest.mark.rules
def test_exploration_scale_of_both_papers() -> None:
    # A node evaluated once whose edges had 3 visits: N(s) = 4, sqrt = 2; AlphaGo Zero counts 3.
    go_zero: dict[str, Any] = {"c_init": 1.25, "c_base": INFINITE, "count_parent_visit": False}
    # U = 1.25 * 0.5 * 2 / (1 + 1) = 0.625 for P = 0.5, N(s, a) = 1
    assert exploration_scale(4, c_init=1.25, c_base=INFINITE) * 0.5 / 2 == pytest.approx(0.625)
    # U = 1.25 * 0.5 * 1.7320508 / 2 = 0.54126588
    assert exploration_scale(4, **go_zero) * 0.5 / 2 == pytest.approx(0.54126588)
    # C(s) has the same N(s): (1 + 4 + 5) / 5 = 2, so 0.69314718 * 2
    assert exploration_scale(4, c_init=0.0, c_base=5.0) == pytest.approx(1.38629436)
    # before any visit AlphaGo Zero explores nothing
    assert exploration_scale(1, **go_zero) == 0


@pytest.mark.rules
def test_first_play_value() -> None:
    assert first_play_value(0.5, 0.2, -1.0, True) == pytest.approx(0.3)
    assert first_play_value(0.5, 0.2, -1.0, False) == -1.0


@pytest.mark.rules
def test_backup_over_a_line_of_three_plies() -> None:
    """Seats 0 1 0 and then the end, which seat 0 wins; values 0.5, 0.5, -0.25 as the mover sees."""
    search = Search(
        game=Line(),
        num_trees=1,
        evaluator=Told([0.0], [0.5, 0.5, -0.25]),
        settings=search_settings(num_simulations=4),
    )
    search.begin(0)
    wanted = [
        # (N, W) of the edges at plies 0, 1, 2; W as the mover there sees it
        [(0, 0.0)],  # the root's own evaluation is no simulation
        [(1, -0.5), (0, 0.0)],  # the ply after is worth 0.5 to seat 1, so -0.5 to seat 0
        [(2, -0.75), (1, 0.25), (0, 0.0)],  # -0.25 to seat 0
        [(3, 0.25), (2, -0.75), (1, 1.0)],  # seat 0 wins: +1 to it, -1 to seat 1
        [(4, 1.25), (3, -1.75), (2, 2.0)],  # and once more
    ]
    # The fourth simulation meets an end that is known, which needs no network: the last call
    # makes it and has no leaf to wait for.
    for wave, edges in enumerate(wanted):
        assert search.wave() == (wave < 4)
        seen = tree_snapshot(search, 0)
        assert [seen[(0,) * ply][4][0][1:] for ply in range(len(edges))] == edges
    # node values as their movers see them: the loser would move next
    assert [seen[(0,) * ply][2] for ply in range(4)] == [0.5, 0.5, -0.25, -1.0]
    assert [seen[(0,) * ply][3] for ply in range(4)] == [5, 4, 3, 1]  # N(s) = 1 + its edge's
    assert search.result(0).value == 1.25 / 4
    assert search.result(0).network_value == 0.5


@pytest.mark.rules
def test_backup_where_a_seat_moves_twice() -> None:
    """Seats 0 0 1 and then the end, which seat 1 wins: signs follow seats, not plies."""
    search = Search(
        game=Line(seats=(0, 0, 1, 1), result=-1),
        num_trees=1,
        evaluator=Told([0.0], [0.0, 0.5, 0.25]),
        settings=search_settings(num_simulations=3),
    )
    search.run([0])
    seen = tree_snapshot(search, 0)
    # ply 0, seat 0: +0.5 (seat 0's), -0.25 (seat 1's), -1
    # ply 1, seat 0: -0.25, -1
    # ply 2, seat 1: +1
    assert [seen[(0,) * ply][4][0][1:] for ply in range(3)] == [(3, -0.75), (2, -1.25), (1, 1.0)]


@pytest.mark.rules
def test_choices_among_three_arms() -> None:
    """Results 0, +1, -1 with priors 1/4, 1/4, 1/2, c_init 1, c_base infinite, N(s) with the parent.

    Simulation 1, sqrt 1: U = .25 .25 .5, so arm 2, which loses.
    Simulation 2, sqrt 2: .354, .354, -1 + .5 * 1.414 / 2 = -.646: a tie, the lower action, arm 0.
    Simulation 3, sqrt 3: 0 + .25 * 1.732 / 2 = .217, .433, so arm 1, which wins.
    Simulation 4 on: arm 1 has at least 1, arm 0 .125 sqrt(n) and arm 2 -1 + .25 sqrt(n).
    """
    told = Told([0.0, 0.0, math.log(2.0)], [0.0])
    rule: dict[str, Any] = {"c_init": 1.0, "c_base": INFINITE}
    wanted = [[0, 0, 1], [1, 0, 1], [1, 1, 1], [1, 2, 1], [1, 3, 1]]
    for simulations, counts in enumerate(wanted, start=1):
        assert visits_of(Arms((0, 1, -1)), told, simulations, **rule) == counts


@pytest.mark.rules
def test_the_two_formulas_differ_by_one_visit() -> None:
    """Two drawn arms of prior 1/2, an untried arm counted as lost, c_init 1, c_base infinite.

    After k visits of arm 0, Q + U is .5 sqrt(n) / (1 + k) for it and -1 + .5 sqrt(n) for arm 1, so
    arm 1 comes when sqrt(n) k / (1 + k) > 2.
    AlphaZero, n = 1 + k: k = 4 gives 2.236 * 4/5 = 1.789, k = 5 gives 2.449 * 5/6 = 2.041.
    AlphaGo Zero, n = k: k = 5 gives 2.236 * 5/6 = 1.863, k = 6 gives 2.449 * 6/7 = 2.100.
    """
    told = Told([0.0, 0.0], [0.0])
    rule: dict[str, Any] = {"c_init": 1.0, "c_base": INFINITE, "first_play": -1.0}
    for count_parent_visit, last in ((True, 5), (False, 6)):
        rule["count_parent_visit"] = count_parent_visit
        assert visits_of(Arms((0, 0)), told, last, **rule) == [last, 0]
        assert visits_of(Arms((0, 0)), told, last + 1, **rule) == [last, 1]


@pytest.mark.rules
def test_the_rate_grows_with_visits() -> None:
    """The same two arms, c_init 0.5, c_base 3: C = .5 + log((4 + n) / 3), n = 1 + k.

    Arm 1 comes when C .5 sqrt(n) k / (1 + k) > 1.
    k = 2: C = .5 + log(7/3) = 1.347; 1.347 * .5 * 1.732 * 2/3 = .778.
    k = 3: C = .5 + log(8/3) = 1.481; 1.481 * .5 * 2 * 3/4 = 1.111.
    With c_base infinite it takes sqrt(n) k / (1 + k) > 4: k = 16 gives 3.88, k = 17 4.007.
    """
    told = Told([0.0, 0.0], [0.0])
    rule: dict[str, Any] = {"c_init": 0.5, "first_play": -1.0}
    assert visits_of(Arms((0, 0)), told, 3, c_base=3.0, **rule) == [3, 0]
    assert visits_of(Arms((0, 0)), told, 4, c_base=3.0, **rule) == [3, 1]
    assert visits_of(Arms((0, 0)), told, 17, c_base=INFINITE, **rule) == [17, 0]
    assert visits_of(Arms((0, 0)), told, 18, c_base=INFINITE, **rule) == [17, 1]


@pytest.mark.rules
def test_constants_stated_for_values_from_0_to_1() -> None:
    """Arms that draw and win, of priors 3/4 and 1/4, c_init 1, c_base infinite, first play 0.

    From 0 to 1: a draw is 1/2, an untried arm 0. After k visits of arm 0 it has
    1/2 + .75 sqrt(n) / (1 + k), arm 1 .25 sqrt(n), with n = 1 + k.
    k = 2: .933 and .433.  k = 3: .875 and .5.  k = 6: .783 and .661.  k = 8: .75 and .75, and the
    higher prior goes first; k = 9: .737 and .791, so arm 1 comes after nine visits.
    From -1 to 1 the same numbers say that an untried arm is a draw as well:
    .75 sqrt(n) / (1 + k) and .25 sqrt(n) are equal at k = 2, and arm 1 comes after three.
    """
    told = Told([math.log(3.0), 0.0], [0.0])
    rule: dict[str, Any] = {"c_init": 1.0, "c_base": INFINITE}
    for value_range, alone in (((0.0, 1.0), 9), ((-1.0, 1.0), 3)):
        rule["value_range"] = value_range
        assert visits_of(Arms((0, 1)), told, alone, **rule) == [alone, 0]
        assert visits_of(Arms((0, 1)), told, alone + 1, **rule) == [alone, 1]


def test_first_play_on_its_scale() -> None:
    for value_range, first_play, relative, wanted in (
        ((0.0, 1.0), 0.0, False, -1.0),
        ((0.0, 1.0), 0.5, False, 0.0),
        ((-1.0, 1.0), 0.0, False, 0.0),
        ((0.0, 1.0), 0.1, True, 0.2),
        ((-1.0, 1.0), 0.2, True, 0.2),
    ):
        settings = search_settings(
            value_range=value_range, first_play=first_play, first_play_relative=relative
        )
        assert settings.first_play_value == pytest.approx(wanted)


@pytest.mark.rules
def test_first_play_relative_to_the_node() -> None:
    """No exploration (c_init 0); the root is worth 0.5 and both arms draw.

    Less 0.25 an untried arm is worth 0.25, more than the draw found; less 0.75 it is worth -0.25.
    """
    told = Told([0.0, 0.0], [0.5])
    rule: dict[str, Any] = {"c_init": 0.0, "c_base": INFINITE, "first_play_relative": True}
    assert visits_of(Arms((0, 0)), told, 2, first_play=0.25, **rule) == [1, 1]
    assert visits_of(Arms((0, 0)), told, 2, first_play=0.75, **rule) == [2, 0]


@pytest.mark.rules
def test_root_noise() -> None:
    """Priors 1/2 and noise (0, 1) with fraction 1/4: 3/8 and 5/8, so action 1 is tried first."""
    settings = search_settings(num_simulations=1, c_init=1.0, c_base=INFINITE)
    search = Search(
        game=Arms((0, 0)), num_trees=1, evaluator=Told([0.0, 0.0], [0.0]), settings=settings
    )
    asked = []

    def noise(row: int, num_legal: int) -> FloatArray:
        asked.append((row, num_legal))
        return np.array([0, 1], np.float32)

    search.begin(0, noise=noise)
    while search.wave():
        pass
    assert asked == [(0, 2)]
    assert search.result(0).priors.tolist() == [0.375, 0.625]
    assert search.result(0).visit_counts.tolist() == [0, 1]


@pytest.mark.rules
def test_virtual_losses_spread_the_leaves() -> None:
    """Four drawn arms of equal prior, three leaves at once, a virtual loss of 2, c_init 1.

    Nothing is known when a wave begins, so it takes arms 0, 1 and 2: one in flight counts as two
    visits lost, Q = -1, below the untried 0. The next wave takes the last arm; then arms in order.
    """
    rule: dict[str, Any] = {"c_init": 1.0, "leaves_per_tree": 3, "virtual_loss": 2}
    told = Told([0.0] * 4, [0.0])
    game = Arms((0, 0, 0, 0))
    search = Search(
        game=game, num_trees=1, evaluator=told, settings=search_settings(num_simulations=5, **rule)
    )
    search.begin(0)
    search.wave()  # the root alone
    assert search.select()
    assert search._slots.tree.tolist() == [0, 0, 0]
    # What is in flight is counted apart: a result holds what has been evaluated.
    assert search.result(0).visit_counts.tolist() == [0, 0, 0, 0]
    assert search.result(0).value == search.result(0).network_value
    assert search.trees.tree.nodes[0, 0].visits == 1
    in_flight = search.trees.variants.in_flight
    assert in_flight is not None
    place = int(search.trees.tree.nodes[0, 0].first_tried)
    assert in_flight.tried[0, place : place + 4].tolist() == [1, 1, 1, 0]
    assert in_flight.tried.sum() == 3
    assert in_flight.nodes[0, 0] == 3
    search.finish(*search.evaluate())
    assert search.result(0).visit_counts.tolist() == [1, 1, 1, 0]
    assert search.result(0).q_values.tolist() == [0, 0, 0, 0]
    assert not in_flight.tried.any()
    assert not in_flight.nodes.any()
    search.wave()
    assert search.result(0).visit_counts.tolist() == [2, 1, 1, 1]


@pytest.mark.rules
def test_virtual_visits_leave_the_value_alone() -> None:
    """Two arms with Q 1 and 0 and N 1 each, P 1/2 each, c_init 1, c_base infinite, two leaves.

    U = .5 sqrt(n) / (1 + N), n = 3 and 3 more for what is in flight, with n_vl 3.
    The first leaf is behind arm 0: 1.43 against .43.
    Second, visits alone: 1 + .5 * 2.449 / 5 = 1.24 against .61: arm 0, where the next position
    waits, so the wave is over. (Were Q taken over what is in flight too, arm 0 had .25 + .24.)
    Losses: Q = (1 - 3) / 4 = -.5, so arm 1.
    """
    for is_loss, wanted in ((False, [1, 0]), (True, [1, 1])):
        settings = search_settings(
            num_simulations=4,
            leaves_per_tree=2,
            virtual_loss=3,
            virtual_loss_is_loss=is_loss,
            c_init=1.0,
            c_base=INFINITE,
        )
        search = Search(
            game=Fork(), num_trees=1, evaluator=Told([0.0, 0.0], [0.0, 0.0]), settings=settings
        )
        search.begin(0)
        search.wave()
        assert search.select()  # both arms, whose values are -1 and 0 as their mover sees them
        search.finish(np.zeros((2, 2), np.float32), np.array([-1, 0], np.float32))
        assert search.result(0).q_values.tolist() == [1, 0]
        search.select()
        in_flight = search.trees.variants.in_flight
        assert in_flight is not None
        tree, place = search.trees.tree, int(search.trees.tree.nodes[0, 0].first_tried)
        first = {int(tree.edge_action[0, i]): in_flight.tried[0, place + i] for i in (0, 1)}
        assert [first[0], first[1]] == wanted
        assert search.result(0).visit_counts.tolist() == [1, 1]
        assert search.result(0).q_values.tolist() == [1, 0]


def test_policy_target() -> None:
    # 1, 2 and 1 of 4 visits
    told = Told([0.0, 0.0, 0.0], [0.0])
    settings = search_settings(num_simulations=4, c_init=1.0, c_base=INFINITE)
    search = Search(game=Arms((0, 1, -1)), num_trees=1, evaluator=told, settings=settings)
    result = search.run([0])[0]
    assert result.visit_counts.tolist() == [1, 3, 0]  # arm 1 wins as soon as it is seen
    assert result.policy_target().tolist() == [0.25, 0.75, 0.0]
    assert result.policy_target().dtype == np.float32
