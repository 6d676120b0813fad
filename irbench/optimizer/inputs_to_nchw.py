"""Take images as NCHW where the graph turns them into that itself.

1. Transpose(x) from NHWC to NCHW, x an input      -> x, an input whose axes are in that order
2. Transpose(f(x)), f element by element           -> f(x), constants turned likewise
3. Shape(x)                                        -> Gather(Shape(x), where the axes stand)
4. What else reads x                               -> reads x turned back, by one Transpose

It changes the graph's signature, which a :class:`irbench.spi.Pass` never does: it stands in front of
them. That is why constants may still be nodes here, not initializers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import infer
from irbench.optimizer.pass_tools.edit import add_constant, clean, insert, is_node, replace
from irbench.spec import Artifact, TensorSpec

if TYPE_CHECKING:
    import onnx_ir as ir

TO_NCHW = (0, 3, 1, 2)
"""Axes of NHWC in the order of NCHW."""

_TO_NHWC = (0, 2, 3, 1)
_WITH_NUMBERS = ("DequantizeLinear", "QuantizeLinear")
_ELEMENTWISE = ("Add", "Cast", "Div", "Identity", "Mul", "Sub", *_WITH_NUMBERS)
"""What images pass through before they are turned: centring, scaling, another type."""


def inputs_to_nchw(model: ir.Model) -> tuple[str, ...]:
    """Turn the inputs that lead into a Transpose to NCHW, in place.

    Returns:
        Their names. Such an input takes what it took before with its axes in the order :data:`TO_NCHW`.
    """
    infer(model, keeps_outputs=True)
    weights = model.graph.initializers
    images = [tensor for tensor in model.graph.inputs if tensor.name not in weights and _leads_to_transpose(tensor)]
    for value in images:
        _turn(value, model.graph)
    clean(model)
    return tuple(str(value.name) for value in images)


def _leads_to_transpose(value: ir.Value) -> bool:
    if value.shape is None or len(value.shape) != len(TO_NCHW) or value.is_graph_output():
        return False
    return any(_is_transpose(node) or _is_passed(node, value) for node in _readers(value))


def _readers(value: ir.Value) -> tuple[ir.Node, ...]:
    return tuple(dict.fromkeys(use.node for use in value.uses() if use.node.graph is value.graph))


def _is_transpose(node: ir.Node) -> bool:
    order = node.attributes.get_ints("perm", ())
    return is_node(node.outputs[0], "Transpose") and tuple(order) == TO_NCHW and not node.outputs[0].is_graph_output()


def _is_passed(node: ir.Node, value: ir.Value) -> bool:
    """Whether a value goes through a node element by element on its way to a Transpose."""
    import onnx_ir as ir

    if not is_node(node.outputs[0], *_ELEMENTWISE) or list(node.inputs).count(value) != 1:
        return False
    constants = [ir.convenience.get_const_tensor(tensor) for tensor in node.inputs if tensor not in (None, value)]
    most = 1 if node.op_type in _WITH_NUMBERS else None
    return _leads_to_transpose(node.outputs[0]) and all(
        constant is not None and len(constant.shape) <= len(TO_NCHW) and (most is None or constant.size == most)
        for constant in constants
    )


def _turn(image: ir.Value, graph: ir.Graph) -> None:
    import onnx_ir as ir

    back = ir.node("Transpose", [image], {"perm": _TO_NHWC})
    back.outputs[0].type, back.outputs[0].shape = image.type, image.shape
    graph.insert_before(graph[0], back)
    replace(image, back.outputs[0])
    back.replace_input_with(0, image)
    image.shape = _turned_shape(image)
    _follow(back.outputs[0], image)


def _follow(value: ir.Value, turned: ir.Value) -> None:
    """Let the readers of ``value`` that can read ``turned``, its axes as NCHW."""
    for node in _readers(value):
        if _is_transpose(node):
            replace(node.outputs[0], turned)
        elif _is_passed(node, value):
            inputs = [turned if tensor is value else _turned_constant(tensor, node) for tensor in node.inputs]
            result = insert(node, node.op_type, inputs, dict(node.attributes))
            result.shape = _turned_shape(node.outputs[0])
            _follow(node.outputs[0], result)
        elif is_node(node.outputs[0], "Shape"):
            _measure(node, turned)


def _turned_shape(value: ir.Value) -> ir.Shape | None:
    import onnx_ir as ir

    shape = value.shape
    return None if shape is None else ir.Shape([shape[axis] for axis in TO_NCHW])


def _turned_constant(value: ir.Value | None, before: ir.Node) -> ir.Value | None:
    import onnx_ir as ir

    constant = None if value is None else ir.convenience.get_const_tensor(value)
    if value is None or constant is None or constant.size == 1 or before.graph is None:
        return value
    array = constant.numpy()
    turned = array.reshape((1,) * (len(TO_NCHW) - array.ndim) + array.shape).transpose(TO_NCHW)
    return add_constant(before.graph, turned, value)


def _measure(node: ir.Node, turned: ir.Value) -> None:
    """Apply rule 3 to a Shape, which may ask for some of the axes only."""
    if node.graph is None:
        return
    start, end = (node.attributes.get_int(name, default) for name, default in (("start", 0), ("end", len(TO_NCHW))))
    places = add_constant(node.graph, np.array(_TO_NHWC[start:end], np.int64), node.outputs[0])
    gathered = insert(node, "Gather", [insert(node, "Shape", [turned]), places])
    gathered.shape = node.outputs[0].shape
    replace(node.outputs[0], gathered)


def as_nchw(artifact: Artifact, names: Collection[str]) -> Artifact:
    """Return an artifact that takes the inputs of these names as NCHW, where it took NHWC."""
    return dataclasses.replace(
        artifact, inputs=tuple(_as_nchw(tensor) if tensor.name in names else tensor for tensor in artifact.inputs)
    )


def _as_nchw(spec: TensorSpec) -> TensorSpec:
    before = spec.permutation or tuple(range(len(TO_NCHW)))
    order = tuple(before[axis] for axis in TO_NCHW)
    shape = tuple(spec.shape[axis] for axis in TO_NCHW)
    return TensorSpec(spec.name, spec.dtype, shape, None if order == tuple(sorted(order)) else order)
