"""command=import: transcripts become records to learn from; what cannot be used is counted."""

from __future__ import annotations

import gc
import os
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from azcore import make
from azcore.assembly.parts import RunSettings, settings_from
from azcore.commands import import_games as command
from azcore.commands.train import train
from azcore.errors import AzcoreError, TranscriptError
from azcore.game import Game, Transcript
from azcore.learner.imported_games import read_games
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord
from azcore.storage.referee import Referee
from azcore.storage.transcripts import OPENING, format_of_path, formats_of, transcript_of
from conftest import TINY

CommandLine = Callable[..., tuple[int, str, str]]
Tiny = Callable[..., dict[str, Any]]
MATE = "1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7#"
LONG = "1. d4 d5 2. c4 e6 3. Nc3 Nf6 4. Nf3 Be7 5. g3 O-O"
ALL = "import.min_plies=1"


def pgn(moves: str, result: str, headers: str = "") -> str:
    return f'[Event "x"]\n{headers}[Result "{result}"]\n\n{moves} {result}\n\n'


def sgf(moves: str, size: int = 5, **properties: str) -> str:
    root = "".join(f"{name}[{value}]" for name, value in properties.items())
    played = "".join(f";{'BW'[i % 2]}[{at}]" for i, at in enumerate(moves.split()))
    return f"(;GM[1]SZ[{size}]{root}{played.replace('[--]', '[]')})"


def records(path: Path | str) -> list[GameRecord]:
    return list(GameFile(Path(path)).read())


def rows(output: str) -> dict[str, int]:
    """The table of reasons."""
    lines = [re.split(r"\s{2,}", line.strip()) for line in output.splitlines()]
    return {cells[0]: int(cells[1]) for cells in lines if len(cells) == 3 and cells[1].isdigit()}


@pytest.fixture(scope="module")
def chess() -> Game:
    return make("chess")


@pytest.fixture(scope="module")
def go() -> Game:
    return make("go", board_size=5, komi=0.5)


def test_many_games_of_one_file_and_the_reasons_why_some_are_left_out(
    azcore: CommandLine, tmp_path: Path, chess: Game
) -> None:
    games = [
        pgn(MATE, "1-0"),
        pgn(LONG, "1/2-1/2", '[White "J\xf6rg"]\n'),  # a draw by agreement
        pgn(f"{LONG} N", "0-1"),
        pgn(LONG, "*"),
        pgn("1. e4 Ke4", "1-0"),
        pgn("1. e4 What", "1-0"),
        pgn(MATE + " Kd8", "1-0"),
        pgn(MATE, "0-1"),
        pgn("1. e4", "1-0", '[SetUp "1"]\n[FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]\n'),
        pgn(LONG, "1-0", '[Variant "Atomic"]\n'),
        pgn("1. e4 { never closed", "1-0"),
        pgn(LONG, "1-0"),
        pgn("1. e4", "1-0"),
    ]
    Path("many.pgn").write_text("".join(games), encoding="latin-1")
    status, output, errors = azcore("command=import", "game=chess", "games=many.pgn", "out=e.azg")
    assert (status, errors) == (0, "")
    # The mate has 7 plies, so it is too short here.
    assert "e.azg: 3 games with 30 positions, of 13 games in 1 file" in output
    assert rows(output) == {
        "fewer than 10 plies": 4,
        "no result": 1,
        "a move that is not legal": 1,
        "moves after the end (checkmate)": 1,
        "a handicap or another start": 1,
        "variant Atomic": 1,
        "an unclosed {": 1,
    }
    assert "many.pgn, game 5: chess: move 1... of the PGN game: Ke4 is not legal here" in output
    assert "ignored in the games taken: a word that is not a move (1)" in output
    kept = records("e.azg")
    assert [record.outcome for record in kept] == [0, -1, 1]
    assert [record.agreed for record in kept] == [True, False, False]
    assert [record.resigned_by for record in kept] == [None, 0, 1]
    assert [record.game_index for record in kept] == [0, 1, 2]
    assert azcore("command=import", "game=chess", "games=many.pgn", "out=f.azg", ALL)[0] == 0
    first, *_ = records("f.azg")
    assert (first.outcome, first.resigned_by, first.agreed, len(first)) == (1, None, False, 7)
    assert first.players.tolist() == [0, 1, 0, 1, 0, 1, 0]


