"""What a run changed: beside the defaults that it knows, and beside other runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from azcore.report.report import write_report
from azcore.storage.changes import Change, changes, changes_of_arms, describe_changes
from azcore.storage.run_directory import RunDirectory
from azcore.storage.run_settings import DEFAULT, own_settings, read_config
from conftest import TINY, compose

CommandLine = Callable[..., tuple[int, str, str]]


def run_of(c_init: float, default: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    own = {"game": {"name": "go"}, "search": {"solve": True}, "puct": {"c_init": c_init}, **more}
    return own if default is None else {**own, DEFAULT: default}


def test_of_one_run() -> None:
    assert changes(run_of(2.0, None)) is None
    assert describe_changes(run_of(2.0, None)) is None
    assert describe_changes(run_of(2.0, {})) == "all defaults"
    found = run_of(2.0, {"puct.c_init": 1.25, "search.solve": True, "seed": 3})
    assert changes(found) == [Change("puct.c_init", 2.0, 1.25)]
    assert describe_changes(found) == "puct.c_init=2.0 (default 1.25)"
    # A run may come from a stranger.
    assert describe_changes(run_of(2.0, [])) is None  # type: ignore[arg-type]
    hostile = run_of(2.0, {"puct.\x1bx": "\x1b"}, puct={"\x1bx": "y" * 999})
    assert describe_changes(hostile) == f"puct.?x={'y' * 60}… (default ?)"


def test_of_several() -> None:
    default = {"puct.c_init": 1.25, "seed": 1}
    one, other = run_of(1.25, {"seed": 1}, seed=7), run_of(2.0, default, seed=7)
    assert changes_of_arms({"a": one, "b": other}) == [
        ("all", "seed=7 (default 1)"),
        ("a", "puct.c_init=1.25"),
        ("b", "puct.c_init=2.0 (default 1.25)"),
    ]
    # What follows from a choice is not listed beside it.
    gumbel = run_of(2.0, {"search": "puct"}, search={"gumbel": {"scale": 1}})
    assert changes_of_arms({"a": run_of(1.25, {}), "b": gumbel}) == [
        ("all", "all defaults"),
        ("a", "search=puct"),
        ("b", "search=gumbel (default puct)"),
    ]
    old = run_of(1.25, None, seed=7)
    assert changes_of_arms({"a": old, "b": other}) == [
        ("a", "puct.c_init=1.25"),
        ("b", "puct.c_init=2.0 (default 1.25)"),
    ]
    assert changes_of_arms({"b": other}) == [
        ("all", "puct.c_init=2.0 (default 1.25), seed=7 (default 1)")
    ]


@pytest.mark.parametrize("resumed", [(), ("trainer.max_steps=20", "learner.l2=0.5")])
def test_a_run_knows_its_defaults(
    azcore: CommandLine, tmp_path: Path, resumed: tuple[str, ...]
) -> None:
    """Of its own game, algorithm, scale, network and search; wherever it is shown."""
    words = [*TINY, "search=gumbel", "network=sep_conv", "puct.c_init=2.5", "trainer.max_steps=4"]
    assert azcore(*words, "run_dir=mine", "run.name=mine")[0] == 0
    if resumed:
        assert azcore("resume=mine", *resumed)[0] == 0
    own = own_settings(RunDirectory(tmp_path / "mine"))
    found = {change.key: change for change in changes(own) or []}
    plain = compose("game=tic_tac_toe", "algorithm=alphazero")
    assert found["search"] == Change("search", "gumbel", "puct")
    assert found["network.name"] == Change("network.name", "sep_conv", plain["network"]["name"])
    assert found["puct.c_init"] == Change("puct.c_init", 2.5, plain["puct"]["c_init"])
    assert found["trainer.max_steps"].value == (20 if resumed else 4)
    assert ("learner.l2" in found) == bool(resumed)
    assert not {key for key in found if key.startswith("search.gumbel")}
    assert not {"algorithm", "scale", "game.name", "run.name", "device"} & set(found)
    assert read_config(RunDirectory(tmp_path / "mine"))["puct"]["c_init"] == 2.5
    _, output, _ = azcore("info", "checkpoint=mine")
    assert "puct.c_init=2.5 (default 1.25)" in output
    assert "learner.momentum" not in output
    page = write_report(tmp_path / "mine").read_text()
    assert "<td>puct.c_init</td><td>2.5</td><td>1.25</td>" in page
    assert "\ndefault:" not in page
