"""Small ONNX graphs written as text, with their weights."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper


def graph(text: str, opset: int = 23, **weights: object) -> onnx.ModelProto:
    """Return a model: ``(float[2,3] x) => (y) { y = MatMul (x, w) }``, with arrays by the names of its weights."""
    imports = f'"" : {opset}, "com.microsoft" : 1, "com.microsoft.nchwc" : 1, "own" : 1'
    model = onnx.parser.parse_model(f"<ir_version: 10, opset_import: [{imports}]> g {text}")
    model.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(weight), name) for name, weight in weights.items()
    )
    return model


def ones(*shape: int) -> np.ndarray:
    """Return a weight of a shape."""
    return np.ones(shape, np.float32)
