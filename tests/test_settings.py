"""Settings are typed, and what does not fit is one sentence."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from azcore.errors import SettingError
from azcore.settings import altered, build


@dataclass(frozen=True)
class Example:
    count: int
    rate: float
    on: bool
    limit: float | None
    steps: tuple[float, ...]


GOOD = {"count": 3, "rate": 1, "on": True, "limit": None, "steps": [1, 0.5]}


def test_builds_and_converts_whole_numbers() -> None:
    assert build(Example, GOOD, "example") == Example(3, 1.0, True, None, (1.0, 0.5))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"count": 1.5}, "example.count must be a whole number, got 1.5"),
        ({"count": True}, "example.count must be a whole number, got True"),
        ({"rate": "fast"}, "example.rate must be a number, got 'fast'"),
        ({"on": 1}, "example.on must be true or false, got 1"),
        ({"limit": "x"}, "example.limit must be a number, got 'x'"),
        ({"steps": 3}, "example.steps must be a list, got 3"),
        ({"steps": [1, "x"]}, r"example.steps\[1\] must be a number, got 'x'"),
        ({"cuont": 3}, "no setting example.cuont; did you mean example.count?"),
        ({"komi": 3}, "no setting example.komi$"),  # a group in common is no likeness
    ],
)
def test_refuses_what_does_not_fit(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence.replace("?", r"\?")):
        build(Example, {**GOOD, **change}, "example")


def test_refuses_what_is_missing() -> None:
    with pytest.raises(SettingError, match=r"example\.steps is not set"):
        build(Example, {k: v for k, v in GOOD.items() if k != "steps"}, "example")


@dataclass(frozen=True)
class Group:
    part: Example
    other: Example | None


def test_some_settings_are_altered() -> None:
    example = build(Example, GOOD, "example")
    group = Group(example, None)
    assert altered(example, {"count": 4}, "example") == build(
        Example, {**GOOD, "count": 4}, "example"
    )
    assert altered(group, {"part.count": 4}, "group").part.count == 4
    assert altered(Group(example, example), {"other": None}, "group") == group
    assert example.count == 3  # the first ones stay as they are


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"part.cuont": 4}, r"no setting group\.part\.cuont; did you mean group\.part\.count\?"),
        ({"parts.count": 4}, r"no setting group\.parts\.count"),
        ({"other.count": 4}, r"group\.other must be settings that include count, got None"),
        ({"part.count.x": 4}, r"group\.part\.count must be settings that include x, got 3"),
        ({"part.count": "x"}, r"group\.part\.count must be a whole number, got 'x'"),
    ],
)
def test_what_cannot_be_altered_is_one_sentence(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        altered(Group(build(Example, GOOD, "example"), None), change, "group")
