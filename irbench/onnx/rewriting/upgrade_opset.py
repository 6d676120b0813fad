"""Move a model to a later version of ONNX's operator set."""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence
from typing import Any

import onnx
from onnx import helper, version_converter

from irbench.core.quantities import listing
from irbench.errors import IrbenchError, first_line
from irbench.onnx.contributed.own_domain import is_contributed
from irbench.onnx.rewriting.detached_weights import DetachedModel, detach, nodes_of, opset_of, skeleton, take_name

_AXIS = 1


def _transform_along_axis_1(model: onnx.ModelProto) -> None:
    """Let every DFT of opset 17 to 19 transform axis 1: the axes before that which it transforms become one."""
    taken = {name for node in nodes_of(model) for name in (*node.input, *node.output)}
    for nodes in (model.graph.node, *(function.node for function in model.functions)):
        _rewrite(nodes, taken)


def _rewrite(nodes: MutableSequence[Any], taken: set[str]) -> None:
    rewritten: list[onnx.NodeProto] = []
    for node in nodes:
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                _rewrite(body.node, taken)
        axis = _axis(node)
        rewritten += [node] if axis == _AXIS else _along_axis_1(node, axis, taken)
    if len(rewritten) != len(nodes):
        copies = [_copy(node) for node in rewritten]
        del nodes[:]
        nodes.extend(copies)


def _along_axis_1(node: onnx.NodeProto, axis: int, taken: set[str]) -> Iterator[onnx.NodeProto]:
    """Yield the transform between two changes of shape; a negative axis counts from the end, as it does for Shape."""
    data, answer = node.input[0], node.output[0]

    def add_node(operator: str, inputs: list[str], what: str, **attributes: Any) -> str:
        name = take_name(f"{answer}_{what}", taken)
        added.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    added: list[onnx.NodeProto] = []
    before, rest = add_node("Shape", [data], "before", end=axis), add_node("Shape", [data], "rest", start=axis)
    rows = add_node("Constant", [], "rows", value_ints=[-1])
    joined = add_node("Reshape", [data, add_node("Concat", [rows, rest], "joined_shape", axis=0)], "joined")
    transform = _copy(node)
    transform.input[0], transform.output[0] = joined, take_name(f"{answer}_along_1", taken)
    kept = [attribute for attribute in transform.attribute if attribute.name != "axis"]
    del transform.attribute[:]
    transform.attribute.extend((*kept, helper.make_attribute("axis", _AXIS)))
    added.append(transform)
    after = add_node("Shape", [transform.output[0]], "after", start=_AXIS)
    target = add_node("Concat", [before, after], "shape", axis=0)
    yield from added
    yield helper.make_node("Reshape", [transform.output[0], target], [answer], allowzero=1)  # an axis may be empty


def _axis(node: onnx.NodeProto) -> int:
    """Return the axis that is transformed; 1, at which nothing is to be done, for other operators."""
    if node.op_type != "DFT" or node.domain not in ("", "ai.onnx"):
        return _AXIS
    return next((attribute.i for attribute in node.attribute if attribute.name == "axis"), _AXIS)


def _copy(node: onnx.NodeProto) -> onnx.NodeProto:
    copied = onnx.NodeProto()
    copied.CopyFrom(node)
    return copied


_WEIGHTS_ARE_NO_INPUTS = 4
"""The version of the format from which on they need not be; the converter misses them in older ones."""
_DFT_TAKES_ITS_AXIS = 20
"""The operator set from which on the axis of DFT is an input. OpenVINO 2026.4 ignores that and transforms axis 1."""


class CannotUpgrade(IrbenchError):
    """ONNX's converter cannot move a model to a later operator set."""

    def __init__(self, before: int, opset: int, reason: str) -> None:
        super().__init__(
            f"The model cannot be converted from opset {before} to {opset}: {reason}.", hint=f"Use --opset {before}."
        )
        self.reason = reason


def _refuse_contributed(detached: DetachedModel, opset: int) -> None:
    before = opset_of(detached.model)
    unknown = {node.op_type for node in nodes_of(detached.model) if is_contributed(node.domain, node.op_type, before)}
    if unknown:
        reason = f"ONNX's converter does not know {listing(sorted(unknown))}, which ONNX Runtime adds to ONNX's domain"
        raise CannotUpgrade(before, opset, reason)


def upgrade_opset(detached: DetachedModel, opset: int) -> bool:
    """Convert the model with ONNX's own version converter; the weights are not passed through it.

    Raises:
        CannotUpgrade: The converter fails, or the model has operators that ONNX Runtime adds to ONNX's own domain.
    """
    before = opset_of(detached.model)
    if opset <= before:
        return False
    _refuse_contributed(detached, opset)
    names = [tensor.name for tensor in detached.model.graph.input]
    small = skeleton(detached)
    small.ir_version = max(small.ir_version, _WEIGHTS_ARE_NO_INPUTS)
    if before < _DFT_TAKES_ITS_AXIS <= opset:
        _transform_along_axis_1(small)
    try:
        converted = version_converter.convert_version(small, opset)
        converted.ir_version = helper.find_min_ir_version_for(list(converted.opset_import), ignore_unknown=True)
    except Exception as error:
        raise CannotUpgrade(before, opset, first_line(error)) from error
    upgraded = detach(converted, {name: value for name, value in detached.weights.items() if name not in names})
    detached.model, detached.weights = upgraded.model, {**detached.weights, **upgraded.weights}
    return True
