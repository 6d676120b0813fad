"""Operator profiles lie beside runs, and are found by their ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.store.listing import find_run, list_runs
from irbench.store.profiles import begin_profile, find_profile, profile_ids

OLD, NEW = "01JDA000000000000000000000", "01JDB000000000000000000000"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for profile_id, created in ((NEW, "2026-12-01T00:00:00+00:00"), (OLD, "2026-11-01T00:00:00+00:00")):
        begin_profile(tmp_path, created, profile_id).commit(profile_id.encode())
    return tmp_path


@pytest.mark.parametrize(
    ("name", "found"), [("latest", NEW), (OLD, OLD), (OLD.lower(), OLD), ("01JDB", NEW), (OLD[:6], OLD)]
)
def test_a_profile_is_found_by_its_id_its_beginning_or_as_the_newest(root: Path, name: str, found: str) -> None:
    assert find_profile(root, name).read_text() == found


def test_ids_are_told_oldest_first(root: Path, tmp_path: Path) -> None:
    assert profile_ids(root) == [OLD, NEW]
    assert profile_ids(tmp_path / "nowhere") == []


def test_a_profile_is_found_by_its_file_and_its_folder(root: Path) -> None:
    path = find_profile(root, OLD)
    assert find_profile(root, str(path)) == find_profile(root, str(path.parent)) == path


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("01JD", "2 profiles begin with 01JD"),
        ("01NOPE", "There is no profile '01NOPE'"),
        ("", "There is no profile ''"),
    ],
)
def test_a_name_that_means_none_or_several_is_refused(root: Path, name: str, wrong: str) -> None:
    with pytest.raises(IrbenchError, match=wrong):
        find_profile(root, name)


def test_where_nothing_is_stored_the_hint_says_how_to_profile(tmp_path: Path) -> None:
    with pytest.raises(IrbenchError, match="No profiles are stored") as caught:
        find_profile(tmp_path, "latest")
    assert "irbench profile" in caught.value.hint


def test_profiles_are_no_runs(root: Path) -> None:
    assert list_runs(root).entries == ()


def test_who_asks_for_a_profile_as_a_run_hears_how_it_is_shown(root: Path) -> None:
    with pytest.raises(IrbenchError, match="There is no run") as caught:
        find_run(root, OLD[:8])
    assert caught.value.hint == f"It is a profile: irbench profile --show {OLD[:8]} --results {root}"


def test_a_folder_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "profiles").write_text("in the way")
    with pytest.raises(IrbenchError, match="cannot be written") as caught:
        begin_profile(tmp_path, "2026-12-01T00:00:00+00:00", NEW)
    assert "--results" in caught.value.hint
