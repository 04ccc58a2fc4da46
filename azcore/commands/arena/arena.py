"""`command=arena`: plays a tournament, or a comparison of runs."""

from azcore.assembly.parts import Config
from azcore.commands.arena.comparison import comparison
from azcore.commands.arena.tournament import tournament


def arena(config: Config) -> int:
    """Play, rate and save. Returns 0, or 130 after an interrupt.

    Raises:
        AzcoreError: a setting, a player or a run cannot be used; matches already played stay saved.
    """
    return comparison(config) if "runs" in config["arena"] else tournament(config)
