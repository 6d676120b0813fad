"""Bring a graph into the form that passes expect, in a file of its own."""

from __future__ import annotations

from pathlib import Path

from irbench.onnx.reading import external_data
from irbench.onnx.rewriting import detached_weights
from irbench.onnx.rewriting.inline_functions import inline_functions
from irbench.onnx.rewriting.upgrade_opset import upgrade_opset


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
        CannotUpgrade: It cannot be moved there.
    """
    model = detached_weights.detach(external_data.load(path), {})
    upgrade_opset(model, opset)
    target = scratch / f"raised-{opset}.onnx"
    detached_weights.write(model, target)
    return target
