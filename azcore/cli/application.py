"""The Hydra application: turns a command line into the settings of a command and runs it."""

from __future__ import annotations

import argparse
import io
import os
import sys

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, OverrideParseException
from hydra.types import RunMode
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from azcore import interrupts
from azcore.cli import roots
from azcore.cli.composition import understood
from azcore.cli.messages import composition_error, unreadable, wrong_choice
from azcore.cli.old_names import command_of
from azcore.cli.overrides import require_used, settings_of, with_defaults
from azcore.cli.plain import TRAIN
from azcore.cli.plugins import register
from azcore.cli.status import contained, refuse, run_command, tell
from azcore.cli.sweep import begun
from azcore.errors import SettingError
from azcore.version import __version__

_began: float | None = None  # of time.monotonic(), when the process began; None after its first job


def _job(config: DictConfig) -> int:
    """Run one composed command line. Returns its exit status."""
    job = HydraConfig.get()
    command = str(job.job.config_name)
    overrides, swept = list(job.overrides.task), job.mode == RunMode.MULTIRUN
    require_used(command, overrides, swept=swept)
    if swept and config.get("resume") is not None:
        raise SettingError(
            f"resume={config.resume} resumes one run; to resume a sweep, repeat its command"
        )
    shared = job.job.config.override_dirname.exclude_keys if swept else ()
    plain = settings_of(command, config, overrides, shared=shared)
    if command == TRAIN:
        global _began
        plain["began"], _began = _began, None
        plain = with_defaults(plain)
    if not swept:
        return run_command(command, plain)
    if "run_dir" in plain and plain["run_dir"] is None:
        plain["run_dir"] = os.path.join(job.sweep.dir, job.sweep.subdir)
    settings = begun(plain, job.sweep.dir) if command == TRAIN else plain
    return 0 if settings is None else run_command(command, settings)


def _application(config: DictConfig) -> int:
    """The function that Hydra calls with the composed settings."""
    is_sweep = HydraConfig.get().mode == RunMode.MULTIRUN
    status = contained(lambda: _job(config))
    if status == interrupts.STATUS or (status and not is_sweep):  # Ctrl-C ends the whole sweep
        sys.exit(status)
    return status


def main(began: float | None = None) -> None:
    """Entry point: reports any unusable request in one sentence, with status 2.

    Args:
        began: `time.monotonic()` when the process began, from which a run counts its time.
    """
    global _began
    _began = began
    # Hydra must pass errors to us instead of printing them.
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    # Threads of a network spin for some microseconds while they wait, then sleep. With one of 2
    # cores busy elsewhere, this evaluated 4,600 positions/s; the default, to keep spinning, 290;
    # on a quiet machine both evaluated 8,400. Read when torch is first imported.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    if sys.version_info >= (3, 14):
        # Hydra 1.3 passes an object as an option's help; argparse now requires a string.
        argparse.ArgumentParser._check_help = lambda self, action: None  # type: ignore[attr-defined]
    try:
        register()
        command, words = command_of(sys.argv[1:], tell)
    except SettingError as error:
        refuse(str(error))
    if isinstance(sys.stdout, io.TextIOWrapper):  # a locale may lack characters such as ±
        sys.stdout.reconfigure(errors="replace")
    is_named = {command, f"command={command}"} & set(sys.argv[1:])
    try:
        if {"--help", "-h"} & set(words):
            print(roots.usage_of(command) if is_named else roots.usage(), flush=True)
        elif "--version" in words:
            print(f"azcore {__version__}", flush=True)
        else:
            sys.argv[1:] = understood(command, words)
            hydra.main("pkg://azcore.conf", command, version_base="1.3")(_application)()
    except OverrideParseException as error:
        refuse(unreadable(error.override))
    except (HydraException, OmegaConfBaseException) as error:  # or a ${...} that cannot be resolved
        refuse(composition_error(command, str(error), sys.argv[1:]))
    except (TypeError, ValueError):
        wrong = wrong_choice(sys.argv[1:])  # such as game=3
        if wrong is None:
            raise
        refuse(wrong)
    except YAMLError as error:
        refuse(f"a settings file is not valid YAML: {error}")
    except KeyboardInterrupt:
        sys.exit(interrupts.STATUS)
    except BrokenPipeError:  # the reader of our output has exited
        sys.stderr.close()
        sys.exit(1)
