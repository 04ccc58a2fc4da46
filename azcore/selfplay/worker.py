"""One self-play worker: games searched together, where a new game replaces a finished one at once.

All trees share one batch per wave, and no game waits for another: when its search is done, a game
moves and continues, so the batch is always full. A worker runs on one thread at a time and shares
no mutable state with other workers; the `Actor` drives them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from azcore.chance import Generators, Purpose
from azcore.errors import CheckpointError, FaultyGameError, GameFileError, InvalidTextError
from azcore.game import FloatArray, Game
from azcore.game.batch import after_moves
from azcore.search.evaluators import Evaluator
from azcore.search.mcts import Search
from azcore.search.settings import SearchSettings
from azcore.selfplay.resignation import best_child_value, is_played_out, may_resign_at
from azcore.selfplay.schedule import DECIDED_PLIES, SelfPlaySettings, choose_action
from azcore.selfplay.surprise import policy_surprise
from azcore.storage.game_record import GameRecord, require_start
from azcore.storage.referee import Referee
from azcore.storage.start_states import StartStates
from azcore.storage.starts import Starts

PHASES = 4  # groups of games that move at different times, see `Worker._search_again`


@dataclass
class GameInPlay:
    """One unfinished game: its complete state between two moves."""

    game_index: int
    start: str | None = None  # the position before its first ply; None: the initial one
    opening_plies: int = 0  # so far
    policy_plies: int = 0  # still to come in the opening, drawn from the network's policy
    actions: list[int] = field(default_factory=list)
    visits: list[tuple[list[int], list[int]]] = field(default_factory=list)  # actions, counts
    root_values: list[float] = field(default_factory=list)
    best_child_values: list[float] = field(default_factory=list)
    players: list[int] = field(default_factory=list)
    surprises: list[float] = field(default_factory=list)  # zeros unless they are recorded
    could_resign: bool = False  # a low enough value would have ended it at some ply

    def add_opening_ply(self, action: int, player: int) -> None:
        """Add a ply that no search chose."""
        self.opening_plies += 1
        self.actions.append(action)
        self.visits.append(([], []))
        self.root_values.append(0.0)
        self.best_child_values.append(0.0)
        self.players.append(player)
        self.surprises.append(0.0)


@dataclass
class WorkerStatistics:
    """A worker's work since the last reset; seconds of wall time."""

    evaluations: int = 0  # positions that the network evaluated
    remembered: int = 0  # positions whose evaluation was cached
    network_seconds: float = 0.0


