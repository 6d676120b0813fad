"""Tensors: names, element types and shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from irbench.spec.dimensions import size_of

Scalar: TypeAlias = str | int | float | bool | None
Shape: TypeAlias = tuple[int | str, ...]
"""A size per axis; a name stands for a size that is bound later, as does arithmetic of names: ``past_length + 1``."""

BATCH = "batch"
"""The name every exported artifact gives its free leading dimension."""
BATCH_IN_FILE = "batch_in_file"
"""Of a bundle's details: what an ONNX file itself calls the batch."""

RANDOM_DRAWS = "random_draws"
"""Of a bundle's details: what draws random numbers in the model, so that no two answers are equal."""

_MASK_NAME = re.compile(r".*mask([_.]?\d+)?(:\d+)?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class TensorSpec:
    """Name, dtype and shape of one input or output.

    Attributes:
        name: The name inside the artifact.
        dtype: A NumPy dtype name such as ``float32`` or ``int64``.
        shape: Axis sizes; a string names a free dimension.
        permutation: Axes of the logical tensor in the artifact's order: the artifact
            receives ``logical.transpose(permutation)``. ``None`` where both agree.
    """

    name: str
    dtype: str
    shape: Shape
    permutation: tuple[int, ...] | None = None

    @property
    def dynamic_dimensions(self) -> tuple[str, ...]:
        """Names of the dimensions that are still to be bound, in axis order."""
        return tuple(size for size in self.shape if isinstance(size, str))

    def bind(self, sizes: Mapping[str, int]) -> TensorSpec:
        """Return this spec with every free dimension concrete that ``sizes`` names, or that follows from them."""

        def bound(dimension: int | str) -> int | str:
            size = size_of(dimension, sizes)
            return dimension if size is None else size

        return TensorSpec(self.name, self.dtype, tuple(map(bound, self.shape)), self.permutation)


@dataclass(frozen=True)
class InputSpec:
    """A logical input with the range its generated values are drawn from.

    Values are uniform in ``[low, high)``, integers too: a vocabulary of V tokens is ``low=0, high=V``.

    Attributes:
        tensor: Name, dtype and shape.
        low: The least value.
        high: Above the largest value.
        is_mask: Whether each row is ones followed by zeros instead, as of a padded sequence; rows are along the last
            axis that is longer than one.
    """

    tensor: TensorSpec
    low: float = 0.0
    high: float = 1.0
    is_mask: bool = False


def is_named_as_mask(name: str) -> bool:
    """Return whether an input of this name says which positions count: ``mask``, ``attention_mask``, ``mask_2:0``."""
    return _MASK_NAME.fullmatch(name) is not None
