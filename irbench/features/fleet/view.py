"""A fleet as it is shown: its targets, what was not measured, and its rows machine by machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from irbench.core.quantities import NOT_MEASURED, listing, plural, significant, size_text
from irbench.core.row import Ends, Spans
from irbench.features.fleet.diagnosis_report import DoctorAnswer, PeaksFound, TargetDiagnosis
from irbench.features.fleet.machine_rows import FleetTable, MachineRow
from irbench.features.fleet.messages import Command
from irbench.features.fleet.problems import TargetProblem
from irbench.features.fleet.progress import END_TEXTS, LARGEST_SKEW_S, clock_text
from irbench.features.fleet.report import FleetOverview
from irbench.features.tune.report import Conclusion, budget_text
from irbench.render.figure_texts import are_ranges, ends_heading, ends_text
from irbench.render.footer import failure_text
from irbench.render.table import ListingTable, Row, TableColumn, TextTable
from irbench.roofline import MEMORY

CONCLUSION_TEXTS: Mapping[Conclusion, str] = {
    "better": "better than every default",
    "same": "a default; no other is better by more than --within",
    "preview": "the best after few launches",
    "reference": "a default; no other is known to be better",
    "undecided": "the best is not decided",
    "doubtful": "the best is not decided: something disturbed it",
    "unopposed": "no default can be compared with it",
    "nothing": "nothing can be recommended",
    "interrupted": "interrupted",
}
"""What is said of the setting that a search recommends; it has no room for more."""


_UNKNOWN = "not known"


@dataclass(frozen=True)
class FleetView:
    """A fleet: a line for each target, for each table without a run, and for each row on each machine."""

    overview: FleetOverview

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        yield Text(_counts(self.overview), style="bold")
        yield ListingTable(_targets(self.overview))
        yield from map(Text, _skews(self.overview))
        yield from map(Text, map(_nothing_found, self.overview.tables_without_setting))
        missing = [table for table in self.overview.tables if not table.is_settled]
        left = self.overview.left
        if missing or left:
            yield Text()
        yield from map(Text, map(_missing, missing))
        if left:
            call = _CALLS[self.overview.command]
            yield Text(f"left to measure: {plural(left, 'table')}; irbench fleet {call} with --resume goes on")
        if self.overview.rows:
            yield Text()
            yield ListingTable(_TABLES[self.overview.command](self.overview))
            yield from map(Text, (*_reasons(self.overview), *_conclusions(self.overview)))


def _counts(overview: FleetOverview) -> str:
    measured = sum(bool(table.run) for table in overview.tables)
    beyond = sum(table.is_settled and not table.run for table in overview.tables)
    ended = f", {beyond} beyond the end of a batch curve" if beyond else ""
    level = f", {overview.level}" if overview.level else ""
    return f"fleet {overview.name}{level}: {measured} of {plural(overview.all_tables, 'table')} measured{ended}"


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
    rows = overview.rows
    p50s, rates = [row.p50 for row in rows], [row.fps for row in rows]
    confidence = min(row.confidence for row in rows)
    columns = (
        TableColumn("table", words=True, folds=True, drops=1),
        TableColumn("row", words=True),
        TableColumn("target", words=True),
        TableColumn(ends_heading("p50 ms", p50s, confidence)),
        TableColumn(ends_heading("FPS", rates, confidence)),
        *_price_columns(overview),
        TableColumn("answers", words=True, drops=2),
    )
    figures = zip(rows, _figures(p50s), _figures(rates), strict=True)
    return TextTable(columns, tuple(Row(_cells(*row, overview)) for row in figures))


def _settings(overview: FleetOverview) -> TextTable:
    """Return the setting that is recommended on each machine."""
    columns = (
        TableColumn("model", words=True, folds=True, drops=5),
        TableColumn("target", words=True),
        TableColumn("setting", words=True, folds=True),
        TableColumn("precision", words=True, drops=4),
        TableColumn("batch"),
        TableColumn("threads", drops=1),
        *_speed_columns(overview),
        *_price_columns(overview),
        TableColumn("confirmed", words=True),
        TableColumn("what it is", words=True, folds=True, drops=3),
    )
    speeds = _held(overview) if overview.level else _speeds(overview)
    rows = (Row(_setting_cells(row, own, overview)) for row, own in zip(overview.rows, speeds, strict=True))
    return TextTable(columns, tuple(rows))


def _speed_columns(overview: FleetOverview) -> tuple[TableColumn, TableColumn]:
    """Return the columns for what a row attains: its latency and FPS, or its rate of requests."""
    if overview.level:
        return TableColumn("holds /s"), TableColumn("fails at /s", drops=2)
    confidence = min(row.confidence for row in overview.rows)
    return (
        TableColumn(ends_heading("p50 ms", [row.p50 for row in overview.rows], confidence), drops=2),
        TableColumn(ends_heading(_rate_unit(overview), list(map(_throughput, overview.rows)), confidence)),
    )


def _rate_unit(overview: FleetOverview) -> str:
    is_generation = any(row.tuned is not None and row.tuned.new_tokens for row in overview.rows)
    return "requests/s" if overview.level else "tokens/s" if is_generation else "FPS"


def _throughput(row: MachineRow) -> Spans | None:
    """Return the FPS of a row, or its tokens per second where each call generates some."""
    tokens = None if row.tuned is None else row.tuned.new_tokens
    if row.fps is None or tokens is None:
        return row.fps
    low, high, range_low, range_high = (
        None if end is None else end * tokens
        for end in (row.fps.low, row.fps.high, row.fps.range_low, row.fps.range_high)
    )
    return Spans(row.fps.value * tokens, low=low, high=high, range_low=range_low, range_high=range_high)


def _speeds(overview: FleetOverview) -> Iterator[tuple[str, ...]]:
    figures = [[row.p50 for row in overview.rows], list(map(_throughput, overview.rows))]
    return zip(*map(_figures, figures), strict=True)


def _held(overview: FleetOverview) -> Iterator[tuple[str, ...]]:
    """Yield at which rate of requests each row keeps the service level, and at which it does not."""
    for row in overview.rows:
        limit = row.limit
        yield (
            (NOT_MEASURED,) * 2 if limit is None else (significant(limit.passes_per_s), significant(limit.fails_per_s))
        )


def _setting_cells(row: MachineRow, speeds: tuple[str, ...], overview: FleetOverview) -> tuple[str, ...]:
    assert row.tuned is not None
    assert row.tuned.setting is not None
    setting = row.tuned.setting
    is_confirmed = "yes" if row.tuned.is_confirmed else "no"
    kind = CONCLUSION_TEXTS[row.tuned.conclusion]
    facts = (row.row, setting.precision, str(setting.batch), str(setting.threads or "native"))
    return (row.model, row.target, *facts, *speeds, *_price(row, overview), is_confirmed, kind)


def _nothing_found(table: FleetTable) -> str:
    return f"{table.target}: {table.label}: {CONCLUSION_TEXTS['nothing']}; irbench show {table.run} says why"


def _open(overview: FleetOverview) -> Iterator[str]:
    """Yield what would confirm settings that are not, and which rows are known to hold no rate."""
    for row in overview.rows:
        if overview.level and row.has_figures and not _holds(row):
            yield f"{_place(row)}: no rate is sure to keep {overview.level}: irbench show {row.run} says more"
        if row.tuned is not None and not row.tuned.is_confirmed:
            budget_s = row.tuned.deciding_budget_s
            enough = "" if budget_s is None else f"--budget {budget_text(budget_s)} should be enough to confirm it; "
            yield f"{row.target}: {enough}irbench show {row.run} says more"


def _served(overview: FleetOverview) -> TextTable:
    """Return up to which rate of requests each row keeps the service level on each machine."""
    columns = (
        TableColumn("model", words=True, folds=True, drops=1),
        TableColumn("row", words=True),
        TableColumn("target", words=True),
        *_speed_columns(overview),
        *_price_columns(overview),
        TableColumn("answers", words=True, drops=2),
    )
    rows = (_served_cells(row, held, overview) for row, held in zip(overview.rows, _held(overview), strict=True))
    return TextTable(columns, tuple(map(Row, rows)))


def _served_cells(row: MachineRow, held: tuple[str, ...], overview: FleetOverview) -> tuple[str, ...]:
    return (row.table, row.row, row.target, *held, *_price(row, overview), _answers(row))


def _holds(row: MachineRow) -> bool:
    return row.limit is not None and row.limit.passes_per_s is not None


_CALLS: Mapping[Command, str] = {"sweep": "run", "tune": "tune", "serve": "serve"}
"""The command of a fleet that measures each kind of tables."""
_TABLES: Mapping[Command, Callable[[FleetOverview], TextTable]] = {
    "sweep": _rows,
    "tune": _settings,
    "serve": _served,
}


def _has_prices(overview: FleetOverview) -> bool:
    return any(row.cost_per_million is not None for row in overview.rows)


def _price_columns(overview: FleetOverview) -> tuple[TableColumn, ...]:
    return (TableColumn("price per million"),) if _has_prices(overview) else ()


def _price(row: MachineRow, overview: FleetOverview) -> tuple[str, ...]:
    return (significant(row.cost_per_million),) if _has_prices(overview) else ()


def _cells(row: MachineRow, p50: str, fps: str, overview: FleetOverview) -> tuple[str, ...]:
    return (row.table, row.row, row.target, p50, fps, *_price(row, overview), _remarks(row))


def _remarks(row: MachineRow) -> str:
    once = row.p50 is not None and row.p50.ends is None
    return f"{_answers(row)}{', too slow' * row.is_too_slow}{', one launch' * once}"


def _answers(row: MachineRow) -> str:
    if not row.has_figures:
        return row.state.replace("-", " ")
    return "not compared" if row.is_right is None else "match" if row.is_right else "differ"


def _figures(figures: Sequence[Spans | None]) -> Iterator[str]:
    """Yield the cells of a column: a range says that it is one where others are intervals."""
    marks_ranges = not are_ranges(figures)
    for spans in figures:
        if spans is None:
            yield NOT_MEASURED
        else:
            yield f"{significant(spans.value)}{ends_text(spans.ends, marks_ranges=marks_ranges)}"


def _reasons(overview: FleetOverview) -> Iterator[str]:
    """Yield why rows have no figures, or answers that differ."""
    for row in overview.rows:
        if row.failure is not None:
            why = failure_text(row.state, row.failure, has_figures=row.has_figures)
            yield f"{row.table}: {_place(row)}: {why}"


def _conclusions(overview: FleetOverview) -> Iterator[str]:
    yield from _open(overview)
    yield from (_best(rows, overview) for rows in overview.best if len(overview.rows) > 1)
    yield from (_cheapest(rows, overview) for rows in overview.cheapest)
    if overview.references:
        yield f"answers were compared with {listing(reference.text() for reference in overview.references)}"
    yield "Machines measure at different times: compare them by their intervals; docs/fleet.md says what they hold."


def _best(rows: Sequence[MachineRow], overview: FleetOverview) -> str:
    """Say which row of a model is the best on all machines, or between which it is not decided."""

    def figure(row: MachineRow) -> str:
        if row.limit is not None:
            return f"{significant(row.limit.passes_per_s)} {_rate_unit(overview)}" if _holds(row) else _UNKNOWN
        spans, unit = (row.p50, "ms") if overview.objective == "latency" else (_throughput(row), _rate_unit(overview))
        return f"{significant(None if spans is None else spans.value)} {unit}"

    spans = [row.p50 if overview.objective == "latency" else row.fps for row in rows]
    return _decision(f"best of {_of(rows[0], overview)}", rows, [figure(row) for row in rows], spans)


def _cheapest(rows: Sequence[MachineRow], overview: FleetOverview) -> str:
    """Say which row of a table is the cheapest, or between which it is not decided."""
    prices = [_UNKNOWN if row.cost_per_million is None else significant(row.cost_per_million) for row in rows]
    if len(rows) == 1:
        prices = [f"{prices[0]} for a million {'requests' if overview.level else 'inferences'}"]
    return _decision(f"cheapest of {_of(rows[0], overview)}", rows, prices, [row.fps for row in rows])


def _of(row: MachineRow, overview: FleetOverview) -> str:
    if overview.objective is not None and len({each.table for each in overview.rows if each.model == row.model}) == 1:
        return row.model
    return row.table + ("" if row.model in row.table else f", {row.model}")


def _decision(
    of: str,
    rows: Sequence[MachineRow],
    figures: Sequence[str],
    spans: Sequence[Spans | None],
) -> str:
    """Say which row is the first of all with its figure, or that it is not decided between several."""
    if len(rows) == 1:
        return f"{of}: {_place(rows[0])}, {figures[0]}"
    doubt = " and ".join(_doubts(rows, spans)) or "the intervals overlap"
    candidates = listing(f"{_place(row)} ({figure})" for row, figure in zip(rows, figures, strict=True))
    return f"{of}: not decided, {doubt}: {candidates}"


def _doubts(rows: Sequence[MachineRow], spans: Sequence[Spans | None]) -> Iterator[str]:
    """Yield which rows have no end where they may lie, in which case it cannot be decided."""
    unsure = [_place(row) for row in rows if row.limit is not None and not _holds(row)]
    unfailed = [_place(row) for row in rows if row.limit is not None and _holds(row) and row.limit.fails_per_s is None]
    measured = zip(rows, spans, strict=True)
    without = [_place(row) for row, known in measured if row.limit is None and not _has_interval(known)]
    if unsure:
        yield f"{listing(unsure)} {'is' if len(unsure) == 1 else 'are'} not sure to hold any rate"
    if unfailed:
        yield f"{listing(unfailed)} failed at no rate"
    if without:
        yield f"{listing(without)} {'has' if len(without) == 1 else 'have'} no interval"


def _has_interval(spans: Spans | None) -> bool:
    return spans is not None and spans.ends is not None and not spans.ends.is_range


def _place(row: MachineRow) -> str:
    name = row.row if row.tuned is None or row.tuned.setting is None else row.tuned.setting.label
    return f"{name} on {row.target}"


@dataclass(frozen=True)
class DiagnosisView:
    """A line for each target, then what was found on each machine, and what each attains at most."""

    targets: tuple[TargetDiagnosis, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        yield ListingTable(_diagnoses(self.targets))
        for target in self.targets:
            if target.doctor is not None and target.doctor.findings:
                yield Text()
                yield Text(f"{target.name}: {target.doctor.verdict}", style="bold")
                yield from map(Text, _found(target.doctor))
        peaks = _peaks(self.targets)
        if peaks.rows:
            yield Text()
            yield ListingTable(peaks)


def _diagnoses(targets: tuple[TargetDiagnosis, ...]) -> TextTable:
    columns = (
        TableColumn("target", words=True),
        TableColumn("processor", words=True, folds=True),
        TableColumn("processors", drops=5),
        TableColumn("memory", drops=3),
        TableColumn("clock", drops=4),
        TableColumn("irbench", words=True, drops=2),
        TableColumn("Python", words=True, drops=1),
        TableColumn("backends", words=True, folds=True, drops=6),
        TableColumn("problem", words=True, folds=True),
    )
    return TextTable(columns, tuple(Row(_diagnosis(target)) for target in targets))


def _diagnosis(target: TargetDiagnosis) -> tuple[str, ...]:
    facts = target.facts
    machine: tuple[str, ...] = (NOT_MEASURED,) * 3
    versions: tuple[str, ...] = (NOT_MEASURED,) * 2
    if facts is not None:
        machine = (facts.processor, str(facts.processors), size_text(facts.memory_bytes))
        versions = (facts.irbench_version, facts.python)
    clock = NOT_MEASURED if target.clock_ahead_s is None else f"{target.clock_ahead_s:+.0f} s"
    return (target.name, *machine, clock, *versions, _backends(target.doctor), _problem(target.problem))


def _backends(doctor: DoctorAnswer | None) -> str:
    """Return the backends that run on a target, with the versions of their runtimes."""
    running = () if doctor is None else [backend for backend in doctor.backends if backend.problem is None]
    return ", ".join(f"{backend.name} {backend.version or ''}".rstrip() for backend in running) or NOT_MEASURED


def _found(doctor: DoctorAnswer) -> Iterator[str]:
    """Yield what disturbs measurements on a machine, and what helps."""
    for found in doctor.findings:
        yield f"  {found.found}"
        if found.remedy:
            yield f"    {found.remedy}"


def _peaks(targets: tuple[TargetDiagnosis, ...]) -> TextTable:
    """Return what each machine attains at most: in matrix products, and from main memory."""
    columns = (
        TableColumn("target", words=True),
        TableColumn("cores"),
        TableColumn("peak", words=True),
        TableColumn("at most", words=True),
    )
    known = ((target.name, target.doctor.peak) for target in targets if target.doctor is not None)
    rows = (Row((name, *cells)) for name, peaks in known if peaks is not None for cells in _rates(peaks))
    return TextTable(columns, tuple(rows))


def _rates(peaks: PeaksFound) -> Iterator[tuple[str, str, str]]:
    for peak in peaks.compute:
        rate = _rate(peak.gflop_per_s, peak.low, peak.high, peak.confidence)
        yield str(peak.threads), f"{peak.precision} ({peak.backend})", f"{rate} GFLOP/s"
    for bandwidth in peaks.bandwidth:
        if bandwidth.level == MEMORY:
            rate = _rate(bandwidth.gb_per_s, bandwidth.low, bandwidth.high, bandwidth.confidence)
            yield str(bandwidth.threads), f"main memory ({bandwidth.access})", f"{rate} GB/s"


def _rate(value: float, low: float, high: float, confidence: float | None) -> str:
    return f"{significant(value)}{ends_text(Ends(low, high, is_range=confidence is None), marks_ranges=True)}"
