"""Environments are built once for each version, whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import fake_uv
import pytest
from fake_environments import RUNTIME
from fake_uv import INDEX, PINNED_CONFLICT

from irbench.environments.building import build, name_of
from irbench.environments.runtime_sources import Release
from irbench.environments.uv import Unsolvable
from irbench.errors import IrbenchError
from irbench.system.home import home

RELEASES: Mapping[str, Mapping[str, str] | None] = {"1.0": {}, "1.1": None, "1.2": {PINNED_CONFLICT: "1"}, "1.3": {}}


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that holds each call of uv."""
    return fake_uv.install(tmp_path / "uv", RELEASES, monkeypatch)


def built(version: str, heard: list[str] | None = None) -> Path:
    return Path(build(Release(RUNTIME, version), (heard if heard is not None else []).append).python)


def test_an_environment_has_the_release_and_what_irbench_runs_with(calls: Path) -> None:
    from importlib import metadata

    python = built("1.0")
    assert list(python.parent.parent.glob("lib/*/site-packages/irbench_fake_runtime-1.0.dist-info"))
    (line,) = [line for line in calls.read_text().splitlines() if "compile" in line]
    assert f"{RUNTIME}==1.0 " in line
    assert f" numpy=={metadata.version('numpy')}" in line


def test_an_environment_is_built_once(calls: Path) -> None:
    heard: list[str] = []
    assert built("1.0", heard) == built("1.0", heard)
    assert heard == [f"building an environment with {RUNTIME} 1.0 from {INDEX}"]
    assert calls.read_text().count(" venv ") == 1


def test_an_environment_whose_python_was_removed_is_built_again(calls: Path) -> None:
    python = built("1.0")
    python.unlink()
    python.symlink_to("/nowhere/python")
    assert built("1.0").exists()
    assert calls.read_text().count(" venv ") == 2


def test_what_cannot_be_installed_leaves_nothing_behind(calls: Path) -> None:
    with pytest.raises(Unsolvable, match=r"irbench-fake-runtime 1\.1 cannot be installed for Python"):
        built("1.1")
    environments = home() / "environments"
    assert [path.name for path in environments.iterdir() if not path.name.endswith(".lock")] == []


def test_other_packages_have_other_versions_only_where_the_runtime_needs_them(calls: Path) -> None:
    built("1.2")
    pinned, unpinned = [line for line in calls.read_text().splitlines() if "compile" in line]
    assert "numpy==" in pinned
    assert "numpy>=" in unpinned


def test_versions_pythons_and_wheels_have_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "fake-1.0-py3-none-any.whl"
    releases = [Release("fake", "1.0"), Release("fake", "1.1"), Release("fake", "1.0", wheel, "a")]
    names = [name_of(release) for release in (*releases, Release("fake", "1.0", wheel, "b"))]
    monkeypatch.setattr("platform.python_version", lambda: "3.99.0")
    assert len({*names, name_of(releases[0])}) == 5


def test_the_folder_may_be_removed_at_any_time(calls: Path) -> None:
    python = built("1.0")
    shutil.rmtree(python.parents[2])
    assert built("1.0").exists()


@pytest.mark.parametrize("part", [".", "bin", "bin/python", "installed.txt"])
def test_an_environment_of_another_user_is_not_used(calls: Path, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = built("1.0").parents[1]
    if os.getuid() == 0:
        os.chown(folder / part, 4711, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 4711)
    with pytest.raises(IrbenchError, match="belongs to another user") as caught:
        built("1.0")
    assert str(folder) in caught.value.message
    assert "IRBENCH_HOME" in caught.value.hint
    assert calls.read_text().count(" venv ") == 1


def test_an_environment_of_another_user_is_built_again_in_a_folder_of_ones_own(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, ours = home(), tmp_path / "own"
    python = built("1.0")
    monkeypatch.setattr("irbench.store.bundles.homes", lambda: (ours, theirs))
    monkeypatch.setattr("irbench.store.bundles.home", lambda: ours)
    assert built("1.0") == python
    monkeypatch.setattr(
        "irbench.environments.building.is_of_another_user", lambda path, **_: path.is_relative_to(theirs)
    )
    assert built("1.0").is_relative_to(ours)


def test_an_environment_that_was_not_used_for_long_is_removed_when_another_is_built(calls: Path) -> None:
    heard: list[str] = []
    folders = [built(version).parents[1] for version in ("1.0", "1.2")]
    for folder in folders:
        os.utime(folder / "installed.txt", (0, 0))
    built("1.2")
    built("1.3", heard)
    assert [folder.exists() for folder in folders] == [False, True]
    assert heard[1:] == [f"removing the environment {folders[0].name}, which was not used for 30 days"]
    assert [path.name for path in folders[1].parent.glob(".removing-*")] == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give files away")
def test_an_environment_of_another_user_is_left_to_that_user(calls: Path) -> None:
    folder = built("1.0").parents[1]
    os.utime(folder / "installed.txt", (0, 0))
    os.chown(folder, 4711, -1)
    built("1.3")
    assert folder.exists()
