"""The destinations of a run's curves besides metrics.csv: Lightning's loggers, by name.

    tensorboard   event files in logs/
    csv           tables in logs/csv, a version for each start of the run
    wandb         Weights & Biases, project azcore (azcore[wandb]); files in wandb/
    mlflow        MLflow, experiment azcore (azcore[mlflow]); files in logs/mlflow

The last two obey their own environment variables, such as WANDB_MODE=offline, WANDB_DIR and
MLFLOW_TRACKING_URI, which names a server or a database. A package registers another
logger by an entry point of group `azcore.loggers`: a function that takes the run's directory and
returns a logger of Lightning.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from lightning.pytorch import loggers
from lightning.pytorch.loggers import Logger

from azcore.errors import SettingError
from azcore.plugins import loaded, named
from azcore.settings import require
from azcore.storage.run_directory import RunDirectory

GROUP = "azcore.loggers"
PROJECT = "azcore"
Maker = Callable[[RunDirectory], Logger]


def tensorboard(run: RunDirectory) -> Logger:
    return loggers.TensorBoardLogger(run.logs, name="", version="")


@contextlib.contextmanager
def one_error_of_tensorboard() -> Iterator[None]:
    """Keep TensorBoard's writer thread from printing a traceback, during the `with` block.

    Its next write or flush raises the same error, such as a full disk, which azcore reports.
    """
    hook = threading.excepthook

    def print_others(failed: threading.ExceptHookArgs) -> None:
        of_tensorboard = type(failed.thread).__module__.startswith("tensorboard.")
        if not (of_tensorboard and isinstance(failed.exc_value, OSError)):
            hook(failed)

    threading.excepthook = print_others
    try:
        yield
    finally:
        threading.excepthook = hook


def csv(run: RunDirectory) -> Logger:
    return loggers.CSVLogger(run.logs, name="csv")


def wandb(run: RunDirectory) -> Logger:
    # Not in the run, which must hold no links; wandb creates some.
    folder = os.environ.get("WANDB_DIR") or "."
    return loggers.WandbLogger(project=PROJECT, name=run.path.name, save_dir=folder)


def mlflow(run: RunDirectory) -> Logger:
    uri = os.environ.get("MLFLOW_TRACKING_URI")
    if not uri:
        # Files need neither server nor database. MLflow 3 supports them on request.
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        uri = f"file:{(run.logs / 'mlflow').absolute()}"
    return loggers.MLFlowLogger(experiment_name=PROJECT, run_name=run.path.name, tracking_uri=uri)


PACKAGES = {"wandb": ("wandb",), "mlflow": ("mlflow", "mlflow-skinny")}  # one of them is needed
OWN: dict[str, Maker] = {"tensorboard": tensorboard, "csv": csv, "wandb": wandb, "mlflow": mlflow}


def logger_of(name: Any, run: RunDirectory) -> Logger:
    """The logger that `logger=` names.

    Raises:
        SettingError: there is no such logger, or it cannot be made; see `require_library`.
    """
    is_own = isinstance(name, str) and name in OWN
    make: Maker = OWN[name] if is_own else loaded(named(GROUP, name, "logger", *OWN))
    try:
        logger = make(run)
    except SettingError:
        raise
    except Exception as error:  # of a library, or of a third-party package
        raise SettingError(f"logger={name} cannot be created: {error}") from error
    require(
        isinstance(logger, Logger), f"the result of logger={name}", "a Logger of Lightning", logger
    )
    return logger


def require_library(name: Any) -> None:
    """Refuse a logger whose library is missing.

    Raises:
        SettingError: none of its packages is installed.
    """
    if not isinstance(name, str) or name not in PACKAGES:
        return
    for package in PACKAGES[name]:
        try:
            version(package)
        except PackageNotFoundError:
            continue
        return
    raise SettingError(f"logger={name} needs the library {name}: pip install 'azcore[{name}]'")
