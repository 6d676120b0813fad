"""Whether irbench's workers can run in an environment of the user's."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fake_environments import make_environment

from irbench.environments.inspection import inspect_python, install_into, require_able
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
