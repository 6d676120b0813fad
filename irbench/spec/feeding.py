"""What goes into the inputs of a model: data, constants, and generated values for everything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

__all__ = ["Feeding", "Number"]

Number: TypeAlias = int | float | bool | str
"""A constant of one element: a number, or a text for an input of strings."""


@dataclass(frozen=True)
class Feeding:
    """The inputs of a group. All cells of the group, and the reference, receive the same ones.

    An input gets what a sample holds for it, otherwise its constant, otherwise generated values.

    Attributes:
        seed: Seed of the generated values.
        values: Constants by logical input name: one element fills the input, several are broadcast to its shape.
        samples: NumPy archives (``.npz``), one for each sample. They hold arrays by logical input name, with the
            dtypes of the inputs and the shapes that the group's sizes bind.
    """

    seed: int = 0
    values: Mapping[str, tuple[Number, ...]] = field(default_factory=dict[str, tuple[Number, ...]])
    samples: tuple[Path, ...] = ()

    @property
    def count(self) -> int:
        """How many different feeds take turns; 1 without samples."""
        return max(1, len(self.samples))
