"""`command=play` as a person meets it: what is on the screen after what was typed."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.commands.engine import loaded
from azcore.commands.play import describe_value, play
from azcore.engine.settings import thinking_search
from azcore.engine.thought import Thought
from azcore.errors import CheckpointError, SettingError
from conftest import compose
from run_kit import train_once
from transcript_kit import read_remark, read_transcript

FEW = ["search.num_simulations=16"]
Screen = Callable[..., str]


@pytest.fixture
def screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Screen:
    """Plays what is typed, one line an argument; what was shown."""
    monkeypatch.chdir(tmp_path)

    def typed(overrides: list[str], *lines: str) -> str:
        reading, writing = os.pipe()
        with os.fdopen(writing, "w") as file:
            file.write("".join(f"{line}\n" for line in lines))
        with os.fdopen(reading) as stdin, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", stdin)
            assert play(compose("command=play", *FEW, *overrides)) == 0
        return capsys.readouterr().out

    return typed


def answers(shown: str) -> list[str]:
    """What was shown before the first prompt and after what was typed at each."""
    start, *parts = re.split(r"(?m)^[A-Za-z ]+> ", shown)
    return [start, *(part.partition("\n")[2] for part in parts)]


def test_engines_search_by_puct() -> None:
    """Whatever self-play searches by: an engine may set what Gumbel's search cannot do."""
    config = compose("command=play", "game=tic_tac_toe", "search.solve=true")
    search = thinking_search(config)
    assert search.solve
    assert not search.is_gumbel


def test_a_whole_game_of_tic_tac_toe(screen: Screen) -> None:
    shown = screen(["game=tic_tac_toe", "play.seat=both"], "b2", "a1", "b1", "a2", "b3", "board")
    start, *boards = answers(shown)
    assert start.startswith("tic_tac_toe. Two people play.\nThe engine thinks for 16 simulations")
    assert "3 . . .\n2 . . .\n1 . . .\n  a b c" in start
    assert "3 . . .\n2 . X .\n1 O . .\n  a b c" in boards[1]
    assert "3 . X .\n2 O X .\n1 O X .\n  a b c" in boards[4]
    assert "Game over: X wins, first player won.\n" in boards[4]
    assert boards[5] == boards[4]
    assert shown.count("game over> ") == 2


def test_the_engine_answers_and_wins_when_it_can(screen: Screen) -> None:
    many = ["game=tic_tac_toe", "search.num_simulations=1000"]
    # O threatens a column; X looks away.
    shown = screen([*many, "play.seat=second"], "quit")
    assert re.search(r"You are O and move second\.", shown)
    assert len(re.findall(r"(?m)^X plays ", shown)) == 1
    shown = screen([*many, "play.seat=both"], "a1", "b2", "b1", "a3", "b3", "side first")
    assert "O plays c1: O is winning (value +1.00 for O; O scores 100 %)" in shown
    assert "Game over: O wins, second player won. You lose." in shown


def test_undo_goes_back_to_the_last_decision(screen: Screen) -> None:
    two = answers(
        screen(["game=tic_tac_toe", "play.seat=both"], "undo", "a1", "b1", "undo", "undo", "undo")
    )
    assert two[1] == two[6] == "there is no move to take back\n"
    assert "1 X . .\n" in two[4]
    assert "1 . . .\n" in two[5]
    one = answers(screen(["game=tic_tac_toe"], "a1", "undo", "undo", "b2", "resign", "undo"))
    assert one[1].startswith("O plays ")
    assert "3 . . .\n2 . . .\n1 . . .\n" in one[2]
    assert one[3] == "there is no move to take back\n"
    assert one[5] == "Game over: X resigns, O wins. You lose.\n"
    assert "2 . X ." in one[6]  # the move stands, giving up does not
    assert "O" in one[6]
    second = answers(screen(["game=tic_tac_toe", "play.seat=second"], "undo"))
    assert second[1] == "there is no move to take back\n"  # the engine's move was no decision


def test_the_engine_resigns_by_the_rule_of_all_protocols(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Thought, "should_resign", lambda thought, below: below == -0.5)
    shown = answers(screen(["game=tic_tac_toe", "engine.resign_below=-0.5"], "b2"))
    assert "Game over: O resigns, X wins. You win.\n" in shown[1]


def test_seats_change(screen: Screen) -> None:
    shown = answers(
        screen(["game=tic_tac_toe"], "flip", "flip", "side both", "flip", "side q", "side none")
    )
    assert shown[1].startswith("You are O now.\nX plays ")
    assert shown[2].startswith("You are X now.\nO plays ")
    assert shown[3] == "Two people play.\n"
    assert shown[4] == "flip needs one seat of yours; type side to choose others\n"
    assert shown[5] == "a side is one of first, second, both, none, X, O, got 'q'\n"
    assert shown[6].startswith("The engine plays both sides.\nX plays ")
    assert re.search(r"Game over: [^\n]*\.\n\Z", shown[6])


