# ruff: noqa: RUF001 (KIF has wide colons)
"""Variations in transcripts: a tree is read as it was written, and its size is bounded."""

from __future__ import annotations

import io
import random
import time
from dataclasses import replace

import chess.pgn
import pytest
from sgfmill import sgf

import azcore
from azcore.errors import TranscriptError
from azcore.game import Branch, Game, Transcript, TranscriptFormat, transcript
from azcore.game.transcript import branches_of, lines_of
from azcore.storage.transcripts import formats_of

HOLD = ["go sgf", "chess pgn"]
MANY = 3_000  # repeats in texts that would exhaust a parser which recurses or keeps everything


def format_of(which: str) -> tuple[Game, TranscriptFormat]:
    name, form = which.split()
    game = azcore.make(name, **({"board_size": 5, "komi": 0.5} if name == "go" else {}))
    return game, formats_of(game)[form]


def random_tree(which: str, seed: int) -> Transcript:
    """Random lines, each of which leaves an earlier one."""
    game, _ = format_of(which)
    rng = random.Random(seed)
    lines: list[list[int]] = []
    for _ in range(rng.randrange(1, 9)):
        line = list(rng.choice(lines)) if lines else []
        del line[rng.randrange(len(line) + 1) :]
        state = game.initial_state()
        for action in line:
            state = game.step(state, action)
        while not game.is_terminal(state) and len(line) < 9:
            line.append(rng.choice(game.legal_action_mask(state).nonzero()[0].tolist()))
            state = game.step(state, line[-1])
        lines.append(line)
    main, *others = lines
    return Transcript(
        actions=main, comments=["one", "", "two"], variations=branches_of(main, others)
    )


@pytest.mark.parametrize("which", HOLD)
def test_trees_are_read_as_they_were_written(which: str) -> None:
    _, form = format_of(which)
    branches = 0
    for seed in range(12):
        tree = random_tree(which, seed)
        again = form.read(form.write(tree))
        assert replace(again, result=None) == tree
        assert not again.left_out
        branches += len(tree.variations)
    assert branches > 12


def test_a_tree_is_a_main_line_and_branches_in_the_order_of_a_walk() -> None:
    lines = [[1, 2, 9], [1, 5], [1, 5, 6], [4], [1, 2, 3, 8], [1, 2, 3], [1, 2]]
    branches = branches_of([1, 2, 3], lines)  # which repeat or continue the main line, or another
    assert branches == [Branch(2, (9,)), Branch(1, (5, 6)), Branch(0, (4,))]
    assert [*lines_of([1, 2, 3], branches)] == [[1, 2, 3], [1, 2, 9], [1, 5, 6], [4]]
    assert Transcript(actions=[1], variations=[Branch(0, (1, 2)), Branch(0, (1,))]).variations == []


def test_other_programs_read_our_trees() -> None:
    _, form = format_of("chess pgn")
    tree = form.read("1. e4 e5 (1... c5 2. Nf3 (2. c3 d5) 2... d6) (1... e6 *) 2. Nf3 {ok} Nc6 *")
    text = form.write(tree)
    assert "e5 (1... c5 2. Nf3 (2. c3 d5) 2... d6) (1... e6)" in " ".join(text.split())
    theirs = chess.pgn.read_game(io.StringIO(text))
    assert theirs is not None
    assert not theirs.errors
    fork = theirs.variations[0]
    assert [node.san() for node in fork.variations] == ["e5", "c5", "e6"]
    assert [node.san() for node in fork.variations[1].variations] == ["Nf3", "c3"]
    _, form = format_of("go sgf")
    tree = form.read("(;SZ[5];B[aa](;W[bb];B[cc])(;W[dd](;B[ee])(;B[ab])))")
    root = sgf.Sgf_game.from_string(form.write(tree)).get_root()
    first, second = root[0]
    assert [node.get_move() for node in (first, second)] == [("w", (3, 1)), ("w", (1, 3))]
    assert [len(first), len(second)] == [1, 2]


@pytest.mark.parametrize(
    ("which", "text", "moves", "left_out"),
    [
        ("go sgf", "(;SZ[5];B[aa](;W[bb];B[cc])(;W[dd];B[dd];W[ee](;B[cc])))", [3, 1], "played"),
        ("go sgf", "(;SZ[5];B[aa](;W[bb])(;AB[cc]W[dd])(;W[ee]))", [2, 1], "played"),
        ("go sgf", "(;SZ[5];B[aa](;W[bb])W[cc](;W[ee];B[zz]))", [2, 1], "played"),
        ("go sgf", "(;SZ[5](;AB[aa];W[bb])(;AB[cc];W[dd]))", [1], "played"),
        ("chess pgn", "1. e4 (1. d4 d4 2. c4 (2. c3)) (1. c4) e5 *", [2, 1, 1], "played"),
        ("chess pgn", "(1. d4) 1. e4 (1. -- e5) 1... e5 (1... c5 {(} 2. c3) *", [2, 2], "played"),
        ("chess pgn", "1. e4 (1. e4 e5) (1. d4) *", [1, 1], ""),
        ("shogi kif", "手合割：平手\n1 ７六歩(77)\n変化：1手\n1 ２六歩(27)\n", [1], "variations"),
        ("go sgf", f"(;SZ[5];B[aa]{'(;W[bb];B[cc])(;W[dd];B[ee])' * MANY})", [3, 2], "more than"),
        ("go sgf", f"(;SZ[5];B[aa];W[bb]{'(;B[cc]' * MANY}", [3], ""),
        ("chess pgn", f"1. e4 {'(1. d4 d5) ' * MANY}*", [1, 2], "more than 2,000 moves"),
        (
            "chess pgn",
            f"1. e4 {'(1. d4 ' * MANY}{')' * MANY} *",
            [1, 1],
            "more than 2,000 moves",
        ),
    ],
)
def test_what_cannot_be_played_or_is_too_much_is_left_out(
    which: str, text: str, moves: list[int], left_out: str
) -> None:
    """A fault of a variation spoils neither the main line nor other variations."""
    _, form = format_of(which)
    began = time.process_time()
    try:
        found = form.read(text)
    except TranscriptError as error:  # the main line of an unclosed game
        found = error.before
    assert time.process_time() - began < 5
    assert [len(found.actions), *(len(branch.actions) for branch in found.variations)] == moves
    assert left_out in " ".join(found.left_out)
    assert bool(found.left_out) == bool(left_out)


def test_no_more_moves_than_the_bound_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "MOST_IN_VARIATIONS", 3)
    _, form = format_of("go sgf")
    found = form.read("(;SZ[5];B[aa](;W[bb])(;W[cc];B[bb])(;W[dd];B[bb];W[cc])(;W[ee]))")
    assert found.variations == [Branch(1, (12, 6)), Branch(1, (18,))]
    assert found.left_out == ["more than 3 moves in variations"]
