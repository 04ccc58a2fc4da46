"""KataGo's JSON analysis protocol: many queries at once, answered one position after another.

It reads queries while it searches others. The waiting position with the highest priority is next;
among equals, the earliest. At the end of the input it still answers all waiting positions, like
KataGo.
"""

import heapq
import json
import sys
import threading
from collections.abc import Mapping
from typing import Any

from azcore.engine.analysis_answer import answer, nothing
from azcore.engine.analysis_query import Query, QueryError, read_query
from azcore.engine.gtp_analysis import MANY
from azcore.engine.lines import LONGEST_LINE, Inbox, Writer
from azcore.engine.server import AbandonedError, Engine, Server
from azcore.engine.thought import Limits, Report, Thought
from azcore.errors import AzcoreError
from azcore.game import Game, Setting
from azcore.version import __version__

ACTIONS = ("query_version", "query_models", "clear_cache", "terminate", "terminate_all")
SHOWN = 300  # characters of a line that is not JSON, in the error


class _Position:
    """One turn of one query, waiting or being searched."""

    def __init__(self, query: Query, turn: int, number: int) -> None:
        self.query, self.turn = query, turn
        self.place = (-query.priorities[turn], number)
        self.is_terminated = False

    def __lt__(self, other: "_Position") -> bool:
        return self.place < other.place


