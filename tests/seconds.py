"""Where the time of a test run goes: `pytest --seconds=FILE` keeps it per test, file and fixture.

    python tests/seconds.py FILE [FILE ...]           # total and the ten slowest
    python tests/seconds.py FILE --slow > tests/slow.csv  # every test of half a second or more

A test's seconds include its set-up and its end. A fixture that a whole file shares counts once, in
the test that asked for it first. Tests run side by side, so their sum exceeds the time of the run;
what a test costs is its processor time, which includes that of its processes, once they have ended.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any

import pytest

SLOW = Path(__file__).with_name("slow.csv")
LEAST = 0.5  # seconds of a processor, of all cases of a test together


def slow_tests() -> dict[str, float]:
    """Processor time of the tests in tests/slow.csv, by file::test."""
    with SLOW.open() as file:
        return {row["test"]: float(row["processor"]) for row in csv.DictReader(file)}


class Seconds:
    """Gathers the seconds of one run; under pytest-xdist each process sends its share."""

    def __init__(self, config: pytest.Config, path: Path | None) -> None:
        self.config, self.path = config, path
        self.tests: Counter[str] = Counter()
        self.processor: Counter[str] = Counter()
        self.fixtures: Counter[str] = Counter()
        self.began = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests[report.nodeid] += report.duration

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        began = _processor_time()
        try:
            return (yield)
        finally:
            self.processor[item.nodeid] += _processor_time() - began

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        began = time.perf_counter()
        try:
            return (yield)
        finally:
            self.fixtures[fixturedef.argname] += time.perf_counter() - began

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        sent = getattr(node, "workeroutput", {})
        self.fixtures.update(sent.get("fixtures", {}))
        self.processor.update(sent.get("processor", {}))

    def pytest_sessionfinish(self) -> None:
        if self.path is None:
            # Which pytest-xdist adds, and pytest's types do not know.
            sent: dict[str, Any] = self.config.workeroutput  # type: ignore[attr-defined]
            sent.update(fixtures=dict(self.fixtures), processor=dict(self.processor))
            return
        files: Counter[str] = Counter()
        for test, seconds in self.tests.items():
            files[test.partition("::")[0]] += seconds
        kinds = {
            "tests": self.tests,
            "processor": self.processor,
            "files": files,
            "fixtures": self.fixtures,
        }
        found = {name: _rounded(counted) for name, counted in kinds.items()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(
            json.dumps({"seconds": round(time.monotonic() - self.began, 1), **found}, indent=1)
        )


def _processor_time() -> float:
    """Seconds of this process and of those of its processes that have ended."""
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _rounded(counted: Counter[str]) -> dict[str, float]:
    return {name: round(seconds, 3) for name, seconds in counted.most_common()}


def configure(config: pytest.Config) -> None:
    """Registers a `Seconds` where `--seconds` was given; called by conftest.py."""
    path = config.getoption("--seconds")
    if path:
        is_worker = hasattr(config, "workerinput")
        config.pluginmanager.register(Seconds(config, None if is_worker else Path(path)))


def main() -> None:
    """Prints the slowest tests of one or several runs, or rewrites the table of the slow ones."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--slow", action="store_true", help="all of them, as CSV")
    given = parser.parse_args()
    runs = [json.loads(path.read_text()) for path in given.files]
    slowest = sorted(
        (
            (seconds, run["processor"].get(test, 0.0), test)
            for run in runs
            for test, seconds in run["tests"].items()
        ),
        reverse=True,
    )
    if given.slow:
        _write_slow(slowest)
        return
    total = sum(run["seconds"] for run in runs)
    print(f"{total:,.0f} s, {len(slowest):,} tests; the slowest, with their processor time:")
    for seconds, processor, test in slowest[:10]:
        print(f"{seconds:7.1f} s {processor:7.1f} s  {test}")


def _write_slow(tests: list[tuple[float, float, str]]) -> None:
    """A row for each test with the sums of its cases, the slowest first."""
    sums: dict[str, list[float]] = {}
    for seconds, processor, test in tests:
        row = sums.setdefault(test.partition("[")[0], [0.0, 0.0, 0])
        for place, value in enumerate((processor, seconds, 1)):
            row[place] += value
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["processor", "seconds", "cases", "test"])
    for test, (processor, seconds, cases) in sorted(sums.items(), key=lambda row: -row[1][0]):
        if processor >= LEAST:
            table.writerow([f"{processor:.1f}", f"{seconds:.1f}", int(cases), test])


if __name__ == "__main__":
    main()
