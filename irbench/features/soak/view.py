"""Soaks as a table: calls, latency and its drift, memory and its growth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irbench.core.quantities import plural
from irbench.core.result import RunDocument
from irbench.core.row import distinguish, name_of
from irbench.core.soak_row import SOAK_STOP_TEXTS, SoakRow, SoakTable
from irbench.notices import Context
from irbench.render.columns import IN_SOAKS
from irbench.render.columns.row_facts import computed_precision
from irbench.render.footer import failure_text, verified_line, whole_warnings
from irbench.render.speed_table import heading
from irbench.render.table import Row, TextTable
from irbench.render.table_title import SEPARATOR, inputs_text, shared_facts, sizes_text
from irbench.render.verdicts import style_of
from irbench.render.views import PlainView
from irbench.stats.run_modes.soak import FEWEST_VALUES, blocks_left_out


def soak_views(table: SoakTable, document: RunDocument) -> tuple[PlainView, ...]:
    """Return the one view of a table of soaks."""
    names = distinguish({row.id: name_of(row) for row in table.rows})
    shared = shared_facts(table.rows, document.environment, document.plan)
    facts = (f"{table.model}  {sizes_text(table.shapes)}", *shared, "soak", inputs_text(table.given_inputs))
    view = PlainView(
        title=SEPARATOR.join(fact for fact in facts if fact),
        headline=_headline(table, names),
        table=_table(table, names),
        notes=(*_notes(table), *(note.text(Context(names)) for note in table.notes)),
        warnings=tuple(whole_warnings(table.warnings, Context(names))),
    )
    return (view,)


def _headline(table: SoakTable, names: Mapping[str, str]) -> str:
    judged = {row.id: row.memory.verdict for row in table.rows if row.memory is not None and row.failure is None}
    growing = [names[row] for row, verdict in judged.items() if verdict == "grows"]
    if growing:
        return f"memory grows: {', '.join(growing)}"
    undecided = [names[row] for row, verdict in judged.items() if verdict == "undecided"]
    if undecided:
        return f"undecided: {', '.join(undecided)}. Soak longer (--for, --calls)"
    return "memory is steady" if judged else ""


def _table(table: SoakTable, names: Mapping[str, str]) -> TextTable:
    columns = tuple(heading(shown, table, table.confidence) for _, shown in IN_SOAKS)
    return TextTable(columns, tuple(_row(row, table, names[row.id]) for row in table.rows))


def _row(row: SoakRow, table: SoakTable, name: str) -> Row:
    before = (name, computed_precision(row), f"{row.calls:,}")
    if row.failure is not None:
        return Row(before, failure_text(row.state, row.failure), "dim" if row.state == "not-applicable" else "red")
    if row.memory is None:
        return Row(before, row.state, "dim")
    texts = tuple(column.text("soak", shown, row, table) for column, shown in IN_SOAKS)
    return Row(texts, style=style_of(row.memory.verdict))


def _notes(table: SoakTable) -> Iterator[str]:
    whole_s = sum(row.seconds for row in table.rows)
    yield SEPARATOR.join((f"one row at a time, {whole_s:.0f} s of calls", SOAK_STOP_TEXTS[table.stopped_by]))
    yield (
        f"memory: grows or steady if the whole interval is above or below {table.growth_limit:,.0f} bytes per call,"
        " and growth is spread over the whole time"
    )
    blocks = max((len(row.series.calls) for row in table.rows if row.series is not None), default=0)
    if blocks:
        left_out = blocks_left_out(blocks)
        yield f"{plural(blocks, 'block')}, the first {left_out} left out; resident memory is read after each"
    if any(row.memory is not None and row.memory.bytes_per_call is None for row in table.rows):
        yield f"an interval needs {FEWEST_VALUES} blocks that count"
    yield from verified_line(table.verified_against, [row.state for row in table.rows])
