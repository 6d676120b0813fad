"""The parts of an encoder in Microsoft's operators, which OpenVINO reads too."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from benchmarks.by_hand.encoder import Attention
from benchmarks.by_hand.portable import Portable
from benchmarks.by_hand.sheet import Sheet
from benchmarks.by_hand.weights import Dense, Norm
from irbench.optimizer.pass_tools.microsoft import MICROSOFT
from irbench.spi import Array


class Vendor:
    """Writes packed ``Attention``, ``SkipLayerNormalization``, ``BiasGelu`` and ``EmbedLayerNormalization``.

    See :class:`benchmarks.by_hand.encoder.Hand`.
    """

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._portable = Portable(sheet)

    def mask(self, kept: ir.Value, length: int) -> ir.Value:
        """Return what is added: read as it is, a mask that keeps nothing answers otherwise than the models do."""
        return self._portable.mask(kept, length)

    def embed(self, tables: Sequence[tuple[ir.Value, Array]], positions: Array, norm: Norm | None) -> ir.Value:
        """Write one node for words, kinds and positions, where they are normalised."""
        if norm is None:
            return self._portable.embed(tables, positions, norm)
        (words, vocabulary), (kinds, segments) = tables
        inputs = (words, kinds, vocabulary, positions, segments, norm.scale, norm.bias)
        found = self._sheet.nodes("EmbedLayerNormalization", *inputs, outputs=2, domain=MICROSOFT, epsilon=norm.epsilon)
        return found[0]

    def normalise(self, x: ir.Value, norm: Norm) -> ir.Value:
        """Normalise the last axis."""
        return self._portable.normalise(x, norm)

    def attend(self, x: ir.Value, attention: Attention, mask: ir.Value | None) -> ir.Value:
        """Project within the attention."""
        packed, masks = attention.packed, [] if mask is None else [None, None, mask]
        mixed = self._sheet.node(
            "Attention", x, packed.kernel, packed.bias, *masks, domain=MICROSOFT, num_heads=attention.heads
        )
        return self._sheet.node("MatMul", mixed, attention.output.kernel)

    def feed(self, x: ir.Value, expand: Dense, contract: Dense) -> ir.Value:
        """Two products with the first's bias in GELU."""
        hidden = self._sheet.node(
            "BiasGelu", self._sheet.node("MatMul", x, expand.kernel), expand.bias, domain=MICROSOFT
        )
        return self._sheet.node("MatMul", hidden, contract.kernel)

    def join(self, x: ir.Value, bias: Array, skip: ir.Value, norm: Norm) -> tuple[ir.Value, ir.Value]:
        """Write one node, whose fourth output is the sum."""
        inputs = (x, skip, norm.scale, norm.bias, bias)
        found = self._sheet.nodes("SkipLayerNormalization", *inputs, outputs=4, domain=MICROSOFT, epsilon=norm.epsilon)
        return found[0], found[3]
