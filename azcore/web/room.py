"""One visitor's game, and the requests that change it."""

import contextlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from azcore.assembly.web_settings import WebSettings
from azcore.engine.server import Loaded
from azcore.engine.settings import EngineSettings
from azcore.engine.thinker import Thinker
from azcore.engine.thought import Limits, Line, Thought, shared_plies
from azcore.errors import AzcoreError
from azcore.game import Game
from azcore.game.contract import require_legal
from azcore.search.settings import SearchSettings
from azcore.storage.transcripts import formats_of
from azcore.web import view
from azcore.web.files import Kept, file_message, paste, tree_message, tree_of_request
from azcore.web.levels import (
    DRAWN,
    Strength,
    Way,
    describe_levels,
    evaluator_for,
    search_for,
    strength,
)
from azcore.web.players import Players, describe_game, title_of_game
from azcore.web.requests import (
    LONGEST_TEXT,
    Handlers,
    Later,
    RefusedError,
    Tell,
    dispatch,
    line_of_request,
    ply_of,
    seat_of,
    text_of,
)
from azcore.web.review import Judged, Review, up_to

LAYERS = ("none", "visits", "prior", "line", "owner")
ROOT_ALONE = 0  # overlays that show the network's prediction, not an action
WATCHED = 1.2  # least seconds a move when the engine plays itself
MOST_REVIEWED = 800  # simulations of each position of a review; fewer if the engine has fewer
SPARING = 8  # factor on the time between two reports when the page has used up its share


@dataclass(frozen=True)
class _Decided:
    """The action that a search chose, None after a hint; no page can send this."""

    turn: int
    action: int | None


class _Warm:
    """The engine has searched once, so its next answer is fast; no page can send this."""


