"""Measurements that need their own process: start time, peak memory, fewer cores."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from azcore.assembly.parts import Config
from azcore.errors import AzcoreError

# Set the cores before importing torch, which counts them.
_CODE = """
import json, os, sys
function, cores, arguments = json.load(sys.stdin)
if cores:
    os.sched_setaffinity(0, cores)
from pkgutil import resolve_name
print(json.dumps(resolve_name(function)(*arguments)))
"""


def in_new_process(
    function: str,
    config: Config,
    *arguments: Any,
    cores: Sequence[int] = (),
    environment: dict[str, str] | None = None,
) -> Any:
    """The result of a function that runs in a new Python process.

    Args:
        function: as `azcore.commands.bench.ready:first_move`; takes the configuration and the
            arguments.
        arguments: plain values.
        cores: the cores it may use; empty: this process's cores.

    Raises:
        AzcoreError: the process failed; its output is on standard error.
    """
    done = subprocess.run(
        [sys.executable, "-c", _CODE],
        input=json.dumps([function, list(cores), [config, *arguments]]),
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    if done.returncode != 0:
        raise AzcoreError(f"{function} in its own process exited with status {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])
