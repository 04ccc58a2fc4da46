"""Checks that play the same game in parallel in other ways: mapped, by an oracle, in batches."""

from dataclasses import replace
from typing import Any

import numpy as np

from azcore.game import CompiledGame, Game, Symmetry
from azcore.game.batch import GameBatch, PlainBatch, make_batch
from azcore.game.positions import Paths, Positions, make_positions
from azcore.testing.checker import Checker
from azcore.testing.contract import Identity
from azcore.testing.view import View, difference, legal_texts, view_of


class MappedGames:
    """The current game under each of its symmetries, played in parallel.

    The image of the initial state is `Symmetry.start`. The image of another start is unknown, so a
    game from there uses only symmetries that leave it unchanged.
    """

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.symmetries = checker.game.symmetries
        self.states: dict[int, Any] = {}  # by the index of the symmetry
        self.games = 0  # finished

    @property
    def played(self) -> list[tuple[int, Symmetry, Any]]:
        """The symmetries under which the game is played, each with its index and state."""
        return [(i, self.symmetries[i], state) for i, state in self.states.items()]

    def begin(self, start: Any | None) -> None:
        """Begin a game in one of the `start_states`; None: the initial state."""
        if start is None:
            self.states = {
                i: self._image_of_the_start(symmetry) for i, symmetry in enumerate(self.symmetries)
            }
            return
        view = self.checker.look(start)
        self.states = {
            i: start
            for i, symmetry in enumerate(self.symmetries)
            if difference(view, _mapped(view, symmetry)) is None
        }

    def _image_of_the_start(self, symmetry: Symmetry) -> Any:
        if symmetry.start is None:
            return self.checker.game.initial_state()
        return self.checker.ask(Identity.SYMMETRY, "state_from_text", symmetry.start)

    def check(self, view: View) -> None:
        """Check one symmetry after another, and all of them at the end of the game."""
        turn = len(self.checker.actions) + self.games
        for place, (i, symmetry, state) in enumerate(self.played):
            if not view.is_terminal and place != turn % len(self.states):
                continue
            want = _mapped(view, symmetry)
            seen = self.checker.look(state)
            where = ""
            if not self.checker.actions:
                image = "itself" if symmetry.start is None else symmetry.start
                where = f", which must map the first position to {image}"
            self.checker.expect_same(Identity.SYMMETRY, seen, want, f"symmetry {i}{where}")
        self.games += view.is_terminal

    def paths(self, start: Any, actions: list[int]) -> list[tuple[Any, list[int]]]:
        """The images of the current game: where each begins, and its actions."""
        return [
            (
                start if symmetry.start is None else self._image_of_the_start(symmetry),
                [_image(symmetry, action) for action in actions],
            )
            for _, symmetry, _ in self.played
        ]

    def play_one(self, actions: list[int]) -> None:
        """Play a whole game under one of the symmetries, each in turn, and drop the others."""
        turn = self.games % max(1, len(self.states))
        self.states = dict(list(self.states.items())[turn : turn + 1])
        for action in actions:
            self.step(action)

    def step(self, action: int) -> None:
        for i, symmetry, state in self.played:
            image = _image(symmetry, action)
            what = f"symmetry {i}: step with {image} for {action}"
            with self.checker.during(Identity.SYMMETRY, what):
                self.states[i] = self.checker.game.step(state, image)


def _image(symmetry: Symmetry, action: int) -> int:
    """The image of an action: entry a of `actions` is the preimage of a."""
    return int(np.flatnonzero(symmetry.actions == action)[0])


def _mapped(view: View, symmetry: Symmetry) -> View:
    """The view of the mapped position."""
    planes = view.observation.reshape(view.observation.shape[0], -1)[:, symmetry.cells]
    return replace(
        view,
        legal_action_mask=view.legal_action_mask[symmetry.actions],
        observation=planes.reshape(view.observation.shape),
    )


