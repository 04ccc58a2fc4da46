"""What several tests share: the composed configuration, and sizes that finish in seconds."""

from __future__ import annotations

import os
import signal

# A shell that starts tests in the background has them and their children ignore Ctrl-C, which some
# tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# As the command line does, before torch is imported: see azcore/cli/application.py.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
# Tests run side by side; more threads would compete for the same cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import entry_points_once  # noqa: F401  # isort: skip  (before azcore imports what it replaces)

import copy
import gc
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import hydra
import pytest
import yaml
from hydra._internal.core_plugins.importlib_resources_config_source import (
    ImportlibResourcesConfigSource,
)
from hydra._internal.hydra import Hydra
from omegaconf import OmegaConf

import seconds
from azcore import cli
from azcore.cli import roots
from azcore.cli.old_names import command_of, renamed
from azcore.cli.plugins import register
from azcore.game import faults

TINY = ["game=tic_tac_toe", "scale=smoke", "algorithm=alphazero", "trainer.max_steps=16"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seconds", metavar="FILE", help="write where the time went, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    seconds.configure(config)


# Files whose tests start many processes. Two of them at once on two cores take several times as
# long, so they run one after the other.
MANY_PROCESSES = {
    "tests/algorithms/test_overlap.py",
    "tests/algorithms/test_ranks.py",
    "tests/arena/test_spread.py",
    "tests/commands/test_killed_commands.py",
    "tests/learner/test_overlap.py",
    "tests/selfplay/test_processes.py",
    "tests/selfplay/test_ray.py",
}


def group_of(nodeid: str) -> str:
    """The tests of a group run in one process of pytest-xdist, one after the other."""
    path = nodeid.partition("::")[0]
    return "many processes" if path in MANY_PROCESSES else path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return ByGroup(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the long tests unless they are asked for; the slowest groups come first."""
    require_short_tests(items)
    slow = seconds.slow_tests()
    for item in items:
        if item.nodeid.partition("[")[0] in slow:
            item.add_marker("slow")
    if "long" not in config.option.markexpr and not any("::" in word for word in config.args):
        left_out = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    weights: Counter[str] = Counter()
    for name in dict.fromkeys(item.nodeid.partition("[")[0] for item in items):
        weights[group_of(name)] += slow.get(name, 0.1)
    items.sort(key=lambda item: (-weights[group_of(item.nodeid)], group_of(item.nodeid)))


def require_short_tests(items: list[pytest.Item]) -> None:
    """A long test names the test of `make test` that protects the same thing."""
    every: dict[str, bool] = {}  # is one of them not long?
    for item in items:
        name = item.nodeid.partition("[")[0]
        every[name] = every.get(name, False) or not item.get_closest_marker("long")
    files = {name.partition("::")[0] for name in every}
    for item in items:
        for mark in item.iter_markers("long"):
            short = mark.kwargs.get("short", "")
            if short.partition("::")[0] in files | {""} and not every.get(short, False):
                raise pytest.UsageError(f"{item.nodeid}: short={short!r} is no test of `make test`")


def pytest_collection_finish() -> None:
    gc.freeze()  # what was imported and collected stays; looking through it again takes long


parse_yaml = yaml.load
parsed: dict[tuple[str, str], Any] = {}


def parse_once(stream: Any, Loader: type) -> Any:  # noqa: N803 (the name it has in yaml.load)
    """What yaml.load gives. Hydra reads the files of plugins anew each time, a run its settings."""
    text = stream.read() if hasattr(stream, "read") else stream
    if len(text) > 20_000:  # made for a test of large files
        return parse_yaml(text, Loader)
    key = text, Loader.__name__  # OmegaConf makes its loader each time
    if key not in parsed:
        parsed[key] = parse_yaml(text, Loader)
    return copy.deepcopy(parsed[key])


yaml.load = parse_once

load_config = ImportlibResourcesConfigSource.load_config
loaded: dict[tuple[str, str], Any] = {}


def load_once(self: ImportlibResourcesConfigSource, config_path: str) -> Any:
    """The settings files of azcore and Hydra, which no test changes."""
    key = self.path, config_path
    if key not in loaded:
        loaded[key] = load_config(self, config_path)
    return copy.deepcopy(loaded[key])


ImportlibResourcesConfigSource.load_config = load_once  # type: ignore[method-assign]

get_mode = Hydra.get_mode


def mode_if_asked(self: Hydra, config_name: str | None, overrides: list[str]) -> Any:
    """Hydra composes all settings for this one, which only experiments set."""
    if any(
        word.lstrip("+~").partition("=")[0] in ("experiment", "hydra.mode") for word in overrides
    ):
        return get_mode(self, config_name, overrides)
    return None


Hydra.get_mode = mode_if_asked  # type: ignore[method-assign]


def compose(*overrides: str) -> dict[str, Any]:
    """The settings of a command as the command line composes it, as plain values.

    Of several algorithms the last one counts, so that a test can choose another than TINY's.
    """
    where: dict[str, str] = {}
    if command_of(overrides)[0] == "train":  # runs of the same settings are composed once
        found = [re.fullmatch("(run_dir|resume)=([a-z/][^ ,'=]*)(?<!=null)", w) for w in overrides]
        where = {match[1]: match[2] for match in found if match}
        overrides = tuple(w for w, match in zip(overrides, found, strict=True) if not match)
    chosen = [word for word in overrides if word.startswith("algorithm=")][-1:]
    others = [word for word in overrides if not word.startswith("algorithm=")]
    return {**copy.deepcopy(_composed(*others, *chosen)), **where}


def own(words: list[str], command: str) -> list[str]:
    """Of the words for a run, those that a command has a use for; of a scale, its sizes."""
    if command == "train":
        return words
    known = roots.keys_of(command)
    now = renamed(command, words, lambda sentence: None)
    if "scale=smoke" in now and "scale" not in known:
        now += smoke_sizes()
    return [word for word in now if word.partition("=")[0] in known]


def smoke_sizes(*groups: str) -> list[str]:
    """`scale=smoke` as words, of all groups or some, for what has no scale."""
    scale = yaml.safe_load((files("azcore.conf") / "scale/smoke.yaml").read_text())
    return [
        f"{group}.{key}={value}"
        for group, settings in scale.items()
        if group != "scale" and (not groups or group in groups)
        for key, value in settings.items()
    ]


@cache
def _composed(*overrides: str) -> dict[str, Any]:
    register()
    command, words = command_of(overrides)
    words = renamed(command, words, lambda sentence: None)
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        config = hydra.compose(command, overrides=words)
    container = OmegaConf.to_container(config, resolve=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items() if roots.has(command, str(key))}


@pytest.fixture(autouse=True)
def no_games_of_other_tests() -> None:
    """A game that a test defines makes this folder its code, and any error from here its fault."""
    here = Path(__file__).parent
    for folder in [folder for folder in faults._folders if folder.is_relative_to(here)]:
        del faults._folders[folder]


@pytest.fixture(name="compose")
def compose_fixture() -> Callable[..., dict[str, Any]]:
    return compose


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Composes a run of tic-tac-toe that takes a second or two, in an empty current directory."""
    monkeypatch.chdir(tmp_path)
    return lambda *overrides: compose(*own(TINY, command_of(overrides)[0]), *overrides)


@pytest.fixture(name="azcore")
def azcore_fixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs `python -m azcore ARGS` within this process: (status, output, errors)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["azcore", *arguments])
        capfd.readouterr()
        try:
            cli.main()
            status = 0
        except SystemExit as exit_:
            status = int(exit_.code or 0)
        output, errors = capfd.readouterr()
        return status, output, errors

    return run
