"""Other programs as players: what they are told, what they answer, and whatever goes wrong."""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml

import azcore
from azcore.arena.players import Forfeit
from azcore.cli.status import status_of
from azcore.engine.clients import (
    CLIENTS,
    Client,
    GtpClient,
    MoveLimits,
    UciClient,
    UsiClient,
)
from azcore.engine.player import EnginePlayer
from azcore.engine.process import Process, ProgramError, command_of
from azcore.engine.programs import is_program, program_player
from azcore.engine.thought import Line
from azcore.errors import AzcoreError, FailedProgramError

PROGRAMS = yaml.safe_load((Path(__file__).parents[2] / "conf/programs/default.yaml").read_text())


def installed(program: str) -> bool:
    try:
        command_of(program)
    except AzcoreError:
        return False
    return True


def script(tmp_path: Path, body: str) -> list[str]:
    """A program in Python, as a command."""
    path = tmp_path / "program.py"
    path.write_text(f"import sys, time\nsay = lambda text: print(text, flush=True)\n{body}\n")
    return [sys.executable, str(path)]


GTP = """
log = open(sys.argv[0] + ".log", "a")
for line in sys.stdin:
    log.write(line); log.flush()
    word = line.split()[0]
    if word == "genmove":
        say("= " + MOVES.pop(0) + "\\n")
    elif word == "komi":
        say("? no komi here\\n") if REFUSES else say("=\\n")
    else:
        say("=\\n")
"""


def gtp(tmp_path: Path, moves: list[str], refuses: bool = False) -> GtpClient:
    command = script(tmp_path, f"MOVES = {moves}; REFUSES = {refuses}\n{GTP}")
    return GtpClient(command, {}, MoveLimits(timeout=5))


def heard(tmp_path: Path) -> list[str]:
    return (tmp_path / "program.py.log").read_text().splitlines()


def test_gtp_is_told_the_game_and_then_what_is_new(tmp_path: Path) -> None:
    game = azcore.make("go", board_size=5, komi=3.5)
    client, line = gtp(tmp_path, ["C3", "pass"]), Line(game)
    line.play(game.text_to_action(line.state, "A1"))
    assert client.choose(line) == game.text_to_action(line.state, "C3")
    for text in ("C3", "B2"):
        line.play(game.text_to_action(line.state, text))
    assert client.choose(line) == 25
    client.close()
    first = ["name", "boardsize 5", "komi 3.5", "clear_board", "play b A1", "genmove w"]
    assert heard(tmp_path) == [*first, "play b B2", "genmove w"]


def test_gtp_goes_back_for_another_game(tmp_path: Path) -> None:
    game = azcore.make("go", board_size=5)
    client, line, other = gtp(tmp_path, ["C3", "resign", "D4"]), Line(game), Line(game)
    client.choose(line)
    other.play(0)
    assert client.choose(other) is None  # it resigns
    assert client.choose(other) is not None
    client.close()
    assert heard(tmp_path).count("clear_board") == 3


def test_gtp_refusals_and_nonsense(tmp_path: Path) -> None:
    line = Line(azcore.make("go", board_size=5))
    client = gtp(tmp_path, [], refuses=True)
    with pytest.raises(ProgramError, match=r"refuses 'komi 7.5': no komi here"):
        client.choose(line)
    client.close()
    client = gtp(tmp_path, ["Z99"])
    with pytest.raises(ProgramError, match="wants to play 'Z99'"):
        client.choose(line)
    client.close()


def test_usi_is_told_the_position_whole(tmp_path: Path) -> None:
    body = """
log = open(sys.argv[0] + ".log", "a")
for line in sys.stdin:
    log.write(line); log.flush()
    word = line.split()[0]
    if word == "usi": say("id name x\\noption name Skill Level type spin\\nusiok")
    if word == "isready": say("readyok")
    if word == "go": say("info nodes 3\\n\\nbestmove 3c3d ponder 2g2f")
"""
    limits = MoveLimits(nodes=7, seconds=0.25)
    client = UsiClient(script(tmp_path, body), {"Skill Level": "3"}, limits)
    game = azcore.make("shogi")
    line = Line(game)
    line.play(game.text_to_action(line.state, "7g7f"))
    assert client.choose(line) == game.text_to_action(line.state, "3c3d")
    client.close()
    assert heard(tmp_path) == [
        "usi",
        "setoption name Skill Level value 3",
        "isready",
        "usinewgame",
        "position startpos moves 7g7f",
        "go nodes 7 movetime 250",
    ]


