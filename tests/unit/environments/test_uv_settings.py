"""Each variable of uv is read as uv reads it, and what changes nothing of what is installed changes no environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from irbench.environments.uv import digest_of_settings, require_absolute_places
from irbench.errors import IrbenchError


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
