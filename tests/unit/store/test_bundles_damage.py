"""Bundles that are damaged, incomplete or from elsewhere: each is one clear error with its remedy, or made again."""

from __future__ import annotations

import shutil

import pytest
from small_bundles import put

from irbench.errors import IrbenchError
from irbench.store import bundles
from irbench.system import host


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
    card.write_text(card.read_text().replace('"schema_version": 3', '"schema_version": 99').replace('"key"', other))
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
