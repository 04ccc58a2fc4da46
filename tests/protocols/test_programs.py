"""Other programs as players: what they are told, what they answer, and whatever goes wrong."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

import azcore
from azcore.errors import AzcoreError
from azcore.players import Forfeit
from azcore.protocols.clients import GtpClient, MoveLimits, UsiClient
from azcore.protocols.process import ProgramError, command_of
from azcore.protocols.programs import is_program, program_player
from azcore.thinking import Line

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
    first = ["boardsize 5", "komi 3.5", "clear_board", "play b A1", "genmove w"]
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
    if word == "usi": say("id name x\\noption name y\\nusiok")
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


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("sys.exit(3)", "ended with status 3"),
        ("sys.stdout.close()\nimport os; os.close(1); time.sleep(9)", "closed its output"),
        ("time.sleep(9)", "did not answer in time"),
        ("sys.stdout.buffer.write(bytes(range(256)) * 99); say('')\ntime.sleep(9)", "in time"),
        ("while True: say('= ' * 99)", "in time|refuses|ended"),
    ],
    ids=["crash", "closed", "silent", "binary", "endless"],
)
def test_a_broken_program_costs_its_game_and_no_other(
    tmp_path: Path, body: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("azcore.protocols.clients.STARTING", 1.0)
    game = azcore.make("go", board_size=5)
    command = " ".join(script(tmp_path, body))
    player = program_player(f"gtp timeout=1 {command}", game, {})
    player.begin(2, seed=1)
    player.start(0, game.initial_state(), [])
    player.start(1, game.initial_state(), [])
    began = time.monotonic()
    decisions = player.choose([0, 1])
    assert time.monotonic() - began < 15
    for decision in decisions:
        assert isinstance(decision, Forfeit)
        assert any(part in decision.reason for part in told.split("|")), decision.reason
    player.end()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("gtp nosuchprogram --x", "the program nosuchprogram is not installed"),
        ("ghost", "not installed; to install it: apt install ghost"),
        ("gtp", "must be a protocol and a command, got 'gtp'"),
        ("gtp nodes=3 cat", "GTP knows no limit by nodes"),
        ("gtp nodes=x cat", "nodes of the player 'gtp nodes=x cat' must be a number, got 'x'"),
        ("gtp seconds=-1 cat", "must be above 0, got '-1'"),
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
