"""Where runs go by default: to one place for each user, so that commands find each other's runs anywhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.store.folders import default_root
from irbench.store.listing import find_run


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("IRBENCH_RESULTS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.mark.parametrize(
    "folders",
    [None, (), ("runs/2026-01", "reference"), ("figures",)],
    ids=["none", "empty", "with runs", "of a project"],
)
def test_runs_go_to_the_users_data_whatever_the_current_folder_holds(project: Path, folders: tuple[str, ...] | None):
    if folders is not None:
        make(project / "results", folders)
    assert default_root() == project.parent / "data/irbench/results"


def test_where_no_run_is_found_those_of_a_former_release_in_the_current_folder_are_named(project: Path):
    make(project / "results", ("runs/2026-01",))
    for name in ("latest", "01ABC"):
        with pytest.raises(IrbenchError) as caught:
            find_run(default_root(), name)
        assert "--results results" in caught.value.hint
    with pytest.raises(IrbenchError) as caught:
        find_run(project / "results", "latest")
    assert "./results" not in caught.value.hint


def test_the_environment_names_any_folder(project: Path, monkeypatch: pytest.MonkeyPatch):
    make(project / "results", ("figures",))
    monkeypatch.setenv("IRBENCH_RESULTS", "results")
    assert default_root() == Path("results")


def make(root: Path, folders: tuple[str, ...]) -> None:
    root.mkdir()
    for folder in folders:
        (root / folder).mkdir(parents=True)


def test_a_user_without_a_home_folder_is_told_to_name_a_folder(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.delenv("XDG_DATA_HOME")
    with pytest.raises(IrbenchError, match="no home folder") as caught:
        default_root()
    assert "--results" in caught.value.hint
    assert list(project.iterdir()) == []
