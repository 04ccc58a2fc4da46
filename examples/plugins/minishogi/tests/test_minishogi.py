"""Minishogi: the contract, counts and legal moves of another program, and facts of the rules."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator

import numpy as np
import pytest

import azcore
from azcore import AzcoreError, Game
from azcore.testing import check_game, check_position, perft

FAIRY = shutil.which("fairy-stockfish") or shutil.which("fairy-stockfish", path="/usr/games")
START = "rbsgk/4p/5/P4/KGSBR b - 1"


@pytest.fixture(scope="module")
def game() -> Game:
    return azcore.make("minishogi")


def test_keeps_the_contract(game: Game) -> None:
    check_game(game, num_positions=500)


# Counted by Fairy-Stockfish 14 (UCI_Variant minishogi, go perft), to depths without mates by a
# dropped pawn, which it counts.
@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (START, [14, 181, 2512, 35401, 533203]),
        ("1+S1k1/R2b1/1Gg2/P2Ps/K1B2 w r 90", [30, 455, 9228, 132657]),
        ("2G2/b1r2/Pk2g/3s1/KPr2 b BS 55", [34, 809, 18356]),
        ("2G1B/3pk/r1G2/P2b1/Ks1+r1 w s 38", [36, 368, 9106]),
    ],
)
def test_perft(game: Game, text: str, counts: list[int]) -> None:
    state = game.state_from_text(text)
    assert [perft(game, depth, state) for depth in range(1, len(counts) + 1)] == counts


class Fairy:
    """The legal moves of a position by Fairy-Stockfish."""

    def __init__(self, command: str) -> None:
        self.program = subprocess.Popen(
            [command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._say("usi", "setoption name UCI_Variant value minishogi")

    def _say(self, *lines: str) -> None:
        assert self.program.stdin is not None
        self.program.stdin.write("".join(f"{line}\n" for line in lines))
        self.program.stdin.flush()

    def moves(self, sfen: str) -> set[str]:
        assert self.program.stdout is not None
        self._say(f"position sfen {sfen}", "go perft 1")
        found: set[str] = set()
        for line in self.program.stdout:
            if line.startswith("Nodes searched"):
                return found
            if match := re.fullmatch(r"(\S+): 1\s*", line):
                found.add(match[1])
        raise AssertionError("fairy-stockfish has ended")

    def close(self) -> None:
        self._say("quit")
        self.program.communicate(timeout=10)


@pytest.fixture
def fairy() -> Iterator[Fairy]:
    if FAIRY is None:
        pytest.skip("fairy-stockfish is not installed")
    program = Fairy(FAIRY)
    yield program
    program.close()


def test_another_program_finds_the_same_moves(game: Game, fairy: Fairy) -> None:
    """In 60 random games. Fairy-Stockfish lists a pawn's mating drop too, and counts it as lost."""
    rng, positions, mating_drops = np.random.default_rng(1), 0, 0
    for _ in range(60):
        state = game.initial_state()
        while not game.is_terminal(state):
            legal = game.legal_action_mask(state).nonzero()[0]
            ours = {game.action_to_text(state, int(action)) for action in legal}
            text = game.state_to_text(state)
            theirs = fairy.moves(text)
            assert ours <= theirs, text
            for drop in theirs - ours:
                assert drop.startswith("P*"), text
                assert not fairy.moves(f"{text} moves {drop}"), text
                mating_drops += 1
            positions += 1
            state = game.step(state, int(rng.choice(legal)))
        if game.termination(state) in ("checkmate", "no legal move"):
            assert not fairy.moves(game.state_to_text(state))
    assert positions > 3000
    assert mating_drops > 0


def test_a_pawn_may_not_be_dropped_as_mate(game: Game) -> None:
    text = "2G1r/4p/3bg/4r/K1bks w sp 78"
    check_position(game, text=text, player=1, illegal=["P*5d"])
    # Not mate: the king can take the pawn.
    check_position(game, text="4k/5/5/5/K4 w p 1", player=1, terminal=False)
    state = game.state_from_text("4k/5/5/5/K4 w p 1")
    assert game.action_to_text(state, game.text_to_action(state, "P*5d")) == "P*5d"


def test_two_pawns_and_dead_pawns(game: Game) -> None:
    check_position(
        game,
        text="4k/5/P4/5/K4 b P 1",
        illegal=["P*5b", "P*5d", "P*4a", "P*1a"],
        moves=(),
    )
    check_position(game, text="3k1/P4/5/5/4K b - 1", illegal=["5b5a"])  # it must promote
    state = check_position(game, text="3k1/P4/5/5/4K b - 1", moves=["5b5a+"])
    assert game.state_to_text(state) == "+P2k1/5/5/5/4K w - 2"