class Worker:
    """Plays some of the self-play games.

    Args:
        game: the game to play, which records name.
        variant: the game as self-play plays it, which may forbid actions that `game` allows.
        search: how each move is searched, root noise included.
        settings: how moves are chosen.
        num_games: number of games at once.
        first_index: index of its first game in the run.
        index_step: from one of its games to the next: the number of workers.
        seed: of the run.
        evaluator: evaluates leaves; this worker's own.
        record_surprise: whether records say how much each search surprised the network.
        starts: what games begin from, of `variant`; None: the initial position.
    """

    def __init__(
        self,
        *,
        game: Game,
        variant: Game,
        search: SearchSettings,
        settings: SelfPlaySettings,
        num_games: int,
        first_index: int,
        index_step: int,
        seed: int,
        evaluator: Evaluator,
        record_surprise: bool,
        starts: Starts | None = None,
    ) -> None:
        self.game = variant
        self.settings = settings
        self.statistics = WorkerStatistics()
        self._identity = game.identity
        # A game of the variant is a game of `game` only if the variant does nothing but forbid
        # actions.
        self._referee = Referee(game) if variant.settings != game.settings else None
        self._seed = seed
        self._generators = Generators()
        self._search = Search(
            game=variant, num_trees=num_games, evaluator=evaluator, settings=search
        )
        self._evaluator = evaluator
        self._record_surprise = record_surprise
        self._starts, self._start_states = starts, StartStates(variant)
        self._clean_priors: dict[int, FloatArray] = {}  # of roots that noise was mixed into
        self._alpha = search.dirichlet_alpha or game.dirichlet_alpha
        self._is_gumbel = search.is_gumbel
        self._is_noisy = search.explores
        self._weights_version = 0
        self._resign_threshold: float | None = None
        self._next_index, self._index_step = first_index, index_step
        self._games = [self._new_game(row) for row in range(num_games)]
        self._waves_per_move = search.num_simulations // search.leaves_per_tree
        self._cheap_simulations = min(settings.cheap_simulations, search.num_simulations)
        self._wave = 0
        self._has_full_search = [True] * num_games  # of each row, as its latest search began
        self._to_begin: dict[int, int] = {}  # row whose search is to begin -> first wave of it
        self._search_again()

    def bytes_needed(self, legal_actions: int) -> int:
        """Bytes of full search trees whose positions have `legal_actions` legal actions."""
        return self._search.bytes_needed(legal_actions)

    @property
    def longest_in_play(self) -> int:
        """Plies of its longest game in play."""
        return max(len(in_play.actions) for in_play in self._games)

    def set_evaluator(
        self, evaluator: Evaluator, weights_version: int, resign_threshold: float | None
    ) -> None:
        """Continue with newer weights; see `Actor.set_evaluator`."""
        self._evaluator = evaluator
        self._search.set_evaluator(evaluator)
        self._weights_version = weights_version
        self._resign_threshold = resign_threshold
        self._search_again()

    def _search_again(self) -> None:
        """Search all roots again, one quarter of them after another.

        Each search takes the same number of waves. If all searches began together, all games would
        move in the same wave, and the other workers and a GPU would wait for it. If they began one
        by one, each move would find the CPU caches full of the network's data, which took 2 % of
        self-play with a small network.
        """
        count = len(self._games)
        self._to_begin = {
            row: self._wave + (row * PHASES // count) * self._waves_per_move // PHASES
            for row in range(count)
        }

    def play_wave(self) -> list[GameRecord]:
        """Run one wave in all games, play the moves of finished searches; return ended games."""
        search, stats = self._search, self.statistics
        for row in [row for row, wave in self._to_begin.items() if wave <= self._wave]:
            self._clean_priors.pop(row, None)
            self._has_full_search[row] = self._is_full_search(row)
            if self._games[row].policy_plies > 0:
                search.begin(row, 0)  # evaluates the root
            elif self._has_full_search[row]:
                search.begin(row, noise=self._noise if self._is_noisy else None)
            else:
                search.begin(row, self._cheap_simulations)
            del self._to_begin[row]
        self._wave += 1
        if search.select():
            before, known = time.perf_counter(), self._evaluator.remembered
            policy_logits, values = search.evaluate()
            stats.network_seconds += time.perf_counter() - before
            known = self._evaluator.remembered - known
            stats.remembered += known
            stats.evaluations += search.num_leaves - known
            search.finish(policy_logits, values)
        records = []
        for row in search.finished_rows():
            if row in self._to_begin:
                continue
            self._to_begin[row] = self._wave
            if self._games[row].policy_plies:
                self._open(row)
            elif (record := self._move(row)) is not None:
                records.append(record)
        return records

    def _rng(self, purpose: Purpose, game_index: int, ply: int = 0) -> np.random.Generator:
        """Random numbers of a game; valid until others are asked for."""
        return self._generators.at(purpose, self._seed, game_index, ply)

    def _open(self, row: int) -> None:
        """Play a ply of the opening by the network's policy; an action that would end it is not."""
        in_play, search = self._games[row], self._search
        result, state = search.result(row), search.states.get(row)
        rng = self._rng(Purpose.OPENING, in_play.game_index, len(in_play.actions) + 1)
        sums = result.priors.astype(np.float64).cumsum()
        action = int(result.actions[(sums / sums[-1]).searchsorted(rng.random(), side="right")])
        if self.game.is_terminal(self.game.step(state, action)):
            in_play.policy_plies = 0
            search.start(row, state)  # to be searched like any other
            return
        in_play.policy_plies -= 1
        in_play.add_opening_ply(action, self.game.current_player(state))
        search.advance(row, action)
        self._is_over(row)  # or too long

    def _move(self, row: int) -> GameRecord | None:
        """Resign, or choose and play a move; return the record if the game ended."""
        in_play, search = self._games[row], self._search
        result = search.result(row)
        ply = len(in_play.actions)
        player = search.states.current_player(row)
        best_child = best_child_value(result)
        if self._resigns(in_play, max(result.value, best_child)):
            record = self._finished(in_play, -1 if player == 0 else 1, resigned_by=player)
            self._games[row] = self._new_game(row, in_play)
            return record
        rng = self._rng(Purpose.MOVE, in_play.game_index, ply)
        temperature = self.settings.temperature_at(ply - in_play.opening_plies)
        action = choose_action(result, temperature, rng)
        is_full_search = self._has_full_search[row]
        in_play.actions.append(action)
        if is_full_search:
            counts = result.target_counts()
            kept = np.flatnonzero(counts)
            in_play.visits.append((result.actions[kept].tolist(), counts[kept].tolist()))
        else:
            in_play.visits.append(([], []))  # a ply that is not learned from
        surprise = 0.0
        if self._record_surprise and is_full_search:
            surprise = policy_surprise(counts, self._clean_priors.get(row, result.priors))
        in_play.surprises.append(surprise)
        in_play.root_values.append(result.value)
        in_play.best_child_values.append(best_child)
        in_play.players.append(player)
        search.advance(row, action)
        if not self._is_over(row):
            return None
        record = self._finished(in_play, search.states.outcome(row))
        self._games[row] = self._new_game(row, in_play)
        return record

    def _is_over(self, row: int) -> bool:
        """Whether the game at a root is over; a fault that shows here is told with its moves."""
        in_play = self._games[row]
        try:
            return self._search.states.is_over(row, len(in_play.actions))
        except FaultyGameError as error:
            start = self._start_states.of(in_play.start)
            moves = after_moves(self.game, start, in_play.actions)
            raise FaultyGameError(f"{error}{moves}") from error

    def _is_full_search(self, row: int) -> bool:
        """Whether the next move of a row gets a full search (Wu 2019, section 3.1)."""
        in_play = self._games[row]
        first = max(in_play.opening_plies, len(in_play.players) - DECIDED_PLIES)
        values = zip(in_play.root_values[first:], in_play.players[first:], strict=True)
        share = self.settings.full_share([v if player == 0 else -v for v, player in values])
        if share == 1:
            return True
        rng = self._rng(Purpose.PLAYOUT_CAP, in_play.game_index, len(in_play.actions))
        return bool(rng.random() < share)

    def _resigns(self, in_play: GameInPlay, value: float) -> bool:
        """Whether the player to move resigns; `value`: the higher of root's and best child's."""
        share, ply = self.settings.resignation_played_out, len(in_play.actions)
        if (
            self._resign_threshold is None
            or is_played_out(in_play.game_index, share)
            or not may_resign_at(ply, in_play.opening_plies)
        ):
            return False
        in_play.could_resign = True
        # In float32, like the recorded values from which the threshold is found.
        return bool(np.float32(value) < self._resign_threshold)

    def _new_game(self, row: int, before: GameInPlay | None = None) -> GameInPlay:
        """The next game, at the root of a row; `before` has just ended there."""
        index = self._next_index
        self._next_index += self._index_step
        branch = None if before is None else self._branch(index, before)
        in_play, state = self._begun(index) if branch is None else branch
        self._search.start(row, state)
        return in_play

    def _begun(self, index: int) -> tuple[GameInPlay, Any]:
        """A game after its start and its random plies, and its state."""
        in_play = GameInPlay(game_index=index)
        return in_play, self._random_opening(in_play, self._start(in_play))

    def _start(self, in_play: GameInPlay) -> Any:
        """The state in which a game begins, after the plies that lead there."""
        if self._starts is None:
            return self._start_states.of(None)
        rng = self._rng(Purpose.START, in_play.game_index)
        if self.settings.start_share < 1 and rng.random() >= self.settings.start_share:
            return self._start_states.of(None)
        start = self._starts.draw(rng)
        in_play.start = start.text
        return self._replayed(in_play, start.before, start.actions)

    def _replayed(self, in_play: GameInPlay, state: Any, actions: Sequence[int]) -> Any:
        """The state after these plies of an opening."""
        for action in actions:
            in_play.add_opening_ply(action, self.game.current_player(state))
            state = self.game.step(state, action)
        return state

    def _branch(self, index: int, before: GameInPlay) -> tuple[GameInPlay, Any] | None:
        """A game that leaves the one before at a random ply by another action, and its state.

        `branch_share` of the games begin so; None: this one does not. The plies up to there become
        its opening, so a checkpoint needs nothing of the old game. KataGo chooses among several
        actions by their values; here any is as likely as another, except those that end the game.
        """
        rng = self._rng(Purpose.BRANCH, index)
        if rng.random() >= self.settings.branch_share:
            return None
        ply = int(rng.integers(before.opening_plies, len(before.actions)))
        branch = GameInPlay(game_index=index, start=before.start)
        first = self._start_states.of(before.start)
        state = self._replayed(branch, first, before.actions[:ply])
        for action in rng.permutation(np.flatnonzero(self.game.legal_action_mask(state))):
            following = self.game.step(state, int(action))
            if action != before.actions[ply] and not self.game.is_terminal(following):
                branch.add_opening_ply(int(action), self.game.current_player(state))
                return branch, following
        return None

    def _random_opening(self, in_play: GameInPlay, state: Any) -> Any:
        """The state after 0 to `opening_plies` random plies, which are recorded as unsearched.

        An opening stops before an action that would end the game.
        """
        rng = self._rng(Purpose.OPENING, in_play.game_index)
        for _ in range(rng.integers(0, self.settings.opening_plies, endpoint=True)):
            action = int(rng.choice(np.flatnonzero(self.game.legal_action_mask(state))))
            following = self.game.step(state, action)
            if self.game.is_terminal(following):
                break
            in_play.add_opening_ply(action, self.game.current_player(state))
            state = following
        if self.settings.policy_plies is not None:
            in_play.policy_plies = int(rng.exponential(self.settings.policy_plies))
        return state

    def _noise(self, row: int, num_legal: int) -> FloatArray:
        """Noise for the root of a row, float32 [K]: eta of Dir(alpha), or standard Gumbel draws."""
        in_play = self._games[row]
        ply = len(in_play.actions)
        if self._is_gumbel:
            rng = self._rng(Purpose.GUMBEL, in_play.game_index, ply)
            return rng.gumbel(size=num_legal).astype(np.float32)
        if self._record_surprise:
            self._clean_priors[row] = self._search.result(row).priors  # noise comes next
        rng = self._rng(Purpose.ROOT_NOISE, in_play.game_index, ply)
        return rng.dirichlet(np.full(num_legal, self._alpha)).astype(np.float32)

    def _finished(
        self, in_play: GameInPlay, outcome: int, resigned_by: int | None = None
    ) -> GameRecord:
        counts = [len(actions) for actions, _ in in_play.visits]
        record = GameRecord(
            game=self._identity,
            actions=np.array(in_play.actions, np.uint16),
            visit_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32),
            visit_actions=np.array([a for acts, _ in in_play.visits for a in acts], np.uint16),
            visit_counts=np.array([n for _, ns in in_play.visits for n in ns], np.uint32),
            root_values=np.array(in_play.root_values, np.float32),
            best_child_values=np.array(in_play.best_child_values, np.float32),
            players=np.array(in_play.players, np.uint8),
            surprises=np.array(in_play.surprises if self._record_surprise else [], np.float32),
            outcome=outcome,
            resigned_by=resigned_by,
            resign_threshold=self._resign_threshold,
            played_out=not in_play.could_resign,
            opening_plies=in_play.opening_plies,
            seed=self._seed,
            game_index=in_play.game_index,
            weights_version=self._weights_version,
            counts="policy" if self._is_gumbel else "visits",
            start=in_play.start,
        )
        if self._referee is not None:
            self._referee.check(record, "selfplay.game may only forbid actions of the game")
        return record

    def reset_statistics(self) -> None:
        """Set all counts to zero."""
        self.statistics = WorkerStatistics()

    # -- exact resume ---------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The games in play as plain lists, without trees: see `set_evaluator`."""
        return {
            "next_index": self._next_index,
            "games": [
                {
                    "game_index": in_play.game_index,
                    "opening_plies": in_play.opening_plies,
                    "policy_plies": in_play.policy_plies,
                    "actions": list(in_play.actions),
                    "visits": [[list(a), list(n)] for a, n in in_play.visits],
                    "root_values": list(in_play.root_values),
                    "best_child_values": list(in_play.best_child_values),
                    "could_resign": in_play.could_resign,
                    **({"surprises": list(in_play.surprises)} if self._record_surprise else {}),
                    **({} if in_play.start is None else {"start": in_play.start}),
                }
                for in_play in self._games
            ],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the games in play, whose number must be the same; None is a game to begin.

        Raises:
            CheckpointError: one of them cannot have been played this way.
        """
        referee = Referee(self.game)
        if not _are_whole([state["next_index"]], 0):
            raise CheckpointError(
                f"a checkpoint's next_index must be 0 or more, got {state['next_index']!r:.100}"
            )
        self._next_index = state["next_index"]
        for row, saved in enumerate(state["games"]):
            if saved is None:
                self._games[row] = self._new_game(row)
                continue
            self._games[row] = in_play = _restored(saved, referee)
            try:
                self._search.start(row, self._start_states.of(in_play.start))
            except InvalidTextError as error:  # the game allows it, the variant does not
                raise CheckpointError(f"a game in play cannot begin there: {error}") from error
            states, players = self._search.states, in_play.players
            for action in in_play.actions:
                players.append(states.current_player(row))
                states.step(row, action)
        self._search_again()


def _restored(saved: dict[str, Any], referee: Referee) -> GameInPlay:
    """A game in play from a checkpoint, without its players.

    Raises:
        CheckpointError: it is malformed, or breaks the rules.
    """
    actions, visits = saved["actions"], saved["visits"]
    plies = len(actions)
    # Checkpoints from before resignation lack both; such games are not used to measure it.
    best_child_values = saved.get("best_child_values", saved["root_values"])
    could_resign = saved.get("could_resign", True)
    policy_plies = saved.get("policy_plies", 0)  # from before there were any
    # Those of a run that records surprise from now on lack it.
    surprises = saved.get("surprises", [0.0] * plies)
    start = saved.get("start")
    named = [action for some, _ in visits for action in some]
    counts = [count for _, some in visits for count in some]
    if not (
        _are_whole([saved["game_index"]], 0)
        and _are_whole([saved["opening_plies"]], 0, plies)
        and _are_whole([policy_plies], 0)
        and _are_whole(actions + named, 0, referee.game.num_actions - 1)
        and _are_whole(counts, 1, 2**32 - 1)
        and all(len(some) == len(others) for some, others in visits)
        and plies == len(visits) == len(saved["root_values"]) == len(best_child_values)
        and plies == len(surprises)
        and all(type(s) is float and 0 <= s < 1000 for s in surprises)  # at most 87 in truth
        # -1 to 1, with a margin for rounding.
        and all(type(v) is float and -2 < v < 2 for v in saved["root_values"])
        and all(type(v) is float and -2 < v < 2 for v in best_child_values)
        and type(could_resign) is bool
    ):
        raise CheckpointError("a game in play of this checkpoint has parts that do not fit")
    offsets = np.cumsum([0, *(len(some) for some, _ in visits)])
    try:
        if start is not None:
            require_start(start)
        ended, _ = referee.replay(
            np.array(actions, np.uint16),
            offsets.astype(np.uint32),
            np.array(named, np.uint16),
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
    return GameInPlay(
        game_index=saved["game_index"],
        start=start,
        opening_plies=saved["opening_plies"],
        policy_plies=policy_plies,
        actions=list(actions),
        visits=[(list(a), list(n)) for a, n in visits],
        root_values=list(saved["root_values"]),
        best_child_values=list(best_child_values),
        surprises=list(surprises),
        could_resign=could_resign,
    )


def _are_whole(values: Sequence[object], low: int, high: int = 2**63 - 1) -> bool:
    return all(type(value) is int and low <= value <= high for value in values)
