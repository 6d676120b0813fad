"""Bundles that were damaged or made by somebody else, through the front door."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import hostile_files as hostile
import models
import numpy as np
import onnx
import pytest
from fake_runs import FASTEST, cell
from front_door import Called, irbench
from hostile_files import refusal
from onnx.reference import ReferenceEvaluator

from irbench.core import feeds
from irbench.onnx.rewriting import detached_weights
from irbench.spec import Bundle
from irbench.store import bundles
from irbench.system.file_states import file_state

pytestmark = pytest.mark.usefixtures("known_backends")

_AGAIN = "irbench export"


@pytest.fixture
def place() -> Path:
    """A whole bundle in the cache, the last export."""
    return install(lambda _: None)


def install(change: Callable[[Path], object]) -> Path:
    """Install a bundle whose folder was changed before its checksums were taken."""
    with bundles.staging() as folder:
        artifact = models.mlp(folder, name="model")
        inputs = models.logical_inputs(artifact)
        samples = feeds.generate(inputs, {"batch": feeds.POOL}, 0)
        np.savez(folder / "reference.npz", *ReferenceEvaluator(str(artifact.path)).run(None, {"pixels": samples[0]}))
        change(folder)
        kept = Bundle("net", inputs, (relative(artifact),), reference=Path("reference.npz"), source="net.keras")
        checksums = {path.name: bundles.digest(path) for path in sorted(folder.iterdir())}
        return bundles.install(folder, bundles.Card(kept, "a" * 64, "2026-01-01T00:00:00+00:00", checksums))


def relative(artifact: Any) -> Any:
    return replace(artifact, path=Path(artifact.path.name))


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Change what the card says."""

    def edit(place: Path) -> None:
        card = json.loads((place / "card.json").read_text())
        change(card)
        (place / "card.json").write_text(json.dumps(card))

    return edit


