"""Versions as users name them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import fake_uv
import pytest
from fake_environments import RUNTIME
from fake_uv import install

from irbench.environments.runtime_sources import Installed, Interpreter, Release, parse_source, releases_between
from irbench.environments.uv import Unsolvable
from irbench.errors import IrbenchError


def test_an_exact_release_is_known_without_asking_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert parse_source("Fake_Runtime == 1.22.0") == Release("fake-runtime", "1.22.0")
    assert parse_source("fake-runtime==1.22.0rc1").requirement == "fake-runtime==1.22.0rc1"


@pytest.mark.parametrize(
    ("text", "version"), [(RUNTIME, "1.10.0"), (f"{RUNTIME}<1.10", "1.9.0"), (f"{RUNTIME}>=1.0,<1.9", "1.0.0")]
)
def test_a_release_that_is_not_exact_is_the_newest_that_fits(
    text: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, {"1.0.0": {}, "1.9.0": {}, "1.10.0": {}}, monkeypatch)
    assert parse_source(text) == Release(RUNTIME, version)


def test_a_release_that_does_not_exist_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, {"1.0.0": {}}, monkeypatch)
    with pytest.raises(Unsolvable, match="there is no version"):
        parse_source(f"{RUNTIME}>=2")


def test_installed_is_the_environment_of_irbench() -> None:
    assert parse_source("installed") == Installed()


def test_an_environment_is_named_by_its_python_or_its_folder(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to("/usr/bin/env")
    assert parse_source(str(python)) == Interpreter(python)  # a resolved link would leave the environment
    assert parse_source(str(tmp_path)) == Interpreter(python)


def test_what_lies_in_the_current_folder_is_no_runtime_unless_it_is_written_as_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("fake-runtime==1.22.0", "fake-runtime"):
        python = tmp_path / name / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.symlink_to("/usr/bin/env")
    monkeypatch.chdir(tmp_path)
    assert parse_source("fake-runtime==1.22.0") == Release("fake-runtime", "1.22.0")
    with pytest.raises(IrbenchError) as caught:
        parse_source("fake-runtime")
    assert "./fake-runtime" in caught.value.hint
    assert isinstance(parse_source("./fake-runtime"), Interpreter)


def test_a_wheel_says_what_it_holds_and_is_told_from_another_of_its_name(tmp_path: Path) -> None:
    wheel = tmp_path / "fake_runtime-1.33.0.dev1-cp311-cp311-linux_x86_64.whl"
    wheel.write_bytes(b"content")
    digest = hashlib.sha256(b"content").hexdigest()
    assert parse_source(str(wheel)) == Release("fake-runtime", "1.33.0.dev1", wheel, digest)
    assert parse_source(str(wheel)).requirement == str(wheel)  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["", "1.22.0", "fake runtime", "--index", "fake-runtime[extra]==1", "./nothing", "/"])
def test_what_names_no_version_is_refused_with_the_forms_that_do(text: str) -> None:
    with pytest.raises(IrbenchError) as caught:
        parse_source(text)
    assert "Write a release" in caught.value.hint


RELEASES = {"1.8.0": {}, "1.9.0": {}, "1.10.0": {}, "1.10.1": {}, "2.0.0": {}}


@pytest.fixture
def uv_of_releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_uv.install(tmp_path, RELEASES, monkeypatch)


@pytest.mark.usefixtures("uv_of_releases")
def test_both_ends_are_included_and_the_oldest_comes_first() -> None:
    assert releases_between(RUNTIME, "1.9.0", "1.10.1") == ("1.9.0", "1.10.0", "1.10.1")


@pytest.mark.usefixtures("uv_of_releases")
def test_an_end_may_leave_out_its_zeros_or_lie_between_releases() -> None:
    assert releases_between(RUNTIME, "1.9", "1.10") == ("1.9.0", "1.10.0")
    assert releases_between(RUNTIME, "1.8.5", "1.99") == ("1.9.0", "1.10.0", "1.10.1")


@pytest.mark.usefixtures("uv_of_releases")
@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        ("1.10", "1.9", "There is no release of irbench-fake-runtime from 1.10 to 1.9"),
        ("3.0", "4.0", "There is no release"),
        ("1.9.0", "1.9.5", r"There is one release of irbench-fake-runtime from 1\.9\.0 to 1\.9\.5: 1\.9\.0"),
    ],
)
def test_fewer_than_two_are_refused(first: str, last: str, said: str) -> None:
    with pytest.raises(IrbenchError, match=said):
        releases_between(RUNTIME, first, last)


@pytest.mark.usefixtures("uv_of_releases")
def test_an_unknown_runtime_is_refused() -> None:
    with pytest.raises(IrbenchError, match="There is no release of nonsense") as caught:
        releases_between("nonsense", "1.0", "2.0")
    assert "Check the name" in caught.value.hint
