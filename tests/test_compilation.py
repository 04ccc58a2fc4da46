"""What azcore asks of numba, beside what the tests of games and kernels show."""

from __future__ import annotations

import gc
from pathlib import Path

import numba
import pytest
from numba import types
from numba.core import event

from azcore.compilation import compiled


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_no_garbage_is_collected_while_numba_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread would free compiled code while LLVM is at work."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))  # nothing is there yet
    seen: list[bool] = []

    class Looks(event.Listener):
        def on_start(self, event: object) -> None:
            seen.append(gc.isenabled())

        def on_end(self, event: object) -> None:
            seen.append(gc.isenabled())

    looks = Looks()
    event.register("numba:compile", looks)  # type: ignore[no-untyped-call]
    try:
        source = tmp_path / "source"  # so that the folder has a new name
        source.touch()
        signature = types.int64(types.int64)
        add = compiled(lambda a: a + 1, signature, sources=[__file__, source])
    finally:
        event.unregister("numba:compile", looks)  # type: ignore[no-untyped-call]
    assert add(1) == 2
    assert seen
    assert not any(seen)
    assert gc.isenabled()
