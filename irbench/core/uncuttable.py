"""Why a part of a graph cannot stand alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

UncuttableReason: TypeAlias = Literal["no-inputs", "no-outputs", "no-tensor", "no-array"]
"""``no-inputs``: nothing that a part reads depends on the inputs of the model; ``no-outputs``: nobody needs what it
gives; ``no-tensor``: it reads or gives a sequence or an optional; ``no-array``: a value has a type that NumPy cannot
store."""
UNCUTTABLE_TEXTS: Mapping[UncuttableReason, str] = {
    "no-inputs": "nothing in it depends on the inputs of the model",
    "no-outputs": "nothing needs what it gives",
    "no-tensor": "'{value}' at its edge is no tensor",
    "no-array": "'{value}' at its edge has a type that NumPy cannot store",
}


@dataclass(frozen=True)
class Uncuttable:
    """Why a part of a graph cannot stand alone.

    Attributes:
        reason: What is in the way.
        value: The name of the value; empty for the first two.
    """

    reason: UncuttableReason
    value: str = ""
