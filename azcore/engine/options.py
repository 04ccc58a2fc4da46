"""The options of UCI and USI: how one is declared and set."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from azcore.engine.settings import EngineSettings
from azcore.errors import InvalidTextError

NUMBER = re.compile(r"-?[0-9]{1,15}", re.ASCII)  # no time or number of nodes has more digits

MOST_VARIATIONS = 500
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


def set_option(options: Mapping[str, Option], words: Sequence[str]) -> None:
    """Execute `setoption name NAME [value VALUE]`.

    Raises:
        InvalidTextError: there is no such option, or its value is invalid.
    """
    if not words or words[0] != "name":
        raise InvalidTextError("setoption must be name NAME, then value VALUE")
    end = words.index("value") if "value" in words else len(words)
    name = " ".join(words[1:end])
    option = options.get(plain_name(name))
    if option is None:
        raise InvalidTextError(f"unknown option {name[:30]!r}")
    option.set(" ".join(words[end + 1 :]))


def whole_option(
    name: str, default: int, most: int, apply: Callable[[int], None], *, least: int = 1
) -> Option:
    """A whole number from `least` to `most`, or to the default if that is more."""
    return Option(
        name=name, kind="spin", default=default, least=least, most=max(most, default), apply=apply
    )


Change = Callable[..., None]  # called with the settings of the engine to change, by keyword


def memory_option(name: str, settings: EngineSettings, change: Change) -> Option:
    """Megabytes for the tree."""
    return whole_option(name, settings.memory_mb, 1 << 20, lambda size: change(memory_mb=size))


def ponder_option(name: str, settings: EngineSettings, change: Change) -> Option:
    """Declares that the engine can ponder; `go ponder` starts it, whatever the value."""
    return Option(
        name=name,
        kind="check",
        default=int(settings.ponder),
        apply=lambda on: change(ponder=bool(on)),
    )
