"""Who decides which cells of a group are launched next, and when the group ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from irbench.core.record import LaunchRecord
from irbench.spec import Group, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.launch_planning import launch_limits
from irbench.stats.stopping_rule import Next, Pace, next_launch
from irbench.stats.time_left import expected_launches, launches_ahead


class LaunchSchedule(Protocol):
    """Decides after each launch."""

    @property
    def measures_all(self) -> bool:
        """Whether every cell is launched; where it is not, tables hold those that were."""
        ...

    def following(
        self, group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, pace: Pace, /
    ) -> Next:
        """Return the next launch, or why there is none; see :func:`~irbench.stats.stopping_rule.next_launch`."""
        ...

    def ahead(
        self, group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, /
    ) -> Sequence[float] | None:
        """Return the launches that are expected to follow; see :func:`~irbench.stats.time_left.launches_ahead`.

        ``None`` where that is not foreseen: they may go on until the budget ends.
        """
        ...


class UnforeseenEnd:
    """What a schedule has in common with others of which nobody foresees when they end."""

    def ahead(self, _group: Group, _records: Sequence[LaunchRecord], _timing: Timing, _admission: Admission, /) -> None:
        """Return nothing; see :meth:`LaunchSchedule.ahead`."""


@dataclass(frozen=True)
class _UntilPrecise:
    """The usual one: until the winner and every verdict are known as precisely as was asked for."""

    measures_all: bool = True

    def following(
        self, group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, pace: Pace, /
    ) -> Next:
        return next_launch(group, records, timing, admission, pace)

    def ahead(
        self, group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, /
    ) -> Sequence[float]:
        if records:
            return launches_ahead(group, records, timing, admission)
        return expected_launches(len(group.cells) - len(admission.absent), timing)


UNTIL_PRECISE: LaunchSchedule = _UntilPrecise()


def launched(group: Group, records: Sequence[LaunchRecord]) -> Group:
    """Return a group with those of its cells that a launch had, and its baseline."""
    tried = {cell for record in records for cell in (*record.failures, *(own.cell for own in record.cells))}
    return replace(group, cells=tuple(cell for cell in group.cells if cell.id in tried or cell.id == group.baseline))


def most_launches(schedule: LaunchSchedule, cells: int, timing: Timing) -> int | None:
    """Return how many launches of so many cells there are at most; ``None`` where only time ends them."""
    return launch_limits(cells, timing)[1] if schedule.measures_all else None
