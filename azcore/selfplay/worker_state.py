"""How a checkpoint stores a worker's games in play, and how azcore checks them."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.errors import CheckpointError, GameFileError
from azcore.storage.game_record import ARRAYS, SURPRISES, require_start
from azcore.storage.referee import Referee

# The arrays of a game in play in a checkpoint, which holds strings but no bytes: a character is a
# byte. A replay restores the players.
IN_PLAY = {name: dtype for name, dtype in (ARRAYS | SURPRISES).items() if name != "players"}


def plies_of(saved: dict[str, Any]) -> int:
    """The plies of a game in play, as `Worker.state_dict` has it."""
    return len(saved["actions"]) // IN_PLAY["actions"].itemsize


def restored(saved: dict[str, Any], referee: Referee) -> dict[str, Any]:
    """A game in play from a checkpoint, checked against the rules.

    Raises:
        CheckpointError: it is malformed, or breaks the rules.
    """
    start = saved.get("start")
    try:
        arrays = _arrays_of(saved)
    except (KeyError, TypeError, ValueError) as error:
        raise _unfit() from error
    actions, offsets = arrays["actions"], arrays["visit_offsets"]
    plies, named = len(actions), len(arrays["visit_actions"])
    if not len(arrays["surprises"]):  # a run that records them from now on
        arrays["surprises"] = np.zeros(plies, np.float32)
    of_plies = ("root_values", "best_child_values", "surprises")
    if not (
        are_whole([saved["game_index"]], 0)
        and are_whole([saved["opening_plies"]], 0, plies)
        and are_whole([saved["policy_plies"]], 0)
        and type(saved["could_resign"]) is bool
        and all(len(arrays[name]) == plies for name in of_plies)
        and len(offsets) == plies + 1
        and offsets[0] == 0
        and offsets[-1] == named == len(arrays["visit_counts"])
        and (offsets[:-1] <= offsets[1:]).all()
        and (actions < referee.game.num_actions).all()
        and (arrays["visit_actions"] < referee.game.num_actions).all()
        and (arrays["visit_counts"] >= 1).all()
        and (
            (arrays["surprises"] >= 0) & (arrays["surprises"] < 1000)
        ).all()  # at most 87 in practice
        # -1 to 1, with a margin for rounding.
        and all((np.abs(arrays[name]) < 2).all() for name in of_plies[:2])
    ):
        raise _unfit()
    try:
        if start is not None:
            require_start(start)
        ended, _ = referee.replay(
            actions,
            offsets,
            arrays["visit_actions"],
            np.zeros(0, np.uint8),
            "a game in play of this checkpoint",
            start,
        )
    except GameFileError as error:
        raise CheckpointError(str(error)) from error
    except ValueError as error:
        raise CheckpointError(f"a game in play of this checkpoint cannot begin: {error}") from error
    if ended:
        raise CheckpointError("a game in play of this checkpoint is over")
    return {**saved, **arrays, "start": start}


def _arrays_of(saved: dict[str, Any]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a game in play, not checked against each other."""
    if "visits" not in saved:
        arrays = {name: saved[name] for name in IN_PLAY if name != "surprises"}
        arrays["surprises"] = saved.get("surprises", "")
        return {name: _array_of(text, IN_PLAY[name]) for name, text in arrays.items()}
    # Up to version 0.2 they were lists.
    visits = saved["visits"]
    if any(len(some) != len(others) for some, others in visits):
        raise ValueError
    lists = {
        "actions": saved["actions"],
        "visit_offsets": list(accumulate((len(some) for some, _ in visits), initial=0)),
        "visit_actions": [action for some, _ in visits for action in some],
        "visit_counts": [count for _, some in visits for count in some],
        "root_values": saved["root_values"],
        "best_child_values": saved["best_child_values"],
        "surprises": saved.get("surprises", []),
    }
    for name, numbers in lists.items():
        kind = IN_PLAY[name]
        if kind.kind == "u" and not are_whole(numbers, 0, np.iinfo(kind).max):
            raise TypeError
        if kind.kind == "f" and not all(type(number) is float for number in numbers):
            raise TypeError
    with np.errstate(over="ignore"):  # infinity is refused later
        return {name: np.array(numbers, IN_PLAY[name]) for name, numbers in lists.items()}


def text_of(array: npt.NDArray[Any]) -> str:
    return array.tobytes().decode("latin-1")


def _array_of(text: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    if type(text) is not str:
        raise TypeError
    return np.frombuffer(text.encode("latin-1"), dtype)


def _unfit() -> CheckpointError:
    return CheckpointError("a game in play of this checkpoint has inconsistent parts")


def are_whole(values: Sequence[object], low: int, high: int = 2**63 - 1) -> bool:
    return all(type(value) is int and low <= value <= high for value in values)
