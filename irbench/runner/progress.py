"""What a run says while it runs: plain values, spoken only between rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from irbench.result import GroupResult

__all__ = ["Listener", "Progress"]


@dataclass(frozen=True)
class Progress:
    """One moment of a run.

    Attributes:
        model: The group's model.
        activity: What runs now, in a few words.
        launch: The launch under way, counted from 1; 0 before the first.
        most_launches: After how many the group ends at the latest.
        elapsed_s: Since the group began.
        budget_s: What the group may take.
        outlook: How narrow the intervals are, and what would reach the target; may be empty.
        interim: The table as the finished launches give it, when a launch has just ended.
    """

    model: str
    activity: str
    launch: int
    most_launches: int
    elapsed_s: float
    budget_s: float
    outlook: str = ""
    interim: GroupResult | None = None


Listener: TypeAlias = Callable[[Progress], None]
