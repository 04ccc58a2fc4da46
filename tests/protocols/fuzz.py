"""Throws spoilt lines at a protocol: `python tests/protocols/fuzz.py gtp 1000000 [seed]`."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from protocol_kit import Target, fuzz


def gtp(folder: Path) -> Target:
    from gtp_kit import GtpTarget

    return GtpTarget(folder)


TARGETS = {"gtp": gtp}

if __name__ == "__main__":
    name, count, seed = sys.argv[1], int(sys.argv[2]), int((sys.argv[3:] or ["0"])[0])
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        replies = fuzz(TARGETS[name](Path(folder)), count, seed)
    print(f"{name}: {count:,} lines, {replies:,} replies, {time.perf_counter() - began:.0f} s")
