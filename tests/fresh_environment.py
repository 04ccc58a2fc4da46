"""A virtual environment made for one test, in which packages of games are installed as people do.

It sees the packages of the environment that runs the tests, so nothing is fetched.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PIP = """\
#!/bin/sh
# pip as a reader types it, without an index: what is needed to build is here already.
[ "$1" = install ] && shift && set -- install --quiet --no-deps --no-build-isolation "$@"
exec python -m pip --disable-pip-version-check "$@"
"""
# Command lines of Python one after the other, with the status of each: torch is imported once.
_TOGETHER = """\
import json, runpy, sys
for words in json.loads(sys.argv[1]):
    status = 0
    try:
        if words[0] == "-m":
            sys.argv = words[1:]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = words
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as ended:
        status = ended.code or 0
    for stream in (sys.stdout, sys.stderr):
        print("status", status, file=stream, flush=True)
"""


@dataclass(frozen=True)
class FreshEnvironment:
    """One environment. `run` starts commands in it as from an activated shell."""

    path: Path

    @classmethod
    def make(cls, path: Path) -> FreshEnvironment:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", path], check=True)
        packages = next((path / "lib").glob("python*/site-packages"))
        parent = sysconfig.get_paths()["purelib"]
        # With its .pth files, by which azcore itself may be installed.
        (packages / "parent.pth").write_text(f"import site; site.addsitedir({parent!r})\n")
        pip = path / "bin/pip"
        pip.write_text(_PIP)
        pip.chmod(0o755)
        return cls(path)

    def run(self, script: str, folder: Path, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run lines of shell in `folder`, stopping at the first that fails.

        Args:
            script: the lines.
            folder: where to.
            given: standard input.
        """
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "HYDRA"))}
        environment["PATH"] = f"{self.path / 'bin'}{os.pathsep}{environment['PATH']}"
        environment["VIRTUAL_ENV"] = str(self.path)
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env=environment,
            input=given,
            text=True,
            capture_output=True,
            check=False,
        )

    def succeed(self, script: str, folder: Path, given: str = "") -> str:
        """`run` that must end with status 0; what it printed."""
        done = self.run(script, folder, given)
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def run_together(
        self, lines: Sequence[str], folder: Path, given: str = ""
    ) -> list[subprocess.CompletedProcess[str]]:
        """Run lines that begin with `python` in one process, whatever the status of each."""
        words = [shlex.split(line) for line in lines]
        assert all(first == "python" for first, *_ in words)
        script = folder / "together.py"
        script.write_text(_TOGETHER)
        arguments = shlex.quote(json.dumps([rest for _, *rest in words]))
        done = self.run(f"python {script} {arguments}", folder, given)
        script.unlink()
        said, told = (
            re.split(r"^status (\d+)\n", text, flags=re.M) for text in (done.stdout, done.stderr)
        )
        assert len(said) == 2 * len(lines) + 1, f"{lines}\n{done.stdout}\n{done.stderr}"
        return [
            subprocess.CompletedProcess(line, int(said[2 * n + 1]), said[2 * n], told[2 * n])
            for n, line in enumerate(lines)
        ]

    def succeed_together(self, lines: Sequence[str], folder: Path, given: str = "") -> list[str]:
        """`run_together` in which each must end with status 0; what each printed."""
        ended = self.run_together(lines, folder, given)
        for done in ended:
            assert done.returncode == 0, f"{done.args}\n{done.stdout}\n{done.stderr}"
        return [done.stdout for done in ended]