class Waits(GtpClient):
    """Asks for a move at once."""

    def choose(self, line: Line) -> int | None:
        self._ask("name", 600)
        self._ask("genmove b", 600)
        return None


FLOOD = "line = (WORDS + chr(10)) * 1000\nwhile True: sys.stdout.write(line)"
BROKEN = {
    "crash": ("sys.stderr.write('out of cheese\\n'); sys.exit(3)", "status 3; .*: out of cheese"),
    "closed": ("sys.stdout.close()\nimport os; os.close(1); time.sleep(9)", "closed its output"),
    "silent": ("time.sleep(9)", "did not answer in time"),
    "hangs for reasons": (
        "print('loading', file=sys.stderr, flush=True); time.sleep(9)",
        "did not answer in time; standard error: loading",
    ),
    "rubbish": (
        "say('Segmentation fault ' * 99); time.sleep(9)",
        r"sent no answer in time, only: Segmentation fault .{100,180}\.\.\.",
    ),
    "binary": (
        "sys.stdout.buffer.write(bytes(range(256)) * 99); say('')\ntime.sleep(9)",
        "sent no answer in time",
    ),
    "floods": (f"WORDS = 'bla ' * 99\n{FLOOD}", "sent no answer in time.*: bla bla"),
    "floods with answers": (f"WORDS = '= bla'\n{FLOOD}", "never ends its answer to |refuses|ended"),
    "one endless line": (
        "while True: sys.stdout.write('bla ' * 10000)",
        "sent no answer in time.*: bla bla",
    ),
    "floods both": (
        "while True: say('x' * 9999); print('y' * 9999, file=sys.stderr)",
        "sent no answer in time.*: xxx.*standard error: yyy",
    ),
}


# Each fault in one protocol at least, the first two in all; an answer of UCI or USI is one line.
CASES = [
    (case, protocol)
    for number, case in enumerate(BROKEN)
    for at, protocol in enumerate(["gtp", "uci", "usi"])
    if number < 2 or at == (0 if case == "floods with answers" else number % 3)
]


@pytest.mark.parametrize(("case", "protocol"), CASES)
def test_a_broken_program_costs_its_game_and_then_the_match(
    tmp_path: Path, protocol: str, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, told = BROKEN[case]
    monkeypatch.setattr("azcore.engine.clients.STARTING", 1.0)
    game = azcore.make("go", board_size=5)
    command, kind = script(tmp_path, body), CLIENTS[protocol]
    started: list[Client] = []

    def start() -> Client:
        started.append(kind(command, {}, MoveLimits(timeout=1)))
        return started[-1]

    player = EnginePlayer(game=game, name="broken", start=start, processes=2)
    player.begin(2, seed=1)
    player.start(0, game.initial_state(), [])
    player.start(1, game.initial_state(), [])
    threads = threading.active_count()
    began = time.monotonic()
    (decision,) = player.choose([0])
    assert isinstance(decision, Forfeit)
    with pytest.raises(FailedProgramError, match=told) as error:  # at its second start in a row
        player.choose([1])
    assert time.monotonic() - began < 30
    for reason in (decision.reason, str(error.value)):
        assert re.search(told, reason), reason
        assert len(reason) < 1200
        assert reason.isprintable()
    player.end()
    until = time.monotonic() + 20
    while threading.active_count() > threads:  # that wait for room, or for a program that is gone
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("joins", [False, True])
def test_a_program_that_ignores_the_end_of_its_input_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, joins: bool
) -> None:
    """Also one in the group of the process that began it."""
    monkeypatch.setattr(Process, "joins_group", joins)
    process = Process(script(tmp_path, "time.sleep(60)"))
    since = time.monotonic()
    process.close()
    assert time.monotonic() - since < 20


def test_what_a_program_says_before_it_is_asked_is_told(tmp_path: Path) -> None:
    """A crash report may come before the first question, or after it."""
    process = Process(script(tmp_path, "say('Segmentation fault'); time.sleep(60)"))
    try:
        while not process._lines.qsize():
            time.sleep(0.01)
        with pytest.raises(ProgramError, match="in time, only: Segmentation fault"):
            process.ask("uci", lambda line: line == "uciok", time.monotonic() + 0.2)
        with pytest.raises(ProgramError, match="did not answer in time"):
            process.ask("uci", lambda line: line == "uciok", time.monotonic() + 0.2)
    finally:
        process.close()


