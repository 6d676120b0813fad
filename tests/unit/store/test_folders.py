"""Where runs go by default: a project's own folder ``results`` is left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.store.folders import default_root


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("IRBENCH_RESULTS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.mark.parametrize(
    "folders",
    [(), ("runs",), ("runs/2026-01", "reference"), ("runs/2026-01", "runs/2026-02"), (".git",)],
    ids=["empty", "no runs yet", "runs beside others", "runs", "hidden"],
)
def test_a_folder_that_is_empty_or_has_runs_is_used(project: Path, folders: tuple[str, ...]):
    make(project / "results", folders)
    assert default_root() == project / "results"


@pytest.mark.parametrize(
    "folders",
    [("figures",), ("runs/experiment-1",), ("runs/2026-01", "runs/experiment-1")],
    ids=["of a project", "runs of another program", "runs of both"],
)
def test_a_folder_of_a_project_is_left_alone(project: Path, folders: tuple[str, ...]):
    make(project / "results", folders)
    assert default_root() == project.parent / "data/irbench/results"


def test_without_such_a_folder_runs_go_to_the_users_data(project: Path):
    assert default_root() == project.parent / "data/irbench/results"


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