def test_a_contradicted_result(azcore: CommandLine, tmp_path: Path) -> None:
    """Of chess the file is wrong; in Go the players knew which stones were dead."""
    Path("wrong.pgn").write_text(pgn(MATE, "0-1") + pgn(MATE, "*"))
    output = azcore("command=import", "game=chess", "games=wrong.pgn", "out=e.azg", ALL)[1]
    assert rows(output) == {"a result that the rules contradict": 1}
    assert [record.outcome for record in records("e.azg")] == [1]
    small = ("game=go", "game.board_size=5", "game.komi=0.5", ALL)
    Path("won.sgf").write_text(sgf("cc -- --", RE="B+24.5"))
    Path("lost.sgf").write_text(sgf("cc -- --", RE="W+3.5"))
    Path("said_nothing.sgf").write_text(sgf("cc -- --"))
    assert azcore("command=import", *small, "games=[.]", "out=g.azg")[0] == 0
    lost, silent, won = records("g.azg")
    assert (won.outcome, won.resigned_by, len(won)) == (1, None, 3)
    assert (silent.outcome, silent.resigned_by, len(silent)) == (1, None, 3)
    assert (lost.outcome, lost.resigned_by, len(lost)) == (-1, 0, 2)  # a ply before the end


def test_board_komi_rules_and_ranks(azcore: CommandLine, tmp_path: Path) -> None:
    small = ("command=import", "game=go", "game.board_size=5", "game.komi=0.5", ALL)
    files = {
        "plain": sgf("cc", RE="B+R", KM="0.5", RU="Chinese", BR="3d", WR="1p"),
        "size": sgf("cc", 9, RE="B+R"),
        "komi": sgf("cc", RE="B+R", KM="6.5"),
        "japanese": sgf("cc", RE="B+R", RU="Japanese", BR="1k", WR="2d"),
        "stones": sgf("cc", RE="W+R", HA="2", AB="bb"),
        "handicap": sgf("cc", RE="W+R", HA="3"),
        "other": sgf("cc", RE="W+R").replace("GM[1]", "GM[2]"),
        "turn": "(;SZ[5]RE[B+R];B[cc];B[bb])",
        "later": "(;SZ[5]RE[B+R];B[cc];AW[bb])",
        "void": sgf("cc", RE="Void"),
    }
    for name, text in files.items():
        Path(f"{name}.sgf").write_text(text)
    status, output, _ = azcore(*small, "games=[*.sgf]", "out=e.azg")
    assert status == 0
    assert rows(output) == {
        "a board of 9x9": 1,
        "other rules: komi 6.5": 1,
        "other rules: Japanese rules": 1,
        "a handicap or another start": 1,
        "other rules: handicap 3": 1,
        "another game than Go": 1,
        "a move out of turn": 1,
        "stones set up during the game": 1,
        "no result": 1,
    }
    assert len(records("e.azg")) == 1
    azcore(*small, "games=[*.sgf]", "out=f.azg", "import.other_rules=true")
    assert len(records("f.azg")) == 4
    for lowest, count in ((3, 1), (0, 2)):
        out, all_rules = f"{lowest}.azg", "import.other_rules=true"
        azcore(*small, "games=[*.sgf]", f"out={out}", all_rules, f"import.min_rating={lowest}")
        assert len(records(out)) == count
    output = azcore(*small, "games=[*.sgf]", "out=h.azg", "import.min_rating=3")[1]
    assert rows(output)["no rating"] == 1  # of the one without a result
    status, output, errors = azcore(*small, "games=[*.sgf]", "out=i.azg", "import.min_rating=10")
    assert status == 2
    assert rows(output)["rated below 10"] == 1
    assert "azcore: none of 10 games can be used, so i.azg was not written" in errors
    assert not Path("i.azg").exists()


def test_games_that_were_not_decided_on_the_board(azcore: CommandLine, tmp_path: Path) -> None:
    for number, how in enumerate(("Time forfeit", "abandoned", "normal", "checkmate")):
        Path(f"{number}.pgn").write_text(f'[Termination "{how}"]\n\n1. e4 e5 1-0\n')
    line = ("import", "game=chess", ALL, "games=[*.pgn]")
    azcore(*line, "out=all.azg")
    assert len(records("all.azg")) == 4
    status, output, _ = azcore(*line, "out=a.azg", "import.off_the_board=false")
    assert (status, rows(output)) == (0, {"decided by time": 1, "decided by absence": 1})
    for text, form, how in (
        ("(;SZ[9]RE[B+T];B[aa])", "go sgf", "time"),
        ("(;SZ[9]RE[W+Forfeit];B[aa])", "go sgf", "forfeit"),
        ("(;SZ[9]RE[B+3.5];B[aa])", "go sgf", ""),
        ("(;SZ[9]RE[B+R];B[aa])", "go sgf", ""),
    ):
        game = make(form.split()[0], board_size=9)
        assert game.transcript_formats()[form.split()[1]].read(text).off_the_board == how


