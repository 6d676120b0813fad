"""Conditions that the kernels of Microsoft's operators place on their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irbench.onnx.sizes import sizes_of
from irbench.optimizer.pass_tools.edit import is_node, weight

if TYPE_CHECKING:
    import onnx_ir as ir

MICROSOFT = "com.microsoft"
"""Domain of the operators."""


def is_read(value: ir.Value | None) -> bool:
    """Whether a value has one of the types, float32 and float16, that there are kernels for."""
    return value is not None and value.dtype is not None and value.dtype.name in ("FLOAT", "FLOAT16")


def is_row(value: ir.Value | None, of: ir.Value | None) -> bool:
    """Whether a value has one axis, the last of another; the kernels stretch no axis of size one."""
    sizes, whole = sizes_of(value), sizes_of(of)
    return sizes is not None and whole is not None and len(sizes) == 1 and [*sizes] == [*whole[-1:]]


def bias_of(total: ir.Value | None) -> tuple[ir.Value, ir.Value] | None:
    """Return the two operands of a sum, the second of them a constant with one axis, the last of the first."""
    add = total.producer() if total is not None and is_node(total, "Add") else None
    for value, bias in (add.inputs, add.inputs[::-1]) if add is not None else ():
        if value is not None and bias is not None and weight(bias) is not None and is_row(bias, value):
            return value, bias
    return None
