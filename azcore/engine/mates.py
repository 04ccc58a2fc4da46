"""Proves forced wins: mates in n moves, and mate problems (tsume) in which every move checks.

The search is df-pn (Nagai 2002, "Df-pn Algorithm for Searching AND/OR Trees and Its Applications"):
the attacker needs one winning move, the proof must cover all of the defender's, and the search next
visits the position that the fewest others can decide. A bound on the plies left is part of every
node, so no line returns to a position and results do not depend on the path. The bound rises by two
until there is an answer. The rules replay a proven line, with the history of the game, before it is
reported.

Letters of df-pn, for a node with its player's view: phi, how many positions must still be decided
for this player to succeed; delta, the same for the other one.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

from azcore.game import CompiledGame, Game

INFINITE = 1 << 40
LONGEST = 255  # plies of a mate to search for


@dataclass(frozen=True, kw_only=True)
class Proof:
    """The result of a search for an attack."""

    line: tuple[int, ...] | None  # the mate, against the longest defence; None: not proven
    is_refuted: bool = False  # no such mate exists, of any length
    positions: int = 0  # searched


class _StoppedError(Exception):
    """Time is up."""


class _Child(NamedTuple):
    action: int
    key: Hashable
    result: bool | None  # whether the attacker has won; None: the game is not over


def prove(
    game: Game,
    state: Any,
    *,
    only_checks: bool,
    most_plies: int = LONGEST,
    may_continue: Callable[[int], bool],
) -> Proof:
    """Look for a forced win of the player to move.

    Args:
        game: the game played; with `only_checks` it must have `is_check`.
        state: not terminal.
        only_checks: whether each of the attacker's actions must give check.
        may_continue: called with the number of positions searched so far; False to stop.
    """
    search = _Search(game, game.current_player(state), only_checks, may_continue)
    try:
        for plies in range(1, most_plies + 1, 2):
            if search.wins(state, plies):
                return Proof(line=search.line(state, plies), positions=search.positions)
            if search.is_refuted(state):
                return Proof(line=None, is_refuted=True, positions=search.positions)
    except _StoppedError:
        pass
    return Proof(line=None, positions=search.positions)


class _Search:
    """One attack; see `prove`."""

    def __init__(
        self, game: Game, attacker: int, only_checks: bool, may_continue: Callable[[int], bool]
    ) -> None:
        self._game, self._attacker = game, attacker
        self._only_checks, self._may_continue = only_checks, may_continue
        self._children: dict[Hashable, list[_Child]] = {}
        self._numbers: dict[tuple[Hashable, int], tuple[int, int]] = {}  # phi, delta
        self._won: dict[Hashable, int] = {}  # the fewest plies of a proven win
        self._held: dict[Hashable, int] = {}  # the most plies for which the defender holds out
        self._safe: set[Hashable] = set()  # the defender holds out forever
        self.positions = 0

    def wins(self, state: Any, plies: int) -> bool:
        """Whether the attacker wins within this many plies."""
        self._numbers.clear()
        key = self._key(state)
        self._search(state, key, plies, INFINITE, INFINITE)
        return self._won.get(key, INFINITE) <= plies

    def is_refuted(self, state: Any) -> bool:
        return self._key(state) in self._safe

    # -- df-pn ----------------------------------------------------------------------------------

    def _search(self, state: Any, key: Hashable, left: int, most_phi: int, most_delta: int) -> None:
        """Search a position that is not over until its numbers reach one of the limits.

        The attacker must have won within `left` plies, 1 or more.
        """
        children = self._expand(state, key)
        while True:
            phi, delta, best, second = INFINITE, 0, -1, INFINITE
            for i, child in enumerate(children):
                child_phi, child_delta = self._of(child, left - 1)
                delta = min(INFINITE, delta + child_phi)
                if child_delta < phi:
                    phi, second, best = child_delta, phi, i
                elif child_delta < second:
                    second = child_delta
            self._numbers[key, left] = phi, delta
            if phi == 0 or delta == 0:
                self._decide(state, key, left, children)
                return
            if phi >= most_phi or delta >= most_delta:
                return
            child = children[best]
            child_phi, _ = self._of(child, left - 1)
            after = self._after(state, child.action)
            limit = min(INFINITE, most_delta - delta + child_phi)
            self._search(after, child.key, left - 1, limit, min(most_phi, second + 1))

    def _of(self, child: _Child, left: int) -> tuple[int, int]:
        """phi and delta of a child, in the view of the player to move there."""
        attacks = self._attacks(child.key)
        wins = child.result
        if wins is None:
            if self._won.get(child.key, INFINITE) <= left:
                wins = True
            elif left == 0 or self._held.get(child.key, -1) >= left or child.key in self._safe:
                wins = False
        if wins is None:
            return self._numbers.get((child.key, left), (1, 1))
        return (0, INFINITE) if wins == attacks else (INFINITE, 0)

    def _decide(self, state: Any, key: Hashable, left: int, children: list[_Child]) -> None:
        """Store a decided position for other bounds, too."""
        phi, _ = self._numbers[key, left]
        attacks = self._attacks(key)
        if (phi == 0) == attacks:
            self._won[key] = min(left, self._won.get(key, INFINITE))
            return
        self._held[key] = max(left, self._held.get(key, -1))
        safe = [child.result is False or child.key in self._safe for child in children]
        if all(safe) if attacks else any(safe):
            self._safe.add(key)

    def _expand(self, state: Any, key: Hashable) -> list[_Child]:
        """The relevant actions of a position, each with the resulting state."""
        known = self._children.get(key)
        if known is not None:
            return known
        self.positions += 1
        if not self._may_continue(self.positions):
            raise _StoppedError
        needs_check = self._only_checks and self._attacks(key)
        children = []
        for action in self._game.legal_action_mask(state).nonzero()[0].tolist():
            after = self._after(state, action)
            result = None
            if self._game.is_terminal(after):
                result = self._is_won(after)
            if needs_check and not result and not self._game.is_check(after):
                continue
            children.append(_Child(action, self._key(after), result))
        self._children[key] = children
        return children

    def _after(self, state: Any, action: int) -> Any:
        if isinstance(self._game, CompiledGame):  # the action is known to be legal
            after = state.copy()
            self._game.step_in_place(after, action)
            return after
        return self._game.step(state, action)

    def _is_won(self, state: Any) -> bool:
        return self._game.outcome(state) == (1 if self._attacker == 0 else -1)

    def _key(self, state: Any) -> Hashable:
        key = self._game.position_key(state)
        place = self._game.state_to_text(state) if key is None else key
        return place, self._game.current_player(state)

    def _attacks(self, key: Any) -> bool:
        """Whether the attacker is to move in a position."""
        return bool(key[1] == self._attacker)

    # -- the proof ------------------------------------------------------------------------------

    def line(self, state: Any, plies: int) -> tuple[int, ...] | None:
        """The proven line; None: the rules, which include the history, contradict it.

        Positions with one key may differ in their history, such as repetitions.
        """
        return self._line(state, plies, {})

    def _line(
        self, state: Any, left: int, known: dict[Any, tuple[int, ...] | None]
    ) -> tuple[int, ...] | None:
        if self._game.is_terminal(state):
            return () if self._is_won(state) else None
        key = self._key(state)
        if (key, left) in known:
            return known[key, left]
        if not self._may_continue(self.positions):
            raise _StoppedError
        found: tuple[int, ...] | None
        if self._attacks(key):
            found = None
            for _, action in sorted(self._ways(state, left)):
                rest = self._line(self._game.step(state, action), left - 1, known)
                if rest is not None:
                    found = (action, *rest)
                    break
        else:
            found = ()
            for action in self._game.legal_action_mask(state).nonzero()[0].tolist():
                rest = self._line(self._game.step(state, action), left - 1, known)
                if rest is None:
                    found = None
                    break
                if len(rest) + 1 > len(found):
                    found = (action, *rest)
        known[key, left] = found
        return found

    def _ways(self, state: Any, left: int) -> list[tuple[int, int]]:
        """(plies, action) of the attacker's actions with a proven win in time."""
        ways = []
        for child in self._expand(state, self._key(state)):
            plies = 0 if child.result else self._won.get(child.key, INFINITE)
            if plies < left and child.result is not False:
                ways.append((plies, child.action))
        return ways
