"""Whatever comes in, UCI and USI servers answer, keep their position and do not fall."""

from __future__ import annotations

from typing import Any

import pytest

from engine.fuzz_uci import ORACLES, make_fuzz

MANY = pytest.mark.long(short="tests/engine/test_fuzz_uci.py::test_fuzz")


@pytest.mark.parametrize("protocol", list(ORACLES))
@pytest.mark.parametrize("lines", [4_000, pytest.param(100_000, marks=MANY)])
def test_fuzz(protocol: str, lines: int, compose: Any) -> None:
    name = ORACLES[protocol][0]
    if protocol == "usi":
        pytest.importorskip("cshogi")
    fuzz = make_fuzz(protocol, compose("command=engine", f"game={name}"), seed=lines)
    fuzz.run(lines)
    assert fuzz.accepted > lines / 10
    assert fuzz.refused > lines / 30
