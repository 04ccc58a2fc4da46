"""Reads the queries of KataGo's JSON analysis protocol; `analysis_server.py` answers them.

A query is one JSON object on one line. The fields, their ranges and the wording of errors are
KataGo's (its docs/Analysis_Engine.md), so that its clients understand them. Everything that depends
on the game comes from its contract: settings, named rules, texts of actions, SGF for stones set up.
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from azcore.engine.gtp_analysis import considered
from azcore.engine.gtp_game import PASS, TROMP_TAYLOR
from azcore.engine.gtp_words import NAMED_RULES, rules_name, seats_by_word, sgf_format
from azcore.engine.thought import Limits, Line
from azcore.errors import AzcoreError
from azcore.game import Game, Setting

VIEWS = ("BLACK", "WHITE", "SIDETOMOVE")
MOST_VISITS, MOST_PRIORITY = 2**50, 2**62
RULES_WANTED = (
    'Must specify rules string, such as "chinese" or "tromp-taylor", or a JSON object with '
    "detailed rules parameters."
)
MOVES_WANTED = 'Must be an array of pairs of the form: ["b" or "w", GTP board vertex]'
RULED_MOVES_WANTED = "Must be a list of dicts with subfields 'player', 'moves', 'untilDepth'"


class QueryError(Exception):
    """An error in a query, if possible in KataGo's words, and the name of the field at fault."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


@dataclass(kw_only=True)
class Query:
    """Positions of one game to analyse, and what to report about them."""

    id: str
    game: Game
    lines: dict[int, Line]  # by turn
    priorities: dict[int, int]  # by turn
    visits: int | None = None
    seconds: float | None = None
    report_seconds: float | None = None  # None: report only the end
    pv_length: int = 15  # moves after the first one
    view: str = "BLACK"
    ownership: bool = False
    moves_ownership: bool = False
    policy: bool = False
    rules: list[tuple[bool, int, list[str]]] = field(default_factory=list)  # allowed?, seat, moves
    warnings: list[tuple[str, str]] = field(default_factory=list)  # of a field

    def limits(self, turn: int, visits: int) -> Limits:
        """When to stop at one turn; `visits` is the default.

        Raises:
            QueryError: `allowMoves` or `avoidMoves` leave no move.
        """
        actions = self._considered(self.lines[turn])
        return Limits(simulations=self.visits or visits, seconds=self.seconds, actions=actions)

    def _considered(self, line: Line) -> tuple[int, ...]:
        left = [] if line.is_over else considered(self.rules, line, _action)
        if left is None:
            raise QueryError(
                "allowMoves" if self.rules[0][0] else "avoidMoves", "No legal move is left"
            )
        return tuple(left)


def _action(line: Line, text: str) -> int:
    """The legal action that a text means; -1: none."""
    try:
        return line.game.text_to_action(line.state, text)
    except AzcoreError:
        return -1


def read_query(body: dict[str, Any], base: Game, game_with: Callable[..., Game]) -> Query:
    """The query of a JSON object.

    Args:
        body: the query's fields, with an `id`.
        game_with: makes `base` with other settings; raises AzcoreError if the network does not fit.

    Raises:
        QueryError: a field is missing or has an impossible value, or a move is illegal.
    """
    return _Reader(body, base, game_with).query()


