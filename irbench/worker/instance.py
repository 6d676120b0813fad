"""One of several processes that run a cell side by side: its share of a window that all of them have in common."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from irbench.measure.evidence import evidence_between, read_counters
from irbench.measure.ledger import CommonWindow, Counters, SharedLedger
from irbench.measure.paced import Schedule
from irbench.record import Evidence
from irbench.worker.cell import CellTask
from irbench.worker.run import RunHost

if TYPE_CHECKING:
    from irbench.measure.drive import FollowingDriver


@dataclass(frozen=True)
class Place:
    """Which of a cell's processes one is.

    Attributes:
        number: Counted from 0.
        descriptor: Of the memory in which all of them count their completions.
    """

    number: int
    descriptor: int


@dataclass(frozen=True)
class Share:
    """What one process did in a common window.

    Attributes:
        times_ns: Issue and completion of each request, in nanoseconds of the clock that all processes share, int64 of
            shape (requests, 2); those before the window opened and after it closed included.
        evidence: What the kernel saw.
    """

    times_ns: NDArray[np.int64]
    evidence: Evidence


class InstanceHost(RunHost):
    """Holds one process's session of a cell that several processes run.

    Args:
        task: The cell.
        place: Which of the processes this is.
    """

    def __init__(self, task: CellTask, place: Place) -> None:
        super().__init__(task)
        self._place = place
        self._counters = Counters(place.descriptor, task.cell.load.instances)
        os.close(place.descriptor)  # what is mapped stays

    def take_share(self, window: CommonWindow, first: int = 0) -> Share:
        """Issue requests until the common window has closed.

        Args:
            window: When it opens and closes.
            first: Place of the input that the window begins with, where inputs take turns: each process is given the
                same number of them, one after the other, and all of them together those that one process would be.
        """
        assert self._driver is not None
        number = self._place.number
        ledger = SharedLedger(self._counters, number, window, self._task.cell.load.streams)
        before = read_counters()
        cast("FollowingDriver", self._driver).follow(ledger, first + number * window.calls - window.settle_calls)
        return Share(ledger.times_ns(), evidence_between(before, read_counters()))

    def take_paced_share(self, schedule: Schedule, first: int = 0) -> NDArray[np.int64]:
        """Make this process's calls of a schedule that all of them share.

        Args:
            schedule: When calls are due, on the clock that all processes share.
            first: Place of the input of the first timed call, where inputs take turns.

        Returns:
            Number, issue and completion of each call, in nanoseconds of the clock; int64 of shape (calls, 3).
        """
        number = self._place.number
        return self._on_schedule(schedule, first + number * (schedule.calls // schedule.processes), number)
