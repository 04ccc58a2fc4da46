"""Where Hydra looks for settings: `conf` of azcore and of each installed plugin."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from azcore.errors import SettingError


class PluginConfigs(SearchPathPlugin):
    """Lets the package of an installed game or network bring its own `conf` folder."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        groups = ("azcore.games", "azcore.networks", "azcore.evaluators")
        packages = {p.module.split(".")[0] for group in groups for p in entry_points(group=group)}
        for package in sorted(packages - {"azcore"}):
            for folder in package_folders(package):
                if (folder / "conf").is_dir():
                    search_path.append(provider=package, path=f"file://{folder / 'conf'}")


@cache  # once is enough
def register() -> None:
    """Tell Hydra of these places, before it composes anything.

    Raises:
        SettingError: azcore's own settings are not where it was imported from. Python looks in the
            current folder first: there it finds the sources, whose `conf` only an installation of
            them provides.
    """
    if find_spec("azcore.conf") is None:
        sources = Path(__file__).parents[2]
        raise SettingError(
            f"azcore is run from {sources}, whose sources are not installed: run it in another "
            f"folder, or pip install -e {sources}"
        )
    Plugins.instance().register(PluginConfigs)


def package_folders(package: str) -> list[Path]:
    """Where a package lies; nothing of it is run, so a mistake in one game stops no other."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return []
    return [Path(place) for place in (spec and spec.submodule_search_locations) or []]
