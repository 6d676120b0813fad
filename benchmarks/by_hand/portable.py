"""The parts of an encoder in ONNX's own operators, of operator set 23."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import onnx_ir as ir

from benchmarks.by_hand.encoder import Attention
from benchmarks.by_hand.sheet import Sheet
from benchmarks.by_hand.weights import Dense, Norm
from irbench.spi import Array


class Portable:
    """Writes ``Attention``, ``LayerNormalization`` and ``Gelu``; see :class:`benchmarks.by_hand.encoder.Hand`."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet

    def mask(self, kept: ir.Value, length: int) -> ir.Value:
        """Return what is added, of shape (batch, 1, length, length): ONNX Runtime does not stretch it itself.

        Booleans would answer NaN where nothing is kept, which the models weigh all alike.
        """
        is_kept = self._sheet.node("Cast", kept, to=ir.DataType.BOOL)
        added = self._sheet.node("Where", is_kept, np.array(0, np.float32), np.array(-1e9, np.float32))
        keys = self._sheet.node("Unsqueeze", added, np.array([1, 2]))
        return self._sheet.node("Expand", keys, np.array([1, 1, length, 1]))

    def embed(self, tables: Sequence[tuple[ir.Value, Array]], positions: Array, norm: Norm | None) -> ir.Value:
        """Gather and add."""
        rows: list[ir.Value] = [self._sheet.node("Gather", table, chosen) for chosen, table in tables]
        total = self._sheet.node(
            "Add", reduce(lambda item, other: self._sheet.node("Add", item, other), rows), positions
        )
        return total if norm is None else self.normalise(total, norm)

    def normalise(self, x: ir.Value, norm: Norm) -> ir.Value:
        """Normalise the last axis."""
        return self._sheet.node("LayerNormalization", x, norm.scale, norm.bias, epsilon=norm.epsilon)

    def attend(self, x: ir.Value, attention: Attention, mask: ir.Value | None) -> ir.Value:
        """Project apart: one product for all three, and a Split behind it, is no faster."""
        parts = (attention.query, attention.key, attention.value)
        projected = [self._sheet.node("Add", self._times(x, part), part.bias) for part in parts]
        heads, masks = attention.heads, [] if mask is None else [mask]
        mixed = self._sheet.node("Attention", *projected, *masks, q_num_heads=heads, kv_num_heads=heads)
        return self._times(mixed, attention.output)

    def feed(self, x: ir.Value, expand: Dense, contract: Dense) -> ir.Value:
        """Two products with GELU between them."""
        hidden = self._sheet.node("Gelu", self._sheet.node("Add", self._times(x, expand), expand.bias))
        return self._times(hidden, contract)

    def join(self, x: ir.Value, bias: Array, skip: ir.Value, norm: Norm) -> tuple[ir.Value, ir.Value]:
        """Add twice and normalise."""
        total = self._sheet.node("Add", self._sheet.node("Add", x, bias), skip)
        return self.normalise(total, norm), total

    def _times(self, x: ir.Value, dense: Dense) -> ir.Value:
        return self._sheet.node("MatMul", x, dense.kernel)
