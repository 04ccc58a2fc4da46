"""`check_game`: random games, and every identity of the contract on their positions.

Start with `_RandomGames.check_one`, which plays a game ply by ply and calls the checks in order.
"""

import json
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from azcore.game import CompiledGame, FloatArray, Game, texts_along
from azcore.testing.agreement import Batches, MappedGames, OracleGame
from azcore.testing.boards import Boards
from azcore.testing.checker import Checker
from azcore.testing.compiled import check_bounds, check_interpreted, interpreted
from azcore.testing.contract import ContractError, Identity, Report
from azcore.testing.ends import Signs, check_end
from azcore.testing.positions import Keys
from azcore.testing.random_play import random_plies
from azcore.testing.rules import check_over_or_legal, check_steady, check_steps, checked_step
from azcore.testing.texts import StateTexts, check_action_texts, check_nonsense
from azcore.testing.transcripts import Transcripts
from azcore.testing.view import SeatContrast, View, content, difference, view_of

# Identities that wrong rules break as well, although symmetries or texts are not at fault.
_FOLLOWS = frozenset(
    {
        *(Identity.SYMMETRY, Identity.VIEW, Identity.ACTION_TEXT, Identity.STATE_TEXT),
        *(Identity.KEY, Identity.ENDS, Identity.BOARD, Identity.ORACLE, Identity.GARBAGE),
    }
)
_LOOK_POSITIONS = 300  # in which to look for the cause of an error in the rules alone
_LOOK_SECONDS = 10.0  # at most
_REPEATED = 8  # replays of a game in which something went wrong
_MORE_ENDS = 300  # random games to check only at their ends,
_MORE_PLIES = 10  # with at most this many plies per checked position
_LAYERS = 5  # of these games, from which keys are compared
_DRAWN = 2 / 3  # share of drawn games above which wins are too few to judge by
_ENOUGH = 20  # random games, to doubt a result that all of them have
_INTERPRETED = 1 / 20  # share of positions; interpreted rules are a hundred times slower
_INTERPRETED_ENDS = 1 / 4  # share of terminal positions, the only ones with an outcome


def check_game(
    game: Game,
    *,
    num_positions: int = 2000,
    seconds: float = math.inf,
    seed: int = 0,
    oracle: Game | None = None,
    swap_colours: Callable[[str], str | None] | None = None,
    colour_planes: Collection[int] = (),
    note: Callable[[str, Sequence[str]], None] = lambda what, moves: None,
) -> Report:
    """Play random games and check every identity of the contract on their positions.

    The first game begins in the initial state, others in one of `Game.start_states`.

    The text of a state may hold less than the state. After reading it back, the game may allow a
    position that was forbidden as a repetition, if its placement (the text's first word) was on the
    board before.

    Args:
        num_positions: the least number to check; the last game continues to its end.
        seconds: start no position after this long, even in the middle of a game.
        seed: same seed, same games, same report.
        oracle: a second implementation of the same rules, played in parallel. It must agree on
            player, end and outcome, on legal actions by number (by text where `num_actions`
            differs) and, where the shapes are equal, on observations within 1e-6.
        swap_colours: maps a state's text to the text with the colours of all pieces and the player
            to move swapped (and the board turned, if the game shows it from the mover's side).
            Both states must have the same mask and the same observation. None: the game's own
            method, if it has one.
        colour_planes: planes that `swap_colours` may change, such as one for the seat to move.
        note: called with the game's next call, and the moves to the position.

    Raises:
        ContractError: an identity does not hold.
    """
    checker = Checker(game, np.random.default_rng(seed), note)
    _check_static_facts(checker)
    if swap_colours is None and game.has_swap_colours:
        swap_colours = game.swap_colours
    games = _RandomGames(
        checker,
        None if oracle is None else OracleGame(checker, oracle),
        StateTexts(checker, swap_colours, colour_planes),
        time.monotonic() + seconds,
    )
    while games.positions < num_positions and (games.in_time or not games.positions):
        games.check_one()
    games.check_more_ends(_MORE_PLIES * num_positions)
    return games.report()