class AnalysisServer(Server):
    """KataGo's analysis engine over lines of JSON."""

    def __init__(self, engine: Engine, writer: Writer) -> None:
        super().__init__(engine, writer)
        self._base: Game | None = None
        self._games: dict[str, Game] = {}  # by settings
        self._changed = threading.Condition()  # guards what follows
        self._waiting: list[_Position] = []  # a heap
        self._current: _Position | None = None
        self._count = 0
        self._reads_to_end = False  # as opposed to Ctrl-C
        self._is_ended = False
        self._is_warm = False
        self._worker = threading.Thread(target=self._work, daemon=True)
        self._worker.start()

    # -- the reading side -----------------------------------------------------------------------

    def _is_quit(self, line: str) -> bool:
        return False

    def _arrived(self, line: object, burst: int) -> bool:
        if line is Inbox.END:
            self._reads_to_end = True
        return False

    def _rest(self) -> None:
        if self._reads_to_end:  # answer everything that was read
            with self._changed:
                self._is_ended = True
                self._changed.notify_all()
            self._worker.join()

    def _tell_failure(self, error: Exception) -> None:
        self._tell({"error": str(error)})

    def _tell(self, body: Mapping[str, Any]) -> None:
        self.writer.write(json.dumps(body))

    def _take(self, line: str | None) -> bool:
        if line is None:
            self._tell({"error": f"A line may have at most {LONGEST_LINE} bytes"})
            return True
        self.writer.received(line)
        if not line.strip():
            return True
        try:
            body = json.loads(line)
        except (ValueError, RecursionError) as error:
            self._tell(
                {"error": f"{error} - could not parse input line as json request: {line[:SHOWN]}"}
            )
            return True
        if not isinstance(body, dict):
            shown = json.dumps(body)[:SHOWN]
            self._tell({"error": f"Request line was valid json but was not an object: {shown}"})
        elif not isinstance(body.get("id"), str):
            self._tell({"error": 'Request must have a string "id" field'})
        else:
            try:
                if isinstance(body.get("action"), str):
                    self._act(body)
                else:
                    self._ask(body)
            except QueryError as error:
                self._tell_error(body["id"], error)
        return True

    def _tell_error(self, query_id: str, error: QueryError) -> None:
        self._tell({"error": str(error), "field": error.name, "id": query_id})

    def _ask(self, body: dict[str, Any]) -> None:
        """Queue the positions of a query."""
        if self._base is None:
            self._base = self.engine.game
        query = read_query(body, self._base, self._game_with)
        for turn in query.lines:
            query.limits(turn, 1)  # raises if no move is left
        self._warn_of_ownership(query)
        for name, message in query.warnings:
            self._tell({"warning": message, "field": name, "id": query.id})
        with self._changed:
            for turn in sorted(query.lines):
                heapq.heappush(self._waiting, _Position(query, turn, self._count))
                self._count += 1
            self._changed.notify_all()

    def _warn_of_ownership(self, query: Query) -> None:
        for name, wanted in (
            ("includeOwnership", query.ownership),
            ("includeMovesOwnership", query.moves_ownership),
        ):
            if wanted and "ownership" not in self.engine.predictable:
                query.warnings.append((name, "The network does not predict ownership"))

    def _game_with(self, **settings: Setting) -> Game:
        assert self._base is not None
        key = json.dumps(settings, sort_keys=True)
        if key not in self._games:
            self._games[key] = self.engine.game_with(self._base, **settings)
        return self._games[key]

    def _act(self, body: dict[str, Any]) -> None:
        """Execute `action`, and echo it."""
        action = body["action"]
        if action == "query_version":
            body |= {"version": __version__, "git_hash": "<omitted>"}
        elif action == "query_models":
            settings = self.engine.settings
            one: dict[str, Any] = {"name": self.engine.name, "internalName": self.engine.game.name}
            one |= {"maxBatchSize": settings.leaves_per_tree, "usesHumanSLProfile": False}
            body["models"] = [one]
        elif action in ("terminate", "terminate_all"):
            self._terminate(body, None if action == "terminate_all" else body.get("terminateId"))
        elif action not in ACTIONS:
            names = " or ".join(f"'{name}'" for name in ACTIONS)
            self._tell({"error": f"'action' field must be {names}"})
            return
        self._tell(body)

    def _terminate(self, body: dict[str, Any], query_id: object) -> None:
        """End the queries of one id, or all, at some turns or at all turns."""
        if body["action"] == "terminate" and not isinstance(query_id, str):
            raise QueryError(
                "terminateId",
                'Requests for a terminate action must have a string "terminateId" field',
            )
        turns = body.get("turnNumbers")
        if "turnNumbers" in body and not (
            isinstance(turns, list) and all(type(turn) is int for turn in turns)
        ):
            raise QueryError(
                "turnNumbers",
                "If provided, must be an array of integers indicating turns to terminate",
            )

        def is_meant(position: _Position) -> bool:
            fits = query_id is None or position.query.id == query_id
            return fits and (turns is None or position.turn in turns)

        with self._changed:
            ended = sorted(filter(is_meant, self._waiting))
            self._waiting = [p for p in self._waiting if not is_meant(p)]
            heapq.heapify(self._waiting)
            if self._current is not None and is_meant(self._current):
                self._current.is_terminated = True
                self.engine.interrupt()
        for position in ended:
            self._tell(nothing(position.query, position.turn))

    # -- the searching side ---------------------------------------------------------------------

    def _work(self) -> None:
        """Search the waiting positions, one after another, until the end of the input."""
        while True:
            with self._changed:
                self._current = None
                self._changed.wait_for(lambda: self._waiting or self._is_ended)
                if not self._waiting:
                    return
                self._current = heapq.heappop(self._waiting)
            query, turn = self._current.query, self._current.turn
            try:
                self._search(self._current)
            except AbandonedError:
                return
            except (QueryError, AzcoreError) as error:
                self._tell_author(error)
                self._tell({"error": str(error), "id": query.id, "turnNumber": turn})
            except BrokenPipeError:
                return
            except Exception as error:  # a bug in azcore: other queries can continue
                sys.excepthook(type(error), error, error.__traceback__)
                self._tell({"error": f"internal error: {error!r}", "id": query.id})

    def _search(self, position: _Position) -> None:
        query, turn = position.query, position.turn
        self.engine.change_game(**query.game.settings)
        thinker = self.engine.thinker
        if not self._is_warm:  # compile outside a query's time
            thinker.think(Limits(simulations=1))
            self._is_warm = True
        thinker.set_line(query.lines[turn])
        thinker.forget()  # no other query affects the answer

        def report(thought: Thought) -> None:
            self._tell(answer(query, turn, thought, is_during_search=True))

        tell: Report | None = None if query.report_seconds is None else report
        limits = query.limits(turn, self.engine.settings.num_simulations)
        with self._changed:  # a termination arrives before this or stops the search started here
            if position.is_terminated:
                self._tell(nothing(query, turn))
                return
            thinker.start(
                limits,
                tell,
                report_seconds=query.report_seconds,
                predictions=self._predictions(query),
            )
        self._tell(answer(query, turn, thinker.wait(), is_during_search=False))

    def _predictions(self, query: Query) -> int | None:
        """How many moves to predict besides the root; None: not even the root."""
        if "score" in self.engine.predictable or query.moves_ownership:
            return MANY
        return 0 if query.ownership else None
