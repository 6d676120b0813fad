"""An operator profile as a person reads it: in words first, then the tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from irbench.onnx.operator_classes import OperatorClass
from irbench.profiling.record import ProfileDocument
from irbench.profiling.report import By, CellSummary, PartRow, ProfileReport
from irbench.render.line_wrapping import wrap
from irbench.render.markdown import bullets, heading, markdown_text
from irbench.render.profile_counters import COUNTERS_HEADING, counter_lines, counter_table
from irbench.render.profile_differences import class_change_table, difference_table, node_change_table
from irbench.render.profile_gpu import gpu_headlines, gpu_notes, gpu_table
from irbench.render.profile_tables import fitting, largest_first, part_table, speed_table
from irbench.render.profile_texts import below_tables, fused_nodes_lines, headline_lines, profile_title
from irbench.render.table import TextTable

__all__ = ["ProfileView"]

_WIDEST = 1000
_USUAL = 100


@dataclass(frozen=True)
class ProfileView:
    """What is shown of a profile, in as much width as there is.

    Attributes:
        document: The profile.
        report: Its figures.
        by: What rows of the first table are.
        top: How many rows a table of operators or nodes has at most.
    """

    document: ProfileDocument
    report: ProfileReport
    by: By
    top: int

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width that shows every column; called by rich."""
        tables = [part for part in self._parts(_WIDEST) if isinstance(part, TextTable)]
        widest = max((Measurement.get(console, options, table).maximum for table in tables), default=0)
        width = min(options.max_width, max(_USUAL, widest))
        return Measurement(width, width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        yield from self.as_lines(options.max_width)

    def as_lines(self, width: int) -> Iterator[Text]:
        """Yield the view as lines of at most ``width`` cells, as far as the tables' columns allow."""
        hidden: dict[str, None] = {}
        yield from _paragraph(profile_title(self.document), width, "bold")
        for sentence in self._above():
            yield from _paragraph(sentence, width, "")
        for part in self._parts(width):
            yield Text("")
            if isinstance(part, str):
                yield from _paragraph(part, width, "")
                continue
            yield from part.as_lines(width)
            hidden.update(dict.fromkeys(part.left_out(width)))
        yield Text("")
        if hidden:
            yield from _paragraph(f"hidden, the terminal is too narrow: {', '.join(hidden)}", width, "dim")
        for sentence in self._below():
            yield from _paragraph(sentence, width, "dim")

    def as_markdown(self) -> str:
        """Return a heading, the sentences and the tables, as Markdown."""
        parts = (markdown_text(part) if isinstance(part, str) else part.as_markdown() for part in self._parts(_WIDEST))
        title = heading(profile_title(self.document), 3)
        whole = (title, bullets(self._above()), *parts, bullets(self._below()))
        return "\n\n".join(part for part in whole if part) + "\n"

    @property
    def _measured(self) -> tuple[CellSummary, ...]:
        return tuple(cell for cell in self.report.cells if cell.launches)

    @property
    def _differing(self) -> tuple[PartRow, ...]:
        return () if self.report.comparisons else self.report.differing(self.top)

    def _above(self) -> Iterator[str]:
        yield from headline_lines(self.report)
        yield from gpu_headlines(self.report.cells)

    def _below(self) -> Iterator[str]:
        listed = largest_first(self.report, self._measured, "node")[: self.top] if self.by == "node" else ()
        yield from gpu_notes(self.document, self.report.cells)
        yield from below_tables(self.document, self.report)
        yield from fused_nodes_lines((*listed, *self._differing))
        yield from counter_lines(self.document, self.report)

    def _parts(self, width: int) -> Iterator[TextTable | str]:
        """Yield the tables, and what is to be said above some of them."""
        cells = self._measured
        yield from fitting(cells, lambda some: part_table(self.report, some, self.by, self.top), width)
        yield from fitting([cell for cell in cells if cell.gpu is not None], gpu_table, width)
        for speeds in fitting(cells, lambda some: speed_table(self.report, some, self.by, self.top), width):
            if speeds.rows:
                yield speeds
        labels = {cell.id: cell.label for cell in self.report.cells}
        for comparison in self.report.comparisons:
            names = labels[comparison.before], labels[comparison.after]
            yield f"What changed from {names[0]} to {names[1]}:"
            yield class_change_table(comparison)
            nodes = (change for change in comparison.nodes if change.operator_class is not OperatorClass.OVERHEAD)
            changed = [change for change in nodes if change.change_ns.is_certain][: self.top]
            if changed:
                yield "The nodes that changed most:"
                yield node_change_table(changed)
        differing = self._differing
        if differing:
            yield "The nodes that differ most between backends:"
            yield from fitting(cells, lambda some: difference_table(differing, some), width)
        yield from self._counters(width)

    def _counters(self, width: int) -> Iterator[TextTable | str]:
        counters, counted = self.document.counters, {row.cell for row in self.report.counters}
        if counters is not None and counted:
            yield COUNTERS_HEADING
            cells = [cell for cell in self.report.cells if cell.id in counted]
            yield from fitting(cells, lambda some: counter_table(counters, self.report, some), width)


def _paragraph(text: str, width: int, style: str) -> Iterator[Text]:
    for line in wrap(text, width) if text else ():
        yield Text(line, style=style)
