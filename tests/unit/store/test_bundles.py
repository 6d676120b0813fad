from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from small_bundles import IMAGE, make_bundle, put

from irbench.errors import ExitCode, IrbenchError
from irbench.store import bundles
from irbench.system.home import HomeWarning


def test_a_bundle_is_read_as_it_was_written_with_absolute_paths():
    place = put()
    read = bundles.load(place)
    assert read == bundles.with_absolute_paths(make_bundle(), place)
    assert read.artifacts[0].path == place / "model.onnx"
    assert read.inputs[0].tensor == IMAGE
    assert read.artifacts[0].inputs[0].permutation == (0, 3, 1, 2)


def test_a_name_means_its_last_export_and_so_does_latest():
    first, other = put("net", "a" * 64), put("other", "b" * 64)
    second = put("net", "c" * 64)
    assert bundles.find("net") == second
    assert bundles.find("other") == other
    assert bundles.latest() == second
    assert bundles.all() == (second, other)
    assert first.is_dir(), "another version of a name stays usable"


def test_an_earlier_version_can_become_current_again_without_being_built():
    first = put("net", "a" * 64)
    put("net", "c" * 64)
    assert bundles.with_key("a" * 64) == (first,)
    bundles.point_to(first)
    assert bundles.find("net") == first
    assert bundles.latest() == first


def test_exporting_the_same_thing_again_replaces_the_old_version():
    first = put(content=b"old")
    second = put(content=b"new")
    assert not first.exists()
    assert (second / "model.onnx").read_bytes() == b"new"


def test_nothing_is_found_in_an_empty_cache():
    assert bundles.find("net") is None
    assert bundles.latest() is None
    assert bundles.all() == ()
    assert bundles.with_key("a" * 64) == ()


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc", ".current"])
def test_a_name_never_leads_out_of_the_cache(name):
    assert bundles.find(name) is None


def test_a_staging_folder_is_no_bundle_until_it_is_installed():
    with bundles.staging() as folder:
        (folder / "model.onnx").write_bytes(b"half")
        assert bundles.all() == ()
        assert bundles.latest() is None


def test_what_a_killed_export_left_behind_is_removed_by_the_next_one_and_nothing_else(tmp_path):
    with bundles.staging() as alive:
        dead = alive.parent.with_name(".irbench-making-dead")
        dead.mkdir()
        (dead / ".alive").touch()
        with bundles.staging():
            assert not dead.exists()
            assert alive.exists()


def test_an_export_of_another_container_is_left_alone_whatever_its_process_is_called(monkeypatch):
    """Two containers that share the folder have process ids of their own, which say nothing to each other."""
    with bundles.staging() as theirs:
        monkeypatch.setattr("psutil.pid_exists", lambda _: False)
        with bundles.staging():
            assert theirs.exists()


def test_a_bundle_can_be_put_elsewhere_and_is_then_not_in_the_cache(tmp_path):
    place = put(target=tmp_path / "mine")
    assert place == tmp_path / "mine"
    assert bundles.load(place).name == "net"
    bundles.point_to(place)
    assert bundles.latest() is None


def test_a_bundle_elsewhere_is_replaced_as_a_whole(tmp_path):
    put(target=tmp_path / "mine", content=b"old")
    put(target=tmp_path / "mine", content=b"new")
    assert (tmp_path / "mine" / "model.onnx").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("bundle", [True, False], ids=["a bundle", "not a bundle"])
@pytest.mark.parametrize("name", ["thesis.tex", ".git/config", "results/run.json"])
def test_a_folder_with_other_files_is_never_overwritten(bundle, name, tmp_path):
    mine = tmp_path / "mine"
    if bundle:
        put(target=mine, content=b"old")
    (mine / name).parent.mkdir(parents=True, exist_ok=True)
    (mine / name).write_text("years of work")
    with pytest.raises(IrbenchError, match=f"holds {name.partition('/')[0]}, .* not overwrite") as caught:
        put(target=mine)
    assert caught.value.exit_code == ExitCode.USAGE
    assert "new or empty folder" in caught.value.hint
    assert (mine / name).read_text() == "years of work"
    assert not bundle or (mine / "model.onnx").read_bytes() == b"old"


def test_a_file_and_a_link_to_nowhere_are_not_replaced_by_a_bundle(tmp_path):
    (tmp_path / "mine").write_text("years of work")
    (tmp_path / "link").symlink_to(tmp_path / "link")
    for name in ("mine", "link"):
        with pytest.raises(IrbenchError, match="is not a folder"):
            bundles.require_replaceable(tmp_path / name)
    with pytest.raises(IrbenchError, match="is not a folder"):
        put(target=tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "years of work"


@pytest.mark.parametrize("content", [b"{", b'{"schema_version": 99}'], ids=["damaged", "of a newer version"])
def test_a_bundle_whose_card_cannot_be_read_is_not_overwritten(content, tmp_path):
    place = put(target=tmp_path / "mine", content=b"old")
    (place / "card.json").write_bytes(content)
    with pytest.raises(IrbenchError, match="not overwritten") as caught:
        put(target=place)
    assert "new or empty folder" in caught.value.hint
    assert (place / "model.onnx").read_bytes() == b"old"


def test_a_bundle_is_put_where_a_link_leads(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "mine").symlink_to(tmp_path / "disk")
    for content in (b"old", b"new"):
        put(target=tmp_path / "mine", content=content)
        assert (tmp_path / "disk" / "model.onnx").read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "mine"]


def test_a_bundle_that_cannot_be_put_in_place_leaves_the_old_one(tmp_path, monkeypatch):
    place = put(target=tmp_path / "mine", content=b"old")

    def busy(_new: Path, _place: Path) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(bundles, "replace_folder", busy)
    with pytest.raises(IrbenchError, match="cannot be written: Device or resource busy"):
        put(target=place)
    assert (place / "model.onnx").read_bytes() == b"old"


def test_reference_outputs_come_back_in_order():
    outputs = bundles.reference_outputs(bundles.load(put()))
    assert outputs is not None
    assert np.array_equal(outputs[0], np.arange(8.0))
    assert outputs[1].dtype == np.int32


def test_a_file_that_changed_at_the_time_that_it_had_is_noticed():
    place = put()
    bundles.load_intact(place)
    file = place / "model.onnx"
    before = file.stat()
    file.write_bytes(b"evil")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    with pytest.raises(IrbenchError, match="has changed"):
        bundles.load_intact(place)


def test_a_bundle_is_compared_where_nothing_can_be_remembered(monkeypatch):
    place = put()

    def full(path: Path, content: bytes) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(bundles, "write_atomically", full)
    assert bundles.load_intact(place).name == "net"
    assert bundles.load_intact(place).name == "net"


def test_a_bundle_in_a_folder_that_cannot_be_written_is_found_and_remembered_elsewhere(tmp_path, monkeypatch):
    """As in an image with exported models, which is read-only for the user of its containers."""
    first, second = put("net", "a" * 64), put("net", "b" * 64)
    image, access = bundles.home(), os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != image and access(path, mode))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert bundles.find("net") == bundles.latest() == second
    assert bundles.all() == (second,)
    assert bundles.is_in_cache(second)
    assert list(tmp_path.iterdir()) == []
    with pytest.warns(HomeWarning, match="cannot be written"):
        bundles.point_to(first)
    assert bundles.find("net") == bundles.latest() == first
    added = put("other", "c" * 64)
    assert added.is_relative_to(tmp_path)
    assert bundles.all() == (first, added)
    assert bundles.load_intact(first).name == "net"
    assert not (image / "intact").exists()
