from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec
from irbench.store import card
from irbench.store.card import CARD, Card, Origin, load_card, write_card
from irbench.system.file_states import FileState


def card_of(files: int) -> Card:
    """The card of a model whose export read so many files."""
    states = {f"/data/{number:06}.png": FileState("0" * 64, 1, 1, 1) for number in range(files)}
    origin = Origin("net.py:build", "/", "/net.py:build", "tensorflow", {}, states)
    return Card(Bundle("net", (), ()), "key", "2026-01-31", {}, origin)


def test_a_card_that_is_too_long_to_be_read_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(card, "MOST_BYTES", 10_000)
    write_card(card_of(10), tmp_path)
    assert len(load_card(tmp_path).checksums) == 0
    (tmp_path / CARD).unlink()
    with pytest.raises(IrbenchError, match="its export read 1,000 files") as caught:
        write_card(card_of(1000), tmp_path)
    assert "fewer files" in caught.value.hint
    assert not (tmp_path / CARD).exists()


def test_a_card_that_is_too_long_says_so_instead_of_being_read_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_card(card_of(10), tmp_path)
    monkeypatch.setattr(card, "MOST_BYTES", 100)
    with pytest.raises(IrbenchError, match="cannot be read: it has more than"):
        load_card(tmp_path)


@pytest.mark.parametrize(
    ("axes", "reason"), [((0, 1), "1 outputs, and 2 axes"), ((-1,), "axis of an output is negative")]
)
def test_axes_that_do_not_fit_the_outputs_are_damage(tmp_path: Path, axes: tuple[int, ...], reason: str):
    graph = Artifact("onnx", Path("model.onnx"), (), (TensorSpec("y", "float32", (2, "batch")),))
    write_card(Card(Bundle("net", (), (graph,), batch_axes=axes), "key", "2026-01-31", {}), tmp_path)
    with pytest.raises(IrbenchError, match=reason):
        load_card(tmp_path)


def test_the_axes_of_outputs_come_back(tmp_path: Path):
    outputs = (TensorSpec("y", "float32", (2, "batch")), TensorSpec("table", "float32", (3,)))
    bundle = Bundle("net", (), (Artifact("onnx", Path("model.onnx"), (), outputs),), batch_axes=(1, None))
    write_card(Card(bundle, "key", "2026-01-31", {}), tmp_path)
    assert load_card(tmp_path).bundle.batch_axes == (1, None)


def test_a_card_of_format_1_has_no_masks_so_that_its_inputs_are_those_of_its_reference(tmp_path: Path):
    mask = InputSpec(TensorSpec("padding_mask", "int32", ("batch", 4)), 0, 2, is_mask=True)
    write_card(Card(Bundle("net", (mask,), ()), "key", "2026-01-31", {}), tmp_path)
    document = json.loads((tmp_path / CARD).read_text())
    assert document["schema_version"] == 4, "an irbench that knows no masks must not read it"
    document["schema_version"] = 1
    del (
        document["bundle"]["inputs"][0]["is_mask"],
        document["bundle"]["inputs"][0]["marks_padding"],
        document["bundle"]["batch_axes"],
    )
    (tmp_path / CARD).write_text(json.dumps(document))
    bundle = load_card(tmp_path).bundle
    assert bundle.inputs == (replace(mask, is_mask=False),)
    assert bundle.batch_axes == ()


@pytest.mark.parametrize(("version", "channels", "is_refused"), [(2, 1, True), (2, 4, False), (3, 1, False)])
def test_a_card_of_format_2_whose_reference_was_computed_for_another_mask_is_refused(
    tmp_path: Path, version: int, channels: int, is_refused: bool
):
    mask = InputSpec(TensorSpec("mask", "float32", ("batch", 4, channels)), 0, 2, is_mask=True)
    write_card(Card(Bundle("net", (mask,), ()), "key", "2026-01-31", {}, schema_version=version), tmp_path)
    if not is_refused:
        assert load_card(tmp_path).bundle.inputs == (mask,)
        return
    with pytest.raises(IrbenchError, match="masks were generated in another way") as caught:
        load_card(tmp_path)
    assert "Export it again" in caught.value.hint


def test_a_mask_of_a_card_of_format_3_is_generated_as_its_reference_was_computed(tmp_path: Path):
    mask = InputSpec(TensorSpec("key_padding_mask", "int32", ("batch", 4)), 0, 2, is_mask=True)
    write_card(Card(Bundle("net", (mask,), ()), "key", "2026-01-31", {}, schema_version=3), tmp_path)
    document = json.loads((tmp_path / CARD).read_text())
    del document["bundle"]["inputs"][0]["marks_padding"]
    (tmp_path / CARD).write_text(json.dumps(document))
    assert load_card(tmp_path).bundle.inputs == (mask,)
