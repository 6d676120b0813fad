"""One cell of a run: its rounds, and the uninterrupted runs beside them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from irbench.measure.drive import complete_call
from irbench.measure.paced import Schedule, issue_on_schedule, join_paced, start_soon
from irbench.measure.turns import turning_slot
from irbench.record import PacedRun, Sustained
from irbench.worker.cell import CellHost
from irbench.worker.completions import median_completion_ns


class RunHost(CellHost):
    """Holds one cell's session, as any host does, and runs it without interruption too."""

    _tells_private_memory = True

    def alone(self, seconds: float, samples: int | None = None, first: int = 0) -> Sustained:
        """Run uninterrupted for about ``seconds`` and count completions.

        Where inputs take turns, the run has so many ``samples`` instead, and begins with the input at place ``first``.
        """
        assert self._driver is not None
        pilot = self._driver.drive(self._fewest)
        if samples is None:
            samples = max(self._fewest, math.ceil(seconds * 1e9 / median_completion_ns(pilot, len(self._slots))))
        window = self._driver.drive(samples, first=first)
        made = window.completion_ns.size * self._calls_per_sample
        return Sustained(self._task.cell.id, made, int(window.completion_ns[-1]))

    def tail(self, calls: int, settle_calls: int, first: int = 0) -> NDArray[np.int64]:
        """Take ``calls`` uninterrupted calls and return each one's latency in nanoseconds, int64.

        One call is one sample here whatever its length: a tail cannot be read from means.

        Args:
            calls: How many are timed.
            settle_calls: How many untimed ones come before.
            first: Place of the input that the timed window begins with, where inputs take turns.
        """
        assert self._driver is not None
        driver = self._driver
        if self._calls_per_sample > 1:
            driver = self._make_driver()
        window = driver.drive(calls, settle_calls, first)
        return window.completion_ns - window.issue_ns

    def paced(self, pace_ns: int, calls: int, first: int = 0) -> PacedRun:
        """Issue so many calls at a constant pace, after a few untimed ones.

        Args:
            pace_ns: From one call to the next, in nanoseconds.
            calls: How many are timed; a multiple of the streams.
            first: Place of the input of the first timed call, where inputs take turns.
        """
        schedule = Schedule(start_soon(), pace_ns, calls, slots=len(self._slots))
        return join_paced([self._on_schedule(schedule, first)], schedule)

    def _on_schedule(self, schedule: Schedule, first: int, process: int = 0) -> NDArray[np.int64]:
        """Make the calls of this process; see :func:`irbench.measure.paced.issue_on_schedule`."""
        for turns in self._turns:
            turns.begin(first - schedule.untimed_calls // schedule.processes)
        return issue_on_schedule(self._calls(), schedule, process)

    def _calls(self) -> list[Callable[[], object]]:
        """Return what a call is, for each slot."""
        if self._turns:
            pairs = zip(self._slots, self._turns, strict=True)
            return [complete_call(turning_slot(slot, turns), (), "copy") for slot, turns in pairs]
        io = self._task.cell.io
        return [complete_call(slot, feed, io) for slot, feed in zip(self._slots, self._feeds, strict=True)]
