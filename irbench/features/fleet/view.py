"""A fleet as it is shown: its targets, what was not measured, and its rows machine by machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TypeAlias

from rich.console import Group, RenderableType
from rich.text import Text

from irbench.core.quantities import NOT_MEASURED, listing, plural, significant, size_text
from irbench.core.row import Ends, Spans
from irbench.core.serving_row import LoadLimit
from irbench.features.fleet.diagnosis import DoctorAnswer, PeaksFound, TargetDiagnosis
from irbench.features.fleet.messages import TargetFacts
from irbench.features.fleet.problems import TargetProblem
from irbench.features.fleet.progress import END_TEXTS, LARGEST_SKEW_S, MOST_TARGETS, clock_text
from irbench.features.fleet.report import Fleet, MachineRow
from irbench.features.tune.report import Conclusion, budget_text
from irbench.render.figure_texts import are_ranges, ends_heading, ends_text
from irbench.render.footer import failure_text
from irbench.render.table import ListingTable, Row, TableColumn, TextTable
from irbench.roofline import MEMORY, Bandwidth, ComputePeak

CONCLUSION_TEXTS: Mapping[Conclusion, str] = {
    "better": "better than every default",
    "same": "no other is better by more than --within",
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


_Column: TypeAlias = tuple[TableColumn, Iterable[str]]


def fleet_view(fleet: Fleet) -> Group:
    """Return a fleet: a line for each target, for each table without a run, and for each row on each machine."""
    parts: list[RenderableType] = [Text(_counts(fleet), style="bold"), ListingTable(_targets(fleet))]
    parts += map(Text, _notes_of_targets(fleet))
    if unmeasured := tuple(_unmeasured(fleet)):
        parts += [Text(), *map(Text, unmeasured)]
    if fleet.rows:
        parts += [Text(), ListingTable(_rows(fleet)), *map(Text, _conclusions(fleet))]
    return Group(*parts)


def _table(*columns: _Column) -> TextTable:
    headings, cells = zip(*columns, strict=True)
    return TextTable(headings, tuple(map(Row, zip(*cells, strict=True))))


def _counts(fleet: Fleet) -> str:
    measured = sum(bool(table.run) for table in fleet.tables)
    beyond = sum(table.is_settled and not table.run for table in fleet.tables)
    ended = f", {beyond} beyond the end of a batch curve" if beyond else ""
    level = f", {fleet.level}" if fleet.level else ""
    return f"fleet {fleet.name}{level}: {measured} of {plural(fleet.all_tables, 'table')} measured{ended}"


def _targets(fleet: Fleet) -> TextTable:
    measured = Counter(table.target for table in fleet.tables if table.run)
    with_problems_first = sorted(fleet.targets, key=lambda target: target.problem is None)
    targets = with_problems_first[:MOST_TARGETS] if len(fleet.targets) > MOST_TARGETS else fleet.targets
    return _table(
        (TableColumn("target", words=True), (each.name for each in targets)),
        (TableColumn("processor", words=True, folds=True), (each.processor or NOT_MEASURED for each in targets)),
        (TableColumn("processors"), (str(each.processors or NOT_MEASURED) for each in targets)),
        (TableColumn("price/h"), (significant(each.price_per_hour) for each in targets)),
        (TableColumn("tables"), (str(measured[each.name]) for each in targets)),
        (TableColumn("problem", words=True, folds=True), (_problem(each.problem) for each in targets)),
    )


def _problem(problem: TargetProblem | None) -> str:
    return NOT_MEASURED if problem is None else f"{problem.text()}: {problem.remedy()}"


def _notes_of_targets(fleet: Fleet) -> Iterator[str]:
    if (hidden := len(fleet.targets) - MOST_TARGETS) > 0:
        yield f"and {plural(hidden, 'other target')}; --format json lists all of them"
    for target in fleet.targets:
        if target.clock_ahead_s is not None and abs(target.clock_ahead_s) > LARGEST_SKEW_S:
            yield f"{target.name}: {clock_text(target.clock_ahead_s)}; times of its runs are its own"
    for table in fleet.tables:
        if table.tuned is not None and table.tuned.setting is None:
            yield f"{table.target}: {table.label}: {CONCLUSION_TEXTS['nothing']}; irbench show {table.run} says why"


def _unmeasured(fleet: Fleet) -> Iterator[str]:
    """Yield why tables have no run, and how many of them are left."""
    for table in fleet.tables:
        if not table.is_settled:
            why = table.problem.rstrip(".") or END_TEXTS[table.kind]
            yield f"{table.target or table.pool}: {table.label}: {why}{f'. {table.hint}' if table.hint else ''}"
    if fleet.left:
        call = "run" if fleet.command == "sweep" else fleet.command
        yield f"left to measure: {plural(fleet.left, 'table')}; irbench fleet {call} with --resume goes on"


def _rows(fleet: Fleet) -> TextTable:
    """Return the rows of a plan, the recommended settings of a search, or the rates of requests that rows hold."""
    rows = fleet.rows
    columns = [*_names(fleet), *_speeds(fleet)]
    if any(row.cost_per_million is not None for row in rows):
        columns.append((TableColumn("price per million"), (significant(row.cost_per_million) for row in rows)))
    if fleet.command == "tune":
        found = [row.tuned for row in rows if row.tuned is not None]
        kinds = (CONCLUSION_TEXTS[each.conclusion] for each in found)
        columns += [
            (TableColumn("confirmed", words=True), ("yes" if each.is_confirmed else "no" for each in found)),
            (TableColumn("what it is", words=True, folds=True, drops=3), kinds),
        ]
    else:
        columns.append((TableColumn("answers", words=True, drops=2), map(_answers, rows)))
    return _table(*columns)


def _names(fleet: Fleet) -> tuple[_Column, ...]:
    """Return the columns that say what a row is, and where it was measured."""
    rows = fleet.rows
    targets = (TableColumn("target", words=True), (row.target for row in rows))
    if fleet.command != "tune":
        heading = "model" if fleet.command == "serve" else "table"
        tables = (TableColumn(heading, words=True, folds=True, drops=1), (row.table for row in rows))
        return tables, (TableColumn("row", words=True), (row.row for row in rows)), targets
    settings = [row.tuned.setting for row in rows if row.tuned is not None and row.tuned.setting is not None]
    return (
        (TableColumn("model", words=True, folds=True, drops=5), (row.model for row in rows)),
        targets,
        (TableColumn("setting", words=True, folds=True), (row.row for row in rows)),
        (TableColumn("precision", words=True, drops=4), (setting.precision for setting in settings)),
        (TableColumn("batch"), (str(setting.batch) for setting in settings)),
        (TableColumn("threads", drops=1), (str(setting.threads or "native") for setting in settings)),
    )


def _speeds(fleet: Fleet) -> tuple[_Column, _Column]:
    """Return the columns for what a row attains: its latency and FPS, or its rate of requests."""
    rows = fleet.rows
    if fleet.level:
        limits = [row.limit or LoadLimit("", None, None) for row in rows]
        return (
            (TableColumn("holds /s"), (significant(limit.passes_per_s) for limit in limits)),
            (TableColumn("fails at /s", drops=2), (significant(limit.fails_per_s) for limit in limits)),
        )
    confidence = min(row.confidence for row in rows)
    p50s, rates = [row.p50 for row in rows], list(map(_throughput, rows))
    drops = 2 if fleet.command == "tune" else 0
    return (
        (TableColumn(ends_heading("p50 ms", p50s, confidence), drops=drops), _figures(p50s)),
        (TableColumn(ends_heading(_rate_unit(fleet), rates, confidence)), _figures(rates)),
    )


def _figures(figures: Sequence[Spans | None]) -> Iterator[str]:
    """Yield the cells of a column: a range says that it is one where others are intervals."""
    marks_ranges = not are_ranges(figures)
    for spans in figures:
        if spans is None:
            yield NOT_MEASURED
        else:
            yield f"{significant(spans.value)}{ends_text(spans.ends, marks_ranges=marks_ranges)}"


def _rate_unit(fleet: Fleet) -> str:
    is_generation = any(row.tuned is not None and row.tuned.new_tokens for row in fleet.rows)
    return "requests/s" if fleet.level else "tokens/s" if is_generation else "FPS"


def _throughput(row: MachineRow) -> Spans | None:
    """Return the FPS of a row, or its tokens per second where each call generates some."""
    tokens = None if row.tuned is None else row.tuned.new_tokens
    if row.fps is None or tokens is None:
        return row.fps
    return Spans(**{name: value and value * tokens for name, value in asdict(row.fps).items()})


def _answers(row: MachineRow) -> str:
    answers = "not compared" if row.is_right is None else "match" if row.is_right else "differ"
    if not row.has_figures:
        answers = row.state.replace("-", " ")
    once = row.p50 is not None and row.p50.ends is None
    return f"{answers}{', too slow' * row.is_too_slow}{', one launch' * once}"


def _conclusions(fleet: Fleet) -> Iterator[str]:
    """Yield why rows have no figures, what would confirm settings, and which machine is the best and the cheapest."""
    for row in fleet.rows:
        if row.failure is not None:
            why = failure_text(row.state, row.failure, has_figures=row.has_figures)
            yield f"{row.table}: {_place(row)}: {why}"
    for row in fleet.rows:
        if fleet.level and row.has_figures and (row.limit is None or row.limit.passes_per_s is None):
            yield f"{_place(row)}: no rate is sure to keep {fleet.level}: irbench show {row.run} says more"
        if row.tuned is not None and not row.tuned.is_confirmed:
            budget_s = row.tuned.deciding_budget_s
            enough = "" if budget_s is None else f"--budget {budget_text(budget_s)} should be enough to confirm it; "
            yield f"{row.target}: {enough}irbench show {row.run} says more"
    by_latency = fleet.objective == "latency"
    for rows in fleet.best if len(fleet.rows) > 1 else ():
        spans = [row.p50 if by_latency else _throughput(row) for row in rows]
        held = [None if row.limit is None else row.limit.passes_per_s for row in rows]
        values = [rate if each is None else each.value for rate, each in zip(held, spans, strict=True)]
        unit = "ms" if by_latency else _rate_unit(fleet)
        figures = [_UNKNOWN if value is None else f"{significant(value)} {unit}" for value in values]
        yield _decision("best", rows, fleet, figures, spans)
    for rows in fleet.cheapest:
        prices = [_UNKNOWN if row.cost_per_million is None else significant(row.cost_per_million) for row in rows]
        if len(rows) == 1:
            prices = [f"{prices[0]} for a million {'requests' if fleet.level else 'inferences'}"]
        yield _decision("cheapest", rows, fleet, prices, [row.fps for row in rows])
    references = dict.fromkeys(row.reference for row in fleet.rows if row.reference is not None)
    if references:
        yield f"answers were compared with {listing(reference.text() for reference in references)}"
    yield "Machines measure at different times: compare them by their intervals; docs/fleet.md says what they hold."


def _decision(
    what: str, rows: Sequence[MachineRow], fleet: Fleet, figures: Sequence[str], spans: Sequence[Spans | None]
) -> str:
    """Say which row of a model is the first of all with its figure, or that it is not decided between several."""
    table, model = rows[0].table, rows[0].model
    of = table if model in table else f"{table}, {model}"
    if fleet.objective is not None and len({row.table for row in fleet.rows if row.model == model}) == 1:
        of = model
    if len(rows) == 1:
        return f"{what} of {of}: {_place(rows[0])}, {figures[0]}"
    doubt = " and ".join(_doubts(rows, spans)) or "the intervals overlap"
    candidates = listing(f"{_place(row)} ({figure})" for row, figure in zip(rows, figures, strict=True))
    return f"{what} of {of}: not decided, {doubt}: {candidates}"


def _doubts(rows: Sequence[MachineRow], spans: Sequence[Spans | None]) -> Iterator[str]:
    """Yield which rows have no end where they may lie, in which case it cannot be decided."""
    limits = [(_place(row), row.limit) for row in rows if row.limit is not None]
    unsure = [place for place, limit in limits if limit.passes_per_s is None]
    unfailed = [place for place, limit in limits if limit.passes_per_s is not None and limit.fails_per_s is None]
    measured = [(_place(row), each) for row, each in zip(rows, spans, strict=True) if row.limit is None]
    without = [place for place, each in measured if each is None or each.ends is None or each.ends.is_range]
    if unsure:
        yield f"{listing(unsure)} {'is' if len(unsure) == 1 else 'are'} not sure to hold any rate"
    if unfailed:
        yield f"{listing(unfailed)} failed at no rate"
    if without:
        yield f"{listing(without)} {'has' if len(without) == 1 else 'have'} no interval"


def _place(row: MachineRow) -> str:
    name = row.row if row.tuned is None or row.tuned.setting is None else row.tuned.setting.label
    return f"{name} on {row.target}"


def diagnosis_view(targets: Sequence[TargetDiagnosis]) -> Group:
    """Return a line for each target, then what was found on each machine, and what each attains at most."""
    parts: list[RenderableType] = [ListingTable(_diagnoses(targets))]
    answers = [(target.name, target.doctor) for target in targets if target.doctor is not None]
    for name, doctor in answers:
        if doctor.findings:
            parts += [Text(), Text(f"{name}: {doctor.verdict}", style="bold")]
        for found in doctor.findings:
            parts += [Text(f"  {found.found}"), *([Text(f"    {found.remedy}")] if found.remedy else ())]
    if attained := tuple(Row((name, *cells)) for name, doctor in answers for cells in _attained(doctor.peak)):
        columns = (TableColumn("target", words=True), TableColumn("cores"))
        peaks = (TableColumn("peak", words=True), TableColumn("at most", words=True))
        parts += [Text(), ListingTable(TextTable((*columns, *peaks), attained))]
    return Group(*parts)


def _diagnoses(targets: Sequence[TargetDiagnosis]) -> TextTable:
    def known(fact: Callable[[TargetFacts], str]) -> Iterator[str]:
        return (NOT_MEASURED if each.facts is None else fact(each.facts) for each in targets)

    clocks = (NOT_MEASURED if each.clock_ahead_s is None else f"{each.clock_ahead_s:+.0f} s" for each in targets)
    return _table(
        (TableColumn("target", words=True), (each.name for each in targets)),
        (TableColumn("processor", words=True, folds=True), known(lambda facts: facts.processor)),
        (TableColumn("processors", drops=5), known(lambda facts: str(facts.processors))),
        (TableColumn("memory", drops=3), known(lambda facts: size_text(facts.memory_bytes))),
        (TableColumn("clock", drops=4), clocks),
        (TableColumn("irbench", words=True, drops=2), known(lambda facts: facts.irbench_version)),
        (TableColumn("Python", words=True, drops=1), known(lambda facts: facts.python)),
        (TableColumn("backends", words=True, folds=True, drops=6), (_backends(each.doctor) for each in targets)),
        (TableColumn("problem", words=True, folds=True), (_problem(each.problem) for each in targets)),
    )


def _backends(doctor: DoctorAnswer | None) -> str:
    """Return the backends that run on a target, with the versions of their runtimes."""
    running = () if doctor is None else (each for each in doctor.backends if each.problem is None)
    return ", ".join(f"{each.name} {each.version or ''}".rstrip() for each in running) or NOT_MEASURED


def _attained(peaks: PeaksFound | None) -> Iterator[tuple[str, str, str]]:
    """Yield what a machine attains at most in matrix products and from main memory: cores, what, and how much."""
    if peaks is None:
        return
    for peak in peaks.compute:
        yield str(peak.threads), f"{peak.precision} ({peak.backend})", f"{_rate(peak, peak.gflop_per_s)} GFLOP/s"
    for memory in peaks.bandwidth:
        if memory.level == MEMORY:
            yield str(memory.threads), f"main memory ({memory.access})", f"{_rate(memory, memory.gb_per_s)} GB/s"


def _rate(peak: ComputePeak | Bandwidth, value: float) -> str:
    ends = Ends(peak.low, peak.high, is_range=peak.confidence is None)
    return f"{significant(value)}{ends_text(ends, marks_ranges=True)}"
