# ruff: noqa: RUF001 (KIF has wide colons and digits)
"""Files as other programs and people write them: a table, and every reader agrees with each row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.commands import import_games as command
from azcore.engine.gtp import GtpServer
from azcore.engine.uci import UciServer
from azcore.engine.usi import UsiServer
from azcore.errors import AzcoreError, TranscriptError
from azcore.game import Game, texts_along
from azcore.storage.books import CountedBook, read_book
from azcore.storage.game_record import GameRecord
from azcore.storage.imported_records import RecordMaker
from azcore.storage.puzzles import Puzzle, read_puzzles
from azcore.storage.starts import read_starts
from azcore.storage.transcripts import read_transcripts
from azcore.web.files import paste
from protocol_kit import Recorder, make_engine

GAMES = {".sgf": "go", ".pgn": "chess", ".epd": "chess"}  # others are of shogi
SERVERS: dict[str, Any] = {"go": GtpServer, "chess": UciServer, "shogi": UsiServer}
KOMI = 7.5
IMPORT = command.ImportSettings(min_plies=1, min_rating=None, other_rules=False, off_the_board=True)


@dataclass(kw_only=True)
class Played:
    """The right value of one game in a file."""

    moves: str = ""  # as the game writes them
    outcome: int | None = None
    start: str | None = None
    komi: float = KOMI
    left_out: str = ""  # why import leaves it out
    fault: str = ""  # the error at the first move that cannot be played
    also: dict[str, Any] = field(default_factory=dict)  # other fields of the transcript


def played(moves: str, outcome: int | None = None, **more: Any) -> Played:
    named = {key: more.pop(key) for key in ("start", "komi", "left_out", "fault") if key in more}
    return Played(moves=moves, outcome=outcome, also=more, **named)


def refused(left_out: str, fault: str) -> Played:
    return Played(left_out=left_out, fault=fault)


@dataclass
class File:
    name: str
    text: str
    wanted: Sequence[Any]  # of each game or line
    encoding: str = "utf-8"

    def write(self, folder: Path) -> tuple[Game, Path]:
        path = folder / self.name
        path.write_bytes(self.text.encode(self.encoding))
        return game_of(GAMES.get(path.suffix, "shogi")), path


def pgn(moves: str, result: str = "1-0", tag: str = "") -> str:
    return f'[Event "x"]\n{tag}[Result "{result}"]\n\n{moves}\n\n'


def kif(*lines: str) -> str:
    heading = "手合割：平手\n先手：甲\n後手：乙\n手数----指手---------消費時間--\n"
    return heading + "".join(f"{line}\n" for line in lines)


def kif_ended(*end: str) -> str:
    moves = ("７六歩(77)", "３四歩(33)", "２二角成(88)", "同　銀(31)")
    seconds = (1, 1, 2, 2)
    numbered = enumerate(zip(moves, seconds, strict=True), 1)
    return kif(*(f"{i:4} {move}   ( 0:01/00:00:0{at})" for i, (move, at) in numbered), *end)


SPANISH, SPANISH_PGN = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6", "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6"
PASSED = "e2e4 d7d5 e4e5 f7f5 e5f6 g8f6 g1f3 c7c5"
E4_E5 = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"
THIRD = "1. e4 e5 2. Nf3 Nf6 3. Ng1 Ng8 4. Nf3 Nf6 5. Ng1 Ng8 6. Nf3 Nf6 7. d4 1-0"
TO_THIRD = "e2e4 e7e5" + " g1f3 g8f6 f3g1 f6g8" * 2
TWO, TWO_SGF = "E5 G7", ";B[ee];W[gc])"
FOUR, FOUR_SGF = "E5 G7 C3 G3", ";B[ee];W[gc];B[cg];W[gg])"
EMPTY = "/........."
STONES = f"{EMPTY * 2}/..X......{EMPTY * 3}/......X..{EMPTY * 2} w"[1:]
TRADE = "7g7f 3c3d 8h2b+ 3a2b"
WORD, START, NO_RESULT = "a word that is not a move", "a handicap or another start", "no result"

TRANSCRIPTS = [
    File("anti.pgn", pgn("1. e4 e5 2. Ke2 d5 3. Bb5 a6 1-0", tag='[Variant "Antichess"]\n'),
         [refused("variant Antichess", "must be standard chess, got [Variant 'Antichess']")]),
    File("bom_pgn.pgn", pgn(f"{SPANISH_PGN} 1-0") + pgn(f"{SPANISH_PGN} 0-1", "0-1"),
         [played(SPANISH, 1), played(SPANISH, -1)], "utf-8-sig"),
    File("ep_glued.pgn", pgn("1. e4 d5 2. e5 f5 3. exf6ep Nxf6 4. Nf3 c5 1-0"),
         [played(PASSED, 1, ignored=[])]),
    File("ep_suffix.pgn", pgn("1. e4 d5 2. e5 f5 3. exf6 e.p. Nxf6 4. Nf3 c5 1-0"),
         [played(PASSED, 1, ignored=[WORD])]),
    File("eval_symbols.pgn", pgn("1. e4 e5 2. Nf3 Nc6 = 3. Bb5 +/= a6 +-  1-0"),
         [played(SPANISH, 1)]),
    File("fen_lowertag_legal.pgn", pgn("2. Nf3 Nc6 1-0", tag=f'[Fen "{E4_E5}"]\n'),
         [played("g1f3 b8c6", 1, start=E4_E5, left_out=START)]),
    File("fen_move0.pgn",
         pgn("1. Kd2 Kd7 1-0", tag='[SetUp "1"]\n[FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 0"]\n'),
         [played("e1d2 e8d7", 1, start="4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", left_out=START)]),
    File("null_in_var.pgn",
         pgn("1. e4 e5 2. Nf3 Nc6 (2... d6 3. -- Bg4 {threat}) 3. Bb5 a6 1-0"),
         [played(SPANISH, 1, ignored=[])]),
    File("pm_symbol.pgn",
         pgn("1. e4 e5 2. Nf3 Nc6? ± {MISTAKE (+3.05)} ({(+1.06) best was} 2... d6) 3. Bb5 a6 1-0"),
         [played(SPANISH, 1, ignored=[WORD])]),
    File("result_colon.pgn", pgn(f"{SPANISH_PGN} 1:0"), [played(SPANISH, 1)]),
    File("result_half.pgn", pgn(f"{SPANISH_PGN} 1/2", "1/2"),
         [played(SPANISH, 0, result="1/2-1/2")]),
    File("three_then_on.pgn", pgn(THIRD) + pgn("1. d4 d5 2. c4 e6 1-0").replace("x", "y"),
         [played(TO_THIRD, 1, left_out="moves after the end (threefold repetition)",
                 fault="move 6. of the PGN game: the game was over (threefold repetition) before"),
          played("d2d4 d7d5 c2c4 e7e6", 1)]),
    File("zh_drop.pgn", pgn("1. e4 e5 2. Nf3 Nc6 3. @h3 a6 1-0", tag='[Variant "Crazyhouse"]\n'),
         [refused("variant Crazyhouse", "must be standard chess, got [Variant 'Crazyhouse']")]),
    File("euckr.sgf", f"(;SZ[9]CA[EUC-KR]PB[이세돌]PW[박정환]RE[B+R]{TWO_SGF}",
         [played(TWO, 1, players=("이세돌", "박정환"), ignored=[])], "euc-kr"),
    File("ff3_long.sgf", "(;FF[3]GaMe[1]SiZe[9]KoMi[7.5]PlayerBlack[Sato]PlayerWhite[Kim]"
         "REsult[B+R];Black[ee];White[gc])", [played(TWO, 1, players=("Sato", "Kim"))]),
    File("gb18030.sgf", "(;SZ[9]CA[GB18030]PB[柯洁]PW[朴廷桓]GN[围棋]RE[黑中盘胜];B[ee];W[gc]"
         "C[好手])", [played(TWO, 1, players=("柯洁", "朴廷桓"), comments=["", "好手"])],
         "gb18030"),
    File("ha_empty.sgf", f"(;GM[1]SZ[9]HA[]RE[B+R]{FOUR_SGF}", [played(FOUR, 1)]),
    File("ha_text.sgf", f"(;GM[1]SZ[9]HA[互先]KM[7.5]RE[B+R]{FOUR_SGF}", [played(FOUR, 1)]),
    File("km_comma.sgf", f"(;GM[1]SZ[9]KM[7,5]RE[B+R]{FOUR_SGF}", [played(FOUR, 1)]),
    File("km_empty.sgf", f"(;GM[1]SZ[9]KM[]RE[B+R]{FOUR_SGF}", [played(FOUR, 1, ignored=[])]),
    File("km_fox375.sgf",  # 3.75 stones are 7.5 points
         f"(;GM[1]SZ[9]KM[375]HA[0]RU[Chinese]AP[foxwq]RE[W+R]{FOUR_SGF}", [played(FOUR, -1)]),
    File("km_in_comment.sgf", f"(;GM[1]C[old record: KM[0\\]]SZ[9]KM[7.5]{TWO_SGF}",
         [played(TWO, left_out=NO_RESULT)]),
    File("km_text.sgf", f"(;GM[1]SZ[9]KM[6.5目]RE[B+R]{FOUR_SGF}",
         [played(FOUR, 1, komi=6.5, left_out="other rules: komi 6.5")]),
    File("koi8.sgf", f"(;SZ[9]CA[KOI8-R]PB[Иван]PW[Пётр]RE[B+R]{TWO_SGF}",
         [played(TWO, 1, players=("Иван", "Пётр"))], "koi8-r"),
    File("mail_header.sgf", "From: x <a@b> Mon, 1 Jan 01:23:45 +0900 (JST)\nSubject: game\n\n"
         f"(;SZ[9]RE[B+R]{TWO_SGF}", [played(TWO, 1)]),
    File("minizero_re.sgf", f"(;FF[4]CA[UTF-8]SZ[9]KM[7.5]RE[1.000000]{TWO_SGF}",
         [played(TWO, 1)]),
    File("rank_zh.sgf", f"(;SZ[9]BR[3段]WR[5级]RE[B+R]{TWO_SGF}",
         [played(TWO, 1, ratings=(3.0, -4.0))]),
    File("re_zh.sgf", f"(;SZ[9]RE[黑中盘胜]{TWO_SGF}", [played(TWO, 1)]),
    File("setup_node2.sgf", "(;SZ[9]RE[W+R];AB[cc][gg]PL[W];W[ee];B[gc])",
         [played(TWO, -1, start=STONES, left_out=START)]),
    File("sjis_5c.sgf", f"(;SZ[9]CA[Shift_JIS]PB[ソ表]PW[十構]RE[B+R]{TWO_SGF}",
         [played(TWO, 1, players=("ソ表", "十構"), ignored=[])], "cp932"),
    File("sjis_5d.sgf",
         f"(;SZ[9]PB[高尾紳路]PW[ゾロ]RE[B+R]{TWO_SGF}\n(;SZ[9]RE[W+R];B[cc];W[gg])",
         [played(TWO, 1, players=("高尾紳路", "ゾロ"), ignored=["an encoding that was guessed"]),
          played("C7 G3", -1)], "cp932"),
    File("sz_pair.sgf", f"(;GM[1]SZ[9:9]KM[7.5]RE[W+R]{FOUR_SGF}", [played(FOUR, -1)]),
    File("sz_rect.sgf", f"(;GM[1]SZ[9:13]KM[7.5]RE[W+R]{FOUR_SGF}",
         [refused("a board of 9x13", "an SGF board must be square, got 9x13")]),
    File("three_passes.sgf", f"(;SZ[9];B[ee];W[gc];B[cg];W[];B[];W[])(;SZ[9]{FOUR_SGF}",
         [played(f"{TWO} C3 pass pass", ignored=["a pass after the end"]),
          played(FOUR, left_out=NO_RESULT)]),
    File("utf16.sgf", f"(;SZ[9]RE[B+R]{TWO_SGF}", [played(TWO, 1)], "utf-16"),
    File("k2_ki2.kif", kif("▲７六歩　△３四歩　▲２六歩", "まで3手で先手の勝ち"),
         [played("7g7f 3c3d 2g2f", 1, players=("甲", "乙"))]),
    File("k_end_不戦勝.kif", kif_ended("   5 不戦勝"), [played(TRADE, 1, off_the_board="absence")]),
    File("k_end_勝ち宣言.kif", kif_ended("   5 勝ち宣言"), [played(TRADE, 1)]),
    File("k_end_封じ手.kif", kif_ended("   5 封じ手       (33:00/04:12:00)"),
         [played(TRADE, left_out=NO_RESULT)]),
    File("k_end_時間切れ.kif", kif_ended("   5 時間切れ"),
         [played(TRADE, -1, off_the_board="time")]),
    File("k_half_digits.kif", kif("   1 ７六歩(77)", "   2 3四歩(33)", "   3 ２二角成(88)",
                                  "   4 同銀(31)", "   5 投了"), [played(TRADE, -1)]),
    File("k_marks.kif", kif("   1 ▲７六歩(77)", "   2 △３四歩(33)", "   3 投了"),
         [played("7g7f 3c3d", -1)]),
    File("k_narazu.kif", kif("   1 ７六歩(77)", "   2 ３四歩(33)", "   3 ２二角不成(88)",
                             "   4 同　銀(31)", "   5 投了"),
         [played("7g7f 3c3d 8h2b 3a2b", -1)]),
    File("k_noend.kif", kif_ended(), [played(TRADE, left_out=NO_RESULT)]),
    File("c2_space_comma.csa", "V2.2\nPI\n+\n+7776FU  ,T0\n-3334FU\n%TORYO\n",
         [played("7g7f 3c3d", -1)]),
    File("c_trailing_slash.csa",
         "V2.2\nPI\n+\n+7776FU\n-3334FU\n+8822UM\n-3122GI\n%TORYO\n/\n/\n", [played(TRADE, -1)]),
]  # fmt: skip


@dataclass
class Position:
    """The right value of one line in a file of positions."""

    text: str  # after its moves, with the counters of a position; empty: refused
    solutions: str = ""  # moves in UCI
    name: str = ""  # its place if empty
    fault: str = ""  # why the line is no puzzle, or no position at all


KNIGHTS = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq -"
NO_BEST = "a puzzle must be a position and `bm MOVES;` or `am MOVES;`"
POSITIONS = [
    File("acd.epd", '6k1/5ppp/8/8/8/8/8/R3K3 w Q - acd 4; bm Ra8#; id "back rank";\n',
         [Position("6k1/5ppp/8/8/8/8/8/R3K3 w Q - 0 1", "a1a8", "back rank")]),
    File("frc.epd", "".join(f"{row}/pppppppp/8/8/8/8/PPPPPPPP/{row.upper()} w KQkq - 0 1\n"
                            for row in ("bbqnnrkr", "bqnbnrkr", "bqnnrbkr")),
         [Position("", fault="a position of Chess960")] * 3),
    File("p_am_first.epd", f'{KNIGHTS} am Ke2; bm Bb5; id "x";\n',
         [Position(f"{KNIGHTS} 0 1", "f1b5", "x")]),
    File("p_bang.epd", f'{KNIGHTS} bm Bb5!; id "x";\n', [Position(f"{KNIGHTS} 0 1", "f1b5", "x")]),
    File("p_comma.epd", f'{KNIGHTS} bm Bb5, Bc4; id "a.1";\n',
         [Position(f"{KNIGHTS} 0 1", "f1b5 f1c4", "a.1")]),
    File("p_latin1.epd", f'{KNIGHTS} bm Bb5; id "Réti";\n',
         [Position(f"{KNIGHTS} 0 1", "f1b5", "Réti")], "latin-1"),
    File("p_mate.epd", f"{KNIGHTS} bm #2;\n",
         [Position(f"{KNIGHTS} 0 1", fault="bm must name moves, got '#2'")]),
    File("p_nobm.epd", f"{KNIGHTS} bm Bb5;\n{KNIGHTS} 0 1\n{KNIGHTS} bm Bc4;\n",
         [Position(f"{KNIGHTS} 0 1", "f1b5"), Position(f"{KNIGHTS} 0 1", fault=NO_BEST),
          Position(f"{KNIGHTS} 0 1", "f1c4")]),
    File("pos.sfen", "position startpos moves 7g7f 3c3d\n",
         [Position("lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3",
                   fault=NO_BEST)]),
    File("ss_word.sfen",
         "sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2\n",
         [Position("lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2",
                   fault=NO_BEST)]),
]  # fmt: skip


@cache
def game_of(name: str) -> Game:
    return azcore.make(name, **({"board_size": 9, "komi": KOMI} if name == "go" else {}))


@cache
def server_of(game: Game) -> tuple[Any, Recorder]:
    told = Recorder()
    return SERVERS[game.name](make_engine(game), told), told


def state_before(game: Game, start: str | None) -> Any:
    return game.initial_state() if start is None else game.state_from_text(start)


def shown(game: Game, start: str | None, actions: Sequence[int]) -> tuple[str | None, str]:
    return start, " ".join(texts_along(game, state_before(game, start), actions))


def texts_of(game: Game, state: Any, actions: Iterable[int]) -> str:
    return " ".join(sorted(game.action_to_text(state, action) for action in actions))


def refusal(fault: str) -> Any:
    return pytest.raises(AzcoreError, match=re.escape(fault))


@pytest.mark.parametrize("file", TRANSCRIPTS, ids=lambda file: file.name)
def test_a_file_of_games(tmp_path: Path, file: File) -> None:
    game, path = file.write(tmp_path)
    wanted: Sequence[Played] = file.wanted
    readable = [(each.start, each.moves) for each in wanted if each.moves]
    # What the reader of transcripts finds.
    for found, each in zip(read_transcripts(path, game), wanted, strict=True):
        assert isinstance(found, TranscriptError) == bool(each.fault)
        if isinstance(found, TranscriptError):
            assert each.fault in str(found)
            found = found.before
        if found is None:
            assert not each.moves
            continue
        assert shown(game, found.start_text, found.actions) == (each.start, each.moves)
        assert found.outcome == each.outcome
        assert {name: getattr(found, name) for name in each.also} == each.also
    # Import.
    tally, records = command.Tally(), list[GameRecord]()
    command._take(path, RecordMaker(game), IMPORT, tally, records.append, lambda read: None)
    assert tally.left_out == Counter(each.left_out for each in wanted if each.left_out)
    taken = [each for each in wanted if not each.left_out]
    for record, each in zip(records, taken, strict=True):
        assert shown(game, record.start, record.actions.tolist()) == (each.start, each.moves)
        assert each.outcome in (None, record.outcome)
    # Starts and books take what is before a fault.
    with nullcontext() if readable else refusal(wanted[0].fault):
        starts = read_starts(game, [str(path)], (0, 99), "arena.starts")
        assert starts is not None
        lines = [shown(game, each.text, each.actions) for each in starts._lines]
        for (start, moves), found_line in zip(readable, lines, strict=True):
            is_over = moves.endswith("pass pass") or moves == TO_THIRD
            assert found_line == (start, moves.rsplit(" ", 1)[0] if is_over else moves)
    with nullcontext() if readable else refusal(wanted[0].fault):
        book = read_book(game, str(path), "engine.book", plies=99)
        assert isinstance(book, CountedBook)
        assert len(book.left_out) == len(wanted) - len(readable)
        for start, moves in readable:
            state = state_before(game, start)
            for move in moves.split():
                action = game.text_to_action(state, move)
                assert action in dict(book.actions(state))
                state = game.step(state, action)
    # The page and GTP read the first game.
    first = wanted[0]
    with nullcontext() if first.moves else refusal(first.fault):
        pasted = paste(game, file.text.strip())
        line = pasted.kept[0].line
        assert shown(game, line.start_text, line.actions) == (first.start, first.moves)
        assert (first.fault in pasted.notes) if first.fault else "error" not in pasted.notes
    if path.suffix == ".sgf":
        server, told = server_of(game)
        server.run(iter(["boardsize 9", f"komi {KOMI}", f"loadsgf {path}"]))
        line, answer = server._game.line, told.exchanges[-1][1].strip()
        if first.fault:
            assert answer.startswith("? cannot load file: ")
            assert first.fault in answer
        else:
            assert answer == "="
            assert shown(line.game, line.start_text, line.actions) == (first.start, first.moves)
            assert line.game.settings["komi"] == first.komi


@pytest.mark.parametrize("file", POSITIONS, ids=lambda file: file.name)
def test_a_file_of_positions(tmp_path: Path, file: File) -> None:
    game, path = file.write(tmp_path)
    wanted: Sequence[Position] = file.wanted
    readable = [each.text for each in wanted if each.text]
    with nullcontext() if readable else refusal(wanted[0].fault):
        starts = read_starts(game, [str(path)], (0,), "arena.starts")
        assert starts is not None
        found = [starts._start(line, np.random.default_rng(0)) for line in starts._lines]
        assert [game.state_to_text(start.state) for start in found] == readable
    solved = [each for each in wanted if each.solutions]
    for number, (puzzle, each) in enumerate(zip(read_puzzles(path, game), wanted, strict=True), 1):
        assert isinstance(puzzle, Puzzle) == bool(each.solutions)
        if isinstance(puzzle, Puzzle):
            moves = texts_of(game, puzzle.state, puzzle.solutions)
            assert (game.state_to_text(puzzle.state), moves) == (each.text, each.solutions)
            assert puzzle.name == (each.name or f"{path}, line {number}")
        else:
            assert f"line {number}: " in str(puzzle)
            assert each.fault in str(puzzle)
    with nullcontext() if solved else refusal(wanted[0].fault):
        book = read_book(game, str(path), "engine.book", plies=99)
        assert isinstance(book, CountedBook)
        assert len(book.left_out) == len(wanted) - len(solved)
        for each in solved:
            state = game.state_from_text(each.text)
            known = texts_of(game, state, dict(book.actions(state)))
            assert set(each.solutions.split()) <= set(known.split())
    # The page, and the `position` command of engines without the operations of EPD.
    server, told = server_of(game)
    for line, each in zip(file.text.splitlines(), wanted, strict=True):
        with nullcontext() if each.text else refusal(each.fault):
            pasted = paste(game, line).kept[0].line
            assert game.state_to_text(pasted.state) == each.text
        fen = re.match(r"(?:\S+ ){4}(?:\d+ \d+)?", line)
        place = f"fen {fen[0]}" if fen and path.suffix == ".epd" else line.removeprefix("position ")
        server.run(iter(["position startpos", f"position {place}"]))
        if each.text:
            assert game.state_to_text(server.line.state) == each.text
        else:
            assert each.fault in told.exchanges[-1][1]
