"""The command line: `azcore COMMAND KEY=VALUE ...`, one root of Hydra for each command.

Composes the settings, hands them to a command as plain values, and turns whatever input cannot be
used into one sentence on standard error and exit status 2. The only importer of hydra.

Begin at `application.main`. `roots` knows what each command has and shows it, `overrides` holds a
command line against the run it names, `sweep` has what the jobs of a sweep share, `messages` the
sentences for what cannot be read, `old_names` what older command lines said, `status` makes an exit
status of each error, `plugins` finds the settings of installed packages.
"""

from azcore.cli.application import main
from azcore.cli.sweep import Sweep

__all__ = ["Sweep", "main"]
