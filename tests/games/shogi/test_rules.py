"""The rules of shogi: counts, games against cshogi, and situations drawn.

Every test marked `rules` is run a second time as plain Python, so those are short.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from numba import config

import azcore
from azcore.errors import GameError, IllegalActionError
from azcore.testing import check_game, perft
from material_kit import assert_material_agrees

from .compare import compare_games

needs_cshogi = pytest.mark.skipif(
    find_spec("cshogi") is None, reason="cshogi is not installed: pip install 'azcore[shogi]'"
)

START = "startpos"
MOST_MOVES = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"
MIDDLE_GAME = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w GR5pnsg 1"


def turned(sfen: str) -> str:
    """The position with the colours exchanged and the board turned."""
    board, player, hands, number = sfen.split()
    pieces = [""]
    for letter in board:
        if pieces[-1] == "+":
            pieces[-1] += letter
        else:
            pieces.append(letter)
    swapped = "".join(reversed(pieces)).swapcase()
    return f"{swapped} {'w' if player == 'b' else 'b'} {hands.swapcase()} {number}"


def turned_move(move: str) -> str:
    """A move in USI on the turned board."""
    squares = str.maketrans("123456789abcdefghi", "987654321ihgfedcba")
    return move[:2] + move[2:].translate(squares) if "*" in move else move.translate(squares)


def played(game: Any, state: Any, moves: str) -> Any:
    for move in moves.split():
        state = game.step(state, game.text_to_action(state, move))
    return state


def is_legal(game: Any, state: Any, move: str) -> bool:
    try:
        game.text_to_action(state, move)
    except IllegalActionError:
        return False
    return True


def how_it_ended(game: Any, state: Any) -> tuple[str, int] | None:
    return (game.termination(state), game.outcome(state)) if game.is_terminal(state) else None


@pytest.fixture(name="game", scope="module")
def game_fixture() -> Any:
    return azcore.make("shogi")


# -- counts and whole games --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sfen", "counts"),
    [
        (START, [30, 900, 25470, 719731]),
        (MOST_MOVES, [593, 105677]),
        (MIDDLE_GAME, [207, 28684, 4809015]),
    ],
)
def test_perft(game: Any, sfen: str, counts: list[int]) -> None:
    state = game.state_from_text(sfen)
    for depth, count in enumerate(counts, 1):
        assert perft(game, depth, state) == count
    if sfen != START:
        assert perft(game, 2, game.state_from_text(turned(sfen))) == counts[1]


@pytest.mark.rules
def test_perft_interpreted_too(game: Any) -> None:
    assert perft(game, 2) == 900
    assert perft(game, 1, game.state_from_text(MOST_MOVES)) == 593


@needs_cshogi
def test_perft_of_drawn_positions_as_cshogi_counts(game: Any) -> None:
    import cshogi

    def count(board: Any, depth: int) -> int:
        if depth == 1:
            return len(board.legal_moves)
        total = 0
        for move in board.legal_moves:
            board.push(move)
            total += count(board, depth - 1)
            board.pop()
        return total

    for sfen, _, _ in PAWN_DROPS + PROMOTIONS + DROPS:
        for text in (sfen, turned(sfen)):
            want = count(cshogi.Board(sfen=text), 2)
            assert perft(game, 2, game.state_from_text(text)) == want, text


@needs_cshogi
def test_the_contract_and_random_games_against_cshogi(game: Any) -> None:
    report = check_game(game, oracle=azcore.make("shogi_plain"), num_positions=100)
    assert report.games >= 1


@needs_cshogi
def test_material_is_the_oracles(game: Any) -> None:
    assert_material_agrees(game, azcore.make("shogi_plain"))
    # A rook and a tokin on the board and two pawns in hand against a bishop: 10 + 7 + 2 and 8.
    state = game.state_from_text("4k4/4b4/9/+P8/9/9/9/9/R3K4 w 2P 1")
    assert game.material(state) == (19 - 8) / 27


@needs_cshogi
def test_games_of_all_kinds_against_cshogi() -> None:
    ends = compare_games(50, seed=1)
    for ending in ("cycle: fourfold repetition", "entering: entering king", "start: checkmate"):
        assert ends[ending] > 0, ends


@needs_cshogi
def test_the_plain_form_keeps_the_contract() -> None:
    check_game(azcore.make("shogi_plain"), num_positions=100)


def test_colours_are_seen_alike(game: Any) -> None:
    check_game(game, num_positions=100, seed=3, swap_colours=turned, colour_planes=[360])


# -- pawn drops --------------------------------------------------------------------------------

# Position, moves that are legal, moves that are not.
PAWN_DROPS = [
    # Mate by a dropped pawn is forbidden, by a lance it is not.
    ("7nk/9/7G1/9/9/9/9/9/4K4 b PL 1", "L*1b", "P*1b"),
    # Gold takes the pawn.
    ("7gk/9/7G1/9/9/9/9/9/4K4 b P 1", "P*1b", ""),
    # Gold could, but is pinned by the rook (python-shogi allows the drop).
    ("R6gk/9/7G1/9/9/9/9/9/4K4 b P 1", "", "P*1b"),
    # The king takes a pawn that nothing protects.
    ("7nk/9/6G2/9/9/9/9/9/4K4 b P 1", "P*1b", ""),
    # The pawn cuts off the rook, so that the king may flee to 4b; if it cannot, it is mate.
    ("3nkn3/R8/9/9/9/9/9/9/4K4 b P 1", "P*5b", ""),
    ("3nkn3/R8/6G2/9/9/9/9/9/4K4 b P 1", "", "P*5b"),
    # A dropped pawn that mates and also is the second of its file.
    ("7nk/9/7G1/9/9/8P/9/9/4K4 b P 1", "", "P*1b P*1a P*1e"),
    # A pawn that moves may mate.
    ("7nk/9/7GP/9/9/9/9/9/4K4 b P 1", "1c1b 1c1b+", "P*1b"),
    # In check, a pawn may be put between even where it gives check but no mate.
    ("4r3k/9/9/9/9/9/9/9/4K4 b P 1", "P*5b P*5h", "P*1b P*4b"),
]
PROMOTIONS = [
    ("k8/4P4/9/9/9/9/9/9/4K4 b - 1", "5b5a+", "5b5a"),
    ("k8/9/4P4/9/9/9/9/9/4K4 b - 1", "5c5b 5c5b+", ""),
    ("k8/9/9/4P4/9/9/9/9/4K4 b - 1", "5d5c 5d5c+", ""),
    ("k8/9/9/9/4P4/9/9/9/4K4 b - 1", "5e5d", "5e5d+"),
    ("k8/9/4L4/9/9/9/9/9/4K4 b - 1", "5c5b 5c5b+ 5c5a+", "5c5a"),
    ("k8/9/9/9/4L4/9/9/9/4K4 b - 1", "5e5d 5e5c 5e5c+ 5e5a+", "5e5a 5e5d+"),
    ("k8/9/4N4/9/9/9/9/9/4K4 b - 1", "5c4a+ 5c6a+", "5c4a 5c6a"),
    ("k8/9/9/4N4/9/9/9/9/4K4 b - 1", "5d4b+ 5d6b+", "5d4b 5d6b"),
    ("k8/9/9/9/4N4/9/9/9/4K4 b - 1", "5e4c+ 5e6c+ 5e4c 5e6c", ""),
    ("k8/9/9/9/9/4N4/9/9/4K4 b - 1", "5f4d 5f6d", "5f4d+ 5f6d+"),
    # Leaving the zone promotes too; gold and what is promoted cannot.
    ("k8/9/4S4/9/9/9/9/9/4K4 b - 1", "5c4d+ 5c4d 5c5b+", ""),
    ("k8/9/4B4/9/9/9/9/9/4K4 b - 1", "5c1g+ 5c1g 5c7a+", ""),
    ("k8/9/4G4/9/9/9/9/9/4K4 b - 1", "5c5b", "5c5b+"),
    ("k8/9/4+R4/9/9/9/9/9/4K4 b - 1", "5c5b 5c4d", "5c5b+ 5c4d+"),
    ("k3K4/9/9/9/9/9/9/9/9 b - 1", "5a5b", "5a5b+"),
]
DROPS = [
    ("k8/9/9/9/9/9/9/9/4K4 b PLN 1", "P*5b L*5b N*5c", "P*5a L*5a N*5a N*5b P*5i"),
    # Two pawns on a file; a promoted one does not count, nor does the opponent's.
    ("k8/9/9/9/9/9/4P4/9/K8 b P 1", "P*4f", "P*5f P*5b P*5h"),
    ("k8/9/9/9/9/9/4+P4/9/K8 b P 1", "P*5f P*5h", ""),
    ("k8/9/9/4p4/9/9/9/9/K8 b P 1", "P*5f P*5b", ""),
    # In check only what stops it: between, not behind; no drop stops a knight or two pieces.
    ("k8/9/4r4/9/9/9/9/9/4K4 b G 1", "G*5d G*5h", "G*5b G*4h"),
    ("k8/9/9/9/9/9/3n5/9/4K4 b G 1", "5i5h", "G*5h G*6h"),
    ("k8/9/4r4/9/9/9/3n5/9/4K4 b G 1", "5i4h", "G*5h G*5d 5i5h"),
    # Pinned pieces stay on their line, kings do not step into check nor along it.
    ("k8/9/4r4/9/9/9/4G4/9/4K4 b - 1", "5g5f 5g5h", "5g4g 5g4f"),
    ("k8/9/4r4/9/9/9/9/4K4/9 b - 1", "5h4h", "5h5i 5h5g"),
    ("k8/9/1b7/9/9/4S4/9/6K2/9 b - 1", "5f6e 5f4g", "5f4e 5f5e"),
]


@pytest.mark.rules
@pytest.mark.parametrize(("sfen", "legal", "illegal"), PAWN_DROPS + PROMOTIONS + DROPS)
def test_moves_that_are_legal_and_not(game: Any, sfen: str, legal: str, illegal: str) -> None:
    state, other = game.state_from_text(sfen), game.state_from_text(turned(sfen))
    for move in legal.split():
        assert is_legal(game, state, move), move
        assert is_legal(game, other, turned_move(move)), turned_move(move)
    for move in illegal.split():
        assert not is_legal(game, state, move), move
        assert not is_legal(game, other, turned_move(move)), turned_move(move)


# -- ends --------------------------------------------------------------------------------------

DRAGON = "4k4/9/5+R3/9/9/9/9/9/4K4 b - 1"
CHECKS = "4c5c 5a4a 5c4c 4a5a"
WITH_A_QUIET_MOVE = "4c3c 5a4a 3c4c 4a5a"
LATE_DRAGON = "5k3/9/5+R3/9/9/9/9/9/4K4 w - 1"
LATE_CHECKS = "4a5a 4c5c 5a4a 5c4c"


@pytest.mark.rules
def test_the_fourth_equal_position_is_a_draw(game: Any) -> None:
    cycle = "2h3h 8b7b 3h2h 7b8b "
    state = played(game, game.initial_state(), cycle * 3)
    assert how_it_ended(game, state) == ("fourfold repetition", 0)
    assert not game.legal_action_mask(state).any()
    before = played(game, game.initial_state(), (cycle * 3)[: -len(" 7b8b")])
    assert not game.is_terminal(before)


@pytest.mark.rules
def test_perpetual_check_loses(game: Any) -> None:
    for sfen, cycle, winner in (
        (DRAGON, CHECKS, -1),
        (turned(DRAGON), " ".join(map(turned_move, CHECKS.split())), 1),
    ):
        state = played(game, game.state_from_text(sfen), f"{cycle} " * 3)
        assert how_it_ended(game, state) == ("perpetual check", winner)


@pytest.mark.rules
def test_perpetual_check_may_end_on_the_move_of_the_checked_or_of_the_checking_side(
    game: Any,
) -> None:
    # The stretch begins with White to move, in check: it closes on a check by Black.
    state = played(game, game.state_from_text(LATE_DRAGON), f"{LATE_CHECKS} " * 3)
    assert how_it_ended(game, state) == ("perpetual check", -1)


@pytest.mark.rules
def test_a_quiet_move_within_the_stretch_makes_it_a_draw(game: Any) -> None:
    state = game.state_from_text(DRAGON)
    state = played(game, state, f"{CHECKS} {WITH_A_QUIET_MOVE} {CHECKS}")
    assert how_it_ended(game, state) == ("fourfold repetition", 0)


@pytest.mark.rules
def test_a_quiet_move_before_the_stretch_does_not(game: Any) -> None:
    state = game.state_from_text("5k3/9/6+R2/9/9/9/9/9/4K4 b - 1")
    state = played(game, state, "5i4i 4a5a 3c5c " + "5a4a 5c4c 4a5a 4c5c " * 3)
    assert how_it_ended(game, state) == ("perpetual check", -1)


@pytest.mark.rules
def test_repetition_across_captures_and_drops(game: Any) -> None:
    state = game.state_from_text("k8/9/4g4/4g4/4G4/9/9/9/8K b - 1")
    for _ in range(3):
        assert not game.is_terminal(state)
        state = played(game, state, "5e5d 5c5d G*5e G*5c")
    assert how_it_ended(game, state) == ("fourfold repetition", 0)


@pytest.mark.rules
def test_other_hands_or_the_other_seat_to_move_is_another_position(game: Any) -> None:
    # White drops a new pawn each time: four equal boards with other hands.
    state = game.state_from_text("k8/9/9/4p4/4R4/9/9/9/8K b 8p 1")
    state = played(game, state, "5e5d 9a9b 5d5e P*5d 5e5d 9b9a 5d5e P*5d " * 3)
    assert how_it_ended(game, state) is None
    # A king that loses a move comes back with the other seat to move.
    state = game.state_from_text("k8/9/9/9/9/9/9/9/8K b - 1")
    state = played(game, state, "1i2i 9a8a 2i2h 8a9a 2h1i")
    assert game.current_player(state) == 1
    assert how_it_ended(game, state) is None


@pytest.mark.rules
def test_mate_and_no_legal_move_are_lost(game: Any) -> None:
    for sfen, moves, ending in (
        ("7nk/9/7G1/9/9/9/9/9/4K4 b G 1", "G*1b", "checkmate"),
        ("8k/9/6+R2/9/9/9/9/9/4K4 b - 1", "3c2c", "no legal move"),
    ):
        state = played(game, game.state_from_text(sfen), moves)
        assert how_it_ended(game, state) == (ending, 1)
        back = [turned_move(move) for move in moves.split()]
        state = played(game, game.state_from_text(turned(sfen)), " ".join(back))
        assert how_it_ended(game, state) == (ending, -1)


@pytest.mark.rules
def test_the_longest_game_is_a_draw_but_a_mate_on_the_last_ply_counts(game: Any) -> None:
    sfen = "7nk/9/7G1/9/9/9/9/9/4K4 b G 512"
    assert how_it_ended(game, played(game, game.state_from_text(sfen), "G*1b")) == ("checkmate", 1)
    state = played(game, game.state_from_text(sfen), "G*5e")
    assert how_it_ended(game, state) == ("move limit", 0)
    assert not game.legal_action_mask(state).any()
    short = azcore.make("shogi", max_plies=3)
    state = played(short, short.initial_state(), "7g7f 3c3d")
    assert not short.is_terminal(state)
    state = played(short, state, "8h2b+")
    assert how_it_ended(short, state) == ("move limit", 0)
    assert short.max_game_length == 3


ENTERED = "+P+P+P+PK+P+P+P+P/+P+P7/9/9/9/9/9/9/4k4 b 2RB3P 1"


@pytest.mark.rules
@pytest.mark.parametrize(
    ("sfen", "won"),
    [
        (ENTERED, True),  # ten pieces, 10 + 15 + 3 = 28 points
        (ENTERED.replace("3P", "2P"), False),  # 27
        (turned(ENTERED), True),
        (turned(ENTERED.replace("3P", "2P")), True),  # White needs 27
        (turned(ENTERED.replace("3P", "P")), False),  # 26
        (ENTERED.replace("/+P+P7/", "/+P8/"), False),  # nine pieces
        (ENTERED.replace("/+P+P7/", "/+P8/").replace("3P", "8P"), False),  # and points enough
        (ENTERED.replace("/+P+P7/9/9/", "/+P8/9/+P8/"), False),  # the tenth is outside
        (ENTERED.replace(" b ", " w "), False),  # not to move
        ("+P+P+P+P1+P+P+P+P/+P+P7/4K4/9/9/9/9/9/4k4 b 2RB3P 1", True),  # king on the third rank
        ("+P+P+P+P1+P+P+P+P/+P+P7/9/4K4/9/9/9/9/4k4 b 2RB3P 1", False),  # and on the fourth
        ("+P+P+P+PK+P+P+P+P/+P+P7/9/8r/9/9/9/9/4k4 b RB8P 1", True),
        ("+P+P+P+PK+P+P+P+P/+P+P7/9/4r4/9/9/9/9/4k4 b RB8P 1", False),  # in check
        ("+P+P+P+PK+P+P+P+P/+R+B7/9/9/9/9/9/9/4k4 b RB 1", True),  # 8 + 10 + 10 = 28
        ("+P+P+P+PK+P+P+P+P/+R+P7/9/9/9/+B8/9/9/4k4 b RB 1", False),  # a horse outside counts 0
    ],
)
def test_entering_king(game: Any, sfen: str, won: bool) -> None:
    entering = azcore.make("shogi", entering_king=True)
    state = entering.state_from_text(sfen)
    if won:
        winner = 1 if entering.current_player(state) == 0 else -1
        assert how_it_ended(entering, state) == ("entering king", winner)
        assert not entering.legal_action_mask(state).any()
    else:
        assert not entering.is_terminal(state)
    assert not game.is_terminal(game.state_from_text(sfen))
    if find_spec("cshogi") is not None:
        import cshogi

        assert cshogi.Board(sfen=sfen).is_nyugyoku() == won


@pytest.mark.rules
def test_entering_the_king_ends_the_game_as_soon_as_its_owner_is_to_move(game: Any) -> None:
    entering = azcore.make("shogi", entering_king=True)
    sfen = "+P+P+P+P1+P+P+P+P/+P+P7/9/4K4/9/9/9/9/4k4 b 2RB3P 511"
    state = played(entering, entering.state_from_text(sfen), "5d5c")
    assert how_it_ended(entering, state) is None
    state = played(entering, state, "5i5h")  # the last ply: the declaration counts
    assert how_it_ended(entering, state) == ("entering king", 1)


# -- the rest ----------------------------------------------------------------------------------


@pytest.mark.rules
def test_actions_are_numbered_as_the_paper_says(game: Any) -> None:
    state = game.initial_state()
    cells = {"7g7f": 56, "2h7h": 70, "8i7g": 0}
    assert game.text_to_action(state, "7g7f") == 0 * 81 + cells["7g7f"]  # north, distance 1
    assert game.text_to_action(state, "2h7h") == (6 * 8 + 4) * 81 + cells["2h7h"]  # west, 5
    state = played(game, state, "7g7f")
    # White sees the board turned, so that its 3c3d is Black's 7g7f.
    assert game.text_to_action(state, "3c3d") == 56
    state = played(game, state, "3c3d")
    # The bishop goes north-east by 6 and promotes.
    assert game.text_to_action(state, "8h2b+") == (66 + 8 + 5) * 81 + 64
    state = played(game, state, "8h2b+ 3a2b")
    assert game.text_to_action(state, "B*5e") == (132 + 5) * 81 + 40
    assert game.text_to_action(state, "8i7g") == 65 * 81 + 73  # the right knight's move
    assert game.num_actions == 11259


@pytest.mark.rules
@pytest.mark.parametrize("plies", [0, -1, 10_001, True, 3.0, "512"])
def test_settings_out_of_range_are_refused(plies: Any) -> None:
    with pytest.raises(GameError, match="max_plies must be a whole number from 1 to 10000, got"):
        azcore.make("shogi", max_plies=plies)


@pytest.mark.rules
def test_settings_that_are_no_choice_are_refused() -> None:
    with pytest.raises(GameError, match="entering_king must be true or false, got 1"):
        azcore.make("shogi", entering_king=1)


# Compiling the rules again for a longer record takes long; test_game.py compiles for two sizes.
@pytest.mark.rules
@pytest.mark.skipif(not config.DISABLE_JIT, reason="played interpreted alone")
def test_longer_games_than_the_papers() -> None:
    long = azcore.make("shogi", max_plies=600)
    state = long.initial_state()
    rng = np.random.default_rng(5)
    while not long.is_terminal(state):
        state = long.step(state, int(rng.choice(np.flatnonzero(long.legal_action_mask(state)))))
    assert 0 < int(state.ply) <= 600
    state = long.state_from_text("k8/9/9/9/9/9/9/9/4K4 w - 590")
    assert (long.observation(state)[361] == 255).all()
    assert not long.is_terminal(played(long, state, "9a9b 5i5h"))
