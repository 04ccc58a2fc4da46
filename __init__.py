"""For a script beside a clone: Python takes this folder for the package, and finds that one here.

Where `~/code/azcore` is a clone, `import azcore` in `~/code/script.py` begins in this file, before
Python looks for what is installed.
"""

from pathlib import Path

_package = Path(__file__).parent / "azcore"
__path__ = [str(_package)]
__file__ = str(_package / "__init__.py")
exec(compile(Path(__file__).read_bytes(), __file__, "exec"))
