"""`command=new`: writes the package of a new game, complete and passing the kit.

The template next to this file is itself such a package, for a game called `my_game`, and is linted,
type-checked and tested unchanged; a new package is a copy with that name replaced. For the kind
`plain`, files of a second template replace the compiled ones.
"""

import importlib.util
import keyword
import os
import re
import shlex
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml

from azcore.errors import GameError, SettingError, os_errors_as
from azcore.settings import require

TEMPLATE = "package-template"  # with a hyphen, or builds would take it for a package of azcore
KINDS = {  # template folders; files of later ones replace those of earlier ones
    "compiled": (TEMPLATE,),
    "plain": (TEMPLATE, f"{TEMPLATE}-plain"),
}
TEMPLATE_NAME = "my_game"
# Names that the template's game.py uses; a class of that name would hide them. A Python keyword
# such as None cannot name a class either.
_TAKEN = (
    *("Any", "Board", "BoolArray", "CompiledGame", "Facts", "FloatArray", "Game", "GameError"),
    *("IllegalActionError", "Rules", "State"),
)


def new_package(config: Mapping[str, Any]) -> int:
    """`command=new`: write the package and print the next steps; 0."""
    name, place, kind = config["name"], config["new"], config["kind"]
    folder = place.get("path") if isinstance(place, dict) else place
    if name is None:
        raise SettingError("command=new needs name=NAME, the name of the game")
    require(isinstance(folder, str | int), "new.path", "a folder", folder)  # 7 is a name too
    require(kind in KINDS, "kind", f"one of {', '.join(KINDS)}", kind)
    # Hydra accepts ~ only in quotes, where no shell expands it.
    written = write_package(str(name), Path(os.path.expanduser(str(folder))), kind)
    print(f"{written} holds a complete game for you to change; next:")
    print(f"  pip install -e {shlex.quote(str(written))}")
    print(f"  python -m azcore command=check game={name}")
    print(f"  python -m azcore game={name}")
    return 0


def write_package(name: str, folder: Path, kind: str = "compiled") -> Path:
    """Write the package of a game called `name` into `folder`, which is created if necessary.

    Args:
        name: the name of the game, its package and its folder; a lower-case word such
            as `my_game`.
        kind: `compiled`, with rules that azcore compiles, or `plain`, with any object as state.

    Returns:
        The folder written, `folder / name`.

    Raises:
        SettingError: `name` cannot be used, something of that name exists, or the package cannot be
            written.
    """
    check_name(name)
    target = folder / name
    if target.exists() or target.is_symlink():
        raise SettingError(f"{target} already exists; choose another name")
    title = "".join(word.capitalize() for word in name.split("_"))
    words = {
        TEMPLATE_NAME: name,
        "MyGame": f"{title}Game" if title in _TAKEN or keyword.iskeyword(title) else title,
        "My game": name.replace("_", " ").capitalize(),
    }
    if kind == "plain":
        words['"numba", '] = ""  # of the dependencies
    with os_errors_as(SettingError, f"{target} cannot be written"):
        for template in KINDS[kind]:
            _copy(files("azcore.commands.new") / template, target, words)
    return target


def check_name(name: str) -> None:
    """Refuse a name that cannot be that of a game and of a package.

    Raises:
        SettingError: it is not a lower-case word, or it would hide a Python package.
        GameError: a game of that name is installed.
    """
    # Python allows a _ at the end of a name; distributions do not.
    word = re.fullmatch("[a-z]([a-z0-9_]*[a-z0-9])?", name) and not keyword.iskeyword(name)
    if not word or yaml.safe_load(name) != name:  # YAML reads `on` and `null` as other types
        raise SettingError(f"name must be a lower-case Python name such as my_game, got {name!r}")
    if name in {point.name for point in entry_points(group="azcore.games")}:
        raise GameError(f"a game named {name} is already installed; choose another name")
    if name in sys.stdlib_module_names or _importable(name):
        raise SettingError(f"name must not be that of an installed Python package, got {name!r}")


def _importable(name: str) -> bool:
    spec = importlib.util.find_spec(name)
    # A folder without code counts as a package too, but does no harm.
    return spec is not None and spec.origin is not None


def _copy(source: Traversable, target: Path, words: dict[str, str]) -> None:
    """Copy a folder with `words` replaced in names and texts."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        if entry.name == "__pycache__":  # compiled files of an installed template
            continue
        path = target / _replaced(entry.name, words)
        if entry.is_dir():
            _copy(entry, path, words)
        else:
            path.write_text(_replaced(entry.read_text("utf-8"), words), "utf-8")


def _replaced(text: str, words: dict[str, str]) -> str:
    for old, new in words.items():
        text = text.replace(old, new)
    return text
