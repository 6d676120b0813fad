"""In which order the rows of a design are launched: each as often as the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from irbench.core.record import LaunchRecord
from irbench.spec import Group, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.stopping_rule import Next, Pace, forecast_s


@dataclass(frozen=True)
class EqualLaunches:
    """Launches every row equally often, the baseline beside the others; speeds do not decide when it ends.

    Attributes:
        launches: Of each row.
    """

    launches: int
    measures_all: bool = True

    def following(
        self, group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, pace: Pace, /
    ) -> Next:
        """Return the next launch: those rows that were launched least often, with the baseline."""
        failed = {cell for record in records for cell in record.failures} | admission.absent.keys()
        able = [cell.id for cell in group.cells if cell.id not in failed]
        if not able:
            return Next(stopped_by="failures")
        baseline = group.baseline if group.baseline in able else able[0]
        counts = {cell: sum(own.cell == cell for record in records for own in record.cells) for cell in able}
        others = sorted((cell for cell in able if cell != baseline), key=counts.__getitem__) or [baseline]
        if counts[others[0]] >= self.launches:
            return Next(stopped_by="launches")
        due = [cell for cell in others if cell != baseline and counts[cell] < self.launches]
        cells = (baseline, *due[: timing.most_cells - 1])
        ended_s = pace.elapsed_s + forecast_s(records, pace.launches_s, cells, timing) + pace.closing_s
        return Next(stopped_by="budget") if records and ended_s > timing.budget else Next(cells)

    def ahead(
        self, group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, /
    ) -> tuple[float, ...]:
        """Return the launches that are left, all alike."""
        failed = {cell for record in records for cell in record.failures} | admission.absent.keys()
        able = [cell.id for cell in group.cells if cell.id not in failed]
        done = sum(own.cell != group.baseline for record in records for own in record.cells)
        left = self.launches * max(1, len(able) - 1) - (done if len(able) > 1 else len(records))
        return (1.0,) * math.ceil(max(0, left) / max(1, min(len(able), timing.most_cells) - 1))
