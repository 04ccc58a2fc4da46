"""Checks game records from elsewhere against the rules, by replaying them before use.

    referee = Referee(game)
    referee.check(record, where)      # raises GameFileError at the first breach of the rules

Compiled rules check nothing: an illegal action, or one after the game's end, may write anywhere in
memory. So a reader replays every record once unless this process made it. For a `CompiledGame` the
replay is compiled and takes about 1 µs a position, as long as reading the record.

Letters: T length of the game in plies, K actions in its policy targets, A actions.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import config, types
from numba.extending import register_jitable

from azcore.errors import GameFileError, InvalidTextError
from azcore.game import CompiledGame, Game, IntArray
from azcore.game.compilation import compiled
from azcore.game.compiled import RuleFunctions
from azcore.game.rule_table import RULE_SOURCES, rule_table, rules_of
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord, parse_frame, require_same_game
from azcore.storage.start_states import StartStates

# Verdicts of a replay. Up to _CUT the moves are legal, and the game has or has not ended.
_ENDED, _CUT, _AFTER_END, _ILLEGAL, _ILLEGAL_TARGET, _TWICE, _WRONG_SEAT = range(7)
_FAULTS = {
    _AFTER_END: "is after the game's end",
    _ILLEGAL: "is not legal",
    _ILLEGAL_TARGET: "has a policy target that names an action that is not legal",
    _TWICE: "has a policy target that names an action twice",
    _WRONG_SEAT: "belongs to the other seat",
}


class Moves(NamedTuple):
    """The parts of a record that a replay needs."""

    actions: npt.NDArray[np.uint16]  # [T]
    visit_offsets: npt.NDArray[np.uint32]  # [T + 1], rising from 0 to K
    visit_actions: npt.NDArray[np.uint16]  # [K]
    players: npt.NDArray[np.uint8]  # [T], seats that must be to move; or empty


class Referee:
    """Checks records against one game's rules. Not thread-safe."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._seen = np.zeros(game.num_actions, np.int32)
        self._starts = StartStates(game)
        self._room = (np.zeros(game.num_actions, np.int32), self._seen)
        self._table: npt.NDArray[np.int64] | None = None

    def read(
        self, records: GameFile, start: int = 0, end: int | None = None
    ) -> Iterator[GameRecord]:
        """The records of a file from place `start` to `end`, each checked.

        Raises:
            GameFileError: a record is damaged, is of another game, or breaks the rules.
        """
        for offset, frame in records.frames(start, end):
            where = f"{records.path}, byte {offset}"
            record = parse_frame(frame, where)
            self.check(record, where)
            yield record

    def check(self, record: GameRecord, where: str) -> None:
        """Refuse a record of another game, or one that breaks the rules.

        Raises:
            GameFileError: the message names the ply of a faulty move.
        """
        require_same_game(record, self.game, where)
        ended, outcome = self.replay(
            record.actions,
            record.visit_offsets,
            record.visit_actions,
            record.players,
            where,
            record.start,
        )
        by_rules = record.resigned_by is None and not record.agreed
        if not ended and by_rules:
            raise GameFileError(
                f"{where}: a game must end by the rules or by resignation, got one that is not "
                f"over after {len(record)} plies"
            )
        if ended and not (by_rules and record.outcome == outcome):
            got = record.outcome if by_rules else "a resignation or an agreement"
            raise GameFileError(f"{where}: the rules' outcome of this game is {outcome}, got {got}")

    def replay(
        self,
        actions: npt.NDArray[np.uint16],
        visit_offsets: npt.NDArray[np.uint32],
        visit_actions: npt.NDArray[np.uint16],
        players: npt.NDArray[np.uint8],
        where: str,
        start: str | None = None,
    ) -> tuple[bool, int]:
        """Replay a game; return whether it is over, and its outcome if it is.

        Args:
            actions: uint16 [T].
            visit_offsets: uint32 [T + 1], rising from 0 to K, as in a record.
            visit_actions: uint16 [K].
            players: uint8 [T], seats that must be to move; or empty.
            start: the position before the first ply; None: the initial state.

        Raises:
            GameFileError: the start is not a position, the game is too long, an action or a policy
                target is illegal, or another seat is to move.
        """
        plies, longest = len(actions), self.game.max_game_length
        if plies > longest:
            raise GameFileError(f"{where}: a game must have at most {longest} plies, got {plies}")
        try:
            state = self._starts.of(start)
        except InvalidTextError as error:
            raise GameFileError(f"{where}: a start must be a position: {error}") from error
        verdict, ply, outcome = self._replayed(
            state,
            Moves(  # copied: arrays from a file may be unaligned, and they are read-only
                actions=np.array(actions, np.uint16),
                visit_offsets=np.array(visit_offsets, np.uint32),
                visit_actions=np.array(visit_actions, np.uint16),
                players=np.array(players, np.uint8),
            ),
        )
        if verdict in _FAULTS:
            raise GameFileError(
                f"{where}: ply {ply}, action {actions[ply]}, {_FAULTS[verdict]} in {self.game.name}"
            )
        return verdict == _ENDED, outcome

    def _replayed(self, start: Any, moves: Moves) -> tuple[int, int, int]:
        game, play = self.game, _loop
        self._seen[:] = -1
        if not isinstance(game, CompiledGame):
            return play(_plain_rules(game), _Box(start), moves, *self._room)
        states = np.zeros(1, game.state_dtype)
        states[0] = start
        if config.DISABLE_JIT:
            return play(game.rule_functions, states[0], moves, *self._room)
        if self._table is None:
            self._table = rule_table(game)
        return _kernel(game.state_type)(self._table, states, moves, *self._room)


