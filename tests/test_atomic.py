"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from azcore.atomic import replacing


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(TypeError), replacing(path) as file:
        file.write(b"new")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["old"]


def test_the_disk_has_the_content_before_the_name_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"

    def synced(descriptor: int) -> None:
        assert os.fstat(descriptor).st_size == 3
        assert not path.exists()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", synced)
    with pytest.raises(OSError, match="No space"), replacing(path, "wb") as file:
        file.write(b"new")
    assert not list(tmp_path.iterdir())


def test_a_link_in_the_way_is_removed_and_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("kept")
    (tmp_path / "file.tmp").symlink_to(other)
    with replacing(tmp_path / "file") as file:
        file.write("Zürich\n")
    assert (tmp_path / "file").read_bytes() == "Zürich\n".encode()
    assert other.read_text() == "kept"
    assert len(list(tmp_path.iterdir())) == 2