def put(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda place: (place / name).write_bytes(content) and None


def gone(name: str) -> Callable[[Path], None]:
    return lambda place: (place / name).unlink()


def first_input(key: str, value: Any) -> Callable[[Path], None]:
    return edited(lambda card: card["bundle"]["inputs"][0]["tensor"].update({key: value}))


def first_artifact(key: str, value: Any) -> Callable[[Path], None]:
    return edited(lambda card: card["bundle"]["artifacts"][0].update({key: value}))


REFUSED = {
    "an empty card": (put("card.json", b""), "card.json is damaged", _AGAIN),
    "a card cut short": (put("card.json", b'{"schema_version": 2, "bundle": {'), "card.json is damaged", _AGAIN),
    "a card nested without end": (put("card.json", b"[" * 10**6), "card.json is damaged", _AGAIN),
    "a card that is no text": (put("card.json", b"\xff\xfe\x00"), "card.json is damaged", _AGAIN),
    "axes of other outputs": (edited(lambda card: card["bundle"].update(batch_axes=[0, 0, 0])), "is damaged: ", _AGAIN),
    "a mask that is a number": (
        edited(lambda card: card["bundle"]["inputs"][0].update(is_mask=7)),
        "is damaged: the value at bundle.inputs[0].is_mask is not of the type",
        _AGAIN,
    ),
    "a later card": (edited(lambda card: card.update(schema_version=5)), "written by a newer version", "Upgrade"),
    "a later card with other fields": (put("card.json", b'{"schema_version": 9}'), "newer version", "Upgrade"),
    "a card without a bundle": (
        edited(lambda card: card.pop("bundle")),
        "is damaged: the field bundle is missing",
        _AGAIN,
    ),
    "a number for a name": (
        edited(lambda card: card["bundle"].update(name=7)),
        "is damaged: the value at bundle.name is not",
        _AGAIN,
    ),
    "sizes that are no numbers": (first_input("shape", [1.5]), "is damaged: the value at bundle.inputs[0]", _AGAIN),
    "a missing model": (gone("model.onnx"), "model.onnx is missing or has changed", "--force"),
    "another model": (put("model.onnx", b"\x08\x09"), "model.onnx is missing or has changed", "net.keras --force"),
    "a missing reference": (gone("reference.npz"), "reference.npz is missing or has changed", "net.keras --force"),
    "another reference": (put("reference.npz", b"PK"), "reference.npz is missing or has changed", "net.keras --force"),
    "no checksums": (edited(lambda card: card["checksums"].clear()), "model.onnx is missing or has changed", "--force"),
    "a file outside": (first_artifact("path", "../../x.onnx"), "refers to a file outside its folder", "Do not use it"),
    "a size below one": (first_input("shape", ["batch", 0, 8, 8]), "sizes of pixels must be at least 1, not 0", _AGAIN),
    "an unknown type": (first_input("dtype", "float99"), "'float99' is not a valid type of an input", _AGAIN),
    "inputs that the artifact lacks": (first_artifact("inputs", []), "takes 0 inputs, the model has 1", _AGAIN),
    "axes in an impossible order": (
        edited(lambda card: card["bundle"]["artifacts"][0]["inputs"][0].update(permutation=[0, 0, 1, 9])),
        "is not an order of the 4 axes of pixels",
        _AGAIN,
    ),
}


@pytest.mark.parametrize(("damage", "said", "hint"), REFUSED.values(), ids=REFUSED.keys())
def test_a_damaged_bundle_is_one_line_and_what_makes_it_again(
    place: Path, own_home: Path, damage: Callable[[Path], None], said: str, hint: str
) -> None:
    damage(place)
    problem, remedy = refusal(irbench("run", "net", "--backends", "fake-a"))
    assert said in problem
    assert hint in remedy
    assert not (own_home / "results").exists()


def test_a_pointer_to_a_bundle_that_was_deleted_says_so(place: Path) -> None:
    shutil.rmtree(place)
    problem, remedy = refusal(irbench("run", "--backends", "fake-a"))
    assert "The last export, net/" in problem
    assert "irbench run MODEL" in remedy


@pytest.mark.parametrize(
    "outputs",
    [np.zeros((3, 5), np.float32), np.array(1.0), np.zeros((0, 5), np.float32)],
    ids=["few", "scalar", "none"],
)
def test_a_reference_of_another_number_of_samples_is_refused(outputs: Any) -> None:
    install(lambda folder: np.savez(folder / "reference.npz", outputs))
    called = run()
    assert called.code == 2, called.err
    assert "do not match its 8 samples" in called.err


def test_a_reference_of_other_shapes_gives_no_speedup() -> None:
    install(lambda folder: np.savez(folder / "reference.npz", np.zeros((8, 6), np.float32)))
    called = run()
    assert called.code in (1, 3), called.err
    assert "has shape 1x5, the reference 1x6" in cell(called, "ort")["failure"]["message"]


@pytest.mark.parametrize("name", ["/dev/zero", "/proc/kcore", "a\0b", "../../..", "", "x" * 5000])
def test_an_origin_of_impossible_files_is_told_and_nothing_of_it_is_run(name: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.touch()
    state = {"sha256": "0" * 64, "size_bytes": 0, "modified_ns": 0, "inode_changed_ns": 0}
    origin = {
        "source": "net:build",
        "folder": str(tmp_path),
        "location": name,
        "exporter": "tensorflow",
        "options": {},
        "tools": {},
        "files": {name: state, str(mine): asdict(file_state(mine))},
        "folders": [name],
        "listings": {name: "0"},
        "modules": {name: name, "net": name},
    }
    (tmp_path / "net.py").write_text("raise SystemExit('it was run')")
    place = install(lambda _: None)
    edited(lambda card: card.update(origin=origin))(place)
    called = irbench("run", place, "--backends", "ort", "--dry-run")
    assert called.code == 0, called.err
    assert called.err.startswith("warning: ")
    assert "changed since" in called.err


def test_a_model_that_is_none_in_an_intact_bundle_is_refused() -> None:
    place = install(lambda folder: (folder / "model.onnx").write_bytes(b"\xff" * 400))
    problem, remedy = refusal(irbench("run", place, "--backends", "ort"))
    assert "is not an ONNX model" in problem
    assert "again" in remedy


@pytest.mark.ci
def test_a_bundle_whose_weights_lie_beside_its_graph_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detached_weights, "MAX_BYTES", 2000)

    def take_apart(folder: Path) -> None:
        detached_weights.write(detached_weights.detach(onnx.load(folder / "model.onnx"), {}), folder / "model.onnx")

    place = install(take_apart)
    assert (place / "model.onnx.data").is_file()
    called = run()
    assert called.code == 0, called.err
    assert cell(called, "ort")["output_error"]["max_rel"] < 1e-4


def run() -> Called:
    return irbench("run", "net", "--backends", "ort", "--format", "json", *FASTEST)


def test_a_bundle_whose_weights_lie_elsewhere_is_refused_before_anything_opens_them(tmp_path: Path) -> None:
    path = hostile.with_external(location="/dev/zero")(tmp_path)
    place = install(lambda folder: shutil.copyfile(path, folder / "model.onnx"))
    problem, _ = refusal(irbench("run", place, "--backends", "fake-a", *FASTEST))
    assert "weights at '/dev/zero', outside its own folder" in problem
