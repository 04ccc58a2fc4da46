"""A virtual environment made for one test, in which packages of games are installed as people do.

It sees the packages of the environment that runs the tests, so nothing is fetched.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

_PIP = """\
#!/bin/sh
# pip as a reader types it, without an index: what is needed to build is here already.
[ "$1" = install ] && shift && set -- install --quiet --no-deps --no-build-isolation "$@"
exec python -m pip --disable-pip-version-check "$@"
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
