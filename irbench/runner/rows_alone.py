"""What rows share that are measured in a process each: how one is made ready, and another form of its graph tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from irbench.core.output_check import fingerprint
from irbench.core.record import Failure
from irbench.notices import Note
from irbench.runner.plan import refusal_note
from irbench.runner.reference import changed, worse
from irbench.runner.rounds import CellOutcome
from irbench.runner.workers import CellFailed, CellWorker, Setting, checked, checked_turns, compared, runnable_form
from irbench.worker.cell import PreparedSession, Response, Warmed


def leave_absent(rows: Iterable[CellOutcome], absent: Mapping[str, Failure]) -> None:
    """Have rows leave that the plan already knows cannot be measured."""
    for row in rows:
        if row.cell.id in absent:
            row.leave(absent[row.cell.id])


def attempted(
    row: CellOutcome, attempt: Callable[[], None], setting: Setting, *, may_change: bool = True
) -> tuple[Note, ...]:
    """Measure a row, and where its runtime refuses its graph once more with the other form of it; it leaves on failure.

    Args:
        row: Its cell becomes that of the other form.
        attempt: Measures it; raises :class:`CellFailed`.
        setting: Of the table.
        may_change: Whether another form is still the same row: nothing was measured of the first.

    Returns:
        What to note below the table.
    """
    notes: tuple[Note, ...] = ()
    failed = _failure_of(attempt)
    other = runnable_form(row.cell, failed, setting) if failed is not None and may_change else None
    if failed is not None and other is not None:
        notes = (refusal_note(row.cell, failed.failure.message),)
        row.cell = other
        failed = _failure_of(attempt)
    if failed is None:
        row.state = "ok"
    else:
        row.leave(failed.failure, failed.output_error)
    return notes


def _failure_of(attempt: Callable[[], None]) -> CellFailed | None:
    try:
        attempt()
    except CellFailed as failed:
        return failed
    return None


def warmed_up(
    row: CellOutcome, worker: CellWorker, setting: Setting, host_class: str, *, verifies: bool = True
) -> Warmed:
    """Make the session of a row, verify what it answers where that is asked for, and warm it up.

    Args:
        row: Takes in what the session says of itself, and how far it is from the reference.
        worker: Its process.
        setting: Of the table.
        host_class: ``module:class`` of what holds the session.
        verifies: Whether answers are compared: those of a later launch of the same row need not be.

    Raises:
        CellFailed: One of the steps failed, or its answers are wrong.
    """
    worker.hold(host_class)
    worker.ask("import", "import_runtime")
    prepared: PreparedSession = worker.ask("compile", "prepare", verifies and setting.expected.outputs is not None)
    row.effective = prepared.effective
    if verifies:
        row.output_error = checked(row.cell, prepared, setting)
        row.right.update(map(fingerprint, prepared.outputs))
        row.output_error = worse(row.output_error, checked_turns(worker, "verify", prepared, setting))
    warmed: Warmed = worker.ask("warm-up", "warm_up")
    return warmed


def require_right(
    row: CellOutcome, responses: Iterable[Response], setting: Setting, where: Callable[[Response], str]
) -> None:
    """Compare outputs of calls that were timed: some are right only at first, or as long as there is little to do.

    Args:
        row: Takes in which outputs are right.
        responses: What its process returned, in order.
        setting: Of the table.
        where: Returns where a response was seen, as the end of a sentence.

    Raises:
        CellFailed: One is wrong.
    """
    for response in responses:
        try:
            compared(row.cell, [response.outputs], row.effective, setting, response.call)
        except CellFailed as failed:
            raise CellFailed(changed(failed.failure, where(response)), failed.output_error) from failed
        row.right.add(fingerprint(response.outputs, response.call))


def verify_again(row: CellOutcome, worker: CellWorker, setting: Setting, where: str) -> None:
    """Have a row answer once more now that it was measured, and compare that.

    Raises:
        CellFailed: It is wrong; says ``where`` that was seen.
    """
    if setting.expected.outputs is None:
        return
    prepared = PreparedSession(row.effective, worker.ask("second answer", "answer_again"))
    try:
        checked(row.cell, prepared, setting)
        checked_turns(worker, "second answer", prepared, setting)
    except CellFailed as failed:
        raise CellFailed(changed(failed.failure, where), failed.output_error) from failed
