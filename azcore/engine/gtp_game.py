"""The game that GTP commands set up, play and undo, for any game; no search and no clocks."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from azcore.engine.gtp_words import (
    NAMED_RULES,
    TERRITORY,
    Refusal,
    json_value,
    number,
    rules_name,
    seats_by_word,
    sgf_format,
    whole,
)
from azcore.engine.server import Engine
from azcore.engine.thought import Line, shared_plies
from azcore.errors import (
    AzcoreError,
    GameError,
    IllegalActionError,
    InvalidTextError,
    TranscriptError,
)
from azcore.game import Game, Setting, Transcript
from azcore.storage.transcripts import read_games

PASS = "pass"
# The only named rule set that KataGo and azcore share.
TROMP_TAYLOR = {
    "hasButton": False,
    "ko": "POSITIONAL",
    "scoring": "AREA",
    "suicide": True,
    "tax": "NONE",
    "whiteHandicapBonus": "0",
    "friendlyPassOk": False,
}


class GtpGame:
    """The game so far, and the commands that describe or change it or the engine's game."""

    def __init__(self, engine: Engine, on_clear: Callable[[], None]) -> None:
        self._engine, self._on_clear = engine, on_clear
        self._game_so_far: Line | None = None  # None: no game yet
        # For each move, undone as a unit: how many actions it added, and those it took back.
        self._counts: list[tuple[int, list[int]]] = []
        self.commands: dict[str, Callable[[list[str]], str]] = {
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "komi": self._komi,
            "play": self._play,
            "undo": self._undo,
            "fixed_handicap": self._fixed_handicap,
            "place_free_handicap": self._place_free_handicap,
            "set_free_handicap": self._set_free_handicap,
            "final_score": self._final_score,
            "final_status_list": self._final_status_list,
            "showboard": lambda _: "\n" + self.line.game.render(self.line.state),
            "loadsgf": self._loadsgf,
            "kata-get-rules": lambda _: json.dumps(self._named_rules()),
            "kata-set-rules": self._set_rules,
            "kata-set-rule": self._set_rule,
        }

    @property
    def line(self) -> Line:
        """The game so far; waits for the game to be loaded."""
        if self._game_so_far is None:
            self._game_so_far = Line(self._engine.game)
        return self._game_so_far

    def clear(self) -> None:
        self._game_so_far, self._counts = Line(self._engine.game), []
        self._on_clear()

    def _clear_board(self, _: list[str]) -> str:
        self.clear()
        return ""

    def _boardsize(self, words: list[str]) -> str:
        size, game = whole(words, 0), self._engine.game
        if "board_size" in game.settings:
            try:
                self._engine.change_game(board_size=size)
            except GameError as error:
                raise Refusal(f"unacceptable size: {error}") from error
        elif game.observation_shape[1:] != (size, size):
            raise Refusal(f"unacceptable size: {game.name} has only one board")
        self.clear()
        return ""

    def _komi(self, words: list[str]) -> str:
        komi, line = number(words, 0), self.line
        if "komi" not in line.game.settings:
            raise Refusal(f"{line.game.name} has no komi")
        self._change_game(komi=komi)
        return ""

    def _change_game(self, **settings: Setting) -> None:
        """Change settings and keep the moves played so far."""
        old, line = self._engine.game, self.line
        self._engine.change_game(**settings)
        try:
            moved = Line(self._engine.game, line.start_text)
            for action in line.actions:
                moved.play(action)
        except AzcoreError as error:
            self._engine.change_game(**old.settings)
            raise Refusal(f"the game so far would not be legal: {error}") from error
        self._game_so_far = moved

    def _named_rules(self) -> Mapping[str, Setting]:
        """The rules in KataGo's terms."""
        game = self.line.game
        if rules := game.named_rules():
            return rules
        raise Refusal(f"{game.name} has no named rules")

    def _set_rules(self, words: list[str]) -> str:
        """A name that KataGo gives to rules by area, or a JSON object of some of its rules.

        Rules by area differ only in ko, which decides few games.
        """
        now, text = self._named_rules(), " ".join(words)
        name = rules_name(text)
        if name == "tromptaylor":
            return self._agree(TROMP_TAYLOR)
        if name in NAMED_RULES and name not in TERRITORY:
            return self._agree({"suicide": NAMED_RULES[name]})
        wanted = json_value(text)
        if not isinstance(wanted, dict):
            raise Refusal(
                f"rules must be named area rules, such as chinese or tromp-taylor, or JSON like "
                f"{json.dumps(dict(now))}, got {text[:30]!r}"
            )
        return self._agree(wanted)

    def _set_rule(self, words: list[str]) -> str:
        self._named_rules()
        if len(words) < 2:
            raise Refusal("syntax error: expected a rule and its value")
        text = " ".join(words[1:])
        value = json_value(text)
        return self._agree({words[0]: text if value is None else value})

    def _agree(self, wanted: Mapping[str, Any]) -> str:
        """Switch to these rules if possible."""
        now, settings = self._named_rules(), self.line.game.settings
        for name, value in wanted.items():
            if name not in now:
                raise Refusal(f"the rule must be one of {', '.join(now)}, got {name[:30]!r}")
            if str(value).upper() != str(now[name]).upper() and name not in settings:
                raise Refusal(f"the rule {name} is always {now[name]}, got {str(value)[:30]!r}")
        changed = {name: value for name, value in wanted.items() if name in settings}
        if changed:
            self._change_game(**changed)
        return ""

    def seat(self, words: list[str]) -> int:
        """The seat that the first word names.

        Raises:
            Refusal: it does not name one.
        """
        seat = self.named_seat(words[0]) if words else None
        if seat is None:
            raise Refusal("syntax error: expected a colour, b or w")
        return seat

    def named_seat(self, word: str) -> int | None:
        return seats_by_word(self.line.game).get(word.lower())

    def has_pass(self) -> bool:
        game = self.line.game
        try:
            game.text_to_action(game.initial_state(), PASS)
        except IllegalActionError:
            return True
        except AzcoreError:
            return False
        return True

    def with_turn_of(self, seat: int) -> Line:
        """A copy of the game with this seat to move, after the other side passes if necessary.

        A game that two passes ended continues without them.

        Raises:
            Refusal: this is not possible.
        """
        line = self.line.copy()
        last = zip(line.states[-3:], line.actions[-2:], strict=False)
        if line.is_over and [line.game.action_to_text(*each) for each in last] == [PASS, PASS]:
            line.undo()
            line.undo()
        if line.is_over:
            raise Refusal("illegal move: the game is over")
        if line.player != seat:
            mover = line.game.seat_names[line.player]
            try:
                line.play(line.game.text_to_action(line.state, PASS))
            except AzcoreError as error:
                raise Refusal(f"illegal move: {mover} is to move and cannot pass") from error
            if line.is_over:
                raise Refusal(f"illegal move: {mover} is to move, and passing would end the game")
        return line

    def keep(self, line: Line) -> None:
        """Continue from this line; the actions it adds and takes back count as one move."""
        old, new = self.line.actions, line.actions
        same = shared_plies(old, new)
        self._counts.append((len(new) - same, old[same:]))
        self._game_so_far = line

    def keep_nothing(self) -> None:
        """Record a move that changed nothing; it can be undone like any other."""
        self._counts.append((0, []))

    def _play(self, words: list[str]) -> str:
        seat, text = self.seat(words), " ".join(words[1:])
        line = self.line
        if text.lower() == PASS and (line.is_over or line.player != seat) and self.has_pass():
            # It changes nothing: the right seat is to move next already. Inserting a pass of the
            # other before it would make two in a row.
            self.keep_nothing()
            return ""
        line = self.with_turn_of(seat)
        try:
            line.play(line.game.text_to_action(line.state, text))
        except IllegalActionError as error:
            raise Refusal(f"illegal move: {error}") from error
        except AzcoreError as error:
            raise Refusal(f"syntax error: {error}") from error
        self.keep(line)
        return ""

    def _undo(self, _: list[str]) -> str:
        if not self._counts:  # a handicap cannot be undone either
            raise Refusal("cannot undo")
        line = self.line.copy()
        added, taken_back = self._counts.pop()
        for _action in range(added):
            line.undo()
        for action in taken_back:
            line.play(action)
        self._game_so_far = line
        return ""

    def _fixed_handicap(self, words: list[str]) -> str:
        count = whole(words, 0)
        self._require_empty()
        try:
            actions = self.line.game.handicap_actions(count)
        except GameError as error:
            raise Refusal(f"invalid number of stones: {error}") from error
        return self._place(actions)

    def _place_free_handicap(self, words: list[str]) -> str:
        wanted, game = whole(words, 0), self.line.game
        self._require_empty()
        for count in range(min(wanted, game.num_actions), 1, -1):  # GTP allows fewer
            try:
                return self._place(game.handicap_actions(count))
            except GameError:
                continue
        raise Refusal(f"invalid number of stones: {game.name} has no handicap of {wanted}")

    def _set_free_handicap(self, words: list[str]) -> str:
        self._require_empty()
        game = self.line.game
        try:
            actions = [game.text_to_action(game.initial_state(), word) for word in words]
        except AzcoreError as error:
            raise Refusal(f"bad vertex list: {error}") from error
        if len(words) < 2 or len(set(actions)) < len(words) or PASS in map(str.lower, words):
            raise Refusal("bad vertex list: expected two or more different points")
        self._place(actions)
        return ""

    def _require_empty(self) -> None:
        if self.line.actions or self._counts or self.line.start_text is not None:
            raise Refusal("board not empty")

    def _place(self, actions: list[int]) -> str:
        """Place a handicap: moves of the first seat, with passes of the other in between."""
        line = Line(self.line.game)
        texts: list[str] = []
        for action in actions:
            try:
                if texts:
                    line.play(line.game.text_to_action(line.state, PASS))
                texts.append(line.game.action_to_text(line.state, action))
                line.play(action)
            except (IllegalActionError, InvalidTextError) as error:
                raise Refusal(f"bad vertex list: {error}") from error
        self._game_so_far = line
        return " ".join(texts)

    def _loadsgf(self, words: list[str]) -> str:
        if not words:
            raise Refusal("syntax error: expected a file name")
        before = whole(words, 1) if len(words) > 1 else None
        old, path = self._engine.game, Path(words[0])
        try:
            if not path.is_file():
                raise Refusal(f"cannot load file: {path} does not exist")
            found = next(
                read_games(path, replace(sgf_format(old), read=partial(self._read_sgf, old)))
            )
            if isinstance(found, TranscriptError):
                raise found
        except (OSError, ValueError, Refusal) as error:  # ValueError: azcore's too, and odd names
            self._engine.change_game(**old.settings)
            if isinstance(error, Refusal):
                raise
            raise Refusal(f"cannot load file: {error}") from error
        self.clear()
        self._game_so_far = Line(self._engine.game, found.start_text)
        for action in found.actions[: None if before is None else max(0, before - 1)]:
            line = self.line.copy()
            line.play(action)
            self.keep(line)
        return ""

    def _read_sgf(self, old: Game, text: str) -> Transcript:
        """A game, read with the board and the komi that it states, or else the old ones."""
        stated = sgf_format(old).settings(text)
        self._engine.change_game(**{k: stated.get(k, v) for k, v in old.settings.items()})
        return sgf_format(self._engine.game).read(text)

    def _final_score(self, _: list[str]) -> str:
        score = self.line.game.score_text(self.line.state)
        if score is None:
            raise Refusal("cannot score: the game is not over")
        return score

    def _final_status_list(self, words: list[str]) -> str:
        game = self.line.game
        chains = game.status_of_stones(self.line.state)
        if chains is None:
            raise Refusal(f"{game.name} has no alive, dead or seki")
        if len(words) != 1 or words[0] not in chains:
            raise Refusal(f"syntax error: expected {' or '.join(chains)}")
        return "\n".join(chains[words[0]])
