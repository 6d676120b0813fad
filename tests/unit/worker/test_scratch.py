"""Scratch folders go with their process, however it ends."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.worker.scratch import scratch_folder

HOLDER = """
import sys
from irbench.worker.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "copy.onnx").write_bytes(bytes(1000))
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def another() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_gone_after_its_use():
    with scratch_folder() as folder:
        (folder / "copy.onnx").write_bytes(b"weights")
    assert not folder.exists()


def test_what_a_killed_process_left_is_removed_at_the_next_use():
    process, left = another()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (left / "copy.onnx").exists()
    with scratch_folder():
        assert not left.exists()


def test_the_folder_of_a_process_that_lives_is_left_alone():
    process, theirs = another()
    with scratch_folder() as own:
        assert (theirs / "copy.onnx").exists()
        assert own != theirs
    process.communicate()
    assert not theirs.exists()


def test_other_folders_are_left_alone(tmp_path: Path):
    (tmp_path / "irbench-scratch-mine").mkdir()
    with scratch_folder():
        pass
    assert (tmp_path / "irbench-scratch-mine").is_dir()


def test_without_any_folder_for_temporary_files_the_variable_that_names_one_is_told(monkeypatch: pytest.MonkeyPatch):
    def refuse() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    with pytest.raises(IrbenchError, match="No usable") as caught, scratch_folder():
        pass
    assert "TMPDIR" in caught.value.hint
