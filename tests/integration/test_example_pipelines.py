"""The pipelines of docs/examples, each with a small model on a real runtime: what they compute, and their tables."""

from __future__ import annotations

import importlib.util
import wave
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from fake_runs import FASTEST, cell
from front_door import irbench
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from irbench.spi import CellContext

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
RATE = 8000
SHAPES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "image_pipeline": {"image": (1, 3, 16, 16)},
    "text_pipeline": {"input_ids": (1, 12), "attention_mask": (1, 12)},
    "audio_pipeline": {"spectrogram": (1, 20, 30)},
}
STAGES = {
    "image_pipeline": ["receive", "decode", "resize", "normalise", "model", "best"],
    "text_pipeline": ["normalise", "tokenize", "encode", "model", "classify"],
    "audio_pipeline": ["decode", "spectra", "mel", "model", "classify"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with what the examples read."""
    monkeypatch.chdir(tmp_path)
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[..., 0] = 255
    Image.fromarray(pixels).save("red.png")
    Path("vocab.txt").write_text("[UNK]\nthe\nbench\n##marks\n##mark\nruns\n.\n")
    with wave.open("tone.wav", "wb") as sound:
        sound.setparams((1, 2, RATE, 0, "NONE", ""))
        tone = np.sin(2 * np.pi * 1000 * np.arange(RATE) / RATE)
        sound.writeframes((tone * 30000).astype("<i2").tobytes())
    for name, value in {"PICTURE": "red.png", "VOCABULARY": "vocab.txt", "SOUND": "tone.wav"}.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.setenv("TEXT", "The Bénchmarks runs.")
    return tmp_path


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def until_model(name: str) -> Any:
    """Return what the stages of an example give the model."""
    context = CellContext(Path("model.onnx"), 1, 1, 1, "fp32", SHAPES[name], ("scores",))
    value: Any = {}
    for stage in example(name).stages(context).values():
        if isinstance(stage, str):
            return value
        value = stage(value)
    raise AssertionError("no stage is the model")


def write_classifier(path: Path, name: str) -> None:
    """Write a model with the inputs of an example: one product with seeded weights."""
    is_text = name == "text_pipeline"
    size = int(np.prod(next(iter(SHAPES[name].values()))))
    weights = np.random.default_rng(0).normal(size=(size, 5)).astype(np.float32)
    kind = TensorProto.INT64 if is_text else TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info(own, kind, shape) for own, shape in SHAPES[name].items()]
    nodes = [helper.make_node("Mul", list(SHAPES[name]), ["kept"])] if is_text else []
    nodes += [
        helper.make_node("Cast", ["kept" if is_text else inputs[0].name], ["x"], to=TensorProto.FLOAT),
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["scores"]),
    ]
    outputs = [helper.make_tensor_value_info("scores", TensorProto.FLOAT, (1, 5))]
    graph = helper.make_graph(nodes, name, inputs, outputs, [numpy_helper.from_array(weights, "weights")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def test_an_image_is_decoded_resized_and_normalised(folder: Path) -> None:
    pixels = until_model("image_pipeline")
    assert (pixels.shape, pixels.dtype) == ((1, 3, 16, 16), np.float32)
    red, green, _ = pixels.mean(axis=(0, 2, 3))
    assert red == pytest.approx((1 - 0.485) / 0.229, rel=1e-5)
    assert green == pytest.approx(-0.456 / 0.224, rel=1e-5)


def test_a_text_becomes_the_longest_pieces_of_the_vocabulary(folder: Path) -> None:
    given = until_model("text_pipeline")
    assert given["input_ids"].tolist() == [[1, 2, 3, 5, 6, *[0] * 7]]
    assert given["attention_mask"].tolist() == [[1] * 5 + [0] * 7]


def test_a_tone_is_the_band_of_its_frequency(folder: Path) -> None:
    spectrogram = until_model("audio_pipeline")
    assert (spectrogram.shape, spectrogram.dtype) == ((1, 20, 30), np.float32)
    mels = np.linspace(0, 2595 * np.log10(1 + RATE / 2 / 700), 22)[1:-1]
    nearest = int(np.abs(mels - 2595 * np.log10(1 + 1000 / 700)).argmin())
    assert set(spectrogram[0].argmax(axis=0)) == {nearest}


@pytest.mark.ci
@pytest.mark.parametrize("name", SHAPES)
def test_an_example_is_a_row_whose_stages_are_timed(folder: Path, name: str) -> None:
    write_classifier(folder / "model.onnx", name)
    code = f"service={EXAMPLES / f'{name}.py'}:stages"
    called = irbench("run", "model.onnx", "--backends", "ort", "--format", "json", *FASTEST, "--cell", code)
    assert called.code == 0, called.err
    row = cell(called, "service")
    assert row["state"] == "ok"
    assert [stage["name"] for stage in row["stages"]] == STAGES[name]
    assert sum(stage["share"]["value"] for stage in row["stages"]) == pytest.approx(1)
    assert [mark["code"] for mark in row["marks"]] == ["no-outputs"]
