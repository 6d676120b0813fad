"""What a row has to compute and to move in an inference, and what its machine attains at most for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["InferenceWork", "Roof"]


@dataclass(frozen=True)
class Roof:
    """The most that is attainable, and what limits it.

    Attributes:
        gflop_per_s: In 10^9 operations per second.
        bound: Whether arithmetic or the movement of data is the limit.
        level: The level of the memory hierarchy that data come from.
    """

    gflop_per_s: float
    bound: Literal["compute", "bandwidth"]
    level: str

    def share(self, gflop_per_s: float) -> float:
        """Return the share of the roof that was achieved, as a fraction; above 1 where peaks were measured too low."""
        return gflop_per_s / self.gflop_per_s


@dataclass(frozen=True)
class InferenceWork:
    """What an inference of one batch takes.

    Attributes:
        operations: Arithmetic operations; a multiply-accumulate is two.
        moved_bytes: Bytes that have to be moved however well operators are fused: weights, inputs and outputs, once.
        roofs: What the machine attains at most with the threads of the row, by the precision that it computes in; a
            precision that was not measured is missing.
    """

    operations: int
    moved_bytes: int
    roofs: Mapping[str, Roof] = field(default_factory=dict[str, Roof])
