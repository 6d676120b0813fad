"""The table of rows as a table of Arrow, and the files of Arrow and Parquet."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from irbench import __version__
from irbench.render.columns.declaration import Column
from irbench.render.formats.row_table import RowTable
from irbench.system.installation import require_libraries

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_OF_BATCH = 2000


def arrow_table(table: RowTable) -> pa.Table:
    """Return rows as a table of Arrow, whose columns have the same types whatever was measured.

    Units and meanings of columns are metadata of its fields (``unit``, ``description``).
    """
    return _pyarrow().Table.from_pylist(list(table.scalar_records()), schema=_schema(table))


def as_arrow(table: RowTable) -> Iterator[bytes]:
    """Yield the file format of Arrow, which Feather 2 is too."""
    yield from _batches(table, _pyarrow().ipc.new_file)


def as_parquet(table: RowTable) -> Iterator[bytes]:
    """Yield a Parquet file."""
    _pyarrow()
    from pyarrow import parquet

    yield from _batches(table, parquet.ParquetWriter)


def _batches(table: RowTable, open_writer: Callable[[Any, pa.Schema], Any]) -> Iterator[bytes]:
    """Yield what a writer makes of the rows, of which so many are held as one of its batches has."""
    pa, schema, file = _pyarrow(), _schema(table), _Pieces()
    records = table.scalar_records()
    with open_writer(file, schema) as writer:
        while batch := list(islice(records, _ROWS_OF_BATCH)):
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))
            yield file.taken()
    yield file.taken()


class _Pieces(io.RawIOBase):
    """A file for writers, from whose content is taken what they have written so far."""

    def __init__(self) -> None:
        self._content, self._taken = bytearray(), 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._taken + len(self._content)

    def write(self, data: Any) -> int:
        self._content += data
        return len(data)

    def taken(self) -> bytes:
        content = bytes(self._content)
        self._content.clear()
        self._taken += len(content)
        return content


def _schema(table: RowTable) -> pa.Schema:
    pa = _pyarrow()
    types = {
        "string": pa.string(), "json": pa.string(), "int64": pa.int64(), "double": pa.float64(), "bool": pa.bool_()
    }  # fmt: skip
    fields = [pa.field(column.name, types[column.type], metadata=_metadata(column)) for column in table.columns]
    return pa.schema(fields, metadata={"irbench": __version__})


def _metadata(column: Column[Any]) -> dict[str, str]:
    return {"description": column.meaning, **({"unit": column.unit} if column.unit else {})}


def _pyarrow() -> Any:
    require_libraries(("pyarrow",), "pyarrow is not installed.")
    import pyarrow as pa

    return pa
