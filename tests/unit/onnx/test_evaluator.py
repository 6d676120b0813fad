"""ONNX's own evaluator is a reference that is always there."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import models
import numpy as np
import pytest

from irbench.onnx.evaluator import reference
from irbench.onnx.probe_graph import matmul
from irbench.onnx.rewriting.bind import bind
from irbench.spec import Artifact, Load
from irbench.spi import Refusal, Session


def compiled(artifact: Artifact, load: Load, device: str = "cpu") -> Session:
    reference.import_runtime(load, device)
    return reference.compile(artifact, load, device, lambda _phase: nullcontext())


def test_it_answers_two_inputs_as_numpy_does(tmp_path: Path):
    session = compiled(bind(models.two_inputs(tmp_path), {"batch": 2, "length": 3}, tmp_path), Load())
    (slot,) = session.open_slots(1, "copy")
    tokens, scale = np.array([[1, 2, 3], [3, 3, 3]], np.int64), np.full((2, 4), 2.0, np.float32)
    slot.stage((tokens, scale))
    slot.run()
    mixed, total = slot.fetch()
    table = np.random.default_rng(11).normal(0, 1, (models.VOCABULARY, 4)).astype(np.float32)
    np.testing.assert_allclose(mixed, table[tokens] * 2, rtol=1e-6)
    np.testing.assert_allclose(total, (table[tokens] * 2).sum(1), rtol=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16"])
def test_the_precision_is_that_of_the_graph(tmp_path: Path, precision: str):
    session = compiled(matmul(tmp_path, precision), Load(precision="native"))
    assert session.effective["precision"] == precision


@pytest.mark.parametrize(
    ("load", "device", "message"),
    [
        (Load(precision="fp16"), "cpu", "This graph is fp32, not fp16"),
        (Load(options={"speed": "high"}), "cpu", "no option 'speed'"),
        (Load(), "cuda", "no device 'cuda'"),
    ],
)
def test_what_it_cannot_do_is_refused_with_a_way_out(tmp_path: Path, load: Load, device: Any, message: str):
    with pytest.raises(Refusal, match=message) as caught:
        compiled(matmul(tmp_path, "fp32"), load, device)
    assert caught.value.hint


def test_it_needs_nothing_but_the_base_installation():
    assert reference.describe().version
    assert reference.probe().devices == ("cpu",)
