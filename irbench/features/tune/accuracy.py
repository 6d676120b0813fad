"""A limit for the accuracy of outputs in a search: what it excludes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from irbench.api.progress import Say
from irbench.core.record import Failure
from irbench.errors import IrbenchError
from irbench.features.tune.report import Excluded
from irbench.features.tune.rows import TuningRows
from irbench.features.tune.settings import setting_of
from irbench.features.tune.space import SearchSpace
from irbench.notices.notes import AccuracyOfRandomInputs
from irbench.render.accuracy import accuracy_text, limit_text
from irbench.runner.accuracy import answers_key
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.runs.measurement import with_accuracy
from irbench.spec import AccuracyLimit, Cell


def within_accuracy(rows: TuningRows, scratch: Path, say: Say) -> TuningRows:
    """Return the rows of a search that keep the limit, each with its accuracy; all of them without a limit.

    Raises:
        IrbenchError: No backend keeps it as it runs without any option, or no setting does.
    """
    limit = rows.request.accuracy
    if limit is None:
        return rows
    used = {cell.id for cell in (*rows.space.cells, *rows.defaults, *rows.hints)}
    (checked,) = with_accuracy(rows.request, (with_rows(rows.planned, used),), scratch, say)
    space = _kept(rows.space.cells, checked)
    defaults = _kept(rows.defaults, checked)
    if not space or not defaults:
        raise _nothing_left(rows.defaults, checked, limit)
    return replace(
        rows,
        planned=checked,
        space=SearchSpace(space, rows.space.processors),
        defaults=defaults,
        hints=_kept(rows.hints, checked),
        searched=rows.space.cells,
    )


def excluded(rows: TuningRows) -> Excluded | None:
    """Return which settings the limit kept from being searched; ``None`` without a limit."""
    if rows.request.accuracy is None:
        return None
    cells = {cell.id: cell for cell in rows.planned.group.cells}
    out = [cells[cell.id] for cell in rows.searched if cell.id in rows.planned.absent]
    measured = [(cell, cell.accuracy) for cell in out if cell.accuracy is not None]
    best = None
    for cell, accuracy in measured:
        if best is None or accuracy.limit.is_better(accuracy.value, best[1].value):
            best = (cell, accuracy)
    return Excluded(
        settings=len(out),
        combinations=len({answers_key(cell, rows.planned.group) for cell in out}),
        failed=len({answers_key(cell, rows.planned.group) for cell in out if cell.accuracy is None}),
        best=None if best is None else setting_of(best[0]),
    )


def random_inputs(planned: PlannedGroup) -> int:
    """Return on how many random samples accuracy was measured; 0 where samples were given, and without a limit."""
    notes = (note.samples for note in planned.notes if isinstance(note, AccuracyOfRandomInputs))
    return next(notes, 0)


def _kept(cells: Sequence[Cell], checked: PlannedGroup) -> tuple[Cell, ...]:
    known = {cell.id: cell for cell in checked.measured}
    return tuple(known[cell.id] for cell in cells if cell.id in known)


def _nothing_left(defaults: Sequence[Cell], checked: PlannedGroup, limit: AccuracyLimit) -> IrbenchError:
    cells = {cell.id: cell for cell in checked.group.cells}
    first = cells[defaults[0].id]
    problem: Failure | None = checked.absent.get(first.id)
    if first.accuracy is not None and problem is not None:
        return IrbenchError(
            f"{first.label} without any option has {accuracy_text(first.accuracy.value, limit)}, and the limit is"
            f" {limit_text(limit)}.",
            hint="Give a limit that the model itself keeps on these samples.",
        )
    if problem is not None:
        return IrbenchError(f"{problem.message}.", hint=problem.hint or "")
    return IrbenchError(f"No setting keeps {limit_text(limit)}.", hint="Give a looser limit, or other settings.")