def test_a_program_that_hangs_does_not_outlast_ctrl_c(tmp_path: Path) -> None:
    game = azcore.make("go", board_size=5)
    body = "import subprocess\nsys.stdin.readline(); say('=\\n')\n" + (
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open(sys.argv[0] + '.pid', 'w').write(str(child.pid))\ntime.sleep(600)"
    )
    command, main = script(tmp_path, body), threading.get_ident()
    limits = MoveLimits(timeout=600)
    player = EnginePlayer(
        game=game, name="hangs", start=lambda: Waits(command, {}, limits), processes=2
    )
    player.begin(2, seed=1)
    for row in (0, 1):
        player.start(row, game.initial_state(), [])

    def interrupt() -> None:
        while not Path(f"{command[1]}.pid").exists():
            time.sleep(0.01)
        time.sleep(0.1)  # until it is written
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        player.choose([0, 1])
    assert time.monotonic() - began < 60
    child = int(Path(f"{command[1]}.pid").read_text())
    while _runs(child):  # a killed process takes a moment
        assert time.monotonic() - began < 60
        time.sleep(0.01)


def _runs(process: int) -> bool:
    try:
        return "(zombie)" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_no_answer_is_no_resignation(tmp_path: Path) -> None:
    """What an engine says to a position that it could not follow."""
    body = """
for line in sys.stdin:
    if line == "uci\\n": say("uciok")
    if line == "isready\\n": say("readyok")
    if line.startswith("go"): say("bestmove (none)")
"""
    client = UciClient(script(tmp_path, body), {}, MoveLimits())
    with pytest.raises(ProgramError, match=r"wants to play '\(none\)'"):
        client.choose(Line(azcore.make("chess")))
    client.close()


def test_lines_that_wait_do_not_put_off_the_deadline(tmp_path: Path) -> None:
    process = Process(script(tmp_path, "say('bla\\nbla'); sys.stdin.read()"))
    assert process.receive(time.monotonic() + 30) == "bla"
    with pytest.raises(ProgramError, match="did not answer in time"):
        process.receive(time.monotonic())
    process.close()


def test_what_was_said_before_the_question_answers_nothing(tmp_path: Path) -> None:
    body = "say('ok 1\\nok 2')\nfor line in sys.stdin: say('ok ' + line)"
    process = Process(script(tmp_path, body))
    until = time.monotonic() + 30
    while process._lines.qsize() < 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert process.ask("3", lambda line: line.startswith("ok"), until) == "ok 3"
    process.close()


def test_a_flood_takes_little_memory(tmp_path: Path) -> None:
    body = "while True: sys.stdout.write('bla ' * 1_000_000 + chr(10))"
    process = Process(script(tmp_path, body))
    tracemalloc.start()
    time.sleep(1)  # nobody asks meanwhile
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    process.close()
    assert peak < 64e6


def test_an_option_that_a_program_does_not_have(tmp_path: Path) -> None:
    body = """
for line in sys.stdin:
    if line == "uci\\n": say("option name Skill Level type spin default 20\\nuciok")
    if line == "isready\\n": say("readyok")
"""
    command = script(tmp_path, body)
    UciClient(command, {"skill level": "3"}, MoveLimits()).close()
    with pytest.raises(ProgramError, match="has no option 'Skil Level'"):
        UciClient(command, {"Skil Level": "3"}, MoveLimits())


