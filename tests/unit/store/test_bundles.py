from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from small_bundles import IMAGE, make_bundle, put

from irbench.errors import ExitCode, IrbenchError
from irbench.store import bundles
from irbench.system import host
from irbench.system.home_warning import HomeWarning


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


def test_a_changed_file_is_named_with_what_makes_it_again():
    place = put()
    assert bundles.load_intact(place) == bundles.load(place)
    (place / "model.onnx").write_bytes(b"evil")
    with pytest.raises(IrbenchError, match=r"model\.onnx is missing or has changed") as caught:
        bundles.load_intact(place)
    assert caught.value.hint == "Export it again: irbench export net.keras --force"


def test_a_missing_file_of_a_bundle_elsewhere_is_made_again_there(tmp_path):
    place = put(target=tmp_path / "mine")
    (place / "model.onnx").unlink()
    with pytest.raises(IrbenchError, match=r"model\.onnx is missing") as caught:
        bundles.load_intact(place)
    assert caught.value.hint.endswith(f"--force -o {place}")


def test_a_folder_without_a_card_says_how_to_get_one(tmp_path):
    with pytest.raises(IrbenchError, match="is not a bundle") as caught:
        bundles.load(tmp_path)
    assert "irbench export" in caught.value.hint


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"bundle": 3}', b"\xff\xfe", b"[" * 100_000, b'{"schema_version": 1e400}', b"null"]
)
def test_a_damaged_card_is_one_clear_error(content, tmp_path):
    (tmp_path / "card.json").write_bytes(content)
    with pytest.raises(IrbenchError, match="damaged"):
        bundles.load(tmp_path)


@pytest.mark.parametrize("path", ["/etc/passwd", "../../secret"])
def test_a_card_cannot_name_files_outside_its_folder(path):
    place = put()
    card = place / "card.json"
    card.write_text(card.read_text().replace("model.onnx", path))
    with pytest.raises(IrbenchError, match="outside its folder"):
        bundles.load(place)


@pytest.mark.parametrize("other", ['"key"', '"a_new_word_for_key"'])
def test_a_card_from_the_future_is_refused_with_a_remedy_whatever_its_fields(other):
    place = put()
    card = place / "card.json"
    card.write_text(card.read_text().replace('"schema_version": 4', '"schema_version": 99').replace('"key"', other))
    with pytest.raises(IrbenchError, match="newer version"):
        bundles.load(place)


def test_every_cut_of_a_card_is_one_clear_error():
    card = put() / "card.json"
    whole = card.read_bytes().rstrip()
    for size in range(0, len(whole), 13):
        card.write_bytes(whole[:size])
        with pytest.raises(IrbenchError, match="damaged") as caught:
            bundles.load(card.parent)
        assert "irbench export MODEL --force" in caught.value.hint


def test_a_file_that_the_card_has_no_checksum_of_is_not_run():
    place = put()
    card = place / "card.json"
    card.write_text(card.read_text().replace('"graph.pb": ', '"other.pb": '))
    with pytest.raises(IrbenchError, match=r"graph\.pb is missing or has changed"):
        bundles.load_intact(place)


def test_the_last_export_is_missed_where_it_was_deleted():
    shutil.rmtree(put().parent)
    with pytest.raises(IrbenchError, match=r"The last export, net/.* no longer exists") as caught:
        bundles.latest()
    assert "irbench run MODEL" in caught.value.hint


@pytest.mark.parametrize("pointer", [b"../..", b"net/../..", b"\xff\xfe", b"x" * 5000, b"/etc/passwd", b"net/\0"])
def test_a_pointer_to_nowhere_leads_nowhere(pointer):
    place = put()
    (place.parent / ".current").write_bytes(pointer)
    (place.parent.parent / ".latest").write_bytes(pointer)
    assert bundles.find("net") is None
    with pytest.raises(IrbenchError, match="no longer exists"):
        bundles.latest()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY", b"no archive at all"])
def test_reference_outputs_that_cannot_be_read_are_made_again(content):
    place = put()
    (place / "reference.npz").write_bytes(content)
    with pytest.raises(IrbenchError, match="cannot be read") as caught:
        bundles.reference_outputs(bundles.load(place))
    assert caught.value.hint == "Export the model again: irbench export net.keras --force"


def test_every_cut_of_reference_outputs_is_one_clear_error():
    path = put() / "reference.npz"
    whole = path.read_bytes()
    for size in range(0, len(whole), 37):
        path.write_bytes(whole[:size])
        with pytest.raises(IrbenchError, match="cannot be read"):
            bundles.reference_outputs(bundles.load(path.parent))


def test_reference_outputs_that_would_fill_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr(host, "available_memory_bytes", lambda: 10)
    with pytest.raises(IrbenchError, match="GB of memory"):
        bundles.reference_outputs(bundles.load(put()))
