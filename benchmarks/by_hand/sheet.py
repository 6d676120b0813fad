"""Writing nodes into a graph one after the other, weights as plain arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir
from onnx_ir.tape import Tape

from irbench.spi import Array

Operand: TypeAlias = "ir.Value | Array | None"


class Sheet:
    """Appends to a graph."""

    def __init__(self, graph: ir.Graph) -> None:
        self._graph = graph
        self._tape = Tape(graph)

    def node(self, operation: str, *inputs: Operand, domain: str = "", **attributes: Any) -> ir.Value:
        """Append a node and return its output."""
        return self.nodes(operation, *inputs, outputs=1, domain=domain, **attributes)[0]

    def nodes(
        self, operation: str, *inputs: Operand, outputs: int, domain: str = "", **attributes: Any
    ) -> tuple[ir.Value, ...]:
        """Append a node and return all of its outputs."""
        values = [self._constant(tensor) if isinstance(tensor, np.ndarray) else tensor for tensor in inputs]
        return tuple(self._tape.op_multi_out(operation, values, attributes or None, num_outputs=outputs, domain=domain))

    def _constant(self, array: Array) -> ir.Value:
        name = f"by_hand_{len(self._graph.initializers)}"
        return self._tape.initializer(ir.tensor(np.array(array, order="C"), name=name))
