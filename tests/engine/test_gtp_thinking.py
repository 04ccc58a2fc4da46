"""GTP: analysis, pondering and thinking that a command breaks off."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.engine.gtp import GtpServer
from azcore.engine.gtp_analysis import MANY, Question, analysis
from azcore.engine.server import Engine, Loaded
from azcore.engine.thought import Limits, Line
from azcore.game import Game
from azcore.search.evaluators import UniformEvaluator
from azcore.search.memory import bytes_used
from engine.predicting import Foreseen
from gtp_kit import Judge, judged, talk
from protocol_kit import Live, Recorder, make_engine


def parse_info(line: str) -> list[dict[str, str]]:
    found = []
    for part in line.split("info ")[1:]:
        words = part.partition(" rootInfo")[0].partition(" ownership")[0].split()
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


def test_leads_and_ownership_are_those_that_the_network_predicts(go5: Game) -> None:
    foreseen = Foreseen("score", "ownership")
    engine = judged(go5, UniformEvaluator(go5), predictor=foreseen)
    line, thinker = Line(go5), engine.thinker
    thought = thinker.think(Limits(simulations=200), predictions=MANY)
    assert foreseen.asked == [1, 10]
    told = analysis(Question(seconds=1, root=True, ownership=True, is_kata=True), line, thought)
    root = told.partition(" rootInfo ")[2].split()
    assert root[root.index("scoreLead") + 1] == "4.500000"
    cells = root[root.index("ownership") + 1 :]
    assert [float(cell) for cell in cells] == [1, *[0] * 20, -0.5, *[0] * 3]  # A5 and B1
    moves = parse_info(told)
    leads = [move.get("scoreLead") for move in moves]
    # After a move the other player is to move and is foreseen ahead.
    assert leads[:10] == ["-4.500000"] * 10
    assert leads[10:] == [None] * (len(leads) - 10) != []
    assert [move.get("scoreMean") for move in moves] == leads
    told = analysis(Question(seconds=1, ownership=True, is_kata=True), line, thought)
    assert told.endswith(" ".join(["ownership", *cells]))
    assert "ownership" not in analysis(Question(seconds=1, is_kata=True), line, thought)
    assert "score" not in analysis(Question(seconds=1), line, thought)
    thinker.think(Limits(simulations=8))
    assert foreseen.asked == [1, 10]


def test_a_move_that_ends_the_game_is_not_predicted(go5: Game) -> None:
    line = Line(go5)
    line.play(25)  # a pass
    thinker = judged(go5, UniformEvaluator(go5), predictor=Foreseen("score")).thinker
    thinker.set_line(line)
    thought = thinker.think(Limits(simulations=40, actions=(12, 25)), predictions=MANY)
    told = analysis(Question(seconds=1, is_kata=True), line, thought)
    leads = {move["move"]: move.get("scoreLead") for move in parse_info(told)}
    assert leads == {"pass": None, "C3": "-4.500000"}


def test_leads_are_told_when_asked_for(go5: Game) -> None:
    predictor = Foreseen("score")
    engine = judged(go5, UniformEvaluator(go5), predictor=predictor, num_simulations=20)
    live = Live(GtpServer, engine)
    for command, wanted in (("lz-analyze 1", False), ("kata-analyze 1", True)):
        live.send(command)
        live.until("= ")
        assert ("scoreLead -4.5" in live.line()) == wanted
        live.send("")
        live.until("")
        assert bool(predictor.asked) == wanted
    predictor.asked.clear()
    live.send("genmove b", "lz-genmove_analyze w 1", "kata-genmove_analyze b 1")
    for _ in range(3):
        live.until("")
    assert predictor.asked[0] == 1  # the root, for the last one alone
    live.end()
    live.join()


@pytest.mark.parametrize("told", [True, False])
def test_ownership_is_told_when_asked_for(go5: Game, told: bool) -> None:
    predictor = Foreseen("ownership")
    engine = judged(go5, UniformEvaluator(go5), predictor=predictor)
    recorder = Recorder()
    lines = [
        f"kata-analyze 1 minmoves 1 ownership {str(told).lower()} movesOwnership false",
        "name",
    ]
    assert GtpServer(engine, recorder).run(iter(lines)) == 0
    assert (" ownership 1.0" in recorder.exchanges[0][1]) == told
    assert set(predictor.asked) == ({1} if told else set())  # no move of its own has an ownership


@pytest.mark.parametrize("fields", [None, ("score",)])
def test_ownership_that_nobody_predicts_is_refused(go5: Game, fields: Any) -> None:
    predictor = None if fields is None else Foreseen(*fields)
    engine = judged(go5, UniformEvaluator(go5), predictor=predictor)
    recorder = Recorder()
    assert GtpServer(engine, recorder).run(iter(["kata-analyze 1 ownership true"])) == 0
    refusal = "? cannot predict ownership; only ownership false is possible\n\n"
    assert recorder.exchanges[0][1] == refusal


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
        before, used = used, bytes_used(thinker._search.trees, 0)
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
        return Loaded(go5, UniformEvaluator(go5))

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