def _check_static_facts(checker: Checker) -> None:
    """Check the fixed properties and the start of the game."""
    game, facts = checker.game, Identity.FACTS
    named = isinstance(game.name, str) and re.fullmatch("[a-z][a-z0-9_]*", game.name)
    checker.expect(facts, named, f"name is a lower-case word, got {game.name!r}")
    for name in ("version", "num_actions", "max_game_length", "observation_shape"):
        value = getattr(game, name)
        whole = all(type(part) is int for part in np.atleast_1d(np.array(value, object)))
        checker.expect(facts, whole, f"{name} must be whole, got {value!r}")
    finite = math.isfinite(game.dirichlet_alpha)
    checker.expect(facts, finite, f"dirichlet_alpha must be finite, got {game.dirichlet_alpha}")
    with checker.during(facts, "writing the settings as JSON"):
        read_back = json.loads(json.dumps(game.identity))
    checker.expect(facts, read_back == game.identity, f"settings are {game.settings!r}")
    pairs = [(tuple(s.cells.tolist()), tuple(s.actions.tolist())) for s in game.symmetries]
    moved = {pair for pair in pairs if any(list(p) != sorted(p) for p in pair)}
    what = f"{len(pairs)} symmetries, of which {len(moved)} are distinct and move something"
    checker.expect(facts, len(moved) == len(pairs), what)
    with checker.during(facts, "initial_state"):
        state = checker.state = game.initial_state()
    if isinstance(game, CompiledGame):
        check_bounds(checker, game, state)
    view = checker.look(state)
    ready = view.current_player == 0 and not view.is_terminal
    what = f"the initial state has seat {view.current_player}, terminal {view.is_terminal}"
    checker.expect(facts, ready, f"{what}, want seat 0 to move")
    check_nonsense(checker, state)


def _starts(checker: Checker) -> list[Any]:
    """The states of `start_states`, checked; None stands for the initial one."""
    game, facts, starts = checker.game, Identity.FACTS, []
    states = checker.ask(facts, "start_states")
    some = isinstance(states, Sequence) and len(states) > 0
    checker.expect(facts, some, f"start_states is a list of one or more, got {states!r:.80}")
    initial = checker.ask(Identity.STATE_TEXT, "state_to_text", game.initial_state())
    for state in states:
        checker.state = state
        if isinstance(game, CompiledGame):
            check_bounds(checker, game, state)
        over = checker.look(state).is_terminal
        checker.expect(facts, not over, "the game is over in one of start_states")
        text = checker.ask(Identity.STATE_TEXT, "state_to_text", state)
        starts.append(None if text == initial else state)
    checker.state = None
    return starts


def _text_or_number(game: Game, state: Any, action: int) -> str:
    try:
        return game.action_to_text(state, action)
    except Exception:  # this check does not examine texts
        return str(action)