def test_the_engine_plays_itself(screen: Screen) -> None:
    start, over, again = answers(screen(["game=tic_tac_toe", "play.seat=none"], "x", "new"))[:3]
    assert "The engine plays itself." in start
    assert len(re.findall(r"(?m)^(X|O) plays ", start)) in range(5, 10)
    assert over.startswith("the game is over: new starts another")
    assert len(re.findall(r"(?m)^(X|O) plays ", again)) in range(5, 10)


def test_hints_and_opinions(screen: Screen) -> None:
    shown = answers(
        screen(
            ["game=tic_tac_toe", "play.seat=both", "search.num_simulations=400"],
            *("a1", "b1", "a2", "b2", "hint", "opinion"),
        )
    )
    assert shown[5].startswith("a3: X is winning (value +1.00 for X; X scores 100 %)\n")
    assert shown[5].endswith("expected: a3\n")
    lines = shown[6].splitlines()
    assert re.match(r"X is winning \(value \+0\.9\d for X; .*, after \d+ simul", lines[0])
    assert lines[1].split() == ["move", "visits", "value", "prior", "expected"]
    assert lines[2].split()[0] == lines[2].split()[-1] == "a3"
    assert (lines[2].split()[2], lines[2].split()[3]) == ("+1.00", "20.0%")
    assert len(lines) == 7


@pytest.mark.parametrize(
    ("value", "seat", "said"),
    [
        (0.0, 0, "about even (value +0.00 for X; X scores 50 %)"),
        (-0.001, 1, "about even (value +0.00 for O; O scores 50 %)"),
        (0.2, 1, "O is slightly better (value +0.20 for O; O scores 60 %)"),
        (-0.4, 0, "O is better (value -0.40 for X; O scores 70 %)"),
        (-0.7, 1, "X is much better (value -0.70 for O; X scores 85 %)"),
        (1.0, 0, "X is winning (value +1.00 for X; X scores 100 %)"),
    ],
)
def test_values_in_words(value: float, seat: int, said: str) -> None:
    assert describe_value(value, azcore.make("tic_tac_toe"), seat) == said


@pytest.mark.parametrize(
    ("game", "typed", "told"),
    [
        (["game=go", "game.board_size=5"], "z99", "A1 to E5 (no column I), got 'z99' (type help"),
        (["game=go", "game.board_size=5"], "опять 囲碁", "got 'опять 囲碁' (type help for a"),
        (["game=go", "game.board_size=5"], "c3\nc3", "C3 (action 12) is not legal here (type help"),
        (["game=go", "game.board_size=5"], "save", "such as save game.sgf\n"),
        (["game=go", "game.board_size=5"], "save no/\0.sgf", "could not write a transcript"),
        (["game=go", "game.board_size=5"], "flip now", "flip takes no argument"),
        (["game=chess"], "e5", "e5 is not legal here (type help for a list)"),
        (["game=chess"], "Nf3\na6\nNd4\na5\nNc3\nh5\nNb5", "Nb5 may mean any of N"),
        (["game=shogi"], "P*5e", "P*5e (action"),
        (["game=tic_tac_toe"], "pass", "got 'pass' (type help for a list)"),
        (["game=tic_tac_toe"], "save x.sgf", "must end in .json, got 'x.sgf'\n"),
    ],
)
def test_bad_input_gets_one_sentence_and_the_prompt_again(
    screen: Screen, game: list[str], typed: str, told: str
) -> None:
    shown = screen([*game, "play.seat=both"], *typed.split("\n"))
    last, rest = answers(shown)[-2:]
    assert told in last
    assert last.count("\n") == 1
    assert rest == ""  # the end of the input


def test_help_names_every_word(screen: Screen) -> None:
    shown = answers(screen(["game=chess"], "help", "HELP", "moves"))
    assert shown[1] == shown[2]
    words = re.findall(r"(?m)^  ([a-z]+) ", shown[1])
    assert words == (
        "hint opinion undo flip board moves new save resign quit".split()  # noqa: SIM905
    )
    example = re.search(r"Type a move such as (\S+), or", shown[1])
    assert example is not None
    assert example[1] in shown[3].split()
    assert len(shown[3].split()) == 20


