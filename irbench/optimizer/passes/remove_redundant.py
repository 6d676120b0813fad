"""Remove operations that cancel, and join those that follow each other.

1. A chain of Transpose, Reshape, Unsqueeze, Squeeze, Flatten   -> the fewest of Transpose and Reshape that do the same
2. Cast(x) to the type of x                                     -> x
3. Cast(Cast(x)), every value of x exact in between             -> Cast(x)
4. Identity(x), Pad(x) by nothing                               -> x
5. The same small constant, or the same operation on the same    -> stored or computed once (onnx-ir)
   inputs and with the same outputs, twice                          but random ones and those of vendors
6. What no output needs                                         -> nothing (onnx-ir)
7. Transpose(x) + Transpose(y), both alike, likewise - * /      -> Transpose(x + y)

Rule 4 goes into branches and bodies too. It leaves an Identity that hands a value from outside to an output of its
branch: ONNX has no other way to write that.

Rule 1 asks for known sizes, dynamic ones by name. A value inside a chain that others read, or that is an output, stays;
the chain is then rewritten only if that removes more operations than it adds. Rule 7 asks for known sizes too, and that
nothing else reads what is transposed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeGuard

from irbench.onnx.shapes import infer, set_sizes
from irbench.onnx.sizes import sizes_of
from irbench.optimizer.pass_tools import layout as layouts
from irbench.optimizer.pass_tools.edit import LAYOUT, clean, insert, is_node, is_random, only_reader, replace, weight
from irbench.optimizer.pass_tools.layout import write_steps
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir

_EXACT_IN = {
    "BOOL": "UINT8 INT8 UINT16 INT16 UINT32 INT32 UINT64 INT64 BFLOAT16 FLOAT16 FLOAT DOUBLE",
    "UINT8": "UINT16 INT16 UINT32 INT32 UINT64 INT64 BFLOAT16 FLOAT16 FLOAT DOUBLE",
    "INT8": "INT16 INT32 INT64 BFLOAT16 FLOAT16 FLOAT DOUBLE",
    "UINT16": "UINT32 INT32 UINT64 INT64 FLOAT DOUBLE",
    "INT16": "INT32 INT64 FLOAT DOUBLE",
    "UINT32": "UINT64 INT64 DOUBLE",
    "INT32": "INT64 DOUBLE",
    "BFLOAT16": "FLOAT DOUBLE",
    "FLOAT16": "FLOAT DOUBLE",
    "FLOAT": "DOUBLE",
}
"""The types that hold every value of a type: a bfloat16 has 8 significant bits, a half 11, a single 24, a double 53."""

_ARITHMETIC = ("Add", "Sub", "Mul", "Div")

_APART = "irbench_apart"
"""An attribute that no operation has."""


def _remove_redundant(model: ir.Model) -> bool:
    infer(model)
    changed = False
    while any((_drop_identities(model), _drop_casts(model), merge_layouts(model), _transpose_once(model))):
        changed = True
    changed |= _join_equal(model)
    before = model.graph.num_nodes()
    clean(model)
    return changed or model.graph.num_nodes() < before


def _join_equal(model: ir.Model) -> bool:
    """Apply rule 5. onnx-ir joins nodes of equal attributes: one more keeps those apart that are not equal."""
    import onnx_ir as ir
    from onnx_ir.passes import common

    apart = [(node, text) for number, node in enumerate(model.graph) if (text := _difference(node, number))]
    for node, text in apart:
        node.attributes.add(ir.AttrString(_APART, text))
    library = (common.DeduplicateInitializersPass(), common.CommonSubexpressionEliminationPass())
    changed = sum([bool(library_pass(model).modified) for library_pass in library]) > 0
    for node, _ in apart:
        del node.attributes[_APART]
    return changed


def _difference(node: ir.Node, number: int) -> str:
    """Return what onnx-ir overlooks when it compares a node: nothing for most."""
    attributes = node.attributes.values()
    strings = any(attribute.type.name == "TENSOR" and attribute.value.dtype.is_string() for attribute in attributes)
    if is_random(node) or strings:  # of strings it compares the addresses
        return f"node {number}"
    omitted = [place for place, output in enumerate(node.outputs) if not output.name]
    zeros = [attribute.name for attribute in attributes if _holds_negative_zero(attribute)]
    return f"without outputs {omitted}, negative zeros in {zeros}" if omitted or zeros else ""


def _holds_negative_zero(attribute: ir.Attr) -> bool:
    """Whether a number of an attribute is -0.0, which equals 0.0 but divides otherwise."""
    if attribute.type.name not in ("FLOAT", "FLOATS"):
        return False
    values = [attribute.value] if attribute.type.name == "FLOAT" else attribute.value
    return any(number == 0 and math.copysign(1, number) < 0 for number in values)


def merge_layouts(model: ir.Model) -> bool:
    """Apply rule 1 to every chain; sizes must have been inferred."""
    changed = False
    for node in list(model.graph):
        if _is_layout(node) and node.graph is not None and not _ends_later(node):
            changed |= _merge_chain(node)
    return changed


def _is_layout(node: ir.Node | None) -> TypeGuard[ir.Node]:
    return node is not None and is_node(node.outputs[0], *LAYOUT)


def _ends_later(node: ir.Node) -> bool:
    """Whether the chain goes on behind a node, to where its elements can be followed."""
    reader = only_reader(node.outputs[0])
    return _is_layout(reader) and _steps([node, reader]) is not None


def _merge_chain(last: ir.Node) -> bool:
    """Rewrite the part of the chain that ends here whose rewriting saves most."""
    chain = _chain(last)
    owned = 1 + next(
        (count for count, node in enumerate(chain[1:]) if only_reader(node.outputs[0]) is None), len(chain) - 1
    )
    best: tuple[int, ir.Value, Sequence[layouts.Step]] | None = None
    for length in range(1, len(chain) + 1):
        source = chain[length - 1].inputs[0]
        steps = _steps(chain[length - 1 :: -1]) if source is not None else None
        if steps is None or source is None:
            continue
        gain = min(length, owned) - len(steps)
        if gain > (best[0] if best else 0):
            best = (gain, source, steps)
    if best is None or (last.outputs[0].is_graph_output() and not best[2] and not _may_be_output(best[1])):
        return False
    return _rewrite(last, best[1], best[2])


def _may_be_output(value: ir.Value) -> bool:
    return value.producer() is not None and not value.is_graph_output()


def _chain(last: ir.Node) -> list[ir.Node]:
    chain = [last]
    while _is_layout(node := _producer(chain[-1])):
        chain.append(node)
    return chain


def _producer(node: ir.Node) -> ir.Node | None:
    return node.inputs[0].producer() if node.inputs[0] is not None else None


def _steps(chain: Sequence[ir.Node]) -> list[layouts.Step] | None:
    sizes = sizes_of(chain[0].inputs[0])
    layout = None if sizes is None else layouts.start(sizes)
    for node in chain:
        if layout is None:
            return None
        if node.op_type == "Transpose":
            layout = layouts.transpose(layout, _order(node))
        else:
            after = sizes_of(node.outputs[0])
            layout = layouts.reshape(layout, after) if after is not None else None
    return layouts.steps(layout) if layout is not None else None


def _order(node: ir.Node) -> list[int]:
    """Return which axis a Transpose puts in each place: the last one first where it does not say."""
    backwards = range(len(sizes_of(node.inputs[0]) or ()))[::-1]
    return list(node.attributes.get_ints("perm", list(backwards)))


def _rewrite(last: ir.Node, source: ir.Value, steps: Sequence[layouts.Step]) -> bool:
    value = write_steps(last, source, steps)
    if value is None:
        return False
    replace(last.outputs[0], value)
    _drop_dead(last)
    return True


def _drop_dead(node: ir.Node | None) -> None:
    """Remove a chain's operations as far as nobody reads them any more."""
    while _is_layout(node) and not node.outputs[0].uses():
        if node.outputs[0].is_graph_output() or node.graph is None:
            return
        before = _producer(node)
        node.graph.remove(node, safe=True)
        node = before


