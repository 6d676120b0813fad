"""Columns of rows that something ran beside: by how much they were slower, and what it did meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from irbench.core.quantities import NOT_MEASURED, significant, times
from irbench.core.result import GroupResult
from irbench.core.row import BesideNeighbour, CellResult, Ends, Spans
from irbench.notices import Context
from irbench.render.columns.declaration import (
    COUNT,
    FLAG,
    NUMBER,
    TEXT,
    AnyRow,
    Column,
    Legend,
    OverLaunches,
    RowPart,
    ShownSpeed,
)
from irbench.render.figure_texts import are_ranges, ends_heading, ratio_with_ends
from irbench.spec import Neighbour
from irbench.spec.neighbours import FULL

_asked = RowPart[AnyRow, Neighbour](lambda row: row.requested.beside)
_did = RowPart[CellResult, BesideNeighbour](lambda cell: cell.neighbour)
_WHEN = "of `irbench corun`"


def has_neighbours(result: GroupResult) -> bool:
    """Whether something ran beside rows of a table."""
    return any(cell.requested.beside is not None for cell in result.cells)


def slowdown_of(cell: CellResult) -> Spans | None:
    """Return how many times the time of a row is that of the baseline; ``None`` where that is not known."""
    speedup = cell.speedup
    if speedup is None:
        return None
    ends = speedup.ends
    known = {} if ends is None else _ends(Ends(1 / ends.high, 1 / ends.low, ends.is_range))
    return Spans(1 / speedup.value, all_blocks_value=1 / speedup.all_blocks_value, **known)


def _ends(ends: Ends) -> dict[str, float]:
    names = ("range_low", "range_high") if ends.is_range else ("low", "high")
    return dict(zip(names, (ends.low, ends.high), strict=True))


def _part(read: Callable[[Spans], float | None]) -> Callable[[CellResult], float | None]:
    def value(cell: CellResult) -> float | None:
        known = slowdown_of(cell)
        return None if known is None else read(known)

    return value


def _figure(figure: Callable[[BesideNeighbour], Spans | None]) -> Callable[[CellResult], float | None]:
    spans = _did(figure)

    def value(cell: CellResult) -> float | None:
        known = spans(cell)
        return None if known is None else known.value

    return value


def _achieved_share(cell: CellResult) -> float | None:
    return None if cell.neighbour is None else cell.neighbour.achieved_share


def _with_ends(spans: Spans | None, *, marks_ranges: bool = True) -> str:
    if spans is None:
        return NOT_MEASURED
    value, ends = ratio_with_ends(spans.value, spans.ends, marks_ranges=marks_ranges)
    return f"{value}{ends}"


def _slowdown(cell: CellResult, result: GroupResult) -> str:
    if cell.id == result.baseline:
        return "1 baseline"
    return _with_ends(slowdown_of(cell), marks_ranges=not are_ranges(row.speedup for row in result.cells))


def activity_text(did: BesideNeighbour | None) -> str:
    """Return what a neighbour did: ``8.1 GB/s``, ``98 calls/s, p50 10.2 ms``, ``0.5 processors``."""
    if did is None:
        return NOT_MEASURED
    if did.calls_per_s is not None and did.p50_ms is not None:
        return f"{significant(did.calls_per_s.value)} calls/s, p50 {significant(did.p50_ms.value)} ms"
    if did.gb_per_s is not None:
        return f"{did.gb_per_s.value:.1f} GB/s"
    return f"{did.processors.value:.2f} processors"


def _legend(result: GroupResult, _context: Context) -> Iterator[str]:
    if has_neighbours(result):
        yield "slowdown: time beside the neighbour / time alone, in pairs within a block"
    beside = [cell.requested.beside for cell in result.cells if cell.requested.beside is not None]
    for shares, where in ((True, "the row's own processors"), (False, "other processors")):
        names = dict.fromkeys(each.name for each in beside if each.shares_processors == shares)
        if names:
            yield f"on {where}: {', '.join(names)}"
    for name, differs in dict.fromkeys((each.target, each.differs) for each in beside if each.differs):
        yield f"{name}: with {', '.join(f'{setting} {value}' for setting, value in differs)}"


def _own_legend(result: GroupResult, _context: Context) -> Iterator[str]:
    if any(cell.neighbour is not None and cell.neighbour.slowdown is not None for cell in result.cells):
        yield "its slowdown: of the neighbour, against the time before in which the row stood still"


def _own_slowdown(cell: CellResult, _result: GroupResult) -> str:
    did = cell.neighbour
    return NOT_MEASURED if did is None or did.slowdown is None else times(did.slowdown.value)


_P90 = OverLaunches("p90_slowdown", "", _did(lambda did: did.p90_slowdown),
    "How many times the p90 latency is that of the row alone: median over launches.", "Null.")  # fmt: skip
_OWN = OverLaunches("neighbour_slowdown", "", _did(lambda did: did.slowdown),
    "How much slower the neighbour was than while the row stood still: median over launches.", "Null.")  # fmt: skip

NEIGHBOURS = (
    Column("beside", TEXT, "What ran at the same time; null for nothing.",
        any_row=_asked(lambda each: each.name), in_python=True),
    Column("beside_intensity_percent", COUNT, "Its intensity, in percent of the time.",
        any_row=_asked(lambda each: each.intensity if each.is_graded else FULL), in_python=True),
    Column("beside_shares_processors", FLAG, "Whether it ran on processors that the row may use.",
        any_row=_asked(lambda each: each.shares_processors)),
    Column("slowdown", NUMBER, "How many times the time is that of the row alone, in pairs within a block.",
        speed=_part(lambda spans: spans.value), in_python=True,
        in_speeds=ShownSpeed(201,
            lambda result, confidence: ends_heading("slowdown", (cell.speedup for cell in result.cells), confidence),
            text=_slowdown, words=True, is_shown=has_neighbours, when=_WHEN, documented="slowdown [95 %]",
            legend=Legend(101, _legend),
            explained="the inverse of the speedup, in its place: how many times as long the row takes as alone "
            "([corun.md](corun.md)); the row `again` is the same row alone once more")),
    Column("slowdown_low", NUMBER, "Lower end of its confidence interval.",
        speed=_part(lambda spans: spans.low), in_python=True),
    Column("slowdown_high", NUMBER, "Upper end of its confidence interval.",
        speed=_part(lambda spans: spans.high), in_python=True),
    Column("p90_slowdown", NUMBER, "How many times the p90 latency is that of the row alone.",
        speed=_figure(lambda did: did.p90_slowdown), in_python=True,
        in_speeds=ShownSpeed(202, "p90 slowdown", text=lambda cell, _: _with_ends(_P90.spans(cell)), words=True,
            drops=4, is_shown=has_neighbours, when=_WHEN, explained="the same of the p90 latency: the tail")),
    *_P90.columns,
    Column("neighbour_processors", NUMBER, "Processors that the neighbour used.",
        speed=_figure(lambda did: did.processors), in_python=True,
        in_speeds=ShownSpeed(215, "neighbour did", text=lambda cell, _: activity_text(cell.neighbour), words=True,
            drops=2, is_shown=has_neighbours, when=_WHEN,
            explained="what the neighbour achieved beside the row, as it counted itself: the bytes that it read and "
            "wrote, calls of a model, or processors that it used")),
    Column("neighbour_gb_per_s", NUMBER, "10^9 bytes per second that the neighbour read and wrote.",
        speed=_figure(lambda did: did.gb_per_s), in_python=True),
    Column("neighbour_calls_per_s", NUMBER, "Calls per second of a model that ran beside the row.",
        speed=_figure(lambda did: did.calls_per_s), in_python=True),
    Column("neighbour_p50_ms", NUMBER, "Median latency of these calls.",
        speed=_figure(lambda did: did.p50_ms), in_python=True),
    Column("neighbour_p90_ms", NUMBER, "90th percentile of that.", speed=_figure(lambda did: did.p90_ms)),
    Column("neighbour_achieved_share", NUMBER,
        "Which share the neighbour did of the processors or calls per second that were asked of it, as a fraction.",
        speed=_achieved_share, in_python=True),
    Column("neighbour_alone", NUMBER, "GB/s, calls/s or processors of the neighbour while the row stood still.",
        speed=_figure(lambda did: did.alone)),
    Column("neighbour_slowdown", NUMBER, "How much slower the neighbour was than while the row stood still.",
        speed=_figure(lambda did: did.slowdown), in_python=True,
        in_speeds=ShownSpeed(216, "its slowdown", text=_own_slowdown, drops=3, is_shown=has_neighbours, when=_WHEN,
            legend=Legend(102, _own_legend),
            explained="how much slower the neighbour was beside the row than alone before the first block")),
    *_OWN.columns,
)  # fmt: skip
