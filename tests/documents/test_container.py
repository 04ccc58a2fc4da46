"""The Dockerfile names what there is: files, extras, a Python that azcore runs on."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEXT = (ROOT / "Dockerfile").read_text()
BODY = re.sub(r"\\\n", " ", "\n".join(line for line in TEXT.splitlines() if line[:1] != "#"))
LINES = [line.split(None, 1) for line in BODY.splitlines() if line.strip()]


def told(word: str) -> list[str]:
    """What stands behind each instruction of this name."""
    return [rest for name, rest in LINES if name == word]


def argument(name: str) -> str:
    (value,) = [arg.partition("=")[2] for arg in told("ARG") if arg.startswith(f"{name}=")]
    return value


def test_what_is_copied_is_there_and_not_left_out() -> None:
    """`.dockerignore` leaves out everything that it does not name with an exclamation mark."""
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignored
    kept = {line[1:] for line in ignored if line.startswith("!")}
    copied = {path for copy in told("COPY") for path in shlex.split(copy)[:-1]}
    assert copied == kept
    assert all((ROOT / path).exists() for path in copied)
    needed = {"pyproject.toml", "setup.py", PROJECT["readme"], *PROJECT["license-files"]}
    assert copied >= needed | {"azcore", "conf", "games", "constraints.txt"}


def test_its_python_is_one_that_azcore_runs_on() -> None:
    python = argument("PYTHON")
    assert f"Programming Language :: Python :: {python}" in PROJECT["classifiers"]
    assert told("FROM") == ["python:${PYTHON}-slim"]


@pytest.mark.parametrize("extras", [argument("EXTRAS"), *re.findall(r"EXTRAS=([\w,]+)", TEXT)])
def test_its_extras_are_those_of_the_project(extras: str) -> None:
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


def test_it_runs_azcore_as_nobody_special() -> None:
    assert told("USER") == ["azcore"]
    assert told("ENTRYPOINT") == ['["python", "-m", "azcore"]']
    installs = [run for run in told("RUN") if "pip install" in run and "torch" not in run]
    assert ["-c constraints.txt" in run for run in installs] == [True]
    assert "torch" in [
        line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text().split()
    ]
