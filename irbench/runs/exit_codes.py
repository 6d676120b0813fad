"""The exit code of a finished run."""

from __future__ import annotations

from irbench.core.result import RunDocument
from irbench.errors import ExitCode


def exit_code(document: RunDocument, *, strict: bool) -> ExitCode:
    """Return the exit code of a run: an interrupt first, then wrong outputs, failures and, if strict, indecision."""
    cells = [cell for group in document.groups for cell in group.cells]
    cold = [row for table in document.cold_starts for row in table.rows]
    soaked = [row for table in document.soaks for row in table.rows]
    served = [row for table in document.serving for row in table.rows]
    counted = [row for table in document.counters for row in table.rows]
    states = {
        *(row.state for row in cells),
        *(row.state for row in cold),
        *(row.state for row in soaked),
        *(row.state for row in served),
        *(row.state for row in counted),
    }
    if document.was_interrupted:
        return ExitCode.INTERRUPTED
    if "mismatch" in states or "grows" in _growths(document):
        return ExitCode.DIFFERENT
    if "failed" in states:
        return ExitCode.FAILED_CELL
    return ExitCode.UNDECIDED if strict and is_undecided(document) else ExitCode.OK


def is_undecided(document: RunDocument) -> bool:
    """Return whether a verdict is undecided or a preview, or a table has no fastest row although rows differ.

    What holds only for a busy machine is not decided either.
    """
    speedups = (
        *(row.speedup for group in document.groups for row in group.cells),
        *(row.speedup for table in document.cold_starts for row in table.rows),
    )
    undecided = any(speedup is not None and speedup.verdict in ("undecided", "preview") for speedup in speedups)
    leads = [group.lead for group in document.groups if group.lead is not None]
    no_winner = any(lead.reason not in (None, "same") for lead in leads)
    conditional = any(lead.condition is not None for lead in leads)
    levels = _level_verdicts(document)
    return undecided or conditional or "undecided" in (*_growths(document), *levels) or no_winner


def _growths(document: RunDocument) -> set[str]:
    return {row.memory.verdict for table in document.soaks for row in table.rows if row.memory is not None}


def _level_verdicts(document: RunDocument) -> set[str]:
    loads = (row.load for table in document.serving for row in table.rows if row.load is not None)
    return {load.level.verdict for load in loads if load.level is not None}
