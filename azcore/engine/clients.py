"""Other programs as players: a client for each protocol.

A client keeps one program running and asks it for moves in any game. It sends the position each
time, or only the changes where the protocol allows that.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from azcore.engine.process import Process, ProgramError, cut
from azcore.engine.thought import Line
from azcore.errors import AzcoreError

STARTING = 20.0  # seconds a program may take to start
MOST_LINES = 1000  # of a GTP answer
RESIGN, WIN = "resign", "win"


@dataclass(frozen=True, kw_only=True)
class MoveLimits:
    """Limits on a program's time or work per move; refuses limits that its protocol lacks."""

    nodes: int | None = None
    seconds: float | None = None
    depth: int | None = None
    timeout: float = 60.0  # seconds after which it counts as hanging


class Client(ABC):
    """A running program that chooses moves.

    Args of the constructor:
        options: values to set through its protocol, by name.

    Raises:
        ProgramError: from any method: it crashed, hangs or sent invalid output. Call `close` then.
    """

    takes_positions = True  # whether the protocol can set up a position
    name = ""  # the name it reports

    @abstractmethod
    def choose(self, line: Line) -> int | None:
        """An action in the position at the end of a line; None if the program resigns."""

    @abstractmethod
    def close(self) -> None:
        """End the program."""


class GtpClient(Client):
    """A program that speaks GTP."""

    takes_positions = False

    def __init__(self, command: list[str], options: Mapping[str, str], limits: MoveLimits) -> None:
        if options:
            raise AzcoreError(
                f"GTP has no options, got {', '.join(options)}: put them in the command"
            )
        if limits.nodes is not None or limits.depth is not None:
            raise AzcoreError("GTP has no limit by nodes or depth; a program may have a level")
        if limits.seconds is not None and limits.seconds % 1:
            raise AzcoreError(f"GTP counts in whole seconds, got seconds={limits.seconds:g}")
        self._limits = limits
        self._process = Process(command)
        self._settings: Mapping[str, Any] | None = None
        self._actions: list[int] = []  # those sent to the program
        try:
            is_taken, name = self._answer("name", STARTING)
            self.name = name if is_taken else ""
        except ProgramError:
            self.close()
            raise

    def choose(self, line: Line) -> int | None:
        self._tell(line)
        colour = "bw"[line.player]
        text = self._ask(f"genmove {colour}", self._limits.timeout).strip()
        if text.lower() == RESIGN:
            self._settings = None  # it may consider the game over
            return None
        action = _understood(line, text, self._process)
        self._actions.append(action)
        return action

    def close(self) -> None:
        self._process.close()

    def _tell(self, line: Line) -> None:
        """Bring the program to the end of a line."""
        if line.start_text is not None:
            raise AzcoreError("GTP cannot set up a position")
        played = len(self._actions)
        if self._settings != line.game.settings or line.actions[:played] != self._actions:
            settings = line.game.settings
            if "board_size" in settings:
                self._ask(f"boardsize {settings['board_size']}", STARTING)
            if "komi" in settings:
                self._ask(f"komi {settings['komi']}", STARTING)
            if self._limits.seconds is not None:
                # Canadian time: one move in each period, from the first move on.
                self._ask(f"time_settings 0 {self._limits.seconds:.0f} 1", STARTING)
            self._ask("clear_board", STARTING)
            self._settings, played = dict(settings), 0
        for ply in range(played, len(line.actions)):
            state = line.states[ply]
            colour = "bw"[line.game.current_player(state)]
            move = line.game.action_to_text(state, line.actions[ply])
            self._ask(f"play {colour} {move}", STARTING)
        self._actions = list(line.actions)

    def _ask(self, words: str, seconds: float) -> str:
        is_taken, answer = self._answer(words, seconds)
        if not is_taken:
            raise self._process.fault(f"refuses {words!r}: {cut(answer)}")
        return answer

    def _answer(self, words: str, seconds: float) -> tuple[bool, str]:
        """Send a command and return whether it succeeded, and the answer."""
        deadline = monotonic() + seconds
        line = self._process.ask(words, lambda line: line.startswith(("=", "?")), deadline)
        answer = [line[1:].lstrip()]
        while following := self._process.receive(deadline):
            if len(answer) == MOST_LINES:
                raise self._process.fault(f"never ends its answer to {words!r}: {cut(following)}")
            answer.append(following)
        return line.startswith("="), "\n".join(answer)


