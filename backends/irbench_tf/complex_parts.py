"""Complex tensors of a tf2onnx graph as pairs of real ones, and the nodes that compute with such pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irbench.errors import IrbenchError

COMPLEX = {14: 1, 15: 11}
"""ONNX's numbers of complex element types, and those of their parts: complex64 and float, complex128 and double."""
_HINT = "Write that part of the model with real numbers; nothing was exported."


def unsupported(node: Any, why: str = "has no counterpart in ONNX for complex numbers") -> IrbenchError:
    """Return the error for an operation that cannot be converted."""
    return IrbenchError(f"The TensorFlow operation {node.type} ({node.name}) {why}.", hint=_HINT)


@dataclass(frozen=True)
class Parts:
    """A complex tensor.

    Attributes:
        imaginary: That of its imaginary part; ``None`` where it is zero.
    """

    real: str
    imaginary: str | None


class Emitter:
    """Adds nodes to a tf2onnx graph.

    Args:
        graph: A ``tf2onnx.graph.Graph``, not yet mapped.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def shape(self, tensor: str) -> list[int] | None:
        """Return the shape, with -1 for what is unknown; ``None`` where the number of axes is."""
        shape: list[int] | None = self.graph.get_shape(tensor)
        return shape

    def onnx(
        self, operation: str, inputs: Sequence[str], like: str, shape: Sequence[int] | None, **attributes: Any
    ) -> str:
        """Add a node of ONNX and return its output."""
        return self._made(operation, inputs, attributes, self.graph.get_dtype(like), shape, is_mapped=True)

    def tensorflow(self, node: Any, inputs: Sequence[str], like: str) -> str:
        """Add a copy of a node of TensorFlow with other inputs, which tf2onnx maps later, and return its output.

        Args:
            node: It computes the real and the imaginary part of its result from those of its inputs in the same way.
            inputs: Tensors.
            like: A tensor of the same element type as the output.
        """
        shape, dtype = self.shape(node.output[0]), self.graph.get_dtype(like)
        return self._made(node.type, inputs, dict(node.attr), dtype, shape, is_mapped=False)

    def plain(self, operation: str, inputs: Sequence[str]) -> str:
        """Add a node of TensorFlow whose output has the type and shape of its first input."""
        dtype = self.graph.get_dtype(inputs[0])
        return self._made(operation, inputs, {}, dtype, self.shape(inputs[0]), is_mapped=False)

    def cast(self, tensor: str, to: int) -> str:
        """Add a conversion to an element type, given as ONNX's number of it."""
        return self._made("Cast", [tensor], {"to": to}, to, self.shape(tensor), is_mapped=True)

    def zeros(self, like: str) -> str:
        """Add zeros of the type and shape of a tensor."""
        return self.plain("ZerosLike", [like])

    def integers(self, values: Sequence[int] | int) -> str:
        """Add a constant of int64."""
        return self.constant(np.array(values, np.int64))

    def constant(self, values: Any) -> str:
        """Add a constant."""
        from tf2onnx.utils import make_name

        name: str = self.graph.make_const(make_name("parts_const"), values).output[0]
        return name

    def _made(
        self,
        operation: str,
        inputs: Sequence[str],
        attributes: dict[str, Any],
        dtype: int,
        shape: Sequence[int] | None,
        *,
        is_mapped: bool,
    ) -> str:
        node = self.graph.make_node(
            operation,
            list(inputs),
            attr=attributes,
            skip_conversion=is_mapped,
            dtypes=[dtype],
            shapes=None if shape is None else [list(shape)],
            infer_shape_dtype=False,
        )
        name: str = node.output[0]
        return name
