"""The table of rows as a table of Arrow, and the files of Arrow and Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from irbench import __version__
from irbench.errors import ExitCode, IrbenchError
from irbench.render.formats.columns import ExportColumn
from irbench.render.formats.meanings import MEANINGS
from irbench.render.formats.row_table import RowTable

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["arrow_table", "as_arrow", "as_parquet"]


def arrow_table(table: RowTable) -> pa.Table:
    """Return rows as a table of Arrow, whose columns have the same types whatever was measured.

    Units and meanings of columns are metadata of its fields (``unit``, ``description``).

    Raises:
        IrbenchError: pyarrow is not installed.
    """
    pa = _pyarrow()
    types = {
        "string": pa.string(), "json": pa.string(), "int64": pa.int64(), "double": pa.float64(), "bool": pa.bool_()
    }  # fmt: skip
    fields = [pa.field(column.name, types[column.type], metadata=_metadata(column)) for column in table.columns]
    schema = pa.schema(fields, metadata={"irbench": __version__})
    return pa.Table.from_pylist(list(table.scalar_records()), schema=schema)


def as_arrow(table: RowTable) -> Iterator[bytes]:
    """Yield the file format of Arrow, which Feather 2 is too."""
    pa = _pyarrow()
    whole, buffer = arrow_table(table), io.BytesIO()
    with pa.ipc.new_file(buffer, whole.schema) as writer:
        writer.write_table(whole)
    yield buffer.getvalue()


def as_parquet(table: RowTable) -> Iterator[bytes]:
    """Yield a Parquet file."""
    whole, buffer = arrow_table(table), io.BytesIO()
    from pyarrow import parquet

    parquet.write_table(whole, buffer)
    yield buffer.getvalue()


def _metadata(column: ExportColumn) -> dict[str, str]:
    described = {"description": MEANINGS[column.name]} if column.name in MEANINGS else {}
    return {**described, **({"unit": column.unit} if column.unit else {})}


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise IrbenchError(
            "pyarrow is not installed.", hint="Install it with: pip install pyarrow", exit_code=ExitCode.NOT_INSTALLED
        ) from error
    return pa
