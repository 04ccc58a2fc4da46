"""UCI as GUIs speak it: a scripted partner, no process; python-chess says what is right."""

from __future__ import annotations

import itertools
import math
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import chess
import numpy as np
import pytest

import azcore
from azcore.engine.lines import Writer
from azcore.engine.scores import centipawns, wins_at_once
from azcore.engine.server import Engine, Loaded
from azcore.engine.settings import engine_settings, thinking_search
from azcore.engine.uci import UciServer, per_thousand
from azcore.game import Game
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.search.predictions import Chances
from engine.partner import Ears, Partner, make_server
from engine.predicting import Foreseen

Make = Callable[..., Partner]
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
SHUFFLE = "g1f3 g8f6 f3g1 f6g8"


@pytest.fixture(scope="module")
def game() -> Game:
    return azcore.make("chess")


@pytest.fixture
def make(compose: Any, game: Game) -> Iterator[Make]:
    config = compose("command=engine", "game=chess")
    partners = []

    def new(other: Game | None = None, **changes: Any) -> Partner:
        partners.append(
            Partner(lambda out: make_server(UciServer, config, other or game, out, **changes))
        )
        return partners[-1]

    yield new
    for partner in partners:
        partner.end()


class Fixed(Evaluator):
    """The same value everywhere, and one action liked best."""

    def __init__(self, game: Game, value: float, liked: int = 0) -> None:
        self._value, self._logits = value, np.zeros(game.num_actions, np.float32)
        self._logits[liked] = 10

    def evaluate(self, observations: Any) -> Any:
        size = len(observations)
        return np.tile(self._logits, (size, 1)), np.full(size, self._value, np.float32)


def position(partner: Partner) -> str:
    """Where the server stands, as FEN."""
    assert partner.quiet() == []
    line = partner.server.line
    return str(line.game.state_to_text(line.state))


def facts(info: str) -> dict[str, str]:
    """The words of an info line by the word before; `pv` has all that follows."""
    before, _, pv = info.partition(" pv ")
    words = before.split()
    return {**dict(pairwise(words)), "pv": pv}


# -- the handshake -----------------------------------------------------------------------------


def test_the_handshake_does_not_wait_for_the_network(compose: Any, game: Game) -> None:
    config, loaded, ears = compose("command=engine", "game=chess"), threading.Event(), Ears()
    search = thinking_search(config)
    settings = engine_settings(config)

    def load() -> Loaded:
        assert loaded.wait(60)
        return Loaded(game, UniformEvaluator(game))

    partner = Partner(lambda _: UciServer(Engine(load, search, settings), Writer(ears)))
    partner._ears = ears
    partner.say("uci", "setoption name Hash value 16", "isready")
    lines = partner.hear("uciok")
    assert lines[0].startswith("id name azcore")
    assert lines[1].startswith("id author")
    names = {re.match("option name (.+) type", line)[1] for line in lines[2:-1]}  # type: ignore[index]
    assert names >= {"Hash", "MultiPV", "Ponder", "UCI_ShowWDL", "Simulations", "Move Overhead"}
    time.sleep(0.1)
    assert ears.lines.empty()
    loaded.set()
    partner.hear("readyok")
    assert partner.server.engine.settings.memory_mb == 16
    assert partner.quit() == []


def test_the_options_that_lichess_bot_sets(make: Make) -> None:
    """Those of its config.yml.default, which python-chess sets if an engine declares them."""
    partner = make()
    partner.say("uci")
    declared = [line for line in partner.hear("uciok") if line.startswith("option ")]
    for name, value in (
        ("Move Overhead", "100"),
        ("Threads", "4"),
        ("Hash", "512"),
        ("SyzygyPath", "./syzygy/"),
        ("UCI_ShowWDL", "true"),
    ):
        assert any(line.startswith(f"option name {name} type ") for line in declared)
        partner.say(f"setoption name {name} value {value}")
    partner.say("isready")
    told = partner.hear("readyok")
    assert told == [
        "info string Threads has no effect: evaluator.threads sets it",
        "info string chess: the tablebase ./syzygy/ cannot be read: No such file or directory",
        "readyok",
    ]
    settings = partner.server.engine.settings
    assert (settings.memory_mb, settings.move_overhead) == (512, 0.1)
    partner.say("setoption name Threads value 0", "isready")
    assert "Threads must be 1 to 1024, got '0'" in partner.hear("readyok")[0]


