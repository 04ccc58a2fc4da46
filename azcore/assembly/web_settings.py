"""How to serve the page; the numbers and their reasons are in `conf/web`."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from azcore.settings import ONE_OR_MORE, POSITIVE, Test, build_group, require, require_each


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
        tests: dict[str, Test] = {
            "port": (lambda port: 0 <= port <= 65535, "0 to 65535"),
            "token": (
                lambda token: token.isalnum() and token.isascii(),
                "letters and digits, or null",
            ),
            "niceness": (lambda niceness: 0 <= niceness <= 19, "0 to 19"),
            "share": (lambda share: 0 < share <= 1, "above 0, at most 1"),
            "num_simulations": ONE_OR_MORE,
            "leaves_per_tree": ONE_OR_MORE,
            "visitors": ONE_OR_MORE,
            "max_simulations": ONE_OR_MORE,
            "memory_mb": ONE_OR_MORE,
            "most_seconds": POSITIVE,
            "report_seconds": POSITIVE,
        }
        require_each(self, "web", tests)
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
    """The group `web`; next to a run it has its own search, in command=web that is `search`.

    Raises:
        SettingError: a setting cannot be used.
    """
    own = ("num_simulations", "leaves_per_tree")
    return build_group(WebSettings, config, "web", {"beside": False}, own)