class OracleGame:
    """The current game, played in parallel by an oracle's rules."""

    def __init__(self, checker: Checker, oracle: Game) -> None:
        self.checker = checker
        self.oracle = oracle
        self.by_text = checker.game.num_actions != oracle.num_actions
        self.state: Any = None

    def begin(self, start: Any | None) -> None:
        """Begin a game in one of the `start_states`; None: the initial state."""
        if start is None:
            self.state = self.oracle.initial_state()
            return
        text = self.checker.ask(Identity.STATE_TEXT, "state_to_text", start)
        with self.checker.during(Identity.ORACLE, f"the oracle's state_from_text of {text!r}"):
            self.state = self.oracle.state_from_text(text)

    def check(self, state: Any, view: View) -> None:
        checker = self.checker
        with checker.during(Identity.ORACLE, "the oracle"):
            want = view_of(self.oracle, self.state)
            if self.by_text:
                got_texts = legal_texts(checker.game, state, view)
                want_texts = legal_texts(self.oracle, self.state, want)
                extra, missing = sorted(got_texts - want_texts), sorted(want_texts - got_texts)
                what = f"allows {extra} too many and lacks {missing}"
                checker.expect(Identity.ORACLE, got_texts == want_texts, what)
                want = replace(want, legal_action_mask=view.legal_action_mask)
        if want.observation.shape != view.observation.shape:
            want = replace(want, observation=view.observation)
        checker.expect_same(Identity.ORACLE, view, want, "against the oracle", tolerance=1e-6)
        if view.is_terminal:
            with checker.during(Identity.ORACLE, "termination"):
                got_words = checker.game.termination(state)
                want_words = self.oracle.termination(self.state)
            message = f"termination is {got_words!r}, want {want_words!r}"
            checker.expect(Identity.ORACLE, got_words == want_words, message)

    def step(self, state: Any, action: int) -> None:
        """Play the action in the oracle that corresponds to `action` in `state`."""
        with self.checker.during(Identity.ORACLE, f"the oracle's step with {action}"):
            if self.by_text:
                text = self.checker.game.action_to_text(state, action)
                action = self.oracle.text_to_action(self.state, text)
            self.state = self.oracle.step(self.state, action)


class Batches:
    """Batches that replay parts of finished games."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.batches: list[GameBatch] = []  # created with the first game

    def check(self, states: list[Any], views: list[View]) -> None:
        """Replay parts of the last game into buffers that hold stale values."""
        checker, identity = self.checker, Identity.BATCH
        game, rng, actions = checker.game, checker.rng, checker.actions
        num_roots, num_rows = 3, 8
        if not self.batches:
            self.batches = [make_batch(game, num_roots)]
            if isinstance(game, CompiledGame):
                self.batches.append(PlainBatch(game, num_roots))
            first = checker.look(game.initial_state())
            for batch in self.batches:
                checker.expect_same(identity, checker.look(batch.get(1)), first, "a new batch")
        starts = [0, *rng.integers(len(states), size=num_roots - 1).tolist()]
        roots = rng.integers(num_roots, size=num_rows).astype(np.int32)
        roots[:2] = 0, -1  # the whole game, and a row to skip
        ends = [int(rng.integers(starts[root], len(states))) for root in roots]
        ends[0] = len(states) - 1
        lengths = np.array([e - starts[r] for e, r in zip(ends, roots, strict=True)], np.int32)
        paths = np.full((num_rows, len(states)), -7, np.int32)  # never an action
        for row, root in enumerate(roots):
            paths[row, : lengths[row]] = actions[starts[root] : ends[row]]
        for batch in self.batches:
            for root, start in enumerate(starts):
                batch.set(root, states[start])
            out = make_positions(game, num_rows, keys=game.has_position_key)
            arrays = [array for array in out if len(array)]
            for array in arrays:
                array[:] = 1 if array.dtype == np.bool_ else 7
            with checker.during(identity, "replay"):
                batch.replay(Paths(roots, paths, lengths), out)
            for row in np.flatnonzero(roots >= 0).tolist():
                view = _row_of(out, row, game.num_actions)
                what = f"{type(batch).__name__}.replay to ply {ends[row]}"
                checker.expect_same(identity, view, views[ends[row]], what)
                if len(out.keys):
                    key, want = int(out.keys[row]), game.position_key(states[ends[row]])
                    checker.expect(identity, key == want, f"{what}: the key is {key}, {want=}")
            left = all((array[1] == array.dtype.type(7)).all() for array in arrays)
            checker.expect(identity, left, "replay wrote to a row that it should skip")
            for root, start in enumerate(starts):
                what = f"the root of {type(batch).__name__} at ply {start}"
                seen = checker.look(batch.get(root))
                checker.expect_same(identity, seen, views[start], what)
                if start + 1 < len(states):
                    batch.step(root, actions[start])
                    seen = checker.look(batch.get(root))
                    checker.expect_same(identity, seen, views[start + 1], f"{what}, one step later")
                    seen = checker.look(states[start])
                    checker.expect_same(identity, seen, views[start], "its source")


def _row_of(out: Positions, row: int, num_actions: int) -> View:
    """The view in row `row` of the output of `replay`."""
    listed = out.legal_actions[row, : out.num_legal[row]]
    mask = np.zeros(num_actions, np.bool_)
    mask[listed[(listed >= 0) & (listed < num_actions)]] = True
    return View(
        current_player=int(out.current_player[row]),
        is_terminal=bool(out.is_terminal[row]),
        legal_action_mask=mask,
        outcome=int(out.outcome[row]),
        observation=out.observations[row].copy(),
    )
