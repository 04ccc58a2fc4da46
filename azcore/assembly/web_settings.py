"""How the page is served; the numbers and their reasons are in `conf/web`."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from azcore.settings import build, require


@dataclass(frozen=True, kw_only=True)
class WebSettings:
    """The group `web`."""

    host: str
    port: int
    token: str | None
    open: bool
    beside: bool
    runs: str
    num_simulations: int
    leaves_per_tree: int
    most_seconds: float
    visitors: int
    max_simulations: int
    memory_mb: int
    niceness: int
    share: float
    report_seconds: float

    def __post_init__(self) -> None:
        require(0 <= self.port <= 65535, "web.port", "0 to 65535", self.port)
        require(
            self.token is None or (self.token.isalnum() and self.token.isascii()),
            "web.token",
            "letters and digits, or null",
            self.token,
        )
        require(0 <= self.niceness <= 19, "web.niceness", "0 to 19", self.niceness)
        require(0 < self.share <= 1, "web.share", "above 0, at most 1", self.share)
        for name in (
            "num_simulations",
            "leaves_per_tree",
            "visitors",
            "max_simulations",
            "memory_mb",
        ):
            require(getattr(self, name) >= 1, f"web.{name}", "1 or more", getattr(self, name))
        for name in ("most_seconds", "report_seconds"):
            require(getattr(self, name) > 0, f"web.{name}", "above 0", getattr(self, name))
        require(
            self.num_simulations <= self.max_simulations,
            "web.num_simulations",
            f"at most web.max_simulations={self.max_simulations}",
            self.num_simulations,
        )

    @property
    def is_private(self) -> bool:
        """Whether only this machine can reach the page."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def web_settings(config: Mapping[str, Any]) -> WebSettings:
    """The group `web`; beside a run it has a search of its own, in command=web that is `search`.

    Raises:
        SettingError: a setting cannot be used.
    """
    group = config["web"]
    require(isinstance(group, Mapping), "web", "settings by name", group)
    homes = {key: "search" for key in ("num_simulations", "leaves_per_tree") if key not in group}
    own = {key: config[home][key] for key, home in homes.items()}
    return build(WebSettings, {"beside": False, **own, **group}, "web", homes)
