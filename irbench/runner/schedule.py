"""Who decides which cells of a group are launched next, and when the group ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from irbench.record import LaunchRecord
from irbench.spec import Group, Timing
from irbench.stats import Admission, Next, Pace, next_launch

__all__ = ["UNTIL_PRECISE", "Schedule"]


class Schedule(Protocol):
    """Decides after each launch."""

    @property
    def measures_all(self) -> bool:
        """Whether every cell is launched; where it is not, tables hold those that were."""
        ...

    def following(
        self, group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, pace: Pace, /
    ) -> Next:
        """Return the cells of the next launch, or why there is none; see :func:`irbench.stats.next_launch`."""
        ...


@dataclass(frozen=True)
class _UntilPrecise:
    """The usual one: until the winner and every verdict are known as precisely as was asked for."""

    measures_all: bool = True

    def following(
        self, group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, pace: Pace, /
    ) -> Next:
        return next_launch(group, records, timing, admission, pace)


UNTIL_PRECISE: Schedule = _UntilPrecise()
