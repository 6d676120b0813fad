"""A plan as it is shown: its cells, and how long its tables take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irbench.core.quantities import duration_text, plural
from irbench.features.plan.expansion import AXES, SweepTable, setting_text
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.table_title import SEPARATOR

_NONE = "-"
_DURATIONS = ("budget", "deadline", "sustain")


def cells_table(
    tables: Sequence[SweepTable], expected_s: Mapping[str, float], most_s: Mapping[str, float]
) -> TextTable:
    """Return a row for each cell in the order of measurement, with the settings that differ."""
    keys = _differing(tables)
    columns = (
        TableColumn("table"),
        TableColumn("cell", words=True),
        *(TableColumn(key, words=key in ("models", "backends", "optimize"), folds=key == "models") for key in keys),
        TableColumn("table takes", words=True, drops=1),
    )
    rows = [
        Row(
            (
                str(number),
                cell.id,
                *(setting_text(cell.settings.get(key, _NONE)) for key in keys),
                _time_text(table, expected_s, most_s),
            )
        )
        for number, table in enumerate(tables, start=1)
        for cell in table.cells
    ]
    return TextTable(columns, tuple(rows))


def common_text(tables: Sequence[SweepTable]) -> str:
    """Return the settings that all cells have, in one line; empty where there are none."""
    settings = tables[0].cells[0].settings
    differing = _differing(tables)
    common = {
        key: value
        for key, value in settings.items()
        if key not in differing and all(cell.settings.get(key) == value for table in tables for cell in table.cells)
    }
    return SEPARATOR.join(_common_word(key, value) for key, value in common.items())


def _common_word(key: str, value: Any) -> str:
    if key == "models" or value is True:
        return setting_text(value) if key == "models" else key
    return f"{key}={value:g}s" if key in _DURATIONS else f"{key}={setting_text(value)}"


def times_text(tables: Sequence[SweepTable], expected_s: Mapping[str, float], most_s: Mapping[str, float]) -> str:
    """Return how many cells and tables there are, and how long they take."""
    cells = sum(len(table.cells) for table in tables)
    most = sum(most_s[table.id] for table in tables)
    known = [expected_s[table.id] for table in tables if table.id in expected_s]
    text = f"{plural(cells, 'cell')} in {plural(len(tables), 'table')}; time limit {duration_text(most)} plus exports"
    if any(table.step is not None for table in tables):
        text += ", less where curves end early"
    text += "; a first launch may take longer"
    if known:
        text += f"; stored runs of {plural(len(known), 'table')} took {duration_text(sum(known))}"
    return text


def _differing(tables: Sequence[SweepTable]) -> tuple[str, ...]:
    values: dict[str, set[str]] = {key: set() for key in AXES}
    for table in tables:
        for cell in table.cells:
            for key in AXES:
                values[key].add(setting_text(cell.settings.get(key, "")))
    return tuple(key for key in AXES if len(values[key]) > 1)


def _time_text(table: SweepTable, expected_s: Mapping[str, float], most_s: Mapping[str, float]) -> str:
    if table.id in expected_s:
        return f"took {duration_text(expected_s[table.id])}"
    return f"limit {duration_text(most_s[table.id])}"
