"""Calling uv, and what users hear where it fails."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from irbench.environments import uv
from irbench.environments.uv import Unsolvable, call_uv
from irbench.errors import IrbenchError

UNSOLVABLE = """\
error: No solution found when resolving dependencies
  cause: Because there is no version of fake==99
         we can conclude that your requirements are unsatisfiable.

hint: You require CPython 3.11
"""


def scripted(folder: Path, monkeypatch: pytest.MonkeyPatch, *, code: int, said: str) -> None:
    program = folder / "uv"
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.stderr.write({said!r})\nsys.exit({code})\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_what_cannot_be_solved_is_said_in_uvs_words_on_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(tmp_path, monkeypatch, code=1, said=UNSOLVABLE)
    with pytest.raises(Unsolvable) as caught:
        call_uv("pip", "install", "fake")
    assert caught.value.message == (
        "uv failed: No solution found when resolving dependencies: Because there is no version of fake==99 we can"
        " conclude that your requirements are unsatisfiable."
    )
    assert caught.value.hint == "You require CPython 3.11"


def test_a_network_that_fails_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(tmp_path, monkeypatch, code=2, said="error: Failed to fetch\n  cause: Connection refused")
    with pytest.raises(IrbenchError, match="Failed to fetch: Connection refused") as caught:
        call_uv("pip", "install", "fake")
    assert not isinstance(caught.value, Unsolvable)
    assert "network" in caught.value.hint


def test_a_missing_uv_is_said_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(uv.sys, "executable", str(tmp_path / "python"))  # type: ignore[attr-defined]
    with pytest.raises(IrbenchError) as caught:
        call_uv("venv")
    assert caught.value.exit_code == 5
    assert "pip install 'irbench[versions]'" in caught.value.hint


def test_the_uv_beside_the_interpreter_serves_where_none_is_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(tmp_path, monkeypatch, code=0, said="")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(uv.sys, "executable", str(tmp_path / "python"))  # type: ignore[attr-defined]
    assert call_uv("venv") == ""


def test_the_extra_that_the_hint_names_brings_uv_and_is_part_of_all():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert any(requirement.startswith("uv") for requirement in extras["versions"])
    assert all("versions" in extras[name][0].partition("[")[2].rstrip("]").split(",") for name in ("all", "all-gpu"))