def test_what_cannot_be_loaded_is_told_and_ends_the_server(compose: Any, game: Game) -> None:
    def load() -> Any:
        raise azcore.AzcoreError("no such file: lost.ckpt")

    config, ears = compose("command=engine", "game=chess"), Ears()
    search = thinking_search(config)
    settings = engine_settings(config)
    server = UciServer(Engine(load, search, settings), Writer(ears))  # type: ignore[arg-type]
    with pytest.raises(azcore.AzcoreError, match=r"lost\.ckpt"):
        server.run(iter(["uci", "isready", "go"]))
    assert list(ears.lines.queue)[-1][1] == "info string no such file: lost.ckpt"


# -- positions ---------------------------------------------------------------------------------


def test_a_growing_game_is_not_played_again(
    make: Make, game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    partner, board, draw = make(), chess.Board(), random.Random(5)
    asked = []
    original = type(game).text_to_action

    def count(self: Any, state: Any, text: str) -> int:
        asked.append(text)
        return original(self, state, text)  # type: ignore[misc]

    monkeypatch.setattr(type(game), "text_to_action", count)
    moves: list[str] = []
    for _ in range(60):
        move = draw.choice(list(board.legal_moves))
        board.push(move)
        moves.append(move.uci())
        partner.say(f"position startpos moves {' '.join(moves)}")
    assert position(partner) == board.fen(en_passant="legal")
    assert asked == moves
    for _ in range(3):  # taken back, and another way
        board.pop()
        moves.pop()
    other = next(m for m in board.legal_moves if m.uci() != asked[57])
    board.push(other)
    partner.say(f"position startpos moves {' '.join([*moves, other.uci()])}")
    assert position(partner) == board.fen(en_passant="legal")
    assert len(asked) == 61
    fen = "r3k2r/8/8/8/8/8/8/R3K2R b Kq - 3 40"
    partner.say(f"position fen {fen} moves e8c8 e1g1")
    assert position(partner) == "2kr3r/8/8/8/8/8/8/R4RK1 b - - 5 41"
    partner.say("position startpos")
    assert position(partner) == chess.STARTING_FEN


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("position startpos moves e2e4 e7e5 e1e3", "move 3 cannot be played"),
        ("position startpos moves e2e4 rubbish", "move 2 cannot be played"),
        ("position startpos e2e4", "position is startpos or fen"),
        ("position", "position is startpos or fen"),
        ("position fen", "6 words|0 words"),
        ("position fen 8/8/8/8/8/8/8/8 w - - 0 1", "no white king"),
        ("position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP w KQkq - 0 1", "8 rows"),
        ("position fen k7/8/8/8/8/8/8/K7 x - - 0 1", "w or b"),
        ("position fen k6R/8/8/8/8/8/8/K7 w - - 0 1", "not to move in check"),
        ("position startpos moves f2f3 e7e5 g2g4 d8h4 e2e4", "the game is over .checkmate"),
        ("setoption name Hash value 0", "option Hash must be 1 to"),
        ("setoption name Hash value", "option Hash must be 1 to"),
        ("setoption name Ponder value maybe", "must be true or false"),
        ("setoption name Skill value 3", "unknown option 'Skill'"),
        ("setoption", "setoption must be name"),
        ("debug maybe", "debug must be on or off"),
        ("ponderhit", "without go ponder"),
        ("xyzzy plugh", "unknown command 'xyzzy'"),
        ("\x00\x1b[2J\ufffd\u2028", "unknown command"),
    ],
)
def test_bad_lines_get_a_sentence_and_change_nothing(make: Make, line: str, sentence: str) -> None:
    partner = make()
    partner.say("position startpos moves d2d4", line)
    said = partner.quiet()
    assert len(said) == 1
    assert re.match(f"info string .*({sentence})", said[0])
    assert said[0].isprintable()
    assert position(partner) == "rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - 0 1"


