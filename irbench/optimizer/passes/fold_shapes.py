"""Compute at once what only depends on shapes.

1. A small integer tensor whose every element follows from known sizes     -> a constant
2. Reshape(x, t), all sizes of the result known up to one                  -> Reshape(x, constant), 0 or -1 if dynamic;
                                                                              0 then is a size that is copied
3. Expand(x, t), the result as large as x                                  -> x
4. Any other operation on constants, but random ones, those of vendors     -> its value (onnxscript's constant folding;
   and quantisation                                                           not in graphs that split into sequences;
                                                                              ConstantOfShape too where it is small)

Dynamic dimensions may stay dynamic: their sizes are followed by name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import infer, reshape_target, reshaped
from irbench.onnx.sizes import Elements, sizes_of
from irbench.optimizer.pass_tools.edit import add_constant, clean, is_random, replace, weight
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir

_MAX_INPUT_ELEMENTS, _MAX_OUTPUT_ELEMENTS = 1 << 20, 1 << 18
"""A position table of 512 times 512 is folded; weights of a layer are not."""


def _fold_shapes(model: ir.Model) -> bool:
    from onnx_ir.passes.common import LiftConstantsToInitializersPass

    changed = bool(LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model).modified)
    while _fold_once(model):
        changed = True
    return changed


def _fold_once(model: ir.Model) -> bool:
    from onnxscript.optimizer import fold_constants

    known = infer(model)
    changed = [_fold_elements(value, elements) for value, elements in known.items()]
    changed += [_settle(node, known) for node in model.graph if (node.domain, node.op_type) == ("", "Reshape")]
    changed += [_drop_expand(node) for node in model.graph if (node.domain, node.op_type) == ("", "Expand")]
    if all(node.op_type != "SplitToSequence" for node in model.graph):  # the library fails on some of them
        limits = {"input_size_limit": _MAX_INPUT_ELEMENTS, "output_size_limit": _MAX_OUTPUT_ELEMENTS}
        folded = fold_constants(model, **limits, should_fold=_should_fold)
        changed.append(bool(folded.modified))
    clean(model)
    return any(changed)


def _should_fold(node: ir.Node) -> bool | None:
    """Whether a node of constants is computed; ``None`` leaves it to the library, which keeps every ConstantOfShape."""
    if is_random(node):
        return False
    if (node.domain, node.op_type) != ("", "ConstantOfShape"):
        return None
    sizes = weight(node.inputs[0])
    return sizes is not None and math.prod(sizes.tolist()) <= _MAX_OUTPUT_ELEMENTS


def _fold_elements(value: ir.Value, elements: Elements) -> bool:
    """Rule 1."""
    numbers = [None if size is None else size.number for size in elements]
    node, graph = value.producer(), value.graph
    if node is None or graph is None or None in numbers or value.is_graph_output() or not value.uses():
        return False
    assert value.dtype is not None
    assert value.shape is not None
    array = np.array(numbers, value.dtype.numpy()).reshape(() if len(value.shape) == 0 else -1)
    replace(value, add_constant(graph, array, value))
    return True


def _settle(node: ir.Node, known: Mapping[ir.Value, Elements]) -> bool:
    """Rule 2."""
    source, target, graph = sizes_of(node.inputs[0]), node.inputs[1], node.graph
    sizes = reshaped(source, node, known)
    if source is None or sizes is None or target is None or graph is None:
        return False
    settled, is_literal = reshape_target(source, sizes), node.attributes.get_int("allowzero", 0) == 1
    is_there = target.const_value is not None and target.const_value.numpy().tolist() == settled
    if settled is None or (is_there and not is_literal):
        return False
    node.attributes.pop("allowzero", None)
    node.replace_input_with(1, add_constant(graph, np.array(settled, np.int64), target))
    return True


def _drop_expand(node: ir.Node) -> bool:
    """Rule 3."""
    source, output = node.inputs[0], node.outputs[0]
    if source is None or output.is_graph_output() or sizes_of(source) is None or not output.uses():
        return False
    if sizes_of(source) != sizes_of(output):
        return False
    replace(output, source)
    return True


fold_shapes: Pass = Rewrite("fold_shapes", "compute what only depends on shapes", _fold_shapes)
