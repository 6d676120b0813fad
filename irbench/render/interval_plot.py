"""Speedups with their intervals as lines of text, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from irbench.core.result import GroupResult
from irbench.core.row import Ends, Speedup, row_names
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
    rows = [(names[cell.id], cell.speedup) for cell in result.cells if cell.speedup is not None]
    if not rows:
        return
    marks = UNICODE if unicode else ASCII
    labels = [shorten_middle(name, _LONGEST_NAME, _LONGEST_NAME // 2) for name, _ in rows]
    texts = [speedup_figures(speedup.value, speedup.ends) for _, speedup in rows]
    left, right = max(map(cell_count, labels)), max(map(len, texts))
    plot = max(_NARROWEST, width - left - right - 4)
    values = [speedup.value for _, speedup in rows]
    ends = [end for _, speedup in rows if speedup.ends for end in speedup.ends[:2]]
    scale = _Scale(*speedup_span(values, ends), plot)
    for label, text, (_, speedup) in zip(labels, texts, rows, strict=True):
        line = Text(f" {label}{' ' * (left - cell_count(label))} ")
        line.append(_line(speedup, scale, marks), style=style_of(speedup.verdict))
        line.append(f" {text}")
        yield line
    baseline = names.get(result.baseline or "", "the baseline")
    yield Text(f" {' ' * left} {' ' * scale.place(1.0)}1 = {baseline}", style="dim")


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    width: int

    def place(self, value: float) -> int:
        """Return the column of a value, of the nearest one where it lies beyond the scale."""
        share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return min(self.width - 1, max(0, round(share * (self.width - 1))))


def _line(speedup: Speedup, scale: _Scale, marks: Marks) -> str:
    cells = [" "] * scale.width
    cells[scale.place(1.0)] = marks.one
    if speedup.ends is not None:
        first, last = scale.place(speedup.ends.low), scale.place(speedup.ends.high)
        cells[first : last + 1] = marks.line * (last + 1 - first)
        if speedup.ends.low < scale.low:
            cells[0] = marks.cut_left
        if speedup.ends.high > scale.high:
            cells[-1] = marks.cut_right
    cells[scale.place(speedup.value)] = marks.value
    return "".join(cells)


def speedup_span(values: Sequence[float], ends: Sequence[float]) -> tuple[float, float]:
    """Return between which ratios a plot lies: all values, 1, and of wide intervals a part."""
    low, high = min(1.0, *values), max(1.0, *values)
    known = [end for end in ends if end > 0]
    return max(low / BEYOND, min([low, *known]) / _MARGIN), min(high * BEYOND, max([high, *known]) * _MARGIN)


def speedup_figures(value: float, ends: Ends | None) -> str:
    """Return ``1.31x [1.29, 1.33]``, with a word where the brackets hold a range."""
    shown, brackets = ratio_with_ends(value, ends, marks_ranges=True)
    return f"{shown}x{brackets}"