@pytest.mark.parametrize(
    "line",
    [
        "position startpos moves e2e4 e2e4",
        "position fen rubbish",
        "position",
        "position startpos moves d2d4 " + "x" * 50,
    ],
)
def test_no_position_has_no_answer(make: Make, line: str) -> None:
    """Least of all that of the position before, which nobody asks about any more."""
    partner = make()
    partner.say("position startpos moves d2d4", "go nodes 5")
    assert partner.hear("bestmove")[-1] != "bestmove (none)"
    partner.say(line, "go nodes 5")
    assert partner.hear("bestmove")[-1] == "bestmove (none)"
    partner.say("ucinewgame", "isready", "go ponder")
    assert partner.hear("readyok")[-1] == "readyok"
    assert not any(text.startswith("bestmove") for text in partner.quiet())
    partner.say("ponderhit")
    assert partner.hear("bestmove")[-1] == "bestmove (none)"
    partner.say("position startpos moves d2d4 d7d5", "go nodes 5")
    assert partner.hear("bestmove")[-1] != "bestmove (none)"


def test_words_before_a_command_are_passed_over(make: Make) -> None:
    partner = make()
    partner.say("joho debug on", "  \t position   startpos moves   d2d4  ", "", "   ")
    assert partner.quiet() == []
    assert partner.server.line.actions != []


def test_where_our_rules_end_the_game_the_other_side_may_go_on(make: Make) -> None:
    partner, board = make(), chess.Board()
    moves = f"{SHUFFLE} {SHUFFLE}".split()
    for move in moves:
        board.push_uci(move)
    assert board.is_repetition(3)
    partner.say(f"position startpos moves {' '.join(moves)}", "go nodes 20")
    heard = partner.hear("bestmove")
    assert "info string the game is over here (threefold repetition)" in heard[0]
    assert chess.Move.from_uci(heard[-1].split()[1]) in board.legal_moves
    for move in ("e2e4", "e7e5", "g1f3"):
        moves.append(move)
        board.push_uci(move)
        partner.say(f"position startpos moves {' '.join(moves)}")
        assert position(partner).split()[:4] == board.fen(en_passant="legal").split()[:4]
    # What was before the repetition can still be gone back to.
    partner.say("position startpos moves g1f3")
    assert position(partner).startswith("rnbqkbnr/pppppppp/8/8/8/5N2/PPPPPPPP/RNBQKB1R b")


def test_games_longer_than_ours_are_followed(make: Make) -> None:
    partner, board = make(azcore.make("chess", max_plies=30)), chess.Board()
    draw, moves = random.Random(2), []
    while len(moves) < 100:
        move = draw.choice(list(board.legal_moves))
        board.push(move)
        moves.append(move.uci())
        partner.say(f"position startpos moves {' '.join(moves)}")
        assert partner.quiet() == []
    best = partner.ask("go nodes 5").split()[1]
    assert chess.Move.from_uci(best) in board.legal_moves
    late = make()
    late.say(f"position fen {chess.STARTING_FEN[:-3]}0 900")
    assert late.quiet() == []
    assert position(late) == chess.STARTING_FEN


# -- going -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fen",
    [
        MATE_IN_ONE,
        "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",  # stalemate already
        "k7/2K5/8/8/8/8/8/1Q6 w - - 0 1",  # mate in one, stalemates beside it
        "7k/8/5KQ1/8/8/8/8/8 b - - 0 1",  # one legal move, then mate
        "8/8/8/8/8/5k2/5p2/5K2 w - - 98 80",  # two plies before the fifty moves are over
    ],
)
def test_a_depth_is_reached_where_the_game_ends_before_it(make: Make, fen: str) -> None:
    partner = make()
    partner.say(f"position fen {fen}")
    board = chess.Board(fen)
    best = partner.ask("go depth 9").split()[1]
    assert best == "(none)" if not any(board.legal_moves) else board.parse_uci(best)


