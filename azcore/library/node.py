"""A search tree to walk through: its nodes as objects, on top of `azcore.search.inspection`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from azcore.errors import GameError
from azcore.game import Game
from azcore.library.html import escaped, tag
from azcore.search import inspection
from azcore.search.inspection import EdgeView, NodeView
from azcore.search.mcts import Search

WIDE, DEEP = 4, 3  # of the tree shown by `repr`


class Node:
    """A position that the search has reached, with the statistics of the action that led there.

    A node stays current while its search continues: it reads its numbers from the tree.

    Attributes:
        action: that led here; None at the root.
        parent: None at the root.
        state: the position.
    """

    def __init__(
        self, game: Game, search: Search, state: Any, parent: Node | None = None, action: int = 0
    ) -> None:
        self.state, self.parent = state, parent
        self.action = None if parent is None else action
        self._game, self._search = game, search
        self._path: tuple[int, ...] = () if parent is None else (*parent._path, action)

    @property
    def view(self) -> NodeView:
        """Every number of the node and of its actions, in the view of the player to move here."""
        return inspection.node_at(self._search, 0, self._path)

    @property
    def edge(self) -> EdgeView:
        """Every number of the action that led here: N, W, Q, P, and the terms of its score.

        Raises:
            GameError: no action led to the root.
        """
        if self.parent is None:
            raise GameError("no action led to the root")
        return next(edge for edge in self.parent.view.edges if edge.action == self.action)

    @property
    def text(self) -> str:
        """The action in the game's notation; empty at the root."""
        if self.parent is None or self.action is None:
            return ""
        return self._game.action_to_notation(self.parent.state, self.action)

    @property
    def visits(self) -> int:
        """N: simulations that passed through here; at the root, all of them."""
        return self.view.visits - 1 if self.parent is None else self.edge.visits

    @property
    def value(self) -> float:
        """Q: mean of those simulations in [-1, 1], view of the player who chose the action.

        At the root: of the player to move, the network's own value included.
        """
        return self.view.mean if self.parent is None else self.edge.q

    @property
    def prior(self) -> float:
        """P of the action, in [0, 1]; 1 at the root."""
        return 1.0 if self.parent is None else self.edge.prior

    @property
    def network_value(self) -> float:
        """The network's value, or a finished game's outcome; view of the player to move here."""
        return self.view.value

    @property
    def is_terminal(self) -> bool:
        """Whether the game is over here."""
        return self.view.is_terminal

    @property
    def children(self) -> list[Node]:
        """The child nodes, most visited first; untried actions have none."""
        return [
            Node(
                self._game,
                self._search,
                self._game.step(self.state, edge.action),
                self,
                edge.action,
            )
            for edge in self.view.edges
            if edge.visits
        ]

    @property
    def path(self) -> list[Node]:
        """The nodes from the root's child to this one; empty at the root."""
        return [] if self.parent is None else [*self.parent.path, self]

    def after(self, actions: Sequence[int]) -> Node:
        """The node that some actions from here lead to.

        Raises:
            GameError: the search has not reached it.
        """
        node = self
        for action in actions:
            state = self._game.step(node.state, action)
            node = Node(self._game, self._search, state, node, action)
        inspection.node_at(node._search, 0, node._path)
        return node

    def walk(self) -> Iterator[Node]:
        """This node and all nodes below, each before its children."""
        yield self
        for child in self.children:
            yield from child.walk()

    def _words(self) -> str:
        name = self.text or "root"
        return f"{name}  N {self.visits:,}  Q {self.value:+.2f}  P {self.prior:.1%}"

    def _lines(self, depth: int, indent: str = "") -> Iterator[str]:
        yield f"{indent}{self._words()}"
        if depth > 0:
            children = self.children
            for child in children[:WIDE]:
                yield from child._lines(depth - 1, f"{indent}   ")
            if len(children) > WIDE:
                yield f"{indent}   … {len(children) - WIDE} more"

    def __repr__(self) -> str:
        return "\n".join(self._lines(DEEP))

    def _repr_html_(self) -> str:
        return tag("div", self._folded(DEEP + 1), style="font-family:ui-monospace,monospace")

    def _folded(self, depth: int, is_open: bool = True) -> str:
        """This node above its children, which a click shows and hides."""
        words, children = escaped(self._words()), self.children
        if depth == 0 or not children:
            return tag("div", words, style="margin-left:2.1rem")
        below = "".join(child._folded(depth - 1, False) for child in children[: 2 * WIDE])
        if len(children) > 2 * WIDE:
            below += tag("div", f"… {len(children) - 2 * WIDE} more", style="margin-left:2.1rem")
        summary = tag("summary", words)
        opened = {"open": "open"} if is_open else {}
        return tag("details", summary + below, style="margin-left:1rem", **opened)
