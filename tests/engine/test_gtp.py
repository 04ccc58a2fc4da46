"""GTP: what each line is answered, the clocks, and lines gone wrong."""

from __future__ import annotations

import io
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import azcore
from azcore.engine import server as engine_module
from azcore.engine.clock import SeatClock, TimeSettings
from azcore.engine.gtp import GtpServer
from azcore.engine.lines import LONGEST_LINE, read_lines
from azcore.engine.server import Engine, Loaded
from azcore.engine.thinker import Thinker
from azcore.engine.thought import Limits
from azcore.engine.uci import UciServer
from azcore.game import Game
from azcore.search.evaluators import UniformEvaluator
from gtp_kit import GtpTarget, talk
from protocol_kit import Live, fuzz, make_engine


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
        f"? a line may have at most {LONGEST_LINE} bytes\n\n",
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
    kgs = SeatClock(TimeSettings(main=0, period=30, stones=1, counts_periods=True))
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


@pytest.mark.long(short="tests/engine/test_gtp.py::test_spoilt_lines")
def test_many_spoilt_lines(target: GtpTarget) -> None:
    """`python tests/engine/fuzz.py gtp 1000000` sends more."""
    assert fuzz(target, 100_000, seed=1) > 90_000


@pytest.mark.parametrize(
    ("server", "lines"), [(GtpServer, ["genmove b"]), (UciServer, ["uci", "isready"])]
)
def test_quit_does_not_wait_for_the_network(go5: Game, server: Any, lines: list[str]) -> None:
    never = threading.Event()

    def load() -> Any:
        never.wait(120)
        return Loaded(go5, UniformEvaluator(go5))

    loaded = make_engine(go5)
    live = Live(server, Engine(load, loaded._search, loaded.settings))
    live.send(*lines)
    time.sleep(0.5)
    live.send("quit")
    assert live.join(60) < 60
    assert live.status == [0]
    never.set()
