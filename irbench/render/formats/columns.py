"""The columns of exported rows: name, type and unit, for rows that compare speeds, cold starts and soaks.

They follow from the fields of the rows' classes, so that a new field is a column by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from irbench.cold_row import ColdRow
from irbench.render.formats.column_names import column_name
from irbench.render.formats.fields import ColumnType, RowField, fields_of, value_at
from irbench.render.origin import command_text, is_confined, machine_text, versions
from irbench.render.table_title import is_own_code, sizes_text
from irbench.result import RunDocument
from irbench.row import CellResult
from irbench.soak_row import SoakRow

Kind: TypeAlias = Literal["speed", "cold-start", "soak"]
"""What the table of a row is about."""

_UNITS = {
    "gflop_per_s": "GFLOP/s",
    "_ms": "ms",
    "_s": "s",
    "_ns": "ns",
    "_bytes": "bytes",
    "_bytes_per_call": "bytes per call",
    "_j": "J",
    "_w": "W",
}
_FPS = ("fps", "sustained_fps")


@dataclass(frozen=True)
class RowSource:
    """A row, and what it belongs to.

    Attributes:
        document: Its run.
        kind: What its table is about.
        table_number: Place of its table in the run, counted from 0.
        table: A :class:`GroupResult`, a ``ColdTable`` or a ``SoakTable``.
        row: A :class:`CellResult`, a ``ColdRow`` or a ``SoakRow``.
        label: What the table calls it; no other row of the table is called the same.
    """

    document: RunDocument
    kind: Kind
    table_number: int
    table: Any
    row: Any
    label: str

    @property
    def model(self) -> str:
        """The model that the row ran."""
        return str(getattr(self.row, "model", None) or self.table.model)

    @property
    def shapes(self) -> str:
        """The shapes of its inputs, written as in the title of a table."""
        return sizes_text(getattr(self.row, "shapes", None) or self.table.shapes)


@dataclass(frozen=True)
class ExportColumn:
    """One column.

    Attributes:
        name: Ends with the unit where there is one.
        type: Of its values.
        is_nullable: Whether a row of its kind may lack a value.
        value: Its value of a row: a scalar, or for ``json`` what becomes JSON.
        path: The attributes of the row that lead to the value; empty where it is computed.
        is_of_run: Whether all rows of a run have the same value.
    """

    name: str
    type: ColumnType
    is_nullable: bool
    value: Callable[[RowSource], Any]
    path: str = ""
    is_of_run: bool = False

    @property
    def unit(self) -> str:
        """The unit of its values; empty for text, counts, ratios and shares."""
        if self.name.startswith(_FPS):
            return "samples/s"
        fitting = [ending for ending in _UNITS if self.name.endswith(ending)]
        return _UNITS[max(fitting, key=len)] if fitting and self.type != "string" else ""


_COMPUTED = frozenset(
    {
        "label", "peak_memory_bytes", "launches", "series", "batch", "model", "shapes", "given_inputs",
        "verified_against",
    }
)  # fmt: skip
"""Fields that have no column, or one that is made otherwise."""


def _of_field(field: RowField) -> ExportColumn:
    return ExportColumn(
        column_name(field.path),
        field.type,
        field.is_nullable,
        lambda source: value_at(source.row, field.path),
        path=field.path,
    )


def _of_row(row_type: type[Any], **places: str) -> Iterator[ExportColumn]:
    """Yield the columns of a row's fields.

    Args:
        row_type: The class of the row.
        places: Behind which field a field's columns stand, where that is not its place in the class.
    """
    found: dict[str, list[RowField]] = {}
    for field in fields_of(row_type):
        found.setdefault(field.path.partition(".")[0], []).append(field)
    moved = {behind: found.pop(name) for name, behind in places.items()}
    for name, own in found.items():
        fields = (*own, *moved.get(name, ()))
        yield from (_of_field(field) for field in fields if field.path.partition(".")[0] not in _COMPUTED)


def _of_table(name: str, kind: ColumnType, attribute: str = "", *, is_nullable: bool = False) -> ExportColumn:
    return ExportColumn(name, kind, is_nullable, lambda source: getattr(source.table, attribute or name))


def _of_run(name: str, value: Callable[[RunDocument], Any], kind: ColumnType = "string") -> ExportColumn:
    return ExportColumn(name, kind, False, lambda source: value(source.document), is_of_run=True)


def _of_plan(name: str, key: str) -> ExportColumn:
    return _of_run(name, lambda document: str(document.plan.get(key) or ""))


def _precision(source: RowSource) -> str:
    return str(source.row.effective.get("precision", source.row.requested.precision))


def _threads(source: RowSource) -> int | None:
    threads = source.row.effective.get("threads") or source.row.requested.threads
    return threads if isinstance(threads, int) else None


def _is_baseline(source: RowSource) -> bool:
    return bool(source.row.id == getattr(source.table, "baseline", None))


def _is_winner(source: RowSource) -> bool:
    return source.table.winner is not None and bool(source.row.id == source.table.winner.cell)


def _no_winner(source: RowSource) -> str | None:
    return None if source.table.lead is None else source.table.lead.reason


def _process_peak(source: RowSource) -> int | None:
    peak: int | None = (source.row.peak_memory_bytes or {}).get("process")
    return peak


def _counters(source: RowSource) -> Any:
    """Return the figures of the row's counters; ``None`` where nothing was counted."""
    tables = (table for table in source.document.counters if table.table == source.table_number)
    rows = (row for table in tables for row in table.rows if row.id == source.row.id)
    return next((row.figures for row in rows if row.figures), None)


