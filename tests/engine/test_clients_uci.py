"""The engine as a process beside the programs it is made for, whole games of them."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chess
import chess.engine
import chess.pgn
import pytest

import azcore
from azcore.networks import build_network, network_settings
from azcore.networks.checkpoint import describe_run
from azcore.storage.checkpoint import KEY, write_checkpoint

PATH = f"{os.environ.get('PATH', '')}:/usr/games"  # where Debian keeps them
PATIENCE = 300  # seconds for a match

Command = Callable[..., list[str]]


def program(name: str) -> str:
    found = shutil.which(name, path=PATH)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """How to start an engine with a small network that has learned nothing."""
    from conftest import compose

    folder = tmp_path_factory.mktemp("engines")

    def make(game: str, *overrides: str) -> list[str]:
        path = folder / f"{game}.ckpt"
        if not path.exists():
            config = compose(f"game={game}", "network.blocks=1", "network.channels=4")
            values = dict(config["game"])
            rules = azcore.make(values.pop("name"), **values)
            settings = network_settings(config["network"])
            weights = build_network(rules, settings, seed=0).state_dict()
            checkpoint = {
                KEY: describe_run(rules, settings),
                "state_dict": {f"network.{name}": tensor for name, tensor in weights.items()},
                "global_step": 0,
            }
            write_checkpoint(checkpoint, path)
        words = [sys.executable, "-m", "azcore", "command=engine", f"game={game}"]
        return [*words, f"checkpoint={path}", *overrides]

    return make


@pytest.fixture
def script(command: Command, tmp_path: Path) -> Callable[..., Path]:
    """The same as one file, for clients that take no arguments."""

    def make(game: str, *overrides: str) -> Path:
        path = tmp_path / game
        words = " ".join(f"'{word}'" for word in command(game, *overrides))
        path.write_text(f"#!/bin/sh\nexec env OMP_NUM_THREADS=1 {words}\n")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def start(command: Command) -> Iterator[Callable[..., chess.engine.SimpleEngine]]:
    opened = []

    def open_engine(words: list[str] | str | None = None) -> chess.engine.SimpleEngine:
        opened.append(
            chess.engine.SimpleEngine.popen_uci(
                words or command("chess"), timeout=60, env={**os.environ, "OMP_NUM_THREADS": "1"}
            )
        )
        return opened[-1]

    yield open_engine
    for engine in opened:
        engine.quit()


def test_the_first_answer_comes_before_the_network(command: Command) -> None:
    """The bound is for a busy machine, where it takes 2 s."""
    began = time.perf_counter()
    with subprocess.Popen(
        command("chess"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("uci\n")
        while process.stdout.readline() not in ("uciok\n", ""):
            pass
        assert time.perf_counter() - began < 20
        process.stdin.write("quit\n")
    assert process.returncode == 0


def test_nothing_but_the_protocol_is_on_standard_output(command: Command) -> None:
    lines = b"uci\n\xff\xfe\x00\nisready\nposition fen nonsense\ngo nodes 5\n" + b"x" * 3_000_000
    process = subprocess.run(command("chess"), input=lines, capture_output=True, timeout=120)
    said = process.stdout.decode().splitlines()
    assert process.returncode == 0
    assert {line.split()[0] for line in said} == {
        *("id", "option", "uciok", "readyok", "info", "bestmove")
    }
    assert any("too long" in line for line in said)


def test_a_lost_checkpoint_is_one_sentence(command: Command, tmp_path: Path) -> None:
    words = [*command("chess")[:-1], f"checkpoint={tmp_path / 'lost.ckpt'}"]
    process = subprocess.run(
        words, input="uci\nisready\n", capture_output=True, text=True, timeout=120
    )
    assert process.returncode == 2
    assert "lost.ckpt" in process.stdout.splitlines()[-1]
    assert "Traceback" not in process.stderr


def test_whole_games_in_python_chess(start: Any) -> None:
    ours, other = start(), start(program("stockfish"))
    limits = [
        chess.engine.Limit(nodes=30),
        chess.engine.Limit(time=0.02),
        chess.engine.Limit(white_clock=1, black_clock=1, white_inc=0.01, black_inc=0.01),
        chess.engine.Limit(depth=2),
    ]
    for number, limit in enumerate(limits):
        board, moves = chess.Board(), 0
        while not board.is_game_over(claim_draw=True) and board.ply() < 120:
            engine = ours if (board.ply() + number) % 2 == 0 else other
            result = engine.play(board, limit, ponder=number == 2, game=number)
            assert result.move is not None
            assert not result.resigned
            board.push(result.move)  # python-chess has checked that it is legal
            moves += engine is ours
        assert moves > 1


def test_it_plays_itself_in_python_chess_and_ponders(start: Any) -> None:
    engines, board = (start(), start()), chess.Board()
    clock = chess.engine.Limit(white_clock=1, black_clock=1, white_inc=0.01, black_inc=0.01)
    while not board.is_game_over(claim_draw=True) and board.ply() < 60:
        result = engines[board.ply() % 2].play(board, clock, ponder=True)
        assert result.move is not None
        board.push(result.move)


def test_three_seconds_are_enough_for_a_game(start: Any) -> None:
    """No increment: the clocks here run until the answer has been read.

    With a tenth of a second taken off each move, the last two seconds are for moves made at once.
    """
    ours, lowest = start(), 3.0
    ours.ping()
    for number in range(2):
        board, clocks = chess.Board(), {chess.WHITE: 3.0, chess.BLACK: 3.0}
        while not board.is_game_over(claim_draw=True) and board.ply() < 100:
            limit = chess.engine.Limit(
                white_clock=clocks[chess.WHITE],
                black_clock=clocks[chess.BLACK],
                white_inc=0,
                black_inc=0,
            )
            began = time.perf_counter()
            move = ours.play(board, limit, game=number).move
            clocks[board.turn] -= time.perf_counter() - began
            assert clocks[board.turn] > 0, board.ply()
            board.push(move)
        lowest = min(lowest, *clocks.values())
    assert lowest < 2.6  # the time is used


def test_analysis_in_python_chess(start: Any) -> None:
    ours, board = start(), chess.Board()
    board.push_uci("e2e4")
    with ours.analysis(board, multipv=3) as analysis:
        for info in analysis:
            if info.get("multipv") == 3 and info.get("nodes", 0) > 200:
                break
        analysis.stop()
        best = analysis.wait()
    assert best.move in board.legal_moves
    infos = ours.analyse(board, chess.engine.Limit(nodes=200), multipv=3)
    assert [info["multipv"] for info in infos] == [1, 2, 3]
    for info in infos:
        assert info["nodes"] == 200
        assert isinstance(info["score"].pov(chess.BLACK).score(), int)
        assert info["pv"][0] in board.legal_moves
    only = ours.play(board, chess.engine.Limit(nodes=5), root_moves=[chess.Move.from_uci("h7h5")])
    assert only.move == chess.Move.from_uci("h7h5")
    mate = chess.Board("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1")
    assert ours.analyse(mate, chess.engine.Limit(nodes=500))["score"].white().mate() == 1


def test_what_lichess_bot_does(script: Any, tmp_path: Path) -> None:
    """As its lib/engine_wrapper.py by default, but with less time for the first moves.

    Each name of config.yml.default must be an option; python-chess raises if one is not.
    """
    options = {"Move Overhead": 100, "Threads": 4, "Hash": 512, "SyzygyPath": "./syzygy/"}
    options |= {
        "UCI_ShowWDL": True
    }  # what is managed by python-chess, such as Ponder, it leaves out
    engine = chess.engine.SimpleEngine.popen_uci(
        [str(script("chess"))],
        timeout=60,
        debug=False,
        setpgrp=True,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    with engine:
        engine.configure(options)
        opponent = chess.engine.Opponent(name="Maia", title="BOT", rating=1500, is_engine=True)
        engine.send_opponent_information(opponent=opponent, engine_rating=1600)
        board, clocks = chess.Board(), {chess.WHITE: 3.0, chess.BLACK: 3.0}
        for ply in range(8):
            if ply < 2:
                limit = chess.engine.Limit(time=0.3, clock_id="first move")
            else:
                limit = chess.engine.Limit(
                    white_clock=clocks[chess.WHITE],
                    black_clock=clocks[chess.BLACK],
                    white_inc=0.1,
                    black_inc=0.1,
                    clock_id="real time",
                )
            began = time.perf_counter()
            result = engine.play(
                board,
                limit,
                info=chess.engine.INFO_ALL,
                ponder=ply >= 2,
                draw_offered=False,
                root_moves=None,
            )
            if ply >= 2:
                clocks[board.turn] -= time.perf_counter() - began - 0.1
            assert result.move in board.legal_moves
            assert isinstance(result.info["score"].relative.score(mate_score=40000), int)
            assert board.variation_san(result.info["pv"])
            board.push(result.move)
        assert min(clocks.values()) > 0
        engine.send_game_result(board, None, "Draw by agreement")
        engine.ping()
        engine.quit()


def test_stop_in_python_chess(command: Command) -> None:
    async def ask() -> list[float]:
        _, engine = await chess.engine.popen_uci(command("chess"))
        waits = []
        for _ in range(3):
            with await engine.analysis(chess.Board(), game=object()) as analysis:
                while analysis.info.get("nodes", 0) < 1000:
                    await asyncio.sleep(0.01)
                began = time.perf_counter()
                analysis.stop()
                await analysis.wait()
                waits.append(time.perf_counter() - began)
        await engine.quit()
        return waits

    assert min(asyncio.run(ask())) < 1


def test_whole_games_in_xboard(script: Any, tmp_path: Path) -> None:
    """Through polyglot, which turns UCI into XBoard's own protocol, with pondering."""
    for name in ("xboard", "polyglot", "xvfb-run"):
        program(name)
    ours, games = script("chess"), tmp_path / "games.pgn"
    words = ["xvfb-run", "-a", "xboard", "-noGUI", "-mg", "2", "-tc", "0:05", "-inc", "0"]
    words += ["-fUCI", "-fcp", f"./{ours.name}", "-fd", str(tmp_path)]
    words += ["-sUCI", "-scp", f"./{ours.name}", "-sd", str(tmp_path), "-sgf", str(games)]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            words,
            env={**os.environ, "PATH": PATH},
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            start_new_session=True,  # xboard stays when the match is over, and is ended below
        )
    began = time.perf_counter()
    try:
        while time.perf_counter() - began < PATIENCE and process.poll() is None:
            if games.exists() and games.read_text().count("\n[Event ") >= 1:
                time.sleep(1)  # until the second game is written to its end
                break
            time.sleep(0.5)
    finally:
        os.killpg(process.pid, 15)
        process.wait()
    with games.open() as file:
        played = list(iter(lambda: chess.pgn.read_game(file), None))
    assert len(played) == 2, (tmp_path / "log").read_text()[-2000:]
    for game in played:
        board = game.end().board()
        assert not game.errors
        assert board.ply() > 10 or board.is_checkmate()  # untaught networks blunder early
        assert game.headers["Result"] in ("1-0", "0-1", "1/2-1/2")
        ending = game.end().comment.lower()
        for word in ("forfeit", "illegal", "exited", "time"):
            assert word not in ending, ending


def test_whole_games_in_cshogi(script: Any, tmp_path: Path) -> None:
    cshogi = pytest.importorskip("cshogi")
    from cshogi import CSA

    ours, games = script("shogi"), tmp_path / "games"
    words = [sys.executable, "-m", "cshogi.cli", str(ours), program("fairy-stockfish")]
    words += ["--options2", "Skill_Level:-20", "--games", "2", "--draw", "40", "--debug"]
    words += ["--csa", str(games), "--time", "2000", "--inc", "50"]
    process = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert "1:readyok" in process.stdout
    assert "info string" not in process.stdout
    files = sorted(games.glob("*.csa"))
    assert len(files) == 2
    shogi: Any = azcore.make("shogi")
    for path in files:
        record = CSA.Parser.parse_file(str(path))[0]
        assert record.endgame not in ("%TIME_UP", "%ILLEGAL_MOVE", "%ERROR")
        assert len(record.moves) > 10
        board, state = cshogi.Board(), shogi.initial_state()
        for move in record.moves:
            assert move in list(board.legal_moves)
            state = shogi.step(state, shogi.text_to_action(state, cshogi.move_to_usi(move)))
            board.push(move)
        assert shogi.state_to_text(state) == board.sfen()
