"""A cell whose training steps the profiler of its runtime traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from irbench.worker.cell import CellHost

if TYPE_CHECKING:
    from irbench.worker.training import TrainingSlot


class StepTraceHost(CellHost):
    """Holds one cell's session, as any host does, and has some of its steps traced."""

    def trace(self, steps: int) -> bytes:
        """Make so many steps under the profiler, and return the trace, in the form of the runtime."""
        (slot,) = self._slots
        return cast("TrainingSlot", slot).session.trace(steps)
