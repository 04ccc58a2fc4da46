"""Go's texts: moves, positions, drawn boards and SGF."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import IllegalActionError, InvalidTextError
from transcript_kit import actions_read, transcript_text


def random_actions(game: Any, seed: int, plies: int = 10**6) -> list[int]:
    rng = np.random.default_rng(seed)
    actions: list[int] = []
    state = game.initial_state()
    while not game.is_terminal(state) and len(actions) < plies:
        actions.append(int(rng.choice(np.flatnonzero(game.legal_action_mask(state)))))
        state = game.step(state, actions[-1])
    return actions


# -- moves -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "action", "text"),
    [
        (9, 0, "A9"),
        (9, 8, "J9"),  # no column I
        (9, 80, "J1"),
        (9, 81, "pass"),
        (19, 0, "A19"),
        (19, 18, "T19"),
        (19, 60, "D16"),
        (2, 2, "A1"),
    ],
)
def test_moves_are_written_as_in_gtp(size: int, action: int, text: str) -> None:
    game = azcore.make("go", board_size=size)
    state = game.initial_state()
    assert game.action_to_text(state, action) == text
    for written in (text, text.lower(), text.upper(), f" {text}\n"):
        assert game.text_to_action(state, written) == action


@pytest.mark.parametrize(
    "text", ["", "I5", "K1", "A0", "A10", "A01", "a", "5", "5A", "AA1", "A1 B1", "A٣", "resign"]
)
def test_what_is_no_move_is_refused(text: str) -> None:
    game = azcore.make("go", board_size=9)
    with pytest.raises(InvalidTextError, match="A1 to J9"):
        game.text_to_action(game.initial_state(), text)


def test_illegal_moves_are_named() -> None:
    game = azcore.make("go", board_size=9)
    state = game.step(game.initial_state(), 0)
    with pytest.raises(IllegalActionError, match="A9"):
        game.text_to_action(state, "A9")
    with pytest.raises(IllegalActionError, match="A9"):
        game.step(state, 0)


# -- positions ---------------------------------------------------------------------------------


def test_positions_are_rows_and_whose_turn() -> None:
    game = azcore.make("go", board_size=3)
    state = game.initial_state()
    assert game.state_to_text(state) == ".../.../... b"
    state = game.step(state, game.text_to_action(state, "A3"))
    assert game.state_to_text(state) == "X../.../... w"
    state = game.step(state, 9)
    assert game.state_to_text(state) == "X../.../... b passes=1"
    assert game.state_to_text(game.step(state, 9)) == "X../.../... w passes=2"


@pytest.mark.parametrize("text", ["X.O/.../... w", "X.O\n...\n...\nw\n", " X.O\n  .../\n... w"])
def test_positions_are_read_from_rows(text: str) -> None:
    game = azcore.make("go", board_size=3)
    state = game.state_from_text(text)
    assert game.stones(state).tolist() == [[1, 0, 2], [0, 0, 0], [0, 0, 0]]
    assert game.current_player(state) == 1
    planes = game.observation(state)
    assert [planes[0].sum(), planes[8].sum(), planes[1:8].sum(), planes[9:].sum()] == [1, 1, 0, 0]
    assert game.state_to_text(state) == "X.O/.../... w"


@pytest.mark.parametrize(("size", "suicide"), [(2, True), (3, True), (3, False), (5, False)])
def test_positions_keep_their_legal_actions(size: int, suicide: bool) -> None:
    game = azcore.make("go", board_size=size, suicide=suicide)
    banned = 0
    for seed in range(40 if size < 5 else 5):
        state = game.initial_state()
        for action in random_actions(game, seed):
            state = game.step(state, action)
            text = game.state_to_text(state)
            again = game.state_from_text(text)
            banned += "ko=" in text
            assert np.array_equal(game.legal_action_mask(again), game.legal_action_mask(state))
            assert game.current_player(again) == game.current_player(state)
            assert game.is_terminal(again) == game.is_terminal(state)
            assert game.state_to_text(again) == text
    assert banned > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "0 rows"),
        (".../... b", "row 3"),
        (".../.../...", "player to move"),
        (".../.../... x", "player to move"),
        (".../..../... b", "row 2"),
        (".../.../.Z. b", "row 3"),
        (".../.../.../... b", "player to move"),
        (".../.../... b passes=3", "passes=3"),
        (".../.../... b 1", "got '1'"),
        (".../.../... b ko=", "A1 to C3"),
        (".../.../... b ko=D1", "A1 to C3"),
        (".../.../... b ko=pass", "points"),
        (".../.../... b ko=A1,A1", "once"),
        ("X../.../... b ko=A3", "stone"),
        ("XO./O../... b", "without liberties"),
        ("XXX/XXX/XXX b", "without liberties"),
        ("OX./XX./... b", "without liberties"),
    ],
)
def test_what_is_no_position_is_refused(text: str, message: str) -> None:
    game = azcore.make("go", board_size=3)
    with pytest.raises(InvalidTextError, match=message):
        game.state_from_text(text)


def test_boards_are_drawn() -> None:
    game = azcore.make("go", board_size=3, komi=0.5)
    state = game.state_from_text(".OX/OX./X.. b")
    state = game.step(state, game.text_to_action(state, "A3"))
    assert game.render(state) == "\n".join(
        [
            "   A B C",
            " 3(X). X 3",
            " 2 . X . 2",
            " 1 X . . 1",
            "   A B C",
            "Black (X) has taken 2, White (O) 0; komi 0.5",
            "White to move",
        ]
    )
    state = game.step(state, 9)
    assert game.render(state).endswith("Black to move; the last move was a pass")
    assert game.render(game.step(state, 9)).endswith("The game is over: B+8.5")


# -- SGF ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "komi"), [(2, 0), (5, 7.5), (9, 7), (19, 6.5)])
def test_games_survive_sgf(size: int, komi: float) -> None:
    game = azcore.make("go", board_size=size, komi=komi)
    for seed in range(3):
        actions = random_actions(game, seed)
        text = transcript_text(game, "sgf", actions, comments=["first] \\ move"])
        assert actions_read(game, "sgf", text) == actions
        state = game.initial_state()
        for action in actions:
            state = game.step(state, action)
        lead = game.score(state)
        result = f"B+{lead:g}" if lead > 0 else f"W+{-lead:g}" if lead < 0 else "0"
        assert f"RE[{result}]" in text
        assert f"SZ[{size}]" in text
        assert "first\\] \\\\ move" in text


def test_sgf_of_an_unfinished_game_has_a_result_only_if_told() -> None:
    game = azcore.make("go", board_size=9)
    assert "RE[" not in transcript_text(game, "sgf", [40])
    text = transcript_text(game, "sgf", [40, 0], result="W+R")
    assert "RE[W+R]" in text
    assert ";B[ee];W[aa]" in text.replace("\n", "")


def test_sgf_text_may_be_in_any_script() -> None:
    game = azcore.make("go", board_size=9)
    assert "囲碁" in transcript_text(game, "sgf", [40], comments=["囲碁"])


def test_how_long_sgf_may_be() -> None:
    read = azcore.make("go", board_size=9).transcript_formats()["sgf"].read
    game = "(;SZ[9];B[ee];C[a];C[];C[b];W[ed]C[c])"
    assert read(game).comments == ["a\nb", "c"]
    assert read(game + " " * 10**6 + game).comments == ["a\nb", "c"]  # the first of many games
    with pytest.raises(InvalidTextError, match="first game must end within 1,000,000 characters"):
        read(game[:-1] + ";" * 10**6 + ")")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a readable SGF"),
        ("(;SZ[9];B[ee]", r"must be closed by \)"),
        ("(;SZ[19];B[ee])", "19x19"),
        ("(;SZ[x];B[ee])", r"an SGF board needs a size, got SZ\[x\]"),
        ("(;SZ[9]AB[zz];W[aa])", "AB of the SGF game must be points of the board, got 'zz'"),
        ("(;GM[2]SZ[9];B[aa])", r"must be Go, GM\[1\], got GM\[2\]"),
        ("(;SZ[9];B[ee];B[aa])", "move 2 .* must be W's"),
        ("(;SZ[9];B[ee];W[ee])", "move 2 .*E5"),
        ("(;SZ[9];B[zz])", "move 1 of the SGF game: it must be a point such as ee .* got 'zz'"),
        ("(;SZ[9];B[];W[];B[ee])", "move 3"),
    ],
)
def test_sgf_that_is_no_game_is_refused(text: str, message: str) -> None:
    game = azcore.make("go", board_size=9)
    with pytest.raises(InvalidTextError, match=message):
        actions_read(game, "sgf", text)
