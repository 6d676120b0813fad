"""Move a Transpose ahead of an activation whose input has another layout, so that both changes of layout become one.

1. Transpose(f(x))            -> f(Transpose(x)), f of every element by itself
2. Transpose(x * f(x))        -> t * f(t), t = Transpose(x)

x is the result of a Transpose, Reshape, Unsqueeze, Squeeze or Flatten that nobody else reads. ``remove_redundant``'s
first rule then joins that with the Transpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from irbench.onnx.shapes import infer, set_sizes
from irbench.onnx.sizes import sizes_of
from irbench.optimizer.pass_tools.edit import LAYOUT, clean, insert, is_node, only_reader, replace, scalar
from irbench.optimizer.passes import Rewrite
from irbench.optimizer.passes.remove_redundant import merge_layouts
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir

_ELEMENTWISE = (
    "Abs", "Celu", "Clip", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mish", "Neg",
    "Reciprocal", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Swish", "Tanh", "ThresholdedRelu",
)  # fmt: skip
"""Operations of one tensor; further inputs of theirs are single numbers."""


def _lift_transposes(model: ir.Model) -> bool:
    infer(model)
    changed = False
    while sum([_lift(node) for node in list(model.graph) if is_node(node.outputs[0], "Transpose")]):
        changed = True
        clean(model)
        merge_layouts(model)
        clean(model)
    return changed


def _lift(node: ir.Node) -> bool:
    """Apply a rule to the Transpose, if one fits."""
    value = node.inputs[0]
    last = value.producer() if value is not None and only_reader(value) is node else None
    source = _source(last) if last is not None else None
    order, sizes = node.attributes.get_ints("perm", []), sizes_of(source)
    if last is None or source is None or not order or sizes is None or not is_node(source, *LAYOUT):
        return False
    moved = insert(node, "Transpose", [source], {"perm": list(order)})
    moved.type = source.type
    set_sizes(moved, [sizes[place] for place in order])
    factor = next((tensor for tensor in last.inputs if tensor is not source), None) if last.op_type == "Mul" else None
    if factor is None:
        replacement = _repeated(last, source, moved, node)
    else:
        inner = factor.producer()
        assert inner is not None
        replacement = insert(node, "Mul", [moved, _repeated(inner, source, moved, node)])
        set_sizes(replacement, sizes_of(moved) or ())
    replace(node.outputs[0], replacement)
    return True


def _repeated(node: ir.Node, source: ir.Value, moved: ir.Value, before: ir.Node) -> ir.Value:
    copy = insert(before, node.op_type, [moved if value is source else value for value in node.inputs], node.attributes)
    copy.type = node.outputs[0].type
    set_sizes(copy, sizes_of(moved) or ())
    return copy


def _source(last: ir.Node) -> ir.Value | None:
    """Return x where a node computes f(x) or x * f(x), and nothing else reads x."""
    if _is_activation(last):
        source = last.inputs[0]
        return source if source is not None and only_reader(source) is last else None
    if not is_node(last.outputs[0], "Mul"):
        return None
    for source, activated in (last.inputs, last.inputs[::-1]):
        inner = activated.producer() if activated is not None else None
        if source is None or activated is None or inner is None or not _is_activation(inner):
            continue
        readers = {use.node for use in source.uses()}
        if inner.inputs[0] is source and only_reader(activated) is last and readers == {inner, last}:
            return None if source.is_graph_output() else source
    return None


def _is_activation(node: ir.Node) -> bool:
    others = [value for value in node.inputs[1:] if value is not None]
    return is_node(node.outputs[0], *_ELEMENTWISE) and all(scalar(value) is not None for value in others)


lift_transposes: Pass = Rewrite(
    "lift_transposes", "transpositions ahead of activations, where they join others", _lift_transposes
)