class UsiClient(Client):
    """A program that speaks USI; `UciClient` adapts this to UCI, which is nearly the same."""

    protocol = "usi"
    position = "sfen"

    def __init__(self, command: list[str], options: Mapping[str, str], limits: MoveLimits) -> None:
        self._limits = limits
        self._process = Process(command)
        words = {
            "nodes": limits.nodes,
            "depth": limits.depth,
            "movetime": None if limits.seconds is None else round(1000 * limits.seconds),
        }
        words_of_go = [f"{word} {value}" for word, value in words.items() if value is not None]
        self._go = " ".join(["go", *words_of_go] if words_of_go else ["go", "movetime", "1000"])
        try:
            option_names = self._begin()
            for word, value in options.items():
                forms = (word, word.replace("_", " "))  # words have no spaces, but Skill Level has
                declared = [form for form in forms if form.lower() in option_names]
                # GUIs set those of USI_ whether or not a program declares them.
                if not declared and not word.startswith("USI_"):
                    raise self._process.fault(f"has no option {word!r}")
                self._process.send(f"setoption name {[*declared, word][0]} value {value}")
            self._ask("isready", "readyok", STARTING)
            self._process.send(f"{self.protocol}newgame")
        except ProgramError:
            self.close()
            raise

    def choose(self, line: Line) -> int | None:
        moves = [
            line.game.action_to_text(state, action)
            for state, action in zip(line.states, line.actions, strict=False)
        ]
        start = "startpos" if line.start_text is None else f"{self.position} {line.start_text}"
        played = f" moves {' '.join(moves)}" if moves else ""
        self._process.send(f"position {start}{played}")
        answer = self._ask(self._go, "bestmove", self._limits.timeout).split()
        if len(answer) < 2:
            raise self._process.fault("sent no best move")
        if answer[1] == RESIGN:
            return None
        if answer[1] == WIN and not line.game.can_declare_win(line.state):
            raise self._process.fault(
                "declares a win, but the rules of this game do not allow it here"
            )
        return _understood(line, answer[1], self._process)

    def close(self) -> None:
        self._process.close()

    def _begin(self) -> set[str]:
        """Start the protocol and return the names of the options, in lower case."""
        names = set()

        def answers(line: str) -> bool:
            if line.startswith("option name "):
                names.add(line.removeprefix("option name ").partition(" type ")[0].strip().lower())
            elif line.startswith("id name "):
                self.name = line.removeprefix("id name ").strip()
            return line.split()[:1] == [f"{self.protocol}ok"]

        self._process.ask(self.protocol, answers, monotonic() + STARTING)
        return names

    def _ask(self, words: str, wanted: str, seconds: float) -> str:
        """Send a command and return the line that answers it."""
        return self._process.ask(
            words, lambda line: line.split()[:1] == [wanted], monotonic() + seconds
        ).strip()


class UciClient(UsiClient):
    """A program that speaks UCI."""

    protocol = "uci"
    position = "fen"


def _understood(line: Line, text: str, process: Process) -> int:
    """The action that a program names."""
    try:
        return line.game.text_to_action(line.state, text)
    except AzcoreError as error:
        raise process.fault(f"wants to play {cut(text)!r}: {error}") from error


CLIENTS: Mapping[str, type[GtpClient] | type[UsiClient]] = {
    "gtp": GtpClient,
    "uci": UciClient,
    "usi": UsiClient,
}
