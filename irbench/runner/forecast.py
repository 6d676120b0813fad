"""Estimate how long the parts of a launch take, from the speeds measured in the warm-up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from irbench.spec import Timing
from irbench.stats import LaunchCost
from irbench.worker.cell import Warmed

__all__ = ["Forecast"]

_MEAN_SETTLING = 1.5
"""Settle calls take their shortest time, and by chance up to twice that."""


@dataclass(frozen=True)
class Forecast:
    """What a launch will take on a quiet machine.

    Attributes:
        timing: The protocol's numbers.
        speeds: How each cell's warm-up ended, by cell id.
    """

    timing: Timing
    speeds: Mapping[str, Warmed]

    def calls_s(self, cell: str, calls: int) -> float:
        """Return how long so many calls of a cell take, in seconds."""
        return calls * self.speeds[cell].completion_ns / 1e9

    def round_s(self, cell: str, samples: int) -> float:
        """Return how long a round of so many samples takes, its settle calls included, in seconds."""
        settle_s = _MEAN_SETTLING * max(self.timing.settle, self.calls_s(cell, 1))
        return settle_s + self.calls_s(cell, samples * self.speeds[cell].calls_per_sample)

    def after_blocks_s(self, answers: int) -> float:
        """Return how long everything after the blocks takes, in seconds: runs alone, and answers to be verified.

        Args:
            answers: How often each cell answers once more.
        """
        calls = answers + (self.timing.tail_calls if self.timing.tail else 0)
        return sum(self.calls_s(cell, calls) + self.timing.sustain for cell in self.speeds)

    def cost(self, start_s: float, later_start_s: float, samples: Mapping[str, int], answers: int) -> LaunchCost:
        """Return what this launch and later ones cost; what follows their blocks counts as a part of their starts.

        Args:
            start_s: What this launch took until its first block, in seconds.
            later_start_s: What the later ones will take until theirs.
            samples: In a round, by cell id.
            answers: How often each cell answers once more after the blocks of this launch.
        """
        block_s = sum(self.round_s(cell, count) for cell, count in samples.items())
        return LaunchCost(
            start_s + self.after_blocks_s(answers), block_s, later_start_s + self.after_blocks_s(answers=0)
        )
