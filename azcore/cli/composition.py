"""Settings without a command line: composed by the library, and used by a command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException, OverrideParseException
from omegaconf.errors import OmegaConfBaseException

from azcore.cli import roots
from azcore.cli.machine import with_scale
from azcore.cli.messages import composition_error, unreadable, wrong_choice
from azcore.cli.old_names import command_of, renamed
from azcore.cli.overrides import require_used, settings_of, with_defaults
from azcore.cli.plugins import register
from azcore.cli.status import tell
from azcore.errors import AzcoreError, SettingError

OF_GAME = "selfplay.game."  # whose keys differ between games


def settings_for(
    arguments: Sequence[str], games: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The settings that a command line of these arguments would pass to its command.

    Args:
        arguments: `KEY=VALUE` each.
        games: settings of games without a settings file, by name.

    Raises:
        SettingError: an argument cannot be read, or does not apply to its command.
        AzcoreError: what an argument names cannot be used.
    """
    register()
    for name, settings in games.items():
        ConfigStore.instance().store(group="game", name=name, node={"name": name, **settings})
    command, words = command_of(arguments, tell)
    asked = understood(command, words)
    with _apart():
        try:
            with _initialized():
                config = hydra.compose(command, asked)
                require_used(command, asked, swept=False)
                return settings_of(command, config, asked)
        except AzcoreError:
            raise
        except OverrideParseException as error:
            raise SettingError(unreadable(error.override)) from None
        except (HydraException, OmegaConfBaseException) as error:
            raise SettingError(composition_error(command, str(error), asked)) from None
        except (TypeError, ValueError):
            if (wrong := wrong_choice(asked)) is None:
                raise
            raise SettingError(wrong) from None


def understood(command: str, words: Sequence[str]) -> list[str]:
    """The words of a command line in a form that Hydra accepts.

    It uses the current names of settings, fills in the machine's choices, and accepts a setting of
    the game for self-play that is in no file.
    """
    asked = with_scale(command, renamed(command, words, tell), tell)
    if not roots.has(command, "selfplay.game"):
        return asked
    return [f"++{word}" if word.startswith(OF_GAME) and "=" in word else word for word in asked]


def beside_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A run's settings, with the defaults of those that differ."""
    register()
    with _apart(), _initialized():
        return with_defaults(dict(settings))


def _initialized() -> AbstractContextManager[None]:
    return hydra.initialize_config_module("azcore.conf", version_base="1.3")


@contextmanager
def _apart() -> Iterator[None]:
    """Isolates Hydra from a program's own use of it; error messages initialise it again."""
    theirs = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        yield
    finally:
        GlobalHydra.instance().hydra = theirs
