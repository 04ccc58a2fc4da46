"""docs/research.md: its package is installed as it stands there, and each part of it is obeyed."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.cli.composition import settings_for
from azcore.commands.train import train
from azcore.errors import SettingError
from azcore.search.rules import formula_named
from azcore.search.settings import search_settings
from azcore.storage.replay import ReplayBuffer
from azcore.storage.run_directory import RunDirectory
from azcore.storage.run_settings import read_config, save_config
from azcore.storage.samples import Drawn
from conftest import TINY
from pages_kit import ROOT, run_blocks
from run_kit import fingerprint, train_until
from selfplay_kit import TIC_TAC_TOE, played, selfplay_settings

PAGE = ROOT / "docs" / "research.md"
FILES = re.findall(r"^```\w+ (\S+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
PLUGINS = ["plugins.targets=soon", "plugins.augmentation=cutout", "plugins.learner=huber"]
FALLING = [1.0, 0.5, 0.25, 0.0]
ALL = [*PLUGINS, "search=puct", "network=dual_res", f"selfplay.temperatures={FALLING}"]
ALL += ["trainer.max_steps=12", "arena.every_generations=null", "algorithm=patient"]
Compose = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module", autouse=True)
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The package of the page, as pip would put it in place."""
    folder = tmp_path_factory.mktemp("site-packages")
    metadata = folder / "my_research-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-research\nVersion: 1.0\n")
    for name, text in FILES:
        path = folder / name.removeprefix("src/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    groups = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = [
        line
        for group, points in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_research"]:
        del sys.modules[name]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each part of the package is called."""
    found: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def counted(*given: Any, **more: Any) -> Any:
            found[name] += 1
            return real(*given, **more)

        monkeypatch.setattr(owner, name, counted)

    count(importlib.import_module("my_research.targets"), "soon")
    count(importlib.import_module("my_research.cutout"), "cutout")
    count(importlib.import_module("my_research.huber").Huber, "loss")
    count(importlib.import_module("my_research.patient").Patient, "publish")
    return found


def test_examples_are_short() -> None:
    assert len(FILES) == 7
    assert all(len(text.splitlines()) < 40 for _, text in FILES)


def test_a_run_calls_each_part_and_resumes_byte_for_byte(
    tiny: Compose, calls: Counter[str], package: Path, azcore: Callable[..., Any]
) -> None:
    config = tiny(*ALL, "run_dir=whole", "logger=csv")
    assert train(config) == 0
    assert calls == {"soon": 12, "cutout": 12, "loss": 12, "publish": 3}
    logged = next(Path("whole/logs").rglob("metrics.csv")).read_text()
    assert "algorithm/player_step" in logged.partition("\n")[0]
    parts = {**config, "run_dir": "parts"}
    train_until(parts, 6)
    saved = read_config(RunDirectory(Path("parts")))
    assert saved["plugins"] == {
        "targets": "soon",
        "augmentation": "cutout",
        "learner": "huber",
        "algorithm": "patient",
    }
    assert saved["selfplay"]["temperatures"] == FALLING
    calls.clear()
    installed, away = package / "my_research-1.0.dist-info", package / "away"
    installed.rename(away)
    sentence = "must be null, as no installed package has azcore.targets, got 'soon'"
    with pytest.raises(SettingError, match=f"^plugins.targets {sentence}$"):
        train({**parts, "resume": "parts"})
    away.rename(installed)
    status, _, errors = azcore("resume=parts")
    assert (status, errors) == (0, "")
    assert calls["loss"] == 6
    assert fingerprint(Path("parts")) == fingerprint(Path("whole"))
    assert calls["publish"] == 2


def test_a_run_names_its_formula(tiny: Compose, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    save_config(run, tiny("search=puct", "puct.rule=wide_root"))
    saved = read_config(run)
    assert saved["puct"]["rule"] == "wide_root"
    rule: Any = formula_named(search_settings(saved).rule or "")
    assert rule.ctypes(0.5, 0.25, 1.0, 9.0, 2.0, False) == 2.0 * 0.25 * 3.0 / 2
    assert rule.ctypes(0.5, 0.25, 1.0, 9.0, 2.0, True) == 2.0 * 0.5 * 3.0 / 2


def test_the_page_in_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: Counter[str]
) -> None:
    """Its blocks as a reader runs them, of a few steps."""
    monkeypatch.chdir(tmp_path)
    train, resume = azcore.train, azcore.Run.resume
    small = [word for word in TINY if word.partition("=")[0] not in ("game", "trainer.max_steps")]
    small = ["arena.every_generations=null", *(word for word in small if "arena." not in word)]

    def briefly(game: str, *changes: str, minutes: int, **more: Any) -> azcore.Run:
        return train(game, *small, *changes, steps=2 * minutes, quiet=True, **more)

    monkeypatch.setattr(azcore, "train", briefly)
    monkeypatch.setattr(
        azcore.Run,
        "resume",
        lambda run, minutes, **more: resume(run, steps=2 * minutes, quiet=True, **more),
    )
    names = run_blocks("docs/research.md")
    assert calls == {"loss": 8}  # by train, and by resume
    assert len(names["rates"].rates) == 2  # the same
    assert "callbacks Rates, EarlyStopping, which a Python" in names["reason"]


def test_targets_come_before_symmetries_and_must_have_their_shape() -> None:
    seen: list[Drawn] = []

    def own(drawn: Drawn) -> dict[str, Any]:
        seen.append(drawn)
        even = drawn.legal_action_mask / drawn.legal_action_mask.sum(1, keepdims=True)
        return {"policy_targets": even, "value_targets": -drawn.outcomes, "plies": drawn.plies}

    records = played(TIC_TAC_TOE, 8)
    window = {"game": TIC_TAC_TOE, "window_games": 8, "augment": True}
    buffer = ReplayBuffer(**window, own_targets=own, targets=("later_values",))
    buffer.extend(records)
    samples = buffer.sample(64, np.random.default_rng(1))
    legal = samples.legal_action_mask
    np.testing.assert_allclose(samples.policy_targets, legal / legal.sum(1, keepdims=True))
    (drawn,) = seen
    np.testing.assert_array_equal(samples.value_targets, -drawn.value_targets)
    np.testing.assert_array_equal(samples.auxiliary["plies"], drawn.plies)
    np.testing.assert_array_equal(samples.auxiliary["later_values"], drawn.later_values)
    assert set(drawn.plies + drawn.plies_left) <= {len(record) for record in records}
    assert set(drawn.weights_version) == {record.weights_version for record in records}
    for name, array in (("value_targets", np.ones((64, 1))), ("mine", 1.0), ("observations", 1.0)):
        wrong = ReplayBuffer(**window, own_targets=lambda drawn, n=name, a=array: {n: a})
        wrong.extend(records)
        with pytest.raises(SettingError, match=f"{name} of plugins.targets must be"):
            wrong.sample(64, np.random.default_rng(1))


def test_a_list_of_temperatures_replaces_the_schedule() -> None:
    halving = selfplay_settings(temperature=0.75, final_temperature=0.15, temperature_half_life=9.0)
    listed = selfplay_settings(temperatures=tuple(halving.temperature_at(ply) for ply in range(9)))
    assert [listed.temperature_at(ply) for ply in range(9)] == list(listed.temperatures)
    assert listed.temperature_at(500) == listed.temperatures[-1]
    with pytest.raises(SettingError, match=r"selfplay\.temperatures must be 0 or more each"):
        selfplay_settings(temperatures=(1.0, -0.1))
    words = ["search=puct", "selfplay.temperatures=[1,0]", "selfplay.temperature=0.5"]
    with pytest.raises(SettingError, match=r"only with selfplay\.temperatures=\[\]"):
        settings_for(["game=tic_tac_toe", *words], {})
