"""The composed settings as plain values."""

from __future__ import annotations

from typing import Any

from omegaconf import DictConfig, OmegaConf

from azcore.errors import SettingError

NAMES = ("run_dir", "resume", "init", "fork", "checkpoint", "out")  # of files
TRAIN = "train"  # the root of runs


def plain_settings(config: DictConfig) -> dict[str, Any]:
    plain: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    name = (plain.get("game") or {}).get("name")  # a plugin's file may lack it
    if "game" in plain and not isinstance(name, str):
        raise SettingError(f"game.name must be the registry name that conf/game sets, got {name!r}")
    for key in (*NAMES, "device"):  # a folder may be 7
        value = plain.get(key)
        if value is not None:
            plain[key] = list(map(str, value)) if isinstance(value, list) else str(value)
    return dict(plain)
