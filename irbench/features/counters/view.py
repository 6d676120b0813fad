"""Counters as a table: a line for each figure of each row, a column for each phase; timelines as a second one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from irbench.core.counter_row import (
    COUNTER_STOP_TEXTS,
    CountedLaunch,
    CountedWith,
    CounterFigure,
    CounterRow,
    CounterTable,
    PhaseTimeline,
)
from irbench.core.quantities import NOT_MEASURED, listing, plural, significant
from irbench.core.result import RunDocument
from irbench.core.row import distinguish, name_of
from irbench.perf_events.obstacles import NotCounted, not_counted
from irbench.perf_events.perf_output import PHASE_TEXTS, PHASES
from irbench.perf_events.topdown import TOPDOWN_TEXTS, kind_and_share
from irbench.render.figure_texts import are_ranges, ends_heading, ends_text
from irbench.render.footer import failure_text
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.table_title import SEPARATOR, shared_facts, sizes_text
from irbench.render.views import PlainView
from irbench.stats.intervals import FEWEST_LAUNCHES

FIGURE_TEXTS = {
    "task-clock": "task-clock ms",
    "cpu-clock": "cpu-clock ms",
    "ipc": "instructions per cycle",
    "cache_miss_share": "cache misses, of references",
    "l1d_miss_share": "L1 data misses, of loads",
    "branch_miss_share": "branch misses, of branches",
    "retiring": "slots: retiring",
    "frontend_bound": "slots: frontend bound",
    "bad_speculation": "slots: bad speculation",
    "backend_bound": "slots: backend bound",
    "smt_contention": "slots: SMT contention",
}
_PREFIXES = ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))
"""From which value on which prefix is written, and what it stands for."""
_LOSSES = {
    "frontend_bound": "at the front end",
    "bad_speculation": "to wrong speculation",
    "backend_bound": "at the back end",
    "smt_contention": "to the other thread of the core",
}
_MARKS = "▁▂▃▄▅▆▇█"
_UNKNOWN = " "
_WIDEST = 40
_PHASES = {**PHASE_TEXTS, "inference": "inference"}


def counter_views(table: CounterTable, document: RunDocument) -> tuple[PlainView, ...]:
    """Return the views of a table of counters: its figures, and its timelines where it has some."""
    names = distinguish({row.id: name_of(row) for row in table.rows})
    shared = shared_facts(table.rows, document.environment, document.plan)
    facts = (f"{table.model}  {sizes_text(table.shapes)}", *shared, "counters")
    figures = PlainView(
        SEPARATOR.join(facts), _headline(table, names), _table(table, names), tuple(_notes(table, names))
    )
    timelines = timeline_table(table, names)
    if timelines is None:
        return (figures,)
    title = SEPARATOR.join((facts[0], "timeline", f"steps of {table.timeline_ms} ms"))
    return (figures, PlainView(title, "", timelines, (_OF_TIMELINES,)))


_OF_TIMELINES = (
    "each mark is the rate in one step, from nothing to the largest of the phase; from a launch of its own, because"
    " reading counters that often takes time"
)


def _headline(table: CounterTable, names: Mapping[str, str]) -> str:
    """Return where most slots of each row are lost, and which rows have too few launches for intervals."""
    lost = [f"{names[row.id]} {share}" for row in table.rows if (share := _largest_loss(row))]
    sentences = [f"Largest loss of pipeline slots: {', '.join(lost)}."] if lost else []
    launched = [row for row in table.rows if row.launches]
    few = [row for row in launched if len(row.launches) < FEWEST_LAUNCHES]
    if few:
        whose = "" if len(few) == len(launched) else f" of {listing([names[row.id] for row in few])}"
        sentences.append(f"preview{whose}: intervals need {FEWEST_LAUNCHES} launches (--budget, or without --quick)")
    return " ".join(sentences)


def _largest_loss(row: CounterRow) -> str:
    """Return the largest share of slots of an inference that did nothing useful, and where, for each kind of core."""
    losses: dict[str, dict[str, float]] = {}
    for figure in row.figures:
        kind, share = kind_and_share(figure.name)
        if figure.phase == "inference" and share in _LOSSES and figure.value is not None:
            losses.setdefault(kind, {})[share] = figure.value
    return " and ".join(_loss(kind, shares) for kind, shares in sorted(losses.items()))


def _loss(kind: str, shares: Mapping[str, float]) -> str:
    largest = max(shares, key=shares.__getitem__)
    return f"{figure_value(shares[largest], 'share')} {_LOSSES[largest]}{f' of {kind}' if kind else ''}"


def _table(table: CounterTable, names: Mapping[str, str]) -> TextTable:
    columns = (
        TableColumn("figure", words=True, folds=True),
        TableColumn("row", words=True),
        TableColumn("import", drops=3),
        TableColumn("compile", drops=2),
        TableColumn("warm-up", drops=4),
        TableColumn(ends_heading(PHASE_TEXTS["inference"], _of_inferences(table), table.confidence), words=True),
    )
    lines = (*_lines(table, names), *_unavailable(table), *_without_nodes(table, names), *_failed(table, names))
    return TextTable(columns, lines)


def _lines(table: CounterTable, names: Mapping[str, str]) -> Iterator[Row]:
    counted = [row for row in table.rows if row.figures]
    figures = dict.fromkeys(figure.name for row in counted for figure in row.figures)
    marks_ranges = not are_ranges(_of_inferences(table))
    for name in sorted(figures, key=lambda name: name not in table.events):  # shares and ratios below the counts
        for place, row in enumerate(counted):
            yield Row(("" if place else figure_text(name), names[row.id], *_cells(row, name, marks_ranges)))


def _of_inferences(table: CounterTable) -> list[CounterFigure]:
    return [figure for row in table.rows for figure in row.figures if figure.phase == "inference"]


def _cells(row: CounterRow, name: str, marks_ranges: bool) -> Iterator[str]:
    figures = {figure.phase: figure for figure in row.figures if figure.name == name}
    for phase in PHASES:
        if phase not in figures:
            yield NOT_MEASURED
        elif phase == "inference":
            yield spanned_figure(figures[phase], marks_ranges=marks_ranges)
        else:
            yield _marked(figures[phase])


def _marked(figure: CounterFigure) -> str:
    """Return a value, with a mark where perf has scaled it."""
    shown = figure_value(figure.value, figure.unit)
    return f"~{shown}" if figure.value is not None and figure.running_share < 1 else shown


def spanned_figure(figure: CounterFigure, *, marks_ranges: bool) -> str:
    """Return a value with the ends of its interval or range."""
    ends = figure.ends
    if ends is None or ends.low == ends.high:  # a count that is the same in every launch
        return _marked(figure)
    span = ends_text(ends, lambda end: figure_value(end, figure.unit), marks_ranges=marks_ranges)
    return f"{_marked(figure)}{span}"


def _unavailable(table: CounterTable) -> Iterator[Row]:
    for name, obstacle in not_counted(table.asked, table.unavailable):
        yield Row((name, NOT_MEASURED), obstacle.why(), "yellow")


def _without_nodes(table: CounterTable, names: Mapping[str, str]) -> Iterator[Row]:
    """Yield the rows of which toplev reported no nodes in some launches, with its last reason."""
    for row in table.rows:
        missing = nodes_missing_text(row.launches)
        if missing is not None:
            yield Row((f"topdown-l{table.level}", names[row.id]), missing, "yellow")


def _failed(table: CounterTable, names: Mapping[str, str]) -> Iterator[Row]:
    for row in table.rows:
        if row.failure is not None:
            style = "dim" if row.state == "not-applicable" else "red"
            yield Row(("", names[row.id]), failure_text(row.state, row.failure), style)
        elif not row.launches:
            yield Row(("", names[row.id]), row.state, "dim")


def _notes(table: CounterTable, names: Mapping[str, str]) -> Iterator[str]:
    yield SEPARATOR.join(
        (
            f"{plural(table.rounds, 'launch')} of their own, after the speeds",
            COUNTER_STOP_TEXTS[table.stopped_by],
            f"{table.seconds:.0f} s",
            f"perf {table.perf_version}" if table.perf_version else "",
        )
    ).removesuffix(SEPARATOR)
    yield (
        "per inference: counts divided by the inferences that were made meanwhile; import, compile and warm-up: the"
        " whole phase. Medians over launches; their times are not used"
    )
    yield from counting_notes(table, [figure for row in table.rows for figure in row.figures])
    yield from _timelines_left_out(table, names)
    if any(figure.value is None for row in table.rows for figure in row.figures):
        yield f"{NOT_MEASURED} {NotCounted().why()}"


def counting_notes(counted: CountedWith, figures: Sequence[CounterFigure]) -> Iterator[str]:
    """Yield whose formulas shares are of, and what is left out or estimated."""
    if counted.topdown is not None:
        yield TOPDOWN_TEXTS[counted.topdown]
    if counted.level is not None:
        yield f"nodes of level 2 to {counted.level}: toplev"
    if counted.user_only:
        yield "the kernel's part is left out: perf_event_paranoid permits user space alone"
    scaled = [figure.running_share for figure in figures if figure.running_share < 1]
    if scaled:
        yield (
            "~ scaled by perf: there are more events than counters, and one was on a counter for"
            f" {100 * min(scaled):.0f} % of the time"
        )


def _timelines_left_out(table: CounterTable, names: Mapping[str, str]) -> Iterator[str]:
    """Yield which counted rows have no timeline because no more were taken."""
    if table.timelines_stopped_by is None:
        return
    able = (row for row in table.rows if row.failure is None and row.launches)
    without = [names[row.id] for row in able if not row.timeline and row.timeline_failure is None]
    if without:
        yield f"no timeline of {listing(without)}: {COUNTER_STOP_TEXTS[table.timelines_stopped_by]}"


def timeline_table(table: CounterTable, names: Mapping[str, str]) -> TextTable | None:
    """Return the timelines of all rows; ``None`` where there are none."""
    rows = tuple(_blocks(table, names))
    if not rows:
        return None
    columns = (
        TableColumn("row", words=True),
        TableColumn("phase", words=True),
        TableColumn("counter", words=True, folds=True),
        TableColumn("timeline", words=True),
        TableColumn("s", drops=2),
        TableColumn("largest per s", drops=1),
    )
    return TextTable(columns, rows)


def sparkline(rates: Sequence[float | None], width: int = _WIDEST) -> str:
    """Return a mark for each rate, from 0 to the largest; neighbours are joined where there are more than ``width``."""
    joined = _joined(rates, width)
    largest = max((rate for rate in joined if rate is not None), default=0.0)
    scale = (len(_MARKS) - 1) / largest if largest > 0 else 0.0
    return "".join(_UNKNOWN if rate is None else _MARKS[round(max(0.0, rate) * scale)] for rate in joined)


def _blocks(table: CounterTable, names: Mapping[str, str]) -> Iterator[Row]:
    """Yield the lines of each row, which is named in its first one, as a phase is in that of its own."""
    for row in table.rows:
        name = names[row.id]
        for phase in row.timeline:
            for place, cells in enumerate(_timeline_lines(phase)):
                yield Row((name, "" if place else _PHASES[phase.phase], *cells))
                name = ""
        if row.timeline_failure is not None:
            yield Row((name,), failure_text("failed", row.timeline_failure), "red")


def _timeline_lines(phase: PhaseTimeline) -> Iterator[tuple[str, ...]]:
    for event, counts in phase.counts.items():
        rates = [
            None if count is None or not step_s else count / step_s
            for count, step_s in zip(counts, phase.step_s, strict=True)
        ]
        known = [rate for rate in rates if rate is not None]
        if known:
            total = f"{sum(phase.step_s):.1f}"
            yield figure_text(event), sparkline(rates), total, figure_value(max(known), "")


def _joined(rates: Sequence[float | None], width: int) -> list[float | None]:
    count = min(width, len(rates))
    ends = [round(place * len(rates) / count) for place in range(count + 1)] if count else [0]
    return [_mean(rates[begin:end]) for begin, end in pairwise(ends)]


def _mean(rates: Sequence[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) / len(known) if known else None


def nodes_missing_text(launches: Sequence[CountedLaunch]) -> str | None:
    """Return in how many launches toplev reported no nodes, with its last reason; ``None`` if in none."""
    missing = [launch.nodes_missing for launch in launches if launch.nodes_missing is not None]
    if not missing:
        return None
    return f"in {len(missing)} of {plural(len(launches), 'launch')} {missing[-1].why()}"


def figure_text(name: str) -> str:
    """Return what a table calls a figure: events keep perf's names, shares of slots have the kind of core."""
    kind, share = kind_and_share(name)
    return f"{FIGURE_TEXTS[share]} ({kind})" if kind else FIGURE_TEXTS.get(name, name)


def figure_value(value: float | None, unit: str) -> str:
    """Return a figure of a counter: ``12.3 %`` of a share, ``1.23 G`` of a large count."""
    if value is None:
        return NOT_MEASURED
    if unit == "share":
        return f"{100 * value:.1f} %"
    for least, scale, prefix in _PREFIXES:
        if abs(value) >= least and not unit:
            return f"{significant(value / scale)} {prefix}"
    return f"{value:.0f}" if value >= 100 else significant(value)
