"""What irbench adds to tf2onnx: operations it does not map, and optimiser passes that it does not get right."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import numpy as np


def custom_handlers() -> dict[str, tuple[Any, list[Any]]]:
    """Return handlers of TensorFlow operations by name, in the form tf2onnx takes them."""
    return {"Erfc": (_erfc, [])}


def optimizers() -> Any:
    """Return tf2onnx's optimiser passes, two of them corrected.

    The original pass over transposes takes the largest axis of what is added to a convolution for the length of a bias.
    A scalar has no axis, and the whole pass is lost: every transpose of a hard-swish network stays.

    The original pass over pairs drops a Reshape before another one, also where a 0 in the shape of the second copies a
    size of what the first gives: it then copies one of what the first takes.
    """
    import tf2onnx.optimizer
    from tf2onnx.optimizer import back_to_back_optimizer
    from tf2onnx.optimizer.transpose_optimizer import TransposeOptimizer

    class ScalarSafeTransposeOptimizer(TransposeOptimizer):  # type: ignore[misc]  # tf2onnx ships no types
        def _add_handler(self, trans: Any, node: Any) -> Any:
            if any(tensor.is_const() and tensor.is_scalar() for tensor in node.inputs):
                return self._handle_node_having_branches(trans, node)
            return super()._add_handler(trans, node)

    class CopyingReshapeOptimizer(back_to_back_optimizer.BackToBackOptimizer):  # type: ignore[misc]  # as above
        def _optimize(self, graph: Any) -> Any:
            rules = back_to_back_optimizer._func_map  # noqa: SLF001 - tf2onnx offers no other way to them
            original = rules[("Reshape",)]
            rules[("Reshape",)] = _join_reshapes
            try:
                return super()._optimize(graph)
            finally:  # other conversions in this process keep the rules that they know
                rules[("Reshape",)] = original

    passes = OrderedDict(tf2onnx.optimizer._get_optimizers())  # noqa: SLF001 - tf2onnx offers no other list
    passes["optimize_transpose"] = ScalarSafeTransposeOptimizer
    passes["remove_back_to_back"] = CopyingReshapeOptimizer
    return passes


def _join_reshapes(graph: Any, node: Any, consumers: list[Any]) -> list[Any]:
    """Drop a Reshape before its only consumer, another Reshape, unless that copies a size of its input."""
    if len(consumers) == 1 and consumers[0].type == "Reshape" and not _copies_sizes(consumers[0]):
        graph.replace_inputs(consumers[0], [node.input[0], consumers[0].input[1]])
        graph.remove_node(node.name)
    return []


def _copies_sizes(reshape: Any) -> bool:
    """Whether the shape of a Reshape may hold a 0; one that is joined of parts holds it in a constant one."""
    shape = reshape.inputs[1]
    allowed = reshape.get_attr("allowzero")
    if shape is None or (allowed is not None and allowed.i):
        return False
    parts = shape.inputs if shape.type == "Concat" else [shape]
    known = [part for part in parts if part is not None and part.is_const()]
    return any(not part.get_tensor_value(as_list=False).all() for part in known)


def _erfc(graph: Any, node: Any, name: str, _arguments: list[Any]) -> None:
    """Write erfc(x) as 1 - Erf(x), or erfc(-x / sqrt 2) as Erf(x / sqrt 2) + 1.

    The second is TensorFlow's exact GELU; in this form runtimes know it as one operation.
    """
    dtype, shape = graph.get_dtype(node.output[0]), graph.get_shape(node.output[0])
    one_value = np.array(1, dtype=_numpy_dtype(dtype))
    ones = graph.make_const(f"{name}_one", one_value).output[0]
    argument, negated = _strip_gelu_scale(graph, node, name)
    consumers_output = node.output[0]
    graph.remove_node(node.name)
    erf = graph.make_node("Erf", [argument], name=f"{name}_erf", shapes=[shape], dtypes=[dtype])
    operation, operands = ("Add", [erf.output[0], ones]) if negated else ("Sub", [ones, erf.output[0]])
    graph.make_node(operation, operands, name=name, outputs=[consumers_output], shapes=[shape], dtypes=[dtype])


def _strip_gelu_scale(graph: Any, node: Any, name: str) -> tuple[str, bool]:
    """Return x / sqrt 2 and True where the argument is -x * sqrt(1/2), else the argument and False."""
    product = node.inputs[0]
    if product is None or product.type != "Mul":
        return node.input[0], False
    for position in (0, 1):
        if not product.inputs[position].is_const():
            continue
        scale, other = _scalar(product.inputs[position]), product.inputs[1 - position]
        operand = product.input[1 - position]
        if other is not None and other.type == "Neg":
            scale, operand = -scale, other.input[0]
        if math.isclose(scale, -math.sqrt(0.5), rel_tol=1e-6):
            dtype, shape = graph.get_dtype(node.input[0]), graph.get_shape(node.input[0])
            root = graph.make_const(f"{name}_sqrt2", np.array(math.sqrt(2), dtype=_numpy_dtype(dtype))).output[0]
            divided = graph.make_node("Div", [operand, root], name=f"{name}_div", shapes=[shape], dtypes=[dtype])
            return divided.output[0], True
    return node.input[0], False


def _scalar(constant: Any) -> float:
    value = constant.get_tensor_value(as_list=False)
    return float(value.reshape(())) if value.size == 1 else math.nan


def _numpy_dtype(onnx_dtype: int) -> Any:
    import onnx

    return onnx.helper.tensor_dtype_to_np_dtype(onnx_dtype)
