"""Bring a graph into the form that passes expect, in a file of its own."""

from __future__ import annotations

from pathlib import Path

from irbench.onnx.reading import external_data
from irbench.onnx.rewriting import detached_weights
from irbench.onnx.rewriting.inline_functions import inline_functions
from irbench.onnx.rewriting.upgrade_opset import CannotUpgrade, upgrade_opset

__all__ = ["inlined", "raised"]

_DFT_TAKES_ITS_AXIS = 20
"""The operator set from which on the axis of DFT is an input. OpenVINO 2026.4 ignores that and transforms axis 1."""


def inlined(path: Path, scratch: Path) -> Path:
    """Write a graph without functions and return where.

    Raises:
        ValueError: It is too large.
    """
    content = inline_functions(path)
    if content is None:
        raise ValueError("the graph is too large for one message")
    target = scratch / "inlined.onnx"
    target.write_bytes(content)
    return target


def raised(path: Path, opset: int, scratch: Path) -> Path:
    """Write the graph at a later operator set and return where.

    Raises:
        CannotUpgrade: It cannot be moved there, or a runtime would answer wrongly there.
    """
    model = detached_weights.detach(external_data.load(path), {})
    before = detached_weights.opset_of(model.model)
    if before < _DFT_TAKES_ITS_AXIS <= opset and any(node.op_type == "DFT" for node in model.model.graph.node):
        raise CannotUpgrade(before, opset, f"OpenVINO ignores the axis of DFT from opset {_DFT_TAKES_ITS_AXIS} on")
    upgrade_opset(model, opset)
    target = scratch / f"raised-{opset}.onnx"
    detached_weights.write(model, target)
    return target
