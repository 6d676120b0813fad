"""What the parts of an inference are called in the tables of a profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from irbench.profiling.report import PartRow, ProfileReport
from irbench.render.node_names import short_names
from irbench.render.profile_texts import class_name

_MOST_TYPES = 5


class PartNames:
    """The names of a profile's rows: those of different rows differ, and a row has the same one in every table.

    Args:
        report: All rows.
    """

    def __init__(self, report: ProfileReport) -> None:
        self._nodes = short_names(row.name for row in report.nodes if row.nodes)
        rows = (*report.operators, *report.own_operators)
        self._operators = Counter(_operator(row, row.op_types[:_MOST_TYPES]) for row in _distinct(rows))

    def of(self, row: PartRow) -> str:
        """Return the name of a row by class, operator or node."""
        if row.key == str(row.operator_class):
            return class_name(row.operator_class)
        return self._of_nodes(row) if row.nodes else self._of_operator(row)

    def of_node(self, name: str) -> str:
        """Return a node's name as far as it is needed; other forms hold all of it."""
        return self._nodes.get(name, name)

    def _of_nodes(self, row: PartRow) -> str:
        """Return what a group of nodes is called: its main node, and how many others there are."""
        more = len(row.nodes) - 1
        return f"{self.of_node(row.name)} +{more}" if more > 0 else self.of_node(row.name)

    def _of_operator(self, row: PartRow) -> str:
        """Return what runtimes call an operator, and in parentheses the types of nodes that it stands for."""
        short = _operator(row, row.op_types[:_MOST_TYPES])
        if self._operators[short] < 2:
            return short
        return f"{_operator(row, row.op_types)}, {class_name(row.operator_class)}"


def _distinct(rows: Sequence[PartRow]) -> list[PartRow]:
    """Return rows without those that stand for the same operators as another: a part that is the whole of its row."""
    found = {(row.name, row.op_types, row.operator_class): row for row in rows}
    return list(found.values())


def _operator(row: PartRow, shown: Sequence[str]) -> str:
    if row.op_types in ((), (row.name,)) or row.name == ", ".join(row.op_types):
        return row.name
    more = len(row.op_types) - len(shown)
    types = ", ".join((*shown, *([f"{more} more"] if more else [])))
    return f"{row.name} ({types})"
