"""Figures with their intervals as lines of text, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from irbench.core.result import GroupResult
from irbench.core.row import Ends, row_names
from irbench.render.figure_texts import ratio_with_ends
from irbench.render.line_wrapping import cell_count, shorten_middle
from irbench.render.verdicts import style_of

_LONGEST_NAME = 30
_NARROWEST = 20
_MARGIN = 1.03
BEYOND = 2.5
"""How far beyond the values intervals are shown: those of a busy machine may span orders of magnitude."""


@dataclass(frozen=True)
class Marks:
    """The characters of a plot.

    Attributes:
        line: Of an interval.
        value: Of the estimate.
        one: Where rows are as fast as the baseline.
        cut_left: Where an interval goes on to the left.
        cut_right: To the right.
    """

    line: str
    value: str
    one: str
    cut_left: str
    cut_right: str


UNICODE = Marks("━", "●", "┊", "◂", "▸")
ASCII = Marks("-", "o", "|", "<", ">")


def interval_plot(result: GroupResult, width: int, *, unicode: bool = True) -> Iterator[Text]:
    """Yield a line for each row with a speedup, on a common logarithmic scale; nothing where there is none.

    Args:
        result: The table.
        width: Of the lines, in cells.
        unicode: Whether the terminal shows more than ASCII.
    """
    names = row_names(result.cells)
    speedups = [(names[cell.id], cell.speedup) for cell in result.cells if cell.speedup is not None]
    rows = [
        PlottedFigure(name, one.value, one.ends, speedup_figures(one.value, one.ends), style_of(one.verdict))
        for name, one in speedups
    ]
    baseline = names.get(result.baseline or "", "the baseline")
    yield from figures_plot(rows, width, one=f"1 = {baseline}", unicode=unicode)


@dataclass(frozen=True)
class PlottedFigure:
    """A line of a plot.

    Attributes:
        value: Above 0.
        ends: Of its interval or range; ``None`` where it has neither.
        text: The same in figures.
    """

    label: str
    value: float
    ends: Ends | None
    text: str
    style: str = ""


def figures_plot(rows: Sequence[PlottedFigure], width: int, *, one: str = "", unicode: bool = True) -> Iterator[Text]:
    """Yield a line for each figure, on a common logarithmic scale; nothing where there is none.

    Args:
        rows: The figures.
        width: Of the lines, in cells.
        one: What 1 means, where the figures are ratios; empty where they are not.
        unicode: Whether the terminal shows more than ASCII.
    """
    if not rows:
        return
    marks = UNICODE if unicode else ASCII
    labels = [shorten_middle(row.label, _LONGEST_NAME, _LONGEST_NAME // 2) for row in rows]
    left, right = max(map(cell_count, labels)), max(len(row.text) for row in rows)
    plot = max(_NARROWEST, width - left - right - 4)
    values = [*([1.0] if one else []), *(row.value for row in rows)]
    ends = [end for row in rows if row.ends for end in row.ends[:2]]
    scale = _Scale(*_span(values, ends), plot)
    for label, row in zip(labels, rows, strict=True):
        line = Text(f" {label}{' ' * (left - cell_count(label))} ")
        line.append(_line(row, scale, marks, shows_one=bool(one)), style=row.style)
        line.append(f" {row.text}")
        yield line
    if one:
        yield Text(f" {' ' * left} {' ' * scale.place(1.0)}{one}", style="dim")


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    width: int

    def place(self, value: float) -> int:
        """Return the column of a value, of the nearest one where it lies beyond the scale."""
        share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return min(self.width - 1, max(0, round(share * (self.width - 1))))


def _line(row: PlottedFigure, scale: _Scale, marks: Marks, *, shows_one: bool) -> str:
    cells = [" "] * scale.width
    if shows_one:
        cells[scale.place(1.0)] = marks.one
    if row.ends is not None:
        first, last = scale.place(row.ends.low), scale.place(row.ends.high)
        cells[first : last + 1] = marks.line * (last + 1 - first)
        if row.ends.low < scale.low:
            cells[0] = marks.cut_left
        if row.ends.high > scale.high:
            cells[-1] = marks.cut_right
    cells[scale.place(row.value)] = marks.value
    return "".join(cells)


def speedup_span(values: Sequence[float], ends: Sequence[float]) -> tuple[float, float]:
    """Return between which ratios a plot lies: all values, 1, and of wide intervals a part."""
    return _span([1.0, *values], ends)


def _span(values: Sequence[float], ends: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    known = [end for end in ends if end > 0]
    return max(low / BEYOND, min([low, *known]) / _MARGIN), min(high * BEYOND, max([high, *known]) * _MARGIN)


def speedup_figures(value: float, ends: Ends | None) -> str:
    """Return ``1.31x [1.29, 1.33]``, with a word where the brackets hold a range."""
    shown, brackets = ratio_with_ends(value, ends, marks_ranges=True)
    return f"{shown}x{brackets}"
