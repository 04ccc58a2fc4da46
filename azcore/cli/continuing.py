"""The settings of a resumed run and of a fork: the run's own, with a command line's changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from azcore.cli.messages import METHOD, parsed
from azcore.cli.plain import TRAIN, plain_settings
from azcore.cli.plugins import methods
from azcore.errors import SettingError

if TYPE_CHECKING:
    from azcore.storage.run_directory import RunDirectory

# What a resumed run may not change: games in play, weights and windows depend on it.
FIXED = (
    "game",
    "network",
    "seed",
    "selfplay.num_games",
    "selfplay.workers",
    "selfplay.game",
    "gate.enabled",
    "learner.steps_per_generation",
    "supervised.enabled",
    "supervised.held_out",
    "supervised.targets",
    "plugins.algorithm",
)
# Of these, what null leaves open; the run's sizes.json has what was chosen.
OPEN = ("selfplay.num_games", "selfplay.workers", "learner.steps_per_generation")
OF_ITS_OWN = ("seed",)  # which a fork may still change
OF_A_FORK = ("learner.optimizer",)  # what a fork may not change either; else it would fail late


def resumed(config: DictConfig, overrides: list[str]) -> dict[str, Any]:
    """The settings to resume with: the run's own with this command line's changes, and the rest.

    A value that the run has already is not a change, so the command line that began a run resumes
    it with `resume=latest` added.

    Raises:
        SettingError: a change that a resumed run cannot make.
    """
    from azcore.storage.run_directory import find_run

    resume = str(config.resume)
    composed = plain_settings(config)
    if composed["run_dir"] is not None and resume == "latest":
        resume = composed["run_dir"]
    named = {override.key_or_group for override in parsed(overrides)}
    run = find_run(resume, config.game.name if {"game", "game.name"} & named else None)
    if (
        composed["run_dir"] is not None
        and run.path.resolve() != Path(composed["run_dir"]).resolve()
    ):
        raise SettingError(
            f"resume={resume} resumes in the run's own folder, got run_dir={composed['run_dir']}"
        )
    settings = _continued(config, overrides, run, f"resume={config.resume}", is_new=False)
    # Store the latest run found here; a second search could find another.
    return {**settings, "resume": str(run.path) if resume == "latest" else resume}


def forked(config: DictConfig, overrides: list[str]) -> dict[str, Any]:
    """The settings of a fork: those of the continued run, with the changes of the command line.

    Raises:
        SettingError: a change that a fork cannot make.
    """
    from azcore.assembly.entrants import checkpoint_of
    from azcore.storage.run_directory import find_run

    path = checkpoint_of(str(config.fork))
    run = find_run(str(path), config.game.name, "fork")
    return _continued(config, overrides, run, f"fork={config.fork}", is_new=True)


def _continued(
    config: DictConfig, overrides: list[str], run: RunDirectory, asked: str, *, is_new: bool
) -> dict[str, Any]:
    """A run's own settings with this command line's changes, and the rest.

    Args:
        config: composed of the defaults and the command line.
        run: the run whose settings to keep.
        asked: the argument that names the run, for errors.
        is_new: the run continues as a new one, which may choose files of groups and change some
            settings that do not depend on state.
    """
    from azcore.storage.run_settings import OF_MACHINE, flat, read_config, require_received_games

    saved = read_config(run)
    require_received_games(saved, {override.key_or_group for override in parsed(overrides)})
    composed = plain_settings(_with_overlays(config, overrides, saved))

    @cache
    def of_run() -> dict[str, Any]:
        return flat(plain_settings(hydra.compose(TRAIN, _overlays_of(saved))))

    fixed_here = list(FIXED)
    if is_new:
        fixed_here = [key for key in (*FIXED, *OF_A_FORK) if key not in OF_ITS_OWN]
    foreign = set(saved["trainer"]) - (set(composed["trainer"]) - set(OF_MACHINE))
    groups = GlobalHydra.instance().config_loader().list_groups("")
    wanted, has = flat(composed), flat(saved)
    sizes = run.read_sizes().known()
    has |= {key: sizes.get(key.partition(".")[2]) for key in OPEN if has.get(key) is None}
    single = [each.key_or_group for each in parsed(overrides) if each.key_or_group not in groups]
    for override in parsed(overrides):
        key, line = override.key_or_group, override.input_line
        chosen = _chosen(override) if key in groups else []
        is_within = "/" in key  # a group inside another
        if key.partition(".")[0] not in saved and key not in groups and not is_within:
            continue  # not the run's
        own = f"{asked} {'continues' if is_new else 'resumes'} with the run's own {key}, got {line}"
        if override.is_delete() or key == "experiment" or is_within:
            raise SettingError(f"{own}; only individual settings can be overridden")
        if key == "game" and chosen:
            touched = ["game.name"]  # determines which run is the latest
        elif chosen or key == METHOD:
            touched = [at for name in chosen for at in flat(_contents(key, name, of_run))]
            if key == METHOD and not is_new:
                touched += _of_other_methods(chosen, has)
            touched = [
                at
                for at in touched
                if not any(f"{at}.".startswith(f"{other}.") for other in single)
            ]
        else:
            touched = [at for at in wanted if f"{at}.".startswith(f"{key}.")]
        # If its own name differs, as for a scale, report that.
        for at in sorted(touched, key=lambda at: at != key):
            if at.partition(".")[0] not in saved or wanted.get(at) == has.get(at):
                continue
            if at in OPEN and wanted.get(at) is None:
                continue  # as in the run
            if (chosen or key == METHOD) and not (is_new and key != "game"):
                raise SettingError(
                    f"{own}: {at} is {has.get(at)!r} in the run, not {wanted.get(at)!r}; only "
                    f"individual settings can be overridden"
                )
            if any(f"{at}.".startswith(f"{fixed}.") for fixed in fixed_here):
                raise SettingError(
                    f"{asked} cannot change {at}: the run has {has.get(at)!r}, got "
                    f"{wanted.get(at)!r}"
                    + ("; init=RUN takes its weights alone, for any settings" if is_new else "")
                )
            _set(saved, at, wanted[at])
    if foreign:
        raise SettingError(
            f"{run.config} has trainer.{min(foreign)}, which no run can set; remove it there"
        )
    for key in ("trainer", "export"):
        saved[key] = {**composed[key], **saved.get(key, {})}
    return {**composed, **saved}


def _with_overlays(
    config: DictConfig, overrides: list[str], saved: Mapping[str, Any]
) -> DictConfig:
    """The settings composed again with a run's algorithm and scale, if none are named.

    This way current defaults do not count as changes, and methods are compared with the algorithm
    that they were added to.
    """
    named = {override.key_or_group for override in parsed(overrides)}
    missing = [
        word
        for word in _overlays_of(saved)
        if (key := word.partition("=")[0]) not in named and saved[key] != config.get(key)
    ]
    if not missing:
        return config
    return hydra.compose(TRAIN, [*missing, *overrides])


def _overlays_of(saved: Mapping[str, Any]) -> list[str]:
    """The words for a run's algorithm and scale, if files have these names."""
    options = GlobalHydra.instance().config_loader().get_group_options
    return [
        f"{key}={saved[key]}" for key in ("algorithm", "scale") if saved.get(key) in options(key)
    ]


