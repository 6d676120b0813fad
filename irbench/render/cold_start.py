"""Cold starts as a table: a row for each cell and each state of its caches, a column for each phase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irbench.cold_row import CacheState, ColdRow, ColdStop, ColdTable, cold_names
from irbench.quantities import NOT_MEASURED, plural, significant
from irbench.render.context import Context
from irbench.render.figures import are_ranges, ends_heading, ends_text, speedup_cell
from irbench.render.footer import STOPPED_TEXTS, failure_text
from irbench.render.note_texts import note_text, reference_text
from irbench.render.plain_view import PlainView
from irbench.render.table import Column, Row, TextTable
from irbench.render.table_title import SEPARATOR, inputs_text, shared_facts, sizes_text
from irbench.render.warnings import whole_warnings
from irbench.row_figures import Spans
from irbench.row_names import distinguish, name_of
from irbench.spec import Timing
from irbench.stats.estimators import median
from irbench.stats.intervals import FEWEST_LAUNCHES

COLD_STOP_TEXTS: Mapping[ColdStop, str] = {
    "launches": "launch limit reached",
    "budget": "the budget has no time for another round",
    "interrupt": "interrupted",
    "failures": "all backends failed",
    "unfinished": STOPPED_TEXTS["unfinished"],
}
"""Why a table's measurement ended."""

_STILL_WARM = 0.1
"""From this share on, a cold launch found too much of its files in memory to be called cold without a word."""
_STYLES = {"faster": "green", "slower": "red", "undecided": "yellow", "preview": "dim"}


def cold_view(table: ColdTable, environment: Mapping[str, Any], plan: Mapping[str, Any]) -> PlainView:
    """Return the view of a table of cold starts.

    Args:
        table: It.
        environment: The machine, from the run's document.
        plan: What was asked for, from the run's document.
    """
    names = cold_names(table)
    cells = distinguish({row.id: name_of(row) for row in table.rows})
    shared = shared_facts(table.rows, environment, plan)
    facts = (f"{table.model}  {sizes_text(table.shapes)}", *shared, "cold starts", inputs_text(table.given_inputs))
    return PlainView(
        title=SEPARATOR.join(fact for fact in facts if fact),
        headline=f"preview: intervals need {FEWEST_LAUNCHES} rounds (--budget)"
        if table.preview and table.rounds
        else "",
        table=_table(table, names, cells),
        notes=(*_notes(table), *(note_text(note, Context(cells)) for note in table.notes)),
        warnings=(*_still_warm(table, names), *whole_warnings(table.warnings, Context(cells))),
    )


def _table(table: ColdTable, names: Mapping[tuple[str, CacheState], str], cells: Mapping[str, str]) -> TextTable:
    compares = len({row.id for row in table.rows}) > 1
    ready, speedups = [row.ready_ms for row in table.rows], [row.speedup for row in table.rows]
    compared = (Column(ends_heading("speedup", speedups, Timing.confidence), words=True), Column("verdict", words=True))
    columns = [
        Column("row", words=True),
        Column("prec", words=True, drops=6),
        Column("start ms", drops=3),
        Column("import ms", drops=2),
        Column("load ms", drops=4),
        Column("compile ms", drops=1),
        Column("first ms", drops=5),
        Column(ends_heading("ready ms", ready, Timing.confidence), words=True),
        *(compared if compares else ()),
        Column("in memory", drops=7),
        Column("read MB", drops=8),
    ]
    measured = {row.id for row in table.rows if row.launches}
    rows = [_row(row, table, names[row.id, row.cache], compares=compares) for row in table.rows if row.id in measured]
    missing = {row.id: row for row in table.rows if row.id not in measured}
    return TextTable(tuple(columns), (*rows, *(_reason(row, cells[row.id]) for row in missing.values())))


def _reason(row: ColdRow, name: str) -> Row:
    precision = str(row.effective.get("precision") or NOT_MEASURED)
    sentence = row.state if row.failure is None else failure_text(row.state, row.failure)
    return Row((name, precision), sentence, "dim" if row.state in ("not-applicable", "interrupted") else "red")


def _row(row: ColdRow, table: ColdTable, name: str, *, compares: bool) -> Row:
    if row.failure is not None or not row.launches:
        return _reason(row, name)
    phases = row.phases_ms
    times = (phases.start, phases.import_, phases.load, phases.compile, phases.first_inference) if phases else ()
    marks_ranges = not are_ranges(other.speedup for other in table.rows)
    speedup = speedup_cell(row.speedup, is_baseline=row.id == table.baseline, marks_ranges=marks_ranges)
    compared = (speedup, _verdict(row)) if compares else ()
    return Row(
        (
            name,
            str(row.effective.get("precision") or NOT_MEASURED),
            *map(significant, times),
            _span(row.ready_ms, table),
            *compared,
            NOT_MEASURED if row.resident_share is None else f"{100 * row.resident_share:.0f} %",
            NOT_MEASURED if row.read_bytes is None else f"{row.read_bytes / 1e6:.0f}",
        ),
        style=_STYLES.get(_verdict(row), ""),
    )


def _span(span: Spans | None, table: ColdTable) -> str:
    if span is None:
        return NOT_MEASURED
    marks_ranges = not are_ranges(row.ready_ms for row in table.rows)
    return f"{significant(span.value)}{ends_text(span.ends, marks_ranges=marks_ranges)}"


def _verdict(row: ColdRow) -> str:
    return NOT_MEASURED if row.speedup is None else row.speedup.verdict


def _notes(table: ColdTable) -> Iterator[str]:
    yield SEPARATOR.join(
        (
            f"{plural(table.rounds, 'round')}, one launch at a time, in random order",
            COLD_STOP_TEXTS[table.stopped_by],
            f"{table.seconds:.0f} s",
        )
    )
    yield (
        "ready: process start to first output, median over launches. Import includes NumPy;"
        f"{_own(table.rows)} irbench's own work in between is left out"
    )
    yield (
        "cold cache: files dropped from the page cache, caches of compiled code empty · warm cache: both filled"
        " · in memory: share of the files that was in the page cache at the start · read: from disks"
    )
    if table.verified_against is not None:
        yield f"outputs verified against {reference_text(table.verified_against)}"
    elif any(row.speedup is not None for row in table.rows):
        yield "speedup ?: outputs not verified"


def _own(rows: Sequence[ColdRow]) -> str:
    found = [launch.own_ns / 1e6 for row in rows for launch in row.launches]
    return f" {significant(median(found))} ms of" if found else ""


def _still_warm(table: ColdTable, names: Mapping[tuple[str, CacheState], str]) -> Iterator[str]:
    for row in table.rows:
        if row.cache != "cold" or not row.launches:
            continue
        name = names[row.id, row.cache]
        if row.resident_share is None:
            yield f"{name}: the kernel does not show whether its files left the page cache; run as their owner."
        elif row.resident_share > _STILL_WARM:
            yield (
                f"{name}: {100 * row.resident_share:.0f} % of its files stayed in memory, so a start after a reboot"
                " takes longer. Other programs use them, or they lie on a tmpfs: close the programs, or move the files."
            )