def test_a_go_before_any_position_is_about_the_first_one(make: Make) -> None:
    best = make().ask("go nodes 30").split()
    assert best[0] == "bestmove"
    board = chess.Board()
    board.push_uci(best[1])
    assert best[2] == "ponder"
    board.push_uci(best[3])


@pytest.mark.parametrize(
    ("words", "turn", "limits"),
    [
        ("", "w", {"simulations": 800}),
        ("nodes 50", "w", {"simulations": 50}),
        ("wtime 60000 btime 20000", "w", {"seconds": 3 - 0.1}),
        ("wtime 60000 btime 20000", "b", {"seconds": 1 - 0.1}),
        ("wtime 60000 btime 20000 winc 2000 binc 500", "b", {"seconds": 1.5 - 0.1}),
        ("btime 20000 movestogo 4 wtime 1", "b", {"seconds": 5 - 0.1}),
        ("btime 20000", "w", {"simulations": 800}),  # nothing is said about our clock
        ("wtime -300 winc 0", "w", {"seconds": 0}),
        ("movetime 250", "w", {"seconds": 0.15}),
        ("movetime 250 nodes 7", "w", {"seconds": 0.15, "simulations": 7}),
        ("wtime 60000 movetime 250 depth 3", "w", {"seconds": 0.15, "depth": 3}),
        ("depth 2", "w", {"depth": 2}),
        ("nodes many", "w", {"simulations": 800}),
        ("nodes -5", "w", {"simulations": 800}),
        ("nodes 99999999999999999999", "w", {"simulations": 800}),
        ("searchmoves e2e4 a2a3 nodes 9", "w", {"simulations": 9, "actions": {"e2e4", "a2a3"}}),
        ("nodes 9 searchmoves e2e4 e2e5", "w", {"simulations": 9, "actions": {"e2e4"}}),
        ("infinite wtime 100", "w", {}),
        ("ponder wtime 100", "w", {}),
    ],
)
def test_limits(
    make: Make, game: Game, words: str, turn: str, limits: dict[str, Any], monkeypatch: Any
) -> None:
    partner = make()
    partner.say("position startpos" + (" moves e2e4" if turn == "b" else ""))
    partner.quiet()
    got = []
    thinker = partner.server.engine.thinker
    original = thinker.start
    monkeypatch.setattr(
        thinker, "start", lambda asked, **kwargs: (got.append(asked), original(asked, **kwargs))
    )
    partner.ask(f"go {words}", "stop")
    state = game.initial_state()
    expected = {**limits, "actions": limits.get("actions", set())}
    assert {game.action_to_text(state, a) for a in got[0].actions} == expected.pop("actions")
    for name in ("simulations", "seconds", "depth"):
        wanted = expected.get(name)
        assert getattr(got[0], name) == (wanted if wanted is None else pytest.approx(wanted))


def test_lines_of_analysis(make: Make) -> None:
    partner, board = make(), chess.Board()
    partner.say("setoption name multipv value 4", "position startpos", "go nodes 300")
    *infos, best = partner.hear("bestmove")
    assert [facts(info)["multipv"] for info in infos[-4:]] == ["1", "2", "3", "4"]
    firsts = set()
    for info in infos[-4:]:
        told = facts(info)
        assert told["nodes"] == "300"
        assert 0 <= int(told["hashfull"]) <= 1000
        assert int(told["depth"]) == len(told["pv"].split()) <= int(told["seldepth"])
        firsts.add(told["pv"].split()[0])
        line = board.copy()
        for move in told["pv"].split():
            line.push_uci(move)  # raises if it is not legal
    assert len(firsts) == 4
    assert best.split()[1] == facts(infos[-4])["pv"].split()[0]


