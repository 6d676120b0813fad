"""Split packed projections, and heads that share keys and values, where fusing attention makes up for it.

1. The splits of ``split_packed``, of ``split_grouped_heads``, both or neither: those with which the fewest operations
   are left once attention is fused

A split prepares a fusion and adds operations itself. So each choice is tried on a copy of the graph, which shares its
weights, and a graph is not larger for having been split.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from irbench.optimizer.passes import Rewrite
from irbench.optimizer.passes.attention.fuse_attention import fuse_attention
from irbench.optimizer.passes.attention.fuse_grouped_queries import fuse_grouped_queries
from irbench.optimizer.passes.attention.fuse_key_value_cache import fuse_key_value_cache
from irbench.optimizer.passes.attention.split_grouped_heads import split_grouped_heads
from irbench.optimizer.passes.attention.split_packed import split_packed
from irbench.optimizer.passes.remove_redundant import remove_redundant
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir

_SPLITS = (split_packed, split_grouped_heads)
_FUSING = (fuse_attention, fuse_grouped_queries, fuse_key_value_cache, fuse_attention, remove_redundant)


def _split_for_attention(model: ir.Model) -> bool:
    """Apply rule 1."""
    choices = [splits for count in range(len(_SPLITS) + 1) for splits in combinations(_SPLITS, count)]
    trials = {splits: trial for splits in choices if (trial := _after(model, splits)) is not None}
    if len(trials) == 1:
        return False
    chosen = min(trials, key=lambda splits: _size_once_fused(trials[splits]))
    for split in chosen:
        split(model)
    return bool(chosen)


def _after(model: ir.Model, splits: tuple[Pass, ...]) -> ir.Model | None:
    """Return a copy of a model after splits, or ``None`` where one of them finds nothing."""
    trial = model.clone()
    return trial if all(split(trial) for split in splits) else None


def _size_once_fused(trial: ir.Model) -> int:
    for fusing in _FUSING:
        fusing(trial)
    return sum(1 for _ in trial.graph.all_nodes())


split_for_attention: Pass = Rewrite(
    "split_for_attention",
    "packed projections and grouped heads, split where fusing attention makes up for it",
    _split_for_attention,
    opset=23,
)
