"""The ids of OpenSpiel that azcore accepts from untrusted files.

An id is a small language: games within games, names of files, sizes without a limit. OpenSpiel
parses it in C++ and can take any time and memory for it. So an id from a file must be a known name,
alone or with known parameters in these ranges, for which OpenSpiel builds the game in less than a
second. Other ids need the command line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from azcore.errors import GameError

LONGEST = 200  # characters of an id
Values = range | tuple[str, ...] | re.Pattern[str]  # whole numbers, some words, or texts
_EITHER = ("False", "True")
_KOMI = re.compile(r"-?[0-9]{1,3}\.[05]")
_COLOURED = {"ansi_color_output": _EITHER}
LISTED: Mapping[str, Mapping[str, Values]] = {  # by name, then by parameter
    "amazons": {"board_size": ("6", "8", "10")},
    "antichess": {},
    "breakthrough": {"columns": range(2, 17), "rows": range(4, 17)},
    "checkers": {"egocentric": _EITHER},
    "chess": {"chess960": ("False",)},
    "chinese_checkers": {"max_moves": range(1, 1001), "players": ("2",)},
    "clobber": {"columns": range(2, 17), "rows": range(2, 17)},
    "connect_four": {
        "columns": range(2, 17),
        "rows": range(2, 17),
        "x_in_row": range(2, 7),
        "egocentric_obs_tensor": _EITHER,
    },
    "crazyhouse": {
        "chess960": ("False",),
        "insanity": range(4),
        "king_of_hill": _EITHER,
        "sticky_promotions": _EITHER,
    },
    "cursor_go": {
        "board_size": range(2, 20),
        "handicap": range(10),
        "komi": _KOMI,
        "max_cursor_moves": range(1, 201),
    },
    "dots_and_boxes": {
        "num_cols": range(1, 11),
        "num_rows": range(1, 11),
        "utility_margin": _EITHER,
    },
    "go": {
        "board_size": range(2, 20),
        "handicap": range(10),
        "komi": _KOMI,
        "max_game_length": range(1, 1001),
    },
    "gomoku": {
        "anti": _EITHER,
        "connect": range(2, 9),
        "dims": ("2",),
        "size": range(2, 20),
        "wrap": _EITHER,
    },
    "havannah": {**_COLOURED, "board_size": range(2, 11), "swap": _EITHER},
    "hex": {
        "board_size": range(2, 20),
        "num_cols": range(2, 20),
        "num_rows": range(2, 20),
        "plain_obs_tensor": _EITHER,
        "string_rep": ("standard", "explicit"),
        "swap": _EITHER,
    },
    "hive": {
        **_COLOURED,
        "board_size": range(5, 13),
        "uses_ladybug": _EITHER,
        "uses_mosquito": _EITHER,
        "uses_pillbug": _EITHER,
    },
    "lines_of_action": {"max_game_length": range(1, 1001)},
    "mancala": {},
    "mnk": {"k": range(2, 9), "m": range(2, 20), "n": range(2, 20)},
    "nim": {
        "is_misere": _EITHER,
        "pile_sizes": re.compile("([1-9]|1[0-9]|20)(;([1-9]|1[0-9]|20)){1,7}"),
    },
    "nine_mens_morris": {},
    "othello": {},
    "oware": {"num_houses_per_player": range(2, 11), "num_seeds_per_house": range(1, 11)},
    "pentago": _COLOURED,
    "quoridor": {
        **_COLOURED,
        "board_size": range(3, 14),
        "players": ("2",),
        "wall_count": range(21),
    },
    "shogi": {},
    "tic_tac_toe": {},
    "twixt": _COLOURED,  # OpenSpiel 2 confuses its sizes if one process loads two
    "ultimate_tic_tac_toe": {},
    "xiangqi": {},
    "y": {**_COLOURED, "board_size": range(2, 20)},
}


def require_listed(spiel_id: str) -> None:
    """Refuse an id that is not a listed name, alone or with listed parameters in their ranges.

    Raises:
        GameError: the message names what is not listed.
    """
    form = re.fullmatch(r"([a-z0-9_]+)(?:\((.*)\))?", spiel_id[: LONGEST + 1], re.ASCII)
    if len(spiel_id) > LONGEST or form is None or form[1] not in LISTED:
        raise GameError(
            f"openspiel: an id in a file must be a game of docs/openspiel.md with numbers or words "
            f"as parameters, got {spiel_id[:40]!r}; game.id= on the command line accepts any id"
        )
    known = LISTED[form[1]]
    for word in form[2].split(",") if form[2] else ():
        name, _, value = word.partition("=")
        if name not in known:
            names = ", ".join(known) or "none"
            raise GameError(
                f"openspiel: an id of {form[1]} in a file may have the parameters {names}, got "
                f"{word[:40]!r}; game.id= on the command line accepts any id"
            )
        if not _fits(value, known[name]):
            raise GameError(
                f"openspiel: {name} of {form[1]} in a file must be {_described(known[name])}, got "
                f"{value[:40]!r}; game.id= on the command line accepts any id"
            )


def _fits(value: str, values: Values) -> bool:
    if isinstance(values, range):
        return bool(re.fullmatch("[0-9]{1,5}", value, re.ASCII)) and int(value) in values
    if isinstance(values, tuple):
        return value in values
    return values.fullmatch(value) is not None


def _described(values: Values) -> str:
    if isinstance(values, range):
        return f"{values[0]} to {values[-1]}"
    return " or ".join(values) if isinstance(values, tuple) else f"like {values.pattern}"
