# ruff: noqa: RUF001 (KIF has wide colons and digits)
"""Shogi's texts: moves, positions, drawn boards, KIF and CSA."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import GameError, IllegalActionError, InvalidTextError, TranscriptError
from azcore.game import Transcript
from transcript_kit import actions_read, transcript_text

from .test_rules import (
    CHECKS,
    DRAGON,
    ENTERED,
    LATE_CHECKS,
    LATE_DRAGON,
    needs_cshogi,
    played,
    turned,
    turned_move,
)


@pytest.fixture(name="game", scope="module")
def game_fixture() -> Any:
    return azcore.make("shogi")


def random_actions(game: Any, seed: int, plies: int = 10**6) -> list[int]:
    rng = np.random.default_rng(seed)
    actions: list[int] = []
    state = game.initial_state()
    while not game.is_terminal(state) and len(actions) < plies:
        actions.append(int(rng.choice(np.flatnonzero(game.legal_action_mask(state)))))
        state = game.step(state, actions[-1])
    return actions


def actions_of(game: Any, moves: str) -> tuple[list[int], Any]:
    """The actions of moves in USI from the initial state, and the state after them."""
    actions: list[int] = []
    state = game.initial_state()
    for move in moves.split():
        actions.append(game.text_to_action(state, move))
        state = game.step(state, actions[-1])
    return actions, state


# -- moves -------------------------------------------------------------------------------------


def test_every_action_number_has_a_text_of_its_own(game: Any) -> None:
    states = [game.initial_state(), played(game, game.initial_state(), "7g7f")]
    for state in states:
        texts = [game.action_to_text(state, action) for action in range(game.num_actions)]
        assert len(set(texts)) == game.num_actions
        assert all(text.isprintable() for text in texts)
    assert game.action_to_text(states[0], (66 + 8 + 2) * 81) == "9aNE3+"
    assert game.action_to_text(states[1], 64 * 81) == "1iNWjump"  # White's corner


@pytest.mark.parametrize(
    "text", ["", "7g", "7g7f7e", "0g7f", "7j7f", "K*5e", "P*5j", "p*5e", "7G7F", "7g7f++", "5e5e"]
)
def test_what_is_no_move_is_refused(game: Any, text: str) -> None:
    with pytest.raises(InvalidTextError, match=r"shogi: (a move is written|no piece moves) like"):
        game.text_to_action(game.initial_state(), text)


def test_illegal_moves_are_named(game: Any) -> None:
    state = game.initial_state()
    for text in ("7g7e", "P*5e", "8h2b+", "3c3d"):
        with pytest.raises(IllegalActionError, match=text.replace("+", r"\+").replace("*", r"\*")):
            game.text_to_action(state, text)
    assert game.text_to_action(state, " 7g7f\n") == 56
    for action in (-1, game.num_actions):
        with pytest.raises(IllegalActionError, match="0 to 11258"):
            game.step(state, action)


# -- positions ---------------------------------------------------------------------------------


@pytest.mark.rules
def test_positions_are_sfen(game: Any) -> None:
    start = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
    assert game.state_to_text(game.initial_state()) == start
    assert game.state_to_text(game.state_from_text("startpos")) == start
    state = played(game, game.initial_state(), "7g7f 3c3d 8h2b+ 3a2b")
    text = "lnsgkg1nl/1r5s1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/7R1/LNSGKGSNL b Bb 5"
    assert game.state_to_text(state) == text
    again = game.state_from_text(text)
    assert game.state_to_text(again) == text
    assert int(again.ply) == 4
    assert np.array_equal(game.legal_action_mask(again), game.legal_action_mask(state))
    for sfen in (DRAGON, ENTERED, turned(ENTERED)):
        assert game.state_to_text(game.state_from_text(sfen)) == sfen


LONE = "k8/9/9/9/9/9/9/9/K8"


@pytest.mark.rules
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "got 0 words"),
        (f"{LONE} b", "got 2 words"),
        (f"{LONE} b - 1 1", "got 5 words"),
        ("k8/9/9/9/9/9/9/K8 b - 1", "9 rows .* got 8"),
        ("k8/9/9/9/9/9/9/9/K8/9 b - 1", "9 rows .* got 10"),
        ("k8/9/8/9/9/9/9/9/K8 b - 1", "row 3 from the top, '8', must have 9 squares, has 8"),
        ("k9/9/9/9/9/9/9/9/K8 b - 1", "row 1 from the top.* has 10"),
        ("k8/9/9/9/9/9/9/9/K7X b - 1", "row 9 from the top.* 'X' is neither a piece"),
        ("k8/0/9/9/9/9/9/9/K8 b - 1", "row 2 .* '0' is neither a piece"),
        ("k8/9/9/9/9/9/9/9/K7+G b - 1", r"row 9 .* '\+G' is neither a piece"),
        ("k8/9/9/9/9/9/9/9/K7+ b - 1", r"row 9 .* '\+' is neither a piece"),
        ("k8/++P8/9/9/9/9/9/9/K8 b - 1", r"row 2 .* '\+\+' is neither a piece"),
        ("k8/9/9/9/9/9/9/9/K7é b - 1", "row 9 .* 'é' is neither a piece"),
        ("k8/9/9/9/9/9/9/9/K７ b - 1", "row 9 .* is neither a piece"),
        (f"{LONE} x - 1", "comes b or w .* got 'x'"),
        (f"{LONE} b x 1", "hands are .* got 'x'"),
        (f"{LONE} b 19P 1", "hands are .* got '19P'"),
        (f"{LONE} b 1P 1", "hands are .* got '1P'"),
        (f"{LONE} b 0P 1", "hands are .* got '0P'"),
        (f"{LONE} b K 1", "hands are .* got 'K'"),
        (f"{LONE} b PP 1", "P occurs twice in the hands 'PP'"),
        (f"{LONE} b 3R 1", "there are 2 rooks in a set, got 3"),
        ("k8/9/9/9/9/9/9/9/K6+R+r b R 1", "there are 2 rooks in a set, got 3"),
        (f"{LONE} b 10P9p 1", "there are 18 pawns in a set, got 19"),
        (f"{LONE} b - 0", "move number must be 1 to 513.* got '0'"),
        (f"{LONE} b - x", "move number .* got 'x'"),
        (f"{LONE} b - 514", "move number .* at most 512 plies, got '514'"),
        (f"{LONE} b - 99999999", "move number .* got '99999999'"),
        (f"{LONE} b - ²", "move number .* got '²'"),
        ("9/9/9/9/9/9/9/9/9 b - 1", "at least one side must have a king, got none"),
        ("kk7/9/9/9/9/9/9/9/K8 b - 1", "White must have one king, has 2"),
        ("k7P/9/9/9/9/9/9/9/K8 b - 1", "Black's pawn on 1a could never move"),
        ("k7L/9/9/9/9/9/9/9/K8 b - 1", "Black's lance on 1a could never move"),
        ("k8/8N/9/9/9/9/9/9/K8 b - 1", "Black's knight on 1b could never move"),
        ("k8/9/9/9/9/9/9/n8/K8 b - 1", "White's knight on 9h could never move"),
        ("k8/9/9/9/9/9/9/9/K7p b - 1", "White's pawn on 1i could never move"),
        ("k8/9/8P/9/9/8P/9/9/K8 b - 1", "Black has 2 pawns on file 1"),
        ("k8/9/p8/9/9/p8/9/9/K8 b - 1", "White has 2 pawns on file 9"),
        ("k7R/9/9/9/9/9/9/9/K8 b - 1", "Black is to move and could take White's king"),
        ("k8/K8/9/9/9/9/9/9/9 w - 1", "White is to move and could take Black's king"),
    ],
)
def test_what_is_no_position_is_refused(game: Any, text: str, told: str) -> None:
    with pytest.raises(InvalidTextError, match=f"^shogi: .*{told}"):
        game.state_from_text(text)


@pytest.mark.rules
def test_a_position_after_the_last_ply_is_over(game: Any) -> None:
    state = game.state_from_text(f"{LONE} b - 513")
    assert game.is_terminal(state)
    assert game.termination(state) == "move limit"
    assert not game.is_terminal(game.state_from_text(f"{LONE} b - 512"))


# -- drawn boards ------------------------------------------------------------------------------


@pytest.mark.rules
def test_the_board_is_drawn(game: Any) -> None:
    state = played(game, game.initial_state(), "7g7f 3c3d 8h2b+")
    assert game.render(state).splitlines() == [
        "    9  8  7  6  5  4  3  2  1",
        "    l  n  s  g  k  g  s  n  l  a",
        "    .  r  .  .  .  .  . +B  .  b",
        "    p  p  p  p  p  p  .  p  p  c",
        "    .  .  .  .  .  .  p  .  .  d",
        "    .  .  .  .  .  .  .  .  .  e",
        "    .  .  P  .  .  .  .  .  .  f",
        "    P  P  .  P  P  P  P  P  P  g",
        "    .  .  .  .  .  .  .  R  .  h",
        "    L  N  S  G  K  G  S  N  L  i",
        "White (small letters) holds nothing",
        "Black (capitals) holds B",
        "Move 3, Black: 8h2b+",
        "White to move",
    ]
    state = played(game, game.state_from_text(DRAGON), "4c5c")
    assert game.render(state).endswith("White to move, in check")
    state = played(game, game.state_from_text("7nk/9/7G1/9/9/9/9/9/4K4 b G2P 1"), "G*1b")
    drawn = game.render(state)
    assert "Black (capitals) holds P2" in drawn
    assert drawn.endswith("The game is over: Black wins (checkmate)")


# -- KIF and CSA -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["kif", "csa"])
def test_records_are_read_as_they_were_written(game: Any, form: str) -> None:
    write, read = partial(transcript_text, game, form), partial(actions_read, game, form)
    for seed in range(20):
        actions = random_actions(game, seed, plies=20 * seed)
        comments = [f"ply {i}\n\n{i} 手目 +7776FU\r\n%TORYO" if i % 3 else "" for i in range(50)]
        assert read(write(actions)) == actions
        comments = comments[: len(actions)]
        assert read(write(actions, comments)) == actions
        assert read(write(actions, comments).replace("\n", "\r\n")) == actions
        assert read("\ufeff" + write(actions)) == actions


def test_records_look_as_the_formats_have_it(game: Any) -> None:
    actions, _ = actions_of(game, "7g7f 3c3d 8h2b+ 3a2b B*5e")
    assert transcript_text(game, "kif", actions, ["first", "", "two\nlines"]).splitlines() == [
        "手合割：平手",
        "先手：",
        "後手：",
        "手数----指手---------消費時間--",
        "   1 ７六歩(77)",
        "*first",
        "   2 ３四歩(33)",
        "   3 ２二角成(88)",
        "*two",
        "*lines",
        "   4 同　銀(31)",
        "   5 ５五角打",
        "   6 中断",
        "まで5手で中断",
    ]
    assert transcript_text(game, "csa", actions, ["first", "", "two\nlines"]).splitlines() == [
        *("V2.2", "PI", "+", "+7776FU", "'first", "-3334FU", "+8822UM", "'two", "'lines"),
        *("-3122GI", "+0055KA", "%CHUDAN"),
    ]


def test_records_say_how_the_game_ended(game: Any) -> None:
    def ends(moves: str, **settings: Any) -> list[str]:
        played_game = azcore.make("shogi", **settings)
        actions, _ = actions_of(played_game, moves)
        kif = transcript_text(played_game, "kif", actions).splitlines()
        return [*kif[-2:], transcript_text(played_game, "csa", actions).splitlines()[-1]]

    cycle = "2h3h 8b7b 3h2h 7b8b "
    assert ends(cycle * 3) == ["  13 千日手", "まで12手で千日手", "%SENNICHITE"]
    assert ends("7g7f", max_plies=1) == ["   2 最大手数", "まで1手で持将棋", "%MAX_MOVES"]
    for seed in range(9):
        actions = random_actions(game, seed)
        state = played(game, game.initial_state(), "")
        for action in actions:
            state = game.step(state, action)
        if game.termination(state) == "checkmate":
            winner = "先手" if game.outcome(state) > 0 else "後手"
            kif = transcript_text(game, "kif", actions).splitlines()
            assert kif[-1] == f"まで{len(actions)}手で{winner}の勝ち"
            assert kif[-2] == f"{len(actions) + 1:>4} 詰み"
            assert transcript_text(game, "csa", actions).splitlines()[-1] == "%TSUMI"
            return
    pytest.fail("no game of nine ended in mate")


@pytest.mark.parametrize(
    ("sfen", "moves", "kif", "csa"),
    [
        # The checked side has made the last move, or the checking one: who is to move differs.
        (DRAGON, CHECKS, ("反則負け", "後手の反則勝ち"), "%+ILLEGAL_ACTION"),
        (LATE_DRAGON, LATE_CHECKS, ("反則勝ち", "後手の反則勝ち"), "%+ILLEGAL_ACTION"),
        (turned(ENTERED), "", ("入玉勝ち", "後手の入玉勝ち"), "%KACHI"),
        (ENTERED, "", ("入玉勝ち", "先手の入玉勝ち"), "%KACHI"),
        ("7nk/9/7G1/9/9/9/9/9/4K4 b G 1", "G*1b", ("詰み", "先手の勝ち"), "%TSUMI"),
    ],
)
def test_words_for_the_end(sfen: str, moves: str, kif: tuple[str, str], csa: str) -> None:
    game: Any = azcore.make("shogi", entering_king=True)
    forms = sys.modules[type(game).__module__]
    state = played(game, game.state_from_text(sfen), moves if "*" in moves else f"{moves} " * 3)
    assert game.is_terminal(state)
    assert forms.kif._kif_end(game, state) == kif
    assert forms.csa._csa_end(game, state) == csa


MATE = "7g7f 3c3d 8h2b+ 8b3b B*5d 5a4b 2b4d 6a5a 4d4c"
CHASE = "7g7f 3c3d 8h2b+ 3d3e 2b3b 4a5b " + "3b3c 5a4a 3c3b 4a5a " * 3
# Black's king walks in among its own pieces, while White lets all be taken.
MARCH = """
5i6h 4a3b 7g7f 8b5b 8h3c 5a6b 3c2b 6a7b 2b1c 6b6a 1c3a+ 3b3c 3a5c 7a8b 5c5b 6a7a 5b6c 9a9b S*3a
2a1c 6c7c 1a1b 7c8c 7b7c 8c7c 9c9d G*3b 8b8c B*6c 3c4d 7c8c 4d4e 6c8a 2c2d 8a9b 2d2e L*5c 4e3f S*8a
7a6b 3g3f 2e2f 2g2f 1c2e G*4b 1b1f 2f2e 9d9e 4b4c 9e9f R*4a 9f9g N*1c P*7b N*2c 1f1g+ 6h7g P*2d
7g6f 6b6c 6f5e 1g2g 5e4d 6c6b 4d3c 2g3g
"""


@pytest.mark.parametrize("form", ["kif", "csa"])
@pytest.mark.parametrize(
    ("moves", "max_plies", "ending", "black", "kif", "csa"),
    [
        (MATE, 512, "checkmate", 1, "詰み", "%TSUMI"),
        ("2h3h 8b7b 3h2h 7b8b " * 3, 512, "fourfold repetition", 0, "千日手", "%SENNICHITE"),
        (CHASE, 512, "perpetual check", -1, "反則負け", "%+ILLEGAL_ACTION"),
        (
            "9g9f " + " ".join(map(turned_move, CHASE.split())),
            *(512, "perpetual check", 1, "反則負け", "%-ILLEGAL_ACTION"),
        ),
        (MARCH, 512, "entering king", 1, "入玉勝ち", "%KACHI"),
        ("7g7f 3c3d 8h2b+", 3, "move limit", 0, "最大手数", "%MAX_MOVES"),
        ("7g7f 3c3d 8h2b+", 512, "", 0, "中断", "%CHUDAN"),
    ],
)
def test_records_of_every_end_are_read_as_they_were_written(
    form: str, moves: str, max_plies: int, ending: str, black: int, kif: str, csa: str
) -> None:
    game: Any = azcore.make("shogi", max_plies=max_plies, entering_king=True)
    actions, state = actions_of(game, moves)
    assert game.is_terminal(state) == bool(ending)
    if ending:
        assert (game.termination(state), game.outcome(state)) == (ending, black)
    comments = ["said"] * len(actions)
    for text in (
        transcript_text(game, form, actions),
        transcript_text(game, form, actions, comments),
    ):
        end = text.splitlines()[-2].split()[1] if form == "kif" else text.splitlines()[-1]
        assert end == (kif if form == "kif" else csa)
        assert actions_read(game, form, text) == actions


@needs_cshogi
def test_cshogi_reads_the_results_of_our_records() -> None:
    import cshogi.CSA
    import cshogi.KIF

    black, white, draw = cshogi.BLACK_WIN, cshogi.WHITE_WIN, cshogi.DRAW
    for moves, max_plies, result in (
        (MATE, 512, black),
        ("2h3h 8b7b 3h2h 7b8b " * 3, 512, draw),
        (CHASE, 512, white),
        (MARCH, 512, black),
        ("7g7f 3c3d 8h2b+", 3, draw),
        ("7g7f 3c3d 8h2b+", 512, None),
    ):
        game: Any = azcore.make("shogi", max_plies=max_plies, entering_king=True)
        actions, _ = actions_of(game, moves)
        kif = cshogi.KIF.Parser.parse_str(transcript_text(game, "kif", actions))
        assert (len(kif.moves), kif.win) == (len(actions), result)
        csa = cshogi.CSA.Parser.parse_str(transcript_text(game, "csa", actions))[0]
        assert len(csa.moves) == len(actions)
        if moves != MATE and result is not None:  # its CSA reader knows no %TSUMI
            assert csa.win == result


def test_actions_that_are_not_legal_cannot_be_written(game: Any) -> None:
    for action in (0, -1, game.num_actions, 10**9):
        for form in ("kif", "csa"):
            with pytest.raises(IllegalActionError):
                transcript_text(game, form, [action])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not a KIF game: no moves in ''"),
        ("hello", "not a KIF game: no moves in 'hello'"),
        (
            "手合割：香車落ち\n   1 ３四歩(33)\n",
            "name a handicap or draw a board .*, got '香車落ち'",
        ),
        ("\ufeff手合割：その他\n   1 ３四歩(33)\n", "got 'その他'"),
        ("手合割:角落ち\n   1 ７六歩(77)\n", "move 1 of the KIF game: it must be legal"),
        ("|v香v桂v銀v金v玉v金v銀v桂v香|一\n", "the game's start: "),
        ("   1 ７五歩(77)\n", "move 1 of the KIF game: it must be legal.*７五歩"),
        ("   1 ７六歩(77)\n   2 ３三歩(33)\n", "move 2 of the KIF game: it must be legal.*３三歩"),
        ("   1 ７六歩(77)\n   3 ３四歩(33)\n", "move 2 comes next, got '   3"),
        ("   1 ７六歩(77)\n   2 投了\n   3 ３四歩(33)\n", "move 2 comes next, got '   3"),
        ("   1 ７六歩(77)\n   2 １０四歩(33)\n", "move 2 of the KIF game: it cannot be read"),
        ("   1 ７六角(77)\n", "move 1 of the KIF game: it must be legal and made by the piece"),
        ("   1 ７六玉打\n", "move 1 of the KIF game: it must be legal"),
        ("   1 ７零歩(77)\n", "move 1 of the KIF game: it cannot be read"),
        ("   1 ７六歩(70)\n", "move 1 of the KIF game: it must be legal"),
        ("▲５八金\n", "move 1 of the KIF game: it may be any of 4i5h, 6i5h"),
        ("   1 同　歩(77)\n", "move 1 of the KIF game: it cannot be read"),
        ("   1 ５五角打\n", "move 1 of the KIF game: it must be legal.*５五角打"),
    ],
)
def test_kif_that_cannot_be_read_is_refused(game: Any, text: str, told: str) -> None:
    with pytest.raises(InvalidTextError, match=f"^shogi: .*{told}"):
        actions_read(game, "kif", text)


def test_kif_of_other_programs_is_read(game: Any) -> None:
    text = (
        "# a comment\n開始日時：2026/01/02 03:04:05\n手合割：平手　　\n先手：A\n後手：B\n"
        "手数----指手---------消費時間--\n"
        "\t1\t７六歩(77)   ( 0:01/00:00:01)\n*said\n&mark\n   2 ３四歩(33)   ( 0:02/00:00:02)\n"
        "   3 ２二角成(88)  ( 0:01/00:00:02)+\n   4 同 銀(31)  ( 0:01/00:00:02)\n"
        "   5 投了\nまで4手で後手の勝ち\n\n変化：3手\n   3 ２六歩(27)\n"
    )
    state = played(game, game.initial_state(), "7g7f 3c3d 8h2b+ 3a2b")
    again = game.initial_state()
    for action in actions_read(game, "kif", text):
        again = game.step(again, action)
    assert game.state_to_text(again) == game.state_to_text(state)


HEAD = "手合割：平手\n先手：甲\n後手：乙\n"
NO_MOVE = ["words that are not a move"]


@pytest.mark.parametrize(
    ("text", "moves", "outcome"),
    [
        *((f"   1 ７六歩(77)\n   2 {end}\n", "7g7f", outcome) for end, outcome in (
            ("接続切れ", 1), ("引き分け", 0), ("反則", None), ("入玉宣言", -1),
        )),
        ("   1 76歩(77)\n   2 3四歩(33)\n   3 ２二角不成(88)\n   4 同  銀(31)\n",
         "7g7f 3c3d 8h2b 3a2b", None),
        ("1：７六歩(77)\n2手目 ３四歩(33)\n3. ２六歩\nまで3手で先手の勝ち\n", "7g7f 3c3d 2g2f", 1),
        ("▲７六歩　△３四歩\n▲２二角成　△同　銀\nまで4手で後手の勝ち\n",
         "7g7f 3c3d 8h2b+ 3a2b", -1),
        ("☗５八金右☖５二金左☗４八銀☖６二銀", "4i5h 4a5b 3i4h 7a6b", None),
        ("▲５八金左△５二金右", "6i5h 6a5b", None),
        ("▲７六歩△３四歩▲２二角成△同飛▲８八角", "7g7f 3c3d 8h2b+ 8b2b B*8h", None),
        ("   1　７六歩(77)\nまで1手で時間切れにより先手の勝ち\n", "7g7f", 1),
        ("   1 ７六歩(77)\nまで1手で千日手\n", "7g7f", 0),
        ("   1 ７六歩(77)\nまで1手で先手の反則負け\n", "7g7f", -1),
    ],
)  # fmt: skip
def test_kif_and_ki2_as_people_write_them(
    game: Any, text: str, moves: str, outcome: int | None
) -> None:
    form = game.transcript_formats()["kif"]
    found = form.read(HEAD + text)
    actions, _ = actions_of(game, moves)
    assert (found.actions, found.outcome) == (actions, outcome)
    assert found.players == ("甲", "乙")


@pytest.mark.parametrize(
    ("form", "text", "ignored"),
    [
        ("kif", f"{HEAD}手数----\n   1 ７六歩(77)  ( 0:01/0:01)+\n&mark\n*said\n   2 中断\n", []),
        ("kif", f"{HEAD}   1 ７六歩(77) good\n   2 中断\n", NO_MOVE),
        ("kif", f"{HEAD}手数----\nwell\n   1 ７六歩(77)\n   2 中断\n", NO_MOVE),
        ("csa", "PI\n+\n+7776FU,T1\n'/-3334FU\n%CHUDAN\n", []),
        ("csa", "PI\n+\n+7776FU\n/-3334FU\n%CHUDAN\n", ["a word that is not a move"]),
        ("csa", "PI\n+\n+7776FU\n%FOO\n", ["an end that CSA does not have"]),
    ],
)  # fmt: skip
def test_what_is_ignored_beside_the_moves_is_told(
    game: Any, form: str, text: str, ignored: list[str]
) -> None:
    found = game.transcript_formats()[form].read(text)
    assert found.actions == actions_of(game, "7g7f")[0]
    assert found.ignored == ignored


def test_a_ki2_move_that_cannot_be_read_is_not_skipped(game: Any) -> None:
    with pytest.raises(TranscriptError, match="move 2 of the KIF game: it cannot be read"):
        actions_read(game, "kif", f"{HEAD}▲７六歩　△ほげ　▲２六歩\n")
    with pytest.raises(InvalidTextError, match="no moves in"):
        actions_read(game, "kif", f"{HEAD}手数----\n第一手 ７六歩\n")


@pytest.mark.parametrize("form", ["kif", "csa"])
def test_a_fault_leaves_the_game_before_it(game: Any, form: str) -> None:
    text = {
        "kif": f"{HEAD}   1 ７六歩(77)\n   2 ３三歩(33)\n",
        "csa": "N+甲\nPI\n+\n+7776FU\n-3332FU\n",
    }[form]
    with pytest.raises(TranscriptError, match=r"move 2 of the") as error:
        game.transcript_formats()[form].read(text)
    assert error.value.before.actions == actions_of(game, "7g7f")[0]
    assert error.value.before.players[0] == "甲"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", r"no PI and \+ in ''"),
        ("hello\n", "must have its start, .* got 'hello'"),
        ("P2\n+7776FU\n", "must have its start, .* got '\\+7776FU'"),
        ("-3334FU\n", "move 1 of the CSA game: it must be .*begins with \\+, got '-3334FU'"),
        ("P1-KY\n+\n+7776FU\n", "the game's start: "),
        ("P1-XX\n+\n+7776FU\n", "a piece of a CSA game must be one of FU.* got 'XX'"),
        ("PI\nP-00AL\nP+55AL\n+\n+7776FU\n", "a piece of a CSA game must be one of .* got 'AL'"),
        ("P-11OU\nP+00OU\n+\n", "a piece of a CSA game must be one of FU.*, HI, got 'OU'"),
        ("PI82HI22KA\n+\n-3334FU\n", "move 1 of the CSA game: it must be"),
        ("PI\n+\n+7775FU\n", "move 1 of the CSA game: it must be .*got '\\+7775FU'"),
        ("PI\n+\n+7776FU\n-xxxxFU\n", "move 2 of the CSA game: it must be .*got '-xxxxFU'"),
        ("PI\n+\n+7776KA\n", "move 1 of the CSA game: it must be .*got '\\+7776KA'"),
        ("PI\n+\n+7776FU\n+3334FU\n", "move 2 .* begins with -, got '\\+3334FU'"),
        ("PI\n+\n+7776FU\n-3332FU\n", "move 2 of the CSA game: it must be .*got '-3332FU'"),
        ("PI\n+\n+0055KA\n", "move 1 of the CSA game: it must be .*got '\\+0055KA'"),
        ("PI\n+\n+7776FU\nPI\n+\n+7776FU\n", "got 'PI' after 1 moves"),
        ("PI\n+\n+7776FU\n%TORYO\n-3334FU\n", "got '-3334FU' after 1 moves"),
    ],
)
def test_csa_that_cannot_be_read_is_refused(game: Any, text: str, told: str) -> None:
    with pytest.raises(InvalidTextError, match=f"^shogi: .*{told}"):
        actions_read(game, "csa", text)


@needs_cshogi
def test_csa_of_other_programs_is_read(game: Any) -> None:
    import cshogi

    moves = "'comment, +1234FU\n+7776FU  ,T3,-3334FU\nT12\n+8822UM\n'** 100\n%TORYO\nT1\n"
    for start in ("", "+\n", "PI\n+\n", "PI\nP+\nP-\n+\n", cshogi.Board().csa_pos()):
        actions = actions_read(game, "csa", f"V2.2\nN+A, B\nN-C\n$EVENT:x,y\n{start}{moves}")
        state = game.initial_state()
        for action in actions:
            state = game.step(state, action)
        again = played(game, game.initial_state(), "7g7f 3c3d 8h2b+")
        assert game.state_to_text(state) == game.state_to_text(again)


HANDICAPS = (
    "香落ち",
    "右香落ち",
    "角落ち",
    "飛車落ち",
    "飛香落ち",
    "二枚落ち",
    "六枚落ち",
    "十枚落ち",
)
NO_ROOK_AND_BISHOP = "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
TSUME = "7nk/9/6G+P1/9/9/9/9/9/9 b 2S11p 1"  # hands of more than ten


@needs_cshogi
def test_games_with_a_handicap_or_from_a_position(game: Any) -> None:
    """Written, read back, and read by cshogi."""
    import cshogi.CSA
    import cshogi.KIF

    table = cshogi.KIF.Parser.HANDYCAP_SFENS
    middle = game.initial_state()
    for action in random_actions(game, 3, plies=90):
        middle = game.step(middle, action)
    for start in (*map(table.get, HANDICAPS), TSUME, game.state_to_text(middle)):
        state = game.state_from_text(start)
        actions = [int(np.flatnonzero(game.legal_action_mask(state))[-1])]
        for form in ("kif", "csa"):
            transcript = Transcript(actions=actions, start_text=start)
            text = game.transcript_formats()[form].write(transcript)
            read = game.transcript_formats()[form].read(text)
            assert read.actions == actions, text
            assert read.start_text.split()[:3] == start.split()[:3]  # but for its ply
        assert cshogi.CSA.Parser.parse_str(text)[0].sfen.split()[:3] == start.split()[:3]


@pytest.mark.parametrize(
    ("form", "text", "start"),
    [
        ("kif", "手合割：二枚落ち\n下手：A\n上手：B\n   1 ６二銀(71)\n", NO_ROOK_AND_BISHOP),
        ("csa", "PI82HI22KA\n-\n-7162GI\n", NO_ROOK_AND_BISHOP),
        ("csa", "P-11OU21KE\nP+33KI23TO00GI00GI\nP-00AL\n+\n+0012GI\n", None),
    ],
)
def test_starts_as_others_write_them(game: Any, form: str, text: str, start: str | None) -> None:
    read = game.transcript_formats()[form].read(text)
    assert len(read.actions) == 1
    assert start in (None, read.start_text)
    if start is None:  # all pieces that are left
        assert read.start_text == "7nk/9/6G+P1/9/9/9/9/9/9 b 2S2r2b3g2s3n4l17p 1"


def test_moves_after_the_end_of_the_game_are_refused(game: Any) -> None:
    short = azcore.make("shogi", max_plies=2)
    actions = random_actions(game, 1, plies=3)
    for form in ("kif", "csa"):
        text = transcript_text(game, form, actions)
        with pytest.raises(InvalidTextError, match=r"move 3 of the .* was over \(move limit\)"):
            actions_read(short, form, text)


def test_without_cshogi_the_plain_form_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cshogi", None)
    with pytest.raises(GameError, match=r"pip install 'azcore\[shogi\]'"):
        azcore.make("shogi_plain")


@pytest.mark.parametrize("name", ["shogi", pytest.param("shogi_plain", marks=needs_cshogi)])
def test_a_mate_problem_needs_no_king_of_the_attacker(name: str) -> None:
    game = azcore.make(name)
    for sfen in ("4k4/9/4P4/9/9/9/9/9/9 b G 1", "9/9/9/9/9/4p4/9/9/4K4 w g 1"):
        state = game.state_from_text(sfen)
        assert game.state_to_text(state) == sfen
        mate = game.step(state, game.text_to_action(state, "G*5b" if " b " in sfen else "G*5h"))
        assert not game.can_declare_win(state)
        assert not game.is_terminal(mate) or game.termination(mate) == "checkmate"
    with pytest.raises(InvalidTextError, match="king"):
        game.state_from_text("9/9/9/9/9/9/9/9/9 b G 1")
