"""What a command line leaves to the machine: `scale` of a run that begins on one with a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

SCALE = "scale=workstation"
DEVICE = Path("/dev/nvidia0")  # asking torch takes seconds
OWN = ("scale", "resume", "fork", "preset", "experiment")  # words that choose or bring sizes


def with_scale(command: str, words: Sequence[str], tell: Callable[[str], None]) -> list[str]:
    """The words of a command line, with a scale if they name none and this machine has a GPU.

    Args:
        command: that they are for.
        words: `KEY=VALUE` each.
        tell: called with a sentence where it does.
    """
    named = {word.partition("=")[0].lstrip("+~") for word in words}
    is_on_cpu = {"device=cpu", "trainer.accelerator=cpu"} & set(words)
    if command != "train" or named & set(OWN) or is_on_cpu or not _has_gpu():
        return list(words)
    tell(f"{SCALE}, as this machine has a GPU; scale=laptop is the small one")
    return [SCALE, *words]


def _has_gpu() -> bool:
    if not DEVICE.exists():
        return False
    import torch

    return torch.cuda.is_available()
