"""How the page is served; the numbers and their reasons are in `conf/web`."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from azcore.settings import require


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
        for name in ("num_simulations", "visitors", "max_simulations", "memory_mb"):
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
