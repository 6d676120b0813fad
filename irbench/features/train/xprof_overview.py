"""What xprof says of traced training steps, read from the page that sums a trace up."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import msgspec

from irbench.core.training_row import StepOverview
from irbench.system.prepared_types import prepared

_STEP, _STEP_TIME = "stepnum", "stepTimeMs"
"""Columns of its table of steps: their names, and how long each took."""


class _Column(msgspec.Struct):
    id: str
    label: str
    type: str


class _Value(msgspec.Struct):
    v: Any = None


class _Row(msgspec.Struct):
    c: tuple[_Value, ...]


class _Table(msgspec.Struct):
    """A table of Google's visualisation API, with properties."""

    cols: tuple[_Column, ...] = ()
    rows: tuple[_Row, ...] = ()
    p: dict[str, str] = msgspec.field(default_factory=dict[str, str])

    def column_ms(self, column: str) -> float:
        """Return the mean of a column of numbers."""
        place = [known.id for known in self.cols].index(column)
        return fmean(float(row.c[place].v) for row in self.rows)


def overview_of(page: str) -> StepOverview:
    """Return what the page ``overview_page`` says of training steps.

    Its table of steps has more digits than the averages among its properties, so the means are taken here.

    Raises:
        ValueError: It is no such page, or says of no step.
    """
    try:
        tables = msgspec.json.decode(page, type=prepared(tuple[_Table, ...]))
        steps = next(table for table in tables if _STEP in (column.id for column in table.cols))
        advice = next(table.p for table in tables if "bottleneck" in table.p)
        if not steps.rows:
            raise ValueError("there is no step of training in it")
        parts = (column for column in steps.cols if column.type == "number" and column.id != _STEP_TIME)
        return StepOverview(
            steps=len(steps.rows),
            step_ms=steps.column_ms(_STEP_TIME),
            parts_ms={column.label: steps.column_ms(column.id) for column in parts},
            bottleneck=advice["bottleneck"],
            conclusion=advice["statement"],
        )
    except (StopIteration, IndexError, KeyError, TypeError) as error:
        raise ValueError("its answer has another form than that of this version") from error
