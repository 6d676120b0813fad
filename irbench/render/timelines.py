"""Timelines of counters: a line of marks for each event in each phase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from irbench.counter_row import CounterTable, PhaseTimeline
from irbench.counters.figures import PHASE_TEXTS
from irbench.render.counter_texts import figure_text, figure_value
from irbench.render.footer import failure_text
from irbench.render.table import Column, Row, TextTable

_MARKS = "▁▂▃▄▅▆▇█"
_UNKNOWN = " "
_WIDEST = 40
_PHASES = {**PHASE_TEXTS, "inference": "inference"}


def timeline_table(table: CounterTable, names: Mapping[str, str]) -> TextTable | None:
    """Return the timelines of all rows; ``None`` where there are none."""
    rows = tuple(_blocks(table, names))
    if not rows:
        return None
    columns = (
        Column("row", words=True),
        Column("phase", words=True),
        Column("counter", words=True, folds=True),
        Column("timeline", words=True),
        Column("s", drops=2),
        Column("largest per s", drops=1),
    )
    return TextTable(columns, rows)


def sparkline(rates: Sequence[float | None], width: int = _WIDEST) -> str:
    """Return a mark for each rate, from 0 to the largest; neighbours are joined where there are more than ``width``."""
    joined = _joined(rates, width)
    largest = max((rate for rate in joined if rate is not None), default=0.0)
    return "".join(_UNKNOWN if rate is None else _mark(rate, largest) for rate in joined)


def _blocks(table: CounterTable, names: Mapping[str, str]) -> Iterator[Row]:
    """Yield the lines of each row, which is named in its first one, as a phase is in that of its own."""
    for row in table.rows:
        name = names[row.id]
        for phase in row.timeline:
            for place, cells in enumerate(_lines(phase)):
                yield Row((name, "" if place else _PHASES[phase.phase], *cells))
                name = ""
        if row.timeline_failure is not None:
            yield Row((name,), failure_text("failed", row.timeline_failure), "red")


def _lines(phase: PhaseTimeline) -> Iterator[tuple[str, ...]]:
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


def _mark(rate: float, largest: float) -> str:
    return _MARKS[round(max(0.0, rate) / largest * (len(_MARKS) - 1))] if largest > 0 else _MARKS[0]
