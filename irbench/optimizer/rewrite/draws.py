"""Which operations may answer something else each time they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irbench.optimizer.rewrite.edit import weight
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["draws", "may_draw"]

_RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)


def draws(node: ir.Node) -> bool:
    """Whether a node may answer something else each time."""
    third = node.inputs[2] if len(node.inputs) > 2 else None
    return may_draw(node.domain, node.op_type, False if third is None else weight(third))


def may_draw(domain: str, operation: str, third: Array | bool | None) -> bool:
    """Whether an operation may answer something else each time: any of a vendor may, since ONNX says nothing of it.

    Args:
        domain: Where the operation is defined.
        operation: Its name.
        third: What its third input holds, which says whether a Dropout trains; ``False`` where it has none, ``None``
            where that is not known.
    """
    trains = operation == "Dropout" and (third is None or bool(np.any(third)))
    return domain not in ("", "ai.onnx") or operation in _RANDOM or trains
