from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from irbench.system import file_states
from irbench.system.file_states import digest, file_state, files_below, is_unchanged, names_digest


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.py"
    path.write_text("width = 1")
    return path


def test_a_file_that_was_only_touched_is_unchanged(file: Path):
    state = file_state(file)
    os.utime(file, ns=(1, 1))
    assert is_unchanged(file, state)


def test_a_file_with_another_content_of_the_same_size_and_time_is_changed(file: Path):
    state = file_state(file)
    file.write_text("width = 2")
    os.utime(file, ns=(state.modified_ns, state.modified_ns))
    assert not is_unchanged(file, state)


def test_a_large_file_is_not_read_where_its_size_and_times_are_the_same(file: Path, monkeypatch: pytest.MonkeyPatch):
    state = file_state(file)
    monkeypatch.setattr(file_states, "ALWAYS_READ_BYTES", 1)
    monkeypatch.setattr(file_states, "digest", lambda _: pytest.fail("it was read"))
    assert is_unchanged(file, state)
    monkeypatch.setattr(file_states, "digest", lambda _: "another")
    os.utime(file, ns=(state.modified_ns, state.modified_ns))  # which sets the other time to now
    assert not is_unchanged(file, state)


def test_a_file_that_is_gone_or_is_none_any_more_is_changed(file: Path):
    state = file_state(file)
    file.unlink()
    assert not is_unchanged(file, state)
    os.mkfifo(file)
    assert not is_unchanged(file, state), "and nobody waits for what a pipe will say"


@pytest.mark.parametrize("path", ["/dev/zero", "/proc/self/status", "/proc/kcore"])
def test_files_that_are_none_are_never_read(path: str, file: Path):
    assert not is_unchanged(Path(path), replace(file_state(file), size_bytes=0))


def test_what_was_read_of_a_file_that_changed_since_is_unknown(file: Path):
    changed_ns = file.stat().st_ctime_ns
    assert file_state(file, changed_ns + 1).sha256
    unknown = file_state(file, changed_ns)
    assert unknown.sha256 == ""
    assert not is_unchanged(file, unknown)


def test_files_are_found_below_links_and_circles_end(tmp_path: Path):
    (tmp_path / "saved/variables").mkdir(parents=True)
    (tmp_path / "saved/variables/data").touch()
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights/more").touch()
    (tmp_path / "saved/linked").symlink_to(tmp_path / "weights")
    (tmp_path / "weights/back").symlink_to(tmp_path / "saved")
    assert [str(path.relative_to(tmp_path / "saved")) for path in files_below(tmp_path / "saved")] == [
        "linked/more",
        "variables/data",
    ]


def test_a_listing_is_of_names_and_changes_with_them(tmp_path: Path):
    (tmp_path / "1.ckpt").touch()
    before = names_digest(tmp_path)
    (tmp_path / "1.ckpt").write_text("weights")
    (tmp_path / "__pycache__").mkdir()
    assert names_digest(tmp_path) == before
    (tmp_path / "2.ckpt").touch()
    assert names_digest(tmp_path) not in (before, "")
    assert names_digest(tmp_path, tmp_path.stat().st_ctime_ns) == ""
    assert names_digest(tmp_path / "none") == ""


def test_a_digest_waits_for_no_pipe_and_follows_no_link_where_none_may_be(tmp_path: Path, file: Path):
    (tmp_path / "link").symlink_to(file)
    os.mkfifo(tmp_path / "pipe")
    assert digest(tmp_path / "link") == digest(file, follow=False)
    with pytest.raises(OSError, match="symbolic link"):
        digest(tmp_path / "link", follow=False)
    with pytest.raises(OSError, match="not a regular file"):
        digest(tmp_path / "pipe")
