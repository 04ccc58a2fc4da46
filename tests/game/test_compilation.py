"""Compiled code is shared: one process compiles while others wait, and all load what is there."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from numba import config

from azcore.game import compilation
from azcore.game.compilation import compiled


def one_more(value: int) -> int:
    return value + 1


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """That of `one_more` in an empty cache."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    compilation._cache_directory.cache_clear()
    yield compilation._cache_directory((__file__,)) / "one_more.lock"
    compilation._cache_directory.cache_clear()


def test_a_function_is_compiled_when_the_others_are_done_and_loaded_at_once(lock: Path) -> None:
    with ThreadPoolExecutor(1) as thread, lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        first = thread.submit(compiled(one_more, sources=[__file__]), 1)
        assert not wait([first], 0.5).done
        fcntl.flock(held, fcntl.LOCK_UN)
        assert first.result(60) == 2
        fcntl.flock(held, fcntl.LOCK_EX)
        again = compiled(one_more, sources=[__file__])
        assert thread.submit(again, 2).result(60) == 3
        assert again.stats.cache_misses == {}
        fcntl.flock(held, fcntl.LOCK_UN)
