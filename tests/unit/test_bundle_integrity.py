"""A bundle's files are compared with its card, and large ones are read again only if something was done to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from small_bundles import put

from irbench.errors import IrbenchError
from irbench.store import bundles
from irbench.system import file_states
from irbench.system.file_states import FileState


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every file for a large one, which was written some time ago."""
    monkeypatch.setattr(file_states, "ALWAYS_READ_BYTES", -1)
    monkeypatch.setattr(bundles, "COARSEST_CLOCK_NS", -(10**12))


@contextmanager
def reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield the names of the files that are read."""
    read: list[str] = []
    digest = file_states.digest

    def count(path: Path) -> str:
        read.append(path.name)
        return digest(path)

    with monkeypatch.context() as patch:
        patch.setattr(file_states, "digest", count)
        patch.setattr(bundles, "digest", count)
        yield read


def memory() -> Path:
    (found,) = (bundles.home() / "intact").iterdir()
    return found


@pytest.mark.usefixtures("large")
def test_large_files_that_did_not_change_are_not_read_again(monkeypatch: pytest.MonkeyPatch):
    place = put()
    bundles.load_intact(place)
    with reading(monkeypatch) as read:
        bundles.load_intact(place)
    assert read == []
    (place / "model.onnx").touch()
    with reading(monkeypatch) as read:
        bundles.load_intact(place)
    assert "model.onnx" in read


def test_a_small_file_is_read_again_whatever_its_times_are():
    """Some file systems let programs set every time back, that of the inode too."""
    place = put()
    bundles.load_intact(place)
    expected = bundles.load_card(place).checksums
    (place / "model.onnx").write_bytes(b"evil")
    found = (place / "model.onnx").stat()
    state = FileState(expected["model.onnx"], found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    known = msgspec.json.decode(memory().read_bytes(), type=dict[str, FileState])
    memory().write_bytes(msgspec.json.encode({**known, "model.onnx": state}))
    with pytest.raises(IrbenchError, match=r"model\.onnx is missing or has changed"):
        bundles.load_intact(place)


def test_a_file_that_was_written_a_moment_ago_is_read_again(monkeypatch: pytest.MonkeyPatch):
    """Within a tick of the file system's clock it can change without a sign."""
    monkeypatch.setattr(file_states, "ALWAYS_READ_BYTES", -1)
    place = put()
    bundles.load_intact(place)
    with reading(monkeypatch) as read:
        bundles.load_intact(place)
    assert "model.onnx" in read


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"model.onnx": 3}', b"\xff", b"[" * 100_000])
def test_a_damaged_memory_is_written_anew(content: bytes):
    place = put()
    bundles.load_intact(place)
    whole = memory().read_bytes()
    memory().write_bytes(content)
    bundles.load_intact(place)
    assert memory().read_bytes() == whole
