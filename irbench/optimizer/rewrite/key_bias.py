"""Leave out the bias of keys, which no weight of attention depends on.

A query meets the same number in the bias of every key, and a Softmax is the same for scores that all are that much
larger. A mask must not hide the number: beside one that is high it would be rounded off, and the scores of a row of
which nothing is kept would be rounded to others. So what is added is moderate, or so low that nothing of any score is
left beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.sizes import sizes_of
from irbench.optimizer.rewrite.edit import is_node, only_reader, weight
from irbench.optimizer.rewrite.mask_sources import is_taken_from

if TYPE_CHECKING:
    import onnx_ir as ir

    from irbench.spi import Array

_KEYS, _MASK = 1, 3
_LENGTH = -2
"""The axis of the keys, with three axes as with four."""

_MODERATE, _LOW = 1e3, -1e30
_ATTRIBUTES = {"is_causal", "kv_num_heads", "q_num_heads", "scale"}
"""Those that only say what the scores are; a cap on them (``softcap``) is not linear."""


def drop_key_bias(node: ir.Node) -> bool:
    """Let attention read its keys before a constant is added to all of them, if nothing else reads the sum.

    Returns:
        Whether there was such a constant.
    """
    biased = node.inputs[_KEYS]
    is_plain = set(node.attributes) <= _ATTRIBUTES and len(node.inputs) <= _MASK + 1 and len(node.outputs) == 1
    if biased is None or not is_plain or not is_node(biased, "Add") or only_reader(biased) is not node:
        return False
    keys = _without_bias(biased)
    mask = node.inputs[_MASK] if len(node.inputs) > _MASK else None
    if keys is None or not (mask is None or _is_exact(mask)):
        return False
    node.replace_input_with(_KEYS, keys)
    return True


def _without_bias(biased: ir.Value) -> ir.Value | None:
    total = biased.producer()
    assert total is not None
    for keys, other in (total.inputs, total.inputs[::-1]):
        bias, sizes = weight(other), sizes_of(keys)
        if keys is None or bias is None or not np.isfinite(bias).all() or sizes is None:
            continue
        if sizes == sizes_of(biased) and (bias.ndim < -_LENGTH or bias.shape[_LENGTH] == 1):
            return keys
    return None


def _is_exact(mask: ir.Value) -> bool:
    """Whether scores are the same beside a mask, up to their own rounding, or nothing of them is left."""
    if mask.dtype is not None and mask.dtype.name == "BOOL":
        return True
    return is_taken_from(mask, _leaves_scores, "Max")


def _leaves_scores(constant: Array) -> bool:
    return bool(((np.abs(constant) <= _MODERATE) | (constant <= _LOW)).all())
