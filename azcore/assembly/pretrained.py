"""Networks that installed games ship: `pretrained/NAME` works wherever a checkpoint does.

A game's package may have a folder `pretrained` next to the module of its class, with checkpoints
written by `what=checkpoint` of `command=export`. `pretrained` alone is the one for the configured
game. A folder NAME beside NAME.ckpt, written by `what=story`, is its story: the run that trained
it, as a run directory. `pretrained/NAME@story` works wherever a run does.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from azcore.errors import SettingError
from azcore.game.registry import installed_games
from azcore.storage.checkpoint import KEY, read_player

WORD = "pretrained"
STORY = "@story"


def is_pretrained(text: str) -> bool:
    """Whether a text names shipped networks, not a file or folder of the user's."""
    return text.partition("/")[0] == WORD and not Path(text).exists()


def shipped() -> dict[str, Path]:
    """The checkpoints of all installed games by name, without reading them.

    Raises:
        SettingError: two games ship the same name.
    """
    found: dict[str, Path] = {}
    for folder in sorted({_folder(point.module) for point in installed_games().values()}):
        for path in sorted(folder.glob("*.ckpt")):
            if found.setdefault(path.stem, path) != path:
                raise SettingError(
                    f"two games ship a network named {path.stem}: {found[path.stem]} and {path}"
                )
    return found


def stories() -> dict[str, Path]:
    """The run directories of the shipped networks that have one, by name.

    Raises:
        SettingError: as `shipped`.
    """
    folders = {name: path.with_suffix("") for name, path in shipped().items()}
    return {name: folder for name, folder in folders.items() if folder.is_dir()}


def named_stories() -> dict[str, Path]:
    """`stories` by the texts that name them, `pretrained/NAME@story`."""
    return {f"{WORD}/{name}{STORY}": folder for name, folder in stories().items()}


def in_place_of_story(text: str) -> str:
    """A text that names a run or its checkpoint, with a story's name replaced by its folder.

    Raises:
        SettingError: it names a story that no game ships; the message lists those that do.
    """
    if not is_pretrained(text) or STORY not in text:
        return text
    name, story, rest = text.partition(STORY)
    there = named_stories()
    if (folder := there.get(name + story)) is None:
        raise SettingError(
            f"there is no story {text}; shipped stories: {', '.join(there) or 'none'}"
        )
    return f"{folder}{rest}"


def _folder(module: str) -> Path:
    """The folder of shipped networks next to a module, which may not exist."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):  # an unimportable package ships nothing
        spec = None
    return Path(spec.origin if spec and spec.origin else module).parent / WORD


def pretrained(text: str) -> Path:
    """The checkpoint that `pretrained/NAME` names.

    Raises:
        SettingError: no network has that name; the message lists the existing ones.
    """
    networks = shipped()
    name = text.partition("/")[2]
    if name not in networks:
        names = ", ".join(f"{WORD}/{each}" for each in networks) or "none"
        raise SettingError(f"there is no network {text}; shipped networks: {names}")
    return networks[name]


def pretrained_for(game: Mapping[str, Any]) -> str:
    """`pretrained/NAME` of the network for a configured game, or else for the game's name.

    Args:
        game: the game's name and settings, plain values.

    Raises:
        SettingError: none ships for it.
    """
    networks = shipped()
    of_game = []
    for name, path in networks.items():
        identity = read_player(path)[KEY]["game"]
        if identity["name"] != game["name"]:
            continue
        if all(game.get(key, value) == value for key, value in identity["settings"].items()):
            return f"{WORD}/{name}"
        of_game.append(f"{WORD}/{name}")
    others = ", ".join(of_game or [f"{WORD}/{name}" for name in networks]) or "none"
    raise SettingError(
        f"{WORD}: no network ships for game={game['name']} with these settings; available: {others}"
    )
