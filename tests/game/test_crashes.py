"""A rule that ends the process of a command by a signal: one sentence says what may be at fault."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from numba import config

from conftest import TINY
from faulty_kit import install

FAR_PAST = "state.board[action + (1 << 40)] = 1"
ABORTS = "import signal\nsignal.raise_signal(signal.SIGABRT)"  # as malloc does on finding a fault
TRAIN = [*TINY[1:], "check.before_training=0", "selfplay.workers=1", "run_dir=run"]
ENGINE = ["command=engine", "engine.protocol=gtp"]
LIKELY = (
    "a compiled rule may have written past the end of an array: python -m azcore check "
    "game=faulty names the rule and the moves, and with NUMBA_DISABLE_JIT=1 it stops there\n"
)


@pytest.mark.skipif(config.DISABLE_JIT, reason="of compiled rules")
@pytest.mark.parametrize(
    ("body", "arguments", "end", "words"),
    [
        (ABORTS, TRAIN, signal.SIGABRT, 'Aborted in ".*/faulty/game.py", line .* in step'),
        (FAR_PAST, ENGINE, signal.SIGSEGV, 'Segmentation fault in ".*", line [0-9]+ in .*'),
    ],
    ids=["self-play", "engine"],
)
def test_a_sentence_names_the_likely_cause(
    tmp_path: Path, body: str, arguments: list[str], end: int, words: str
) -> None:
    env = install(tmp_path, "plain" if body == ABORTS else "compiled", "step", body)
    process = subprocess.run(
        [sys.executable, "-m", "azcore", "game=faulty", *arguments],
        cwd=tmp_path,
        env=env,
        input="play x a1\n",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == -end
    assert re.search(f"^azcore: ended by a {words}", process.stderr, re.MULTILINE), process.stderr
    assert process.stderr.endswith(LIKELY)
    assert "ended by" not in process.stdout
