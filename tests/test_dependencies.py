"""Which versions of other people's work may be installed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

# Releases that ran somebody else's code on whoever imported them; a mirror may still have them.
MALICIOUS = {"lightning": ("2.6.2", "2.6.3")}  # GHSA-w37p-236h-pfx3
ROOT = Path(__file__).parents[1]


def ranges() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    return [Requirement(text) for texts in (project["dependencies"], *extras) for text in texts]


@pytest.mark.parametrize("name", MALICIOUS)
def test_no_range_admits_a_malicious_release(name: str) -> None:
    found = [requirement for requirement in ranges() if requirement.name == name]
    assert found
    for requirement in found:
        for version in MALICIOUS[name]:
            assert not requirement.specifier.contains(version), f"{requirement} admits {version}"


def test_constraints_are_exact_and_within_the_ranges() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    for pin in pins:
        assert re.fullmatch(r"==[^*,]+", str(pin.specifier)), f"{pin} is no exact version"
    pinned = {pin.name.lower(): str(pin.specifier).removeprefix("==") for pin in pins}
    for requirement in ranges():
        if requirement.name != "azcore" and requirement.name in pinned:
            assert requirement.specifier.contains(pinned[requirement.name]), requirement
    assert pinned["lightning"] not in MALICIOUS["lightning"]


def test_extras_are_quoted_wherever_a_reader_copies_them() -> None:
    """zsh takes brackets for a pattern of file names."""
    folders = ("azcore", "benchmarks", "conf", "docs", "examples", "games")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    texts = [path for path in (*files, *ROOT.glob("*.*")) if path.suffix in (".md", ".py", ".yaml")]
    bare = re.compile(r"""pip install (?:-\S+ )*[^\s'"]*\[""")
    found = [path for path in texts if bare.search(path.read_text(encoding="utf-8"))]
    assert len(texts) > 300
    assert found == []
