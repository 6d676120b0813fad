"""Tiny ONNX graphs in ONNX's own textual syntax, and what a pass of the optimiser makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx_ir as ir
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

Arrays = Mapping[str, Any]


def random(*shape: int) -> Any:
    """Return float32 numbers, the same ones for the same shape."""
    return np.random.default_rng((7, *shape)).normal(size=shape).astype(np.float32)


def graph(text: str, weights: Arrays | None = None, opset: int = 23) -> ir.Model:
    """Parse ``(float[2,3] x) => (float[2,3] y) { ... }``; ``weights`` are initializers that the nodes name."""
    imports = f'["" : {opset}, "com.microsoft" : 1]'
    proto = onnx.parser.parse_model(f"<ir_version: 10, opset_import: {imports}> tiny {text}")
    proto.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(weight), name) for name, weight in (weights or {}).items()
    )
    return ir.from_proto(proto)


def operations(model: ir.Model) -> list[str]:
    """Return the operations in order, those of a vendor with their domain."""
    return [".".join(filter(None, (node.domain, node.op_type))) for node in model.graph]


def answered(model: ir.Model, feed: Arrays) -> Sequence[Any]:
    """Return what a runtime answers, which may treat numbers in ways of its own, and what ONNX's evaluator does."""
    import onnxruntime

    proto = ir.to_proto(model)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    answers = session.run(None, dict(feed))
    if not any(node.domain or node.op_type == "Loop" for node in model.graph):  # which joins a Loop's badly
        answers += ReferenceEvaluator(proto).run(None, dict(feed))
    return [np.asarray(answer) for answer in answers]


def applied(rewrite: Any, model: ir.Model, feed: Arrays, atol: float = 1e-5) -> list[str]:
    """Apply a pass that must change the graph but not its answers, and return the operations that are left."""
    before = answered(model, feed)
    signature = [(tensor.name, tensor.shape, tensor.dtype) for tensor in (*model.graph.inputs, *model.graph.outputs)]
    assert rewrite(model), "nothing was rewritten"
    assert [
        (tensor.name, tensor.shape, tensor.dtype) for tensor in (*model.graph.inputs, *model.graph.outputs)
    ] == signature
    onnx.checker.check_model(ir.to_proto(model), full_check=rewrite.vendor is None)
    for output, two in zip(answered(model, feed), before, strict=False):  # a vendor's operation is of its runtime alone
        assert np.allclose(output, two, atol=atol, rtol=1e-4)
    assert not rewrite(model), "a second application still finds something"
    return operations(model)


def kept(rewrite: Any, model: ir.Model) -> bool:
    """Whether a pass leaves a graph as it is."""
    before = operations(model)
    return not rewrite(model) and operations(model) == before
