"""The results of one cell in one launch, collected step by step."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from irbench.core.cold_row import COLD_PHASES
from irbench.core.record import CellLaunch, OutputError, PacedRun, Round
from irbench.spec import Cell
from irbench.worker.cell import Prepared, Warmed


@dataclass
class CellProgress:
    """What one cell's launch has brought so far."""

    prepared: Prepared | None = None
    warmed: Warmed | None = None
    output_error: OutputError | None = None
    rounds: list[Round] = field(default_factory=list[Round])
    tail_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    paced: PacedRun | None = None
    run_peak_bytes: int | None = None
    run_private_bytes: int | None = None
    repeat_error: OutputError | None = None

    @property
    def speed(self) -> Warmed:
        """How the warm-up ended, for a cell that has come so far."""
        assert self.warmed is not None
        return self.warmed

    def as_launch(self, cell: Cell, started_ns: int) -> CellLaunch:
        """Return the record of a cell that measured.

        Args:
            cell: Whose progress these are.
            started_ns: From its worker's start until it held the cell.
        """
        assert self.prepared is not None
        phases = {"start": started_ns, **self.speed.phases_ns}
        peaks = dict(self.speed.peak_memory_bytes)
        if self.run_peak_bytes is not None:
            peaks["run"] = self.run_peak_bytes
        if peaks:
            peaks["process"] = max(peaks.values())
        private = dict(self.speed.private_memory_bytes)
        if self.run_private_bytes is not None:
            private["run"] = self.run_private_bytes
        return CellLaunch(
            cell=cell.id,
            streams=cell.load.streams,
            calls_per_sample=self.speed.calls_per_sample,
            rounds=tuple(self.rounds),
            phases_ns={**phases, "ready": sum(phases.get(name, 0) for name in COLD_PHASES)},
            peak_memory_bytes=peaks,
            effective=self.prepared.effective,
            output_error=self.output_error,
            tail_ns=self.tail_ns,
            repeat_error=self.repeat_error,
            paced=self.paced,
            private_memory_bytes=private,
            warm_up=self.speed.warm_up,
        )