class _RandomGames:
    """Checks random games one after another, and collects numbers for the report."""

    def __init__(
        self, checker: Checker, oracle: OracleGame | None, state_texts: StateTexts, deadline: float
    ) -> None:
        self.checker = checker
        self.deadline = deadline  # of time.monotonic()
        self.oracle = oracle
        self.state_texts = state_texts
        self.starts = _starts(checker)
        self.mapped = MappedGames(checker)
        self.batches = Batches(checker)
        self.keys = Keys(checker)
        self.boards = Boards(checker)
        self.transcripts = Transcripts(checker)
        self.signs = Signs(checker.game)
        self.interpreted = interpreted(checker.game)
        self.contrast = SeatContrast()
        self.ever_legal = np.zeros(checker.game.num_actions, np.bool_)
        self.known: dict[Any, tuple[Any, ...]] = {}  # see `check_steady`
        self.used_planes = np.zeros(checker.game.observation_shape[0], np.bool_)
        self.positions = 0
        self.ends = 0
        self.lengths: list[int] = []  # plies of each game
        self.legal_counts: list[int] = []  # of each position that is not terminal
        self.outcomes: Counter[int] = Counter()

    @property
    def in_time(self) -> bool:
        return time.monotonic() < self.deadline

    def check_one(self) -> None:
        """Play one game, to its end if time allows; check its positions and the whole game."""
        rng = self.checker.rng
        states: list[Any] = []
        views: list[View] = []
        start = None
        if self.positions > 0 and any(each is not None for each in self.starts):
            start = self.starts[int(rng.integers(len(self.starts)))]
        try:
            self._play(start, states, views)
        except ContractError as error:
            self._look_deeper(error, states, views)
            raise

    def _play(self, start: Any | None, states: list[Any], views: list[View]) -> None:
        """Play a game and check it, and append its states and their views to the lists."""
        checker, game, rng = self.checker, self.checker.game, self.checker.rng
        state = game.initial_state() if start is None else start
        checker.actions, checker.moves = [], []
        self.state_texts.begin()
        self.mapped.begin(start)
        self.boards.begin()
        if self.oracle is not None:
            self.oracle.begin(start)

        def position_here() -> tuple[Any, ...]:  # for `azcore.game.hangs`
            return game, first, checker.actions

        first = state
        handed_out: list[FloatArray] = []  # observations as returned, which must not change later
        while True:
            checker.state = state
            view = self._look(state)
            states.append(state)
            views.append(view)
            handed_out.append(game.observation(state))
            self._check_position(states, view)
            self.positions += 1
            self.used_planes |= view.observation.any(axis=(1, 2))
            if view.is_terminal or not self.in_time:
                break
            self._expect_to_end()
            self.legal_counts.append(int(view.legal_action_mask.sum()))
            self.ever_legal |= view.legal_action_mask
            action = int(rng.choice(np.flatnonzero(view.legal_action_mask)))
            if self.oracle is not None:
                self.oracle.step(state, action)
            self.mapped.step(action)
            successor = checked_step(checker, state, action, view)
            checker.actions.append(action)
            checker.moves.append(game.action_to_text(state, action))
            state = successor
        for ply, (given, view) in enumerate(zip(handed_out, views, strict=True)):
            kept = np.array_equal(given, view.observation)
            message = f"the observation of ply {ply} changed later"
            checker.expect(Identity.STEADY, kept, message)
        # Earlier views must still hold: states may share parts with their successors.
        for ply in rng.integers(len(states), size=4).tolist():
            what = f"the state of ply {ply}, at the end"
            checker.expect_same(Identity.UNTOUCHED, checker.look(states[ply]), views[ply], what)
        self.batches.check(states, views)
        self.contrast.note(views)
        if views[-1].is_terminal:
            self.lengths.append(len(checker.actions))
            self.outcomes[views[-1].outcome] += 1
            text = None if start is None else game.state_to_text(start)
            self.transcripts.check(checker.actions, text, views[-1])
        checker.state = None

    def _look(self, state: Any) -> View:
        """The first view of a state; compiled rules get guarded arrays before all other checks."""
        checker, game = self.checker, self.checker.game
        if not isinstance(game, CompiledGame):
            return checker.look(state)
        listed = check_bounds(checker, game, state)
        view = checker.look(state)
        legal = np.flatnonzero(view.legal_action_mask).tolist()
        checker.expect(Identity.MASK, listed == legal, f"{legal}, but the rules list {listed}")
        return view

    def _check_position(self, states: list[Any], view: View) -> None:
        """Check the last state of the current game: its rules first, then the rest."""
        checker, state = self.checker, states[-1]
        fields = content(state)
        check_over_or_legal(checker, view)
        if self.oracle is not None:
            self.oracle.check(state, view)
        check_steady(checker, state, view, self.known)
        check_steps(checker, state, view)
        # At random, since a fixed interval may match the length of the games; the first always.
        share = _INTERPRETED_ENDS if view.is_terminal else _INTERPRETED
        drawn = self.positions == 0 or checker.rng.random() < share
        if self.interpreted is not None and drawn:
            check_interpreted(checker, self.interpreted, state, view)
            self.keys.check_interpreted(state)
        check_action_texts(checker, state, view)
        self.state_texts.check(state, view)
        self.mapped.check(view)
        if view.is_terminal:
            check_end(checker, state, view, self.mapped.played)
            self.signs.note(state, view.outcome)
            self.ends += 1
        checker.expect(Identity.UNTOUCHED, content(state) == fields, "the record has changed")
        checker.expect_same(Identity.UNTOUCHED, checker.look(state), view, "looked at again")
        self.keys.check(states, view)
        self.boards.check(state, view)

    def _look_deeper(self, error: ContractError, states: list[Any], views: list[View]) -> None:
        """If an error in texts or symmetries comes from the rules, raise its cause.

        Wrong rules break symmetries and texts as well, often before the check that blames them
        finds the fault: interpreted rules are slow, so they check only some positions, and a rule
        may be wrong only in rare positions.
        """
        if error.identity in _FOLLOWS | {Identity.BATCH} and views:
            self._expect_repeatable(states[0], list(self.checker.actions))
        if error.identity not in _FOLLOWS:
            return
        checker, way, moves = self.checker, list(self.checker.actions), list(self.checker.moves)
        if self.interpreted is not None:
            for ply, (state, view) in enumerate(zip(states, views, strict=True)):
                checker.state, checker.actions, checker.moves = state, way[:ply], moves[:ply]
                check_interpreted(checker, self.interpreted, state, view)
        if error.identity is Identity.ORACLE:  # it is more specific than the rules' error
            return
        deadline = time.monotonic() + _LOOK_SECONDS
        looked = 0
        while looked < _LOOK_POSITIONS and time.monotonic() < deadline:
            looked += self._play_by_rules(deadline)

    def _expect_repeatable(self, start: Any, actions: list[int]) -> None:
        """Play the game again, with its images: results of chance or a cache sometimes differ."""
        checker, game = self.checker, self.checker.game
        for first, path in [(start, actions), *self.mapped.paths(start, actions)]:
            seen: list[View] = []
            for ply, state in self._again(first, path):
                view = view_of(game, state)
                if ply == len(seen):
                    seen.append(view)
                message = difference(view, seen[ply])
                if message is not None:
                    checker.state, checker.moves = state, texts_along(game, first, path[:ply])
                    what = "played again, these moves lead to another position"
                    checker.fail(Identity.STEADY, f"{what}: {message}")

    def _again(self, first: Any, path: list[int]) -> Iterator[tuple[int, Any]]:
        """Each ply and state of a game that is played several times."""
        for _ in range(_REPEATED):
            state = first
            yield 0, state
            for ply, action in enumerate(path, 1):
                try:
                    state = self.checker.game.step(state, action)
                except Exception:  # the current error reports it
                    break
                yield ply, state

    def check_more_ends(self, plies: int) -> None:
        """Play more games for their ends, and for the keys of positions a few actions away."""
        checker, game = self.checker, self.checker.game
        for number in range(_MORE_ENDS):
            if plies <= 0 or not self.in_time:
                return
            start = self.starts[int(checker.rng.integers(len(self.starts)))]
            first = game.initial_state() if start is None else start
            checker.state, checker.actions, checker.moves = None, [], []
            with checker.during(Identity.STEP, "a random game"):
                states = [first]
                for action, state in random_plies(game, checker.rng, first):
                    checker.actions.append(action)
                    states.append(state)
            plies -= len(states)
            checker.moves = texts_along(game, first, checker.actions)
            checker.state = state = states[-1]
            view = self._look(state)
            check_over_or_legal(checker, view)
            if self.interpreted is not None:
                check_interpreted(checker, self.interpreted, state, view)
            self.mapped.begin(start)
            self.mapped.play_one(checker.actions)
            self.mapped.check(view)
            check_end(checker, state, view, self.mapped.played)
            self.signs.note(state, view.outcome)
            self.ends += 1
            if number % (_MORE_ENDS // _LAYERS) == 0:
                ply = int(checker.rng.integers(len(states))) if number else 0
                checker.actions, checker.moves = checker.actions[:ply], checker.moves[:ply]
                self.keys.check_layers(states[ply])
        checker.state = None

    def _play_by_rules(self, deadline: float) -> int:
        """Play a random game, checking only its rules; returns its positions."""
        checker, game = self.checker, self.checker.game
        checker.actions, checker.moves, state, count = [], [], game.initial_state(), 0
        while time.monotonic() < deadline:
            checker.state = state
            view = self._look(state)
            check_over_or_legal(checker, view)
            check_steady(checker, state, view, self.known)
            if self.interpreted is not None:
                check_interpreted(checker, self.interpreted, state, view)
            count += 1
            if view.is_terminal:
                break
            self._expect_to_end()
            action = int(checker.rng.choice(np.flatnonzero(view.legal_action_mask)))
            successor = checked_step(checker, state, action, view)
            checker.actions.append(action)
            checker.moves.append(_text_or_number(game, state, action))
            state = successor
        return count

    def _expect_to_end(self) -> None:
        """Require that the game has not exceeded its maximum length."""
        plies = len(self.checker.actions)
        message = f"no end after {plies} plies"
        self.checker.expect(Identity.LENGTH, plies < self.checker.game.max_game_length, message)

    def warnings(self) -> list[str]:
        """Doubts raised by random games, which no identity forbids."""
        games, found = len(self.lengths), []
        decided = self.outcomes[1] + self.outcomes[-1]
        for outcome, seat in ((1, 0), (-1, 1)):
            if decided >= _ENOUGH and self.outcomes[outcome] == decided:
                found.append(
                    f"seat {seat} won all {decided} random games that were decided: is the "
                    "outcome in the view of the player to move instead of seat 0?"
                )
        if games >= _ENOUGH and not decided:
            found.append(f"all {games} random games were drawn: does the outcome detect a win?")
        elif games >= _ENOUGH and self.outcomes[0] > _DRAWN * games:
            found.append(
                f"{self.outcomes[0] / games:.0%} of {games} random games were drawn, so few wins "
                "were checked: state some as facts (check_position)"
            )
        found += self.signs.warnings()
        if not games:
            found.append("no random game ended: no outcome was checked")
        if self.contrast.is_blind_to_seats:
            found.append(
                "the observation seems not to change with the seat to move: show the player to "
                "move first, or fill a plane that shows the seat (correct if all pieces belong "
                "to both seats)"
            )
        return found + self._never_checked()

    def _never_checked(self) -> list[str]:
        """The game's identities that no position of these random games tested."""
        game, compiled = self.checker.game, isinstance(self.checker.game, CompiledGame)
        states_ends = game.has_ownership or game.has_score or game.has_material
        expected = {
            Identity.SYMMETRY: "no start looks like its image" if game.symmetries else "",
            Identity.ENDS: "no end stated one" if states_ends else "",
            Identity.TRANSCRIPT: "no game could be written" if self.transcripts.formats else "",
            Identity.VIEW: "swap_colours gave no text" if self.state_texts.swap_colours else "",
            Identity.INTERPRETED: "the rules were already compiled" if compiled else "",
        }
        return [
            f"never checked, because {why}: {identity.value}"
            for identity, why in expected.items()
            if why and not self.checker.checks[identity]
        ]

    def report(self) -> Report:
        game = self.checker.game
        return Report(
            game=f"{game.name} version {game.version} {json.dumps(game.settings)}",
            positions=self.positions,
            games=len(self.lengths),
            mean_length=sum(self.lengths) / max(1, len(self.lengths)),
            longest=max(self.lengths, default=0),
            ends=self.ends,
            zero_planes=tuple(np.flatnonzero(~self.used_planes).tolist()),
            ever_legal=int(self.ever_legal.sum()),
            mean_legal_actions=sum(self.legal_counts) / max(1, len(self.legal_counts)),
            seat_0_wins=self.outcomes[1],
            draws=self.outcomes[0],
            seat_1_wins=self.outcomes[-1],
            checks=dict(self.checker.checks),
            warnings=tuple(self.warnings()),
        )
