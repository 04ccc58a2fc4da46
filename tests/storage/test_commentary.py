"""Comments of a search are read as they were written, and as their specification has them."""

from __future__ import annotations

import random

import pytest

from azcore.storage.commentary import Remark, write_remark
from transcript_kit import read_remark

FULL = Remark(
    value=0.312,
    visits=800,
    played=510,
    top=(("D4", 510), ("C3", 200), ("E5", 90)),
    line=("D4", "C3", "E5"),
)


@pytest.mark.parametrize(
    ("remark", "text"),
    [
        (FULL, "value +0.312 visits 800 played 510 top D4 510, C3 200, E5 90 pv D4 C3 E5"),
        (Remark(value=-1.0), "value -1.000"),
        (Remark(value=-0.0), "value +0.000"),
        (Remark(visits=3, line=("P*5e", "8h2b+")), "visits 3 pv P*5e 8h2b+"),
        (Remark(played=64, top=(("pass", 64),), shares=True), "played 64% top pass 64%"),
        (Remark(), ""),
    ],
)
def test_remarks_as_they_are_written(remark: Remark, text: str) -> None:
    assert write_remark(remark) == text
    assert read_remark(text) == (remark if text else None)


def test_remarks_are_found_among_what_people_say() -> None:
    said = write_remark(FULL)
    assert read_remark(f"a fine move\n\n{said}\nvalue of it: great") == FULL
    assert read_remark("value +0.312 and more") is None
    assert read_remark("the value +0.312") is None
    assert read_remark("value 0.312") is None
    assert read_remark("") is None


def test_any_remark_is_read_as_it_was_written() -> None:
    rng = random.Random(1)
    for _ in range(200):
        moves = ["e7e8q", "D4", "pass", "O-O", "+", "囲"]
        remark = Remark(
            value=rng.choice((None, round(rng.uniform(-1, 1), 3))),
            visits=rng.choice((None, rng.randrange(10**6))),
            played=rng.choice((None, rng.randrange(10**6))),
            top=tuple((rng.choice(moves), rng.randrange(99)) for _ in range(rng.randrange(4))),
            line=tuple(rng.choice(moves) for _ in range(rng.randrange(4))),
        )
        text = write_remark(remark)
        if text:
            assert read_remark(text) == remark
