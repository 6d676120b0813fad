"""What changes of ONNX models share: hostile sizes, and picking what is changed."""

from __future__ import annotations

import random
from typing import Any

from .hostile_values import TEXTS, is_seldom

SIZES = (-(2**63), -(2**31), -1, 0, 1, 2, 3, 7, 2**15, 2**31 - 1, 2**31, 2**40, 2**63 - 1)
DEPTHS = (1, 10, 60, 99)
DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "com.microsoft", "org.nobody", "local", "\x1b[31m", "a" * 5000)
ATTRIBUTES = (
    "axis", "axes", "perm", "pads", "strides", "kernel_shape", "group", "to", "shape", "keepdims", "hidden_size",
    "value", "then_branch", "body", "num_scan_inputs", "equation", "dilations", "auto_pad", "direction",
    "num_outputs",
)  # fmt: skip


def pick(values: Any, chance: random.Random) -> Any:
    """Return one of a repeated field, added where it is empty."""
    return values[chance.randrange(len(values))] if len(values) else values.add()


def any_name(chance: random.Random) -> str:
    name = chance.choice(TEXTS)
    return name if name.isprintable() or is_seldom(chance, 2) else "name"


def representable(text: str) -> str:
    """Return a text without what protobuf's strings cannot hold: halves of surrogate pairs."""
    return text.encode(errors="replace").decode()
