"""Parses the words of a GTP command, and refuses invalid ones."""

import json
import re
from typing import Any

from azcore.errors import GameError
from azcore.game import Game, TranscriptFormat
from azcore.storage.transcripts import formats_of

# KataGo's names of rules, and whether they allow suicide. It reads them with
# hyphens, underscores, spaces or nothing between words; KaTrain writes `new zealand`.
NAMED_RULES = {
    "tromptaylor": True,
    "newzealand": True,
    **dict.fromkeys(("chinese", "chineseogs", "chinesekgs", "japanese", "korean"), False),
    **dict.fromkeys(("stonescoring", "ancientarea", "ancientterritory"), False),
    **dict.fromkeys(("aga", "bga", "french", "agabutton"), False),
}
TERRITORY = ("japanese", "korean", "stonescoring", "ancientterritory")  # scored by territory


def seats_by_word(game: Game) -> dict[str, int]:
    """The seat for each word: b and w, or the game's own seat names."""
    names = [name.lower() for name in game.seat_names]
    seats = {"b": 0, "black": 0, "w": 1, "white": 1}
    seats |= {name[:1]: seat for seat, name in enumerate(names)}
    return seats | {name: seat for seat, name in enumerate(names)}


def rules_name(text: str) -> str:
    """A name of rules in the spelling of `NAMED_RULES`."""
    return re.sub("[-_ ]", "", text.lower())


class Refusal(Exception):  # noqa: N818 - a reply, not a fault
    """The error reply to send."""


def split(line: str) -> tuple[str, str, list[str]]:
    """Number, command and arguments of a line; each may be empty."""
    visible = "".join(
        " " if c == "\t" else c for c in line.partition("#")[0] if c >= " " or c == "\t"
    )
    words = visible.replace("\x7f", "").split()
    identity = ""
    if words and re.fullmatch("[0-9]{1,10}", words[0]):
        identity = words.pop(0)
    return identity, words[0] if words else "", words[1:]


def json_value(text: str) -> Any:
    """The value of a JSON text; None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def whole(words: list[str], at: int) -> int:
    """The whole number at this place.

    Raises:
        Refusal: it is missing.
    """
    if at >= len(words) or not re.fullmatch("[0-9]{1,9}", words[at]):
        raise Refusal("syntax error: expected a whole number")
    return int(words[at])


def number(words: list[str], at: int) -> float:
    """The number at this place.

    Raises:
        Refusal: it is missing.
    """
    form = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
    if at < len(words) and re.fullmatch(form, words[at], re.ASCII):
        value = float(words[at])
        if abs(value) < 1e9:  # seconds or points
            return value
    raise Refusal("syntax error: expected a number")


def sgf_format(game: Game) -> TranscriptFormat:
    """The game's SGF.

    Raises:
        GameError: it has no SGF.
    """
    formats = formats_of(game)
    if "sgf" not in formats:
        raise GameError(f"{game.name} has no SGF files")
    return formats["sgf"]
