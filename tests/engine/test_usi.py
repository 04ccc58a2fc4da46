"""USI as GUIs of shogi speak it: what it has beyond UCI, which test_uci.py tests."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.engine.scores import centipawns
from azcore.engine.usi import UsiServer
from azcore.game import Game
from azcore.search.evaluators import Evaluator
from engine.partner import Partner, make_server

Make = Callable[..., Partner]
START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
DATA = Path(__file__).parents[1] / "data"
MATED = "4k4/4G4/4G4/9/9/9/9/9/4K4 w - 1"
# Black's king and ten pieces are in the far ranks; 30 points with the rooks and bishops in hand.
ENTERED = "K8/+P+P+P+P+P4/+P+P+P+P+P4/9/9/9/9/9/8k b 2R2B 1"
NOT_QUITE = "K8/+P+P+P+P+P4/+P+P+P+P5/9/9/9/9/9/8k b 2R2BP 1"  # the points, but one piece too few


@pytest.fixture(scope="module")
def game() -> Game:
    return azcore.make("shogi")


@pytest.fixture
def make(compose: Any, game: Game) -> Iterator[Make]:
    config = compose("command=engine", "game=shogi")
    partners = []

    def new(other: Game | None = None, **changes: Any) -> Partner:
        partners.append(
            Partner(lambda out: make_server(UsiServer, config, other or game, out, **changes))
        )
        return partners[-1]

    yield new
    for partner in partners:
        partner.end()


class Fixed(Evaluator):
    """The same value everywhere."""

    def __init__(self, game: Game, value: float) -> None:
        self._value, self._actions = value, game.num_actions

    def evaluate(self, observations: Any) -> Any:
        size = len(observations)
        return np.zeros((size, self._actions), np.float32), np.full(size, self._value, np.float32)


def position(partner: Partner) -> str:
    assert partner.quiet() == []
    line = partner.server.line
    return str(line.game.state_to_text(line.state))


def test_the_handshake(make: Make) -> None:
    partner = make()
    partner.say("usi")
    lines = partner.hear("usiok")
    assert lines[0].startswith("id name azcore")
    names = [re.match("option name (.+) type (check|spin|button)", line)[1] for line in lines[2:-1]]  # type: ignore[index]
    assert {"USI_Hash", "USI_Ponder", "MultiPV"} <= set(names)
    assert not any(" " in name for name in names)
    partner.say("setoption name USI_Ponder value true", "setoption name USI_Hash value 64")
    partner.say("usinewgame", "gameover draw")
    assert partner.quiet() == []


def test_positions_are_those_of_cshogi(make: Make) -> None:
    cshogi = pytest.importorskip("cshogi")
    partner, board, draw = make(), cshogi.Board(), random.Random(11)
    moves: list[str] = []
    for _ in range(120):
        move = draw.choice(list(board.legal_moves))
        moves.append(cshogi.move_to_usi(move))
        board.push(move)
        partner.say(f"position startpos moves {' '.join(moves)}")
    assert position(partner) == board.sfen()
    assert any("*" in move for move in moves)  # drops, and promotions
    assert any("+" in move for move in moves)
    partner.say(f"position sfen {board.sfen()}")
    assert position(partner) == board.sfen()
    for end in ("", " resign", " win", " pass"):
        partner.say(f"position sfen {START} moves 7g7f{end}")
        assert position(partner).endswith(" w - 2")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("position startpos moves 7g7f 7g7f", "move 2 cannot be played"),
        ("position startpos moves e2e4", "move 1 cannot be played"),
        ("position fen 9/9 b - 1", "position is startpos or sfen"),
        ("position sfen 9/9/9/9/9/9/9/9/9 b - 1", "at least one side must have a king"),
        ("go_", "unknown command"),
        ("setoption name USI_Hash value none", "must be 1 to"),
    ],
)
def test_bad_lines_get_a_sentence_and_change_nothing(make: Make, line: str, sentence: str) -> None:
    partner = make()
    partner.say("position startpos moves 7g7f", line)
    said = partner.quiet()
    assert len(said) == 1
    assert re.match(f"info string .*({sentence})", said[0])
    assert position(partner).endswith(" w - 2")


@pytest.mark.parametrize(
    ("words", "turn", "seconds"),
    [
        ("btime 60000 wtime 20000", "b", 3 - 0.1),
        ("btime 60000 wtime 20000", "w", 1 - 0.1),
        ("btime 0 wtime 0 byoyomi 300", "w", 0.2),
        ("btime 2000 wtime 0 byoyomi 300", "b", 0.3),
        ("btime 2000 wtime 60000 binc 200 winc 0", "b", 0.2),
        ("byoyomi 100", "b", 0.0),
    ],
)
def test_clocks(make: Make, words: str, turn: str, seconds: float, monkeypatch: Any) -> None:
    partner = make()
    partner.say("position startpos" + (" moves 7g7f" if turn == "w" else ""))
    partner.quiet()
    thinker, got = partner.server.engine.thinker, []
    original = thinker.start
    monkeypatch.setattr(
        thinker, "start", lambda limits, **kwargs: (got.append(limits), original(limits, **kwargs))
    )
    partner.ask(f"go {words}", "stop")
    assert got[0].seconds == pytest.approx(seconds)
    assert got[0].simulations is None


def test_byoyomi_is_kept(make: Make) -> None:
    partner = make()
    partner.quiet()
    for _ in range(3):
        began = time.perf_counter()
        partner.say("position startpos", "go btime 0 wtime 0 byoyomi 400")
        ended = partner.hear_when("bestmove")[-1][0]
        assert 0.3 < ended - began < 1


def test_no_legal_action_is_resigned(make: Make) -> None:
    partner = make()
    assert partner.ask(f"position sfen {MATED}", "go byoyomi 100") == "bestmove resign"
    partner.say("go infinite")
    assert partner.quiet() == []
    assert partner.ask("stop") == "bestmove resign"


def test_a_lost_cause_is_resigned_where_settings_say_so(make: Make, game: Game) -> None:
    # One action on everything is well for the other side.
    lost = {"evaluator": Fixed(game, 0.9), "leaves_per_tree": 1}
    assert make(**lost).ask("go nodes 1") != "bestmove resign"
    partner = make(**lost, resign_below=-0.5)
    assert partner.ask("go nodes 1") == "bestmove resign"
    partner.say("go infinite")
    time.sleep(0.05)
    assert partner.ask("stop") != "bestmove resign"  # an analysis gives nothing up
    assert make(**lost, resign_below=-0.95).ask("go nodes 1") != "bestmove resign"


@pytest.mark.parametrize("setting", [False, True])
@pytest.mark.parametrize(("sfen", "wins"), [(ENTERED, True), (NOT_QUITE, False)])
def test_an_entered_king_is_declared(make: Make, setting: bool, sfen: str, wins: bool) -> None:
    cshogi = pytest.importorskip("cshogi")
    assert cshogi.Board(sfen).is_nyugyoku() == wins
    partner = make(azcore.make("shogi", entering_king=setting))
    partner.say(f"position sfen {sfen}", "go byoyomi 50")
    assert (partner.hear("bestmove")[-1] == "bestmove win") == wins
    partner.say("go ponder byoyomi 50")
    if wins:
        assert partner.quiet() == []
    partner.say("ponderhit")
    assert (partner.hear("bestmove")[-1] == "bestmove win") == wins


@pytest.mark.parametrize("name", ["shogi", "shogi_plain"])
def test_both_games_know_the_declaration(name: str) -> None:
    pytest.importorskip("cshogi")
    game = azcore.make(name)
    assert game.can_declare_win(game.state_from_text(ENTERED))
    assert not game.can_declare_win(game.state_from_text(NOT_QUITE))
    assert not game.can_declare_win(game.initial_state())
    assert not azcore.make("tic_tac_toe").can_declare_win(None)


def test_repetition_and_long_games_are_played_on(make: Make) -> None:
    partner = make(azcore.make("shogi", max_plies=20))
    moves = ["2h3h", "8b7b", "3h2h", "7b8b"] * 8
    partner.say(f"position startpos moves {' '.join(moves)}", "go nodes 5")
    heard = partner.hear("bestmove")
    assert re.match("bestmove [1-9][a-i]", heard[-1])
    partner.say(f"position startpos moves {' '.join([*moves, '7g7f'])}")
    assert position(partner).split()[:3] == (
        ["lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL", "w", "-"]
    )


def test_problems_of_mate_are_solved(make: Make, game: Game) -> None:
    cshogi = pytest.importorskip("cshogi")
    partner = make()
    lines = (DATA / "shogi_mates_in_two.txt").read_text().splitlines()
    solved = 0
    for sfen in [line.partition(";")[0] for line in lines[:12]]:
        partner.say(f"position sfen {sfen}", "go mate infinite")
        (answer,) = partner.hear("checkmate")
        if answer == "checkmate nomate":  # the first of the two moves is quiet
            continue
        board, moves = cshogi.Board(sfen), answer.split()[1:]
        assert len(moves) == 3
        for ply, move in enumerate(moves):
            board.push_usi(move)
            assert board.is_check() or ply % 2
        assert board.is_game_over()
        solved += 1
    assert solved == 10


def test_what_is_no_mate_is_told(make: Make) -> None:
    partner = make()
    partner.say("position startpos", "go mate 10000")
    assert partner.hear("checkmate") == ["checkmate nomate"]
    partner.say(f"position sfen {MATED}", "go mate infinite")
    assert partner.hear("checkmate") == ["checkmate nomate"]
    # A pawn may not be dropped for mate; a gold may.
    for hand, answers in (("P", {"nomate"}), ("G", {"G*1b", "G*2b"})):
        partner.say(f"position sfen 7nk/9/7G1/9/9/9/9/9/9 b {hand} 1", "go mate infinite")
        assert partner.hear("checkmate")[-1].split()[1] in answers
    partner.say("position startpos moves 7g7f 7g7f", "go mate infinite")
    assert partner.hear("checkmate")[-1] == "checkmate timeout"
    partner.say("position startpos", "go mate soon")
    assert "needs milliseconds or infinite, got 'soon'" in partner.hear("checkmate")[0]


def test_a_problem_that_takes_long_ends_when_told(make: Make) -> None:
    partner = make()
    long = "position sfen 8k/9/9/9/9/9/9/9/9 b 2Rb4g4s4n4l18p 1"
    partner.say("isready", long, "go mate infinite")
    partner.hear("readyok")
    time.sleep(0.2)
    partner.say("stop")
    assert partner.hear("checkmate") == ["checkmate timeout"]
    partner.say(long, "go mate 300")
    assert partner.hear("checkmate") == ["checkmate timeout"]
    partner.say(long, "go mate infinite", "position startpos", "go nodes 5")
    assert partner.hear("bestmove")[0] == "checkmate timeout"
    small = make(memory_mb=2)  # of 250 positions
    small.say("isready", long, "go mate infinite")
    assert small.hear("checkmate")[-1] == "checkmate timeout"


def test_the_end_of_a_game_ends_pondering(make: Make) -> None:
    partner = make()
    partner.say("position startpos moves 7g7f 3c3d", "go ponder btime 1000 wtime 1000")
    partner.say("gameover lose")
    assert partner.hear("bestmove")
    assert partner.quiet() == []


def test_scores_are_on_the_scale_of_shogi(make: Make, game: Game) -> None:
    # An expectation of 73.106 % is one logit.
    assert centipawns(2 * 0.731059 - 1, UsiServer.centipawns_per_logit) == 600
    partner = make(evaluator=Fixed(game, 2 * 0.731059 - 1))
    partner.say("position startpos", "go nodes 0")
    assert " score cp 600 " in partner.hear("bestmove")[-2]


def test_no_position_has_no_answer(make: Make) -> None:
    """Neither a resignation nor a declared win is one for a position that could not be followed."""
    partner = make()
    for place in ("4k4/4G4/4G4/9/9/9/9/9/4K4 w - 1", ENTERED):
        partner.say(f"position sfen {place}", "go nodes 5")
        assert partner.hear("bestmove")[-1] in ("bestmove resign", "bestmove win")
        partner.say("position startpos moves 7g7f 7g7f", "go nodes 5")
        assert partner.hear("bestmove")[-1] == "bestmove (none)"
