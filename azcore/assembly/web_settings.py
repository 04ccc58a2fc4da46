"""The settings of the page; the numbers and their reasons are in `conf/web`."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from azcore.settings import (
    ABOVE_0_AT_MOST_1,
    ONE_OR_MORE,
    POSITIVE,
    Checked,
    Test,
    build_group,
    require,
    within,
)

TOKEN: Test = (lambda token: token.isalnum() and token.isascii(), "letters and digits, or null")


@dataclass(frozen=True, kw_only=True)
class WebSettings(Checked, group="web"):
    """The group `web`."""

    host: str
    port: Annotated[int, (lambda port: 0 <= port <= 65535, "0 to 65535")]
    token: Annotated[str | None, TOKEN]
    open: bool
    beside: bool
    runs: str
    num_simulations: Annotated[int, ONE_OR_MORE]
    leaves_per_tree: Annotated[int, ONE_OR_MORE]
    most_seconds: Annotated[float, POSITIVE]
    visitors: Annotated[int, ONE_OR_MORE]
    max_simulations: Annotated[int, ONE_OR_MORE]
    memory_mb: Annotated[int, ONE_OR_MORE]
    niceness: Annotated[int, within(0, 19)]
    share: Annotated[float, ABOVE_0_AT_MOST_1]
    report_seconds: Annotated[float, POSITIVE]

    def __post_init__(self) -> None:
        super().__post_init__()
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
    """The group `web`; next to a run it has its own search, in command=web it uses `search`.

    Raises:
        SettingError: a setting cannot be used.
    """
    own = ("num_simulations", "leaves_per_tree")
    return build_group(WebSettings, config, "web", {"beside": False}, own)
