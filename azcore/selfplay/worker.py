"""One self-play worker: games searched together, where a new game replaces a finished one at once.

All trees share one batch per wave, and no game waits for another: after its search, a game moves
and continues, so the batch is always full. A worker runs on one thread at a time and shares no
mutable state with other workers; the `Actor` drives them.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from azcore.chance import Generators, Purpose
from azcore.errors import CheckpointError, FaultyGameError, InvalidTextError
from azcore.game import FloatArray, Game
from azcore.game.batch import after_moves
from azcore.game.positions import only_roots
from azcore.search.evaluators import Evaluator
from azcore.search.mcts import Search
from azcore.search.memory import bytes_needed
from azcore.search.rules import refuse_patches
from azcore.search.settings import SearchSettings
from azcore.selfplay import moves, resignation, schedule, surprise
from azcore.selfplay.schedule import SelfPlaySettings
from azcore.selfplay.worker_state import IN_PLAY, are_whole, restored, text_of
from azcore.storage.game_record import NAMED, PLY, GameRecord
from azcore.storage.referee import Referee
from azcore.storage.start_states import StartStates
from azcore.storage.starts import Starts

PHASES = 4  # groups of games that move at different times, see `Worker._search_again`


@dataclass
class Opening:
    """How a game begins, up to its first search."""

    game_index: int
    start: str | None = None  # the position before its first ply; None: the initial one
    policy_plies: int = 0  # still to come, drawn from the network's policy
    actions: list[int] = field(default_factory=list)
    players: list[int] = field(default_factory=list)

    def add_ply(self, action: int, player: int) -> None:
        """Add a ply that no search chose."""
        self.actions.append(action)
        self.players.append(player)


@dataclass
class WorkerStatistics:
    """A worker's work since the last reset; seconds of wall time."""

    evaluations: int = 0  # positions that the network evaluated
    remembered: int = 0  # positions whose evaluation was cached
    network_seconds: float = 0.0
    proof_seconds: float = 0.0  # for `search.proof_plies`