def test_only_searchmoves_are_played(make: Make) -> None:
    assert make().ask("go nodes 40 searchmoves h2h4").startswith("bestmove h2h4")


@pytest.mark.parametrize(
    ("value", "points"),  # expectation of 64.0065 %, 90.909 %, 50 %, 24.025 %: Elo's table
    [(2 * 0.640065 - 1, 100), (2 * 10 / 11 - 1, 400), (0, 0), (2 * 0.240253 - 1, -200)],
)
def test_a_centipawn_is_a_point_of_elo(value: float, points: int) -> None:
    assert centipawns(value, 400 / math.log(10)) == points


def test_scores_are_finite_and_grow() -> None:
    values = [-1.0, -1 + 1e-16, -0.999, -0.5, 0.0, 0.5, 0.999, 1 - 1e-16, 1.0]
    scores = [centipawns(value, UciServer.centipawns_per_logit) for value in values]
    assert scores == sorted(scores)
    assert scores[0] == -10_000
    assert scores == [-score for score in reversed(scores)]


@pytest.mark.parametrize(
    ("fen", "mate", "other"),
    [
        (MATE_IN_ONE, "a1a8", "a1a2"),
        ("r5k1/8/8/8/8/8/5PPP/6K1 b - - 0 1", "a8a1", "a8a2"),
        ("7k/5Q2/6K1/8/8/8/8/8 w - - 0 1", "f7g7", "g6h6"),  # the other gives stalemate
    ],
)
def test_mate_in_one_is_that_of_the_player_to_move(
    game: Game, fen: str, mate: str, other: str
) -> None:
    state = game.state_from_text(fen)
    won = [wins_at_once(game, state, game.text_to_action(state, move)) for move in (mate, other)]
    assert won == [True, False]


def test_scores_and_chances_are_of_the_player_to_move(make: Make, game: Game) -> None:
    foreseen = Foreseen("chances")  # 30 % draws
    # Whoever is to move is thought to be well off.
    partner = make(evaluator=Fixed(game, 0.5), predictor=foreseen)
    partner.say("setoption name UCI_ShowWDL value true")
    for moves in ("", " moves e2e4"):
        partner.say(f"position startpos{moves}", "go nodes 0")
        info = partner.hear("bestmove")[-2]
        # 400 log10(3) = 190.8; (1 - 0.3 + 0.5) / 2 = 0.6
        assert "score cp 191 wdl 600 300 100 " in info
        partner.say(f"position startpos{moves}", "go nodes 1")
        info = partner.hear("bestmove")[-2]
        assert "score cp -191 wdl 100 300 600 " in info  # one action on, it is the other's
    partner.say(f"position fen {MATE_IN_ONE}", "go nodes 400")
    assert " score mate 1 wdl 1000 0 0 " in partner.hear("bestmove")[-2]
    assert foreseen.asked == [1] * 5  # the root of each search
    partner.say("setoption name UCI_ShowWDL value false", "go nodes 1")
    assert "wdl" not in partner.hear("bestmove")[-2]
    assert foreseen.asked == [1] * 5


@pytest.mark.parametrize("predictor", [None, Foreseen("plies_left")])
def test_a_network_without_draws_shows_no_chances_and_says_so(
    make: Make, game: Game, predictor: Foreseen | None
) -> None:
    partner = make(evaluator=Fixed(game, 0.5), predictor=predictor)
    note = "info string UCI_ShowWDL has no effect, since this network does not predict draws"
    partner.say("uci")
    assert "option name UCI_ShowWDL type check default false" in partner.hear("uciok")
    for wanted in (note, None):
        partner.say("setoption name UCI_ShowWDL value true" if wanted else "", "go nodes 1")
        lines = partner.hear("bestmove")
        assert (note in lines) == (wanted is not None)
        assert not any(" wdl " in line for line in lines)
    assert predictor is None or predictor.asked == []


