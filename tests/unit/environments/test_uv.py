"""Calling uv, and what users hear where it fails."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from irbench.environments import uv
from irbench.environments.uv import Unsolvable, call_uv, digest_of_settings, require_absolute_places
from irbench.errors import IrbenchError
from irbench.system.installation import extra_command

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
    assert extra_command("versions") in caught.value.hint


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


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("UV_CACHE_DIR", "/home/a b/cache, new"),
        ("UV_CONFIG_FILE", "/home/a b/uv.toml"),
        ("UV_DEFAULT_INDEX", "/srv/a b"),
        ("UV_INDEX_URL", "/srv/a b"),
        ("UV_FIND_LINKS", "/srv/a b,/srv/c"),
        ("UV_INDEX", "one=/srv/a  https://packages.test/simple"),
        ("UV_CONSTRAINT", "/srv/a,b.txt /srv/c"),
    ],
)
def test_absolute_places_are_used_also_with_spaces_and_commas(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    require_absolute_places()


@pytest.mark.parametrize(
    ("variable", "value", "place"),
    [
        ("UV_CACHE_DIR", "a b", "a b"),
        ("UV_FIND_LINKS", "/srv/a,b", "b"),
        ("UV_INDEX", "/srv/a b", "b"),
        ("UV_CONSTRAINT", "/srv/a b", "b"),
        ("UV_EXTRA_INDEX_URL", "https://packages.test/simple ./b", "./b"),
    ],
)
def test_a_place_in_the_current_folder_is_refused_by_its_name(
    variable: str, value: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(IrbenchError) as caught:
        require_absolute_places()
    assert caught.value.message == f"{variable} is not used: {place} is a place in the current folder."


@pytest.mark.parametrize(
    ("variable", "before", "after"),
    [
        ("UV_INDEX", "a=https://me:old@packages.test/a", "a=https://me:n@w@packages.test/a"),
        ("UV_DEFAULT_INDEX", "https://packages.test/simple", "https://token@packages.test/simple"),
        ("UV_FIND_LINKS", "/srv/a,https://old@packages.test", "/srv/a,https://new@packages.test"),
        ("UV_CACHE_DIR", "/tmp/a", "/tmp/b"),
    ],
)
def test_credentials_and_the_cache_change_no_environment(
    variable: str, before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, before)
    digest = digest_of_settings()
    monkeypatch.setenv(variable, after)
    assert digest_of_settings() == digest


@pytest.mark.parametrize(
    ("variable", "before", "after"),
    [
        ("UV_INDEX", "https://me@packages.test/a", "https://me@packages.test/b"),
        ("UV_INDEX", "https://packages.test/a@1", "https://packages.test/b@1"),
        ("UV_DEFAULT_INDEX", "https://me@packages.test", "https://me@packages.example"),
        ("UV_RESOLUTION", "highest", "lowest"),
    ],
)
def test_another_index_is_another_environment(
    variable: str, before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, before)
    digest = digest_of_settings()
    monkeypatch.setenv(variable, after)
    assert digest_of_settings() != digest


def test_of_files_their_content_decides_but_for_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "uv.toml"
    monkeypatch.setenv("UV_CONFIG_FILE", str(file))
    digests: list[str] = []
    for address in ("https://old@packages.test/a", "https://new@packages.test/a", "https://new@packages.test/b"):
        file.write_text(f'[[index]]\nurl = "{address}"\n')
        digests.append(digest_of_settings())
    assert digests[0] == digests[1] != digests[2]
    monkeypatch.setenv("UV_CONFIG_FILE", str(file.rename(tmp_path / "moved.toml")))
    assert digest_of_settings() == digests[2]


def test_constraints_decide_by_their_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "constraints.txt"
    monkeypatch.setenv("UV_CONSTRAINT", str(file))
    file.write_text("protobuf<5")
    digest = digest_of_settings()
    file.write_text("protobuf<6")
    assert digest_of_settings() != digest
