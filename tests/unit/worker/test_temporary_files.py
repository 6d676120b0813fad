"""What a worker makes temporarily goes with it, also where it is killed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from irbench.spec import Artifact, Load
from irbench.worker.inference import OpenSession
from irbench.worker.watchdog import MARK, own_temporary_files, worker_folder


@pytest.fixture
def marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the worker that this process is taken for."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(MARK, "a-mark")
    return worker_folder("a-mark")


def test_a_worker_has_a_folder_of_its_own_however_often_it_asks(marked: Path):
    for _ in range(2):
        own_temporary_files()
        assert Path(tempfile.gettempdir()) == marked
    assert marked.stat().st_mode & 0o077 == 0


def test_other_processes_and_full_disks_have_the_usual_folder(
    marked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    marked.touch()
    own_temporary_files()
    assert tempfile.gettempdir() == str(tmp_path)
    marked.unlink()
    monkeypatch.delenv(MARK)
    own_temporary_files()
    assert tempfile.gettempdir() == str(tmp_path)


def test_a_runtime_compiles_in_the_folder_of_its_worker(marked: Path):
    seen: list[Path] = []

    class Compiling:
        def import_runtime(self, *_: Any) -> None:
            seen.append(Path(tempfile.gettempdir()))

        def compile(self, *_: Any) -> Any:
            raise MemoryError

    backend: Any = Compiling()
    with pytest.raises(MemoryError):
        OpenSession(backend, Artifact("onnx", Path(), (), ()), Load())
    assert seen == [marked]
