"""GTP: what each line is answered, that thinking beside the reader stops, and real partners."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.commands.train import train
from azcore.engine import server as engine_module
from azcore.engine.gtp import GtpServer
from azcore.engine.gtp_clock import SeatClock, TimeSettings
from azcore.engine.gtp_words import sgf_settings
from azcore.engine.lines import LONGEST_LINE, Writer, read_lines
from azcore.engine.server import Engine
from azcore.engine.thinker import Limits, Thinker
from azcore.engine.uci import UciServer
from azcore.game import Game
from azcore.search.evaluators import Evaluator, UniformEvaluator
from gtp_kit import GtpTarget
from protocol_kit import Live, Program, Recorder, fuzz, make_engine

GNUGO = shutil.which("gnugo", path=f"{os.environ.get('PATH', '')}:/usr/games")
SABAKI = Path(__file__).with_name("sabaki")


@pytest.fixture(scope="module")
def go5() -> Game:
    return azcore.make("go", board_size=5)


def talk(game: Game, *lines: str | None, **changes: Any) -> list[str]:
    """All that is written for each line, of a fresh engine with few simulations."""
    recorder = Recorder()
    engine = make_engine(game, **{"num_simulations": 8, **changes})
    assert GtpServer(engine, recorder).run(iter(lines)) == 0
    return [told for _, told in recorder.exchanges]


def says(game: Game, conversation: str, **changes: Any) -> None:
    """Hold a conversation written as `line -> reply` and compare."""
    pairs = [pair.strip().partition("->") for pair in conversation.strip().splitlines()]
    told = talk(game, *[line.strip() for line, _, _ in pairs], **changes)
    got = [text.rstrip("\n") for text in told]
    wanted = [reply.strip() for _, _, reply in pairs]
    for (line, _, _), reply, want in zip(pairs, got, wanted, strict=True):
        if want.endswith("..."):
            assert reply.startswith(want[:-3]), line
        else:
            assert reply.rstrip() == want, line


# -- lines and replies -------------------------------------------------------------------------


def test_syntax(go5: Game) -> None:
    told = talk(
        go5,
        "name",
        "12 name",
        "\t 7\tname # words",
        "# name",
        "",
        "   ",
        "na\x07me\x7f",
        "name\x00",
        "12",
        "5x name",
        "99999999999 name",
        "Name",
        "known_command\tgenmove",
        "known_command castle",
        "known_command",
        "protocol_version",
        None,
        "9 quit",
        "name",
    )
    assert told == [
        "= azcore\n\n",
        "=12 azcore\n\n",
        "=7 azcore\n\n",
        "",
        "",
        "",
        "= azcore\n\n",
        "= azcore\n\n",
        "?12 unknown command\n\n",
        "? unknown command\n\n",
        "? unknown command\n\n",
        "? unknown command\n\n",
        "= true\n\n",
        "= false\n\n",
        "= false\n\n",
        "= 2\n\n",
        f"? a line may be {LONGEST_LINE} bytes long\n\n",
        "=9 \n\n",
    ]  # and nothing after quit


def test_every_command_listed_is_known(go5: Game) -> None:
    listed = talk(go5, "list_commands")[0].removeprefix("= ").split()
    required = (
        "protocol_version name version known_command list_commands quit boardsize clear_board komi "
        "play genmove undo fixed_handicap place_free_handicap set_free_handicap time_settings "
        "time_left final_score final_status_list loadsgf reg_genmove showboard lz-analyze "
        "kata-analyze lz-genmove_analyze kata-genmove_analyze"
    )
    assert set(required.split()) <= set(listed)
    told = talk(go5, *[f"known_command {name}" for name in listed])
    assert told == ["= true\n\n"] * len(listed)
    for reply in talk(go5, *listed[: listed.index("quit")], *listed[listed.index("quit") + 1 :]):
        assert "internal" not in reply
        assert reply != "? unknown command\n\n"


def test_a_game_of_go(go5: Game) -> None:
    says(
        go5,
        """
        1 play b C3 -> =1
        play white c4 -> =
        play w C4 -> ? illegal move: ...
        play b C4 -> ? illegal move: ...
        play b Z9 -> ? syntax error: ...
        play b -> ? syntax error: ...
        play red C3 -> ? syntax error: a colour is wanted, b or w
        final_score -> = W+7.5
        play B pass -> =
        play W PASS -> =
        play b A1 -> ? illegal move: the game is over
        final_score -> = W+7.5
        genmove b -> = pass
        undo -> =
        undo -> =
        undo -> =
        play b A1 -> =
        undo -> =
        undo -> =
        undo -> =
        undo -> ? cannot undo
        final_status_list dead -> =
        final_status_list seki -> =
        final_status_list living -> ? syntax error: alive or dead or seki is wanted
        """,
    )


def test_the_board_is_the_games_own_drawing(go5: Game) -> None:
    state = go5.step(go5.initial_state(), 12)
    assert talk(go5, "play b C3", "showboard")[1] == f"= \n{go5.render(state)}\n\n"


def test_one_seat_may_move_twice(go5: Game) -> None:
    says(
        go5,
        """
        play w C3 -> =
        play w C4 -> =
        play b A1 -> =
        play b pass -> =
        play w C2 -> =
        play w pass -> =
        play b A2 -> =
        final_score -> ...
        play w pass -> =
        play w A5 -> ? illegal move: it is the turn of black, whose pass ends the game
        genmove w -> ? illegal move: it is the turn of black, whose pass ends the game
        undo -> =
        """,
    )
    recorder = Recorder()
    server = GtpServer(make_engine(go5), recorder)
    server.run(iter(["play w C3", "play w C4", "undo"]))
    texts = []
    state = go5.initial_state()
    for action in server._game.line.actions:
        texts.append(go5.action_to_text(state, action))
        state = go5.step(state, action)
    assert texts == ["pass", "C3"]  # one undo takes the pass that was put in too


def test_the_engine_moves_for_either_seat(go5: Game) -> None:
    told = talk(go5, "genmove w", "genmove w", "genmove b", "undo", "undo", "undo", "undo")
    assert all(reply.startswith("= ") for reply in told[:6])
    assert told[6] == "? cannot undo\n\n"
    before, move, after = talk(go5, "showboard", "reg_genmove b", "showboard")
    assert before == after
    assert go5.text_to_action(go5.initial_state(), move[2:].strip()) >= 0


def test_the_best_move_is_found(go5: Game) -> None:
    """Black is ahead after White's pass and wins by passing; behind, passing would lose."""
    moves = ["komi 0.5", "play b C3", "play w pass"]
    assert talk(go5, *moves, "genmove b", num_simulations=400)[-1] == "= pass\n\n"
    ended = talk(go5, "play w C3", "genmove w", "play b A1", num_simulations=400)
    assert ended[1:] == ["= pass\n\n", "= \n\n"]  # out of turn a pass ends no game
    assert talk(go5, "komi 30.5", *moves[1:], "genmove b", num_simulations=400)[-1] != "= pass\n\n"


