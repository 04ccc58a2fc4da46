"""Throws spoilt lines at an engine: `python tests/engine/fuzz.py gtp|uci|usi LINES [SEED]`.

The tests do the same by the ten thousand; this is for a million.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does

from conftest import compose


def gtp(count: int, seed: int) -> str:
    from gtp_kit import GtpTarget
    from protocol_kit import fuzz

    with tempfile.TemporaryDirectory() as folder:
        return f"{fuzz(GtpTarget(Path(folder)), count, seed):,} replies"


def with_positions(protocol: str, count: int, seed: int) -> str:
    from engine.fuzz_uci import ORACLES, make_fuzz

    fuzz = make_fuzz(protocol, compose("command=engine", f"game={ORACLES[protocol][0]}"), seed)
    fuzz.run(count)
    return f"{fuzz.accepted:,} positions taken, {fuzz.refused:,} refused"


if __name__ == "__main__":
    name, count, seed = sys.argv[1], int(sys.argv[2]), int((sys.argv[3:] or ["0"])[0])
    began = time.perf_counter()
    told = gtp(count, seed) if name == "gtp" else with_positions(name, count, seed)
    print(f"{name}: {count:,} lines, {told}, {time.perf_counter() - began:.0f} s")
