"""Files that lie by chance, each with the right checksum, end no process and pass no check.

`trust_kit.py` makes them; it can be run for longer than here.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import trust_kit

KIT = Path(trust_kit.__file__)


@pytest.mark.parametrize(
    ("kind", "count"), [("records", 400), ("transcripts", 400), ("checkpoints", 250)]
)
def test_lies_are_refused_in_one_sentence(kind: str, count: int) -> None:
    """By a program of its own: what corrupts memory would end the tests."""
    ran = subprocess.run(
        [sys.executable, str(KIT), kind, str(count), "1"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    refused, read = (int(word) for word in ran.stdout.split() if word.isdecimal())
    assert refused + read == count or (kind == "transcripts" and refused + read > count)
    assert refused > count / (4 if kind == "transcripts" else 2)  # it spoils some of four games
    assert read > count / 50  # or nothing but refusing would be tested
