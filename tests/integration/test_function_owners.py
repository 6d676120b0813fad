"""Where several exporters may take a function, the one whose framework its model belongs to does."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from fresh_projects import exported, make_project, write

from irbench.errors import IrbenchError
from irbench.exporter import build


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_project(tmp_path, monkeypatch)


CODE = """
from pathlib import Path

def any_scale():
    with Path("calls.log").open("a") as calls:
        calls.write("called\\n")
    return 2.0

def any_text():
    return "two"

def any_failure():
    raise ValueError("no weights")
"""


def test_the_exporter_that_owns_what_a_function_returns_takes_it(project: Path):
    write(project / "net.py", CODE)
    made, _ = exported("net.py:any_scale")
    assert made.bundle.details["framework"] == "Fake"
    assert (project / "calls.log").read_text() == 2 * "called\n", "to find its owner, and to export it"


def test_its_bundle_is_used_without_another_call(project: Path):
    write(project / "net.py", CODE)
    first, _ = exported("net.py:any_scale")
    second, _ = exported("net.py:any_scale")
    assert second.folder == first.folder
    assert (project / "calls.log").read_text() == 2 * "called\n"


def test_what_no_framework_owns_is_refused_with_what_may_be_returned(project: Path):
    write(project / "net.py", CODE)
    with pytest.raises(IrbenchError, match=r"net\.py:any_text gives str, which is no model of Fake or") as caught:
        exported("net.py:any_text")
    assert "TensorFlow" in caught.value.hint


def test_a_function_that_fails_is_named_with_its_reason(project: Path):
    write(project / "net.py", CODE)
    with pytest.raises(IrbenchError, match=r"any_failure\(\) failed: no weights"):
        exported("net.py:any_failure")


def test_two_exporters_that_are_both_certain_are_named(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(build, "_acceptances", lambda _: {"fake": "certain", "tensorflow": "certain"})
    with pytest.raises(IrbenchError, match=r"Several exporters take plain\.fakenet: fake and tensorflow") as caught:
        exported("plain.fakenet")
    assert caught.value.hint == "Uninstall all but one of: fake-exports, irbench-onnx."


@pytest.mark.ci
def test_a_keras_model_is_exported_as_without_another_exporter(project: Path):
    layers = "keras.Input((4,)), keras.layers.Dense(2)"
    write(project / "net.py", f"def any_keras():\n    import keras\n    return keras.Sequential([{layers}])\n")
    made, _ = exported("net.py:any_keras")
    assert made.bundle.details["framework"] == "TensorFlow"
    artifact = made.bundle.artifact(("onnx",))
    assert artifact is not None
    names = [node.name for node in onnx.load(made.folder / artifact.path).graph.node]
    assert names
    assert not any("_2" in name for name in names), "Keras numbers the layers of a second model of a process anew"
