"""The arguments of the `go` command in UCI and USI."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from azcore.engine.clock import Clock
from azcore.engine.options import NUMBER
from azcore.errors import AzcoreError
from azcore.game import Game

FLAGS = ("infinite", "ponder")


@dataclass(kw_only=True)
class GoCommand:
    """The parsed arguments of one `go`."""

    numbers: dict[str, int] = field(default_factory=dict)  # by keyword; times in milliseconds
    flags: set[str] = field(default_factory=set)
    actions: list[str] = field(default_factory=list)  # the only ones to consider

    @property
    def is_endless(self) -> bool:
        """Whether the engine withholds its answer until the GUI asks for it."""
        return not self.flags.isdisjoint(FLAGS)

    def clock(self, letter: str) -> Clock | None:
        """The clock of the seat with this letter; None if the command has no clock."""
        numbers = self.numbers
        if f"{letter}time" not in numbers and "byoyomi" not in numbers:
            return None
        return Clock(
            remaining=numbers.get(f"{letter}time", 0) / 1000,
            increment=numbers.get(f"{letter}inc", 0) / 1000,
            byoyomi=numbers.get("byoyomi", 0) / 1000,
            moves_to_go=numbers.get("movestogo"),
        )

    def legal_actions(self, game: Game, state: Any, note: Callable[[str], None]) -> tuple[int, ...]:
        """The actions of `searchmoves` that are legal in a state; notes the others."""
        actions = set()
        for text in self.actions:
            try:
                actions.add(game.text_to_action(state, text))
            except AzcoreError as error:
                note(f"ignored in searchmoves: {error}")
        return tuple(sorted(actions))


def read_go(words: list[str], keywords: tuple[str, ...], note: Callable[[str], None]) -> GoCommand:
    """Parse the words after `go`; skips invalid ones, and notes invalid numbers of `keywords`."""
    go = GoCommand()
    all_keywords = {*keywords, *FLAGS, "searchmoves"}
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if word in FLAGS:
            go.flags.add(word)
        elif word == "searchmoves":
            go.actions += takewhile(lambda text: text not in all_keywords, words[i:])
        elif word in keywords:
            text = words[i] if i < len(words) else ""
            least = -math.inf if word in ("wtime", "btime") else 0
            if NUMBER.fullmatch(text) and int(text) >= least:
                go.numbers[word] = int(text)
            else:
                note(f"{word} after go must be a whole number, 0 or more, got {text[:20]!r}")
    return go
