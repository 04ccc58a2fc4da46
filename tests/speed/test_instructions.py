"""Search and rules take no more instructions than instructions.json says, give or take 15 %."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

# By its path: the tests of this folder are no package, and it is a script as well.
_PATH = Path(__file__).with_name("measure.py")
_SPEC = importlib.util.spec_from_file_location("speed_measure", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
measure = importlib.util.module_from_spec(_SPEC)
sys.modules["speed_measure"] = measure
_SPEC.loader.exec_module(measure)


def test_a_rise_is_told() -> None:
    kept = {"a simulation": 1000, "a ply": 200}
    assert measure.rises({"a simulation": 1149, "a ply": 100}, kept) == []
    assert measure.rises({"a simulation": 1151, "a ply": 200}, kept) == [
        "a simulation: 1151 instructions, 15% above 1000"
    ]
    assert measure.rises({"a simulation": 1000}, kept) == ["a ply: measured or kept only"]
    assert measure.rises({**kept, "new": 1}, kept) == ["new: measured or kept only"]


def test_figures_are_compared_with_the_same_versions_alone() -> None:
    assert measure.why_not({**measure.versions(), "numba": "0.1"}) is not None


EVERY_GAME = pytest.mark.long(
    short="tests/speed/test_instructions.py::test_no_more_instructions_than_are_kept"
)


@pytest.mark.parametrize(
    "games",
    [("go 9x9",), pytest.param(measure.GAMES, marks=EVERY_GAME)],
    ids=["one", "all"],
)
def test_no_more_instructions_than_are_kept(games: tuple[str, ...]) -> None:
    figures = json.loads(measure.KEPT.read_text())
    reason = measure.why_not(figures["versions"])
    if reason is not None:
        pytest.skip(reason)
    kept = {
        name: count
        for name, count in figures["instructions"].items()
        if name.partition(",")[0] in games
    }
    assert len(kept) == 2 * len(games) + len(measure.SELF_PLAY)
    assert measure.rises(measure.measure(games), kept) == []