def test_files_folders_and_patterns_each_file_once(azcore: CommandLine, tmp_path: Path) -> None:
    small = ("command=import", "game=go", "game.board_size=5", "game.komi=0.5", ALL, "out=e.azg")
    Path("in/deep").mkdir(parents=True)
    for number, name in enumerate(("in/b.sgf", "in/deep/a.SGF", "c[1].sgf", "in/no.txt")):
        Path(name).write_text(sgf("aa ba ca da"[: 3 * number + 2], RE="B+R"))
    Path("in/two.sgf").write_text(sgf("ee", RE="B+R") + "\n\n" + sgf("dd", RE="W+R") + " junk")
    assert azcore(*small, "games=[in,'in/**','c[1].sgf','*.sgf']")[0] == 0
    assert sorted(len(record) for record in records("e.azg")) == [1, 1, 1, 2, 3]
    for pattern, told in (
        ("nothing/*.sgf", "games: nothing/*.sgf must name files of go that end in .sgf, got none"),
        ("in/no.txt", "games: in/no.txt must name files of go that end in .sgf, got others"),
    ):
        status, _, errors = azcore(*small[:-1], f"games=[in,{pattern}]", "out=g.azg")
        assert (status, errors) == (2, f"azcore: {told}\n")
    assert not Path("g.azg").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["out=e.azg"], "games must be transcripts, folders of them or patterns"),
        (["games=[a.pgn]"], "out must be the file of game records to write, such as experts.azg"),
        (["games=[a.pgn]", "out=e.pgn"], "out must be the file of game records to write"),
        (["games=[a.pgn]", "out=there.azg"], "there.azg already exists; choose another file"),
        (["games=[a.pgn]", "out=e.azg", "import.min_plies=0"], "min_plies must be 1 or more"),
        (["games=[a.pgn]", "out=e.azg", "run_dir=x"], "out names the file to write"),
        (["games=[a.pgn]", "out=a.pgn/e.azg"], "could not write game records"),
    ],
)
def test_one_sentence_for_what_cannot_be_done(
    azcore: CommandLine, tmp_path: Path, words: list[str], told: str
) -> None:
    Path("a.pgn").write_text(pgn(LONG, "1-0"))
    Path("there.azg").write_bytes(b"mine")
    status, output, errors = azcore("command=import", "game=chess", *words)
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert told in errors
    assert Path("there.azg").read_bytes() == b"mine"
    assert sorted(os.listdir()) == ["a.pgn", "there.azg"]


def test_games_of_any_game_are_imported_from_moves(azcore: CommandLine) -> None:
    """A game without formats of its own has one line of JSON a game."""
    words = ("command=import", "game=tic_tac_toe", "games=[a.pgn]", "out=e.azg")
    Path("a.pgn").write_text(pgn(LONG, "1-0"))
    assert "must name files of tic_tac_toe that end in .json, .jsonl, got" in azcore(*words)[2]
    game = make("tic_tac_toe")
    form = formats_of(game)["json"]
    rows = form.write(Transcript(actions=[0, 3, 1, 4, 2])), form.write(Transcript(actions=[4]))
    Path("a.json").write_text("".join(rows))
    words = ("command=import", "game=tic_tac_toe", "games=[a.json]", "out=e.azg", ALL)
    assert azcore(*words)[0] == 0
    (record,) = Referee(game).read(GameFile(Path("e.azg")))
    assert (record.actions.tolist(), record.outcome) == ([0, 3, 1, 4, 2], 1)


def test_an_error_midway_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, azcore: CommandLine
) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    Path("a.pgn").write_text(pgn(LONG, "1-0") * 3)
    monkeypatch.setattr(command.Tally, "read", property(interrupted))
    assert azcore("command=import", "game=chess", "games=a.pgn", "out=e.azg")[0] == 130
    assert os.listdir() == ["a.pgn"]


def test_a_file_written_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, azcore: CommandLine
) -> None:
    take = command._take

    def another_writes(*words: Any) -> None:
        take(*words)
        Path("e.azg").write_bytes(b"theirs")

    Path("a.pgn").write_text(pgn(LONG, "1-0"))
    monkeypatch.setattr(command, "_take", another_writes)
    status, _, errors = azcore("command=import", "game=chess", "games=a.pgn", "out=e.azg")
    assert (status, Path("e.azg").read_bytes()) == (2, b"theirs")
    assert "already exists" in errors


