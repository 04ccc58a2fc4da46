"""Reviews a whole game: searches each position, and finds the mistakes."""

import contextlib
from dataclasses import dataclass, replace
from typing import Any

from azcore.engine.thinker import Thinker
from azcore.engine.thought import Limits, Line, Thought, Variation
from azcore.game import Game
from azcore.web import view
from azcore.web.requests import Later, Tell
from azcore.web.view import Plain

CHOICES = 2  # of a position: the best action, and the best alternative
MISTAKE = 0.1  # of the winning chance: a move that loses more is a mistake


@dataclass(frozen=True)
class Judged:
    """A review's search has ended; no page can send this."""

    review: "Review"
    turn: int
    thought: Thought


@dataclass(frozen=True)
class _Opinion:
    """A search's judgement of a position, in the view of its player to move."""

    value: float  # in [-1, 1]
    choices: tuple[Variation, ...] = ()  # the best two actions tried; none if the game is over


class Review:
    """Searches the positions of a game from first to last, and moves that a visitor tries.

    One thread at a time calls it. The thinker is the review's alone. Each search ends by passing a
    `Judged` to `later`, which must come back through `judge`.

    Args of the constructor:
        simulations: the simulations per position.
    """

    def __init__(
        self, thinker: Thinker, line: Line, simulations: int, send: Tell, later: Later
    ) -> None:
        self.line = line
        self._thinker, self._simulations = thinker, simulations
        self._send, self._later = send, later
        self.is_whole = True  # else the review only judges moves that a visitor tries
        self._at = 0  # the ply to search next
        self._turn = 0  # counts searches, to recognise the end of an old one
        self._opinions: list[_Opinion] = []
        self._tried: tuple[int, int, float] | None = None  # a ply, an action, the chance before it

    @property
    def most(self) -> int:
        """The last ply."""
        return len(self.line.actions)

    def search_next(self) -> None:
        """Search the next position, if any is left."""
        if not self.is_whole:
            return
        while self._at <= self.most and _is_over(self.line, self._at):
            self._take(_Opinion(_result(self.line.game, self.line.states[self._at])))
        if self._at <= self.most:
            self._search(up_to(self.line, self._at))

    def attempt(self, ply: int, action: int, chance: float) -> None:
        """Judge another move in a position whose best one leaves `chance`; the review waits."""
        game, line = self.line.game, up_to(self.line, ply)
        line.play(action)
        self._tried = ply, action, chance
        if line.is_over:
            self._turn += 1
            self._answer(_Opinion(_result(game, line.state)), line)
            self.search_next()
        else:
            self._search(line)

    def judge(self, judged: Judged) -> None:
        """Handle the end of a search."""
        if judged.turn != self._turn:
            return
        opinion = _opinion(judged.thought)
        if self._tried is None:
            self._take(opinion)
        else:
            line = up_to(self.line, self._tried[0])
            line.play(self._tried[1])
            self._answer(opinion, line)
        self.search_next()

    def close(self) -> None:
        """Stop searching."""
        self._turn += 1
        with contextlib.suppress(Exception):  # of a failed search; the page got the error
            self._thinker.stop()

    def _search(self, line: Line) -> None:
        self.close()
        turn, later, send = self._turn, self._later, self._send
        self._thinker.set_line(line)

        def failed(error: Exception) -> None:
            send({"what": "error", "message": f"the review stopped: {error}"})

        self._thinker.start(
            Limits(simulations=self._simulations),
            on_done=lambda thought: later(Judged(self, turn, thought)),
            on_error=failed,
            predictions=CHOICES,
        )

    def _take(self, opinion: _Opinion) -> None:
        """Store the opinion of the next position, and send the values and mistakes so far."""
        self._opinions.append(opinion)
        ply, self._at = self._at, self._at + 1
        game, states = self.line.game, self.line.states
        known = self._with_what_followed()
        seats = [game.current_player(state) for state in states[: ply + 1]]
        mistakes = [self._mistake(p, *known[p : p + 2]) for p in range(ply)]
        self._send(
            {
                "what": "reviewed",
                "ply": ply,
                "of": self.most,
                "values": [
                    each.value if seat == 0 else -each.value
                    for each, seat in zip(known, seats, strict=True)
                ],
                "mistakes": [mistake for mistake in mistakes if mistake is not None],
            }
        )

    def _with_what_followed(self) -> list[_Opinion]:
        """The opinions, corrected from last to first where a search underrated the move played."""
        game, states, known = self.line.game, self.line.states, list(self._opinions)
        for ply in reversed(range(len(known) - 1)):
            reached = _sign(game, states[ply], states[ply + 1]) * known[ply + 1].value
            if (reached - known[ply].value) / 2 > MISTAKE:
                known[ply] = replace(known[ply], value=reached)
        return known

    def _mistake(self, ply: int, before: _Opinion, after: _Opinion) -> Plain | None:
        """The loss of the move at a ply; None: it was not a mistake."""
        game, states, action = self.line.game, self.line.states, self.line.actions[ply]
        sign = _sign(game, states[ply], states[ply + 1])
        better = next((choice for choice in before.choices if choice.action != action), None)
        if better is None:  # no alternative
            return None
        chance, left = (1 + better.value) / 2, (1 + sign * after.value) / 2
        if chance - left <= MISTAKE:
            return None
        points = None
        if (best := _points(better)) is not None and after.choices:
            then = _points(after.choices[0])
            points = None if then is None else round(best - sign * then, 1)
        return {
            "ply": ply,
            "seat": game.current_player(states[ply]),
            "played": game.action_to_notation(states[ply], action),
            "better": game.action_to_notation(states[ply], better.action),
            "line": better.actions[: view.PLIES],
            "chance": round(chance, 3),
            "left": round(max(0.0, left), 3),
            "points": points,
        }

    def _answer(self, opinion: _Opinion, line: Line) -> None:
        assert self._tried is not None
        ply, action, chance = self._tried
        self._tried = None
        sign = _sign(line.game, line.states[-2], line.state)
        text = line.game.action_to_notation(line.states[-2], action)
        loss = chance - (1 + sign * opinion.value) / 2
        self._send({"what": "tried", "ply": ply, "text": text, "loss": round(max(0.0, loss), 3)})


def up_to(line: Line, ply: int) -> Line:
    """The line up to a ply, as a copy."""
    shorter = line.copy()
    del shorter.states[ply + 1 :], shorter.actions[ply:]
    return shorter


def _is_over(line: Line, ply: int) -> bool:
    return line.game.is_terminal(line.states[ply])


def _result(game: Game, state: Any) -> float:
    """The outcome of a finished game, in the view of the player of its last state."""
    outcome = float(game.outcome(state))
    return outcome if game.current_player(state) == 0 else -outcome


def _sign(game: Game, before: Any, after: Any) -> int:
    """1 or -1: converts a value after a move to the view of the player who moved."""
    return 1 if game.current_player(before) == game.current_player(after) else -1


def _opinion(thought: Thought) -> _Opinion:
    tried = tuple(choice for choice in thought.variations[:CHOICES] if choice.visits)
    return _Opinion(tried[0].value if tried else thought.value, tried)


def _points(choice: Variation) -> float | None:
    """By how many points the player wins with this choice, if the network predicts that."""
    seen = choice.prediction
    return None if seen is None or seen.score is None else float(seen.score)
