"""Go with several komi and board sizes in one game; whole games are compared in test_rules.py."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import GameError, IllegalActionError, InvalidTextError
from azcore.game import Transcript
from azcore.testing import Identity, check_game
from azcore.testing.view import content

BOTH: dict[str, Any] = {"board_size": 5, "komi": 7, "other_komis": [5.5, 0], "other_sizes": [3]}


def game_of(**settings: Any) -> Any:
    return azcore.make("go", **settings)


def test_self_play_begins_with_each_komi_on_each_board() -> None:
    game = game_of(**BOTH)
    empty, small = "...../...../...../...../..... b", ".../.../... b"
    assert [game.state_to_text(state) for state in game.start_states()] == [
        empty,
        f"{empty} komi=0",
        f"{empty} komi=5.5",
        small,
        f"{small} komi=0",
        f"{small} komi=5.5",
    ]
    assert game.state_to_text(game.initial_state()) == empty
    assert len({game.position_key(state) for state in game.start_states()}) == 6


def test_without_other_komi_or_sizes_nothing_is_new() -> None:
    game = game_of(board_size=5, komi=7, other_komis=[], other_sizes=[])
    assert game.identity == game_of(board_size=5, komi=7).identity
    assert set(game.settings) == {"board_size", "komi", "suicide", "first_pass"}
    assert game.observation_shape == (17, 5, 5)
    assert list(game.observation_maximum) == [1] * 17
    assert game.position_key(game.initial_state()) == 0
    (start,) = game.start_states()
    assert content(start) == content(game.initial_state())
    assert game.state_dtype.itemsize == 1152  # what a state took before there were others


def test_settings_name_them_in_one_order() -> None:
    game = game_of(board_size=7, komi=7, other_komis=[9, 5.5, 9], other_sizes=[4, 5])
    assert game.settings["other_komis"] == [5.5, 9.0]
    assert game.settings["other_sizes"] == [5, 4]
    assert game_of(**game.settings).identity == game.identity
    assert game.score_maximum == 49 + 9
    # The usual komi may be among the others, so that an engine can change it.
    changed = game_of(**{**game.settings, "komi": 9})
    assert changed.komis == [9.0, 5.5]
    assert changed.observation_shape == game.observation_shape == (19, 7, 7)


@pytest.mark.rules
def test_planes_of_komi_and_board() -> None:
    game = game_of(**BOTH)
    state = game.state_from_text(".../.../... b komi=5.5")
    planes = game.observation(state)
    assert (planes[17] == 50 - 11).all()  # Black gives komi
    assert planes[18].tolist() == [[0] * 5] * 2 + [[1, 1, 1, 0, 0]] * 3
    assert game.observation_maximum[16:].tolist() == [1, 100, 1]
    state = game.step(state, game.text_to_action(state, "C1"))
    planes = game.observation(state)
    assert (planes[17] == 50 + 11).all()
    assert planes[8].tolist() == [[0] * 5] * 4 + [[0, 0, 1, 0, 0]]
    assert (game.observation(game.initial_state())[17] == 50 - 14).all()
    assert game.observation(game.initial_state())[18].all()


@pytest.mark.rules
@pytest.mark.parametrize("suicide", [False, True])
def test_a_small_board_is_the_game_of_that_size(suicide: bool) -> None:
    """5x5 in 9x9 has the actions, captures, end and score of 5x5, with and without early passes."""
    settings = {"komi": 1.5, "suicide": suicide, "first_pass": 0.5}
    large, real = (
        game_of(board_size=9, other_sizes=[5], **settings),
        game_of(board_size=5, **settings),
    )
    rng = np.random.default_rng(suicide)
    for _ in range(3):
        one, other = large.start_states()[1], real.initial_state()
        while not real.is_terminal(other):
            texts = [
                [game.action_to_text(state, int(a)) for a in np.flatnonzero(mask)]
                for game, state, mask in (
                    (large, one, large.legal_action_mask(one)),
                    (real, other, real.legal_action_mask(other)),
                )
            ]
            assert texts[0] == texts[1]
            assert not large.is_terminal(one)
            move = str(rng.choice(texts[1]))
            one = large.step(one, large.text_to_action(one, move))
            other = real.step(other, real.text_to_action(other, move))
            assert large.state_to_text(one) == real.state_to_text(other)
            assert large.render(one) == real.render(other)
            assert list(one.prisoners) == list(other.prisoners)
        assert large.is_terminal(one)
        assert large.score(one) == real.score(other)
        assert large.outcome(one) == real.outcome(other)
        assert large.status_of_stones(one) == real.status_of_stones(other)
        assert large.ownership(one)[4:, :5].tolist() == real.ownership(other).tolist()
        assert not large.ownership(one)[:4].any()


@pytest.mark.rules
def test_a_small_board_has_its_own_limit_of_plies() -> None:
    game = game_of(board_size=3, komi=0, other_sizes=[2])
    state = game.start_states()[1]
    for move in ["A1", "pass", "B2", "pass", "A2", "B1", "A2", "pass"]:
        assert not game.is_terminal(state)
        state = game.step(state, game.text_to_action(state, move))
    assert game.is_terminal(state)
    assert game.score(state) == 0


def test_points_outside_are_no_moves() -> None:
    game = game_of(**BOTH)
    small = game.start_states()[3]
    for text in ("D1", "A4", "E5"):
        with pytest.raises(IllegalActionError, match=text):
            game.text_to_action(small, text)
    assert game.legal_action_mask(small).sum() == 10


@pytest.mark.parametrize(
    "text",
    [
        "X../.../... w komi=5.5",
        ".X.../...../...../...../..... w komi=0 passes=1",
        ".XO/X../.X. w komi=0 passes=2",
    ],
)
def test_positions_say_komi_and_size(text: str) -> None:
    game = game_of(**BOTH)
    assert game.state_to_text(game.state_from_text(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".../.../... b komi=6.5", "come passes=1, passes=2, komi=7, komi=0, komi=5.5 or ko="),
        (".../.../... b komi=", "got 'komi='"),
        ("..../..../..../.... b", "row 1 from the top must be 5"),
        ("../.. b", "row 1 from the top must be 5"),
        (".....", "5 or 3 rows and then b or w"),
        (".../.../... b ko=D1", "no point"),
        (".../.../... b ko=pass", "points"),
    ],
)
def test_positions_of_no_kind_of_the_game_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidTextError, match=re.escape(message)):
        game_of(**BOTH).state_from_text(text)


def test_a_game_of_one_komi_reads_no_other() -> None:
    for settings in ({}, {"other_sizes": [3]}):
        game = game_of(board_size=5, komi=7, **settings)
        with pytest.raises(InvalidTextError, match="komi=7"):
            game.state_from_text("...../...../...../...../..... b komi=7")


def test_every_start_survives_sgf() -> None:
    game = game_of(**BOTH)
    form = game.transcript_formats()["sgf"]
    for start in game.start_states():
        state, actions = start, []
        rng = np.random.default_rng(1)
        while not game.is_terminal(state):
            actions.append(int(rng.choice(np.flatnonzero(game.legal_action_mask(state)))))
            state = game.step(state, actions[-1])
        text = game.state_to_text(start)
        start_text = None if text == game.state_to_text(game.initial_state()) else text
        written = form.write(Transcript(actions=actions, start_text=start_text))
        assert f"SZ[{start.size_in_play}]" in written
        assert float(re.search(r"KM\[([^]]*)\]", written)[1]) == start.komi  # type: ignore[index]
        assert f"RE[{game.result_text(state)}]" in written
        read = form.read(written)
        assert (read.actions, read.start_text) == (actions, start_text)
        assert read.other_rules == ""


@pytest.mark.parametrize(
    ("sgf", "start", "other_rules"),
    [
        ("(;SZ[3]KM[5.5]AB[aa][bb];W[cc])", "X../.X./... w komi=5.5", ""),
        ("(;SZ[3];B[cc])", ".../.../... b", ""),
        ("(;SZ[5]KM[6.5];B[cc])", None, "komi 6.5"),
        ("(;SZ[5]KM[7];B[cc])", None, ""),
    ],
)
def test_sgf_of_others(sgf: str, start: str | None, other_rules: str) -> None:
    read = game_of(**BOTH).transcript_formats()["sgf"].read(sgf)
    assert (read.start_text, read.other_rules) == (start, other_rules)


def test_sgf_of_another_size_is_refused() -> None:
    with pytest.raises(InvalidTextError, match="must be 5x5 or 3x3, got 9x9"):
        game_of(**BOTH).transcript_formats()["sgf"].read("(;SZ[9];B[ee])")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"other_sizes": [9]}, "from 2 and below board_size 9, got 9"),
        ({"other_sizes": [1]}, "got 1"),
        ({"other_sizes": [True]}, "got True"),
        ({"other_sizes": 5}, "other_sizes must be a list, such as [5], got 5"),
        ({"other_sizes": "57"}, "got '57'"),
        ({"other_komis": 5.5}, "other_komis must be a list"),
        ({"other_komis": [5.25]}, "a whole or half number from -25 to 25, got 5.25"),
        ({"other_komis": [25.5]}, "got 25.5"),
        ({"other_komis": ["7"]}, "got '7'"),
        ({"other_komis": [5], "komi": 26}, "got 26"),
        ({"other_sizes": [5], "komi": -26}, "got -26"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(GameError, match=re.escape(message)):
        game_of(**settings)


def test_the_kit_plays_all_of_them() -> None:
    report = check_game(game_of(**BOTH), num_positions=250)
    assert report.checks[Identity.SYMMETRY] > 100
    assert report.longest > 18  # longer than any game on the small board