def test_a_long_file_takes_the_memory_of_one_game(tmp_path: Path, azcore: CommandLine) -> None:
    """A PGN with few moves to a game, so that it is long and soon read."""
    one = pgn("1. e4 { " + "said " * 2000 + "} e5", "1-0")
    peaks = []
    for count in (5, 200):
        Path(f"{count}.pgn").write_text(one * count)
        gc.collect()
        tracemalloc.start()
        words = ("game=chess", f"games={count}.pgn", f"out={count}.azg", ALL)
        assert azcore("command=import", *words)[0] == 0
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(records(f"{count}.azg")) == count
    assert peaks[1] < peaks[0] + 500_000  # of 2 MB
    # A game that is longer than any is left out, and it alone.
    huge = pgn("1. e4 { " + "said\n" * 300_000 + "} e5", "1-0")
    Path("huge.pgn").write_text(huge + one)
    output = azcore("command=import", "game=chess", "games=huge.pgn", "out=h.azg", ALL)[1]
    assert rows(output) == {"too long": 1}
    assert len(records("h.azg")) == 1


def test_signs_that_a_terminal_would_obey_are_spelled_out(
    azcore: CommandLine, tmp_path: Path
) -> None:
    Path("a.pgn").write_text(pgn(LONG, "1-0") + pgn(LONG, "1-0", '[Variant "\x1b]0;t\x07[red]"]\n'))
    status, output, _ = azcore("command=import", "game=chess", "games=a.pgn", "out=e.azg")
    assert status == 0
    assert "\x1b" not in output
    assert "[red]" in output


def test_reasons_of_any_number_make_a_table_of_a_page() -> None:
    tally = command.Tally()
    for number in range(1000):
        tally.leave_out(TranscriptError(f"sentence {number}", f"komi {number}"))
    assert len(tally.left_out) == command.MOST_REASONS + 1
    assert tally.left_out[command.REST] == 1000 - command.MOST_REASONS
    assert tally.read == 1000


@pytest.mark.parametrize(
    ("form", "encoding", "suffix"),
    [("kif", "cp932", ".kif"), ("kif", "utf-8", ".kifu"), ("csa", "cp932", ".csa")],
)
def test_shogi_in_both_formats_and_encodings(
    azcore: CommandLine, tmp_path: Path, form: str, encoding: str, suffix: str
) -> None:
    import azcore as package

    game = package.make("shogi")
    writer = formats_of(game)[form]
    rng, state, actions = np.random.default_rng(1), game.initial_state(), []
    for _ in range(12):
        actions.append(int(rng.choice(np.flatnonzero(game.legal_action_mask(state)))))
        state = game.step(state, actions[-1])
    texts = []
    for result in (writer.resignation(0), writer.draw, None):
        text = writer.write(Transcript(actions=actions, players=("羽生", "森内"), result=result))
        texts.append(text)
    texts[0] = texts[0].replace("N+", "'black_rate:x:2100.5\n'white_rate:y:1900\nN+")
    for number, text in enumerate(texts):
        Path(f"{number}{suffix}").write_bytes(text.encode(encoding))
    Path(f"all{suffix}").write_bytes("/\n".join(texts).encode(encoding))
    words = ("command=import", "game=shogi", f"games=['*{suffix}']", ALL)
    status, _, errors = azcore(*words, "out=e.azg")
    assert (status, errors) == (0, "")
    outcomes = [record.outcome for record in records("e.azg")]
    assert outcomes == ([-1, 0, -1, 0] if form == "csa" else [-1, 0])  # seat 0 was to move
    if form == "csa":
        azcore(*words, "out=f.azg", "import.min_rating=1900")
        assert len(records("f.azg")) == 2


def test_records_become_transcripts_again(azcore: CommandLine, tmp_path: Path, chess: Game) -> None:
    Path("a.pgn").write_text(pgn(LONG, "1/2-1/2") + pgn(LONG, "0-1") + pgn(MATE, "1-0"))
    assert azcore("command=import", "game=chess", "games=a.pgn", "out=e.azg", ALL)[0] == 0
    form = format_of_path(chess, Path("a.pgn"))
    texts = [form.write(transcript_of(chess, record, form)) for record in records("e.azg")]
    assert [form.read(text).result for text in texts] == ["1/2-1/2", "0-1", "1-0"]
    assert not any("value" in text or "azcore" in text for text in texts)
    Path("again.pgn").write_text("".join(texts))
    assert azcore("command=import", "game=chess", "games=again.pgn", "out=f.azg", ALL)[0] == 0
    assert Path("f.azg").read_bytes() == Path("e.azg").read_bytes()


