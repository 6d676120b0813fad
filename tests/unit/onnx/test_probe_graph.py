"""Graphs of one product."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from irbench.onnx.probe_graph import matmul
from irbench.onnx.reading import signature


@pytest.mark.parametrize("shape", [(16, 16), (1, 6, 4)])
def test_a_product_has_the_shape_that_was_asked_for(shape: tuple[int, ...], tmp_path: Path):
    made = matmul(tmp_path, "fp32", shape)
    found = signature.read(made.path)
    assert (found.inputs, found.outputs) == (made.inputs, made.outputs)
    assert made.inputs[0].shape == shape
    (answer,) = ReferenceEvaluator(str(made.path)).run(None, {"x": np.ones(shape, np.float32)})
    assert answer.shape == shape
    assert answer.any()