class Room:
    """A game, its engine and what the visitor wants to see.

    One thread at a time calls `do`. The engine's thread calls `send`, and `later` with its
    decision, which must come back through `do`. Before the game changes, `_stop` waits for that
    thread, so that no result is applied to another position.

    Args of the constructor:
        engine: how engines think; the numbers of `settings`, the page's, replace some of its own.
        later: queues something behind the page's requests.
    """

    def __init__(
        self,
        *,
        players: Players,
        search: SearchSettings,
        engine: EngineSettings,
        settings: WebSettings,
        send: Tell,
        later: Later,
    ) -> None:
        self._players, self._search, self._settings = players, search, settings
        self._engine = replace(
            engine,
            max_simulations=settings.max_simulations,
            memory_mb=settings.memory_mb,
            report_seconds=settings.report_seconds,
        )
        self._send, self._later = send, later
        self._thinker: Thinker | None = None
        self._noisy: dict[Way, Thinker] = {}  # of levels that change the policy
        self._loaded: Loaded | None = None
        self._line: Line | None = None
        self._review: Review | None = None
        self._ply = 0  # of the position shown
        self._people: tuple[int, ...] = (0,)
        self._has_network = False
        self._strengths = [self._strength(str(settings.num_simulations))] * 2  # of the seats
        self._resigned: int | None = None
        self._values: dict[int, float] = {}  # of positions by ply, view of seat 0
        self._flip = self._letters = self._analyses = False
        self._layer = "visits"
        self._is_paused = False  # when nobody plays
        self._hurry = threading.Event()  # ends the wait before a move that no person waits for
        self._turn = 0  # counts searches, to recognise the answer of an old one
        self._hints = False  # whether the visitor asked for the search
        self._shown: Thought | None = None

    def do(self, request: object) -> None:
        """Execute a request; an error becomes a message to the page."""
        try:
            if isinstance(request, _Decided):
                self._decided(request)
            elif isinstance(request, Judged):
                if request.review is self._review:
                    request.review.judge(request)
            elif isinstance(request, _Warm):
                self._send({"what": "warm"})
            else:
                dispatch(self._handlers, request, self._thinker is not None, "no game is open")
        except AzcoreError as error:
            self._send({"what": "error", "message": str(error)})

    def close(self) -> None:
        """Stop thinking and drop the trees."""
        self._stop()
        self._end_review()

    @property
    def _handlers(self) -> Handlers:
        """The function for each request; an attribute would keep the room and its tree alive."""
        return {
            "open": self._open,
            "play": self._play,
            "jump": self._jump,
            "undo": self._undo,
            "look": self._look,
            "seats": self._sit,
            "pause": self._pause,
            "analyse": self._analyse,
            "hint": self._hint,
            "point": self._point,
            "resign": self._resign,
            "review": self._begin_review,
            "try": self._try,
            "why": self._why,
            "load": self._load,
            "save": self._save,
        }

    # -- requests ---------------------------------------------------------------------------------

    def _open(self, request: Mapping[str, Any]) -> None:
        """Start a game, or restore one from the page: start, moves, ply, resignation."""
        name = text_of(request, "player", 1000)
        entry = self._players.entry(name)
        self._send({"what": "busy", "message": f"loading {entry.title}"})
        loaded = self._players.load(name)
        game, _, predictor = loaded
        thinker = self._thinker_of(loaded, self._engine)
        line = line_of_request(game, request)
        ply = ply_of(request.get("ply", len(line.actions)), line)
        resigned = seat_of(request.get("resigned"))
        tree = tree_of_request(request, line)
        people = _seats(request.get("people", [0]))
        self._set_view(request)
        strengths = self._strengths_of(request, entry.group != "search")
        self._analyses = bool(request.get("on"))
        self.close()
        self._thinker, self._loaded, self._people = thinker, loaded, people
        self._has_network, self._strengths, self._noisy = entry.group != "search", strengths, {}
        self._send(
            {
                "what": "opened",
                "player": name,
                "title": title_of_game(game.name, game.settings),
                "settings": describe_game(game),
                "who": entry.player,
                "seats": list(game.seat_names),
                "colours": view.colours(game),
                "formats": list(formats_of(game)),
                "predicts": sorted(predictor.predicts) if predictor is not None else [],
                "levels": describe_levels(self._has_network),
                "hasBoard": game.has_board,
                "warm": self._players.is_warm(loaded),
            }
        )
        self._send(tree_message(tree))
        self._take(line, ply, None if line.is_over else resigned)
        self._warm(loaded)

    def _thinker_of(
        self, loaded: Loaded, settings: EngineSettings, search: SearchSettings | None = None
    ) -> Thinker:
        game, evaluator, predictor = loaded
        return Thinker(
            game=game,
            evaluator=evaluator,
            search=search or self._search,
            settings=settings,
            predictor=predictor,
        )

    def _warm(self, loaded: Loaded) -> None:
        """Search once in advance, so that a player's first move need not wait for compilation."""
        if self._players.is_warm(loaded):
            return
        few = 2 * self._engine.leaves_per_tree
        thinker = self._thinker_of(loaded, replace(self._engine, max_simulations=max(few, 64)))
        later = self._later

        def search() -> None:
            thinker.think(Limits(simulations=few), predictions=ROOT_ALONE)

        self._players.warm(loaded, search, lambda: later(_Warm()))

    def _play(self, request: Mapping[str, Any]) -> None:
        line, game = self._here(), self._game
        text = game.state_to_text(line.state)
        if request.get("ply") != self._ply or request.get("text", text) != text:
            return  # a click on an outdated picture
        if self._resigned is not None and self._at_end:
            raise RefusedError("the game is over; take a move back or start a new game")
        if not self._may_move():
            raise RefusedError("it is the engine's turn")
        if line.is_over:
            raise RefusedError("the game is over; take a move back or start a new game")
        action = request.get("action")
        if type(action) is not int:
            raise RefusedError(f"an action must be a whole number, got {str(action)[:40]!r}")
        line.play(require_legal(game, line.state, action))
        self._keep(line)
        self._show()

    def _jump(self, request: Mapping[str, Any]) -> None:
        """Show another position of the line, or of another line from the same start."""
        if "moves" in request:
            start = self._whole.start_text
            line = line_of_request(self._game, {"start": start, "moves": request["moves"]})
            ply, resigned = ply_of(request.get("ply"), line), seat_of(request.get("resigned"))
            self._take(line, ply, None if line.is_over else resigned)
            return
        ply = ply_of(request.get("ply"), self._whole)
        self._stop()
        self._ply = ply
        self._show()

    def _undo(self, _: Mapping[str, Any]) -> None:
        """Take back a resignation, or the moves since a person's last decision."""
        if not self._at_end:
            raise RefusedError("only the last move can be taken back; go to the last position")
        line = self._here()
        if self._resigned is not None:
            self._keep(line)
            self._show()
            return
        if not line.actions:
            raise RefusedError("there is no move to take back")
        line.undo()
        while line.actions and self._people and line.player not in self._people:
            line.undo()
        self._keep(line)
        self._show()

    def _look(self, request: Mapping[str, Any]) -> None:
        self._set_view(request)
        self._send_position()
        if self._shown is not None:
            self._send_thought(self._shown)

    def _sit(self, request: Mapping[str, Any]) -> None:
        people = _seats(request.get("people"))
        self._strengths = self._strengths_of(request, self._has_network)
        self._people, self._is_paused = people, False
        self._show()

    def _pause(self, request: Mapping[str, Any]) -> None:
        """Pause or resume the game that the engine plays against itself."""
        self._is_paused = bool(request.get("on", True))
        self._show()

    def _set_view(self, request: Mapping[str, Any]) -> None:
        """Set the side from which the page shows the board, and the overlay."""
        layer = request.get("layer", self._layer)
        if layer not in LAYERS:
            raise RefusedError(f"layer must be one of {', '.join(LAYERS)}")
        self._layer = layer
        self._flip = bool(request.get("flip", self._flip))
        self._letters = bool(request.get("letters", self._letters))

    def _strengths_of(self, request: Mapping[str, Any], has_network: bool) -> list[Strength]:
        """The strengths in a request, one for each seat; without any, the current ones."""
        texts = request.get("strengths") or [strength.text for strength in self._strengths]
        if not isinstance(texts, list) or len(texts) != 2:
            raise RefusedError(f"strengths must be two texts, got {str(texts)[:40]!r}")
        return [self._strength(text, has_network) for text in texts]

    def _strength(self, text: object, has_network: bool = True) -> Strength:
        most, seconds = self._settings.max_simulations, self._settings.most_seconds
        return strength(text, has_network, most, seconds)

    @property
    def _simulations(self) -> int:
        """For a hint or a position of a review: those of the stronger seat, or the default."""
        numbers = [strength.limits.simulations or 0 for strength in self._strengths]
        return max(self._settings.num_simulations, *numbers)

    def _analyse(self, request: Mapping[str, Any]) -> None:
        self._analyses = bool(request.get("on"))
        self._think()

    def _hint(self, _: Mapping[str, Any]) -> None:
        """Think once as the engine would, and show the result without playing it."""
        if self._here().is_over:
            raise RefusedError("the game is over")
        if self._is_engines_turn():
            raise RefusedError("a hint is available only on your turn")
        self._begin("hint")

    def _point(self, request: Mapping[str, Any]) -> None:
        """Show the expected line of one action of the table."""
        shown = self._shown
        if shown is None:
            return
        lines = {variation.action: variation.actions for variation in shown.variations}
        action = request.get("action")
        line = lines.get(action) if type(action) is int else None
        if line is not None:
            drawn = view.line_overlay(self._game, shown.state, line, self._flip)
            self._send({"what": "line", "ply": self._ply, "overlay": drawn})

    def _resign(self, _: Mapping[str, Any]) -> None:
        line = self._whole
        if line.is_over or self._resigned is not None:
            raise RefusedError("the game is over already")
        self._keep(line)
        self._resigned = line.player if line.player in self._people else 1 - line.player
        self._show()

    def _begin_review(self, request: Mapping[str, Any]) -> None:
        """Start or stop a review of every position of the game."""
        self._end_review()
        if not request.get("on", True):
            return
        if not self._whole.actions:
            raise RefusedError("there are no moves to review")
        self._review = self._new_review()
        self._review.search_next()

    def _new_review(self) -> Review:
        assert self._loaded is not None
        simulations = min(self._simulations, MOST_REVIEWED)
        room = min(self._engine.max_simulations, 4 * simulations + self._engine.leaves_per_tree)
        return Review(
            self._thinker_of(self._loaded, replace(self._engine, max_simulations=room)),
            self._whole.copy(),
            simulations,
            self._send,
            self._later,
        )

    def _end_review(self) -> None:
        if self._review is not None:
            self._review.close()
        self._review = None

    def _try(self, request: Mapping[str, Any]) -> None:
        """Judge a move that the visitor would have played; the game does not change."""
        ply, action = ply_of(request.get("ply"), self._whole), request.get("action")
        chance = request.get("chance")
        if not isinstance(chance, int | float) or not 0 <= chance <= 1:
            raise RefusedError(f"chance must be 0 to 1, got {str(chance)[:40]}")
        state = self._whole.states[ply]
        if type(action) is not int or self._game.is_terminal(state):
            raise RefusedError(f"action {str(action)[:40]!r} is not legal there")
        action = require_legal(self._game, state, action)
        if self._review is None:
            self._review = self._new_review()
            self._review.is_whole = False
        self._review.attempt(ply, action, float(chance))

    def _why(self, request: Mapping[str, Any]) -> None:
        """Show the position after some moves of a variation."""
        ply, actions = ply_of(request.get("ply"), self._whole), request.get("actions")
        if not isinstance(actions, list) or len(actions) > view.PLIES:
            raise RefusedError(f"actions must be a list of at most {view.PLIES} actions")
        line = up_to(self._whole, ply)
        for action in actions:
            if type(action) is not int or line.is_over:
                raise RefusedError(f"action {str(action)[:40]!r} is not legal there")
            line.play(require_legal(self._game, line.state, action))
        self._stop()
        shown = view.position(self._game, line, flip=self._flip, letters=self._letters)
        texts = view.notations(self._game, line.states, line.actions)[ply:]
        self._send({"what": "why", **shown, "ply": ply, "texts": texts})

    def _load(self, request: Mapping[str, Any]) -> None:
        """Load a pasted game or position in any format."""
        text = text_of(request, "text", LONGEST_TEXT).strip()
        pasted = paste(self._game, text)
        self._stop()  # a thought of the earlier position has no place in the new tree
        self._send(tree_message(pasted.kept))
        line = pasted.kept[0].line
        self._take(line, len(line.actions))
        if pasted.notes:
            self._send({"what": "error", "message": pasted.notes})

    def _save(self, request: Mapping[str, Any]) -> None:
        """Send the file of the request's tree, or of the line alone."""
        kept = tree_of_request(request, self._whole) or [Kept(self._whole, self._resigned)]
        self._send(file_message(kept, request.get("format"), self._people))

    def _decided(self, decided: _Decided) -> None:
        """Play the engine's decision, unless the game has changed since."""
        if decided.turn != self._turn:
            return
        if decided.action is None:
            self._think()  # resume the analysis, if it is on
            return
        line = self._here()
        line.play(decided.action)
        self._keep(line)
        self._show()

    # -- the game -------------------------------------------------------------------------------

    @property
    def _game(self) -> Game:
        assert self._thinker is not None
        return self._thinker.game

    @property
    def _whole(self) -> Line:
        assert self._line is not None
        return self._line

    @property
    def _at_end(self) -> bool:
        return self._ply == len(self._whole.actions)

    def _here(self) -> Line:
        """The line up to the position shown, as a copy."""
        return up_to(self._whole, self._ply)

    def _take(self, line: Line, ply: int, resigned: int | None = None) -> None:
        """Replace the game."""
        self.close()
        self._line, self._ply = line, ply
        self._values, self._resigned = {}, resigned
        self._show()

    def _keep(self, line: Line) -> None:
        """Continue the game from a position, perhaps an earlier one."""
        self._stop()
        same = shared_plies(self._whole.actions, line.actions)
        if same < max(len(line.actions), len(self._whole.actions)):
            self._end_review()
        self._values = {ply: value for ply, value in self._values.items() if ply <= same}
        self._line, self._ply, self._resigned = line, len(line.actions), None

    def _may_move(self) -> bool:
        """Whether a person may move here: on their turn, and in any past position."""
        return not self._is_engines_turn() and not (self._is_paused and self._at_end)

    def _is_engines_turn(self) -> bool:
        line = self._here()
        over = line.is_over or self._resigned is not None
        rests = self._is_paused and not self._people
        return self._at_end and not over and not rests and line.player not in self._people

    # -- showing and thinking -------------------------------------------------------------------

    def _show(self) -> None:
        self._stop()
        self._shown = None
        self._send_position()
        self._think()

    def _send_position(self) -> None:
        game, line = self._game, self._here()
        whole = self._whole
        shown = view.position(game, line, flip=self._flip, letters=self._letters)
        if self._resigned is not None and self._at_end:
            names = game.seat_names
            loser = self._resigned
            shown["over"] = f"{names[loser]} resigns, {names[1 - loser]} wins"
        self._send(
            {
                "what": "position",
                **shown,
                "ply": self._ply,
                "moves": view.notations(game, whole.states, whole.actions),
                "texts": view.texts(game, whole.states, whole.actions),
                "actions": whole.actions,
                "movers": view.movers(game, whole.states),
                "start": whole.start_text,
                "values": self._known_values(),
                "resigned": self._resigned,
                "isOver": whole.is_over or self._resigned is not None,
                "people": list(self._people),
                "strengths": [strength.text for strength in self._strengths],
                "mayMove": self._may_move() and not shown["over"],
                "engine": self._is_engines_turn(),
                "paused": self._is_paused,
                "flip": self._flip,
            }
        )

    def _known_values(self) -> list[float | None]:
        """The known value of each position; the result is that of the last."""
        line = self._whole
        values = [self._values.get(ply) for ply in range(len(line.actions) + 1)]
        if self._resigned is not None:
            values[-1] = 1.0 if self._resigned == 1 else -1.0
        elif line.is_over:
            values[-1] = float(self._game.outcome(line.state))
        return values

    def _think(self) -> None:
        """Start the engine if it has something to do in this position."""
        if self._is_engines_turn():
            self._begin("move")
        elif self._analyses and not self._here().is_over:
            self._begin("analysis")
        else:
            self._stop()

    def _stop(self) -> None:
        self._turn += 1
        self._hurry.set()
        for thinker in filter(None, (self._thinker, *self._noisy.values())):
            with contextlib.suppress(Exception):  # of a failed search; the page got the error
                thinker.stop()

    def _begin(self, purpose: str) -> None:
        self._stop()
        line, turn = self._here(), self._turn
        own = self._strengths[line.player]
        way, limits = own.way, own.limits
        if purpose == "analysis":
            way, limits = None, Limits()
        elif purpose == "hint":
            way, limits = None, Limits(simulations=self._simulations, forced_wins=True)
        thinker = self._thinker_for(way)
        self._hurry = hurry = threading.Event()
        watches = purpose == "move" and not self._people
        began = time.monotonic()
        self._hints = purpose != "move"
        shows = self._hints or self._analyses  # a table, with points where it has them
        predicts = () if thinker.predictor is None else thinker.predictor.predicts
        thinker.set_line(line)
        if way is not None:
            thinker.forget()  # earlier searches must not strengthen a level

        def report(thought: Thought) -> None:
            if way is None or way.noise < DRAWN:
                self._report(thought, turn)

        def done(thought: Thought) -> None:
            report(thought)
            best = thought.best
            if watches:  # slow enough to follow
                hurry.wait(max(0.0, began + WATCHED - time.monotonic()))
            if purpose == "move" and best is not None:
                self._later(_Decided(turn, best.action))
            if purpose == "hint":
                self._later(_Decided(turn, None))

        def failed(error: Exception) -> None:
            self._send({"what": "error", "message": f"the engine stopped: {error}"})

        rest = self._settings.report_seconds
        if self._players.pace is not None and self._players.pace.is_behind:
            rest *= SPARING  # everyone's simulations take priority
        thinker.start(
            limits,
            on_report=report,
            on_done=done,
            on_error=failed,
            report_seconds=rest,
            predictions=view.ROWS if shows and "score" in predicts else ROOT_ALONE,
        )

    def _thinker_for(self, way: Way | None) -> Thinker:
        """The thinker for this strength; levels that change the policy have their own trees."""
        assert self._thinker is not None
        assert self._loaded is not None
        if way is None or not way.noise:
            return self._thinker
        if way not in self._noisy:
            game, evaluator, _ = self._loaded
            room = way.simulations + max(64, 2 * self._engine.leaves_per_tree)
            self._noisy[way] = self._thinker_of(
                Loaded(game, evaluator_for(way, game, evaluator, self._has_network)),
                replace(self._engine, max_simulations=room),
                search_for(way, self._search),
            )
        return self._noisy[way]

    def _report(self, thought: Thought, turn: int) -> None:
        """Show the state of a search; on the engine's thread, which `_stop` waits for."""
        if turn != self._turn:
            return
        self._shown = thought
        self._send_thought(thought)

    def _send_thought(self, thought: Thought) -> None:
        # The engine's thoughts would give away its own move.
        is_asked = self._hints or self._analyses
        layer = self._layer if is_asked else "none"
        plain = view.thought(self._game, thought, layer=layer, flip=self._flip)
        self._values[self._ply] = plain["value"]
        self._send({"what": "thought", "ply": self._ply, "asked": is_asked, **plain})


def _seats(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or any(type(s) is not int or s not in (0, 1) for s in value):
        raise RefusedError("people must be a list of seats, each 0 or 1")
    return tuple(sorted(set(value)))
