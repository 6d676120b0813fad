"""A fleet as it is shown: its targets, what was not measured, and its rows machine by machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from irbench.core.quantities import NOT_MEASURED, listing, plural, significant, size_text
from irbench.core.row import Spans
from irbench.features.fleet.problems import TargetProblem
from irbench.features.fleet.progress import END_TEXTS, LARGEST_SKEW_S, clock_text
from irbench.features.fleet.report import FleetOverview, FleetTable, MachineRow, TargetDiagnosis
from irbench.render.figure_texts import are_ranges, ends_text
from irbench.render.table import ListingTable, Row, TableColumn, TextTable


@dataclass(frozen=True)
class FleetView:
    """A fleet: a line for each target, for each table without a run, and for each row on each machine."""

    overview: FleetOverview

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        yield Text(_counts(self.overview), style="bold")
        yield ListingTable(_targets(self.overview))
        yield from map(Text, _skews(self.overview))
        missing = [table for table in self.overview.tables if not table.run or table.problem]
        if missing:
            yield Text()
            yield from map(Text, map(_missing, missing))
        if self.overview.rows:
            yield Text()
            yield ListingTable(_rows(self.overview))
            yield from map(Text, _conclusions(self.overview))


def _counts(overview: FleetOverview) -> str:
    measured = sum(bool(table.run) for table in overview.tables)
    pools = {table.pool for table in overview.tables} | {target.pool for target in overview.targets}
    all_tables = overview.planned * max(len(pools), 1)
    return f"fleet {overview.name}: {measured} of {plural(all_tables, 'table')} measured"


def _targets(overview: FleetOverview) -> TextTable:
    columns = (
        TableColumn("target", words=True),
        TableColumn("processor", words=True, folds=True),
        TableColumn("processors"),
        TableColumn("price/h"),
        TableColumn("tables"),
        TableColumn("problem", words=True, folds=True),
    )
    measured = [table.target for table in overview.tables if table.run]
    rows = (
        Row(
            (
                target.name,
                target.processor or NOT_MEASURED,
                str(target.processors or NOT_MEASURED),
                significant(target.price_per_hour),
                str(measured.count(target.name)),
                _problem(target.problem),
            )
        )
        for target in overview.targets
    )
    return TextTable(columns, tuple(rows))


def _skews(overview: FleetOverview) -> Iterator[str]:
    for target in overview.targets:
        if target.clock_ahead_s is not None and abs(target.clock_ahead_s) > LARGEST_SKEW_S:
            yield f"{target.name}: {clock_text(target.clock_ahead_s)}; times of its runs are its own"


def _problem(problem: TargetProblem | None) -> str:
    return NOT_MEASURED if problem is None else f"{problem.text()}: {problem.remedy()}"


def _missing(table: FleetTable) -> str:
    why = table.problem.rstrip(".") or END_TEXTS[table.kind]
    hint = f". {table.hint}" if table.hint else ""
    return f"{table.target or table.pool}: {table.label}: {why}{hint}"


def _rows(overview: FleetOverview) -> TextTable:
    figures = [figure for row in overview.rows for figure in (row.p50, row.fps)]
    brackets = "range" if are_ranges(figures) else "95 %"
    columns = (
        TableColumn("table", words=True, folds=True, drops=1),
        TableColumn("row", words=True),
        TableColumn("target", words=True),
        TableColumn(f"p50 ms [{brackets}]"),
        TableColumn(f"FPS [{brackets}]"),
        *((TableColumn("price per million"),) if _has_prices(overview) else ()),
        TableColumn("answers", words=True, drops=2),
    )
    return TextTable(columns, tuple(Row(_cells(row, overview)) for row in overview.rows))


def _has_prices(overview: FleetOverview) -> bool:
    return any(row.cost_per_million is not None for row in overview.rows)


def _cells(row: MachineRow, overview: FleetOverview) -> tuple[str, ...]:
    price = (significant(row.cost_per_million),) if _has_prices(overview) else ()
    answers = "not compared" if row.is_right is None else "match" if row.is_right else "differ"
    late = ", too slow" if row.is_too_slow else ""
    return (row.table, row.row, row.target, _figure(row.p50), _figure(row.fps), *price, f"{answers}{late}")


def _figure(spans: Spans | None) -> str:
    return NOT_MEASURED if spans is None else f"{significant(spans.value)}{ends_text(spans.ends)}"


def _conclusions(overview: FleetOverview) -> Iterator[str]:
    yield from map(_cheapest, overview.cheapest)
    if overview.references:
        yield f"answers were compared with {listing(reference.text() for reference in overview.references)}"
    yield "Machines measure at different times: compare them by their intervals; docs/fleet.md says what they hold."


def _cheapest(rows: Sequence[MachineRow]) -> str:
    """Say which row of a table is the cheapest, or between which it is not decided."""
    first, *others = rows
    of = f"cheapest of {first.table}" + ("" if first.model in first.table else f", {first.model}")
    if others:
        candidates = listing(f"{row.row} on {row.target} ({significant(row.cost_per_million)})" for row in rows)
        return f"{of}: not decided, the intervals overlap: {candidates}"
    price = significant(first.cost_per_million)
    return f"{of}: {first.row} on {first.target}, {price} for a million inferences"


@dataclass(frozen=True)
class DiagnosisView:
    """A line for each target, and what was found on each machine."""

    targets: tuple[TargetDiagnosis, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        yield ListingTable(_diagnoses(self.targets))
        for target in self.targets:
            if target.doctor is not None and target.doctor.findings:
                yield Text()
                yield Text(f"{target.name}: {target.doctor.verdict}", style="bold")
                yield from (Text(f"  {found.found}") for found in target.doctor.findings)


def _diagnoses(targets: tuple[TargetDiagnosis, ...]) -> TextTable:
    columns = (
        TableColumn("target", words=True),
        TableColumn("processor", words=True, folds=True),
        TableColumn("processors"),
        TableColumn("memory"),
        TableColumn("clock"),
        TableColumn("problem", words=True, folds=True),
    )
    return TextTable(columns, tuple(Row(_diagnosis(target)) for target in targets))


def _diagnosis(target: TargetDiagnosis) -> tuple[str, ...]:
    facts = target.facts
    machine = (NOT_MEASURED,) * 3
    if facts is not None:
        machine = (facts.processor, str(facts.processors), size_text(facts.memory_bytes))
    clock = NOT_MEASURED if target.clock_ahead_s is None else f"{target.clock_ahead_s:+.0f} s"
    return (target.name, *machine, clock, _problem(target.problem))
