"""Passes of the optimiser that write the whole graph again, by hand.

1. transformer_base, bert_mini or vit_tiny as exported, shapes bound    -> what somebody writes who knows the runtimes

Their names are entry points of the distribution ``irbench-by-hand``, whose description lies beside this file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import onnx_ir as ir

from benchmarks.by_hand.encoder import Hand
from benchmarks.by_hand.models import MODELS
from benchmarks.by_hand.portable import Portable
from benchmarks.by_hand.sheet import Sheet
from benchmarks.by_hand.vendor import Vendor
from benchmarks.by_hand.weights import Weights
from irbench.errors import IrbenchError
from irbench.optimizer.pass_tools.edit import clean, replace
from irbench.optimizer.pass_tools.microsoft import MICROSOFT
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass


def _write(hand: Callable[[Sheet], Hand], model: ir.Model) -> bool:
    """Rule 1."""
    graph, sheet = model.graph, Sheet(model.graph)
    weights = Weights(graph)
    if weights.model not in MODELS:
        raise IrbenchError(
            f"No graph of {weights.model or 'this model'} was written by hand.", hint=f"There are: {', '.join(MODELS)}."
        )
    written = MODELS[weights.model](graph, weights, sheet, hand(sheet))
    for old, new in zip(list(graph.outputs), written, strict=True):
        replace(old, new)
    graph.opset_imports[MICROSOFT] = 1
    clean(model)
    return True


portable: Pass = Rewrite(
    "write_by_hand", "the whole graph by hand, in ONNX's own operators", partial(_write, Portable), opset=23
)
vendor: Pass = Rewrite(
    "write_by_hand_vendor",
    "the whole graph by hand, in Microsoft's operators",
    partial(_write, Vendor),
    opset=23,
    vendor=MICROSOFT,
)