def test_a_game_is_saved_with_what_the_engine_thought(screen: Screen, tmp_path: Path) -> None:
    five = ["game=go", "game.board_size=5"]
    (tmp_path / "mine.sgf").write_text("precious")
    lines = ["c3", "save a", "save mine.sgf", "save a.txt", "resign", "save a.sgf"]
    shown = answers(screen(five, *lines))
    assert shown[2] == "saved to a.sgf\n"
    assert shown[3] == "mine.sgf already exists; choose another file\n"
    assert shown[4] == "go: a transcript must end in .sgf, got 'a.txt'\n".removeprefix("go: ")
    assert shown[6] == "saved to a.sgf\n"  # its own file may be replaced
    assert (tmp_path / "mine.sgf").read_text() == "precious"
    game = azcore.make("go", board_size=5)
    read = read_transcript(tmp_path / "a.sgf", game)
    assert (read.players, read.result) == (("a person", "azcore"), "W+R")
    assert read.actions[0] == 12
    remark = read_remark(read.comments[1])
    assert remark is not None
    assert (remark.visits, remark.line[0]) == (16, game.action_to_text(None, read.actions[1]))


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (
            ["play.seat=third"],
            "play.seat must be one of first, second, both, none, black, white, got 'third'",
        ),
        (["search.num_simulations=0"], "search.num_simulations must be 1 or more, or null, got 0"),
        (["search.num_simulations=null"], "a number, or play.seconds one, got None"),
        (["play.seconds=0"], "play.seconds must be above 0"),
    ],
)
def test_settings_are_refused(overrides: list[str], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        play(compose("command=play", *overrides))


def test_a_checkpoint_brings_its_own_game(
    tiny: Callable[..., dict[str, Any]], screen: Screen, tmp_path: Path
) -> None:
    train_once(tiny("run_dir=run", "trainer.max_steps=4"))
    path = tmp_path / "run/checkpoints/last.ckpt"
    shown = screen(["game=go", f"checkpoint={path}"], "b2")
    assert "tic_tac_toe. You are X and move first.\n" in shown
    assert f"with {path}." in shown
    assert "O plays " in shown
    game, evaluator, _ = loaded(compose("command=play", "game=go", f"checkpoint={path}"))
    logits, _ = evaluator.evaluate(game.observation(game.initial_state())[None].astype(np.uint8))
    assert logits.shape == (1, 9)
    with pytest.raises(CheckpointError, match="cannot read this checkpoint"):
        play(compose("command=play", "checkpoint=nothing.ckpt"))


# -- the real program --------------------------------------------------------------------------

ARGUMENTS = [sys.executable, "-m", "azcore", "command=play", "game=tic_tac_toe"]


def test_bytes_that_are_no_text_are_answered(tmp_path: Path) -> None:
    done = subprocess.run(
        [*ARGUMENTS, "play.seat=both"],
        input=b"\xff\xfe\n\nb2\n",
        capture_output=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"2 . X ." in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("typed", "status"), [("b2\n\x04", 0), ("\x03", 130), ("b2\n+\x03", 130)])
def test_on_a_terminal(tmp_path: Path, typed: str, status: int) -> None:
    """Ctrl-D, Ctrl-C at the prompt, and Ctrl-C (after +) while the engine thinks."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        seconds = ["play.seconds=300", "search.num_simulations=null"] if "+" in typed else FEW
        os.execv(ARGUMENTS[0], [*ARGUMENTS, *seconds])
    shown = b""

    def wait_for(what: bytes) -> None:
        nonlocal shown
        until = time.monotonic() + 120
        while what not in shown and time.monotonic() < until:
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 65536)
        assert what in shown
        shown = shown.partition(what)[2]

    wait_for(b"X> ")
    first, plus, rest = typed.partition("+")
    if plus:
        os.write(terminal, first.encode())
        wait_for(b"thinking")
        os.write(terminal, rest.encode())
    else:
        line, newline, rest = typed.partition("\n")
        os.write(terminal, (line + newline).encode())
        if rest:
            wait_for(b"O plays ")
            wait_for(b"X> ")
            os.write(terminal, rest.encode())
    left = b""
    with contextlib.suppress(OSError):  # how a terminal says that nobody is there any more
        for _ in range(60):
            if select.select([terminal], [], [], 2)[0]:
                left += os.read(terminal, 65536)
            elif status == 130:
                # Python's readline can miss a signal that comes just before it waits: press again.
                os.write(terminal, b"\x03")
    assert b"Traceback" not in left
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == status


@pytest.mark.parametrize(("seat", "told"), [("O", "You are O and move second"), ("x", "You are X")])
def test_a_seat_by_the_games_own_name(screen: Screen, seat: str, told: str) -> None:
    assert told in screen(["game=tic_tac_toe", f"play.seat={seat}"], "quit")


def test_a_seat_that_is_none(screen: Screen) -> None:
    with pytest.raises(SettingError, match="one of first, second, both, none, X, O, got 'white'"):
        screen(["game=tic_tac_toe", "play.seat=white"], "quit")


def test_a_run_directory_is_its_last_weights(
    screen: Screen, tiny: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    train_once(tiny("run_dir=run", "trainer.max_steps=8"))
    for text in ("run", "run@step-8", "run/checkpoints/last.ckpt"):
        shown = screen(["game=go", f"checkpoint={text}", "play.seat=none"], "quit")
        assert "tic_tac_toe. The engine plays itself." in shown
    with pytest.raises(
        SettingError, match=r"run@step-5 has no checkpoint .*there: last, step-0, step-8"
    ):
        screen(["checkpoint=run@step-5"], "quit")
    with pytest.raises(CheckpointError, match="nowhere"):
        screen(["checkpoint=nowhere"], "quit")
