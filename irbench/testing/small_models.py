"""The model that contracts give to what reads ONNX."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from irbench.spec import BATCH, Artifact, TensorSpec

_OPSET, _IR_VERSION = 17, 9  # old enough for every runtime in use
_FEATURES, _HIDDEN, _CLASSES = 64, 256, 10


def write_mlp(folder: Path) -> Artifact:
    """Write two dense layers as ONNX: "features" float32 (batch, 64) to "scores" float32 (batch, 10).

    Its operators are Gemm, Relu and Softmax.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(7)
    weights = {
        "hidden_weight": random.normal(0, 0.2, (_FEATURES, _HIDDEN)),
        "hidden_bias": random.normal(0, 0.2, (_HIDDEN,)),
        "output_weight": random.normal(0, 0.2, (_HIDDEN, _CLASSES)),
        "output_bias": random.normal(0, 0.2, (_CLASSES,)),
    }
    nodes = [
        helper.make_node("Gemm", ["features", "hidden_weight", "hidden_bias"], ["hidden"], "hidden_layer"),
        helper.make_node("Relu", ["hidden"], ["positive"], "activation"),
        helper.make_node("Gemm", ["positive", "output_weight", "output_bias"], ["logits"], "output_layer"),
        helper.make_node("Softmax", ["logits"], ["scores"], "softmax"),
    ]
    graph = helper.make_graph(
        nodes,
        "mlp",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, [BATCH, _FEATURES])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [BATCH, _CLASSES])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
    onnx.checker.check_model(model, full_check=True)
    path = folder / "mlp.onnx"
    onnx.save(model, path)
    inputs = (TensorSpec("features", "float32", (BATCH, _FEATURES)),)
    outputs = (TensorSpec("scores", "float32", (BATCH, _CLASSES)),)
    return Artifact("onnx", path, inputs, outputs, opset=_OPSET)
