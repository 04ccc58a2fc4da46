"""command=puzzles: positions with their solutions, set to players."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from azcore.errors import GameFileError
from azcore.game.registry import make
from azcore.storage.puzzles import Puzzle, read_puzzles

CommandLine = Callable[..., tuple[int, str, str]]
SUITE = """# wins, and a threat to stop
XX./OO./... x bm c3;
X.O/XO./... x bm a1; id "either wins or stops";

OX./.X./... o bm b1;
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "suite.epd"
    path.write_text(SUITE)
    return path


def test_puzzles_are_read(suite: Path) -> None:
    game = make("tic_tac_toe")
    first, second, third = found = [*read_puzzles(suite, game)]
    assert all(isinstance(each, Puzzle) for each in found)
    assert first.name.endswith("suite.epd, line 2")
    assert second.name == "either wins or stops"
    texts = [
        {game.action_to_text(puzzle.state, action) for action in puzzle.solutions}
        for puzzle in (first, second, third)
    ]
    assert texts == [{"c3"}, {"a1"}, {"b1"}]


def test_moves_to_avoid(tmp_path: Path) -> None:
    path = tmp_path / "avoid.epd"
    path.write_text("OX./.X./... o am c3 c2 c1 a2 a1\n")
    game = make("tic_tac_toe")
    (puzzle,) = read_puzzles(path, game)
    assert [game.action_to_text(puzzle.state, action) for action in puzzle.solutions] == ["b1"]


MATE = "6k1/5ppp/8/8/8/8/8/R3K3 w Q -"


@pytest.mark.parametrize(
    ("line", "solutions", "name"),
    [
        (f'{MATE} bm Ra8#; dm 1; id "back rank";', "a1a8", "back rank"),
        (f'{MATE} acd 4; hmvc 3; fmvn 20; bm Ra8#!; pv Ra8#; id "R\xe9ti; 2";', "a1a8", "Réti; 2"),
        (f"{MATE} bm Ke2 Ra8; am Ke2;", "a1a8", None),
        (f"position fen {MATE} 0 0 bm Ra8;", "a1a8", None),
        (f'"{MATE}" bm Ra8; id "x";', "a1a8", "x"),
        ("startpos bm e4; id 1;", "e2e4", "1"),
        (f"{MATE} ; bm Ra8 + ! ; id BK.01\0", "a1a8", "BK.01"),
        (f"{MATE} 0 1; am Ke2 ? ; bm Ra8; c1 diff=10", "a1a8", None),
        (f"{MATE} noop; BM Ra8;", "a1a8", None),
        (f'{MATE} bm Ra8# dm 1 id "no bm b"', "a1a8", "no bm b"),
        ("startpos moves e2e4 bm e5;", "e7e5", None),
    ],
)
def test_chess_takes_epd_as_it_is_published(
    tmp_path: Path, line: str, solutions: str, name: str | None
) -> None:
    path = tmp_path / "mate.epd"
    path.write_bytes(b"\xef\xbb\xbf" * (name is None) + line.encode("latin-1"))
    game = make("chess")
    (puzzle,) = read_puzzles(path, game)
    assert isinstance(puzzle, Puzzle)
    state = puzzle.state
    assert {game.action_to_text(state, each) for each in puzzle.solutions} == set(solutions.split())
    assert puzzle.name == (name or f"{path}, line 1")


def test_search_solves_what_chance_does_not(azcore: CommandLine, suite: Path) -> None:
    status, output, errors = azcore(
        *("command=puzzles", "game=tic_tac_toe", "players=[search:300,random]"),
        f"puzzles.files=[{suite}]",
    )
    assert (status, errors) == (0, "")
    rows = {line.split()[0]: line.split() for line in output.splitlines() if line.strip()}
    assert rows["search:300"][1:4] == ["3", "3", "100.0%"]
    assert rows["random"][2] == "3"
    assert int(rows["random"][1]) < 3
    assert output.count("unsolved by random: ") == 3 - int(rows["random"][1])
    status, output, _ = azcore(
        *("command=puzzles", "game=tic_tac_toe", "players=[search:300]", "puzzles.count=2"),
        f"puzzles.files=[{suite}]",
    )
    assert (status, "search:300       2   2" in output) == (0, True)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("XX./OO./... x", "a puzzle must be a position and `bm MOVES;` or `am MOVES;`"),
        ("XX./OO./.. x bm c3;", "a position looks like"),
        ("XX./OO./... x bm z9;", "z9"),
        ("XX./OO./... x bm a3;", "not legal"),
        ("XX./OO./... x bm c1 c2 c3 b1 a1;", "some legal moves must solve a puzzle"),
        ("XX./OO./... x am c1 c2 c3 b1 a1;", "some legal moves must solve a puzzle"),
        ("XX./OO./... x bm c3;" + " a;" * 100_000, "at most 4,000 characters, got 300,020"),
    ],
)
def test_what_is_no_puzzle_is_refused(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "bad.epd"
    path.write_text(f"XX./OO./... x bm c3;\n{line}\n")
    first, error = read_puzzles(path, make("tic_tac_toe"))
    assert isinstance(first, Puzzle)
    assert isinstance(error, GameFileError)
    assert "bad.epd, line 2: " in str(error)
    assert why in str(error)


def test_files_that_cannot_be_read(azcore: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "empty.epd").write_text("# nothing\n")
    (tmp_path / "binary.epd").write_bytes(b"\xfd\xfe")
    for files, wanted in (
        ("[]", "puzzles.files must be files of positions with `bm` or `am`, got []"),
        ("[empty.epd]", "puzzles.files must be files that hold puzzles"),
        ("[binary.epd]", "binary.epd, line 1: a position looks like"),
        ("[none.epd]", "none.epd: cannot read positions: No such file or directory"),
    ):
        words = ("command=puzzles", "game=tic_tac_toe", "players=[random]")
        status, _, errors = azcore(*words, f"puzzles.files={files}")
        assert status == 2
        assert wanted in errors