def test_size_and_komi(go5: Game) -> None:
    says(
        go5,
        """
        play b E5 -> =
        boardsize 4 -> =
        play b E5 -> ? syntax error: ...
        play b D4 -> =
        komi 3 -> =
        final_score -> = B+13
        komi -1.5 -> =
        final_score -> = B+17.5
        komi 0.3 -> ? go: komi must be...
        komi nan -> ? syntax error: a number is wanted
        komi 1_0 -> ? syntax error: a number is wanted
        komi -> ? syntax error: a number is wanted
        final_score -> = B+17.5
        boardsize 20 -> ? unacceptable size: ...
        boardsize 1 -> ? unacceptable size: ...
        boardsize 4.0 -> ? syntax error: a whole number is wanted
        boardsize -> ? syntax error: a whole number is wanted
        final_score -> = B+17.5
        boardsize 4 -> =
        final_score -> = W+-1.5
        """.replace("W+-1.5", "B+1.5"),
    )


class Judge(Evaluator):
    """Stands for a network: made for one board."""

    def evaluate(self, observations: Any) -> Any:
        assert observations.shape[2:] == (5, 5)
        return np.zeros((len(observations), 26), np.float32), np.zeros(len(observations), "f4")


def judged(game: Game, evaluator: Any, **changes: Any) -> Engine:
    """An engine of another evaluator."""
    usual = make_engine(game, **changes)
    return Engine(lambda: (game, evaluator), usual._search, usual.settings)


def test_a_network_keeps_its_board(go5: Game) -> None:
    recorder = Recorder()
    server = GtpServer(judged(go5, Judge(), num_simulations=8), recorder)
    server.run(iter(["boardsize 4", "boardsize 5", "komi 0.5", "genmove b"]))
    assert [told[:20] for _, told in recorder.exchanges[:3]] == [
        "? unacceptable size:",
        "= \n\n",
        "= \n\n",
    ]
    assert recorder.exchanges[3][1].startswith("= ")


