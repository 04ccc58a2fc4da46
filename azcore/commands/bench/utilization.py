"""The utilisation of a GPU while something runs, as reported by `nvidia-smi`."""

import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

HEADER = "seconds,utilization_percent"


class Trace:
    """Samples as they arrive: (seconds since the start, percent of time the GPU was busy)."""

    def __init__(self) -> None:
        self.samples: list[tuple[float, float]] = []

    @property
    def median(self) -> float | None:
        """The median of all samples; None if there are none."""
        return statistics.median(busy for _, busy in self.samples) if self.samples else None


def gpu_of(device: torch.device) -> str | None:
    """The name of a torch device for `nvidia-smi -i`; None if it is not an NVIDIA GPU."""
    if device.type != "cuda" or torch.version.cuda is None:
        return None
    return f"GPU-{torch.cuda.get_device_properties(device).uuid}"


@contextmanager
def traced(gpu: str | None, every_ms: int, path: Path) -> Iterator[Trace]:
    """Sample a GPU while the block runs, and write the samples to a CSV file.

    Args:
        gpu: as `gpu_of` returns it; None: nothing is sampled or written.
        every_ms: milliseconds between two samples.
    """
    trace = Trace()
    process = None if gpu is None else _started(gpu, every_ms)
    if process is None:
        yield trace
        return
    began = time.perf_counter()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip().isdecimal():
                trace.samples.append((time.perf_counter() - began, float(line)))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        with process:
            try:
                yield trace
            finally:
                process.terminate()
                reader.join()
    finally:
        lines = [HEADER, *(f"{seconds:.2f},{busy:g}" for seconds, busy in trace.samples)]
        path.write_text("\n".join(lines) + "\n")


def _started(gpu: str, every_ms: int) -> subprocess.Popen[str] | None:
    """The sampling process; None without `nvidia-smi`."""
    query = ["--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    try:
        return subprocess.Popen(
            ["nvidia-smi", "-i", gpu, *query, "-lms", str(every_ms)],
            stdout=subprocess.PIPE,
            text=True,
        )
    except OSError:
        return None
