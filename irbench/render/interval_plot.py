"""Speedups with their intervals as lines of text, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from irbench.core.quantities import ratio
from irbench.core.result import GroupResult
from irbench.core.row import Speedup, row_names
from irbench.render.line_wrapping import cell_count, shorten_middle
from irbench.render.verdicts import style_of

_LONGEST_NAME = 30
_NARROWEST = 20
_BEYOND = 2.5
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
    texts = [_figures(speedup) for _, speedup in rows]
    left, right = max(map(cell_count, labels)), max(map(len, texts))
    plot = max(_NARROWEST, width - left - right - 4)
    scale = _Scale.around([speedup for _, speedup in rows], plot)
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

    @classmethod
    def around(cls, speedups: Sequence[Speedup], width: int) -> _Scale:
        values = [1.0, *(speedup.value for speedup in speedups)]
        ends = [end for speedup in speedups if speedup.ends for end in speedup.ends[:2] if end > 0]
        return cls(
            max(min(values) / _BEYOND, min([min(values) * 0.97, *ends])),
            min(max(values) * _BEYOND, max([max(values) * 1.03, *ends])),
            width,
        )

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


def _figures(speedup: Speedup) -> str:
    if speedup.ends is None:
        return f"{speedup.value:.2f}x"
    value, low, high = ratio(speedup.value, speedup.ends.low, speedup.ends.high)
    return f"{value}x ({low} to {high})" if speedup.ends.is_range else f"{value}x [{low}, {high}]"