def test_any_game_can_be_played() -> None:
    says(
        azcore.make("tic_tac_toe"),
        """
        boardsize 9 -> ? unacceptable size: tic_tac_toe has one board only
        boardsize 3 -> =
        komi 0 -> ? tic_tac_toe has no komi
        fixed_handicap 2 -> ? invalid number of stones: ...
        play b a1 -> =
        play b a2 -> ? illegal move: it is the turn of ...
        play w a1 -> ? illegal move: ...
        play w pass -> ? syntax error: ...
        play w b2 -> =
        final_score -> ? cannot score: the game is not over
        play b a2 -> =
        play w b3 -> =
        genmove b -> = a3
        genmove w -> ? the game is over
        lz-analyze w 10 -> ? the game is over
        undo -> =
        play b a3 -> =
        loadsgf x.sgf -> ? cannot load file: ...
        """,
        num_simulations=100,
    )


def test_a_game_names_its_own_seats() -> None:
    game = azcore.make("tic_tac_toe")
    game.seat_names = ("White", "Black")  # as in games where White begins
    says(
        game,
        """
        play white a1 -> =
        play w a2 -> ? illegal move: it is the turn of Black, who cannot pass
        play black a2 -> =
        play W b1 -> =
        play B b2 -> =
        play red c3 -> ? syntax error: ...
        """,
    )
    game.seat_names = ("cross", "nought")
    says(game, "play cross a1 -> = \n play n a2 -> = \n play b a3 -> =")


# -- handicap ----------------------------------------------------------------------------------


def test_handicap(go5: Game) -> None:
    says(
        azcore.make("go", board_size=9),
        """
        fixed_handicap 5 -> = C3 G7 C7 G3 E5
        undo -> ? cannot undo
        fixed_handicap 2 -> ? board not empty
        play w E3 -> =
        undo -> =
        undo -> ? cannot undo
        clear_board -> =
        fixed_handicap 10 -> ? invalid number of stones: ...
        fixed_handicap 1 -> ? invalid number of stones: ...
        place_free_handicap 81 -> = C3 G7 C7 G3 C5 G5 E3 E7 E5
        clear_board -> =
        place_free_handicap 1 -> ? invalid number of stones: ...
        set_free_handicap A1 -> ? bad vertex list: ...
        set_free_handicap A1 A1 -> ? bad vertex list: ...
        set_free_handicap A1 pass -> ? bad vertex list: ...
        set_free_handicap A1 Z1 -> ? bad vertex list: ...
        set_free_handicap A1 B2 J9 -> =
        play w A2 -> =
        play b A3 -> =
        clear_board -> =
        play b A1 -> =
        set_free_handicap A2 B2 -> ? board not empty
        """,
    )
    says(go5, "fixed_handicap 2 -> ? invalid number of stones: ...")


@pytest.mark.skipif(GNUGO is None, reason="GNU Go (gnugo) is not installed")
def test_fixed_handicaps_are_gnugos() -> None:
    gnugo = Program([str(GNUGO), "--mode", "gtp"])
    for size in (5, 6, 7, 8, 9, 11, 13, 18, 19):  # on 12 it takes the fourth line already
        game = azcore.game.registry.unprepared("go", board_size=size)
        for count in range(1, 11):
            gnugo.ask(f"boardsize {size}")
            gnugo.ask("clear_board")
            accepted, points = gnugo.ask(f"fixed_handicap {count}")
            try:
                actions = game.handicap_actions(count)
            except azcore.errors.GameError:
                assert not accepted, (size, count, points)
                continue
            assert accepted, (size, count)
            ours = {game.action_to_text(None, action) for action in actions}
            assert ours == set(points.split())
    gnugo.close()


# -- records -----------------------------------------------------------------------------------


