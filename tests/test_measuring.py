"""Rates of a machine that others disturb, and whether they do."""

from __future__ import annotations

import os

import pytest

from azcore import measuring
from azcore.measuring import AGAIN, is_busy, undisturbed


def test_implausible_rates_are_measured_again_and_the_best_is_kept() -> None:
    asked: list[str] = []

    def again(name: str) -> float:
        asked.append(name)
        return {"low": 3.0, "slow": 12.0, "fell": 90.0}[name]

    measured = {
        "fine": [100.0, 1.0, 104.0],  # one of three does not matter
        "low": [10.0, 10.0],
        "slow": [10.0],
        "fell": [20.0, 21.0, 90.0],
    }
    rates = undisturbed(measured, again)
    assert rates == {"fine": 100.0, "low": 10.0, "slow": 12.0, "fell": 90.0}
    assert sorted(asked) == sorted(["low", "slow"] * AGAIN + ["fell"])
    # Slower than it was before.
    assert undisturbed({"fell": [40.0]}, again, {"fell": 100.0}) == {"fell": 90.0}
    assert undisturbed({}, again) == {}


def test_a_load_of_ones_own_is_not_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    age = 1e9  # the process has run for long
    monkeypatch.setattr(measuring.time, "clock_gettime", lambda _: age)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)

    def busy(load: float, own: float) -> bool:
        monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
        monkeypatch.setattr(os, "times", lambda: (own * age, 0.0, 0.0, 0.0, age))
        return is_busy()

    assert not busy(0.0, 0.0)
    assert not busy(1.9, 0.0)
    assert busy(2.1, 0.0)
    assert not busy(3.9, 2.0)
    assert busy(4.1, 2.0)
    monkeypatch.undo()
    assert is_busy() in (True, False)