class _Reader:
    """Reads one query field by field, and tracks which ones it has read."""

    def __init__(self, body: dict[str, Any], base: Game, game_with: Callable[..., Game]) -> None:
        self._body, self._base, self._game_with = body, base, game_with
        self._left = {name: None for name in body if name not in ("id", "action")}
        self._warnings: list[tuple[str, str]] = []

    def query(self) -> Query:
        game = self._game()
        moves = self._moves("moves")
        turns = self._turns(len(moves))
        priorities = self._priorities(turns)
        query = Query(
            id=self._body["id"],
            game=game,
            lines=self._lines(game, moves, turns),
            priorities=priorities,
            warnings=self._warnings,
        )
        query.visits = self._whole("maxVisits", 1, MOST_VISITS, "Must be an integer from 1 to 2^50")
        pv = self._whole("analysisPVLen", 1, 1000, "Must be an integer from 1 to 1000")
        query.pv_length = pv or query.pv_length
        query.report_seconds = self._number(
            "reportDuringSearchEvery",
            (0.001, 1e6),
            "Must be number of seconds from 0.001 to 1000000.0",
        )
        query.ownership = self._flag("includeOwnership")
        query.moves_ownership = self._flag("includeMovesOwnership")
        query.policy = self._flag("includePolicy")
        query.rules = self._ruled_moves()
        self._override(query)
        for name in self._left:
            self._warnings.append((name, "Unexpected or unused field"))
        return query

    def _take(self, name: str) -> Any:
        self._left.pop(name, None)
        return self._body.get(name)

    def _whole(self, name: str, least: int, most: int, wanted: str) -> int | None:
        value: int | None = self._take(name)
        if name in self._body and not (type(value) is int and least <= value <= most):
            raise QueryError(name, wanted)
        return value

    def _number(self, name: str, between: tuple[float, float], wanted: str) -> float | None:
        value: float | None = self._take(name)
        if name in self._body and not (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and between[0] <= value <= between[1]
        ):
            raise QueryError(name, wanted)
        return value

    def _flag(self, name: str) -> bool:
        value = self._take(name)
        if name in self._body and type(value) is not bool:
            raise QueryError(name, "Must be a boolean")
        return bool(value)

    # -- the game -------------------------------------------------------------------------------

    def _game(self) -> Game:
        base = self._base
        settings: dict[str, Setting] = {**self._size(), **self._rules()}
        wanted = "Must be a integer or half-integer from -150.0 to 150.0"
        komi = self._number("komi", (-150, 150), wanted)
        if komi is not None and komi * 2 != int(komi * 2):
            raise QueryError("komi", wanted)
        if komi is not None and "komi" in base.settings:
            settings["komi"] = float(komi)
        elif komi:
            self._warnings.append(("komi", f"{base.name} has no komi"))
        try:
            return self._game_with(**settings)
        except AzcoreError as error:
            name = "komi" if "komi" in str(error) else "boardXSize"
            raise QueryError(name, str(error)) from error

    def _size(self) -> dict[str, Setting]:
        sizes: list[Any] = []
        has_sizes = "board_size" in self._base.settings
        for name in ("boardXSize", "boardYSize"):
            size = self._whole(name, 2, 19, "Must provide an integer from 2 to 19")
            if size is None and has_sizes:
                raise QueryError(name, "Must provide an integer from 2 to 19")
            sizes.append(size)
        if has_sizes:
            if sizes[0] != sizes[1]:
                raise QueryError("boardYSize", f"Must be boardXSize, which is {sizes[0]}")
            return {"board_size": sizes[0]}
        height, width = self._base.observation_shape[1:]
        if sizes not in ([None, None], [width, height]):
            raise QueryError("boardXSize", f"{self._base.name} has only one board")
        return {}

    def _rules(self) -> dict[str, Setting]:
        """The settings for the requested rules; warns of unsupported ones."""
        now, given = self._base.named_rules(), self._take("rules")
        if not now:
            if given is not None:
                self._warnings.append(("rules", f"{self._base.name} has no named rules"))
            return {}
        name = rules_name(given) if isinstance(given, str) else ""
        if name in NAMED_RULES:
            wanted: dict[str, Any] = {"suicide": NAMED_RULES[name]}
            is_agreed = name == "tromptaylor" and TROMP_TAYLOR.keys() == now.keys()
        elif isinstance(given, dict):
            wanted = {name: value for name, value in given.items() if name in now}
            is_agreed = all(
                name in self._base.settings or str(value).upper() == str(now[name]).upper()
                for name, value in given.items()
                if name in now
            )
            if len(wanted) < len(given):
                raise QueryError("rules", f"Could not parse rules: {json.dumps(given)[:200]}")
        elif isinstance(given, str):
            raise QueryError("rules", f"Could not parse rules: {given[:200]}")
        else:
            raise QueryError("rules", RULES_WANTED)
        settings = {name: wanted[name] for name in wanted if name in self._base.settings}
        if not is_agreed:
            ours = json.dumps({**now, **settings})
            text = given if isinstance(given, str) else json.dumps(given)
            self._warnings.append(
                ("rules", f"Rules {text} not supported by neural net, using {ours} instead")
            )
        return settings

    # -- its moves ------------------------------------------------------------------------------

    def _seat(self, name: str, word: Any, wanted: str = 'Must be "b" or "w"') -> int:
        """The seat that a word names."""
        seat = seats_by_word(self._base).get(word.lower()) if isinstance(word, str) else None
        if seat is None:
            raise QueryError(name, wanted)
        return seat

    def _moves(self, name: str) -> list[tuple[int, str]]:
        """Seats and texts of `moves` or `initialStones`."""
        pairs = self._take(name)
        if name not in self._body:
            if name == "moves":
                raise QueryError(name, "Must specify an array of [player,location] pairs")
            return []
        if not isinstance(pairs, list):
            raise QueryError(name, MOVES_WANTED)
        moves = []
        for pair in pairs:
            two = isinstance(pair, list) and len(pair) == 2
            if not two or not all(isinstance(word, str) for word in pair):
                raise QueryError(name, MOVES_WANTED)
            player, text = pair
            moves.append((self._seat(name, player, f"Could not parse player: {player[:20]}"), text))
        return moves

    def _turns(self, last: int) -> list[int]:
        turns = self._take("analyzeTurns")
        if "analyzeTurns" not in self._body:
            return [last]
        if not isinstance(turns, list) or not all(type(turn) is int for turn in turns):
            raise QueryError(
                "analyzeTurns", "Must specify an array of integers indicating turns to analyze"
            )
        if not turns:
            raise QueryError("analyzeTurns", "Must specify at least one turn, got []")
        for turn in turns:
            if not 0 <= turn <= last:
                raise QueryError("analyzeTurns", f"Invalid turn number: {turn}")
        return turns

    def _priorities(self, turns: list[int]) -> dict[int, int]:
        each = self._take("priorities")
        one = self._whole(
            "priority", -MOST_PRIORITY, MOST_PRIORITY, "Must be a number between -2^62 and 2^62"
        )
        if each is None:
            return dict.fromkeys(turns, one or 0)
        if one is not None:
            raise QueryError("priority", "Cannot specify both priority and priorities")
        if "analyzeTurns" not in self._body:
            raise QueryError("priorities", "Can only specify when also specifying analyzeTurns")
        if not isinstance(each, list) or not all(type(priority) is int for priority in each):
            raise QueryError(
                "priorities", "Must specify an array of integers indicating priorities"
            )
        if len(each) != len(turns):
            raise QueryError("priorities", "Must be of matching length to analyzeTurns")
        return dict(zip(turns, each, strict=True))

    def _lines(self, game: Game, moves: list[tuple[int, str]], turns: list[int]) -> dict[int, Line]:
        """The game so far at each turn."""
        line = self._start(game, moves)
        lines = {0: line.end()}  # without earlier states: hundreds of queries may wait
        for number, (seat, text) in enumerate(moves):
            try:
                if line.player != seat and not line.is_over:  # as in GTP, the other side passes
                    line.play(game.text_to_action(line.state, PASS))
                line.play(game.text_to_action(line.state, text))
            except AzcoreError as error:
                message = f"Illegal move {number}: {text[:40]}"
                raise QueryError("moves", message) from error
            if number + 1 in turns:
                lines[number + 1] = line.end()
        return {turn: lines[turn] for turn in dict.fromkeys(turns)}

    def _start(self, game: Game, moves: list[tuple[int, str]]) -> Line:
        stones = self._moves("initialStones")
        first = self._take("initialPlayer")
        if first is not None:
            seat = self._seat("initialPlayer", first)
        elif moves:
            seat = moves[0][0]
        else:  # after a handicap the other side begins
            seat = int(bool(stones) and all(owner == 0 for owner, _ in stones))
        if not stones and (seat == 0 or (moves and moves[0][0] == 0)):
            return Line(game)
        try:
            return Line(game, sgf_format(game).read(_sgf(game, stones, seat)).start_text)
        except AzcoreError as error:
            raise QueryError("initialStones" if stones else "initialPlayer", str(error)) from error

    def _ruled_moves(self) -> list[tuple[bool, int, list[str]]]:
        """`allowMoves` or `avoidMoves`; they apply to the first move."""
        both = {name: self._take(name) for name in ("allowMoves", "avoidMoves")}
        given = {name: rules for name, rules in both.items() if name in self._body}
        if len(given) == 2:
            raise QueryError("allowMoves", "Cannot specify both allowMoves and avoidMoves")
        found: list[tuple[bool, int, list[str]]] = []
        for name, rules in given.items():
            if not isinstance(rules, list) or not all(
                isinstance(rule, dict) and {"player", "moves", "untilDepth"} <= rule.keys()
                for rule in rules
            ):
                raise QueryError(name, RULED_MOVES_WANTED)
            if name == "allowMoves" and len(rules) > 1:
                raise QueryError(name, "Currently allowMoves only allows one entry")
            for rule in rules:
                moves, depth = rule["moves"], rule["untilDepth"]
                if not isinstance(moves, list) or not all(isinstance(move, str) for move in moves):
                    raise QueryError(name, "Must be an array of GTP board vertices")
                if type(depth) is not int or depth < 1:
                    raise QueryError(name, "Must be a positive integer")
                found.append((name == "allowMoves", self._seat(name, rule["player"]), moves))
        return found

    def _override(self, query: Query) -> None:
        """KataGo's settings that apply here."""
        given = self._take("overrideSettings")
        if given is None:
            return
        if not isinstance(given, dict):
            raise QueryError("overrideSettings", "Must be an object")
        others = []
        for name, value in given.items():
            if name == "reportAnalysisWinratesAs":
                if value not in VIEWS:
                    raise QueryError(
                        "overrideSettings",
                        f"Could not set settings: {name} must be {', '.join(VIEWS)}",
                    )
                query.view = value
            elif name == "maxTime":
                if type(value) not in (int, float) or not 0 < value < math.inf:
                    raise QueryError(
                        "overrideSettings", f"Could not set settings: {name} must be above 0"
                    )
                query.seconds = float(value)
            else:
                others.append(name)
        if others:
            self._warnings.append(
                ("overrideSettings", f"Unknown config params: {','.join(others)[:200]}")
            )


def _sgf(game: Game, stones: list[tuple[int, str]], seat: int) -> str:
    """An SGF game of stones set up, and who is to move."""
    height, width = game.observation_shape[1:]
    points: tuple[list[str], list[str]] = ([], [])
    for owner, vertex in stones:
        plain = re.fullmatch("([A-HJ-Za-hj-z])([0-9]{1,2})", vertex, re.ASCII)
        paired = re.fullmatch(r"\(([0-9]{1,2}),([0-9]{1,2})\)", vertex, re.ASCII)
        column, row = -1, -1
        if plain:
            column = "ABCDEFGHJKLMNOPQRSTUVWXYZ".index(plain[1].upper())
            row = height - int(plain[2])
        elif paired:
            column, row = int(paired[1]), int(paired[2])
        if not (0 <= column < width and 0 <= row < height):
            raise QueryError("initialStones", f"Could not parse board location: {vertex[:40]}")
        points[owner].append(f"[{chr(97 + column)}{chr(97 + row)}]")
    set_up = "".join(
        name + "".join(own) for name, own in zip(("AB", "AW"), points, strict=True) if own
    )
    return f"(;GM[1]SZ[{height}]{set_up}PL[{'BW'[seat]}])"
