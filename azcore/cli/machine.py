"""Choices that the machine makes for a command line: the `scale` of a new run on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

SCALE = "scale=workstation"
WITHOUT_BF16 = "trainer.precision=32-true"  # for cards that would only emulate it
DEVICES = ("nvidiactl", "dxg")  # in /dev; asking torch takes seconds
# Words that set sizes.
OWN = ("scale", "resume", "fork", "init", "preset", "experiment")


def with_scale(command: str, words: Sequence[str], tell: Callable[[str], None]) -> list[str]:
    """The words of a command line, with a scale added if they set none and there is a GPU.

    Args:
        words: `KEY=VALUE` each, and flags.
        tell: called with a sentence about an added scale.
    """
    keys = {word.partition("=")[0].lstrip("+~") for word in words}
    is_on_cpu = {"device=cpu", "trainer.accelerator=cpu"} & set(words)
    if command != "train" or keys & set(OWN) or is_on_cpu or not (scale := _scale_of_gpu()):
        return list(words)
    tell(f"using {SCALE}, as this machine has a GPU; scale=laptop is smaller")
    settings = (i for i, word in enumerate(words) if "=" in word and not word.startswith("-"))
    first = next(settings, len(words))  # flags and their values stay in place
    return [*words[:first], *scale, *words[first:]]


def _scale_of_gpu() -> list[str]:
    """The words for this machine's GPU; none without one."""
    if not any((Path("/dev") / device).exists() for device in DEVICES):
        return []
    import torch

    if not torch.cuda.is_available():
        return []
    has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    return [SCALE] if has_bf16 else [SCALE, WITHOUT_BF16]