def _drop_identities(model: ir.Model) -> bool:
    """Apply rule 4."""
    return sum([_drop_identity(node) for node in list(model.graph.all_nodes()) if _is_identity(node)]) > 0


def _is_identity(node: ir.Node) -> bool:
    if is_node(node.outputs[0], "Pad"):
        pads = weight(node.inputs[1])
        return pads is not None and not pads.any()
    return is_node(node.outputs[0], "Identity")


def _drop_identity(node: ir.Node) -> bool:
    source, output, graph = node.inputs[0], node.outputs[0], node.graph
    if source is None or graph is None:
        return False
    if output.is_graph_output() and not (source.graph is graph and _may_be_output(source)):
        return False
    replace(output, source)
    graph.remove(node, safe=True)
    return True


def _drop_casts(model: ir.Model) -> bool:
    """Apply rules 2 and 3."""
    changed = False
    for node in [node for node in model.graph if is_node(node.outputs[0], "Cast")]:
        source, output = node.inputs[0], node.outputs[0]
        if source is not None and source.dtype == output.dtype and source.dtype and not output.is_graph_output():
            replace(output, source)
            if node.graph is not None:
                node.graph.remove(node, safe=True)
            changed = True
        elif source is not None and is_node(source, "Cast"):
            changed |= _skip_cast(node, source.producer())
    return changed


def _skip_cast(node: ir.Node, inner: ir.Node | None) -> bool:
    first = inner.inputs[0] if inner is not None else None
    if inner is None or first is None:
        return False
    source, between, target = (
        tensor.dtype.name if tensor.dtype else "" for tensor in (first, *inner.outputs, *node.outputs)
    )
    if between not in _EXACT_IN.get(source, "").split() or target in ("", "STRING"):  # digits depend on the type
        return False
    node.replace_input_with(0, first)
    return True


def _transpose_once(model: ir.Model) -> bool:
    """Apply rule 7."""
    return sum([_transpose_later(node) for node in list(model.graph) if is_node(node.outputs[0], *_ARITHMETIC)]) > 0


def _transpose_later(node: ir.Node) -> bool:
    transposed = [value.producer() for value in node.inputs if value is not None and is_node(value, "Transpose")]
    alone = [before for before in transposed if before is not None and only_reader(before.outputs[0]) is node]
    sizes, operands = sizes_of(node.outputs[0]), [before.inputs[0] for before in alone]
    if len(alone) < 2 or sizes is None or any(sizes_of(operand) is None for operand in operands):
        return False
    first, second = map(_order, alone)
    if first != second:
        return False
    result = insert(node, node.op_type, operands, dict(node.attributes))
    set_sizes(result, [sizes[first.index(axis)] for axis in range(len(sizes))])
    turned = insert(node, "Transpose", [result], {"perm": first})
    set_sizes(turned, sizes)
    replace(node.outputs[0], turned)
    if node.graph is not None:
        node.graph.remove(node, safe=True)
    return True


remove_redundant: Pass = Rewrite("remove_redundant", "join or drop operations that cancel", _remove_redundant)