def test_an_underscore_of_an_option_is_itself_or_a_space(tmp_path: Path) -> None:
    told = tmp_path / "told"
    body = f"""
for line in sys.stdin:
    open({str(told)!r}, "a").write(line)
    names = ["Skill Level type spin", "UCI_Variant type combo"]
    if line == "usi\\n": say("\\n".join(f"option name {{n}}" for n in names) + "\\nusiok")
    if line == "isready\\n": say("readyok")
"""
    options = {"Skill_Level": "3", "UCI_Variant": "minishogi", "USI_Hash": "7"}
    UsiClient(script(tmp_path, body), options, MoveLimits()).close()
    lines = told.read_text().splitlines()
    assert [line for line in lines if line.startswith("setoption")] == [
        "setoption name Skill Level value 3",
        "setoption name UCI_Variant value minishogi",
        "setoption name USI_Hash value 7",
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("gtp nosuchprogram --x", "the program nosuchprogram is not installed"),
        ("ghost", "not installed; to install it: apt install ghost"),
        ("gtp", "must be a protocol and a command, got 'gtp'"),
        ("gtp nodes=3 cat", "GTP has no limit by nodes"),
        ("gtp nodes=x cat", "nodes of the player 'gtp nodes=x cat' must be a number, got 'x'"),
        ("gtp seconds=-1 cat", "must be above 0, at most 10^9, got '-1'"),
        ("gtp seconds=inf cat", "at most 10^9, got 'inf'"),
        ("gtp level=3 cat", "gtp has no level"),
        ("ghost what", "must be words NAME=VALUE, got 'what'"),
        ("gtp 'cat", "cannot be read as a command"),
    ],
)
def test_words_that_name_no_program(words: str, told: str) -> None:
    ghost = {
        "protocol": "gtp",
        "command": "ghost --gtp",
        "level": None,
        "install": "apt install ghost",
    }
    with pytest.raises(AzcoreError) as error:
        program_player(words, azcore.make("go", board_size=5), {"ghost": ghost})
    assert told in str(error.value)


def test_a_program_has_a_short_name(tmp_path: Path) -> None:
    game = azcore.make("go", board_size=5)
    words = " ".join(script(tmp_path, "for line in sys.stdin: say('= Deep  Thought\\n')"))
    assert program_player(f"gtp {words}", game, PROGRAMS).name == "Deep Thought"
    assert program_player(f"gtp name=mine {words}", game, PROGRAMS).name == "mine"
    words = " ".join(script(tmp_path, "for line in sys.stdin: say('? none\\n')"))
    assert program_player(f"gtp {words}", game, PROGRAMS).name == f"gtp {words}"


def test_a_program_that_starts_no_more_ends_the_match(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It lost each game for the same reason."""
    game = azcore.make("go", board_size=5)
    words = " ".join(script(tmp_path, f"MOVES = ['C3']; REFUSES = False\n{GTP}"))
    player = program_player(f"gtp name=mine {words}", game, PROGRAMS)
    script(tmp_path, "say('cannot read its configuration'); sys.exit(3)")
    player.begin(3, seed=1)
    for row in range(3):
        player.start(row, game.initial_state(), [])

    def match() -> int:
        player.choose([0, 1, 2])
        return 0

    assert status_of(match) == 1
    assert "'mine' could not be started twice in a row" in capsys.readouterr().err


def test_a_win_that_the_rules_lack_is_no_move(tmp_path: Path) -> None:
    game = azcore.make("shogi")
    answers = {"usi": "usiok", "isready": "readyok", "go": "bestmove win"}
    body = f"for line in sys.stdin: say({answers}.get(line.split()[0], ''))"
    client = UsiClient(script(tmp_path, body), {}, MoveLimits())
    with pytest.raises(ProgramError, match="declares a win, but the rules of this game do not"):
        client.choose(Line(game))
    client.close()


def test_what_is_a_program() -> None:
    for text in ("gnugo", "gnugo level=3", "gtp x --y", "uci x", "usi x"):
        assert is_program(text, PROGRAMS)
    for text in ("", "random", "runs/go/last.ckpt", "gnugone"):
        assert not is_program(text, PROGRAMS)


@pytest.mark.parametrize(
    ("words", "name", "settings"),
    [
        ("gnugo level=1", "go", {"board_size": 5}),
        ("stockfish nodes=20 Skill_Level=0", "chess", {}),
        ("fairy-stockfish nodes=20", "chess", {}),
        ("fairy-stockfish nodes=20", "shogi", {"max_plies": 60}),
    ],
)
def test_real_programs_play_whole_games(words: str, name: str, settings: dict[str, Any]) -> None:
    if not installed(words.split()[0]):
        pytest.skip(f"{words.split()[0]} is not installed: {PROGRAMS[words.split()[0]]['install']}")
    game = azcore.make(name, **settings)
    player = program_player(words, game, PROGRAMS)
    player.begin(1, seed=1)
    player.start(0, game.initial_state(), [])
    state = game.initial_state()
    while not game.is_terminal(state):
        (action,) = player.choose([0])
        if isinstance(action, Forfeit):
            assert action.reason == "resignation"
            break
        player.advance(0, action)
        state = game.step(state, action)  # raises if it is not legal by our rules
    player.end()
