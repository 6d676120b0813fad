"""Soaks as a table: calls, latency and its drift, memory and its growth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from irbench.quantities import NOT_MEASURED, plural, significant
from irbench.render.context import Context
from irbench.render.footer import STOPPED_TEXTS, failure_text
from irbench.render.note_texts import note_text, reference_text
from irbench.render.plain_view import PlainView
from irbench.render.table import Column, Row, TextTable
from irbench.render.table_title import SEPARATOR, inputs_text, shared_facts, sizes_text
from irbench.render.warnings import whole_warnings
from irbench.row_names import distinguish, name_of
from irbench.soak_row import Growth, LatencyDrift, MemoryTrend, SoakRow, SoakStop, SoakTable
from irbench.stats.soak import blocks_left_out
from irbench.stats.trend import FEWEST_VALUES

SOAK_STOP_TEXTS: Mapping[SoakStop, str] = {
    "finished": "finished",
    "interrupt": "interrupted",
    "failures": "all backends failed",
    "unfinished": STOPPED_TEXTS["unfinished"],
}
"""Why a table's measurement ended."""

_STYLES: Mapping[Growth, str] = {"grows": "red", "steady": "green", "undecided": "yellow"}


def soak_view(table: SoakTable, environment: Mapping[str, Any], plan: Mapping[str, Any]) -> PlainView:
    """Return the view of a table of soaks.

    Args:
        table: It.
        environment: The machine, from the run's document.
        plan: What was asked for, from the run's document.
    """
    names = distinguish({row.id: name_of(row) for row in table.rows})
    shared = shared_facts(table.rows, environment, plan)
    facts = (f"{table.model}  {sizes_text(table.shapes)}", *shared, "soak", inputs_text(table.given_inputs))
    return PlainView(
        title=SEPARATOR.join(fact for fact in facts if fact),
        headline=_headline(table, names),
        table=_table(table, names),
        notes=(*_notes(table), *(note_text(note, Context(names)) for note in table.notes)),
        warnings=tuple(whole_warnings(table.warnings, Context(names))),
    )


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
    span = f"{100 * table.confidence:g} %"
    columns = (
        Column("row", words=True),
        Column("prec", words=True, drops=3),
        Column("calls"),
        Column("p50 ms", drops=2),
        Column(f"slower by [{span}]", words=True, drops=1),
        Column("MB at start", drops=5),
        Column("MB at end", drops=4),
        Column(f"bytes per call [{span}]", words=True),
        Column("memory", words=True),
    )
    return TextTable(columns, tuple(_row(row, names[row.id]) for row in table.rows))


def _row(row: SoakRow, name: str) -> Row:
    precision = str(row.effective.get("precision") or NOT_MEASURED)
    if row.failure is not None:
        return Row((name, precision, f"{row.calls:,}"), failure_text(row.state, row.failure), _failed_style(row))
    if row.memory is None:
        return Row((name, precision, f"{row.calls:,}"), row.state, "dim")
    return Row(
        (
            name,
            precision,
            f"{row.calls:,}",
            significant(row.p50_ms),
            _drift(row.drift),
            f"{row.memory.start_bytes / 1e6:.1f}",
            f"{row.memory.end_bytes / 1e6:.1f}",
            _growth(row.memory),
            row.memory.verdict,
        ),
        style=_STYLES[row.memory.verdict],
    )


def _failed_style(row: SoakRow) -> str:
    return "dim" if row.state == "not-applicable" else "red"


def _drift(drift: LatencyDrift | None) -> str:
    if drift is None:
        return NOT_MEASURED
    value, low, high = (f"{round(100 * end, 1) + 0.0:+.1f}" for end in (drift.value, drift.low, drift.high))
    return f"{value} % [{low}, {high}]"


def _growth(memory: MemoryTrend) -> str:
    if memory.bytes_per_call is None or memory.low is None or memory.high is None:
        return NOT_MEASURED
    return f"{_bytes(memory.bytes_per_call)} [{_bytes(memory.low)}, {_bytes(memory.high)}]"


def _bytes(value: float) -> str:
    """Return bytes per call: whole ones from 10 on, two significant digits below."""
    return f"{value:,.0f}" if abs(value) >= 10 or value == 0 else f"{value:.2g}"


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
    if table.verified_against is not None:
        yield f"outputs verified against {reference_text(table.verified_against)}"
