"""The script of a newcomer's first hour."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples/first_hour.py"


@pytest.mark.long(short="tests/algorithms/test_clock.py::test_time_is_kept_by_a_real_clock")
def test_every_promise_is_kept(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
