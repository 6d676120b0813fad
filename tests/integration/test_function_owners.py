"""A function is called once, and the exporter whose framework its model belongs to takes it."""

from __future__ import annotations

from pathlib import Path

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


def test_the_exporter_that_owns_what_a_function_returns_takes_it_after_one_call(project: Path):
    write(project / "net.py", CODE)
    made, _ = exported("net.py:any_scale")
    assert made.bundle.details["framework"] == "Fake"
    assert (project / "calls.log").read_text() == "called\n"


def test_its_bundle_is_used_without_another_call(project: Path):
    write(project / "net.py", CODE)
    first, _ = exported("net.py:any_scale")
    second, _ = exported("net.py:any_scale")
    assert second.folder == first.folder
    assert (project / "calls.log").read_text() == "called\n"


def test_what_no_framework_owns_is_refused_with_what_may_be_returned(project: Path):
    write(project / "net.py", CODE)
    with pytest.raises(IrbenchError, match="returned str, which is no model of Fake or") as caught:
        exported("net.py:any_text")
    assert "TensorFlow" in caught.value.hint


def test_a_function_that_fails_is_named_with_its_reason(project: Path):
    write(project / "net.py", CODE)
    with pytest.raises(IrbenchError, match=r"any_failure\(\) failed: no weights"):
        exported("net.py:any_failure")


def test_two_exporters_that_are_both_certain_are_named(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(build, "_acceptances", lambda _: {"fake": "certain", "other": "certain"})
    with pytest.raises(IrbenchError, match=r"Several exporters take plain\.fakenet: fake and other"):
        exported("plain.fakenet")
