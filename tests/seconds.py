"""Where the time of a test run goes: `pytest --seconds FILE` keeps it per test, file and fixture.

    python tests/seconds.py FILE [FILE ...]           # total and the ten slowest
    python tests/seconds.py FILE [FILE ...] --top 50  # a table in Markdown

A test's seconds include its set-up and its end. A fixture that a whole file shares counts once, in
the test that asked for it first. Tests run side by side, so their sum exceeds the time of the run.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest


class Seconds:
    """Gathers the seconds of one run; under pytest-xdist each process sends its fixtures' share."""

    def __init__(self, config: pytest.Config, path: Path | None) -> None:
        self.config, self.path = config, path
        self.tests: Counter[str] = Counter()
        self.fixtures: Counter[str] = Counter()
        self.began = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests[report.nodeid] += report.duration

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        began = time.perf_counter()
        try:
            return (yield)
        finally:
            self.fixtures[fixturedef.argname] += time.perf_counter() - began

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.fixtures.update(getattr(node, "workeroutput", {}).get("fixtures", {}))

    def pytest_sessionfinish(self) -> None:
        if self.path is None:
            self.config.workeroutput["fixtures"] = dict(self.fixtures)  # type: ignore[attr-defined]
            return
        files: Counter[str] = Counter()
        for test, seconds in self.tests.items():
            files[test.partition("::")[0]] += seconds
        kinds = {"tests": self.tests, "files": files, "fixtures": self.fixtures}
        found = {name: _rounded(counted) for name, counted in kinds.items()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(
            json.dumps({"seconds": round(time.monotonic() - self.began, 1), **found}, indent=1)
        )


def _rounded(counted: Counter[str]) -> dict[str, float]:
    return {name: round(seconds, 3) for name, seconds in counted.most_common()}


def configure(config: pytest.Config) -> None:
    """Registers a `Seconds` where `--seconds` was given; called by conftest.py."""
    path = config.getoption("--seconds")
    if path:
        is_worker = hasattr(config, "workerinput")
        config.pluginmanager.register(Seconds(config, None if is_worker else Path(path)))


def main() -> None:
    """Prints the slowest tests of one or several runs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--top", type=int, help="as a table in Markdown")
    given = parser.parse_args()
    runs = [json.loads(path.read_text()) for path in given.files]
    slowest = sorted(
        ((seconds, test) for run in runs for test, seconds in run["tests"].items()), reverse=True
    )
    if given.top is None:
        print(f"{sum(run['seconds'] for run in runs):,.0f} s, {len(slowest):,} tests; the slowest:")
        for seconds, test in slowest[:10]:
            print(f"{seconds:7.1f} s  {test}")
        return
    print("| Seconds | Test |\n|---:|---|")
    for seconds, test in slowest[: given.top]:
        print(f"| {seconds:.1f} | `{test}` |")


if __name__ == "__main__":
    main()
