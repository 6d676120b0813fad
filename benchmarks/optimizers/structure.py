"""What two graphs have in common that differ only in names, in the order of nodes, or in how constants are stored."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.optimizer.job import load

if TYPE_CHECKING:
    import onnx_ir as ir

    Known = dict[ir.Value | None, str]
    """Digests of the tensors that nodes read."""


def structure_digest(path: Path) -> str:
    """Return a digest of how a file computes its outputs from its inputs.

    Every node counts with its operator, its attributes and what it reads, and every constant with its values. Inputs
    and outputs count by their places. Versions of operator sets do not count.
    """
    from onnx_ir.passes.common import LiftConstantsToInitializersPass

    model = load(path)
    LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    constants: Known = {value: _of_tensor(value.const_value) for value in model.graph.initializers.values()}
    functions = sorted(_joined(*key, _of_nodes(function, {})) for key, function in model.functions.items())
    return _joined(_of_nodes(model.graph, constants), *functions)


def _of_nodes(body: ir.Graph | ir.Function, known: Known) -> str:
    known.update({value: _joined("input", place) for place, value in enumerate(body.inputs)})
    nodes: list[str] = []
    for node in body:
        read = (known[value] if value is not None else "" for value in node.inputs)
        named = sorted((name, _of_attribute(attribute, known)) for name, attribute in node.attributes.items())
        nodes.append(_joined(node.domain, node.op_type, *read, *named))
        known.update({value: _joined(nodes[-1], place) for place, value in enumerate(node.outputs)})
    return _joined(*sorted(nodes), *(known[value] for value in body.outputs))


def _of_attribute(attribute: ir.Attr, known: Known) -> str:
    kind, value = attribute.type.name, attribute.value
    if attribute.is_ref():
        return _joined(kind, attribute.ref_attr_name)
    if kind == "GRAPH":
        constants = {held: _of_tensor(held.const_value) for held in value.initializers.values()}
        return _of_nodes(value, {**known, **constants})
    return _of_tensor(value) if kind == "TENSOR" else _joined(kind, value)


def _of_tensor(tensor: ir.TensorProtocol | None) -> str:
    assert tensor is not None
    values = repr(tensor.numpy().tolist()).encode() if tensor.dtype.is_string() else tensor.tobytes()
    return _joined(tensor.dtype.name, tensor.numpy().shape, hashlib.sha256(values).hexdigest())


def _joined(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()
