"""`logger=`: where curves go. Libraries that are not installed are stood in for."""

from __future__ import annotations

import csv
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch import loggers
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

from azcore import plugins
from azcore.algorithms import loggers as module
from azcore.algorithms.loggers import logger_of
from azcore.commands.train import train
from azcore.errors import SettingError
from azcore.storage.run_directory import RunDirectory

Compose = Callable[..., dict[str, Any]]


def test_tables_hold_the_curves_and_the_settings(tiny: Compose, tmp_path: Path) -> None:
    assert train(tiny("run_dir=run", "trainer.max_steps=8", "logger=csv")) == 0
    folder = tmp_path / "run/logs/csv/version_0"
    with (folder / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    games = [float(row["selfplay/games"]) for row in rows if row.get("selfplay/games")]
    with (tmp_path / "run/metrics.csv").open(newline="") as file:
        assert games == [float(row["games"]) for row in csv.DictReader(file)]
    assert "search.num_simulations" in (folder / "hparams.yaml").read_text()
    assert not list((tmp_path / "run/logs").glob("events.*"))


class Kept(CSVLogger):
    """What a logger of a library that is not here was made with."""

    made: dict[str, Any]

    def __init__(self, **arguments: Any) -> None:
        super().__init__(".")
        self.made = arguments


def made(name: str, run: RunDirectory) -> dict[str, Any]:
    logger = logger_of(name, run)
    assert isinstance(logger, Kept)
    return logger.made


def test_what_libraries_are_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "version", lambda _: "1.0")
    monkeypatch.setattr(loggers, "WandbLogger", Kept)
    monkeypatch.setattr(loggers, "MLFlowLogger", Kept)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("WANDB_DIR", raising=False)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # which is restored behind the test
    run = RunDirectory(tmp_path / "mine")
    assert made("wandb", run) == {"project": "azcore", "name": "mine", "save_dir": "."}
    assert made("mlflow", run) == {
        "experiment_name": "azcore",
        "run_name": "mine",
        "tracking_uri": f"file:{run.logs / 'mlflow'}",
    }
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:5000")
    assert made("mlflow", run)["tracking_uri"] == "http://127.0.0.1:5000"


def of_a_package(run: RunDirectory) -> CSVLogger:
    return CSVLogger(run.logs, name="package")


def no_logger(run: RunDirectory) -> int:
    return 3


def test_packages_may_offer_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    points = [
        EntryPoint(name, f"{__name__}:{value}", "azcore.loggers")
        for name, value in (("mine", "of_a_package"), ("odd", "no_logger"), ("gone", "nothing"))
    ]
    monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.value.split(":")[1]])
    monkeypatch.setattr(plugins, "entry_points", lambda group: points)
    run = RunDirectory(tmp_path / "run")
    assert isinstance(logger_of("mine", run), CSVLogger)
    assert isinstance(logger_of("tensorboard", run), TensorBoardLogger)
    with pytest.raises(
        SettingError, match="the result of logger=odd must be a Logger of Lightning"
    ):
        logger_of("odd", run)
    with pytest.raises(SettingError, match=r"gone in azcore\.loggers cannot be loaded"):
        logger_of("gone", run)
    with pytest.raises(SettingError, match="logger must be one of csv, gone, mine, mlflow"):
        logger_of("paper", run)


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_missing_library_is_named(
    azcore: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def missing(package: str) -> str:
        raise module.PackageNotFoundError(package)

    monkeypatch.setattr(module, "version", missing)
    status, _, error = azcore("game=tic_tac_toe", f"logger={name}", "run_dir=run")
    assert status == 2
    assert f"logger={name} needs the library {name}: pip install 'azcore[{name}]'" in error
    assert not Path("run").exists()
