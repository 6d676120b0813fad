"""What ``irbench plan expand`` lists: the tables of a plan, and how long they take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from irbench.features.plan.expansion import SweepTable
from irbench.features.plan.view import cells_table, common_text, times_text
from irbench.render.table import TextTable


@dataclass(frozen=True)
class ExpandedPlan:
    """The tables of a plan and how long they take.

    Attributes:
        tables: In the order of measurement.
        expected_s: How long tables took in stored runs, by their ids, in seconds.
        most_s: The time limit of each table, by its id, in seconds.
        problems: What cannot be measured on this machine, a line each.
    """

    tables: tuple[SweepTable, ...]
    expected_s: Mapping[str, float]
    most_s: Mapping[str, float]
    problems: tuple[str, ...]

    @property
    def table(self) -> TextTable:
        """A row for each cell."""
        return cells_table(self.tables, self.expected_s, self.most_s)

    @property
    def common(self) -> str:
        """The settings of all cells."""
        return common_text(self.tables)

    @property
    def times(self) -> str:
        """How many cells there are, and how long they take."""
        return times_text(self.tables, self.expected_s, self.most_s)

    def to_text(self, form: str) -> str:
        """Return the cells as ``json``, ``jsonl``, ``csv`` or ``md``."""
        if form == "json":
            return json.dumps({"cells": self._cells(), "problems": list(self.problems)}, indent=2)
        if form == "jsonl":
            return "".join(json.dumps(cell) + "\n" for cell in self._cells())
        return self.table.as_csv() if form == "csv" else self.table.as_markdown()

    def _cells(self) -> list[dict[str, Any]]:
        return [
            {
                "cell": cell.id,
                "table": table.id,
                "settings": cell.settings,
                "table_expected_s": self.expected_s.get(table.id),
                "table_most_s": self.most_s[table.id],
            }
            for table in self.tables
            for cell in table.cells
        ]
