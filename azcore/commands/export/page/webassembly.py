"""Compiles the rules of a game to WebAssembly, from the same source that runs here.

numba compiles each rule to LLVM's intermediate representation (IR), in a process of its own
(`objects.py`). LLVM compiles that for WebAssembly instead of this processor, and LLD, which the
package `ziglang` contains, links the results into one module. Each function of the module is
`(state, buffer, number) -> int32`, where the first two are addresses in its memory.

The module imports what numba's code calls: `NRT_MemInfo_alloc_aligned` for arrays that a rule
creates, functions of C such as `exp`, and functions that raise errors. `static/rules.mjs` has them.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from azcore.errors import AzcoreError, SettingError
from azcore.game import CompiledGame
from azcore.game.compiled import RULES

LINK = ("--no-entry", "--allow-undefined", "--gc-sections", "--strip-all", "-O2")
STACK = ("--stack-first", "-z", "stack-size=1048576")  # at address 0, so that overflow traps
COMPILING = "azcore.commands.export.page.objects"
PLAIN = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_JIT": "0"}


def module_of(game: CompiledGame) -> bytes:
    """The rules of a game as a WebAssembly module.

    Raises:
        SettingError: the library ziglang is not installed.
        AzcoreError: the rules cannot be compiled for WebAssembly.
    """
    if find_spec("ziglang") is None:
        raise SettingError("what=page needs the linker in ziglang: pip install 'azcore[page]'")
    asked = json.dumps({"name": game.name, **game.settings})
    paths = os.pathsep.join(path for path in sys.path if path)
    with TemporaryDirectory() as folder:
        _run(
            [sys.executable, "-m", COMPILING, folder, asked],
            {**os.environ, **PLAIN, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": folder},
            f"compile the rules of {game.name}",
        )
        out = Path(folder, "rules.wasm")
        objects = sorted(str(path) for path in Path(folder).glob("*.o"))
        exports = [f"--export={rule}" for rule in RULES]
        linker = [sys.executable, "-m", "ziglang", "wasm-ld"]
        _run(
            [*linker, *LINK, *STACK, "--export=__heap_base", *exports, *objects, "-o", str(out)],
            dict(os.environ),
            f"link the rules of {game.name}",
        )
        return out.read_bytes()


def _run(command: list[str], environment: dict[str, str], purpose: str) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip() or f"status {done.returncode}").splitlines()[-1]
        raise AzcoreError(f"cannot {purpose} for WebAssembly: {last}")
