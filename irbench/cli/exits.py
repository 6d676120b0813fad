"""The exit code of a finished run."""

from __future__ import annotations

from irbench.errors import ExitCode
from irbench.result import RunDocument

__all__ = ["exit_code"]


def exit_code(document: RunDocument, *, strict: bool) -> ExitCode:
    """Return the exit code of a run: an interrupt first, then wrong outputs, failures and, if strict, indecision."""
    cells = [cell for group in document.groups for cell in group.cells]
    if any(group.stopped_by == "interrupt" for group in document.groups):
        return ExitCode.INTERRUPTED
    if any(cell.state == "mismatch" for cell in cells):
        return ExitCode.DIFFERENT
    if any(cell.state == "failed" for cell in cells):
        return ExitCode.FAILED_CELL
    undecided = any(cell.speedup is not None and cell.speedup.verdict in ("undecided", "preview") for cell in cells)
    undecided |= any(group.lead is not None and group.lead.reason not in (None, "same") for group in document.groups)
    return ExitCode.UNDECIDED if strict and undecided else ExitCode.OK
