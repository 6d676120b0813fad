"""Operators whose outputs may differ between runs."""

from __future__ import annotations

import numpy as np

from irbench.spi import Array

_RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)


def may_be_random(domain: str, op_type: str, third_input: Array | bool | None) -> bool:
    """Whether an operator may give another output each time; any of a vendor may, since ONNX does not define it.

    Args:
        domain: Where the operator is defined.
        op_type: Its name.
        third_input: Its constant value, which says whether a Dropout is in training mode; ``False`` where the node has
            no third input, ``None`` where its value is unknown.
    """
    trains = op_type == "Dropout" and (third_input is None or bool(np.any(third_input)))
    return domain not in ("", "ai.onnx") or op_type in _RANDOM or trains
