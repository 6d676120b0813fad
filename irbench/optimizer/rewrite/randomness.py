"""Nodes whose outputs may differ between runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irbench.onnx.rewriting.randomness import may_be_random
from irbench.optimizer.rewrite.edit import weight

if TYPE_CHECKING:
    import onnx_ir as ir


def is_random(node: ir.Node) -> bool:
    """Whether a node may give another output each time; see :func:`irbench.onnx.rewriting.randomness.may_be_random`."""
    third = node.inputs[2] if len(node.inputs) > 2 else None
    return may_be_random(node.domain, node.op_type, False if third is None else weight(third))