def _chosen(override: Override) -> list[str]:
    """The files of a group that an override selects; empty if it sets values of the group."""
    value: Any = None if override.is_delete() else override.value()
    names = value if isinstance(value, list) else [value]
    return [name for name in names if isinstance(name, str)]


def _of_other_methods(chosen: list[str], has: Mapping[str, Any]) -> list[str]:
    """The keys whose value in a run comes from an unselected method, perhaps by coincidence."""
    from azcore.storage.run_settings import flat

    names = GlobalHydra.instance().config_loader().get_group_options(METHOD)

    @cache
    def before() -> dict[str, Any]:
        return flat(plain_settings(hydra.compose(TRAIN)))

    return [
        at
        for name in names
        if name not in chosen
        for at, value in flat(_contents(METHOD, name, before)).items()
        if has.get(at) == value
    ]


def _contents(group: str, choice: str, before: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """The content of a settings file; if it depends on other choices, its group and its changes.

    Args:
        before: composes the settings without this choice, by key.
    """
    from azcore.storage.run_settings import flat

    if group == METHOD and choice in methods():
        return methods()[choice]
    try:
        contents: Any = OmegaConf.to_container(hydra.compose(f"{group}/{choice}"))
    except HydraException:  # alone, it lacks the other groups
        after = flat(plain_settings(hydra.compose(TRAIN, [f"{group}={choice}"])))
        own = f"{group}."
        return {k: v for k, v in after.items() if f"{k}.".startswith(own) or before().get(k) != v}
    return dict(contents)


def _set(settings: dict[str, Any], key: str, value: Any) -> None:
    *groups, name = key.split(".")
    for group in groups:
        if not isinstance(settings.get(group), dict):
            settings[group] = {}
        settings = settings[group]
    settings[name] = value
