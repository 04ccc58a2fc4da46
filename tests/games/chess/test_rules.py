"""The rules of chess: counts of positions, whole games against an oracle, and rare rules.

Every test marked `rules` is run a second time as plain Python, so those are short.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import GameError, IllegalActionError
from azcore.testing import check_game, check_position, perft, random_game
from material_kit import assert_material_agrees

from .compare import compare_games

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"


def played(game: Any, state: Any, moves: str) -> Any:
    for move in moves.split():
        state = game.step(state, game.text_to_action(state, move))
    return state


def is_legal(game: Any, text: str, move: str) -> bool:
    state = game.state_from_text(text)
    try:
        game.text_to_action(state, move)
    except IllegalActionError:
        return False
    return True


# -- counts ------------------------------------------------------------------------------------


# https://www.chessprogramming.org/Perft_Results. No draw by rule is within these depths.
PERFT = [
    (None, [20, 400, 8902, 197281, 4865609]),
    (KIWIPETE, [48, 2039, 97862, 4085603]),
    ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", [14, 191, 2812, 43238, 674624, 11030083]),
    (
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        [6, 264, 9467, 422333, 15833292],
    ),
    ("rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", [44, 1486, 62379, 2103487]),
    (
        "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
        [46, 2079, 89890, 3894594],
    ),
]


def counted(text: str | None, depth: int) -> int:
    game = azcore.make("chess")
    return perft(game, depth, None if text is None else game.state_from_text(text))


@pytest.mark.parametrize(("text", "counts"), PERFT)
def test_counts_of_lines(text: str | None, counts: list[int]) -> None:
    assert [counted(text, depth) for depth in range(1, len(counts) + 1)] == counts


@pytest.mark.rules
@pytest.mark.parametrize(("text", "counts"), PERFT)
def test_counts_of_short_lines(text: str | None, counts: list[int]) -> None:
    depth = 3 if counts[2] < 10_000 else 2
    assert [counted(text, 1), counted(text, depth)] == [counts[0], counts[depth - 1]]


@pytest.mark.parametrize("text", [text for text, _ in PERFT[1:]])
def test_colours_swapped_count_the_same(text: str) -> None:
    assert counted(swap_colours(text), 3) == counted(text, 3)


def swap_colours(text: str) -> str:
    """The FEN of the same position with the colours of all pieces and the turn exchanged."""
    placement, turn, castling, passed, *counters = text.split()
    placement = "/".join(reversed(placement.swapcase().split("/")))
    castling = "".join(sorted(castling.swapcase()))
    passed = passed.translate(str.maketrans("36", "63"))
    return " ".join([placement, "bw"[turn == "b"], castling, passed, *counters])


# -- whole games -------------------------------------------------------------------------------


MANY = pytest.mark.long(
    short="tests/games/chess/test_rules.py::test_the_contract_holds_and_python_chess_agrees"
)


@pytest.mark.parametrize(
    "num_positions", [250, pytest.param(10_000, marks=MANY)], ids=["some", "many"]
)
def test_the_contract_holds_and_python_chess_agrees(num_positions: int) -> None:
    game, oracle = azcore.make("chess"), azcore.make("chess_plain")
    check_game(game, oracle=oracle, num_positions=num_positions, seed=num_positions)


def test_material_is_the_oracles() -> None:
    game = azcore.make("chess")
    assert_material_agrees(game, azcore.make("chess_plain"))
    for text, material in (
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", 0),
        ("4k3/8/8/8/8/8/8/Q3K3 b - - 0 1", 1),
        ("4kr2/8/8/8/8/8/8/Q3K3 w - - 0 1", 4 / 14),
    ):
        assert game.material(game.state_from_text(text)) == material


def test_games_agree_with_python_chess() -> None:
    assert sum(compare_games(15, seed=1).values()) == 15


@pytest.mark.rules
def test_some_games_agree_with_python_chess() -> None:
    assert sum(compare_games(4, seed=2, max_plies=300).values()) == 4


def test_both_colours_see_the_same() -> None:
    # The limit is far off: at it White's and Black's plies differ by one.
    game = azcore.make("chess", max_plies=10_000)
    check_game(game, num_positions=200, swap_colours=swap_colours, colour_planes=[112])


def test_the_plain_form_keeps_the_contract() -> None:
    check_game(azcore.make("chess_plain", max_plies=100), num_positions=150)


def test_hashes_kept_move_by_move_are_those_of_the_position() -> None:
    game = azcore.make("chess")
    for seed in range(3):
        state = game.initial_state()
        for action in random_game(game, np.random.default_rng(seed)):
            state = game.step(state, action)
            assert state.hash == game.state_from_text(game.state_to_text(state)).hash
            assert state.hashes[state.clock] == state.hash


# -- moves -------------------------------------------------------------------------------------


@pytest.mark.rules
def test_action_numbers() -> None:
    game = azcore.make("chess")
    state = game.initial_state()
    # plane × 64 + cell: e2 is row 6, column 4 as White sees it.
    assert game.text_to_action(state, "e2e3") == 0 * 64 + 52
    assert game.text_to_action(state, "e2e4") == 1 * 64 + 52
    assert game.text_to_action(state, "g1f3") == 63 * 64 + 62  # two up, one left
    state = played(game, state, "e2e4")
    # Black sees the board mirrored: e7 is row 6, column 4, and g8 row 7, column 6.
    assert game.text_to_action(state, "e7e5") == 1 * 64 + 52
    assert game.text_to_action(state, "g8h6") == 56 * 64 + 62  # two up, one right
    state = game.state_from_text("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1")
    assert game.text_to_action(state, "e1g1") == (2 * 7 + 1) * 64 + 60
    assert game.text_to_action(state, "e1c1") == (6 * 7 + 1) * 64 + 60
    assert game.text_to_action(state, "h1h7") == 5 * 64 + 63
    state = game.state_from_text("r1n1k3/1P6/8/8/8/8/8/4K3 w - - 0 1")
    numbers = {move: game.text_to_action(state, move) // 64 for move in ("b7a8q", "b7b8q", "b7c8q")}
    assert numbers == {"b7a8q": 49, "b7b8q": 0, "b7c8q": 7}
    texts = ["b7a8n", "b7b8n", "b7c8n", "b7a8b", "b7b8b", "b7c8b", "b7a8r", "b7b8r", "b7c8r"]
    assert [game.text_to_action(state, text) for text in texts] == [
        plane * 64 + 9 for plane in range(64, 73)
    ]


@pytest.mark.rules
@pytest.mark.parametrize(
    ("text", "legal", "illegal"),
    [
        ("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "e1g1 e1c1", ""),
        ("4k3/8/8/8/8/8/5r2/R3K2R w KQ - 0 1", "e1c1 e1f2", "e1g1 e1f1"),  # through f1
        ("4k3/8/8/8/8/8/6r1/R3K2R w KQ - 0 1", "e1c1", "e1g1"),  # into check
        ("4k3/8/8/8/8/8/3r4/R3K2R w KQ - 0 1", "e1g1", "e1c1"),  # through d1
        ("1r2k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "e1g1 e1c1", ""),  # the rook may pass b1
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1 e1c1", ""),  # and be attacked
        ("4k3/8/8/8/4r3/8/8/R3K2R w KQ - 0 1", "e1f1", "e1g1 e1c1"),  # in check
        ("4k3/8/8/8/8/8/8/RN2K1NR w KQ - 0 1", "", "e1g1 e1c1"),  # pieces between
        ("4k3/8/8/8/8/8/8/R3K2R w Q - 0 1", "e1c1", "e1g1"),  # a right lost
        ("r3k2r/8/8/8/8/8/8/4K3 b kq - 0 1", "e8g8 e8c8", ""),
        ("r3k2r/8/8/8/8/8/8/3RK3 b kq - 0 1", "e8g8", "e8c8"),
        ("r3k2r/8/8/8/8/8/8/1R2K3 b kq - 0 1", "e8g8 e8c8", ""),
    ],
)
def test_castling(text: str, legal: str, illegal: str) -> None:
    game = azcore.make("chess")
    assert [is_legal(game, text, move) for move in legal.split()] == [True] * len(legal.split())
    check_position(game, text=text, illegal=illegal.split())


@pytest.mark.rules
@pytest.mark.parametrize(
    ("moves", "rights"),
    [
        ("", "KQkq"),
        ("e1e2", "kq"),
        ("e1g1", "kq"),
        ("h1g1 a8b8", "Qk"),
        ("h1h8", "Qq"),  # both rooks' first cells
        ("a1a8", "Kk"),
        ("e1c1 e8g8", "-"),
        ("h1g1 e8e7 g1h1 e7e8", "Q"),  # what is lost stays lost
    ],
)
def test_castling_rights_are_lost(moves: str, rights: str) -> None:
    game = azcore.make("chess")
    state = game.state_from_text("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    state = played(game, state, moves)
    assert game.state_to_text(state).split()[2] == rights


@pytest.mark.rules
def test_castling_moves_the_rook() -> None:
    game = azcore.make("chess")
    state = game.state_from_text("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    assert game.state_to_text(played(game, state, "e1g1 e8c8")).split()[0] == (
        "2kr3r/8/8/8/8/8/8/R4RK1"
    )
    assert game.state_to_text(played(game, state, "e1c1 e8g8")).split()[0] == (
        "r4rk1/8/8/8/8/8/8/2KR3R"
    )


@pytest.mark.rules
@pytest.mark.parametrize(
    ("text", "moves", "capture", "allowed"),  # no capture in passing but this one is possible
    [
        ("4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1", "d7d5", "e5d6", True),
        ("4k3/8/8/8/3p4/8/2P5/4K3 w - - 0 1", "c2c4", "d4c3", True),
        ("4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1", "d7d6 e1e2 d6d5", "e5d6", False),  # two steps
        ("4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1", "d7d5 e1e2 e8e7", "e5d6", False),  # too late
        ("4k3/2p5/8/KP5r/8/8/8/8 b - - 0 1", "c7c5", "b5c6", False),  # both pawns leave the row
        ("1b2k3/3p4/8/4P3/8/8/7K/8 b - - 0 1", "d7d5", "e5d6", True),  # along its pin
        ("1b2k3/5p2/8/4P3/8/8/7K/8 b - - 0 1", "f7f5", "e5f6", False),  # away from its pin
        ("4r1k1/3p4/8/4P3/8/8/8/4K3 b - - 0 1", "d7d5", "e5d6", False),  # pinned on the file
        ("8/8/8/2k5/4p3/8/3P4/4K3 w - - 0 1", "d2d4", "e4d3", True),  # takes what gives check
        ("8/8/8/8/1k2p3/8/3P4/B3K3 w - - 0 1", "d2d4", "e4d3", True),
    ],
)
def test_en_passant(text: str, moves: str, capture: str, allowed: bool) -> None:
    game = azcore.make("chess")
    state = played(game, game.state_from_text(text), moves)
    named = game.state_to_text(state).split()[3]
    if allowed:
        assert named == capture[2:]
        pieces = sum(letter.isalpha() for letter in game.state_to_text(state).split()[0])
        after = game.state_to_text(played(game, state, capture)).split()[0]
        assert sum(letter.isalpha() for letter in after) == pieces - 1
    else:
        assert named == "-"
        with pytest.raises(IllegalActionError, match=capture):
            game.text_to_action(state, capture)


@pytest.mark.rules
def test_en_passant_may_be_the_only_move() -> None:
    game = azcore.make("chess")
    text = "7k/7P/6K1/8/3pP3/3P4/8/8 b - e3 0 1"
    check_position(game, text=text, legal=["d4e3"], terminal=False)
    check_position(game, text=text.replace("e3", "-"), terminal=True, outcome=0)


KING_AT_E1 = "e1d1 e1d2 e1e2 e1f1 e1f2"


@pytest.mark.rules
@pytest.mark.parametrize(
    ("text", "legal"),
    [
        # A pinned knight cannot move, a pinned rook along its file.
        ("4r2k/8/8/8/8/4N3/8/4K3 w - - 0 1", KING_AT_E1),
        ("4r2k/8/8/8/4R3/8/8/4K3 w - - 0 1", f"{KING_AT_E1} e4e2 e4e3 e4e5 e4e6 e4e7 e4e8"),
        # A pawn pinned on a diagonal may take the bishop that pins it, not go straight on.
        ("7k/8/8/8/8/6b1/5P2/4K3 w - - 0 1", f"{KING_AT_E1} f2g3".replace(" e1f2", "")),
        # Of two pieces between neither is pinned.
        ("4r2k/8/8/8/4p3/4P3/8/4K3 w - - 0 1", KING_AT_E1),
        # Two checks at once: only the king moves, though Qxf3 takes one of the pieces.
        ("4r2k/8/8/8/8/5n2/3P1P2/3QK3 w - - 0 1", "e1f1"),
        # A check is answered by stepping between or by taking.
        ("4r2k/6N1/8/8/8/8/3P1P2/3BKB2 w - - 0 1", "d1e2 f1e2 g7e6 g7e8"),
        # A pawn's first step may be the answer although one cell is not.
        ("7k/8/8/8/K6r/3P4/PPP5/RNB5 w - - 0 1", "a4a3 a4a5 a4b3 a4b5 b2b4 c2c4 c1f4 d3d4"),
        # The king cannot go back along the line of the check.
        ("7k/8/8/8/r3K3/8/8/8 w - - 0 1", "e4d3 e4e3 e4f3 e4d5 e4e5 e4f5"),
        # A protected piece cannot be taken by the king.
        ("7k/8/8/8/8/3b4/4q3/4K3 w - - 0 1", ""),
    ],
)
def test_pins_and_checks(text: str, legal: str) -> None:
    for game in (azcore.make("chess"), azcore.make("chess_plain")):
        check_position(game, text=text, legal=legal.split())


@pytest.mark.rules
def test_promotions() -> None:
    game = azcore.make("chess")
    text = "r1n1k3/1P6/8/8/8/8/8/4K3 w - - 0 1"
    pawn = {f"b7{end}{piece}" for end in ("a8", "b8", "c8") for piece in "nbrq"}
    king = {"e1d1", "e1d2", "e1e2", "e1f1", "e1f2"}
    state = check_position(game, text=text, legal=pawn | king)
    rows = {move: game.state_to_text(played(game, state, move)).split("/")[0] for move in pawn}
    assert rows["b7a8n"] == "N1n1k3"
    assert rows["b7b8b"] == "rBn1k3"
    assert rows["b7c8r"] == "r1R1k3"
    assert rows["b7c8q"] == "r1Q1k3"
    black = game.state_from_text("4k3/8/8/8/8/8/6p1/4K2R b - - 0 1")
    assert game.state_to_text(played(game, black, "g2h1n")).split()[0] == "4k3/8/8/8/8/8/8/4K2n"


# -- ends --------------------------------------------------------------------------------------

KNIGHTS_OUT_AND_BACK = "g1f3 g8f6 f3g1 f6g8"


@pytest.mark.rules
@pytest.mark.parametrize(
    ("text", "moves", "words", "outcome"),
    [
        (None, "f2f3 e7e5 g2g4 d8h4", "checkmate", -1),
        (None, "e2e4 e7e5 f1c4 b8c6 d1h5 g8f6 h5f7", "checkmate", 1),
        ("7k/8/4Q1K1/8/8/8/8/8 w - - 0 1", "e6f7", "stalemate", 0),
        ("k7/8/1K6/8/8/8/8/1q6 w - - 0 1", "b6c6 b1b7", None, 0),
        (None, " ".join([KNIGHTS_OUT_AND_BACK] * 2), "threefold repetition", 0),
        ("7k/8/8/8/8/8/8/R3K3 w - - 99 80", "a1a2", "fifty moves", 0),
        ("7k/8/6K1/8/8/8/8/R7 w - - 99 80", "a1a8", "checkmate", 1),  # on the last of them
        ("7k/8/6K1/8/8/8/6P1/R7 w - - 99 80", "g2g4", None, 0),  # a pawn's move begins anew
        ("5k2/7p/8/6K1/8/8/8/8 w - - 0 1", "g5h6 f8e8 h6h7", "insufficient material", 0),
    ],
)
def test_ends(text: str | None, moves: str, words: str | None, outcome: int) -> None:
    game = azcore.make("chess")
    *earlier, last = moves.split()
    state = check_position(game, text=text, moves=earlier, terminal=False)
    state = game.step(state, game.text_to_action(state, last))
    assert game.is_terminal(state) == (words is not None)
    if words is not None:
        assert game.termination(state) == words
        assert game.outcome(state) == outcome
        assert not game.legal_action_mask(state).any()


@pytest.mark.rules
@pytest.mark.parametrize(
    ("placement", "dead"),  # Black is to move
    [
        ("7k/8/8/8/8/8/8/K7", True),
        ("7k/8/8/8/8/8/8/KB6", True),
        ("7k/8/8/8/8/8/8/KN6", True),
        ("6nk/8/8/8/8/8/8/K7", True),
        ("7k/8/8/8/8/8/8/KNN5", False),  # helped, two knights mate
        ("6nk/8/8/8/8/8/8/KN6", False),
        ("6bk/8/8/8/8/8/8/KN6", False),
        ("5b1k/8/8/8/8/8/8/K1B5", True),  # f8 and c1 are dark
        ("6bk/8/8/8/8/8/8/K1B5", False),  # g8 is light
        ("7k/8/8/8/3B4/2B5/1B6/K7", True),  # three on dark cells
        ("7k/8/8/8/8/8/8/KBB5", False),
        ("7k/8/8/8/8/8/P7/K7", False),
        ("7k/8/8/8/8/8/8/KR6", False),
        ("7k/8/8/8/8/8/8/KQ6", False),
        ("7k/7p/7P/8/8/8/8/K7", False),  # only material is looked at
    ],
)
def test_insufficient_material(placement: str, dead: bool) -> None:
    text = f"{placement} b - - 0 1"
    for game in (azcore.make("chess"), azcore.make("chess_plain")):
        check_position(game, text=text, terminal=dead)
        check_position(game, text=swap_colours(text), terminal=dead)


def plies_to_repetition(game: Any, state: Any, cycle: str) -> int:
    """How many plies of going round and round end the game by the third occurrence."""
    plies = 0
    while not game.is_terminal(state):
        state = played(game, state, cycle.split()[plies % 4])
        plies += 1
    assert game.termination(state) == "threefold repetition"
    assert game.outcome(state) == 0
    return plies


@pytest.mark.rules
@pytest.mark.parametrize(
    ("rights", "plies"),
    [
        ("-", 8),  # the position at the start is the first to occur for the third time
        ("K", 9),  # the rook's first move makes all positions others than that at the start
    ],
)
def test_castling_rights_are_part_of_a_position(rights: str, plies: int) -> None:
    game = azcore.make("chess")
    state = game.state_from_text(f"4k3/8/8/8/8/8/8/4K2R w {rights} - 0 1")
    assert plies_to_repetition(game, state, "h1g1 e8d8 g1h1 d8e8") == plies


@pytest.mark.rules
@pytest.mark.parametrize(
    ("text", "plies"),
    [
        ("3k4/8/8/8/8/8/2P5/4K3 w - - 0 1", 8),  # no pawn could capture in passing
        ("3k4/8/8/8/3p4/8/2P5/3RK3 w - - 0 1", 8),  # the one that could is pinned
        ("3k4/8/8/8/3p4/8/2P5/4K3 w - - 0 1", 9),  # d4c3 is legal after c2c4, later no more
    ],
)
def test_en_passant_is_part_of_a_position_if_legal(text: str, plies: int) -> None:
    game = azcore.make("chess")
    state = played(game, game.state_from_text(text), "c2c4")
    assert plies_to_repetition(game, state, "d8c8 e1f1 c8d8 f1e1") == plies


@pytest.mark.rules
def test_the_player_to_move_is_part_of_a_position() -> None:
    # Rook and king lose a ply in turns of three: the placement comes back with the other to move.
    game = azcore.make("chess")
    state = game.state_from_text("7k/8/8/8/8/8/8/R3K3 w - - 0 1")
    first = game.state_to_text(state).split()[0]
    triangle = "e1d2 h8g8 d2e2 g8h7 e2e1 h7h8"
    state = played(game, state, triangle)
    assert game.state_to_text(state).split()[0] == first
    state = played(game, state, "a1b1 h8g8 b1c1 g8h8 c1a1")
    assert game.state_to_text(state).split()[:2] == [first, "b"]
    assert state.repetitions[int(state.ply) & 7] == 0


@pytest.mark.rules
def test_plies_are_limited() -> None:
    game = azcore.make("chess", max_plies=4)
    assert game.max_game_length == 4
    state = played(game, game.initial_state(), "f2f3 e7e5 g2g4")
    assert not game.is_terminal(state)
    mated = played(game, state, "d8h4")
    assert (game.termination(mated), game.outcome(mated)) == ("checkmate", -1)
    drawn = played(game, state, "d8e7")
    assert (game.termination(drawn), game.outcome(drawn)) == ("move limit", 0)
    again = game.state_from_text(game.state_to_text(drawn))
    assert game.termination(again) == "move limit"


def test_random_games_end() -> None:
    game = azcore.make("chess", max_plies=100)
    for seed in range(5):
        assert len(random_game(game, np.random.default_rng(seed))) <= 100


# -- settings ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["chess", "chess_plain"])
@pytest.mark.parametrize("max_plies", [0, -1, 12_001, 512.0, "512", True, None])
def test_impossible_settings_are_refused(name: str, max_plies: Any) -> None:
    message = f"max_plies must be a whole number from 1 to 12000, got {max_plies!r}"
    with pytest.raises(GameError, match=re.escape(message)):
        azcore.make(name, max_plies=max_plies)


@pytest.mark.parametrize("name", ["chess", "chess_plain"])
def test_settings_and_facts(name: str) -> None:
    game = azcore.make(name)
    assert game.identity == {"name": name, "version": 1, "settings": {"max_plies": 512}}
    assert game.num_actions == 4672
    assert game.observation_shape == (119, 8, 8)
    assert game.max_game_length == 512
    assert game.dirichlet_alpha == 0.3
    assert not game.symmetries
