"""A background search of one game: the engine behind every protocol.

    thinker = Thinker(game=game, evaluator=evaluator, search=search, settings=settings)
    thinker.set_line(line)                      # the game so far; reuses the tree if it continues
    thought = thinker.think(Limits(seconds=2))  # or start(...), and stop() at any time

The search runs on its own thread. Call all methods except `interrupt` from one other thread,
which reads the commands. Reports and the final thought come from the search thread.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from azcore.engine.knowledge import Knowledge, Recalled
from azcore.engine.mates import Proof, prove
from azcore.engine.settings import EngineSettings
from azcore.engine.thought import Limits, Line, Report, Thought, Variation
from azcore.game import Game
from azcore.game.faults import game_faults
from azcore.search.evaluators import Evaluator
from azcore.search.inspection import is_end
from azcore.search.mcts import Search
from azcore.search.memory import bytes_used
from azcore.search.predictions import Prediction, Predictor
from azcore.search.settings import SearchResult, SearchSettings

# Positions to search for a mate without a time limit: about a minute.
MOST_MATE_POSITIONS = 50_000
ENOUGH_FOR_AN_END = 200  # simulations, after which the best line may be one that ends the game
MATE_BYTES = 8_000  # of a position in a proof, with its moves; measured


@dataclass
class _Task:
    """One search, shared by the two threads."""

    limits: Limits
    began: float  # time.perf_counter() from which limits.seconds count
    report_seconds: float
    predictions: int | None
    stop: threading.Event = field(default_factory=threading.Event)
    changed: threading.Condition = field(default_factory=threading.Condition)


class Thinker:
    """A search tree for one game and a thread that grows it.

    Args of the constructor:
        search: how to search; the numbers of simulations and leaves come from `settings`. PUCT
            replaces Gumbel's rule, which needs the number of simulations in advance.
        predictor: makes the predictions that `start` requests; None: no predictions.
    """

    def __init__(
        self,
        *,
        game: Game,
        evaluator: Evaluator,
        search: SearchSettings,
        settings: EngineSettings,
        predictor: Predictor | None = None,
    ) -> None:
        self.game = game
        self.evaluator = evaluator
        self.predictor = predictor
        self.settings = settings
        self._search = Search(
            game=game,
            num_trees=1,
            evaluator=evaluator,
            settings=replace(
                search,
                num_simulations=settings.max_simulations,
                leaves_per_tree=settings.leaves_per_tree,
                virtual_loss=max(1, search.virtual_loss),
                reuse_subtree=True,
                reuse_limit=1.0,
                gumbel=None,
                forced_visits=0.0,  # of self-play
                stop_early=False,
            ),
        )
        self._start_text: str | None = None
        self._actions: list[int] = []
        self._state = game.initial_state()
        self._restricted = False
        self._search.start(0, self._state)
        self._task: _Task | None = None
        self._thread: threading.Thread | None = None
        self._last: Thought | None = None
        self._predicted: dict[int | None, Prediction] = {}  # by action of the root; None: the root
        self._error: Exception | None = None
        self.known: Knowledge | None = None  # a book and a tablebase, for limits that allow them
        self._recalled: Recalled | None = None  # of the root, in the current search

    # -- the position ---------------------------------------------------------------------------

    def set_line(self, line: Line) -> None:
        """Set the game to search: its last position.

        If the game continues the previous one, the useful part of the tree is reused.
        """
        self.stop()
        played = len(self._actions)
        continues = line.start_text == self._start_text and line.actions[:played] == self._actions
        if continues and not self._restricted:
            for action in line.actions[played:]:
                self._search.advance(0, action)
        else:
            self._search.start(0, line.state)
        self._restricted = False
        self._start_text, self._actions = line.start_text, list(line.actions)
        self._state = line.state

    def forget(self) -> None:
        """Drop the tree, as for a new game."""
        self.stop()
        self._drop_tree()

    def change_game(self, game: Game) -> None:
        """Switch to a game that differs only in its states, for example by another komi.

        Its facts and its compiled rules must equal those of the current game.
        """
        self.stop()
        self.game = game
        self._search.change_game(game)
        self._start_text, self._actions = None, []
        self._state = game.initial_state()
        self._drop_tree()

    # -- thinking -------------------------------------------------------------------------------

    @property
    def is_thinking(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(
        self,
        limits: Limits,
        on_report: Report | None = None,
        on_done: Report | None = None,
        on_error: Callable[[Exception], None] | None = None,
        report_seconds: float | None = None,
        predictions: int | None = None,
    ) -> None:
        """Start a search, stopping the current one.

        Args:
            on_report: called with a thought every `report_seconds`.
            on_error: called with the error of the evaluator, the game or another callback, instead
                of `on_done` or after it. No callback may call this object.
            report_seconds: None: as in the settings.
            predictions: predict the root and the positions after this many of the best actions
                tried; None: predict nothing.
        """
        self.stop()
        self._error = None
        if report_seconds is None:
            report_seconds = self.settings.report_seconds
        self._task = _Task(limits, time.perf_counter(), report_seconds, predictions)
        arguments = (self._task, on_report, on_done, on_error)
        self._thread = threading.Thread(target=self._run, args=arguments, daemon=True)
        self._thread.start()

    def think(
        self,
        limits: Limits,
        on_report: Report | None = None,
        report_seconds: float | None = None,
        predictions: int | None = None,
    ) -> Thought:
        """Search until a limit is reached; at least one must be set."""
        self.start(limits, on_report, report_seconds=report_seconds, predictions=predictions)
        return self.wait()

    def wait(self) -> Thought:
        """Wait for the end of the current search; returns the last thought."""
        if self._thread is not None:
            self._thread.join()
        self._raise_error()
        assert self._last is not None, "start comes before wait"
        return self._last

    def change_limits(self, limits: Limits) -> None:
        """Change the limits of the current search; seconds count from now (a ponder hit)."""
        task = self._task
        if task is not None:
            with task.changed:
                task.limits, task.began = limits, time.perf_counter()
                task.changed.notify_all()

    def stop(self) -> Thought | None:
        """End the current search after its pending evaluation; returns the last thought, if any."""
        task, thread = self._task, self._thread
        if task is None or thread is None:
            return None
        task.stop.set()
        with task.changed:
            task.changed.notify_all()
        with suppress(RuntimeError):  # interrupted before its start: it ends at once
            thread.join()
        self._task = self._thread = None
        self._raise_error()
        return self._last

    def interrupt(self) -> None:
        """Make the current search end soon, without waiting; callable from any thread.

        A caller that waits for the search gets its thought as if a limit had been reached.
        """
        task = self._task
        if task is not None:
            task.stop.set()
            with task.changed:
                task.changed.notify_all()

    def _raise_error(self) -> None:
        """Raise the error that ended the search, once; after that a new search is possible."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    # -- on the other thread --------------------------------------------------------------------

    def _run(
        self,
        task: _Task,
        on_report: Report | None,
        on_done: Report | None,
        on_error: Callable[[Exception], None] | None,
    ) -> None:
        try:
            with game_faults():
                self._last = self._grow(task, on_report)
                if on_done is not None:
                    on_done(self._last)
        except Exception as error:  # raised again in the thread that waits for the thought
            self._error = error
            self._drop_tree()  # leaves may wait in it forever
            if on_error is not None:
                on_error(error)

    def _drop_tree(self) -> None:
        self._search.start(0, self._state)
        self._restricted = False

    def _grow(self, task: _Task, on_report: Report | None) -> Thought:
        began = reported = time.perf_counter()
        done = 0
        self._predicted = {}
        if self.game.is_terminal(self._state):
            return self._thought(0, began)
        # A proof may begin with any action, so it is not an answer if only some are allowed.
        may_prove = task.limits.only_checks or not task.limits.actions
        if task.limits.mate_plies is not None and may_prove:
            proof = self._prove(task, task.limits.mate_plies)
            if proof.line is not None or task.limits.only_checks:
                return self._of_proof(task, proof, began)
        only = task.limits.actions
        if task.limits.forced_wins and not only and self._search.forced_wins.action(0) >= 0:
            proof = self._prove(task, self._search.forced_wins.plies)
            if proof.line is not None:
                return self._of_proof(task, proof, began)
        self._recalled = recalled = self._recall(task.limits)
        if recalled is not None:
            if not recalled.leaves_a_choice:
                return self._recalled_thought(task, recalled, began, on_report)
            only = recalled.actions
        self._evaluate_root(only)
        if task.predictions is not None:
            self._predict([None])  # on the clock, like the search
        while not self._is_enough(task, done):
            left = None if task.limits.simulations is None else task.limits.simulations - done
            batch = self._next_batch(left)
            if batch == 0:  # full, or proven: an endless search waits for `stop` or new limits
                if not task.limits.is_endless:
                    break
                with task.changed:
                    if not task.stop.is_set() and task.limits.is_endless:
                        task.changed.wait()
                continue
            held = self._search.held(0)
            self._search.begin(0, batch)
            while self._search.wave():
                pass
            done += self._search.held(0) - held  # fewer than the batch once the root is proven
            now = time.perf_counter()
            if on_report is not None and now - reported >= task.report_seconds:
                reported = now
                on_report(self._thought(done, began, task.predictions))
        return self._thought(done, began, task.predictions)

    def _prove(self, task: _Task, plies: int) -> Proof:
        """Search for a forced win: all the time for a mate problem, half of it for a move."""
        limits = task.limits
        share = 1.0 if limits.only_checks else 0.5

        def may_continue(positions: int) -> bool:
            if task.stop.is_set() or positions * MATE_BYTES > self.settings.memory_mb * 1_000_000:
                return False
            if limits.seconds is None:
                return limits.only_checks or positions <= MOST_MATE_POSITIONS
            return time.perf_counter() - task.began < share * limits.seconds

        return prove(
            self.game,
            self._state,
            only_checks=limits.only_checks,
            most_plies=plies,
            may_continue=may_continue,
        )

    def _of_proof(self, task: _Task, proof: Proof, began: float) -> Thought:
        variations = []
        if proof.line is not None:
            actions = list(proof.line)
            variations = [
                Variation(action=actions[0], visits=1, value=1.0, prior=1.0, actions=actions)
            ]
        if task.predictions is not None:
            self._predict([None])
        return Thought(
            state=self._state,
            variations=variations,
            value=1.0 if variations else 0.0,
            simulations=0,
            new_simulations=proof.positions,
            seconds=time.perf_counter() - began,
            prediction=self._predicted.get(None),
            proof=proof,
        )

    def _recall(self, limits: Limits) -> Recalled | None:
        """The book or tablebase data on the root."""
        if self.known is None or not (limits.book or limits.tablebase):
            return None
        return self.known.recall(
            self._state, len(self._actions), limits.actions, from_book=limits.book
        )

    def _recalled_thought(
        self, task: _Task, recalled: Recalled, began: float, on_report: Report | None
    ) -> Thought:
        """Recalled data as a thought; an endless search waits for `stop` or new limits."""
        value, action = recalled.value or 0.0, recalled.actions[0]
        thought = Thought(
            state=self._state,
            variations=[
                Variation(action=action, visits=0, value=value, prior=1.0, actions=[action])
            ],
            value=value,
            simulations=0,
            new_simulations=0,
            seconds=time.perf_counter() - began,
            source="book" if recalled.value is None else "tablebase",
        )
        if task.limits.is_endless and on_report is not None:
            on_report(thought)
        with task.changed:
            task.changed.wait_for(lambda: task.stop.is_set() or not task.limits.is_endless)
        return thought

    def _evaluate_root(self, actions: tuple[int, ...]) -> None:
        """Evaluate the root, so that even the shortest time yields an answer."""
        if actions or self._restricted:  # omitted edges must come back before
            self._search.start(0, self._state)
            self._restricted = bool(actions)
        self._search.begin(0, 0)
        while self._search.wave():
            pass
        if actions:
            self._search.restrict(0, np.array(actions, np.int32))

    def _next_batch(self, left: int | None) -> int:
        """Simulations until the limits are checked again: as many as form a batch."""
        room = self._search.room(0)
        if bytes_used(self._search.trees, 0) > self.settings.memory_mb * 1_000_000:
            room = 0
        if self._search.proof(0):  # nothing left to search
            room = 0
        batch = min(self.settings.leaves_per_tree, room)
        return batch if left is None else min(batch, left)

    def _is_enough(self, task: _Task, done: int) -> bool:
        limits = task.limits
        if task.stop.is_set() or (limits.simulations is not None and done >= limits.simulations):
            return True
        if limits.seconds is not None and time.perf_counter() - task.began >= limits.seconds:
            return True
        if limits.depth is None:
            return False
        best = self._variations(self._search.result(0), 1)[0]
        if len(best.actions) >= limits.depth:
            return True
        is_forced = best.action == self._search.forced_wins.action(0)
        is_over = is_forced or is_end(self._search, 0, best.actions)
        return done >= ENOUGH_FOR_AN_END and is_over

    def _thought(self, done: int, began: float, predictions: int | None = None) -> Thought:
        seconds = time.perf_counter() - began
        if self.game.is_terminal(self._state):
            outcome = self.game.outcome(self._state)
            value = float(outcome if self.game.current_player(self._state) == 0 else -outcome)
            return Thought(
                state=self._state,
                variations=[],
                value=value,
                simulations=0,
                new_simulations=0,
                seconds=seconds,
            )
        result = self._search.result(0)
        variations = self._variations(result, len(result.actions))
        if predictions:
            best = [variation.action for variation in variations[:predictions] if variation.visits]
            self._predict(best)
            variations = [
                replace(variation, prediction=self._predicted.get(variation.action))
                for variation in variations
            ]
        thought = Thought(
            state=self._state,
            variations=variations,
            value=result.value,
            simulations=int(result.visit_counts.sum()),
            new_simulations=done,
            seconds=seconds,
            fullness=self._fullness(),
            prediction=self._predicted.get(None),
        )
        if self._recalled is None:
            return thought
        value = self._recalled.value or 0.0  # the value of all searched actions
        variations = [replace(variation, value=value) for variation in variations]
        return replace(thought, value=value, variations=variations, source="tablebase")

    def _predict(self, actions: Sequence[int | None]) -> None:
        """Predict the positions after some actions, or the root for None, in the root's view.

        It skips finished games, whose result is known.
        """
        if self.predictor is None:
            return
        root, player = self._state, self.game.current_player(self._state)
        states = {
            action: root if action is None else self.game.step(root, action)
            for action in actions
            if action not in self._predicted
        }
        states = {a: state for a, state in states.items() if not self.game.is_terminal(state)}
        if not states:
            return
        found = self.predictor.predict(self.game, list(states.values()))
        for (action, state), prediction in zip(states.items(), found, strict=True):
            same = self.game.current_player(state) == player
            self._predicted[action] = prediction if same else prediction.of_other_player()

    def _fullness(self) -> float:
        nodes = 1 - self._search.room(0) / self.settings.max_simulations
        memory = bytes_used(self._search.trees, 0) / (self.settings.memory_mb * 1_000_000)
        return min(1.0, max(nodes, memory, 0.0))

    def _variations(self, result: SearchResult, count: int) -> list[Variation]:
        """The best `count` actions, first of all one that forces a win."""
        forced = self._search.forced_wins.action(0)
        order = sorted(result.ranked(), key=lambda i: result.actions[i] != forced)
        return [
            Variation(
                action=int(result.actions[i]),
                visits=max(int(result.visit_counts[i]), int(result.actions[i] == forced)),
                value=1.0 if result.actions[i] == forced else float(result.q_values[i]),
                prior=float(result.priors[i]),
                actions=self._search.principal_variation(0, int(result.actions[i])),
            )
            for i in order[:count]
        ]
