"""Checks of `position_key`: positions with the same key after as many actions must play alike.

A key may omit something that matters only later, such as a right to castle. The checks detect this
only where confused positions differ in their legal actions, their end or their player.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from azcore.game import CompiledGame, texts_along
from azcore.game.keys import KEY_BITS, state_key
from azcore.testing.checker import Checker
from azcore.testing.contract import Identity
from azcore.testing.view import View, content, view_of

_LAYERS = 3  # breadth first
_LAYER = 100  # positions of a layer
_SWAPPED = 3  # actions: one player plays the first and the last where seats alternate


class Keys:
    """The keys met in all random games of a check; does nothing for a game without keys."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self._has_keys: bool | None = None  # None: no position yet
        # Player, end, outcome and mask by ply and key. There are thousands, so each is small.
        self.known: dict[tuple[int, int], tuple[int, bool, int, int]] = {}

    def check(self, states: list[Any], view: View) -> None:
        """Check the last state of the current game, which has this view."""
        checker, identity = self.checker, Identity.KEY
        state, ply = states[-1], len(states) - 1
        key = checker.ask(identity, "position_key", state)
        if self._has_keys is None:
            self._has_keys = key is not None
        if not self._has_keys:
            return
        good = isinstance(key, int) and not isinstance(key, bool) and 0 <= key <= KEY_BITS
        checker.expect(identity, good, f"position_key is {key!r}, want a whole number below 2**64")
        again = [state] if content(state) is None else [state, state.copy()]
        same = all(checker.ask(identity, "position_key", one) == key for one in again)
        checker.expect(identity, same, "the same position has a different key on the second call")
        self._compare(ply, state, view)
        if ply >= _SWAPPED:
            self._check_swapped(states[-1 - _SWAPPED], key, view)

    def _compare(self, ply: int, state: Any, view: View) -> None:
        """Require that positions with one key after as many actions look alike."""
        checker, identity = self.checker, Identity.KEY
        key = checker.game.position_key(state)
        mask = hash(view.legal_action_mask.tobytes())
        facts = (view.current_player, view.is_terminal, view.outcome, mask)
        earlier = self.known.setdefault((ply, key or 0), facts)
        names = ("current_player", "is_terminal", "outcome", "legal_action_mask")
        differ = [n for n, a, b in zip(names, earlier, facts, strict=True) if a != b]
        others = " and ".join(differ)
        message = f"key {key} was met after {ply} other actions, with another {others}"
        checker.expect(identity, not differ, message)

    def check_layers(self, state: Any) -> None:
        """Compare the keys of positions a few actions away, breadth first.

        It meets several orders of actions that lead to the same placement; in random games they are
        rare. `state` is the result of the checker's actions.
        """
        checker, game = self.checker, self.checker.game
        way, moves = list(checker.actions), list(checker.moves)
        layer: list[tuple[list[int], Any]] = [([], state)]
        for _ in range(_LAYERS if self._has_keys else 0):
            following: dict[Any, tuple[list[int], Any]] = {}
            for path, earlier in layer:
                for action in np.flatnonzero(game.legal_action_mask(earlier)).tolist():
                    later = game.step(earlier, action)
                    following.setdefault(content(later) or later, ([*path, action], later))
            layer = list(following.values())
            if len(layer) > _LAYER:
                chosen = checker.rng.choice(len(layer), _LAYER, replace=False)
                layer = [layer[i] for i in sorted(chosen.tolist())]
            for path, later in layer:
                checker.actions = [*way, *path]
                checker.state = later
                checker.moves = [*moves, *texts_along(game, state, path)]
                self._compare(len(checker.actions), later, view_of(game, later))

    def _check_swapped(self, state: Any, key: int, view: View) -> None:
        """Require another key or the same view after the last actions in another order."""
        checker, game = self.checker, self.checker.game
        order = checker.actions[: -_SWAPPED - 1 : -1]
        if order == order[::-1]:
            return
        for action in order:
            if not game.legal_action_mask(state)[action]:
                return
            state = game.step(state, action)
        if game.position_key(state) == key:
            seen = replace(checker.look(state), observation=view.observation)
            what = f"key {key}, after the last actions in the order {order}"
            checker.expect_same(Identity.KEY, seen, view, what)

    def check_interpreted(self, state: Any) -> None:
        """Require the same key from a compiled game's key rule and from plain Python."""
        game, identity = self.checker.game, Identity.INTERPRETED
        if not isinstance(game, CompiledGame):
            return
        rule: Any = game.rules.position_key or state_key
        rule = getattr(rule, "py_func", rule)
        with np.errstate(over="ignore"), self.checker.during(identity, "position_key, interpreted"):
            got = int(rule(state.copy())) & KEY_BITS
            want = int(game.key_rule(state.copy()))
        self.checker.expect(identity, got == want, f"interpreted, position_key is {got}, {want=}")
