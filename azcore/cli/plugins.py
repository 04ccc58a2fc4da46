"""Where Hydra looks for settings: `conf` of azcore and of each installed plugin.

`conf/methods.yaml` is a table of choices of the group `method`, each of which sets one key.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf

from azcore.errors import SettingError
from azcore.plugins import package_folders, packages


class PluginConfigs(SearchPathPlugin):
    """Lets each package that extends azcore bring its own `conf` folder."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for package, folder in plugin_folders():
            search_path.append(provider=package, path=f"file://{folder}")


def plugin_folders() -> Iterator[tuple[str, Path]]:
    """Each package that extends azcore, with its `conf`, if it has one."""
    for package in sorted(packages()):
        folders = [place / "conf" for place in package_folders(package)]
        yield from ((package, folder) for folder in folders if folder.is_dir())


@cache  # once is enough
def register() -> None:
    """Register these places and the table with Hydra, before it composes anything.

    Raises:
        SettingError: azcore's own settings are not where it was imported from. Python looks in the
            current folder first and may find sources there, whose `conf` only their installation
            provides.
        SettingError: a package has a method of the same name as one of azcore's.
    """
    if find_spec("azcore.conf") is None:
        sources = Path(__file__).parents[2]
        raise SettingError(
            f"azcore runs from the sources in {sources}, which are not installed: run it in "
            f"another folder, or pip install -e {sources}"
        )
    for package, folder in plugin_folders():
        for file in sorted((folder / "method").glob("*.yaml")):
            if keys_of_method(file.stem):
                raise SettingError(
                    f"{file}: azcore has a method of this name; {package} must rename its own"
                )
    Plugins.instance().register(PluginConfigs)
    for name, settings in methods().items():
        node = OmegaConf.create()
        for key, value in settings.items():
            OmegaConf.update(node, key, value, force_add=True)
        ConfigStore.instance().store(group="method", name=name, node=node, package="_global_")


@cache
def methods() -> dict[str, dict[str, Any]]:
    """The settings of each method in `conf/methods.yaml`, by key."""
    text = files("azcore.conf").joinpath("methods.yaml").read_text(encoding="utf-8")
    table: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return table


def keys_of_method(name: str) -> list[str]:
    """The settings of one of azcore's methods; empty for a plugin's."""
    if name in methods():
        return list(methods()[name])
    file = files("azcore.conf").joinpath("method", f"{name}.yaml")
    if not file.is_file():
        return []
    found, left = list[str](), list(yaml.safe_load(file.read_text(encoding="utf-8")).items())
    for key, value in left:
        if isinstance(value, dict):
            left += [(f"{key}.{below}", kept) for below, kept in value.items()]
        elif key != "defaults":
            found.append(key)
    return found
