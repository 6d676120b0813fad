"""The arithmetic of one execution of a node, and the type of the functions that count it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from irbench.cost_model.tensors import NodeView

LINEAR_SAMPLE = 7
"""Four products and three sums interpolate between four neighbours."""


class Work(NamedTuple):
    """What a node computes."""

    macs: int = 0
    others: int = 0

    @property
    def flops(self) -> int:
        """All operations: two for each multiply-accumulate."""
        return 2 * self.macs + self.others


Rule: TypeAlias = Callable[[NodeView], Work]
"""Counts the work of a node; raises :class:`~irbench.cost_model.tensors.UnknownShape` where it cannot."""

Rules: TypeAlias = Mapping[str, Rule]
"""Rules by operator; a name means the same in every domain that is classified."""
