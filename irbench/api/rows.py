"""The rows of a run as flat values with types and units, and as a DataFrame."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from irbench.api.run_row import RunRow
from irbench.errors import IrbenchError
from irbench.render.columns.declaration import Column, RowSource
from irbench.render.formats.row_table import RowTable, row_values

if TYPE_CHECKING:
    import pandas as pd


def row_of(source: RowSource) -> RunRow:
    """Return a row with its values of those columns of exports that it has an attribute for."""
    values = row_values(source)
    return RunRow(**{column.name: values[column.name] for column in fields(RunRow)})


def rows_to_pandas(table: RowTable) -> pd.DataFrame:
    """Return rows as a DataFrame whose columns have the same types whatever was measured.

    Raises:
        IrbenchError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise IrbenchError("pandas is not installed.", hint="Install it with: pip install pandas") from error
    frame = pd.DataFrame(list(table.scalar_records()), columns=list(table.names))
    return frame.astype({column.name: _pandas_type(column) for column in table.columns if column.type in _PANDAS_TYPES})


_PANDAS_TYPES = {"int64": ("int64", "Int64"), "double": ("float64", "float64"), "bool": ("bool", "boolean")}
"""Of columns whose values are never and may be missing; text stays as it is."""


def _pandas_type(column: Column[Any]) -> str:
    never_missing, may_be_missing = _PANDAS_TYPES[column.type]
    return may_be_missing if column.is_nullable else never_missing
