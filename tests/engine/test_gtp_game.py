"""GTP: the game that commands set up, play, take back and load."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import azcore
from azcore.engine.gtp import GtpServer
from azcore.game import Game
from gtp_kit import Judge, judged, says, talk
from protocol_kit import Program, Recorder, make_engine

GNUGO = shutil.which("gnugo", path=f"{os.environ.get('PATH', '')}:/usr/games")


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
        play red C3 -> ? syntax error: expected a colour, b or w
        final_score -> = W+7.5
        play B pass -> =
        play W PASS -> =
        final_score -> = W+7.5
        genmove b -> = pass
        undo -> =
        play b A1 -> =
        play b C2 -> =
        undo -> =
        undo -> =
        genmove b -> = pass
        undo -> =
        play w E5 -> =
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
        final_status_list living -> ? syntax error: expected alive or dead or seki
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
        play w A5 -> ? illegal move: black is to move, and passing would end the game
        genmove w -> ? illegal move: black is to move, and passing would end the game
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
        komi nan -> ? syntax error: expected a number
        komi 1_0 -> ? syntax error: expected a number
        komi -> ? syntax error: expected a number
        final_score -> = B+17.5
        boardsize 20 -> ? unacceptable size: ...
        boardsize 1 -> ? unacceptable size: ...
        boardsize 4.0 -> ? syntax error: expected a whole number
        boardsize -> ? syntax error: expected a whole number
        final_score -> = B+17.5
        boardsize 4 -> =
        final_score -> = W+-1.5
        """.replace("W+-1.5", "B+1.5"),
    )


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
        boardsize 9 -> ? unacceptable size: tic_tac_toe has only one board
        boardsize 3 -> =
        komi 0 -> ? tic_tac_toe has no komi
        fixed_handicap 2 -> ? invalid number of stones: ...
        play b a1 -> =
        play b a2 -> ? illegal move: ...
        play w a1 -> ? illegal move: ...
        play w pass -> ? syntax error: ...
        play w b2 -> =
        final_score -> ? cannot score: the game is not over
        play b a2 -> =
        play w b3 -> =
        genmove b -> = a3
        genmove w -> ? the game is over
        lz-analyze w 10 -> ? illegal move: the game is over
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
        play w a2 -> ? illegal move: Black is to move and cannot pass
        play black a2 -> =
        play W b1 -> =
        play B b2 -> =
        play red c3 -> ? syntax error: ...
        """,
    )
    game.seat_names = ("cross", "nought")
    says(game, "play cross a1 -> = \n play n a2 -> = \n play b a3 -> =")


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


def test_loadsgf(go5: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("game.sgf").write_text("(;GM[1]SZ[4]KM[0.5];B[aa];W[dd];B[ab];W[])")
    Path("setup.sgf").write_text("(;GM[1]SZ[5]AB[aa][bb];W[dd])")
    Path("stones.sgf").write_text("(;GM[1]SZ[9]AB[aa][bb])")
    Path("big.sgf").write_text("(;GM[1]SZ[25];B[aa])")
    Path("komi.sgf").write_text("(;GM[1]SZ[5]KM[6.3];B[aa])")
    Path("size.sgf").write_text("(;GM[1]SZ[5:4];B[aa])")
    Path("illegal.sgf").write_text("(;GM[1]SZ[4]KM[0.5];B[aa];W[aa])")
    Path("binary.sgf").write_bytes(bytes(range(256)) * 10)
    Path("long.sgf").write_text("(;FF[3]GaMe[1]SiZe[5]KoMi[375]C[KM[9\\]];Black[aa];White[ee])")
    Path("wide.sgf").write_text("(;SZ[5]KM[0.5];B[aa];W[bb])", encoding="utf-16")
    says(go5, "loadsgf stones.sgf -> =\n fixed_handicap 2 -> ? board not empty")
    says(go5, f"loadsgf {'a' * 300}.sgf -> ? cannot load file: ...")
    says(
        go5,
        """
        play b E5 -> =
        loadsgf none.sgf -> ? cannot load file: none.sgf does not exist
        loadsgf . -> ? cannot load file: . does not exist
        loadsgf /dev/zero -> ? cannot load file: /dev/zero does not exist
        loadsgf big.sgf -> ? cannot load file: go: board_size must be ...
        loadsgf komi.sgf -> ? cannot load file: go: komi must be ...
        loadsgf size.sgf -> ? cannot load file: ...
        loadsgf binary.sgf -> ? cannot load file: ...
        loadsgf illegal.sgf -> ? cannot load file: illegal.sgf, game 1: go: move 2 ...
        loadsgf illegal.sgf -> ? cannot load file: illegal.sgf, game 1: go: move 2 ...
        clear_board -> =
        play b E5 -> =
        loadsgf -> ? syntax error: expected a file name
        loadsgf game.sgf x -> ? syntax error: expected a whole number
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
        loadsgf long.sgf -> =
        final_score -> = W+7.5
        play w A5 -> ? illegal move: ...
        loadsgf wide.sgf -> =
        final_score -> = W+0.5
        loadsgf setup.sgf -> =
        play b A5 -> ? illegal move: ...
        undo -> =
        undo -> ? cannot undo
        play b B4 -> ? illegal move: ...
        final_score -> = B+24.5
        """,
    )


def test_stones_rules_and_what_is_not_known(go5: Game) -> None:
    server = GtpServer(make_engine(go5, num_simulations=4), recorder := Recorder())
    asked = [
        *("play b C3", "play w A1", "play b C4", "play w E5", "final_status_list alive"),
        *("kata-get-rules", "kata-set-rules japanese", 'kata-set-rules {"ko": "SIMPLE"}'),
        *("kata-set-rule suicide true", "kata-set-rules tromp-taylor", "kata-set-rule x 1"),
        *("kata-get-rules", "kata-set-rules Chinese", "kata-get-rules", "kgs-genmove_cleanup b"),
        *("kata-analyze b 1 ownership true", "boardsize 99"),
    ]
    assert server.run(iter(asked)) == 0
    told = [told.strip() for _, told in recorder.exchanges][4:]
    assert sorted(told[0].removeprefix("= ").split("\n")) == ["A1", "C4 C3", "E5"]
    assert json.loads(told[1].removeprefix("= "))["suicide"] is False
    assert told[2].startswith("? rules must be named area rules, such as chinese")
    assert told[3] == "? the rule ko is always POSITIONAL, got 'SIMPLE'"
    assert told[4:6] == ["=", "="]
    assert told[6].startswith("? the rule must be one of ")
    assert json.loads(told[7].removeprefix("= "))["suicide"] is True
    assert told[8] == "="
    assert json.loads(told[9].removeprefix("= "))["suicide"] is False
    assert told[10].startswith("= ")
    assert told[11] == "? cannot predict ownership; only ownership false is possible"
    assert told[12].startswith("? unacceptable size: go: board_size must be")


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
