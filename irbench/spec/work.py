"""What a row has to compute and to move in an inference, and what its machine attains at most for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


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
        """Return the share of the roof that was achieved, as a fraction.

        It is above 1 where peaks were measured too low, or fewer operations are done or bytes moved than were counted.
        """
        return gflop_per_s / self.gflop_per_s


@dataclass(frozen=True)
class InferenceWork:
    """What an inference of one batch takes.

    Attributes:
        operations: Arithmetic operations; a multiply-accumulate is two.
        moved_bytes: Bytes that have to be moved however well operators are fused: weights, inputs and outputs, once.
        roofs: What the machine attains at most with the threads of the row, by the precision that it computes in; a
            precision that was not measured is missing.
        peaks_measured: When the peaks were that the roofs follow from, ISO 8601, UTC.
        peaks_version: Version of the row's backend that the peaks were measured with; empty where it was not among
            those that were measured, ``None`` where that is unknown or it could not be.
    """

    operations: int
    moved_bytes: int
    roofs: Mapping[str, Roof] = field(default_factory=dict[str, Roof])
    peaks_measured: str | None = None
    peaks_version: str | None = None
