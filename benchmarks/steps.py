"""Steps of a long measurement, each of which may fail without the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.claims import Claim
from benchmarks.power_figures import Detection
from benchmarks.truth_figures import ThroughputFigures

Found: TypeAlias = Claim | ThroughputFigures | Detection


@dataclass(frozen=True)
class Step:
    """One run of irbench, or a few that belong together.

    Attributes:
        words: What is measured, for who waits.
        measure: Does it.
    """

    words: str
    measure: Callable[[], Sequence[Found]]
