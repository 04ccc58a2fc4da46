"""Transcripts of self-play and of matches, as `command=export` and training write them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.commands.export.export import export
from azcore.commands.train import train
from azcore.errors import AzcoreError, GameError, GameFileError, InvalidTextError, SettingError
from azcore.game import Game
from azcore.storage.commentary import Remark
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord
from azcore.storage.transcripts import (
    format_named,
    transcript_of,
    write_transcripts,
)
from conftest import TINY, compose
from run_kit import train_until
from transcript_kit import read_remark, read_transcript

Tiny = Callable[..., dict[str, Any]]
GO = ["game=go", "game.board_size=3", "export.per_generation=2"]


@pytest.fixture(scope="module")
def game() -> Game:
    return azcore.make("go", board_size=3)


def record_of(game: Game, texts: str, index: int = 0, **changes: Any) -> GameRecord:
    """A game whose every searched ply had 5 visits on its action and 3 on the next legal one."""
    actions, players, visits = [], [], []
    state = game.initial_state()
    for text in texts.split():
        action = game.text_to_action(state, text)
        other = next(
            int(a) for a in np.flatnonzero(game.legal_action_mask(state)) if int(a) != action
        )
        visits += [(other, 3), (action, 5)]
        actions.append(action)
        players.append(game.current_player(state))
        state = game.step(state, action)
    plies = len(actions)
    record = GameRecord(
        game=game.identity,
        actions=np.array(actions, np.uint16),
        visit_offsets=np.arange(0, 2 * plies + 1, 2, dtype=np.uint32),
        visit_actions=np.array([action for action, _ in visits], np.uint16),
        visit_counts=np.array([count for _, count in visits], np.uint32),
        root_values=np.linspace(-1, 1, plies, dtype=np.float32),
        best_child_values=np.zeros(plies, np.float32),
        players=np.array(players, np.uint8),
        outcome=game.outcome(state) if game.is_terminal(state) else 1,
        resigned_by=None,
        resign_threshold=None,
        played_out=True,
        opening_plies=0,
        seed=7,
        game_index=index,
        weights_version=50,
        counts="visits",
    )
    return replace(record, **changes)


def test_a_record_tells_what_the_search_thought(game: Game) -> None:
    form = format_named(game, None)
    record = record_of(game, "A1 B2 pass pass", index=3, opening_plies=1)
    transcript = form.read(form.write(transcript_of(game, record, form)))
    assert transcript.actions == record.actions.tolist()
    assert transcript.players == ("azcore, step 50",) * 2
    assert transcript.headers == {"event": "self-play, seed 7, game 3"}
    assert transcript.comments[0] == "drawn at random"
    assert read_remark(transcript.comments[1]) == Remark(
        value=-0.333, visits=8, played=5, top=(("B2", 5), ("A3", 3))
    )
    for counts in ("policy", None):  # of a frame that does not say, shares are true all the same
        shares = transcript_of(game, replace(record, counts=counts), form)
        assert shares.comments[1] == "value -0.333 played 62% top B2 62%, A3 38%"
    none = np.array([], np.uint16)
    cheap = replace(
        record, visit_offsets=np.zeros(5, np.uint32), visit_actions=none, visit_counts=none
    )
    for counts in ("visits", "policy"):  # a cheap search has a value alone
        told = transcript_of(game, replace(cheap, counts=counts), form)
        assert told.comments[1] == "value -0.333"


def test_a_resigned_record_says_who_gave_up(game: Game) -> None:
    form = format_named(game, "sgf")
    record = record_of(game, "A1", resigned_by=1)
    assert transcript_of(game, record, form).result == "B+R"
    assert form.read(form.write(transcript_of(game, record, form))).result == "B+R"
    # Some formats let the player to move resign, without a name: not a word of the other's defeat.
    nameless = replace(form, resignation=lambda seat: "resigned")
    assert transcript_of(game, record, nameless).result == "resigned"
    waits = record_of(game, "A1", resigned_by=0)
    assert transcript_of(game, waits, nameless).result is None
    assert transcript_of(game, waits, form).result == "W+R"


@dataclass
class Played:
    first_seat: int
    opening_plies: int
    actions: list[int] = field(default_factory=lambda: [0, 9, 9])
    outcome: int = 1
    forfeit: str | None = None
    loser: int = 1
    start: str | None = None
    adjudicated: str | None = None


def test_games_of_a_match_name_the_players_by_their_seats(game: Game, tmp_path: Path) -> None:
    folder = tmp_path / "new/folder"
    paths = write_transcripts(
        folder,
        game,
        [Played(0, 1), Played(1, 0)],
        "sgf",
        ("one", "two"),
        headers={"date": "2026-11-20"},
        first_number=8,
    )
    assert [path.name for path in paths] == ["000008.sgf", "000009.sgf"]
    first, second = (read_transcript(path, game) for path in paths)
    assert (first.players, second.players) == (("one", "two"), ("two", "one"))
    assert first.comments == ["drawn at random", "", ""]
    assert second.comments == ["", "", ""]
    assert first.result == second.result == "B+1.5"
    assert first.headers == {"date": "2026-11-20"}
    assert sorted(folder.iterdir()) == paths  # nothing beside them
    begun = Played(0, 1, actions=[0, 9, 9], start=".../.O./... w")
    (path,) = write_transcripts(folder, game, [begun], "sgf", ("one", "two"), first_number=7)
    third = read_transcript(path, game)
    assert (third.start_text, third.actions) == (begun.start, begun.actions)
    assert third.comments == ["drawn at random", "", ""]


def test_a_game_that_was_looked_up_has_its_result(tmp_path: Path) -> None:
    chess = azcore.make("chess")
    played = [
        Played(0, 0, actions=[], outcome=outcome, loser=int(outcome > 0), adjudicated="tablebase")
        for outcome in (1, 0, -1)
    ]
    paths = write_transcripts(tmp_path, chess, played, "pgn", ("one", "two"))
    assert [read_transcript(path, chess).result for path in paths] == ["1-0", "1/2-1/2", "0-1"]


def test_what_is_no_record_file_is_refused(
    game: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b.sgf").write_text("(;SZ[19])")
    os.mkfifo(tmp_path / "pipe.sgf")  # would be waited for
    for name, kind, told in (
        ("b.sgf", InvalidTextError, "b.sgf, game 1: go: the SGF board must be 3x3"),
        ("c.sgf", GameFileError, "No such file"),
        ("c.pgn", GameError, r"must end in \.sgf, got 'c.pgn'"),
        ("c\0.sgf", GameFileError, "null"),
        ("pipe.sgf", GameFileError, "pipe.sgf: could not read transcripts: not a regular file"),
    ):
        with pytest.raises(kind, match=told) as caught:
            read_transcript(tmp_path / name, game)
        assert str(caught.value).count("transcript") <= 1
    plain = azcore.make("tic_tac_toe")
    with pytest.raises(GameError, match=r"tic_tac_toe: .* must be one of json, got 'sgf'"):
        format_named(plain, "sgf")
    with pytest.raises(GameError, match="must be one of sgf, got 'pgn'"):
        format_named(game, "pgn")
    (tmp_path / "file").write_text("")
    with pytest.raises(GameFileError, match="could not write a transcript"):
        write_transcripts(tmp_path / "file", game, [Played(0, 0)], None, ("a", "b"))


# -- command=export ----------------------------------------------------------------------------


def export_with(*overrides: str) -> int:
    return export(compose(*overrides, "command=export"))


def saved(game: Game, tmp_path: Path) -> Path:
    path = tmp_path / "run/games/records.azg"
    games = ["A1 pass pass", "B1 pass pass", "C1 pass pass", "A2 pass pass"]
    GameFile(path).append(
        record_of(game, texts, index=index)
        for texts, index in zip(games, (5, 2, 9, 4), strict=True)
    )
    return path


@pytest.mark.parametrize(
    ("first", "count", "names"),
    [
        (0, "null", ["000002", "000004", "000005", "000009"]),
        (1, 2, ["000002", "000009"]),
        (3, 9, ["000004"]),
    ],
)
def test_export_writes_the_games_asked_for(
    game: Game, tmp_path: Path, first: int, count: Any, names: list[str], capsys: Any
) -> None:
    path = saved(game, tmp_path)
    out = f"export.out={tmp_path / '7'}"
    some = [f"export.games={path}", f"export.first={first}", f"export.count={count}", out]
    assert export_with(*some) == 0
    assert sorted(file.stem for file in (tmp_path / "7").iterdir()) == names
    told = f"{len(names)} game{'s' if len(names) > 1 else ''} written to {tmp_path / '7'}\n"
    assert capsys.readouterr().out == told
    if "000009" in names:
        read = read_transcript(tmp_path / "7/000009.sgf", game)
        assert read.actions == [8, 9, 9]


def test_export_knows_a_run_and_what_its_counts_mean(game: Game, tmp_path: Path) -> None:
    records = GameFile(saved(game, tmp_path))
    run = tmp_path / "run"
    assert export_with(f"export.games={run}", "export.count=1") == 0
    assert "visits 8 played 5" in (run / "games/sgf/000005.sgf").read_text()
    # Far from the run that made them, copied records mean what they meant.
    copy = GameFile(tmp_path / "copy.azg")
    copy.append(replace(record, counts="policy") for record in records.read())
    out = f"export.out={tmp_path / 'out'}"
    assert export_with(f"export.games={copy.path}", out, "export.format=sgf") == 0
    assert "played 62% top" in (tmp_path / "out/000005.sgf").read_text()


def test_export_refuses(game: Game, tmp_path: Path) -> None:
    path = saved(game, tmp_path)
    for overrides, kind, told in (
        ([], SettingError, "export.games must be a run directory or a file of game records"),
        ([f"export.games={tmp_path}"], GameFileError, "must be a run directory or a file"),
        ([f"export.games={path}", "export.first=4"], SettingError, "number of games .*, 4, got 4"),
        ([f"export.games={path}", "export.first=-1"], SettingError, "export.first must be 0"),
        ([f"export.games={path}", "export.count=0"], SettingError, "export.count must be 1 or"),
        ([f"export.games={path}", "export.format=pgn"], GameError, "one of sgf, got 'pgn'"),
    ):
        with pytest.raises(kind, match=told):
            export_with(*overrides)
    assert sorted(p.name for p in path.parent.iterdir()) == ["records.azg"]
    GameFile(path).append([record_of(game, "A3 pass pass", index=2)])
    with pytest.raises(GameFileError, match="got two with 2"):
        export_with(f"export.games={path}", f"export.out={tmp_path / 'out'}")
    with path.open("ab") as file:
        file.write(b"AZG2")
    with pytest.raises(AzcoreError, match="byte"):
        export_with(f"export.games={path}", "export.first=4")
    other = {**game.identity, "version": 99}
    old = tmp_path / "old.azg"
    GameFile(old).append([replace(record_of(game, "A1 pass pass"), game=other)])
    with pytest.raises(GameFileError, match="'version': 99"):
        export_with(f"export.games={old}")


# -- while training ----------------------------------------------------------------------------


def files(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (run / "games/sgf").iterdir()}


def test_training_writes_some_games_of_each_generation_and_resume_the_same(
    tiny: Tiny, tmp_path: Path
) -> None:
    assert train(tiny(*GO, "run_dir=whole")) == 0
    whole = files(tmp_path / "whole")
    halves = tiny(*GO, "run_dir=halves")
    train_until(halves, 4)  # the first generation of four
    first = set(files(tmp_path / "halves"))
    last = tmp_path / "halves/checkpoints/last.ckpt"
    checkpoint = last.read_bytes()
    train_until({**halves, "resume": "halves"}, 10)
    assert set(files(tmp_path / "halves")) > first
    last.write_bytes(checkpoint)  # as if killed before it could save another
    for path in (tmp_path / "halves/games/sgf").iterdir():
        if path.stem not in {name[:6] for name in first}:
            path.write_text("half a file")
    assert train({**halves, "resume": "halves"}) == 0
    assert files(tmp_path / "halves") == whole
    records = list(GameFile(tmp_path / "whole/games/records.azg").read())
    assert 4 <= len(whole) <= min(8, len(records))  # four generations
    game = azcore.make("go", board_size=3)
    by_index = {record.game_index: record for record in records}
    for name in whole:
        read = read_transcript(tmp_path / "whole/games/sgf" / name, game)
        assert read.actions == by_index[int(name[:6])].actions.tolist()
        remark = read_remark(read.comments[-1])
        assert remark is not None
        assert re.fullmatch("[A-C][1-3]|pass", remark.top[0][0])


def test_training_refuses_a_format_that_the_game_lacks(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(GameError, match=r"tic_tac_toe: .* must be one of json, got 'sgf'"):
        train(tiny("export.per_generation=1", "export.format=sgf", "run_dir=run"))
    assert not (tmp_path / "run").exists()
    assert "game=tic_tac_toe" in TINY
