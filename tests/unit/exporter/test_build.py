"""What is refused before a worker is started."""

from __future__ import annotations

from pathlib import Path

import models
import pytest

from irbench.errors import ExitCode, IrbenchError
from irbench.exporter import build
from irbench.exporter.build import validate
from irbench.exporter.foreign import from_onnx_file
from irbench.options.export import ExportOptions
from irbench.system import host
from irbench.worker.failures import CallFailed, WorkerDied


def test_a_foreign_file_larger_than_what_the_cgroup_leaves_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = models.mlp(tmp_path).path
    monkeypatch.setattr(host, "available_memory_bytes", lambda: path.stat().st_size - 1)
    with pytest.raises(IrbenchError, match="of memory are available") as caught:
        from_onnx_file(path)
    assert caught.value.hint


@pytest.mark.parametrize("name", ["cnn", "cnn.onx"])
def test_a_similar_file_is_suggested_for_an_unknown_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cnn.onnx").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IrbenchError, match=f"There is no model called {name}") as caught:
        validate(name, ExportOptions())
    assert caught.value.hint == "Did you mean cnn.onnx?"


def test_a_name_that_no_file_can_have_is_refused():
    with pytest.raises(IrbenchError, match="is not a valid name of a model: File name too long") as caught:
        validate("x" * 5000, ExportOptions())
    assert caught.value.hint


@pytest.mark.parametrize(
    ("failure", "message", "code"),
    [
        (CallFailed("KeyError: 'x'", exit_code=ExitCode.FAILED_CELL), "The work failed. KeyError: 'x'", ExitCode.USAGE),
        (CallFailed("It does not fit.", exit_code=ExitCode.DIFFERENT), "It does not fit.", ExitCode.DIFFERENT),
        (WorkerDied("It crashed."), "The work failed. It crashed.", ExitCode.USAGE),
    ],
)
def test_no_failure_of_an_export_is_one_of_a_cell(
    failure: IrbenchError, message: str, code: ExitCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(build, "call_in_worker", fail)
    with pytest.raises(IrbenchError) as caught:
        build.ExportWorker("tensorflow").call("module:work", deadline_s=1, what="The work failed.", say=lambda _: None)
    assert (caught.value.message, caught.value.exit_code) == (message, code)
