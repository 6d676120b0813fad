"""Programs are searched in absolute folders alone, and nothing of the current folder is given to those that start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from irbench.system.programs import clean_environment, find_program, required_program


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which holds a program."""
    program = tmp_path / "here" / "some-tool"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(program.parent)
    return program.parent


@pytest.mark.parametrize("path", ["", ":/nowhere", "/nowhere::", ".", "../here:/nowhere"])
def test_the_current_folder_is_not_searched(path: str, hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", path)
    assert find_program("some-tool") is None
    with pytest.raises(FileNotFoundError):
        required_program("some-tool")


def test_an_absolute_folder_is_searched(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f":{hostile}")
    assert required_program("some-tool") == str(hostile / "some-tool")


def test_programs_are_started_without_search_paths_in_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f":/usr/bin{os.pathsep}bin")
    monkeypatch.setenv("PYTHONPATH", ":")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/lib:/opt/none;")
    found = clean_environment()
    assert (found["PATH"], found["LD_LIBRARY_PATH"]) == ("/usr/bin", "/opt/lib:/opt/none")
    assert "PYTHONPATH" not in found
    monkeypatch.setenv("PATH", ".:")  # an empty text would be the current folder to a shell
    assert clean_environment()["PATH"] == os.defpath
