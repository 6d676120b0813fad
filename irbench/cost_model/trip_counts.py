"""How often the body of a loop is executed."""

from __future__ import annotations

from irbench.cost_model.tensors import NodeView, UnknownShape

_MAX_TRIPS = 2**31
"""A loop that is left by its condition alone has the largest integer for a trip count."""


def trip_count(node: NodeView) -> int | None:
    """Return how often a ``Loop`` or ``Scan`` executes its body; ``None`` where the graph does not tell."""
    try:
        if node.node.op_type == "Scan":
            return _scanned(node)
        if node.node.op_type == "Loop":
            (trips,) = node.integers(0)
            return trips if 0 <= trips < _MAX_TRIPS else None
    except (UnknownShape, IndexError, ValueError, TypeError):
        return None
    return None


def _is_batched(node: NodeView) -> bool:
    """Whether it is the ``Scan`` of operator set 8, which has lengths before what its body is given, and batches."""
    return len(node.node.input) == 1 + len(node.attribute("body", None).input)


def _scanned(node: NodeView) -> int:
    """Return the length of the axis that is scanned over, over all batches; it is the same for every scanned input."""
    if _is_batched(node):
        batch, steps = node.input_shape(len(node.node.input) - 1)[:2]
        return batch * steps
    scanned = int(node.attribute("num_scan_inputs", 1))
    axis = next(iter(node.attribute("scan_input_axes", ())), 0)
    return node.input_shape(len(node.node.input) - scanned)[axis]
