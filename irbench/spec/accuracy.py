"""How good the answers of a row are by the measure that the user chose, and how good they must be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Bound = Literal["at-least", "at-most"]


@dataclass(frozen=True)
class AccuracyLimit:
    """How good answers must be for a row to be measured.

    Attributes:
        limit: The least, or the largest, value that is allowed.
        bound: Which of the two it is.
        function: The user's own measure, ``module:function`` or ``path/to/file.py:function``; empty for top-1
            agreement, the share of samples whose largest class is that of the reference.
    """

    limit: float
    bound: Bound = "at-least"
    function: str = ""

    @property
    def function_name(self) -> str:
        """The user's function without the folders of its file."""
        return self.function.rpartition("/")[2]

    def allows(self, value: float) -> bool:
        """Whether a value keeps the limit."""
        return value >= self.limit if self.bound == "at-least" else value <= self.limit

    def is_better(self, value: float, other: float) -> bool:
        """Whether a value is better than another."""
        return value > other if self.bound == "at-least" else value < other


@dataclass(frozen=True)
class Accuracy:
    """How good the answers of a row are.

    Attributes:
        value: By the measure of the limit.
        limit: What was asked for.
        samples: How many samples it was computed from.
        max_rel: The largest error of an output relative to the reference, over all samples; null where outputs could
            not be compared with one.
        misses_tolerance: Whether that error is above the tolerance of the row's precision.
    """

    value: float
    limit: AccuracyLimit
    samples: int
    max_rel: float | None = None
    misses_tolerance: bool = False

    @property
    def is_within_limit(self) -> bool:
        """Whether it keeps the limit."""
        return self.limit.allows(self.value)