def _is_confined(source: RowSource) -> bool | None:
    confined = is_confined(source.document)
    return confined and not is_own_code(source.row.backend, source.document.plan)


_RUN = (
    _of_run("run_id", attrgetter("run_id")),
    _of_plan("run_name", "name"),
    _of_plan("run_note", "note"),
    _of_run("created", attrgetter("created")),
    _of_run("irbench_version", attrgetter("irbench_version")),
    _of_run("machine", machine_text),
    ExportColumn("confined", "bool", True, _is_confined),
    _of_run("versions", versions, "json"),
    _of_run("command", command_text),
)
_TABLE = (
    ExportColumn("kind", "string", False, lambda source: source.kind),
    ExportColumn("table", "int64", False, lambda source: source.table_number),
    ExportColumn("model", "string", False, lambda source: source.model),
    ExportColumn("batch", "int64", False, lambda source: source.row.batch),
    ExportColumn("shapes", "string", False, lambda source: source.shapes),
    _of_table("stopped_by", "string"),
)
_ROW = (
    ExportColumn("label", "string", False, lambda source: source.label),
    ExportColumn("precision", "string", False, _precision),
    ExportColumn("threads", "int64", True, _threads),
)
_BASELINE = ExportColumn("is_baseline", "bool", False, _is_baseline)

COLUMNS_OF_KIND: Mapping[Kind, tuple[ExportColumn, ...]] = {
    "speed": (
        *_RUN,
        *_TABLE,
        _of_table("objective", "string"),
        _of_table("table_launches", "int64", "launches"),
        _of_table("preview", "bool"),
        _of_table("condition", "string", is_nullable=True),
        _of_table("blocks_measured", "int64"),
        _of_table("blocks_disturbed", "int64", is_nullable=True),
        ExportColumn("no_winner", "string", True, _no_winner),
        *_ROW,
        _BASELINE,
        ExportColumn("is_winner", "bool", False, _is_winner),
        *_of_row(CellResult, mode="device", output_error="speedup"),
        ExportColumn("peak_memory_bytes", "int64", True, _process_peak),
        ExportColumn("peak_memory_by_phase_bytes", "json", True, lambda source: source.row.peak_memory_bytes),
        ExportColumn("counters", "json", True, _counters),
    ),
    "cold-start": (
        *_RUN,
        *_TABLE,
        _of_table("rounds", "int64"),
        _of_table("preview", "bool"),
        *_ROW,
        _BASELINE,
        *_of_row(ColdRow, cache="device"),
        ExportColumn("launches", "int64", True, lambda source: len(source.row.launches)),
    ),
    "soak": (
        *_RUN,
        *_TABLE,
        _of_table("growth_limit_bytes_per_call", "double", "growth_limit"),
        *_ROW,
        *_of_row(SoakRow),
    ),
}
"""Of each kind of table, in the order in which formats have them."""


def _all_columns() -> dict[str, ExportColumn]:
    found: dict[str, ExportColumn] = {}
    for columns in COLUMNS_OF_KIND.values():
        for column in columns:
            found.setdefault(column.name, column)
    return found


COLUMNS: Mapping[str, ExportColumn] = _all_columns()
"""Every column by name: those of speeds first, then what cold starts and soaks have besides."""
