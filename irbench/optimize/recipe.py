"""Which passes make a graph better, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irbench import registry
from irbench.errors import IrbenchError

__all__ = ["LEVELS", "UNOPTIMIZED", "Recipe", "recipe"]

UNOPTIMIZED = "none"
"""The level at which nothing is done."""

_CLEANING = ("fold_shapes", "remove_redundant")
_PORTABLE = ("loop_to_gru", "einsum_to_matmul", "fuse_layer_normalization", "fuse_gelu")

LEVELS = {
    UNOPTIMIZED: (),
    "basic": (*_CLEANING, *_PORTABLE, *_CLEANING),
    "extended": (*_CLEANING, *_PORTABLE, "fuse_attention", *_CLEANING),
    "all": (*_CLEANING, *_PORTABLE, "fuse_attention_vendor", "fuse_skip_vendor", *_CLEANING),
}
"""Passes of each level, in order: ``basic`` and ``extended`` write ONNX' own operators, ``all`` a vendor's as well."""


@dataclass(frozen=True)
class Recipe:
    """What is done to a graph.

    Attributes:
        name: What tables call the result: its level, or ``custom``.
        passes: Names of the passes, in order.
    """

    name: str
    passes: tuple[str, ...]


def recipe(level: str, passes: Sequence[str] | None = None) -> Recipe:
    """Return the recipe of a level, or of passes that are named one by one.

    Args:
        level: One of :data:`LEVELS`; what counts where no passes are named.
        passes: Names of passes, in order.

    Raises:
        IrbenchError: There is no such level or pass.
    """
    if passes is not None:
        for name in passes:
            registry.graph_pass(name)
        return Recipe("custom", tuple(passes))
    if level not in LEVELS:
        raise IrbenchError(f"There is no level {level!r}.", hint=f"Levels: {', '.join(LEVELS)}.")
    return Recipe(level, LEVELS[level])
