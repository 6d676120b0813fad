"""Whether irbench's workers can run in an environment of the user's."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
from fake_environments import make_environment

from irbench.environments.inspection import (
    inspect_python,
    install_into,
    is_older,
    name_of,
    pinned_requirements,
    require_able,
    worker_requirements,
)
from irbench.errors import IrbenchError


def test_an_interpreter_says_its_version_and_what_irbench_needs_of_it() -> None:
    found = inspect_python(sys.executable)
    assert found.version == sys.version_info[:3]
    assert found.distributions["numpy"]
    require_able(found)


def test_only_its_own_environment_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = make_environment(tmp_path, "1.0")
    (borrowed,) = tmp_path.glob("lib/*/site-packages/borrowed.pth")
    borrowed.unlink()
    monkeypatch.setenv("PYTHONPATH", sys.path[-1])
    assert inspect_python(str(python)).distributions == {}


def test_what_is_missing_is_said_with_the_command_that_installs_it(tmp_path: Path) -> None:
    found = replace(inspect_python(sys.executable), python="/env/bin/python", distributions={"numpy": "1.26.4"})
    with pytest.raises(IrbenchError, match="lacks what irbench needs there: numpy, onnx") as caught:
        require_able(replace(found, has_pip=True))
    assert caught.value.exit_code == 5
    assert caught.value.hint.startswith("Install it with: /env/bin/python -m pip install ")
    assert "'numpy>=2.1'" in caught.value.hint  # which is there, and too old
    assert install_into(replace(found, has_pip=False), "x") == "uv pip install --python /env/bin/python x"


def test_a_python_that_is_too_old_is_refused() -> None:
    found = replace(inspect_python(sys.executable), version=(3, 9, 2))
    with pytest.raises(IrbenchError, match=r"is Python 3\.9\.2, and irbench needs 3\.11 or newer"):
        require_able(found)


@pytest.mark.parametrize("program", ["/bin/true", "/bin/false", "/nowhere/python", "/etc/passwd"])
def test_what_is_no_python_is_refused(program: str) -> None:
    with pytest.raises(IrbenchError, match="does not answer as a Python does"):
        inspect_python(program)


def test_workers_need_arrays_and_graphs_and_no_more_in_the_versions_that_irbench_requires() -> None:
    assert set(worker_requirements()) == {"numpy", "onnx"}
    assert worker_requirements()["numpy"].startswith("numpy>=")


def test_versions_are_pinned_to_those_of_irbench_but_for_the_runtime_itself() -> None:
    pinned = pinned_requirements("onnx")
    assert f"numpy=={metadata.version('numpy')}" in pinned
    assert not [requirement for requirement in pinned if requirement.startswith("onnx==")]


@pytest.mark.parametrize(
    ("version", "requirement", "older"),
    [
        ("1.26.4", "numpy>=2.1", True),
        ("2.1", "numpy>=2.1", False),
        ("2.10.0", "numpy>=2.9", False),
        ("2.1.0rc1", "numpy>=2.1", False),
        ("1.0", "numpy", False),
    ],
)
def test_versions_are_compared_by_their_numbers(version: str, requirement: str, older: bool) -> None:
    assert is_older(version, requirement) is older


def test_a_requirement_names_its_distribution() -> None:
    assert name_of(" Some_Thing.else >=1") == "some-thing-else"