@pytest.mark.parametrize(
    ("chances", "wanted"),
    [
        (Chances(1 / 3, 1 / 3, 1 / 3), (333, 334, 333)),
        (Chances(0.3335, 0.0, 0.6665), (334, 0, 666)),
        (Chances(0.3336, 0.0, 0.66649), (334, 0, 666)),
        (Chances(0.3345000001, 0.0, 0.6655), (335, 0, 665)),  # both would be rounded up
        (Chances(0.0, 1.0, 0.0), (0, 1000, 0)),
    ],
)
def test_chances_sum_to_a_thousand(chances: Chances, wanted: tuple[int, ...]) -> None:
    assert per_thousand(chances) == wanted


def test_go_mate_proves_it(make: Make) -> None:
    partner = make()
    lines = (Path(__file__).parents[1] / "data/chess_mates_in_two.txt").read_text().splitlines()
    for fen in lines[:6]:
        partner.say(f"position fen {fen}", "go mate 2")
        *_, info, best = partner.hear("bestmove")
        assert facts(info)["score"] == "mate"
        assert " score mate 2 " in info
        board, moves = chess.Board(fen), facts(info)["pv"].split()
        assert best.split()[1] == moves[0]
        for move in moves:
            board.push_uci(move)
        assert board.is_checkmate()
        partner.say("go mate 1 nodes 5")  # there is none: a command like any other
        assert " score mate 2 " in partner.hear("bestmove")[-2]


def test_a_mate_is_not_looked_for_outside_of_searchmoves(make: Make) -> None:
    partner = make()
    partner.say(f"position fen {MATE_IN_ONE}", "go mate 1 nodes 9 searchmoves a1a2")
    assert partner.hear("bestmove")[-1].startswith("bestmove a1a2")


def test_a_mate_is_named_and_played(make: Make) -> None:
    partner = make()
    partner.say(f"position fen {MATE_IN_ONE}", "go nodes 400")
    *_, info, best = partner.hear("bestmove")
    assert facts(info)["score"] == "mate"
    assert facts(info)["mate"] == "1"
    assert best == "bestmove a1a8"
    partner.say("setoption name MultiPV value 2", "go nodes 400")
    second = partner.hear("bestmove")[-2]
    assert abs(int(facts(second)["cp"])) < 200  # its own score, not that of the mate


@pytest.mark.parametrize(
    ("fen", "score"),
    [
        ("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1", "mate 0"),  # mated
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "cp 0"),  # stalemate
        ("7k/8/6K1/8/8/8/8/8 b - - 0 1", "cp 0"),  # bare kings
    ],
)
def test_no_legal_action(make: Make, fen: str, score: str) -> None:
    partner = make()
    partner.say(f"position fen {fen}", "go wtime 1000 btime 1000")
    assert partner.hear("bestmove") == [f"info depth 0 score {score}", "bestmove (none)"]
    partner.say("go infinite")
    assert partner.quiet() == []  # not before it is asked for
    partner.say("stop")
    assert partner.hear("bestmove")[-1] == "bestmove (none)"
    partner.say("go ponder", "ponderhit")
    assert partner.hear("bestmove")[-1] == "bestmove (none)"


def test_infinite_thinking_ends_when_told(make: Make) -> None:
    for size in (200, 200_000):  # the tree is full long before, or not at all
        partner = make(max_simulations=size, report_seconds=0.02)
        partner.say("position startpos", "go infinite nodes 10 movetime 1")
        time.sleep(0.4)
        said = partner.quiet()  # isready is answered at once meanwhile
        assert said or size == 200
        assert all(line.startswith("info depth") for line in said)
        assert partner.ask("stop").startswith("bestmove ")
    partner.say("stop", "stop")
    assert partner.quiet() == []  # each go has one answer


