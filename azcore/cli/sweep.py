"""A sweep: its folders, its existing runs, and what follows its last job."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.utils import JobReturn
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from azcore.cli.continuing import OPEN
from azcore.cli.messages import parsed
from azcore.cli.overrides import require_used, require_used_somewhere
from azcore.cli.plain import TRAIN, plain_settings
from azcore.cli.status import contained, refuse, run_command, tell
from azcore.errors import SettingError


class Sweep(Callback):
    """The shared part of a sweep's jobs: names their folders, and runs what follows the last one.

    A failed job does not stop the others; the sweep's exit status reports it.
    """

    def __init__(self) -> None:
        self._statuses: list[int] = []

    def on_multirun_start(self, config: DictConfig, **called: Any) -> None:
        """Name a job's folder by the keys that vary, regardless of the rest of the command line.

        So the same sweep finds its runs again and detects settings that changed meanwhile.
        """
        overrides = parsed(list(config.hydra.overrides.task))
        swept = OmegaConf.select(config, "hydra.sweeper.params") or {}
        varied = {*swept, *(o.key_or_group for o in overrides if o.is_sweep_override())}
        fixed = {override.key_or_group for override in overrides} - varied
        config.hydra.overrides.hydra.append(
            f"hydra.job.config.override_dirname.exclude_keys=[{','.join(sorted(fixed))}]"
        )
        folder = OmegaConf.select(config, "hydra.sweep.dir", throw_on_resolution_failure=False)
        is_begun = folder and any(Path(folder).glob("*/config.yaml"))  # and goes on as it was
        if called["config_name"] != TRAIN or is_begun:
            return
        params = parsed([f"{key}={value}" for key, value in swept.items()])
        try:
            (jobs,) = BasicSweeper.split_arguments([*params, *overrides], None)
            for words in jobs:
                require_used(TRAIN, list(words), swept=True)
            require_used_somewhere(jobs, fixed)
        except HydraException:
            pass  # of a kind that another sweeper tries
        except SettingError as error:
            refuse(str(error))

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **_: Any) -> None:
        if config.hydra.mode == RunMode.MULTIRUN:
            self._statuses.append(int(job_return.return_value or 0))

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        status = max(self._statuses, default=0)
        if status:
            failed = sum(status != 0 for status in self._statuses)
            tell(f"{failed} of {len(self._statuses)} jobs failed; the same command runs the rest")
        if OmegaConf.select(config, "compare.after_sweep"):
            own = [str(key) for key in config if key != "hydra"]
            plain = plain_settings(OmegaConf.masked_copy(config, own))
            settings = {key: plain[key] for key in ("supervised", "device", "backend")}
            settings["run_dir"] = config.hydra.sweep.dir
            settings["arena"] = {**plain["compare"], "runs": [config.hydra.sweep.dir]}
            status = max(status, contained(lambda: run_command("arena", settings)))
        if status:
            sys.exit(status)


def begun(config: dict[str, Any], beside: str) -> dict[str, Any] | None:
    """The settings of a sweep's training job, which resume its run if it exists.

    Returns:
        None if the run is finished.

    Raises:
        SettingError: the run has other settings.
    """
    from azcore.commands.train import BESIDE, is_finished
    from azcore.storage.run_directory import RunDirectory
    from azcore.storage.run_settings import differences, read_config

    run = RunDirectory(Path(config["run_dir"]).absolute())
    if not run.config.exists():
        return {**config, BESIDE: beside}
    saved = read_config(run)
    for group, _, name in (key.partition(".") for key in OPEN):
        if config[group][name] is None:  # as in the run
            config = {**config, group: {**config[group], name: saved[group][name]}}
    if changed := differences(saved, config):
        key, old, new = changed[0]
        raise SettingError(
            f"{config['run_dir']} holds a run with {key} {old!r}, got {new!r}; set another folder "
            "for this sweep with hydra.sweep.dir=DIR"
        )
    if is_finished(run):
        print(f"{run.path} is finished")
        return None
    return {**config, "resume": config["run_dir"]}
