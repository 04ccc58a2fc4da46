"""`command=report`: writes the report of a run, which may be finished, running or a stranger's."""

from __future__ import annotations

from pathlib import Path

from azcore.assembly.parts import Config
from azcore.errors import SettingError
from azcore.networks.backends import choose_device
from azcore.report.report import write_report
from azcore.storage.run_directory import RunDirectory


def report(config: Config) -> int:
    """Write `report.html` into `run_dir` and print its path; 0.

    Raises:
        SettingError: there is no such run, or its directory cannot be written to.
    """
    if config["run_dir"] is None:
        raise SettingError("command=report needs run_dir=RUN, a run directory")
    run = RunDirectory(Path(str(config["run_dir"])))
    if not any(path.is_file() for path in (run.config, run.metrics, run.records)):
        raise SettingError(
            f"run_dir must be a run directory, with config.yaml, metrics.csv or games/records.azg; "
            f"got {run.path}"
        )
    try:
        page = write_report(run.path, choose_device(config["device"]))
    except OSError as error:
        raise SettingError(f"{run.report} cannot be written: {error.strerror}") from error
    print(f"report {page}, {page.stat().st_size / 1e3:,.0f} kB")
    return 0
