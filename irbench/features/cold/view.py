"""Cold starts as a table: a row for each cell and each state of its caches, a column for each phase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irbench.core.cold_row import COLD_STOP_TEXTS, CacheState, ColdRow, ColdTable, cold_names
from irbench.core.quantities import plural, significant
from irbench.core.result import RunDocument
from irbench.core.row import distinguish, name_of
from irbench.notices import Context
from irbench.render.columns import IN_COLD_STARTS
from irbench.render.columns.declaration import Column, ShownCold
from irbench.render.columns.row_facts import computed_precision
from irbench.render.footer import failure_text, verified_line, whole_warnings
from irbench.render.speed_table import heading
from irbench.render.table import Row, TextTable
from irbench.render.table_title import SEPARATOR, inputs_text, shared_facts, sizes_text
from irbench.render.verdicts import style_of
from irbench.render.views import PlainView
from irbench.spec import Timing
from irbench.stats.intervals import FEWEST_LAUNCHES, median

_STILL_WARM = 0.1
"""From this share on, a cold launch found too much of its files in memory to be called cold without a word."""


def cold_views(table: ColdTable, document: RunDocument) -> tuple[PlainView, ...]:
    """Return the one view of a table of cold starts."""
    names = cold_names(table)
    cells = distinguish({row.id: name_of(row) for row in table.rows})
    shared = shared_facts(table.rows, document.environment, document.plan)
    facts = (f"{table.model}  {sizes_text(table.shapes)}", *shared, "cold starts", inputs_text(table.given_inputs))
    view = PlainView(
        title=SEPARATOR.join(fact for fact in facts if fact),
        headline=f"preview: intervals need {FEWEST_LAUNCHES} rounds (--budget)"
        if table.preview and table.rounds
        else "",
        table=_table(table, cells),
        notes=(*_notes(table), *(note.text(Context(cells)) for note in table.notes)),
        warnings=(*_still_warm(table, names), *whole_warnings(table.warnings, Context(cells))),
    )
    return (view,)


def _table(table: ColdTable, cells: Mapping[str, str]) -> TextTable:
    columns = [(column, shown) for column, shown in IN_COLD_STARTS if shown.is_shown(table)]
    measured = {row.id for row in table.rows if row.launches}
    rows = [_row(row, table, columns) for row in table.rows if row.id in measured]
    missing = {row.id: row for row in table.rows if row.id not in measured}
    return TextTable(
        tuple(heading(shown, table, Timing.confidence) for _, shown in columns),
        (*rows, *(_reason(row, cells[row.id]) for row in missing.values())),
    )


def _reason(row: ColdRow, name: str) -> Row:
    sentence = row.state if row.failure is None else failure_text(row.state, row.failure)
    style = "dim" if row.state in ("not-applicable", "interrupted") else "red"
    return Row((name, computed_precision(row)), sentence, style)


def _row(row: ColdRow, table: ColdTable, columns: Sequence[tuple[Column[Any], ShownCold]]) -> Row:
    if row.failure is not None or not row.launches:
        return _reason(row, cold_names(table)[row.id, row.cache])
    texts = tuple(column.text("cold-start", shown, row, table) for column, shown in columns)
    return Row(texts, style=style_of(row.speedup.verdict) if row.speedup is not None else "")


def _notes(table: ColdTable) -> Iterator[str]:
    yield SEPARATOR.join(
        (
            f"{plural(table.rounds, 'round')}, one launch at a time, in random order",
            COLD_STOP_TEXTS[table.stopped_by],
            f"{table.seconds:.0f} s",
        )
    )
    own_ms = [launch.own_ns / 1e6 for row in table.rows for launch in row.launches]
    of_own = f" {significant(median(own_ms))} ms of" if own_ms else ""
    yield (
        "ready: process start to first output, median over launches. Import includes NumPy;"
        f"{of_own} irbench's own work in between is left out"
    )
    yield (
        "cold cache: files dropped from the page cache, caches of compiled code empty · warm cache: both filled"
        " · in memory: share of the files that was in the page cache at the start · read: from disks"
    )
    yield from verified_line(table.verified_against, [row.state for row in table.rows])
    if table.verified_against is None and any(row.speedup is not None for row in table.rows):
        yield "speedup ?: outputs not verified"


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