def test_a_prisoner_is_no_longer_promoted(game: Game) -> None:
    state = check_position(game, text="k4/5/5/+p4/K4 b - 1", moves=["5e5d"])
    assert game.state_to_text(state) == "k4/5/5/K4/5 w P 2"


def test_who_cannot_move_loses(game: Game) -> None:
    state = check_position(game, text="4k/5/4G/5/K2R1 w - 10", legal=[], terminal=True, outcome=1)
    assert game.termination(state) == "no legal move"


def test_mate_is_the_end(game: Game) -> None:
    state = check_position(
        game, text="k4/5/GG3/5/4K b - 1", moves=["4c5b"], terminal=True, outcome=1
    )
    assert game.termination(state) == "checkmate"
    state = check_position(
        game, text="4k/5/gg3/5/K4 w - 256", moves=["4c5d"], terminal=True, outcome=-1
    )
    assert game.termination(state) == "checkmate"


def test_white_wins_by_repetition(game: Game) -> None:
    there_and_back = ["5e4e", "1a2a", "4e5e", "2a1a"]
    text = "4k/5/5/5/K4 b - 1"
    state = check_position(game, text=text, moves=2 * there_and_back, terminal=False)
    assert [int(plane.max()) for plane in game.observation(state)[30:]] == [1, 1, 0]
    state = check_position(game, text=text, moves=3 * there_and_back, terminal=True, outcome=-1)
    assert game.termination(state) == "fourfold repetition"


def test_white_loses_by_perpetual_check(game: Game) -> None:
    moves = 3 * ["5e4e", "5a4a", "4e5e", "4a5a"]
    text = "r3k/5/5/5/K4 b - 1"
    state = check_position(game, text=text, moves=moves, terminal=True, outcome=1)
    assert game.termination(state) == "perpetual check"


def test_black_loses_by_repetition_with_check_too(game: Game) -> None:
    moves = 3 * ["1a2a", "1e2e", "2a1a", "2e1e"]
    text = "4k/5/5/5/K3R w - 1"
    state = check_position(game, text=text, moves=moves, terminal=True, outcome=-1)
    assert game.termination(state) == "fourfold repetition"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rbsgk/4p/5/P4/KGSBR b -", "is written like"),
        ("rbsgk/4p/5/P4 b - 1", "a board has 5 rows"),
        ("rbsgk/4p/6/P4/KGSBR b - 1", "a row has pieces"),
        ("rbsgk/4p/4/P4/KGSBR b - 1", "must have 5 cells"),
        ("rbsg1/4p/5/P4/KGSBR b - 1", "White must have one king, has 0"),
        ("k3P/5/5/5/K4 b - 1", "could never move"),
        ("k4/5/P4/P4/K4 b - 1", "two pawns on a file"),
        ("k4/4p/5/5/K4 b 2P 1", "there are 2 of P in a set, got 3"),
        ("k4/5/5/5/K4 b 2PP 1", "P is twice in the hands"),
        (f"k4/5/5/5/K4 b {'P' * 256} 1", "P is twice in the hands"),
        ("k4/R4/5/5/4K b - 1", "could take the king"),
        ("k4/5/5/5/4K b - 258", "move number must be 1 to 257"),
        ("k4/5/5/5/4K b X 1", "hands are - or letters"),
    ],
)
def test_refuses_impossible_positions(game: Game, text: str, sentence: str) -> None:
    with pytest.raises(AzcoreError, match=sentence):
        game.state_from_text(text)


@pytest.mark.parametrize(
    ("text", "sentence"), [("5e5", "is written like"), ("5e4c", "no piece moves like"), ("", "is")]
)
def test_refuses_what_is_no_move(game: Game, text: str, sentence: str) -> None:
    with pytest.raises(AzcoreError, match=sentence):
        game.text_to_action(game.initial_state(), text)


def test_promotion_is_asked_only_where_there_is_a_choice(game: Game) -> None:
    state = game.state_from_text("2k2/P3S/5/5/K4 b R 1")
    board = game.board(state)
    assert board is not None
    clicks = {game.action_to_text(state, action): path for action, path in board.actions.items()}
    assert clicks["1b1a"] == ("1b", "1a", "stay")
    assert clicks["1b1a+"] == ("1b", "1a", "promote")
    assert clicks["5b5a+"] == ("5b", "5a")
    assert clicks["R*3c"] == ("*R", "3c")
