"""An operator profile as a person reads it: in words first, then the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from irbench.features.profile.profile_document import ProfileDocument
from irbench.features.profile.report import (
    By,
    CellSummary,
    Estimate,
    LevelComparison,
    PartChange,
    PartRow,
    ProfileReport,
)
from irbench.features.profile.views.bars import class_bars
from irbench.features.profile.views.counter_table import COUNTERS_HEADING, counter_lines, counter_table
from irbench.features.profile.views.part_names import PartNames
from irbench.features.profile.views.part_tables import (
    Fitted,
    Form,
    fitting,
    gpu_table,
    largest_first,
    longest_forms,
    part_forms,
    parts_with_speed,
    speed_forms,
)
from irbench.features.profile.views.sentences import (
    below_tables,
    class_name,
    estimated,
    fused_nodes_lines,
    gpu_headlines,
    gpu_notes,
    headline_lines,
    milliseconds,
    no_speed_lines,
    profile_title,
    warning_lines,
)
from irbench.onnx.operator_classes import OperatorClass
from irbench.render.figure_texts import ends_text
from irbench.render.full_width import WIDEST
from irbench.render.line_wrapping import wrap_message
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.text_formats import bullets, heading, markdown_text
from irbench.render.views import Block, Sentence, paragraph

_USUAL = 100
_MOST_NAMED = 3
"""So many nodes are named below the classes of work."""
_CHANGED = (TableColumn("before"), TableColumn("after"), TableColumn("change"), TableColumn("interval", words=True))
_NAME = TableColumn("ms", words=True, folds=True, least=20, breaks_at="/", longest=20)
_MOST_KINDS = 3


@dataclass(frozen=True)
class ProfileView:
    """What is shown of a profile, in as much width as there is.

    Attributes:
        by: What rows of the first table are.
        top: How many rows a table of operators or nodes has at most.
        call: What shows it again, to be typed; empty where nothing does.
    """

    document: ProfileDocument
    report: ProfileReport
    by: By
    top: int
    call: str = ""

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width that shows every column; called by rich."""
        tables = [part.table for part in self._parts(WIDEST) if isinstance(part, Fitted)]
        widest = max((Measurement.get(console, options, table).maximum for table in tables), default=0)
        width = min(options.max_width, max(_USUAL, widest))
        return Measurement(width, width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        yield from self.as_lines(options.max_width, unicode=not options.ascii_only)

    def as_lines(self, width: int, *, unicode: bool = True) -> Iterator[Text]:
        """Yield the view as lines of at most ``width`` cells, as far as the tables' columns allow."""
        hidden: dict[str, None] = {}
        yield from paragraph(profile_title(self.document), width, "bold")
        for sentence in self._above():
            yield from paragraph(sentence, width, "")
        if self.by == "class" and (bars := list(class_bars(self.report, self._measured, width, unicode=unicode))):
            yield from (Text(""), *bars)
        for part in self._parts(width):
            yield Text("")
            if isinstance(part, str):
                yield from paragraph(part, width, "")
                continue
            yield from part.table.as_lines(width)
            hidden.update(dict.fromkeys((*part.hidden, *part.table.left_out(width))))
        yield Text("")
        if hidden:
            yield from paragraph(f"hidden, the terminal is too narrow: {', '.join(hidden)}", width, "dim")
        for sentence in self._below():
            yield from paragraph(sentence, width, "dim")
        for command in self._next():
            # a command is there to be copied: the terminal breaks it without a line break in what is copied
            lines = wrap_message(command, width)
            yield from (Text(line, style="dim", no_wrap=True, overflow="ignore") for line in lines)

    def blocks(self) -> Iterator[Block]:
        """Yield the parts, whatever draws them."""
        yield Sentence(profile_title(self.document), "title")
        yield from (Sentence(sentence, "verdict") for sentence in self._above())
        for part in self._parts(WIDEST):
            yield Sentence(part) if isinstance(part, str) else part.table
        warnings = set(warning_lines(self.document))
        yield from (Sentence(line, "warning" if line in warnings else "note") for line in self._below())
        yield from (Sentence(sentence, "note") for sentence in self._next())

    def as_markdown(self) -> str:
        """Return a heading, the sentences and the tables, as Markdown."""
        parts = (
            markdown_text(part) if isinstance(part, str) else part.table.as_markdown() for part in self._parts(WIDEST)
        )
        title = heading(profile_title(self.document), 3)
        whole = (title, bullets(self._above()), *parts, bullets((*self._below(), *self._next())))
        return "\n\n".join(part for part in whole if part) + "\n"

    @property
    def _measured(self) -> tuple[CellSummary, ...]:
        return tuple(cell for cell in self.report.cells if cell.launches)

    @cached_property
    def _names(self) -> PartNames:
        return PartNames(self.report)

    @cached_property
    def _longest(self) -> Sequence[PartRow]:
        """The nodes that take longest, beside a table in which none are named."""
        rows = largest_first(self.report, self._measured, "node") if self.by == "class" else ()
        return [row for row in rows if not row.is_overhead][:_MOST_NAMED]

    @cached_property
    def _differing(self) -> tuple[PartRow, ...]:
        return () if self.report.comparisons else self.report.differing(self.top)

    def _above(self) -> Iterator[str]:
        yield from headline_lines(self.document, self.report)
        yield from gpu_headlines(self.report.cells)

    def _below(self) -> Iterator[str]:
        nodes = largest_first(self.report, self._measured, "node")[: self.top] if self.by == "node" else self._longest
        yield from gpu_notes(self.document, self.report.cells)
        yield from below_tables(self.document, self.report)
        if self.by == "class":
            yield from no_speed_lines(self.report, parts_with_speed(self.report, self._measured, self.by))
        yield from fused_nodes_lines((*nodes, *self._differing))
        yield from counter_lines(self.document, self.report)

    def _next(self) -> Iterator[str]:
        """Yield the commands that show more of where the time goes."""
        if self.call and self.by == "class":
            yield f"Operators: {self.call} --by op"
        if self.call and self.by != "node":
            yield f"Nodes: {self.call} --by node"

    def _parts(self, width: int) -> Iterator[Fitted | str]:
        """Yield the tables, and what is to be said above some of them."""
        cells, names = self._measured, self._names
        yield from fitting(cells, part_forms(self.report, names, self.by, self.top), width)
        if self._longest:
            yield "The nodes that take longest:"
            yield from fitting(cells, longest_forms(names, self._longest), width)
        yield from fitting([cell for cell in cells if cell.gpu is not None], [Form(gpu_table)], width)
        if parts_with_speed(self.report, cells, self.by):
            yield from fitting(cells, speed_forms(self.report, names, self.by, self.top), width)
        yield from self._changes()
        differing = self._differing
        if differing:
            yield "The nodes that differ most between backends:"
            yield from fitting(cells, [Form(lambda some: difference_table(differing, names, some))], width)
        yield from self._counters(width)

    def _changes(self) -> Iterator[Fitted | str]:
        labels = {cell.id: cell.label for cell in self.report.cells}
        for comparison in self.report.comparisons:
            names = labels[comparison.before], labels[comparison.after]
            yield f"What changed from {names[0]} to {names[1]}:"
            yield Fitted(class_change_table(comparison))
            nodes = (change for change in comparison.nodes if change.operator_class is not OperatorClass.OVERHEAD)
            changed = [change for change in nodes if change.change_ns.is_certain][: self.top]
            if changed:
                yield "The nodes that changed most:"
                yield Fitted(node_change_table(changed, self._names))

    def _counters(self, width: int) -> Iterator[Fitted | str]:
        counters, counted = self.document.counters, {row.cell for row in self.report.counters}
        if counters is not None and counted:
            yield COUNTERS_HEADING
            cells = [cell for cell in self.report.cells if cell.id in counted]
            yield from fitting(cells, [Form(lambda some: counter_table(counters, self.report, some))], width)


def difference_table(parts: Sequence[PartRow], names: PartNames, cells: Sequence[CellSummary]) -> TextTable:
    """Return the groups of nodes that differ most between backends."""
    columns = (
        _NAME,
        TableColumn("class", words=True, drops=2),
        *(TableColumn(cell.label) for cell in cells),
        TableColumn("differ"),
        TableColumn("interval", words=True, drops=1),
    )
    rows = []
    for part in parts:
        times = (estimated(part.figures[cell.id].time_ns if cell.id in part.figures else None) for cell in cells)
        difference = part.difference_ns
        ends = milliseconds(difference.value), _ends(difference, milliseconds)
        rows.append(Row((names.of(part), class_name(part.operator_class), *times, *ends)))
    return TextTable(columns, tuple(rows))


def class_change_table(comparison: LevelComparison) -> TextTable:
    """Return what became of each class of work between two levels."""
    rows = [Row((class_name(change.operator_class), *_change_of(change))) for change in comparison.classes]
    rows.append(Row(("sum of operators", *_change_of(comparison.total))))
    return TextTable((TableColumn("ms", words=True), *_CHANGED), tuple(rows))


def node_change_table(changes: Sequence[PartChange], names: PartNames) -> TextTable:
    """Return the groups of nodes that changed most between two levels, with the operators that compute them."""
    columns = (_NAME, *_CHANGED, TableColumn("computed by", words=True, folds=True, least=14))
    rows = (Row((names.of_node(change.name), *_change_of(change), _kinds(change))) for change in changes)
    return TextTable(columns, tuple(rows))


def _change_of(change: PartChange) -> tuple[str, str, str, str]:
    difference = change.change_ns
    return (
        estimated(change.before_ns),
        estimated(change.after_ns),
        _signed(difference.value),
        _ends(difference, _signed),
    )


def _signed(value_ns: float) -> str:
    """Return a change in milliseconds, with as many digits as the times beside it."""
    sign = "+" if value_ns > 0 else "-" if value_ns < 0 else ""
    return f"{sign}{milliseconds(abs(value_ns))}"


def _ends(estimate: Estimate, in_words: Callable[[float], str]) -> str:
    return ends_text(estimate.ends, in_words, marks_ranges=True).lstrip()


def _kinds(change: PartChange) -> str:
    if change.key == f"({change.name})":  # an operator without nodes, which is called as its kind
        return ""
    before, after = map(_kinds_text, change.kinds)
    return before if before == after else f"{before} -> {after}"


def _kinds_text(kinds: Sequence[str]) -> str:
    more = len(kinds) - _MOST_KINDS
    return ", ".join((*kinds[:_MOST_KINDS], *([f"{more} more"] if more > 0 else []))) or "nothing"