def test_loadsgf(go5: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("game.sgf").write_text("(;GM[1]SZ[4]KM[0.5];B[aa];W[dd];B[ab];W[])")
    Path("setup.sgf").write_text("(;GM[1]SZ[5]AB[aa][bb];W[dd])")
    Path("big.sgf").write_text("(;GM[1]SZ[25];B[aa])")
    Path("komi.sgf").write_text("(;GM[1]SZ[5]KM[6.3];B[aa])")
    Path("size.sgf").write_text("(;GM[1]SZ[5:4];B[aa])")
    Path("illegal.sgf").write_text("(;GM[1]SZ[4]KM[0.5];B[aa];W[aa])")
    Path("binary.sgf").write_bytes(bytes(range(256)) * 10)
    says(
        go5,
        """
        play b E5 -> =
        loadsgf none.sgf -> ? cannot load file: there is no file none.sgf
        loadsgf . -> ? cannot load file: there is no file .
        loadsgf /dev/zero -> ? cannot load file: there is no file /dev/zero
        loadsgf big.sgf -> ? cannot load file: go: board_size must be ...
        loadsgf komi.sgf -> ? cannot load file: go: komi must be ...
        loadsgf size.sgf -> ? cannot load file: ...
        loadsgf binary.sgf -> ? cannot load file: ...
        loadsgf illegal.sgf -> ? cannot load file: go: move 2 ...
        loadsgf illegal.sgf -> ? cannot load file: go: move 2 ...
        clear_board -> =
        play b E5 -> =
        loadsgf -> ? syntax error: the name of a file is wanted
        loadsgf game.sgf x -> ? syntax error: a whole number is wanted
        play w A1 -> =
        final_score -> = W+7.5
        loadsgf game.sgf -> =
        play b D1 -> ? illegal move: ...
        undo -> =
        undo -> =
        undo -> =
        undo -> =
        undo -> ? cannot undo
        loadsgf game.sgf 2 -> =
        final_score -> = B+15.5
        loadsgf game.sgf 99 -> =
        genmove b -> ...
        loadsgf setup.sgf -> =
        play b A5 -> ? illegal move: ...
        undo -> =
        undo -> ? cannot undo
        play b B4 -> ? illegal move: ...
        final_score -> = B+24.5
        """,
    )
    assert sgf_settings("(;SZ[9]KM[ 5.5 ]C[KM[3\\]])") == {"board_size": 9, "komi": 5.5}
    assert sgf_settings("(;B[aa])") == {"board_size": 19}


# -- time --------------------------------------------------------------------------------------


def test_a_seats_clock() -> None:
    clock = SeatClock(TimeSettings(main=10, period=30, stones=5))
    assert (clock.clock().remaining, clock.clock().byoyomi) == (10, 6)
    clock.spend(4)
    assert clock.clock().remaining == 6
    clock.spend(7)
    assert (clock.clock().remaining, clock.clock().moves_to_go) == (30, 5)
    for _ in range(4):
        clock.spend(2)
    assert (clock.clock().remaining, clock.clock().moves_to_go) == (22, 1)
    clock.spend(2)
    assert (clock.clock().remaining, clock.clock().moves_to_go) == (30, 5)
    clock.set_left(100, 0)
    assert clock.clock().moves_to_go is None
    kgs = SeatClock(TimeSettings(main=0, period=30, stones=1, periods_told=True))
    kgs.set_left(30, 7)  # periods
    assert (kgs.clock().remaining, kgs.clock().moves_to_go) == (30, 1)


def test_the_clock_sets_the_limits(go5: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Limits] = []
    think = Thinker.think

    def look(self: Thinker, limits: Limits, *rest: Any) -> Any:
        asked.append(limits)
        return think(self, Limits(simulations=2), *rest)

    monkeypatch.setattr(Thinker, "think", look)
    told = talk(
        go5,
        "genmove b",
        "time_settings 100 0 0",
        "genmove w",
        "time_left w 20 0",
        "genmove w",
        "genmove b",
        "time_left w 8 2",
        "genmove w",
        "time_settings 0 1 0",
        "genmove b",
        "kgs-time_settings byoyomi 40 5 3",
        "genmove w",
        "kgs-time_settings none",
        "time_left b 60 0",
        "reg_genmove b",
        "time_settings 1 1",
        "time_settings -1 1 1",
        "time_left b x 0",
        "kgs-time_settings sundial",
        num_simulations=77,
    )
    assert [reply[0] for reply in told] == ["="] * 15 + ["?"] * 4
    seconds = [limits.seconds for limits in asked]
    assert seconds[1:] == [
        pytest.approx(wanted - 0.1, abs=0.01) if wanted else None
        for wanted in (100 / 20, 20 / 20, 100 / 20, 8 / 2, None, 40 / 20 + 5, 60 / 20)
    ]
    assert asked[0].simulations == asked[5].simulations == 77


# -- thinking beside the reader ----------------------------------------------------------------


def parse_info(line: str) -> list[dict[str, str]]:
    found = []
    for part in line.split("info ")[1:]:
        words = part.partition(" rootInfo")[0].split()
        at = words.index("pv")
        found.append(
            dict(zip(words[:at:2], words[1:at:2], strict=True)) | {"pv": " ".join(words[at + 1 :])}
        )
    return found


def test_analysis_is_printed_as_leela_zero_and_katago_do(go5: Game) -> None:
    live = Live(GtpServer, make_engine(go5))
    live.send("play b C3", "7 lz-analyze w 1 maxmoves 3")
    assert [live.line() for _ in range(3)] == ["= ", "", "=7 "]
    lines = [live.line() for _ in range(3)]
    live.send("")
    assert live.until("")[-1] == ""
    for line in lines:
        found = parse_info(line)
        assert [move["order"] for move in found] == ["0", "1", "2"]
        for move in found:
            assert list(move) == ["move", "visits", "winrate", "prior", "lcb", "order", "pv"]
            assert move["pv"].split()[0] == move["move"]
            assert 0 <= int(move["lcb"]) <= int(move["winrate"]) <= 10000
            assert int(move["prior"]) == round(10000 / 25)
    visits = [int(parse_info(line)[0]["visits"]) for line in lines]
    assert visits == sorted(visits)
    live.send("kata-analyze 1 minmoves 99 rootInfo true ownership false pvVisits false")
    assert live.line() == "= "
    line = live.line()
    live.send("name")
    assert live.until("= azcore")[-2:] == ["", "= azcore"]
    found = parse_info(line)
    assert {move["move"] for move in found} == {
        go5.action_to_text(None, a) for a in range(26) if a != 12
    }
    assert all(0.0 <= float(move["winrate"]) <= 1.0 and "." in move["winrate"] for move in found)
    assert " rootInfo visits " in line
    live.end()
    live.join()
    assert live.status == [0]


def test_win_rates_are_those_of_the_player_to_move(go5: Game) -> None:
    """After White's pass a pass ends the game, and the komi says who has won it."""
    for komi, seat, rate in (("0.5", "b", "10000"), ("30.5", "b", "0")):
        live = Live(GtpServer, make_engine(go5))
        live.send(f"komi {komi}", "play b C3", "play w pass", f"lz-analyze {seat} 2 allow b pass 1")
        assert parse_info(live.until("info")[-1])[0]["winrate"] == rate
        live.end()
        live.join()
    live = Live(GtpServer, make_engine(go5))
    live.send("komi 0.5", "play b C3", "play w C4", "play b pass", "kata-analyze 2 allow w pass 1")
    assert parse_info(live.until("info")[-1])[0]["winrate"] == "1.000000"  # White's, by komi
    live.end()
    live.join()


def test_avoid_and_allow(go5: Game) -> None:
    def moves(words: str) -> set[str]:
        live = Live(GtpServer, make_engine(go5))
        live.send(f"lz-analyze b 5 minmoves 99 {words}")
        lines = live.until("info") if not words.startswith("bad") else []
        live.end()
        live.join()
        return {move["move"] for move in parse_info(lines[-1])}

    everything = {go5.action_to_text(None, a) for a in range(26)}
    assert moves("") == everything
    assert moves("allow b A1,B2,c3 1") == {"A1", "B2", "C3"}
    assert moves("avoid b A1,pass,resign 50 avoid b B2 1") == everything - {"A1", "pass", "B2"}
    assert moves("avoid w A1 1") == everything
    assert moves("allow b A1,B2 1 avoid b A1 1") == {"B2"}
    for wrong in ("avoid b A1", "avoid red A1 1", "allow b Z9 1", "minmoves", "fast 3", "allow"):
        assert talk(go5, f"lz-analyze b 5 {wrong}")[0].startswith("? syntax error"), wrong
    assert talk(go5, "lz-analyze allow b A1 1 avoid b A1 1") == ["? no legal move is left\n\n"]


def test_a_move_with_analysis_is_a_move(go5: Game) -> None:
    for words in ("lz-genmove_analyze b 1", "5 kata-genmove_analyze b interval 1"):
        reply, board = talk(go5, words, "showboard", num_simulations=3000)
        lines = reply.split("\n")
        assert lines[0] == ("=5 " if words[0] == "5" else "= ")
        assert lines[-3].startswith("play ")
        assert all(line.startswith("info move ") for line in lines[1:-3])
        move = lines[-3].removeprefix("play ")
        state = go5.step(go5.initial_state(), go5.text_to_action(go5.initial_state(), move))
        assert board == f"= \n{go5.render(state)}\n\n"
    assert talk(go5, "lz-genmove_analyze 5")[0].startswith("? syntax error")


def test_analysis_stops_at_once_however_large_the_tree() -> None:
    """At 10,000 simulations of the largest board; the bound is for a machine busy elsewhere."""
    live = Live(GtpServer, make_engine(azcore.make("go", board_size=19), leaves_per_tree=8))
    live.send("lz-analyze b 10")
    visits = 0
    while visits < 10_000:
        line = live.until("info")[-1]
        visits = sum(int(move["visits"]) for move in parse_info(line))
    took = []
    for _ in range(5):
        began = time.perf_counter()
        live.send("name")
        live.until("= azcore")
        took.append(time.perf_counter() - began)
        live.send("lz-analyze b 5")
        live.until("info")
    live.end()
    live.join()
    print(f"stopped after {[round(1000 * seconds) for seconds in took]} ms")
    assert min(took) < 0.5


@pytest.mark.parametrize("how", ["quit", "the end", "# interrupt"])
def test_thinking_for_an_hour_is_broken_off(go5: Game, how: str) -> None:
    live = Live(GtpServer, make_engine(go5, max_simulations=10**6))
    live.send("time_settings 36000 0 0", "genmove b")
    assert [live.line() for _ in range(2)] == ["= ", ""]
    time.sleep(0.5)
    assert live._out.empty()
    if how == "the end":
        live.end()
    else:
        live.send(how)
    assert live.line(20).startswith("= ")  # the move that was asked for
    if how == "# interrupt":
        live.send("name", "quit")
        live.until("= azcore")
    live.join(20)
    assert live.status == [0]


def test_what_is_sent_ahead_breaks_nothing_off(go5: Game) -> None:
    """As from a file: the quit is there before the thinking begins."""
    engine = make_engine(go5, num_simulations=2000)
    server = GtpServer(engine, Recorder())
    server.run(iter(["genmove b", "quit"]))
    assert engine.thinker.stop() is not None
    assert engine.thinker._last is not None
    assert engine.thinker._last.new_simulations == 2000
    told: list[int] = []
    server._is_busy = True
    for later in (0, 1):  # bursts of lines
        engine.interrupt = lambda: told.append(later)  # type: ignore[method-assign]  # noqa: B023
        assert server._arrived("quit", server._inbox.burst + later)
    assert told == [1]


def test_pondering_fills_its_memory_and_rests(go5: Game) -> None:
    live = Live(GtpServer, make_engine(go5, ponder=True, num_simulations=8, memory_mb=1))
    live.send("genmove b")
    live.until("= ")
    thinker = live.engine.thinker
    deadline = time.perf_counter() + 60
    used, unchanged = 0, 0
    # On a busy machine the search may get no turn between two looks.
    while unchanged < 3 and time.perf_counter() < deadline:
        time.sleep(0.3)
        before, used = used, thinker._search.bytes_used(0)
        unchanged = unchanged + 1 if used == before and used > 0.5e6 else 0
    assert thinker.is_thinking
    assert 0.5e6 < used < 1.2e6
    live.send("version", "time_left b 10 0")
    live.until("= 0.")
    assert thinker.is_thinking  # these need no position
    live.send("undo")
    live.until("= ")
    live.until("")
    live.end()
    live.join()
    assert not thinker.is_thinking


def test_pondering_keeps_the_part_of_the_tree_that_was_played(go5: Game) -> None:
    live = Live(GtpServer, make_engine(go5, ponder=True, num_simulations=50))
    live.send("genmove b")
    live.until("= ")
    time.sleep(0.5)
    thinker = live.engine.thinker
    assert thinker.is_thinking
    live.send("play w A1", "name")
    live.until("= azcore")
    assert not thinker.is_thinking
    live.send("genmove b", "version")
    live.until("= 0.")
    live.end()
    live.join()
    thought = thinker._last
    assert thought is not None


def test_resigning(go5: Game) -> None:
    class Lost(Judge):
        """Whoever is Black loses, as each side sees it."""

        def evaluate(self, observations: Any) -> Any:
            logits, values = super().evaluate(observations)
            black = observations[:, 16].max(axis=(1, 2)) > 0
            return logits, values + np.where(black, -0.9, 0.9).astype("f4")

    for below, wanted in ((-0.5, True), (-0.95, False), (None, False)):
        recorder = Recorder()
        engine = judged(go5, Lost(), num_simulations=20, resign_below=below)
        GtpServer(engine, recorder).run(iter(["genmove b", "showboard", "genmove w"]))
        first, board, second = [told for _, told in recorder.exchanges]
        assert (first == "= resign\n\n") == wanted
        assert second != "= resign\n\n"
        if wanted:  # the game stays as it was
            assert board == f"= \n{go5.render(go5.initial_state())}\n\n"


def test_a_fault_of_the_evaluator_is_an_error_reply(go5: Game, capsys: Any) -> None:
    class Faulty(Judge):
        left = 1

        def evaluate(self, observations: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                raise RuntimeError("the device is gone")
            return super().evaluate(observations)

    recorder = Recorder()
    GtpServer(judged(go5, Faulty(), num_simulations=4), recorder).run(
        iter(["genmove b", "name", "genmove b", "genmove w"])
    )
    told = [reply for _, reply in recorder.exchanges]
    assert told[0].startswith("? internal error: RuntimeError('the device is gone')")
    assert told[1] == "= azcore\n\n"
    assert told[2].startswith("= ")
    assert told[3].startswith("= ")
    assert "Traceback" in capsys.readouterr().err


def test_the_handshake_does_not_wait_for_the_network(go5: Game) -> None:
    gate = threading.Event()

    def load() -> Any:
        gate.wait(60)
        return go5, UniformEvaluator(go5)

    usual = make_engine(go5)
    live = Live(GtpServer, Engine(load, usual._search, usual.settings))
    live.send("name", "version", "protocol_version", "list_commands", "known_command play")
    live.until("= true")
    live.send("showboard")
    gate.set()
    live.until("= ")
    live.end()
    live.join()


def test_a_load_that_fails_is_told_and_raised(go5: Game) -> None:
    def load() -> Any:
        raise azcore.errors.CheckpointError("x.ckpt: cut")

    usual = make_engine(go5)
    recorder = Recorder()
    server = GtpServer(Engine(load, usual._search, usual.settings), recorder)
    with pytest.raises(azcore.errors.CheckpointError):
        server.run(iter(["name", "genmove b", "name"]))
    assert [t for _, t in recorder.exchanges][:2] == ["= azcore\n\n", "? x.ckpt: cut\n\n"]


# -- lines gone wrong --------------------------------------------------------------------------


def test_reading_lines() -> None:
    long = b"x" * (LONGEST_LINE + 1)
    data = b"a\r\n\n\xff\nb" + b"c" * 70_000 + b"\n" + long + b"\nd\n" + long
    lines = list(read_lines(io.BytesIO(data)))
    assert lines == ["a", "", "\ufffd", "b" + "c" * 70_000, None, "d", None]
    assert list(read_lines(io.BytesIO(b"end"))) == ["end"]


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> GtpTarget:
    monkeypatch.setattr(engine_module, "make", azcore.make)  # put back what the target changes
    return GtpTarget(tmp_path)


def test_spoilt_lines(target: GtpTarget) -> None:
    assert fuzz(target, 3000) > 2500


@pytest.mark.slow
def test_a_hundred_thousand_spoilt_lines(target: GtpTarget) -> None:
    assert fuzz(target, 100_000, seed=1) > 90_000


# -- real programs -----------------------------------------------------------------------------


def engine_command(*words: str) -> list[str]:
    return [sys.executable, "-m", "azcore", "command=engine", "game=go", *words]


def test_standard_output_is_gtp_alone(tmp_path: Path) -> None:
    done = subprocess.run(
        engine_command("game.board_size=5", "engine.num_simulations=20", "engine.log=log.txt"),
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
    assert done.stderr.startswith("azcore: no checkpoint=PATH")
    log = (tmp_path / "log.txt").read_text()
    assert log.startswith("< 1 name\n> =1 azcore\n> \n")
    assert os.listdir(tmp_path) == ["log.txt"]


@pytest.mark.slow
def test_checkpoints(tiny: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    """The board is the checkpoint's; what is no checkpoint is refused with status 2."""
    train(
        tiny(
            "game=go",
            "game.board_size=3",
            "selfplay.game.first_pass=0",
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
    assert "? unacceptable size: the network is made for" in done.stdout
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


@pytest.mark.slow
@pytest.mark.skipif(GNUGO is None, reason="GNU Go (gnugo) is not installed")
def test_whole_games_against_gnugo() -> None:
    ours = Program(engine_command("engine.num_simulations=50"))
    gnugo = Program(
        [str(GNUGO), "--mode", "gtp", "--chinese-rules", "--level", "1", "--capture-all-dead"]
    )
    scores = [play_gnugo(ours, gnugo, number) for number in range(6)]
    ours.close()
    gnugo.close()
    assert all(first == second for first, second in scores), scores
    assert len(set(scores)) > 2, scores


@pytest.mark.slow
@pytest.mark.skipif(GNUGO is None, reason="GNU Go (gnugo) is not installed")
@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
@pytest.mark.skipif(
    not (SABAKI / "node_modules").exists(),
    reason="`npm install` was not run in tests/engine/sabaki",
)
def test_sabakis_controller() -> None:
    done = subprocess.run(
        ["node", "match.js", "4", *engine_command("engine.num_simulations=50")],
        cwd=SABAKI,
        env={**os.environ, "GNUGO": str(GNUGO)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 of 4 games agreed" in done.stdout


def test_stones_rules_and_what_is_not_known(go5: Game) -> None:
    server = GtpServer(make_engine(go5, num_simulations=4), recorder := Recorder())
    asked = [
        *("play b C3", "play w A1", "play b C4", "play w E5", "final_status_list alive"),
        *("kata-get-rules", "kata-set-rules chinese", 'kata-set-rules {"ko": "SIMPLE"}'),
        *("kata-set-rule suicide true", "kata-set-rules tromp-taylor", "kata-set-rule x 1"),
        *("kgs-genmove_cleanup b", "kata-analyze b 1 ownership true", "boardsize 99"),
    ]
    assert server.run(iter(asked)) == 0
    told = [told.strip() for _, told in recorder.exchanges][4:]
    assert sorted(told[0].removeprefix("= ").split("\n")) == ["A1", "C4 C3", "E5"]
    assert json.loads(told[1].removeprefix("= "))["suicide"] is False
    assert told[2].startswith("? rules are tromp-taylor or JSON")
    assert told[3] == "? the rule ko is always POSITIONAL, got 'SIMPLE'"
    assert told[4:6] == ["=", "="]
    assert server.engine.game.settings["suicide"] is True
    assert told[6].startswith("? there is no rule 'x'")
    assert told[7].startswith("= ")
    assert told[8] == "? ownership is not known here, only ownership false is possible"
    assert told[9].startswith("? unacceptable size: go: board_size must be")


def test_games_without_such_rules_say_so() -> None:
    server = GtpServer(make_engine(azcore.make("tic_tac_toe")), recorder := Recorder())
    names = (
        "kata-get-rules",
        "kata-set-rules x",
        "kgs-genmove_cleanup b",
        "final_status_list dead",
    )
    server.run(iter(names))
    assert [told[:15] for _, told in recorder.exchanges] == ["? tic_tac_toe h"] * 4


def test_another_komi_needs_no_other_search(go5: Game, tmp_path: Path) -> None:
    record = tmp_path / "setup.sgf"
    record.write_text("(;GM[1]SZ[5]KM[7.5]AB[aa][bb];W[cc])")
    engine = make_engine(go5, num_simulations=4)
    search = engine.thinker._search
    server = GtpServer(engine, recorder := Recorder())
    server.run(iter([f"loadsgf {record}", "komi 0.5", "final_score", "genmove b", "komi -3"]))
    told = [told.strip() for _, told in recorder.exchanges]
    assert told[2] == "= B+0.5"
    assert told[3].startswith("= ")
    assert told[4] == "="
    assert engine.thinker._search is search
    assert engine.thinker.game.settings["komi"] == -3


@pytest.mark.parametrize(
    ("server", "lines"), [(GtpServer, ["genmove b"]), (UciServer, ["uci", "isready"])]
)
def test_quit_does_not_wait_for_the_network(go5: Game, server: Any, lines: list[str]) -> None:
    never = threading.Event()

    def load() -> Any:
        never.wait(120)
        return go5, UniformEvaluator(go5)

    loaded = make_engine(go5)
    live = Live(server, Engine(load, loaded._search, loaded.settings))
    live.send(*lines)
    time.sleep(0.5)
    live.send("quit")
    assert live.join(60) < 60
    assert live.status == [0]
    never.set()
