"""The tables of an operator profile that compare: backends, and two levels of optimisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irbench.profiling.cell_summary import CellSummary
from irbench.profiling.estimates import Estimate
from irbench.profiling.report import Change, Comparison, PartRow
from irbench.quantities import NOT_MEASURED
from irbench.render.figures import ends_text
from irbench.render.profile_names import PartNames
from irbench.render.profile_texts import class_name, milliseconds
from irbench.render.table import Column, Row, TextTable

_CHANGED = (Column("before"), Column("after"), Column("change"), Column("interval", words=True))
_NAME = Column("ms", words=True, folds=True, least=20, breaks_at="/", longest=20)
_MOST_KINDS = 3


def difference_table(rows: Sequence[PartRow], names: PartNames, cells: Sequence[CellSummary]) -> TextTable:
    """Return the groups of nodes that differ most between backends."""
    columns = (
        _NAME,
        Column("class", words=True, drops=2),
        *(Column(cell.label) for cell in cells),
        Column("differ"),
        Column("interval", words=True, drops=1),
    )
    return TextTable(columns, tuple(_difference_row(row, names, cells) for row in rows))


def class_change_table(comparison: Comparison) -> TextTable:
    """Return what became of each class of work between two levels."""
    rows = [Row((class_name(change.operator_class), *_change_of(change))) for change in comparison.classes]
    rows.append(Row(("sum of operators", *_change_of(comparison.total))))
    return TextTable((Column("ms", words=True), *_CHANGED), tuple(rows))


def node_change_table(changes: Sequence[Change], names: PartNames) -> TextTable:
    """Return the groups of nodes that changed most between two levels, with the operators that compute them."""
    columns = (
        _NAME,
        *_CHANGED,
        Column("computed by", words=True, folds=True, least=14),
    )
    rows = (Row((names.of_node(change.name), *_change_of(change), _kinds(change))) for change in changes)
    return TextTable(columns, tuple(rows))


def _difference_row(row: PartRow, names: PartNames, cells: Sequence[CellSummary]) -> Row:
    times = (row.figures[cell.id].time_ns if cell.id in row.figures else None for cell in cells)
    difference = row.difference_ns
    return Row(
        (
            names.of(row),
            class_name(row.operator_class),
            *map(_estimated, times),
            milliseconds(difference.value),
            _ends(difference, milliseconds),
        )
    )


def _change_of(change: Change) -> tuple[str, str, str, str]:
    found = change.change_ns
    return _estimated(change.before_ns), _estimated(change.after_ns), _signed(found.value), _ends(found, _signed)


def _estimated(found: Estimate | None) -> str:
    return NOT_MEASURED if found is None else milliseconds(found.value)


def _signed(value_ns: float) -> str:
    """Return a change in milliseconds, with as many digits as the times beside it."""
    sign = "+" if value_ns > 0 else "-" if value_ns < 0 else ""
    return f"{sign}{milliseconds(abs(value_ns))}"


def _ends(found: Estimate, in_words: Callable[[float], str]) -> str:
    return ends_text(found.ends, in_words, marks_ranges=True).lstrip()


def _kinds(change: Change) -> str:
    if change.key == f"({change.name})":  # an operator without nodes, which is called as its kind
        return ""
    before, after = map(_kinds_text, change.kinds)
    return before if before == after else f"{before} -> {after}"


def _kinds_text(kinds: Sequence[str]) -> str:
    more = len(kinds) - _MOST_KINDS
    return ", ".join((*kinds[:_MOST_KINDS], *([f"{more} more"] if more > 0 else []))) or "nothing"
