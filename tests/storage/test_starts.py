"""Starts from files as people have them: EPD, SFEN, PGN, SGF, game records."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import (
    AzcoreError,
    GameError,
    GameFileError,
    InvalidTextError,
    SettingError,
    TranscriptError,
)
from azcore.game import Game
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import parse_frame
from azcore.storage.imported_records import RecordMaker
from azcore.storage.referee import Referee
from azcore.storage.start_states import MOST_KEPT, StartStates, WindowStarts, own_starts
from azcore.storage.starts import Start, Starts, read_starts, require_plies, starts_of_game
from azcore.testing.view import content
from selfplay_kit import played

EPD = """\
# The first two of a suite, and a position of an opening.
1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - bm Qd1+; id "BK; 01";
3r1k2/4npp1/1ppr3p/p6P/P2PPPP1/1NR5/5K2/2R5 w - - bm d5; id "BK.02";

r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3
rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -
"""
PGN = """\
[Event "a (first"]
[Result "1-0"]

1. e4 e5 2. Nf3 {better than (2. f4} (2. f4 exf4 *) Nc6 3. Bb5 a6 1-0

{ between the games }
[Event "second"]
[SetUp "1"]
[FEN "4k3/P7/8/8/8/8/8/4K3 b - - 0 1"]

1... Kd7 2. a8=Q Ke6 *
[Event "third"]

1. d4 d5
"""
SGF = r"""(;GM[1]SZ[5]C[a ( in \] a value];B[aa];W[bb](;B[cc];W[dd])(;B[dd]))
(;GM[1]SZ[5]AB[bb][dd]PL[W];W[cc];B[ee])"""
SFEN = """\
startpos moves 7g7f 3c3d
lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1 moves 2g2f
lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1
"""


@pytest.fixture(scope="module")
def chess() -> Game:
    return azcore.make("chess")


@pytest.fixture(scope="module")
def go() -> Game:
    return azcore.make("go", board_size=5)


def read(
    game: Game, path: Path, text: str | None = None, plies: tuple[int, ...] = (0,), **more: Any
) -> Starts:
    if text is not None:
        path.write_text(text)
    starts = read_starts(game, [str(path)], plies, "arena.starts", **more)
    assert starts is not None
    return starts


def all_of(starts: Starts) -> list[Start]:
    """One start of each line, in the order of the file."""
    return [starts._start(line, np.random.default_rng(0)) for line in starts._lines]


def test_positions_of_an_epd_file(chess: Game, tmp_path: Path) -> None:
    starts = all_of(read(chess, tmp_path / "suite.epd", EPD))
    assert [start.text for start in starts] == [
        "1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - 0 1",
        "3r1k2/4npp1/1ppr3p/p6P/P2PPPP1/1NR5/5K2/2R5 w - - 0 1",
        "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3",
        None,  # the initial position is no start to be named
    ]
    assert [chess.current_player(start.state) for start in starts] == [1, 0, 0, 0]
    assert all(start.actions == () for start in starts)
    for start in starts[:3]:
        assert start.text is not None
        again = chess.state_from_text(start.text)
        assert content(again) == content(start.state) == content(start.before)


def test_positions_with_moves_behind_them(tmp_path: Path) -> None:
    game = azcore.make("shogi")
    starts = all_of(read(game, tmp_path / "book.sfen", SFEN))
    first, second, third = starts
    assert (first.text, second.text) == (None, None)
    assert [len(start.actions) for start in starts] == [2, 1, 0]
    state = game.initial_state()
    for text in ("7g7f", "3c3d"):
        state = game.step(state, game.text_to_action(state, text))
    assert content(first.state) == content(state)  # with its history
    assert game.current_player(third.state) == 1
    assert third.text is not None
    assert third.text.startswith("lnsgkgsn1/")


def test_games_of_a_pgn_file(chess: Game, tmp_path: Path) -> None:
    path = tmp_path / "games.PGN"
    first, second, third = all_of(read(chess, path, PGN, plies=(2,)))
    texts = azcore.game.texts_along
    assert texts(chess, chess.initial_state(), first.actions) == ["e2e4", "e7e5"]
    assert first.text is third.text is None
    assert second.text == "4k3/P7/8/8/8/8/8/4K3 b - - 0 1"
    assert texts(chess, second.before, second.actions) == ["e8d7", "a7a8q"]
    assert chess.current_player(second.state) == 1
    lengths = Counter(
        (start.text is None, len(start.actions))
        for start in islice(read(chess, path, plies=(1, 4)).in_turn(1), 300)
    )
    assert set(lengths) == {(True, 1), (True, 2), (True, 3), (True, 4)} | {
        (False, 1),
        (False, 2),
        (False, 3),
    }
    assert min(lengths.values()) > 15
    short = r"games.PGN, game 2: a game must last more than 4 plies"
    assert re.search(rf"^1 game \(2 left out: .*{short}", read(chess, path, plies=(4,)).describe())
    with pytest.raises(
        GameFileError, match=r"games.PGN, game 1: a game must last more than 9 plies"
    ):
        read(chess, path, plies=(9,))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1. e4 *", 1),
        ("1. e4 e5\n\n% a line\n; a remark\n", 1),
        ("1. e4 *\n1. d4 *\n{ the end }", 2),
        ('[Event "a"]\n\n*\n[Event "b"]\n\n1. d4', 2),
        ("\ufeff1. e4 (1. d4 *) *\r\n1. d4 1-0\r\n1. c4", 3),
    ],
)
def test_a_pgn_text_is_split_into_its_games(chess: Game, text: str, count: int) -> None:
    form = chess.transcript_formats()["pgn"]
    assert len([form.read(part) for part in form.games(text.splitlines(keepends=True))]) == count


def test_games_of_an_sgf_collection(go: Game, tmp_path: Path) -> None:
    first, second = all_of(read(go, tmp_path / "games.sgf", SGF, plies=(2,)))
    assert go.state_to_text(first.state).startswith("X..../.O.../..")
    assert first.text is None
    assert second.text == "...../.X.../...../...X./..... w"
    assert go.state_to_text(second.state) == "...../.X.../..O../...X./....X w"


def test_games_of_records(tmp_path: Path) -> None:
    game = azcore.make("tic_tac_toe")
    records = played(game, 60)
    start = "X../.O./... x"
    state = game.state_from_text(start)
    moves = [int(np.flatnonzero(game.legal_action_mask(state))[0])]
    GameFile(tmp_path / "records.azg").append(records)
    starts = all_of(read(game, tmp_path / "records.azg", plies=(3,)))
    assert [start.actions for start in starts] == [tuple(r.actions[:3].tolist()) for r in records]
    lie = replace(records[0], start=start, actions=np.array(moves, np.uint16))
    GameFile(tmp_path / "lie.azg").append([lie])
    with pytest.raises(GameFileError, match=r"lie\.azg, byte 0"):
        read(game, tmp_path / "lie.azg")


def test_a_folder_is_its_files(chess: Game, tmp_path: Path) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    (folder / "b.pgn").write_text(PGN)
    (folder / "a.epd").write_text(EPD)
    (folder / ".hidden").write_text("nothing to read")
    (folder / "deeper").mkdir()
    starts = read(chess, folder)
    assert len(starts) == 7
    assert starts.describe() == "4 positions and 3 games"
    assert all_of(starts)[0].text == "1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - 0 1"


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("x.epd", "6k1/5ppp/8/8/8/8/8/R3K3 w Q - acd 4; bm Ra8#;\nno position", "1 position (1"),
        ("x.epd", '"4k3/8/8/8/8/8/8/4K2R w - - 0 0"\n', "1 position"),
        ("x.epd", "position startpos moves e2e4\nfen 4k3/8/8/8/8/8/8/4K2R w - -", "2 positions"),
        ("x.pgn", "1. e4 e5 2. Nf3 Nc6 3. Ke5 *\n1. d4 d5 2. c4 *", "2 games"),
        ("x.pgn", "1. e4 *\n1. d4 d5 2. c4 (*", "1 game (1 left out"),
    ],
)
def test_what_others_write_is_read_as_far_as_it_can_be(
    chess: Game, tmp_path: Path, name: str, text: str, found: str
) -> None:
    assert read(chess, tmp_path / name, text, plies=(2,)).describe().startswith(found)


BAD = [
    ("x.epd", "\n# a\nnonsense", r"x.epd, line 3: .* begin there: .*'nonsense'$"),
    ("x.epd", "4k3/8/8/8/8/8/8/4K3 w - - 0 x", "x.epd, line 1: .* got 'x'"),
    ("x.epd", "4k3/8/8/8/8/8/8/4K3 w - - pv Kd2", "x.epd, line 1: .* begin there"),
    (
        "x.epd",
        "R5k1/5ppp/8/8/8/8/8/6K1 b - -",
        "x.epd, line 1: .* end of the game .checkmate., got 'R5",
    ),
    ("x.epd", "startpos moves e2e4 e2e4", "x.epd, line 1: .* e2e4 is not legal here, got 'startp"),
    ("x.epd", "startpos moves f2f3 e7e5 g2g4 d8h4", "line 1: .* end of the game .checkmate."),
    ("x.pgn", '[FEN "none"]\n*', "x.pgn, game 1: .* got 1 words in 'none'"),
    (
        "x.pgn",
        '[FEN "R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1"]\n\n*',
        "x.pgn, game 1: .* end of the game",
    ),
    ("x.azg", "AZG3", "x.azg, byte 0: there is no game record here"),
    (
        "x.epd",
        "# nothing\n",
        r"arena.starts must be files with positions or games, got \['.*x.epd'",
    ),
]


@pytest.mark.parametrize(("name", "text", "told"), BAD)
def test_what_is_no_start_is_refused_with_its_place(
    chess: Game, tmp_path: Path, name: str, text: str, told: str
) -> None:
    with pytest.raises(AzcoreError, match=told) as caught:
        read(chess, tmp_path / name, text)
    assert "\n" not in str(caught.value)


def test_files_that_are_none_are_refused(chess: Game, tmp_path: Path) -> None:
    with pytest.raises(
        SettingError, match=r"arena\.starts must be files or folders, got '.*missing'"
    ):
        read(chess, tmp_path / "missing")
    (tmp_path / "x.epd").write_bytes(b"# a\n4k3/8/8/8/8/8/8/4K3 w - - \xff\n")
    with pytest.raises(GameFileError, match=r"x.epd, line 2: .* must be a number, got 'ÿ'"):
        read(chess, tmp_path / "x.epd")
    assert read_starts(chess, [], (0,), "arena.starts") is None


def test_of_a_variant_that_forbids_an_action(go: Game, tmp_path: Path) -> None:
    variant = azcore.make("go", board_size=5, first_pass=1.0)
    text = "(;GM[1]SZ[5];B[aa];W[];B[bb])"
    assert len(all_of(read(go, tmp_path / "x.sgf", text, plies=(2,)))[0].actions) == 2
    with pytest.raises(GameFileError, match=r"x.sgf, game 1: .*begin there: .*pass.* not legal"):
        read(go, tmp_path / "x.sgf", plies=(2,), variant=variant)
    assert read(go, tmp_path / "x.sgf", plies=(1,), variant=variant).describe() == "1 game"


def test_each_is_drawn_as_often_and_by_its_numbers_alone(chess: Game, tmp_path: Path) -> None:
    starts = read(chess, tmp_path / "suite.epd", EPD)
    drawn = [starts.draw(np.random.default_rng(seed)).text for seed in range(400)]
    assert drawn == [starts.draw(np.random.default_rng(seed)).text for seed in range(400)]
    counts = Counter(drawn)
    assert len(counts) == 4
    assert min(counts.values()) > 70
    orders = set()
    for seed in range(4):
        found = [start.text for start in islice(starts.in_turn(seed), 8)]
        assert found == [start.text for start in islice(starts.in_turn(seed), 8)]
        assert len(set(found[:4])) == len(set(found[4:])) == 4  # each before any comes again
        orders |= {tuple(found[:4]), tuple(found[4:])}
    assert len(orders) > 4


def test_starts_that_a_format_cannot_express_are_refused(go: Game, tmp_path: Path) -> None:
    form = go.transcript_formats()["sgf"]
    read(go, tmp_path / "x.txt", "...../.X.../...../...X./..... w\n").require_transcripts(form)
    starts = read(go, tmp_path / "x.txt", "# a\n...../.X.../...../...X./..... w passes=1\n")
    assert starts.set_up() == f"{tmp_path}/x.txt, line 2"
    with pytest.raises(InvalidTextError, match=r"x.txt, line 2: no .sgf file can begin there"):
        starts.require_transcripts(form)
    read(go, tmp_path / "games.sgf", "(;GM[1]SZ[5];B[aa])").require_transcripts(form)


@pytest.mark.parametrize("plies", [(), (-1,), (3, 2), (1, 2, 3)])
def test_plies_are_a_number_or_a_range(plies: tuple[int, ...]) -> None:
    with pytest.raises(SettingError, match=r"arena.start_plies must be a number of plies"):
        require_plies(plies, "arena.start_plies")


def test_states_of_starts_are_made_once_and_dropped_with_their_games(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    game = azcore.make("tic_tac_toe")
    texts = ["X../.../... o", "X../.O./... x"]
    made = Counter[str]()
    usual = game.state_from_text
    monkeypatch.setattr(game, "state_from_text", lambda text: made.update([text]) or usual(text))
    states = StartStates(game)
    for _ in range(3):
        assert [game.state_to_text(states.of(text)) for text in texts] == texts
    assert game.state_to_text(states.of(None)) == ".../.../... x"
    assert made == dict.fromkeys(texts, 1)
    assert MOST_KEPT >= 1000

    window = WindowStarts(game)
    numbers = np.array([window.add(text) for text in (None, texts[0], texts[1], None, texts[1])])
    found, places = window.states_of(numbers)
    assert [game.state_to_text(state) for state in found] == texts
    assert places.tolist() == [0, 1, 2, 0, 2]
    found, places = window.states_of(numbers[2:4])
    assert [game.state_to_text(state) for state in found] == texts[1:]
    assert places.tolist() == [1, 0]
    window.drop(int(number) for number in numbers[:3] if number)
    assert len(window) == 1
    window.drop([int(numbers[4])])
    assert len(window) == 0
    assert window.states_of(np.array([0, 0]))[0] == []
    assert window.add(texts[0]) > numbers.max()  # never the number of another


# -- starts that a game names ----------------------------------------------------------------------

SEVERAL: dict[str, Any] = {"board_size": 4, "komi": 2, "other_komis": [0.5], "other_sizes": [3]}
SEVERAL_TEXTS = [
    None,
    "..../..../..../.... b komi=0.5",
    ".../.../... b",
    ".../.../... b komi=0.5",
]


def test_a_game_without_starts_begins_in_its_initial_state(go: Game, chess: Game) -> None:
    assert starts_of_game(go, go) is None
    assert starts_of_game(chess, chess) is None


def test_starts_of_a_game_are_drawn_alike() -> None:
    game = azcore.make("go", **SEVERAL)
    starts = starts_of_game(game, game)
    assert starts is not None
    assert starts.describe() == "4 positions"
    drawn = [starts.draw(np.random.default_rng(seed)) for seed in range(200)]
    counts = [sum(start.text == text for start in drawn) for text in SEVERAL_TEXTS]
    assert sum(counts) == 200
    assert min(counts) > 30
    for start in drawn[:20]:
        text = ("..../..../..../.... b") if start.text is None else start.text
        assert game.state_to_text(start.state) == game.state_to_text(start.before) == text
        assert start.actions == ()
    assert own_starts(game).keys() == set(SEVERAL_TEXTS)


def test_starts_are_those_of_self_play_s_game() -> None:
    """Early passes are forbidden from the start that is played, and its text is the game's own."""
    game = azcore.make("go", **SEVERAL)
    variant = azcore.make("go", **SEVERAL, first_pass=1.0)
    starts = starts_of_game(game, variant)
    assert starts is not None
    small = next(start for start in all_of(starts) if start.text == ".../.../... b")
    assert not variant.legal_action_mask(small.state)[-1]
    assert small.state.first_pass == 9
    assert game.legal_action_mask(game.state_from_text(".../.../... b"))[-1]


def test_a_start_that_the_game_does_not_know_is_refused() -> None:
    game = azcore.make("go", **SEVERAL)
    variant = azcore.make("go", **{**SEVERAL, "other_komis": [4]})
    with pytest.raises(GameError, match=r"start_states of go, .* b komi=4: .* komi=0.5"):
        starts_of_game(game, variant)


def test_games_by_others_may_begin_where_a_game_begins() -> None:
    game = azcore.make("go", **SEVERAL)
    form, maker = game.transcript_formats()["sgf"], RecordMaker(game)
    record = maker.record(form.read("(;SZ[3]KM[0.5]RE[B+R];B[bb];W[aa])"), form, 0)
    assert (record.start, record.outcome) == (".../.../... b komi=0.5", 1)
    Referee(game).check(parse_frame(record.to_bytes(), "here"), "here")
    with pytest.raises(TranscriptError, match="initial position"):
        maker.record(form.read("(;SZ[3]KM[0.5]RE[B+R]AB[aa];W[bb])"), form, 0)
