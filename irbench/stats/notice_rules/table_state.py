"""The input of all warnings and notes, in one value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from irbench.core.record import BlockEvidence, CellLaunch, LaunchRecord
from irbench.core.result import StoppedBy, UnevenLoad
from irbench.core.row import CellResult
from irbench.spec import Group, Timing
from irbench.stats.eligibility import Eligibility
from irbench.stats.observed import Observed, is_as_loaded, records_that_count


@dataclass(frozen=True)
class TableState:
    """A group as measured, judged and tabulated.

    Attributes:
        launches: The records, reduced as the table's figures are.
        otherwise: The same, reduced in the other way: :func:`irbench.stats.observed.observe_otherwise`.
        uneven_load: Where other programs were busier in the turns of one cell than is fair; ``None`` where they were
            not, or where the figures are not those of a busy machine.
    """

    group: Group
    records: Sequence[LaunchRecord]
    launches: Sequence[Observed]
    otherwise: Sequence[Observed]
    eligibility: Eligibility
    rows: Mapping[str, CellResult]
    timing: Timing
    stopped_by: StoppedBy
    seconds: float
    uneven_load: UnevenLoad | None = None

    @property
    def all_blocks(self) -> Sequence[Observed]:
        """The launches, reduced so that every block counts, disturbed ones included."""
        return self.launches if is_as_loaded(self.launches) else self.otherwise

    def counted_records(self, cell: str, beside: str | None = None) -> list[LaunchRecord]:
        """Return the records of the launches that are not left out for a cell, or for its comparison with another."""
        return records_that_count(self.records, self.launches, cell, beside)

    @property
    def blocks(self) -> tuple[BlockEvidence, ...]:
        """Every block of every launch."""
        return tuple(block for record in self.records for block in record.blocks)

    @property
    def rivals(self) -> tuple[str, ...]:
        """The cells that have a ratio to the baseline."""
        return tuple(cell for cell in self.eligibility.compared if cell != self.eligibility.baseline)

    @property
    def fewest_launches(self) -> int:
        """Launches of the cell with the fewest, among those that are compared or were to be."""
        waiting = (cell for cell, state in self.eligibility.states.items() if state == "not-measured")
        cells = (*self.eligibility.compared, *waiting)
        counted = (sum(launch.counts_for(cell) for launch in self.launches) for cell in cells)
        return min(counted, default=len(self.records))

    def launches_of(self, cell: str) -> Iterator[CellLaunch]:
        """Yield what a cell measured in each launch."""
        return (measured for record in self.records for measured in record.cells if measured.cell == cell)
