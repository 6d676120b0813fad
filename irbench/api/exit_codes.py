"""The exit code of a finished run."""

from __future__ import annotations

from irbench.errors import ExitCode
from irbench.result import RunDocument

__all__ = ["exit_code"]


def exit_code(document: RunDocument, *, strict: bool) -> ExitCode:
    """Return the exit code of a run: an interrupt first, then wrong outputs, failures and, if strict, indecision."""
    cells = [cell for group in document.groups for cell in group.cells]
    cold = [row for table in document.cold_starts for row in table.rows]
    soaked = [row for table in document.soaks for row in table.rows]
    states = {*(row.state for row in cells), *(row.state for row in cold), *(row.state for row in soaked)}
    growths = {row.memory.verdict for row in soaked if row.memory is not None}
    if any(table.stopped_by == "interrupt" for table in document.tables):
        return ExitCode.INTERRUPTED
    if "mismatch" in states or "grows" in growths:
        return ExitCode.DIFFERENT
    if "failed" in states:
        return ExitCode.FAILED_CELL
    speedups = (*(row.speedup for row in cells), *(row.speedup for row in cold))
    undecided = any(speedup is not None and speedup.verdict in ("undecided", "preview") for speedup in speedups)
    undecided |= "undecided" in growths
    undecided |= any(group.lead is not None and group.lead.reason not in (None, "same") for group in document.groups)
    return ExitCode.UNDECIDED if strict and undecided else ExitCode.OK
