"""The progress of training: a bar in a terminal, an updated line in a notebook."""

import sys
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console

from azcore.algorithms.display import TrainingDisplay, amount

EVERY = 0.5  # seconds between two updates of the line in a notebook


def display_for(quiet: bool) -> Callable[..., TrainingDisplay]:
    """Builds the output of a training run: see `azcore.commands.train.train_run`."""

    def make(*, console: Console, max_steps: int) -> TrainingDisplay:
        # Plain text also in a notebook, where rich would draw each line as a block of HTML, and
        # take the output for a terminal, since kernels set FORCE_COLOR.
        notebook = _in_notebook()
        terminal = False if notebook else None
        console = Console(soft_wrap=True, force_jupyter=False, force_terminal=terminal, quiet=quiet)
        kind = _NotebookDisplay if notebook and not quiet else TrainingDisplay
        return kind(console=console, max_steps=max_steps)

    return make


def _in_notebook() -> bool:
    """Whether this runs in a Jupyter kernel rather than in a terminal's IPython."""
    shell = sys.modules.get("IPython")
    running: Any = shell.get_ipython() if shell is not None else None
    return running is not None and hasattr(running, "kernel")


class _NotebookDisplay(TrainingDisplay):
    """The bar as one line below the others, updated in place."""

    _handle: Any = None
    _shown = 0.0

    def show(self, description: str, done: float, total: float | None, unit: str) -> None:
        now = time.monotonic()
        if now - self._shown < EVERY:
            return
        self._shown = now
        self._say_in_place(f"{description} {amount(done, total, unit)}")

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if self._handle is not None:
            self._say_in_place(" ")

    def _say_in_place(self, text: str) -> None:
        from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

        content = {"text/plain": text}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
