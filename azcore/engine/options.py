"""The options of UCI and USI: how one is declared and set."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from azcore.errors import InvalidTextError

NUMBER = re.compile(r"-?[0-9]{1,15}", re.ASCII)  # no time or number of nodes has more digits

EMPTY = "<empty>"  # how both protocols write an empty string


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option: its declaration, and the effect of setting it."""

    name: str
    kind: str  # check, spin, string or button
    apply: Callable[[int], None] = lambda _: None  # called with 0 or 1 for a check, 0 for a button
    apply_text: Callable[[str], None] = lambda _: None  # called with the text of a string
    text: str = ""  # the default of a string
    default: int = 0
    least: int = 0
    most: int = 0

    def declaration(self) -> str:
        text = f"option name {self.name} type {self.kind}"
        if self.kind == "check":
            return f"{text} default {'true' if self.default else 'false'}"
        if self.kind == "spin":
            return f"{text} default {self.default} min {self.least} max {self.most}"
        return f"{text} default {self.text or EMPTY}" if self.kind == "string" else text

    def set(self, text: str) -> None:
        """Set the option to a value in the protocol's text.

        Raises:
            InvalidTextError: the value is invalid; the message names it and the valid ones.
        """
        if self.kind == "button":
            self.apply(0)
        elif self.kind == "string":
            self.apply_text("" if text == EMPTY else text)
        elif self.kind == "check":
            if text.lower() not in ("true", "false"):
                raise InvalidTextError(
                    f"option {self.name} must be true or false, got {text[:20]!r}"
                )
            self.apply(int(text.lower() == "true"))
        else:
            if not NUMBER.fullmatch(text) or not self.least <= int(text) <= self.most:
                raise InvalidTextError(
                    f"option {self.name} must be {self.least} to {self.most}, got {text[:20]!r}"
                )
            self.apply(int(text))


def plain_name(name: str) -> str:
    """An option's name for comparison: neither case nor spaces matter."""
    return name.replace(" ", "").lower()