class Worker:
    """Plays some of the self-play games.

    Args:
        game: the game to play, named in records.
        variant: the game as self-play plays it, which may forbid actions that `game` allows.
        search: how each move is searched, root noise included.
        first_index: index of its first game in the run.
        index_step: the step from one of its games to the next: the number of workers.
        evaluator: evaluates leaves; this worker's own.
        record_surprise: whether records store how much each search surprised the network.
        starts: what games begin from, of `variant`; None: the initial position.

    Raises:
        SettingError: as `Search` raises it, or a compiled function of this package was replaced.
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
        refuse_patches(moves, resignation, schedule, surprise)
        self.game = variant
        self.settings = settings
        self.statistics = WorkerStatistics()
        self._identity = game.identity
        # A game of the variant is a game of `game` only if the variant merely forbids actions.
        self._referee = Referee(game) if variant.settings != game.settings else None
        self._seed = seed
        self._generators = Generators()
        self._search = Search(
            game=variant, num_trees=num_games, evaluator=evaluator, settings=search
        )
        self._evaluator = evaluator
        self._starts, self._start_states = starts, StartStates(variant)
        self._alpha = search.dirichlet_alpha or game.dirichlet_alpha
        self._is_gumbel = search.is_gumbel
        self._proof_plies = self._search.forced_wins.plies
        self._weights_version = 0
        self._in_play = moves.make_in_play(
            num_games,
            game.num_actions,
            game.max_game_length,
            keep_priors=record_surprise and search.explores and not search.is_gumbel,
        )
        self._way = moves.way_of(settings, search, game.max_game_length, seed, record_surprise)
        self._texts: list[str | None] = [None] * num_games  # of the position where each game began
        self._next_index, self._index_step = first_index, index_step
        for row in range(num_games):
            self._begin_game(row)
        self._waves_per_move = search.num_simulations // search.leaves_per_tree
        self._wave = 0
        self._search_again()

    def bytes_needed(self, legal_actions: int) -> int:
        """Bytes of full search trees whose positions have `legal_actions` legal actions."""
        return bytes_needed(self._search.trees, legal_actions)

    @property
    def longest_in_play(self) -> int:
        """Plies of this worker's longest game in play."""
        return int(self._in_play.games["plies"].max())

    def set_evaluator(
        self, evaluator: Evaluator, weights_version: int, resign_threshold: float | None
    ) -> None:
        """Continue with newer weights; see `Actor.set_evaluator`."""
        self._evaluator = evaluator
        self._search.set_evaluator(evaluator)
        self._weights_version = weights_version
        threshold = math.nan if resign_threshold is None else resign_threshold
        self._way = self._way._replace(resign_threshold=threshold)
        self._search_again()

    def _search_again(self) -> None:
        """Search all roots again, one quarter of them after another.

        Each search takes the same number of waves. If all searches began together, all games would
        move in the same wave, and the other workers and a GPU would wait for it. If they began one
        by one, each move would find the CPU caches full of the network's data, which took 2 % of
        self-play with a small network.
        """
        games = self._in_play.games
        phases = np.arange(len(games)) * PHASES // len(games)
        games["begins"] = self._wave + phases * self._waves_per_move // PHASES

    def play_wave(self) -> list[GameRecord]:
        """Run one wave in all games, play the moves of finished searches; returns ended games."""
        search, stats = self._search, self.statistics
        if self._proof_plies:
            self._decide()
        if self._call(moves.begin):
            self._handle_games()
        self._wave += 1
        has_leaves = search.select()
        stats.proof_seconds += search.proof_seconds
        if has_leaves:
            before, known = time.perf_counter(), self._evaluator.remembered
            policy_logits, values = search.evaluate()
            stats.network_seconds += time.perf_counter() - before
            known = self._evaluator.remembered - known
            stats.remembered += known
            stats.evaluations += search.num_leaves - known
            search.finish(policy_logits, values)
        while (found := self._call(moves.play)) == moves.NO_ROOM:
            self._in_play = moves.with_more_room(self._in_play)
        if found == moves.MOVED:
            search.play(self._in_play.chosen, self._in_play.is_over)
        return self._handle_games() if found else []

    def _decide(self) -> None:
        """Try to prove the positions in which a search is due."""
        games = self._in_play.games
        is_due = (games["begins"] != moves.UNDER_WAY) & (games["begins"] <= self._wave)
        is_due &= games["policy_plies"] == 0
        before = time.perf_counter()
        rows = np.arange(len(games), dtype=np.int32)
        due = only_roots(np.where(is_due, rows, np.int32(-1)))
        self._search.states.decide(due, self._proof_plies, self._in_play.decided)
        self.statistics.proof_seconds += time.perf_counter() - before

    def compile(self, turn: int) -> None:
        """Compile what play needs; processes that start together share it, by their `turn`."""
        own = [(kernel, self._arguments()) for kernel in (moves.play, moves.begin)]
        kernels = [*own, *self._search.kernels()]
        first = turn % len(kernels)
        for kernel, arguments in kernels[first:] + kernels[:first]:
            self._search.compile(kernel, *arguments)
        if self._proof_plies:
            self._decide()
            self.statistics.proof_seconds = 0.0

    def _call(self, kernel: Any) -> int:
        """Call a kernel of `moves`."""
        return int(self._search.call(kernel, *self._arguments()))

    def _arguments(self) -> tuple[Any, ...]:
        return (self._search.trees, self._in_play, self._way, self._wave)

    def _handle_games(self) -> list[GameRecord]:
        """Do what the kernels of `moves` leave to the worker; returns the games that ended."""
        records = []
        chosen, is_over = self._in_play.chosen, self._in_play.is_over
        for row in np.flatnonzero((chosen < moves.NOTHING) | is_over).tolist():
            if chosen[row] == moves.NOISE:
                self._search.mix_noise(row, self._noise)
                self._in_play.games["is_dealt"][row] = True
            elif chosen[row] == moves.OPENS:
                self._open(row)
            elif chosen[row] == moves.RESIGNS:
                player = self._search.states.current_player(row)
                records.append(self._end(row, -1 if player == 0 else 1, resigned_by=player))
            elif self._is_over(row):
                records.append(self._end(row, self._search.states.outcome(row)))
        return records

    def _rng(self, purpose: Purpose, game_index: int, ply: int = 0) -> np.random.Generator:
        """Random numbers of a game; valid until the next call."""
        return self._generators.at(purpose, self._seed, game_index, ply)

    def _open(self, row: int) -> None:
        """Play a ply of the opening by the network's policy, but none that would end the game."""
        game, search = self._in_play.games[row], self._search
        result, state = search.result(row), search.states.get(row)
        rng = self._rng(Purpose.OPENING, int(game.game_index), int(game.plies) + 1)
        sums = result.priors.astype(np.float64).cumsum()
        action = int(result.actions[(sums / sums[-1]).searchsorted(rng.random(), side="right")])
        if self.game.is_terminal(self.game.step(state, action)):
            game.policy_plies = 0
            search.start(row, state)  # for a search, like any other
            return
        game.policy_plies -= 1
        self._add_opening_plies(row, [action], [self.game.current_player(state)])
        search.advance(row, action)
        self._is_over(row)  # or too long

    def _add_opening_plies(self, row: int, actions: list[int], players: list[int]) -> None:
        """Record plies that no search chose."""
        game = self._in_play.games[row]
        while game.plies + len(actions) > self._in_play.plies.shape[1]:
            self._in_play = moves.with_more_room(self._in_play)
            game = self._in_play.games[row]
        there = slice(game.plies, game.plies + len(actions))
        plies = self._in_play.plies[row, there]
        plies[:] = np.zeros((), PLY)
        plies["actions"], plies["players"] = actions, players
        self._in_play.surprises[row, there] = 0
        game.plies = game.opening_plies = there.stop

    def _is_over(self, row: int) -> bool:
        """Whether the game at a root is over; an error here is reported with its moves."""
        plies = int(self._in_play.games["plies"][row])
        try:
            return self._search.states.is_over(row, plies)
        except FaultyGameError as error:
            start = self._start_states.of(self._texts[row])
            actions = self._in_play.plies["actions"][row, :plies].tolist()
            raise FaultyGameError(f"{error}{after_moves(self.game, start, actions)}") from error

    def _end(self, row: int, outcome: int, resigned_by: int | None = None) -> GameRecord:
        """The record of the game that ended at a row; begins the next one there."""
        record = self._finished(row, outcome, resigned_by)
        self._begin_game(row, record)
        return record

    def _begin_game(self, row: int, before: GameRecord | None = None) -> None:
        """Begin the next game at a row; `before` has just ended there."""
        index = self._next_index
        self._next_index += self._index_step
        branch = None if before is None else self._branch(index, before)
        opening, state = self._begun(index) if branch is None else branch
        self._search.start(row, state)
        self._write(row, opening)

    def _write(self, row: int, opening: Opening) -> None:
        """Put this game into a row."""
        game = self._in_play.games[row]
        game.game_index, game.policy_plies = opening.game_index, opening.policy_plies
        game.plies = game.named = 0
        game.could_resign = False
        self._texts[row] = opening.start
        self._add_opening_plies(row, opening.actions, opening.players)

    def _begun(self, index: int) -> tuple[Opening, Any]:
        """A game after its start and its random plies, and its state."""
        opening = Opening(game_index=index)
        return opening, self._random_opening(opening, self._start(opening))

    def _start(self, opening: Opening) -> Any:
        """The starting state of a game, after the plies that lead there."""
        if self._starts is None:
            return self._start_states.of(None)
        rng = self._rng(Purpose.START, opening.game_index)
        if self.settings.start_share < 1 and rng.random() >= self.settings.start_share:
            return self._start_states.of(None)
        start = self._starts.draw(rng)
        opening.start = start.text
        return self._replayed(opening, start.before, start.actions)

    def _replayed(self, opening: Opening, state: Any, actions: Sequence[int]) -> Any:
        """The state after these plies of an opening."""
        for action in actions:
            opening.add_ply(action, self.game.current_player(state))
            state = self.game.step(state, action)
        return state

    def _branch(self, index: int, before: GameRecord) -> tuple[Opening, Any] | None:
        """A game that branches off the previous one, and its state; None: it does not.

        `branch_share` of the games leave it at a random ply by another action. KataGo chooses among
        several actions by their values; here all are equally likely, except those that end the
        game. The plies up to there become the opening, so a checkpoint stores nothing of the old
        game.
        """
        rng = self._rng(Purpose.BRANCH, index)
        drawn, share = rng.random(), self.settings.branch_share
        if share <= drawn < share + self.settings.regret_share:
            return self._regretted(index, before, rng)
        if drawn >= share:
            return None
        ply = int(rng.integers(before.opening_plies, len(before)))
        branch = Opening(game_index=index, start=before.start)
        first = self._start_states.of(before.start)
        state = self._replayed(branch, first, before.actions[:ply].tolist())
        for action in rng.permutation(np.flatnonzero(self.game.legal_action_mask(state))):
            following = self.game.step(state, int(action))
            if action != before.actions[ply] and not self.game.is_terminal(following):
                branch.add_ply(int(action), self.game.current_player(state))
                return branch, following
        return None

    def _regretted(
        self, index: int, before: GameRecord, rng: np.random.Generator
    ) -> tuple[Opening, Any] | None:
        """A game from a position of the previous one, drawn by the search's error there.

        The regret is |z - v|, z the outcome and v the value of the search (arXiv 2602.20809 takes
        the highest of an archive). None: no search was wrong.
        """
        wrong = np.abs(before.outcomes - before.root_values.astype(np.float64))
        sums = np.where(before.learned, wrong, 0.0).cumsum()
        if sums[-1] == 0:
            return None
        ply = int(sums.searchsorted(rng.random() * sums[-1], side="right"))
        opening = Opening(game_index=index, start=before.start)
        first = self._start_states.of(before.start)
        return opening, self._replayed(opening, first, before.actions[:ply].tolist())

    def _random_opening(self, opening: Opening, state: Any) -> Any:
        """The state after 0 to `opening_plies` random plies, which are recorded as unsearched.

        An opening stops before an action that would end the game.
        """
        rng = self._rng(Purpose.OPENING, opening.game_index)
        for _ in range(rng.integers(0, self.settings.opening_plies, endpoint=True)):
            action = int(rng.choice(np.flatnonzero(self.game.legal_action_mask(state))))
            following = self.game.step(state, action)
            if self.game.is_terminal(following):
                break
            opening.add_ply(action, self.game.current_player(state))
            state = following
        if self.settings.policy_plies is not None:
            opening.policy_plies = int(rng.exponential(self.settings.policy_plies))
        return state

    def _noise(self, row: int, num_legal: int) -> FloatArray:
        """Noise for the root of a row, float32 [K]: eta of Dir(alpha)."""
        if len(self._in_play.clean_priors):
            self._in_play.clean_priors[row, :num_legal] = self._search.result(row).priors
        index, ply = (self._in_play.games[name][row] for name in ("game_index", "plies"))
        rng = self._rng(Purpose.ROOT_NOISE, index, ply)
        return rng.dirichlet(np.full(num_legal, self._alpha)).astype(np.float32)

    def _finished(self, row: int, outcome: int, resigned_by: int | None) -> GameRecord:
        game = self._in_play.games[row]
        plies = self._in_play.plies[row, : game.plies]
        named = self._in_play.named[row, : game.named]
        surprises = self._in_play.surprises[row, : game.plies * self._way.record_surprise]
        threshold = self._way.resign_threshold
        arrays: dict[str, Any] = {name: plies[name].copy() for name in PLY.names or ()}
        arrays |= {name: named[name].copy() for name in NAMED.names or ()}
        record = GameRecord(
            game=self._identity,
            visit_offsets=np.append(np.uint32(0), arrays.pop("named_ends")),
            **arrays,
            surprises=surprises.copy(),
            outcome=outcome,
            resigned_by=resigned_by,
            resign_threshold=None if math.isnan(threshold) else threshold,
            played_out=not game.could_resign,
            opening_plies=int(game.opening_plies),
            seed=self._seed,
            game_index=int(game.game_index),
            weights_version=self._weights_version,
            counts="policy" if self._is_gumbel else "visits",
            start=self._texts[row],
        )
        if self._referee is not None:
            self._referee.check(record, "selfplay.game may only forbid actions of the game")
        return record

    def reset_statistics(self) -> None:
        self.statistics = WorkerStatistics()

    # -- exact resume ---------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The games in play, without trees: see `set_evaluator`."""
        return {
            "next_index": self._next_index,
            "games": [self._state_of(row) for row in range(len(self._texts))],
        }

    def _state_of(self, row: int) -> dict[str, Any]:
        game, start = self._in_play.games[row], self._texts[row]
        plies = self._in_play.plies[row, : game.plies]
        named = self._in_play.named[row, : game.named]
        arrays = {name: plies[name] for name in ("actions", "root_values", "best_child_values")}
        arrays["visit_offsets"] = np.append(np.uint32(0), plies["named_ends"])
        arrays |= {name: named[name] for name in NAMED.names or ()}
        if self._way.record_surprise:
            arrays["surprises"] = self._in_play.surprises[row, : game.plies]
        return {
            "game_index": int(game.game_index),
            "opening_plies": int(game.opening_plies),
            "policy_plies": int(game.policy_plies),
            "could_resign": bool(game.could_resign),
            **{name: text_of(array.astype(IN_PLAY[name])) for name, array in arrays.items()},
            **({} if start is None else {"start": start}),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the games in play, whose number must match; None is a game to begin.

        Raises:
            CheckpointError: one of them cannot have been played this way.
        """
        referee = Referee(self.game)
        if not are_whole([state["next_index"]], 0):
            raise CheckpointError(
                f"a checkpoint's next_index must be 0 or more, got {state['next_index']!r:.100}"
            )
        self._next_index = state["next_index"]
        for row, saved in enumerate(state["games"]):
            if saved is None:
                self._begin_game(row)
                continue
            values = restored(saved, referee)
            opening = Opening(*(values[name] for name in ("game_index", "start", "policy_plies")))
            try:
                self._search.start(row, self._start_states.of(opening.start))
            except InvalidTextError as error:  # the game allows it, the variant does not
                raise CheckpointError(f"a game in play cannot begin there: {error}") from error
            states = self._search.states
            for action in values["actions"].tolist():
                opening.add_ply(action, states.current_player(row))
                states.step(row, action)
            self._write(row, opening)
            self._write_searches(row, values)
        self._search_again()

    def _write_searches(self, row: int, values: dict[str, Any]) -> None:
        """Restore a checkpoint's data on a game's searches; its plies are restored already."""
        offsets = values["visit_offsets"]
        while offsets[-1] > self._in_play.named.shape[1]:
            self._in_play = moves.with_more_room(self._in_play)
        game = self._in_play.games[row]
        game.opening_plies, game.could_resign = values["opening_plies"], values["could_resign"]
        game.named = offsets[-1]
        plies = self._in_play.plies[row, : game.plies]
        plies["named_ends"] = offsets[1:]
        for name in ("root_values", "best_child_values"):
            plies[name] = values[name]
        for name in NAMED.names or ():
            self._in_play.named[name][row, : game.named] = values[name]
        self._in_play.surprises[row, : game.plies] = values["surprises"]