def test_pondering(make: Make) -> None:
    partner = make()
    partner.say("position startpos moves e2e4 e7e5", "go ponder wtime 4000 btime 60000")
    time.sleep(0.4)  # longer than the clock would have allowed
    assert all(line.startswith("info depth") for line in partner.quiet())
    began = time.perf_counter()
    partner.say("ponderhit")
    heard = partner.hear_when("bestmove")
    assert heard[-1][0] - began >= 0.09  # 4 s / 20 less the overhead, counted from the hit
    assert heard[-1][1].startswith("bestmove ")
    partner.say("ponderhit")
    assert "ponderhit without" in partner.quiet()[-1]
    partner.say("go ponder nodes 5", "stop")  # the other side played something else
    assert partner.hear("bestmove")
    partner.say("go ponder nodes 5")
    time.sleep(0.1)
    partner.say("ponderhit")  # five have long been made
    assert partner.hear("bestmove")


def test_commands_out_of_order_while_thinking(make: Make) -> None:
    partner = make()
    partner.say("position startpos", "go infinite", "position startpos moves e2e4", "go infinite")
    first = partner.hear("bestmove")[-1].split()[1]
    assert chess.Move.from_uci(first) in chess.Board().legal_moves
    partner.say("ucinewgame")
    second = partner.hear("bestmove")[-1].split()[1]
    board = chess.Board()
    board.push_uci("e2e4")
    assert chess.Move.from_uci(second) in board.legal_moves
    partner.say("go infinite")
    assert partner.quit()[-1].startswith("bestmove ")  # and the end of input is a quit as well


def test_a_new_game_and_clear_hash_forget(make: Make) -> None:
    partner = make()
    for forget in ("ucinewgame", "setoption name Clear Hash"):
        partner.ask("position startpos", "go nodes 100")
        partner.ask("go nodes 1")
        assert partner.server.engine.thinker._last.simulations > 100
        partner.say(forget)
        partner.ask("go nodes 1")
        assert partner.server.engine.thinker._last.simulations == 1


def test_memory_is_as_the_option_says(make: Make) -> None:
    partner = make()
    partner.say("setoption name Hash value 1", "position startpos", "go nodes 100000")
    info = partner.hear("bestmove")[-2]
    assert facts(info)["hashfull"] == "1000"
    assert int(facts(info)["nodes"]) < 10_000


def test_a_failing_evaluator_is_told_and_a_legal_action_played(make: Make, game: Game) -> None:
    partner = make(evaluator=Fixed(game, math.nan))
    partner.say("isready")
    assert "info string search fails" in partner.hear("readyok")[0]
    partner.say("position startpos moves e2e4", "go nodes 10")
    heard = partner.hear("bestmove")
    assert "search failed" in heard[0]
    board = chess.Board()
    board.push_uci("e2e4")
    assert chess.Move.from_uci(heard[-1].split()[1]) in board.legal_moves
    assert partner.quiet() == []


def test_the_other_side_may_vanish(compose: Any, game: Game) -> None:
    class Gone:
        def write(self, text: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

        def flush(self) -> None:
            raise BrokenPipeError(32, "Broken pipe")

    server = make_server(UciServer, compose("command=engine", "game=chess"), game, Gone())
    lines = itertools.chain(["position startpos", "go nodes 50"], itertools.repeat("uci"))
    assert server.run(lines) == 0


def test_stop_is_answered_at_once(make: Make) -> None:
    """Measured 1 ms (median) and 9 ms (longest of 30); the bound is for busy machines."""
    partner, waits = make(), []
    partner.say("position startpos moves e2e4 c7c5")
    for _ in range(5):
        partner.say("ucinewgame", "go infinite")
        thinker = partner.server.engine.thinker
        while not thinker.is_thinking or thinker._search.trees.tree.num_nodes[0] < 10_000:
            time.sleep(0.005)
        asked = time.perf_counter()
        partner.say("stop")
        waits.append(partner.hear_when("bestmove")[-1][0] - asked)
    assert median(waits) < 0.1
    assert max(waits) < 2
