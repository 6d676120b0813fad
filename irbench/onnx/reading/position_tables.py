"""Tables of learned positions in an ONNX graph, which bound how many tokens it takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from irbench.onnx.reading.inventory import NodeEntry, take_inventory

_COUNTING = frozenset({"CumSum", "Range"})
_MOVING = frozenset({
    "Add", "Cast", "Concat", "ConstantOfShape", "Expand", "Flatten", "Gather", "Identity", "Mul", "NonZero", "Reshape",
    "Slice", "Squeeze", "Sub", "Transpose", "Unsqueeze",
})  # fmt: skip
"""Operators that positions pass through on their way to the table; buckets of relative positions take others too."""
_TABLE_RANK = 2


def positions(path: Path, tokens: str) -> int | None:
    """Return the rows of the smallest table that is read by position; ``None`` where there is none.

    A table that is read at an offset has a few rows more than the model has positions.

    Args:
        path: The ONNX file.
        tokens: Its input of token ids, which are no positions.
    """
    inventory = take_inventory(path)
    tables = {weight.name: weight.shape[0] for weight in inventory.weights if len(weight.shape) == _TABLE_RANK}
    makers = {output: node for node in inventory.nodes for output in node.outputs}
    read = (node for node in inventory.nodes if node.op_type == "Gather" and node.inputs[0] in tables)
    rows = [tables[node.inputs[0]] for node in read if _are_positions(node.inputs[1], makers, tokens)]
    return min(rows, default=None)


def _are_positions(index: str, makers: Mapping[str, NodeEntry], tokens: str) -> bool:
    """Whether indices count positions: nothing but what counts and what moves numbers is between them and the table."""
    origins, operators = _origins(index, makers)
    counts = not operators.isdisjoint(_COUNTING) or any("position" in name.lower() for name in origins)
    return counts and tokens not in origins and operators <= _COUNTING | _MOVING


def _origins(value: str, makers: Mapping[str, NodeEntry]) -> tuple[set[str], set[str]]:
    """Return the inputs and weights that a value is computed from, and the operators; shapes are left out."""
    seen: set[str] = set()
    origins: set[str] = set()
    operators: set[str] = set()
    pending = [value]
    while pending:
        name = pending.pop()
        maker = makers.get(name)
        if name in seen or (maker is not None and maker.op_type in ("Constant", "Shape")):
            continue
        seen.add(name)
        if maker is None:
            origins.add(name)
        else:
            operators.add(maker.op_type)
            pending += filter(None, maker.inputs)
    return origins, operators
