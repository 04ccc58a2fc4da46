"""Compiled code is shared: one process compiles while others wait, and all load what is there."""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import product
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


# -- what is kept for the next start ---------------------------------------------------------------


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The fallback's place where the user's caches cannot be written to; nothing is there yet."""
    monkeypatch.setattr(config, "CACHE_DIR", "")
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(compilation, "_reported", False)
    compilation._cache_directory.cache_clear()
    yield tmp_path / f"azcore-numba-{os.getuid()}"
    compilation._cache_directory.cache_clear()


def test_the_fallback_is_private_whatever_the_umask(temporary: Path) -> None:
    before = os.umask(0)
    try:
        assert compilation._cache_directory((__file__,)).parent == temporary
    finally:
        os.umask(before)
    assert temporary.stat().st_mode & 0o777 == 0o700
    temporary.chmod(0o755)  # as azcore once made it
    assert compilation._writable_base() == temporary
    assert temporary.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", ["a link", "another's", "open to all", "a file"])
def test_a_fallback_that_others_could_have_made_is_not_used(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], kind: str
) -> None:
    """Its pickles would run, and what it links to would be deleted from."""
    theirs = temporary.with_name("theirs")
    theirs.mkdir(mode=0o700)
    if kind == "a link":
        temporary.symlink_to(theirs)
    elif kind == "a file":
        temporary.touch()
    else:
        temporary.mkdir()
        temporary.chmod(0o777 if kind == "open to all" else 0o700)
    if kind == "another's":
        monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    assert compilation._cache_directory((__file__,)) is None
    assert compiled(one_more, sources=[__file__])(1) == 2
    assert not list(theirs.iterdir())
    (sentence,) = capfd.readouterr().err.splitlines()
    assert re.search(f"azcore: cannot save compiled code.* {temporary}", sentence)


def test_the_caches_of_another_user_are_not_used(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a home that sudo has kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    home = tmp_path / "home/numba/azcore"
    assert compilation._writable_base() == home
    stat = Path.stat
    monkeypatch.setattr(Path, "stat", lambda path, **follow: (
        os.stat_result((*stat(path, **follow)[:4], 12345, *stat(path, **follow)[5:10]))
        if path == home else stat(path, **follow)
    ))  # fmt: skip
    assert compilation._writable_base() == temporary


def test_only_caches_are_deleted(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the folder turns out to be another one, as by a link."""
    base = lock.parents[1]
    monkeypatch.setattr(compilation, "KEPT_VERSIONS", 0)
    for name, files in {
        "0123456789abcdef": ("rules_0a/step-12.py311.1.nbc", "rules_0a/step-12.py311.nbi.tmp.0a"),
        "0123456789abcde0": ("step.lock", "thesis.tex"),
        "photos": ("saving.lock",),
    }.items():
        for file in files:
            (base / name / file).parent.mkdir(parents=True, exist_ok=True)
            (base / name / file).touch()
    (base / "fedcba9876543210").symlink_to(base / "photos")
    compilation._delete_old_versions(base)
    left = {path.name for path in base.iterdir()}
    assert left >= {"0123456789abcde0", "photos", "fedcba9876543210"}
    assert "0123456789abcdef" not in left
    assert (base / "photos/saving.lock").exists()


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
    "other": lambda data: b"\x80\x04]\x94.",
    "a bit": lambda data: data[:900] + bytes([data[900] ^ 1]) + data[901:],  # in machine code
}


@pytest.mark.parametrize(
    ("damage", "suffix"),
    [*product(("cut", "empty", "zeros"), ("nbi", "nbc")), ("other", "nbc"), ("a bit", "nbc")],
)
def test_damaged_code_is_compiled_again(
    lock: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    suffix: str,
    damage: str,
) -> None:
    monkeypatch.setattr(compilation, "_reported", False)
    assert compiled(one_more, sources=[__file__])(1) == 2
    (path,) = lock.parent.rglob(f"*.{suffix}")
    whole = path.read_bytes()
    path.write_bytes(DAMAGE[damage](whole))
    assert compiled(one_more, sources=[__file__])(2) == 3
    (sentence,) = capfd.readouterr().err.splitlines()
    assert sentence.startswith(f"azcore: compiled code in {lock.parent} is damaged")
    again = compiled(one_more, sources=[__file__])
    assert again(3) == 4
    assert again.stats.cache_misses == {}  # it is whole again
    assert not capfd.readouterr().err


@pytest.mark.parametrize("name", ["open", "flock"])
def test_code_that_cannot_be_kept_is_used(
    lock: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
) -> None:
    """On a full disk, or one without locks; a second function that has no room brings no words."""
    monkeypatch.setattr(compilation, "_reported", False)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if name == "open":
        monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    else:
        monkeypatch.setattr("fcntl.flock", full)
    for value in (1, 2):
        assert compiled(one_more, sources=[__file__])(value) == value + 1
    (sentence,) = capfd.readouterr().err.splitlines()
    assert sentence == (
        f"azcore: cannot save compiled code in {lock.parent}: No space left on device"
    )


@pytest.mark.usefixtures("lock")
def test_no_other_place_of_numba_is_used(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It would take `__pycache__`, where code of older sources passes for current."""
    monkeypatch.setattr(compilation, "_reported", False)
    locator = "numba.core.caching.UserProvidedCacheLocator.from_function"
    monkeypatch.setattr(locator, lambda *_: None)
    function = compiled(one_more, sources=[__file__])
    assert function(1) == 2
    assert function._cache.cache_path is None
    assert "cannot save compiled code" in capfd.readouterr().err
