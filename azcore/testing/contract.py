"""The identities of the contract, the error for a broken one, and the report."""

from dataclasses import dataclass
from enum import StrEnum

from azcore.errors import FaultyGameError


class Identity(StrEnum):
    """The identities that must hold, each as the sentence in its error."""

    FACTS = "facts are plain values and seat 0 begins"
    OVER_OR_LEGAL = "a state is terminal or has a legal action, never both"
    MASK = "the mask is bool [A] and holds what the rules list"
    STEP = "step accepts exactly the legal actions"
    UNTOUCHED = "no method changes its state argument"
    LENGTH = "a game ends within max_game_length"
    SEAT = "current_player is 0 or 1"
    OUTCOME = "the outcome of a terminal state is -1, 0 or +1"
    OBSERVATION = (
        "an observation is float32 [C, H, W] of whole numbers from 0 to observation_maximum"
    )
    STEADY = "equal states have equal descriptions, now and later"
    VIEW = "with colours swapped, the player to move sees the same"
    ACTION_TEXT = "an action reads back from its text"
    STATE_TEXT = "a state reads back from its text"
    GARBAGE = "meaningless text raises InvalidTextError"
    KEY = "equal keys after as many actions mean the same player, actions and end"
    SYMMETRY = "mapped actions lead to the mapped position"
    ENDS = "ownership, score and material of an end fit its outcome and symmetries"
    BOARD = "a board shows the placement, and a legal action is one path of clicks"
    TRANSCRIPT = "a transcript reads back as it was written"
    INTERPRETED = "compiled and interpreted rules agree"
    BOUNDS = "rules write only into their arguments"
    BATCH = "a batch returns what the game returns one at a time"
    ORACLE = "the game agrees with its oracle"
    POSITION = "the position is as its author states"
    PLAYTHROUGH = "a recorded game has the recorded description"


class ContractError(FaultyGameError):
    """A game breaks an identity; the text gives it, the place, and the values got and wanted."""

    def __init__(self, identity: Identity, message: str) -> None:
        super().__init__(message)
        self.identity = identity

    def __reduce__(self) -> "tuple[type[ContractError], tuple[Identity, str]]":
        return ContractError, (self.identity, str(self))  # to be raised in another process


# Separate functions check facts and playthroughs.
_OF_GAMES = [i for i in Identity if i not in (Identity.POSITION, Identity.PLAYTHROUGH)]


@dataclass(frozen=True, kw_only=True)
class Report:
    """The results of `check_game`; `str()` gives a table."""

    game: str  # name, version and settings
    positions: int  # checked, terminal ones included
    games: int
    mean_length: float  # plies
    longest: int  # plies
    ends: int  # checked, of these games and of more whose other positions were not
    zero_planes: tuple[int, ...]  # that were zero in all positions
    mean_legal_actions: float  # per position that is not terminal
    ever_legal: int  # actions that were legal in some position
    seat_0_wins: int
    draws: int
    seat_1_wins: int
    checks: dict[Identity, int]  # how often each identity was checked
    warnings: tuple[str, ...] = ()  # doubts that break no identity

    @property
    def identities(self) -> list[Identity]:
        """The identities that `check_game` checks, in the order of the contract."""
        return list(_OF_GAMES)

    @property
    def describe_ends(self) -> str:
        """The number of checked ends, and what may be unseen at 95 % confidence (rule of three)."""
        unseen = f"{min(1.0, 3 / max(1, self.ends)):.1%}"
        return f"{self.ends}; what happens in at most {unseen} of random games may remain unseen"

    def __str__(self) -> str:
        wins = f"{self.seat_0_wins} / {self.draws} / {self.seat_1_wins}"
        rows = [
            ("positions", f"{self.positions}"),
            ("random games", f"{self.games}"),
            ("plies per game", f"{self.mean_length:.1f}, at most {self.longest}"),
            ("ends", self.describe_ends),
            ("legal actions", f"{self.mean_legal_actions:.1f}"),
            ("seat 0 wins / draws / seat 1 wins", wins),
            ("", ""),
            ("identity", "checks"),
            *((name.value, str(self.checks.get(name, 0) or "not checked")) for name in _OF_GAMES),
        ]
        width = max(len(name) for name, _ in rows)
        table = [f"  {name:{width}}  {value}".rstrip() for name, value in rows]
        return "\n".join([self.game, *table, *(f"  warning: {line}" for line in self.warnings)])
