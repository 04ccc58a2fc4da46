"""The command line: `azcore COMMAND KEY=VALUE ...`, one root of Hydra for each command.

Composes the settings, passes them to a command as plain values, and reports unusable input in one
sentence on standard error and exit status 2. Hydra is imported only here.

Begin at `application.main`. `roots` defines and prints the settings of each command, `overrides`
refuses those that a command does not use, `continuing` applies a command line to the run that it
resumes or forks, `plain` turns composed settings into plain values, `sweep` holds what the jobs of
a sweep share,
`messages` the errors about unreadable input, `old_names` the names of older command lines; `status`
maps each error to an exit status, `plugins` finds the settings of installed packages.
"""

from azcore.cli.application import main
from azcore.cli.sweep import Sweep

__all__ = ["Sweep", "main"]
