"""The rows of a sweep as charts know them."""

from __future__ import annotations

from collections.abc import Sequence

from irbench.charts.records import ChartRow
from irbench.core.result import GroupResult
from irbench.render.columns.declaration import RowSource


def rows_by_model(sources: Sequence[RowSource]) -> dict[str, tuple[GroupResult, list[ChartRow]]]:
    """Return the rows with valid outputs of each model, over all tables, with the first of these tables."""
    by_model: dict[str, tuple[GroupResult, list[ChartRow]]] = {}
    for place, source in enumerate(sources):
        if source.row.state == "ok":
            _, rows = by_model.setdefault(source.model, (source.table, []))
            rows.append(ChartRow(f"r{place}", source.label, source.row))
    return by_model
