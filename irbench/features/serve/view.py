"""Loads of requests as a table: a row for each backend and rate, and which load each holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irbench.core.quantities import plural
from irbench.core.result import RunDocument
from irbench.core.serving_row import (
    SERVING_STOP_TEXTS,
    LevelVerdict,
    LoadLimit,
    ServingRow,
    ServingTable,
    serving_names,
)
from irbench.notices import Context
from irbench.render.columns import IN_LOADS
from irbench.render.columns.serving import level_text, rate_text
from irbench.render.footer import failure_text, verified_line, whole_warnings
from irbench.render.speed_table import heading
from irbench.render.table import Row, TextTable
from irbench.render.table_title import SEPARATOR, inputs_text, shared_facts, sizes_text
from irbench.render.views import PlainView
from irbench.spec.serving import SAMPLES_OF_QUERY, Scenario

_SCENARIO_TEXTS: Mapping[Scenario, str] = {
    "server": "requests arrive on their own (Poisson)",
    "offline": "all requests at once",
    "single": "one request at a time",
    "multistream": f"{SAMPLES_OF_QUERY} requests at a time",
}
_KEEPS: Mapping[LevelVerdict, str] = {
    "pass": "keeps it",
    "fail": "does not keep it",
    "undecided": "is undecided",
}
_STYLES: Mapping[LevelVerdict, str] = {"pass": "green", "fail": "red", "undecided": "yellow"}


def serving_views(table: ServingTable, document: RunDocument) -> tuple[PlainView, ...]:
    """Return the one view of a table of loads."""
    names = serving_names(table)
    shared = shared_facts(table.rows, document.environment, document.plan)
    facts = (
        f"{table.model}  {sizes_text(table.shapes)}",
        *shared,
        _SCENARIO_TEXTS[table.scenario],
        inputs_text(table.given_inputs),
    )
    view = PlainView(
        title=SEPARATOR.join(fact for fact in facts if fact),
        headline=_headline(table, names),
        table=_table(table, names),
        notes=(*_notes(table, names), *(note.text(Context(names)) for note in table.notes)),
        warnings=(*_disturbances(table), *whole_warnings(table.warnings, Context(names))),
    )
    return (view,)


def _headline(table: ServingTable, names: Mapping[str, str]) -> str:
    if table.level is None:
        return ""
    held = [limit_text(limit, names[limit.cell]) for limit in table.limits] or [
        f"{names[row.id]} {_KEEPS[row.load.level.verdict]}" for row in table.rows if row.load and row.load.level
    ]
    if table.best is not None:
        held.append(f"{names[table.best]} holds the highest rate")
    return f"{level_text(table.level)}: {'; '.join(held)}" if held else ""


def limit_text(limit: LoadLimit, name: str) -> str:
    """Return up to which rate a row keeps its level, and from which on it does not."""
    passes = "" if limit.passes_per_s is None else f"holds {rate_text(limit.passes_per_s)}/s"
    fails = "" if limit.fails_per_s is None else f"fails at {rate_text(limit.fails_per_s)}/s"
    return f"{name} {' and '.join(filter(None, (passes, fails))) or 'is undecided'}"


def _table(table: ServingTable, names: Mapping[str, str]) -> TextTable:
    columns = [(column, shown) for column, shown in IN_LOADS if shown.is_shown(table)]
    rows = (
        Row(tuple(column.text("load", shown, row, table) for column, shown in columns), style=_style(row))
        if row.load is not None
        else _reason(row, names[row.id])
        for row in table.rows
    )
    return TextTable(tuple(heading(shown, table, table.confidence) for _, shown in columns), tuple(rows))


def _reason(row: ServingRow, name: str) -> Row:
    sentence = row.state if row.failure is None else failure_text(row.state, row.failure)
    return Row((name,), sentence, "dim" if row.state in ("not-applicable", "interrupted") else "red")


def _style(row: ServingRow) -> str:
    return "" if row.load is None or row.load.level is None else _STYLES[row.load.level.verdict]


def _notes(table: ServingTable, names: Mapping[str, str]) -> Iterator[str]:
    yield SEPARATOR.join(
        (
            f"{plural(table.rounds, 'round')} of launches in random order",
            SERVING_STOP_TEXTS[table.stopped_by],
            f"{table.seconds:.0f} s",
        )
    )
    yield (
        "latency counts from when a request was due · service: of the calls that answer requests · lag: from when a"
        " request was due and a slot was free to its call · busy: share of the time in calls · -: too few requests, or"
        " unanswered ones among the slowest"
    )
    if table.level is not None:
        yield (
            f"level: pass or fail where the number of requests that missed {level_text(table.level)} decides it with"
            f" {100 * table.confidence:g} % confidence, else undecided (--for, --budget)"
        )
    capacities = [
        f"{names[limit.cell]} {rate_text(limit.capacity_per_s)}/s" for limit in table.limits if limit.capacity_per_s
    ]
    if capacities:
        yield f"maximum throughput: {', '.join(capacities)}"
    yield from verified_line(table.verified_against, [row.state for row in table.rows])


def _disturbances(table: ServingTable) -> Iterator[str]:
    if table.foreign_share is not None and table.is_disturbed:
        yield (
            f"Other programs used {100 * table.foreign_share:.0f} % of the processors while requests were answered:"
            " latencies and the loads that rows sustain are those of a busy machine."
        )
