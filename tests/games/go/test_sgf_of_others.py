"""SGF as others write it, beyond `tests/games/test_files_of_others.py`: the moves decide."""

from __future__ import annotations

from pathlib import Path

import pytest

import azcore
from azcore.errors import TranscriptError
from azcore.game import Transcript
from azcore.storage.transcripts import read_transcripts

MOVES = ";B[ee];W[gc])"


def read(folder: Path, data: bytes) -> list[Transcript | TranscriptError]:
    path = folder / "x.sgf"
    path.write_bytes(data)
    return [*read_transcripts(path, azcore.make("go", board_size=9))]


@pytest.mark.parametrize(
    ("root", "encoding", "wanted"),
    [
        ("PB[申眞ソ]RE[257手完, 黒中押し勝ち]", "cp932", {"players": ("申眞ソ", ""), "outcome": 1}),
        ("CA[big5]PB[許功蓋]", "big5", {"players": ("許功蓋", "")}),
        ("PB[Иван]", "utf-16-le", {"players": ("Иван", "")}),  # without its mark
        ("PB[Иван]", "utf-16-be", {"players": ("Иван", "")}),
        ("PB[André]", "latin-1", {"players": ("André", "")}),
        ("CA[no such]PB[André]", "utf-8", {"players": ("André", "")}),
        ("GM[]", "utf-8", {"other_rules": "", "ignored": []}),
        ("KM[none]", "utf-8", {"ignored": ["a komi that cannot be read"]}),
        ("KM[650]", "utf-8", {"other_rules": "komi 6.5"}),
        ("RE[-1.000000]", "utf-8", {"outcome": -1}),
        ("RE[白番2目半勝ち]", "utf-8", {"outcome": -1}),
        ("CA[UTF-16]PB[x]", "utf-8", {"players": ("x", ""), "ignored": []}),  # which it is not
        ("KM[7.500000]", "utf-8", {"other_rules": "", "ignored": []}),
        ("KM[6目半]", "utf-8", {"other_rules": "komi 6.5"}),
        ("KM[3.75子]", "utf-8", {"other_rules": ""}),
        ("KM[3又3/4子]", "utf-8", {"other_rules": ""}),
        ("KM[1e999]", "utf-8", {"ignored": ["a komi that cannot be read"]}),
        ("BR[九段]WR[18급]", "utf-8", {"ratings": (9.0, -17.0)}),
        ("RE[和棋]", "utf-8", {"outcome": 0}),
        ("RE[D+J]", "utf-8", {"outcome": 0}),
        ("RE[白超时胜]", "utf-8", {"outcome": -1, "off_the_board": "time"}),
        ("RE[흑불계승]", "utf-8", {"outcome": 1}),
        ("RE[White wins]", "utf-8", {"outcome": -1}),
        ("RE[White resigns]", "utf-8", {"outcome": None}),
    ],
)
def test_what_is_odd_beside_the_moves_costs_nothing(
    tmp_path: Path, root: str, encoding: str, wanted: dict[str, object]
) -> None:
    (found,) = read(tmp_path, f"(;SZ[9]{root}{MOVES}".encode(encoding))
    assert isinstance(found, Transcript)
    assert found.actions == [40, 24]
    assert {name: getattr(found, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("text", "actions", "start"),
    [
        ("(;SZ[9x9](;B[ee](;W[gc])(;W[zz]))(;B[zz]))", [40, 24], None),
        ("(;SZ[9];B[ee];W[ ];B[Pass])", [40, 81, 81], None),
        ("(;SZ[9];AB[cc][gg]PL[White];W[ee])", [40], "w"),
        ("(;SZ[9]AB[cc];AW[gg]AE[cc]PL[Black];B[ee])", [40], "b"),
        ("(;SZ[9];W[ee];B[gc])", [40, 24], "w"),
        ("(;SZ[9]HA[2];B[cc];C[2]B[gg];W[ee];B[gc])", [40, 24], "w"),
        ("(;SZ[9]HA[2]AB[cc][gg];W[ee])", [40], "w"),
        (f"(\n ;\nSZ[9]{MOVES}", [40, 24], None),
        (f"(\nTE[1]\nSZ[9]{MOVES}", [40, 24], None),
        (f"(;SZ[9]C[see\n(;FF[4\\]SZ[19\\])]{MOVES}", [40, 24], None),
    ],
)
def test_the_main_line(tmp_path: Path, text: str, actions: list[int], start: str | None) -> None:
    (found,) = read(tmp_path, text.encode())
    assert isinstance(found, Transcript)
    assert found.actions == actions
    assert (found.start_text or "").split()[1:2] == ([start] if start else [])
    assert list(found.ignored) == []


@pytest.mark.parametrize(
    ("text", "reason", "before"),
    [
        ("(;SZ[9]C[see \\]];B[ee];W[gc]C[cut", "a game that is cut off", 2),
        (f"(;SZ[x]{MOVES}", "not readable", None),
        (f"(;SZ[9]GM[2]{MOVES}", "another game than Go", None),
        ("(;SZ[9];B[ee];W[zz])", "a move that cannot be read", 1),
        ("(;SZ[9];B[ee];B[gc])", "a move out of turn", 1),
        ("(;SZ[9]HA[3];B[cc];B[gg];W[ee])", "a move out of turn", 1),
        ("(;SZ[9];B[ee];W[];B[];W[gc])", "moves after the end (two passes)", 3),
        ("(;SZ[9];B[ee];AW[cc];W[gc])", "stones set up during the game", 1),
    ],
)
def test_a_fault_leaves_the_game_before_it(
    tmp_path: Path, text: str, reason: str, before: int | None
) -> None:
    found, other = read(tmp_path, f"{text}\n(;SZ[9]{MOVES}".encode())
    assert isinstance(found, TranscriptError)
    assert isinstance(other, Transcript)
    assert found.reason == reason
    assert (found.before and len(found.before.actions)) == before


def test_moves_of_both_players_in_a_node_are_played_and_counted(tmp_path: Path) -> None:
    (found,) = read(tmp_path, b"(;SZ[9];B[ee]W[gc])")
    assert isinstance(found, Transcript)
    assert (found.actions, found.ignored) == ([40, 24], ["several moves in a node"])
