"""One cell that is profiled in a process of its own, with nothing beside it."""

from __future__ import annotations

from irbench.measure.machine import MachineSnapshot, foreign_cpu_ns
from irbench.profiling.record import Disturbance
from irbench.record import OutputError
from irbench.runner.answers import worse
from irbench.runner.cell_worker import CellWorker, Setting, checked, checked_turns
from irbench.spec import Cell
from irbench.worker.cell import Prepared, Warmed
from irbench.worker.profiling import MOST_CALLS, ProfiledRun


def profile_cell(cell: Cell, setting: Setting, inferences: int) -> tuple[ProfiledRun, OutputError | None]:
    """Compile a cell with its runtime's recording switched on, check its answers, and profile it.

    Args:
        cell: It makes one inference at a time.
        setting: Of its table.
        inferences: How many are profiled at least.

    Returns:
        The profiled inferences, and how far the answers are from the reference; ``None`` where there is none.

    Raises:
        CellFailed: Its backend cannot profile it, its answers are wrong, or its worker failed in another way.
    """
    with CellWorker(cell, setting) as worker:
        worker.hold("irbench.worker.profiling:ProfileHost", setting.task(cell))
        worker.ask("import", "import_runtime")
        prepared: Prepared = worker.ask("compile", "prepare", setting.expected.outputs is not None)
        error = worse(checked(cell, prepared, setting), checked_turns(worker, "verify", prepared, setting))
        warmed: Warmed = worker.ask("warm-up", "warm_up")
        expected_s = max(inferences, MOST_CALLS) * warmed.call_ns / 1e9
        run: ProfiledRun = worker.ask("measure", "profile", inferences, extra_s=3 * expected_s)
        return run, error


def disturbance_between(before: MachineSnapshot, after: MachineSnapshot, processors: int) -> Disturbance:
    """Return what else happened on the machine during a launch.

    Args:
        before: What was seen before it.
        after: What was seen after it, on the same processors.
        processors: How many processors the cell uses.
    """
    return Disturbance(after.at_ns - before.at_ns, foreign_cpu_ns(before, after), processors)