class _Box:
    """The state of a plain game, which `step` replaces."""

    def __init__(self, state: Any) -> None:
        self.state = state


def _plain_rules(game: Game) -> RuleFunctions:
    """The rules of a plain game in the form that `_replay` calls."""

    def legal_actions(box: _Box, out: IntArray) -> int:
        legal = np.flatnonzero(game.legal_action_mask(box.state))
        out[: len(legal)] = legal
        return len(legal)

    def step(box: _Box, action: int) -> None:
        box.state = game.step(box.state, action)

    return RuleFunctions(
        current_player=lambda box: game.current_player(box.state),
        legal_actions=legal_actions,
        step=step,
        is_terminal=lambda box: game.is_terminal(box.state),
        outcome=lambda box: game.outcome(box.state),
        observe=None,
        position_key=None,
    )


@cache
def _kernel(state: Any) -> Callable[..., tuple[int, int, int]]:
    """`_replay_from_table` compiled for one type of state."""
    moves = types.NamedTuple(  # type: ignore[no-untyped-call]
        [types.uint16[::1], types.uint32[::1], types.uint16[::1], types.uint8[::1]], Moves
    )
    signature = types.Tuple((types.int64,) * 3)(  # type: ignore[no-untyped-call]
        types.int64[:, ::1], types.Array(state, 1, "C"), moves, types.int32[::1], types.int32[::1]
    )
    kernel: Callable[..., tuple[int, int, int]] = compiled(
        _replay_from_table, signature, sources=(__file__, *RULE_SOURCES)
    )
    return kernel


def _replay_from_table(table: Any, states: Any, moves: Any, legal: Any, seen: Any) -> Any:
    """`_replay` with the rules of a table."""
    return _replay(rules_of(table, states), states[0], moves, legal, seen)


@register_jitable
def _replay(rules: Any, state: Any, moves: Any, legal: Any, seen: Any) -> Any:
    """The loop of `Referee.replay`; see there.

    Args:
        rules: `RuleFunctions`, of which the first five are called.
        state: the first state; changed by the replay.
        moves: `Moves`.
        legal: int32 [A], scratch.
        seen: int32 [A] of -1, scratch: 2 t for an action legal at ply t, 2 t + 1 once in a target.

    Returns:
        The verdict, its ply, and the outcome if the game is over.
    """
    plies = moves.actions.shape[0]
    for ply in range(plies):
        if rules.is_terminal(state):
            return _AFTER_END, ply, 0
        if moves.players.shape[0] > 0 and rules.current_player(state) != moves.players[ply]:
            return _WRONG_SEAT, ply, 0
        for i in range(rules.legal_actions(state, legal)):
            seen[legal[i]] = 2 * ply
        for i in range(moves.visit_offsets[ply], moves.visit_offsets[ply + 1]):
            named = np.int64(moves.visit_actions[i])
            if named >= seen.shape[0] or seen[named] < 2 * ply:
                return _ILLEGAL_TARGET, ply, 0
            if seen[named] > 2 * ply:
                return _TWICE, ply, 0
            seen[named] += 1
        action = np.int64(moves.actions[ply])  # interpreted rules would shift it in 16 bits
        if action >= seen.shape[0] or seen[action] < 2 * ply:
            return _ILLEGAL, ply, 0
        rules.step(state, action)
    if rules.is_terminal(state):
        return _ENDED, plies, np.int64(rules.outcome(state))
    return _CUT, plies, 0


_loop: Callable[..., tuple[int, int, int]] = _replay  # interpreted
