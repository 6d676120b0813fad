"""Which backend is compared, and what the environments are called."""

from __future__ import annotations

import pytest

from irbench.environments.candidates import EnvironmentCandidate, as_environment, labelled, shared_backend
from irbench.environments.inspection import Inspection
from irbench.errors import IrbenchError
from irbench.spi import Description

PYTHON = Inspection("/env/bin/python", (3, 12, 4), {"numpy": "2.4.6"}, has_pip=False)


def candidate(text: str = "env", release: str = "", **versions: str | None) -> EnvironmentCandidate:
    """Return an environment with the runtimes of ``fake-a`` and others, by the backend's letter."""
    names = {f"fake-{letter}": version for letter, version in versions.items()}
    found = {name: Description(name, f"runtime-{name}", version) for name, version in names.items()}
    return EnvironmentCandidate(text, PYTHON, "/env/bin/python", f"{text}==1", release, found)


def test_the_only_backend_that_both_have_is_compared() -> None:
    assert shared_backend([candidate(a="1", b=None), candidate(a="2", b="2")], None) == "fake-a"


def test_of_several_the_one_whose_versions_differ_is_compared() -> None:
    assert shared_backend([candidate(a="1", b="2"), candidate(a="1", b="3")], None) == "fake-b"


def test_the_runtime_that_a_release_was_asked_for_of_is_compared() -> None:
    old, new = (candidate(release="runtime-fake-b", a=version, b="1") for version in ("1", "2"))
    assert shared_backend([old, new], None) == "fake-b"


@pytest.mark.parametrize("second", [{"a": "1", "b": "1"}, {"a": "2", "b": "2"}])
def test_several_that_differ_alike_leave_the_choice_to_the_user(second: dict[str, str]) -> None:
    with pytest.raises(IrbenchError, match="several backends: fake-a, fake-b") as caught:
        shared_backend([candidate(a="1", b="1"), candidate(**second)], None)
    assert "--backend fake-a" in caught.value.hint
    assert shared_backend([candidate(a="1", b="1"), candidate(**second)], "fake-b") == "fake-b"


def test_no_common_backend_is_refused_with_what_each_has() -> None:
    with pytest.raises(IrbenchError, match="No backend's runtime is in both old and new") as caught:
        shared_backend([candidate("old", a="1"), candidate("new", b="1")], None)
    assert caught.value.hint == "old has fake-a; new has fake-b"


def test_a_backend_whose_runtime_an_environment_lacks_is_refused_with_the_command_that_installs_it() -> None:
    with pytest.raises(IrbenchError, match="fake-a needs runtime-fake-a, which new does not have") as caught:
        shared_backend([candidate(a="1"), candidate("new", a=None)], "fake-a")
    assert caught.value.hint == "Install it with: uv pip install --python /env/bin/python runtime-fake-a"


def test_an_environment_is_called_by_the_version_of_its_runtime() -> None:
    environment = as_environment("b", "fake-a", candidate(a="1.22.0"))
    assert (environment.label, environment.version, environment.runtime) == ("1.22.0", "1.22.0", "runtime-fake-a")
    assert environment.python_version == "3.12.4"
    assert environment.distributions == {"runtime-fake-a": "1.22.0", "numpy": "2.4.6"}


def test_two_environments_of_one_version_are_told_apart() -> None:
    same = [as_environment(key, "fake-a", candidate(a="1")) for key in "ab"]
    assert [environment.label for environment in labelled(same)] == ["1 a", "1 b"]
