"""Compute every node whose inputs are constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.rewriting.detached_weights import DetachedModel, opset_of
from irbench.onnx.rewriting.randomness import may_be_random
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx

_MAX_GROWTH_BYTES = 1 << 20
"""A folded node may need this much more room than its inputs: a broadcast is cheaper than its result."""

_KEPT = frozenset({"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul"})
"""Runtimes look for these nodes to compute in integers."""


def fold_constants(detached: DetachedModel) -> bool:
    """Replace nodes of constant inputs by their values.

    The reference evaluator that defines ONNX's semantics computes them. Nodes with inner graphs, random
    ones, quantisation, and results much larger than their inputs stay.
    """
    kept: list[onnx.NodeProto] = []
    outputs = {tensor.name for tensor in detached.model.graph.output}
    opset = opset_of(detached.model)
    for node in detached.model.graph.node:
        values = _values(node, detached, opset) if _foldable(node, detached, outputs) else None
        if values is None:
            kept.append(node)
        else:
            detached.weights.update(values)
    changed = len(kept) < len(detached.model.graph.node)
    if changed:
        del detached.model.graph.node[:]
        detached.model.graph.node.extend(kept)
    return changed


def _foldable(node: onnx.NodeProto, detached: DetachedModel, outputs: set[str]) -> bool:
    return (
        node.op_type not in _KEPT
        and (bool(node.input) or node.op_type == "Constant")
        and all(not name or name in detached.weights for name in node.input)
        and not may_be_random(node.domain, node.op_type, _third_input(node, detached))
        and not any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)
        and outputs.isdisjoint(node.output)
    )


def _third_input(node: onnx.NodeProto, detached: DetachedModel) -> Array | bool:
    """Return what the third input of a node of constant inputs holds, ``False`` where it has none."""
    return detached.weights[node.input[2]] if len(node.input) > 2 and node.input[2] else False


def _values(node: onnx.NodeProto, detached: DetachedModel, opset: int) -> dict[str, Array] | None:
    from onnx.reference import ReferenceEvaluator

    inputs = {name: detached.weights[name] for name in node.input if name}
    try:
        results = ReferenceEvaluator(node, opsets={"": opset}).run(None, inputs)
    except Exception:  # noqa: BLE001 - the evaluator does not know every operation; the runtime will
        return None
    if not all(isinstance(result, np.ndarray | np.generic) for result in results):  # a sequence is no weight
        return None
    arrays = {name: np.asarray(result) for name, result in zip(node.output, results, strict=True) if name}
    grown = sum(array.nbytes for array in arrays.values()) - sum(array.nbytes for array in inputs.values())
    if grown > _MAX_GROWTH_BYTES or any(array.dtype == object for array in arrays.values()):
        return None
    return arrays
