"""GTP as a process: real partners, checkpoints, and those who stop reading."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from azcore.commands.train import train
from azcore.engine.lines import Writer
from protocol_kit import Program

GNUGO = shutil.which("gnugo", path=f"{os.environ.get('PATH', '')}:/usr/games")

SABAKI = Path(__file__).with_name("sabaki")


def engine_command(*words: str) -> list[str]:
    return [sys.executable, "-m", "azcore", "command=engine", "game=go", *words]


def test_standard_output_is_gtp_alone(tmp_path: Path) -> None:
    done = subprocess.run(
        engine_command("game.board_size=5", "search.num_simulations=20", "engine.log=log.txt"),
        input="1 name\n2 genmove b\n3 final_score\nxyz\n4 quit\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
    )
    assert done.returncode == 0
    replies = done.stdout.split("\n\n")
    assert [reply.split()[0] for reply in replies[:-1]] == ["=1", "=2", "=3", "?", "=4"]
    assert replies[-1] == ""
    assert done.stderr.startswith("azcore: searching without a network; set checkpoint=PATH")
    log = (tmp_path / "log.txt").read_text()
    assert log.startswith("< 1 name\n> =1 azcore\n> \n")
    assert os.listdir(tmp_path) == ["log.txt"]


def test_checkpoints(tiny: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    """The board is the checkpoint's; what is no checkpoint is refused with status 2."""
    train(
        tiny(
            "game=go",
            "game.board_size=3",
            "trainer.max_steps=4",
            f"run_dir={tmp_path / 'run'}",
        )
    )
    checkpoint = tmp_path / "run" / "checkpoints" / "last.ckpt"
    script = "showboard\ngenmove b\nboardsize 9\nboardsize 3\nquit\n"

    def served(*words: str, text: str = script) -> Any:
        return subprocess.run(
            engine_command(*words), input=text, capture_output=True, text=True, timeout=300
        )

    done = served(f"checkpoint={checkpoint}")
    assert done.returncode == 0
    assert " 3 . . . 3\n" in done.stdout
    assert "? unacceptable size: the network is for" in done.stdout
    assert "last.ckpt: go board_size 3" in done.stderr
    (tmp_path / "cut.ckpt").write_bytes(checkpoint.read_bytes()[:-100])
    done = served(f"checkpoint={tmp_path / 'cut.ckpt'}", text="name\ngenmove b\n")
    assert done.returncode == 2
    assert done.stdout.startswith("= azcore\n\n? ")
    assert done.stderr.startswith("azcore: ")
    assert "Traceback" not in done.stderr
    done = subprocess.run(
        engine_command(f"checkpoint={checkpoint}", "game=tic_tac_toe"),
        input="genmove b\n",
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 2
    assert "game must be tic_tac_toe, got go" in done.stderr


def test_it_ends_when_its_partner_hangs_up_while_it_loads() -> None:
    process = subprocess.Popen(
        engine_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = process.communicate(b"quit\n", timeout=120)
    assert (process.returncode, out) == (0, b"= \n\n")
    assert b"Traceback" not in err


def play_gnugo(ours: Program, gnugo: Program, number: int) -> tuple[str, str]:
    """A game of 9×9, of which GNU Go plays a first part on its own; both scores.

    GNU Go captures what is dead before the score is compared: by azcore's rules all that stands on
    the board counts.
    """
    for program in (ours, gnugo):
        for line in ("boardsize 9", "clear_board", "komi 7.5"):
            assert program.ask(line)[0]
    gnugo.ask(f"set_random_seed {number}")
    opening = 20 + random.Random(number).randrange(60)
    plies = passes = 0
    is_over = is_cleared = False
    while not is_over:
        is_ours = plies >= opening and plies % 2 == number % 2 and not is_cleared
        mover, other = (ours, gnugo) if is_ours else (gnugo, ours)
        colour = "bw"[plies % 2]
        accepted, move = mover.ask(f"genmove {colour}")
        assert accepted, move
        assert other.ask(f"play {colour} {move}") == (True, "")
        plies += 1
        passes = passes + 1 if move.lower() == "pass" else 0
        assert plies < 400
        if passes == 2:
            is_over = is_cleared or gnugo.ask("final_status_list dead") == (True, "")
            if not is_over:
                for program in (ours, gnugo, ours, gnugo):
                    assert program.ask("undo") == (True, "")
                plies, passes, is_cleared = plies - 2, 0, True
    return ours.ask("final_score")[1], gnugo.ask("final_score")[1]


@pytest.mark.parametrize("ending", ["quit", "SIGTERM"])
def test_a_gui_that_stops_reading_is_not_waited_for(ending: str) -> None:
    """The pipe takes 64 kB; the answers are ten times as long."""
    with subprocess.Popen(
        engine_command("game.board_size=5"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as engine:
        assert engine.stdin is not None
        assert engine.stdout is not None
        engine.stdin.write(b"name\n")
        engine.stdin.flush()
        assert engine.stdout.readline().startswith(b"= ")
        engine.stdin.write(b"list_commands\n" * 800)
        engine.stdin.flush()
        time.sleep(1)
        began = time.perf_counter()
        if ending == "quit":
            engine.stdin.write(b"quit\n")
            engine.stdin.flush()
        else:
            engine.terminate()
        status = engine.wait(60)
        assert status == (0 if ending == "quit" else 130)
    assert time.perf_counter() - began < Writer.PATIENCE + 10


@pytest.mark.parametrize(
    ("game", "first", "then"),
    [
        ("go", b"lz-analyze 10\n", b""),  # the thread of a search writes
        ("chess", b"isready\n", b"isready\nquit\n"),
    ],
)
def test_an_engine_whose_output_alone_is_closed_ends(game: str, first: bytes, then: bytes) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "azcore", "engine", f"game={game}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as engine:
        assert engine.stdin is not None
        assert engine.stdout is not None
        assert engine.stderr is not None
        engine.stdin.write(first)
        engine.stdin.flush()
        assert engine.stdout.readline()
        engine.stdout.close()
        engine.stdin.write(then)
        engine.stdin.flush()
        try:
            assert engine.wait(20) == 0
        finally:
            engine.kill()
        assert b"Error" not in engine.stderr.read()


@pytest.mark.skipif(GNUGO is None, reason="GNU Go (gnugo) is not installed")
def test_whole_games_against_gnugo() -> None:
    ours = Program(engine_command("search.num_simulations=50"))
    gnugo = Program(
        [str(GNUGO), "--mode", "gtp", "--chinese-rules", "--level", "1", "--capture-all-dead"]
    )
    scores = [play_gnugo(ours, gnugo, number) for number in range(3)]
    ours.close()
    gnugo.close()
    assert all(first == second for first, second in scores), scores
    assert len(set(scores)) > 1, scores


@pytest.mark.skipif(GNUGO is None, reason="GNU Go (gnugo) is not installed")
@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
@pytest.mark.skipif(
    not (SABAKI / "node_modules").exists(),
    reason="`npm install` was not run in tests/engine/sabaki",
)
def test_sabakis_controller() -> None:
    done = subprocess.run(
        ["node", "match.js", "2", *engine_command("search.num_simulations=50")],
        cwd=SABAKI,
        env={**os.environ, "GNUGO": str(GNUGO)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 games agreed" in done.stdout
