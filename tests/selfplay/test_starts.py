"""Games from starts and branches: played, written, read back, learned from and shown."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import azcore
from azcore.chance import Purpose, generator
from azcore.commands.train import train
from azcore.errors import CheckpointError, GameFileError, InvalidTextError, SettingError
from azcore.game import Game, Transcript
from azcore.learner.imported_games import is_held_out, with_targets
from azcore.pictures import film
from azcore.report.games import replayed
from azcore.report.predicted import Networks
from azcore.search.settings import SearchSettings
from azcore.selfplay.actor import Actor
from azcore.storage.ends import Ends
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import MOST_START, GameRecord, parse_frame
from azcore.storage.referee import Referee
from azcore.storage.replay import ReplayBuffer
from azcore.storage.starts import Starts, read_starts
from azcore.storage.transcripts import transcript_of
from reference_mcts import HashEvaluator
from search_kit import search_settings
from selfplay_kit import rounds, selfplay_settings
from trust_kit import framed, taken_apart

KINDS: dict[str, tuple[dict[str, Any], list[str]]] = {  # settings of games, and lines of a file
    "tic_tac_toe": ({}, ["X../.../... o", "X../.O./... x", "startpos moves b2", ".../.../... x"]),
    "tic_tac_toe_plain": ({}, ["X../.../... o", "X../.O./... x", "startpos moves b2"]),
    "go": ({"board_size": 3}, ["X../.../... w", ".X./O../... b moves C1", "startpos moves B2"]),
    "chess": (
        {"max_plies": 40},
        [
            "4k3/8/8/8/8/8/4P3/4K3 b - - bm Kd7;",
            "7k/8/5K2/5Q2/8/8/8/8 w - - 12 9 moves f6g6 h8g8",
            "startpos moves e2e4 e7e5",
        ],
    ),
    "shogi": ({"max_plies": 30}, ["4k4/9/4P4/9/9/9/9/9/4K4 w G2r 3", "startpos moves 7g7f"]),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Game, Starts]:
    return of_kind(request.param, tmp_path)


def of_kind(name: str, tmp_path: Path) -> tuple[Game, Starts]:
    settings, lines = KINDS[name]
    game = azcore.make(name, **settings)
    (tmp_path / "starts.txt").write_text("\n".join(lines))
    starts = read_starts(game, [str(tmp_path / "starts.txt")], (0,), "selfplay.starts")
    assert starts is not None
    return game, starts


def actor(
    game: Game, starts: Starts | None, search: SearchSettings | None = None, **changed: Any
) -> Actor:
    options = {"temperature_plies": 100, "num_games": 3, **changed}
    return Actor(
        game=game,
        search=search or search_settings(num_simulations=5),
        settings=selfplay_settings(**options),
        seed=3,
        evaluator=HashEvaluator(game),
        starts=starts,
    )


def states_of(game: Game, record: GameRecord) -> list[Any]:
    """The states before each ply and at the end."""
    start = record.start
    states = [game.initial_state() if start is None else game.state_from_text(start)]
    for action in record.actions.tolist():
        states.append(game.step(states[-1], action))
    return states


def test_games_from_starts_survive_the_disk_and_the_referee(
    kind: tuple[Game, Starts], tmp_path: Path
) -> None:
    game, starts = kind
    records = actor(game, starts).play(num_games=12)
    assert {record.start for record in records} > {None}
    file = GameFile(tmp_path / "records.azg")
    file.append(records)
    again = list(Referee(game).read(file))
    assert [record.to_bytes() for record in again] == [record.to_bytes() for record in records]
    for before, record in zip(records, again, strict=True):
        assert record.start == before.start
        assert record.to_bytes()[:4] == (b"AZG3" if record.start is None else b"AZG5")
        assert (b'"start"' in record.to_bytes()) is (record.start is not None)
        states = states_of(game, record)
        assert [game.current_player(state) for state in states[:-1]] == record.players.tolist()
        assert game.outcome(states[-1]) == record.outcome
        if record.start is not None and game.name != "go":  # where all of it may be legal
            beginning = replace(record, start=None)
            with pytest.raises(GameFileError, match="here: "):
                Referee(game).check(beginning, "here")


def test_positions_to_learn_from_are_those_that_were_played(kind: tuple[Game, Starts]) -> None:
    game, starts = kind
    records = actor(game, starts).play(num_games=12)
    assert len({record.start for record in records}) > 1
    buffer = ReplayBuffer(game=game, window_games=8, augment=False)
    for record in records:  # in parts, so that games and their starts leave the window
        buffer.extend([record])
        kept = records[max(0, records.index(record) - 7) : records.index(record) + 1]
        samples = buffer.positions(np.arange(buffer.num_positions))
        expected = [
            (state, record)
            for record in kept
            for state in states_of(game, record)[record.opening_plies : -1]
        ]
        assert len(samples.value_targets) == len(expected)
        for row, (state, of) in enumerate(expected):
            np.testing.assert_array_equal(samples.observations[row], game.observation(state))
            np.testing.assert_array_equal(
                samples.legal_action_mask[row], game.legal_action_mask(state)
            )
            sign = 1 if game.current_player(state) == 0 else -1
            assert samples.value_targets[row] == sign * of.outcome
    backwards = np.arange(buffer.num_positions)[::-1].copy()
    np.testing.assert_array_equal(
        buffer.positions(backwards).observations, samples.observations[::-1]
    )
    assert [r.start for r in buffer.played_out()] == [
        r.start for r in reversed(kept) if r.played_out
    ]


def test_ends_are_those_of_the_games_that_were_played(tmp_path: Path) -> None:
    game, starts = of_kind("go", tmp_path)
    ends = Ends(game, {"ownership", "score"})
    for record in actor(game, starts).play(num_games=12):
        last = states_of(game, record)[-1]
        np.testing.assert_array_equal(ends.of(record)["ownership"][0], game.ownership(last))
        assert ends.of(record)["score"][0] == game.score(last)


@pytest.mark.parametrize("name", ["go", "chess"])
def test_transcripts_begin_where_the_game_began(name: str, tmp_path: Path) -> None:
    game, starts = of_kind(name, tmp_path)
    form = next(iter(game.transcript_formats().values()))
    seen = set()
    for record in actor(game, starts).play(num_games=8):
        text = form.write(transcript_of(game, record, form))
        again = form.read(text)
        assert again.start_text == record.start
        assert again.actions == record.actions.tolist()
        assert again.comments[: record.opening_plies] == ["drawn at random"] * record.opening_plies
        assert "value" in again.comments[record.opening_plies]
        seen.add(record.start)
        if record.start is not None:
            told = {"chess": f'[FEN "{record.start}"]', "go": "AB["}[name]
            assert told in text
    assert len(seen) > 1


def test_the_report_shows_the_game_from_its_start(tmp_path: Path) -> None:
    game, starts = of_kind("go", tmp_path)
    record = next(r for r in actor(game, starts).play(num_games=8) if r.start is not None)
    shown = replayed(game, record, None, Networks(torch.device("cpu")))
    assert shown.data["boards"] == []  # they are one picture
    whole = film(game, list(states_of(game, record)), bare=True)
    assert shown.film is not None
    assert whole is not None
    pieces = re.compile('data-on="[^"]*" data-what="[^"]*" data-where="[^"]*"')
    assert pieces.findall(shown.film.svg) == pieces.findall(whole.svg) != []
    assert [ply["seat"] for ply in shown.data["plies"]] == record.players.tolist()


def test_a_game_from_elsewhere_is_held_out_by_its_start_too(tmp_path: Path) -> None:
    game, starts = of_kind("tic_tac_toe", tmp_path)
    records = actor(game, starts).play(num_games=12)
    begun = [record for record in records if record.start is not None]
    assert with_targets(begun[0], "played").start == begun[0].start
    moved = [replace(record, start=None) for record in begun]
    shares = np.linspace(0, 1, 200)
    different = [
        [is_held_out(record, share) for share in shares] for record in (begun[0], moved[0])
    ]
    assert different[0] != different[1]


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("XXX/.../... o", "here: a start must be a position: X and O alternate"),
        ("XXX/OO./... o", "here: ply 0, action ., is after the game's end"),
        ("nonsense", "here: a start must be a position: "),
        (".../.../... x", "here: "),
    ],
)
def test_a_start_that_the_game_does_not_have_is_refused(
    tmp_path: Path, start: str, told: str
) -> None:
    game, starts = of_kind("tic_tac_toe", tmp_path)
    record = next(r for r in actor(game, starts).play(num_games=8) if r.start == "X../.O./... x")
    with pytest.raises(GameFileError, match=told):
        Referee(game).check(replace(record, start=start), "here")


@pytest.mark.parametrize("start", ["", "a\nb", "x" * (MOST_START + 1), 7, None, ["x"]])
def test_a_start_that_is_no_line_of_text_is_refused(tmp_path: Path, start: Any) -> None:
    game, starts = of_kind("tic_tac_toe", tmp_path)
    record = next(r for r in actor(game, starts).play(num_games=8) if r.start is not None)
    record = replace(record, surprises=np.zeros(len(record), np.float32))
    header, arrays = taken_apart(record)
    assert parse_frame(framed(header, arrays, b"AZG5"), "here").start == record.start
    with pytest.raises(GameFileError, match=r"here: .*a start must be a line of at most 4000"):
        parse_frame(framed({**header, "start": start}, arrays, b"AZG5"), "here")
    with pytest.raises(GameFileError, match=r"here: not a game record.*'start'"):
        parse_frame(
            framed({k: v for k, v in header.items() if k != "start"}, arrays, b"AZG5"), "here"
        )


def test_surprises_and_a_start_share_a_frame(tmp_path: Path) -> None:
    game, starts = of_kind("tic_tac_toe", tmp_path)
    record = next(r for r in actor(game, starts).play(num_games=8) if r.start is not None)
    more = replace(record, surprises=np.linspace(0, 1, len(record), dtype=np.float32))
    again = parse_frame(more.to_bytes(), "here")
    assert again.start == record.start
    assert again.surprises.tolist() == more.surprises.tolist()
    assert parse_frame(record.to_bytes(), "here").surprises.tolist() == []


# -- branches ----------------------------------------------------------------------------------


def branches(records: list[GameRecord]) -> list[tuple[GameRecord, GameRecord]]:
    """Each game that leaves the one before, of an actor with one game at a time, and that one."""
    return [(one, other) for one, other in itertools.pairwise(records) if other.opening_plies]


@pytest.mark.parametrize("name", ["tic_tac_toe", "tic_tac_toe_plain", "go"])
def test_a_branch_leaves_the_game_before_by_one_action(name: str, tmp_path: Path) -> None:
    game, _ = of_kind(name, tmp_path)
    records = actor(game, None, num_games=1, branch_share=0.4).play(num_games=120)
    found = branches(records)
    assert 0.25 < len(found) / len(records) < 0.5
    plies = set()
    for before, record in found:
        Referee(game).check(record, "here")
        shared = record.opening_plies - 1
        assert record.actions[:shared].tolist() == before.actions[:shared].tolist()
        assert record.actions[shared] != before.actions[shared]
        assert before.opening_plies <= shared < len(before)
        assert record.visit_offsets[record.opening_plies] == 0  # nothing before is learned from
        plies.add(shared - before.opening_plies)
    assert {0, 1, 2} <= plies
    assert records[0].opening_plies == 0


def test_branches_keep_the_start_of_the_game_before(tmp_path: Path) -> None:
    game, starts = of_kind("go", tmp_path)
    records = actor(game, starts, num_games=1, branch_share=0.5).play(num_games=60)
    again = actor(game, starts, num_games=1, branch_share=0.5).play(num_games=60)
    assert [r.to_bytes() for r in records] == [r.to_bytes() for r in again]
    kept = set()
    for before, record in itertools.pairwise(records):
        Referee(game).check(record, "here")
        shared = record.opening_plies - 1
        if generator(Purpose.BRANCH, 3, record.game_index).random() < 0.5:
            assert record.start == before.start
            assert record.actions[:shared].tolist() == before.actions[:shared].tolist()
            assert shared >= before.opening_plies
            kept.add(record.start)
    assert len(kept) > 1


def test_games_without_branches_are_those_without_the_setting(tmp_path: Path) -> None:
    """The chance of branches belongs to nothing else."""
    game, _ = of_kind("tic_tac_toe", tmp_path)
    plain, some = (
        {r.game_index: r.to_bytes() for r in actor(game, None, branch_share=share).play(200)}
        for share in (0.0, 0.3)
    )
    same = [index for index in plain.keys() & some.keys() if plain[index] == some[index]]
    assert 0.5 < len(same) / len(plain.keys() & some.keys()) < 0.9


def test_games_begin_where_the_search_was_wrong(tmp_path: Path) -> None:
    """The plies are drawn in proportion to the regret, also of games that began this way."""
    game, starts = of_kind("go", tmp_path)
    options = {"num_games": 1, "branch_share": 0.2, "regret_share": 0.6}
    search = search_settings(num_simulations=5, proof_plies=1)
    records = actor(game, starts, search, **options).play(num_games=500)
    off, variance, begun = 0.0, 0.0, 0
    for before, record in itertools.pairwise(records):
        if record.game_index % 10 == 0:
            Referee(game).check(record, "here")
        if not 0.2 <= generator(Purpose.BRANCH, 3, record.game_index).random() < 0.8:
            continue
        wrong = np.abs(before.outcomes - before.root_values)
        wrong[~before.learned] = 0
        if not wrong.any():
            continue
        ply = record.opening_plies
        assert record.start == before.start
        assert record.actions[:ply].tolist() == before.actions[:ply].tolist()
        assert wrong[ply] > 0
        chance = wrong / wrong.sum()
        mean = (chance * wrong).sum()
        off += wrong[ply] - mean
        variance += (chance * (wrong - mean) ** 2).sum()
        begun += 1
    assert begun > 100
    assert abs(off) < 3 * variance**0.5


# -- exact resume ------------------------------------------------------------------------------


@pytest.mark.parametrize("played", [0, 3, 8])
def test_state_resumes_where_it_was(kind: tuple[Game, Starts], played: int) -> None:
    game, starts = kind
    options = {"branch_share": 0.3, "opening_plies": 1, "num_games": 4, "workers": 2}
    first = actor(game, starts, **options)
    first.play_while(rounds(played))
    state = first.state_dict()
    assert any("start" in one for each in state["workers"] for one in each["games"])
    second = actor(game, starts, **options)
    second.load_state_dict(json.loads(json.dumps(state)))
    assert second.state_dict() == state
    for one in (first, second):
        one.set_evaluator(HashEvaluator(game, 9), 7)
    expected, found = first.play(num_games=10), second.play(num_games=10)
    assert [r.to_bytes() for r in found] == [r.to_bytes() for r in expected]


LIES: list[tuple[Any, str]] = [
    ("nonsense", "a game in play of this checkpoint: a start must be a position"),
    ("", "a game in play of this checkpoint cannot begin: a start must be a line"),
    (7, "a game in play of this checkpoint cannot begin: a start must be a line"),
    ("XXX/OO./... o", "a game in play of this checkpoint"),
]


@pytest.mark.parametrize(("start", "told"), LIES)
def test_a_game_in_play_with_a_start_that_lies_is_refused(
    tmp_path: Path, start: Any, told: str
) -> None:
    game, starts = of_kind("tic_tac_toe", tmp_path)
    one = actor(game, starts)
    state = one.state_dict()
    state["workers"][0]["games"][0]["start"] = start
    with pytest.raises(CheckpointError, match=told):
        one.load_state_dict(state)


def test_states_without_starts_have_no_word_of_them(tmp_path: Path) -> None:
    game, _ = of_kind("tic_tac_toe", tmp_path)
    state = actor(game, None, opening_plies=3).state_dict()
    assert not any("start" in one for each in state["workers"] for one in each["games"])


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_share_of_branches_is_one(share: float) -> None:
    with pytest.raises(SettingError, match=r"selfplay\.branch_share must be a share of 0 to 1"):
        selfplay_settings(branch_share=share)


@pytest.mark.parametrize("share", [0.0, 1.1])
def test_a_share_of_starts_is_one(share: float) -> None:
    told = r"selfplay\.start_share must be a share above 0, at most 1"
    with pytest.raises(SettingError, match=told):
        selfplay_settings(start_share=share)


def test_a_share_without_starts_is_refused(tiny: Callable[..., dict[str, Any]]) -> None:
    with pytest.raises(SettingError, match=r"start_share must be 1 without selfplay\.starts"):
        train(tiny("selfplay.start_share=0.5", "run_dir=refused"))


def test_a_share_of_the_games_begins_from_starts(tmp_path: Path) -> None:
    game = azcore.make("tic_tac_toe")
    (tmp_path / "starts.txt").write_text("X../.../... o\nX../.O./... x")
    starts = read_starts(game, [str(tmp_path / "starts.txt")], (0,), "selfplay.starts")
    records = actor(game, starts, start_share=0.25).play(num_games=400)
    begun = [record.start is not None for record in records]
    assert 70 <= sum(begun) <= 130  # of 100 expected, three standard deviations and more


def test_the_positions_that_come_for_chess_go_on() -> None:
    folder = Path(__file__).parents[2] / "examples" / "starts"
    made = subprocess.run(
        [sys.executable, str(folder / "make_few_pieces.py")],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    assert made == (folder / "chess_few_pieces.epd").read_text()
    files = [str(path) for path in sorted(folder.glob("*.epd"))]
    starts = read_starts(azcore.make("chess"), files, (0,), "selfplay.starts")
    assert starts is not None
    assert len(starts) == 6000


def test_formats_without_a_set_up_position_are_refused_early(tmp_path: Path) -> None:
    def write(transcript: Transcript) -> str:
        raise InvalidTextError(f"no words for {transcript.start_text}")

    game, starts = of_kind("chess", tmp_path)
    form = game.transcript_formats()["pgn"]
    starts.require_transcripts(form)
    with pytest.raises(InvalidTextError, match=r"starts.txt, line 1: no .pgn file can begin there"):
        starts.require_transcripts(replace(form, write=write))
