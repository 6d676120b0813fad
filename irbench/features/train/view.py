"""Traced steps as a table: what xprof says of them, beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from irbench.core.counter_row import COUNTER_STOP_TEXTS
from irbench.core.quantities import NOT_MEASURED, plural, significant
from irbench.core.result import RunDocument
from irbench.core.row import ENDED_EARLY, distinguish, name_of
from irbench.core.training_row import StepTraceRow, StepTraceTable
from irbench.render.failure_texts import remedy
from irbench.render.footer import failure_text
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.table_title import SEPARATOR
from irbench.render.views import PlainView
from irbench.spec.training import INPUT
from irbench.stats.run_modes.training import WHOLE


def step_trace_views(table: StepTraceTable, document: RunDocument) -> tuple[PlainView, ...]:
    """Return the one view of traced steps."""
    title = SEPARATOR.join(
        (table.model, "steps traced by TensorFlow's profiler", f"read by xprof {table.xprof_version}")
    )
    return (PlainView(title, "", _table(table, document), tuple(_notes(table)), tuple(_unread(table))),)


def _table(table: StepTraceTable, document: RunDocument) -> TextTable:
    overviews = [row.overview for row in table.rows if row.overview is not None]
    known = dict.fromkeys(part for overview in overviews for part in overview.parts_ms)
    parts = [part for part in known if any(overview.parts_ms.get(part) for overview in overviews)]
    names = distinguish({row.id: name_of(row) for row in table.rows})
    measured_ms = {
        cell.id: {part.name: part.ms.value for part in cell.step_parts} for cell in document.groups[table.table].cells
    }
    columns = (
        TableColumn("row", words=True),
        TableColumn("step ms"),
        TableColumn("input %"),
        TableColumn("xprof: step ms"),
        *(TableColumn(f"{part} %", drops=place) for place, part in enumerate(parts, 1)),
        TableColumn("xprof says", words=True, folds=True),
    )
    return TextTable(columns, tuple(_row(row, names[row.id], measured_ms.get(row.id, {}), parts) for row in table.rows))


def _row(row: StepTraceRow, name: str, measured_ms: Mapping[str, float], parts: Sequence[str]) -> Row:
    step_ms = measured_ms.get(WHOLE)
    before = (name, significant(step_ms), _share(measured_ms.get(INPUT), step_ms))
    if row.failure is not None:
        return Row(before, failure_text(row.state, row.failure), "red")
    if row.overview is None:
        return Row(before, f"traced: {row.trace}" if row.trace else row.state, "dim")
    traced_ms = row.overview.step_ms
    shares = (_share(row.overview.parts_ms.get(part), traced_ms) for part in parts)
    return Row((*before, significant(traced_ms), *shares, row.overview.conclusion))


def _share(part_ms: float | None, whole_ms: float | None) -> str:
    return NOT_MEASURED if part_ms is None or not whole_ms else f"{100 * part_ms / whole_ms:.1f}"


def _notes(table: StepTraceTable) -> Iterator[str]:
    stopped = (COUNTER_STOP_TEXTS[table.stopped_by],) if table.stopped_by in ENDED_EARLY else ()
    yield SEPARATOR.join(
        (f"{plural(table.traced_steps, 'step')} of each row, after its launches", f"{table.seconds:.0f} s", *stopped)
    )
    yield (
        "step ms, input %: as measured above · the others are xprof's, of few steps under the profiler, without"
        " intervals"
    )
    if any(row.trace for row in table.rows):
        yield "traces: the folder traces of the run, for xprof --logdir and TensorBoard"


def _unread(table: StepTraceTable) -> Iterator[str]:
    if table.unread is not None:
        why = SEPARATOR.join(filter(None, (table.unread.message, remedy(table.unread))))
        yield f"xprof {table.xprof_version} read no trace: {why}"
