"""The settings of `command=export`, the group `export`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from azcore.settings import build, require


@dataclass(frozen=True, kw_only=True)
class ExportSettings:
    """Which games become files, and where; the comments are in `conf/export`."""

    games: str | None
    format: str | None
    out: str | None
    first: int
    count: int | None
    per_generation: int
    position: str | None
    ply: int | None
    flip: bool
    letters: bool
    theme: str
    width: int

    def __post_init__(self) -> None:
        require(self.first >= 0, "export.first", "0 or more", self.first)
        require(
            self.count is None or self.count >= 1,
            "export.count",
            "1 or more, or null for all",
            self.count,
        )
        require(self.per_generation >= 0, "export.per_generation", "0 or more", self.per_generation)
        require(self.ply is None or self.ply >= 0, "export.ply", "0 or more, or null", self.ply)
        require(self.theme in ("light", "dark"), "export.theme", "light or dark", self.theme)
        require(16 <= self.width <= 8192, "export.width", "16 to 8192 pixels", self.width)


LEFT_OUT: Mapping[str, Any] = {  # by command=train, and what it alone has
    **dict.fromkeys(("count", "ply")),
    **{"first": 0, "flip": False, "letters": False, "theme": "light", "width": 800},
    "per_generation": 0,
}


def export_settings(values: Mapping[str, Any]) -> ExportSettings:
    """The settings of the group `export`.

    Raises:
        SettingError: one of them cannot be used.
    """
    texts = {  # a folder's name such as 7 is read as a number
        key: None if values.get(key) is None else str(values[key])
        for key in ("games", "out", "position")
    }
    return build(ExportSettings, {**LEFT_OUT, **values, **texts}, "export")