def test_supervised_training_learns_from_the_file(
    azcore: CommandLine, tiny: Tiny, tmp_path: Path, go: Game
) -> None:
    rng, form = np.random.default_rng(2), go.transcript_formats()["sgf"]
    Path("sgf").mkdir()
    for number in range(12):
        state, actions = go.initial_state(), []
        while len(actions) < 12:
            actions.append(int(rng.choice(np.flatnonzero(go.legal_action_mask(state))[:-1])))
            state = go.step(state, actions[-1])
        text = form.write(Transcript(actions=actions, result="B+R" if number % 2 else "W+R"))
        Path(f"sgf/{number}.sgf").write_text(text)
    small = ["game=go", "game.board_size=5", "game.komi=0.5"]
    assert azcore("command=import", *small, "games=sgf", "out=experts.azg")[0] == 0
    given = [*TINY[1:], *small, "algorithm=supervised", "supervised.held_out=0.2"]
    config = tiny(*given, "supervised.games=[experts.azg]", "run_dir=run", "trainer.max_steps=8")
    division = read_games(settings_from(config, RunSettings).supervised, go)
    assert len(division.learned) + len(division.held_out) == 12
    learned = division.learned[0]
    assert learned.num_samples == 12
    assert [int(learned.policy_target(ply, go.num_actions).argmax()) for ply in range(12)] == (
        learned.actions.tolist()
    )
    assert train(config) == 0
    with pytest.raises(
        AzcoreError, match="which command=import makes from transcripts, got 'sgf/0"
    ):
        train(tiny(*given, "supervised.games=[sgf/0.sgf]", "run_dir=other"))


@pytest.mark.parametrize(
    ("name", "kind"), [("go", "sgf"), ("chess", "pgn"), ("shogi", "csa"), ("shogi", "kif")]
)
def test_moves_that_were_drawn_at_random_are_not_learned(
    azcore: CommandLine, tmp_path: Path, name: str, kind: str
) -> None:
    game = make(name, board_size=5) if name == "go" else make(name)
    form, state, actions = formats_of(game)[kind], game.initial_state(), []
    while len(actions) < 12:
        actions.append(int(np.flatnonzero(game.legal_action_mask(state))[len(actions)]))
        state = game.step(state, actions[-1])
    result, comments = form.resignation(0), ([], [OPENING] * 4, ["", OPENING], [OPENING, "x"])
    for number, each in enumerate(comments):
        text = form.write(Transcript(actions=actions, comments=each, result=result))
        Path(f"{number}.{kind}").write_text(text)
    words = [f"game={name}", *(["game.board_size=5"] if name == "go" else [])]
    status, _, errors = azcore(
        "command=import", *words, f"games=[*.{kind}]", "out=e.azg", "import.min_plies=1"
    )
    assert (status, errors) == (0, "")
    assert [record.opening_plies for record in records("e.azg")] == [0, 4, 0, 1]


def test_an_agreed_draw_is_one(chess: Game) -> None:
    from azcore.storage.game_record import parse_frame
    from azcore.storage.imported_records import RecordMaker

    form = chess.transcript_formats()["pgn"]
    record = RecordMaker(chess).record(form.read(pgn(LONG, "1/2-1/2")), form, 3)
    again = parse_frame(record.to_bytes(), "here")
    Referee(chess).check(again, "here")
    assert again.agreed
    for change, told in (
        (b'"agreed":1   ', "agreed must be true or false"),
        (b'"agreed":false', "must end by the rules or by resignation"),
    ):
        spoilt = _changed(record, b'"agreed":true', change)
        with pytest.raises(AzcoreError, match=told):
            Referee(chess).check(parse_frame(spoilt, "here"), "here")
    with pytest.raises(AzcoreError, match="ended by agreement must be a draw"):
        parse_frame(_changed(record, b'"outcome":0', b'"outcome":1'), "here")
    mated = RecordMaker(chess).record(form.read(pgn(MATE, "1-0")), form, 3)
    lie = _changed(mated, b'"outcome":1', b'"agreed":true,"outcome":0')
    with pytest.raises(AzcoreError, match="got a resignation or an agreement"):
        Referee(chess).check(parse_frame(lie, "here"), "here")


def _changed(record: GameRecord, old: bytes, new: bytes) -> bytes:
    """The record's frame with other words in its header and the checksum that fits."""
    import struct
    import zlib

    frame = record.to_bytes()
    assert frame.count(old) == 1
    payload = frame[12:].replace(old, new)
    return struct.pack("<4sII", frame[:4], len(payload), zlib.crc32(payload)) + payload
