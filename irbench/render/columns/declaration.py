"""What a column of the run table is: declared once, for tables, exports, Python and the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

from irbench.core.cold_row import ColdRow, ColdTable
from irbench.core.quantities import NOT_MEASURED, significant
from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import CellResult, Spans
from irbench.core.serving_row import ServingRow, ServingTable
from irbench.core.soak_row import SoakRow, SoakTable
from irbench.notices import Context
from irbench.render.table_title import sizes_text

Kind: TypeAlias = Literal["speed", "cold-start", "soak", "load"]
"""What the table of a row is about."""
KINDS: tuple[Kind, ...] = ("speed", "cold-start", "soak", "load")
AnyRow: TypeAlias = CellResult | ColdRow | SoakRow | ServingRow
ComparedRow: TypeAlias = CellResult | ColdRow
ColumnType: TypeAlias = Literal["string", "int64", "double", "bool", "json"]
"""``json`` is open-ended: text with JSON in it where a format has columns of scalars only."""

V = TypeVar("V")
P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True)
class Values(Generic[V]):
    """What kind of values a column has."""

    type: ColumnType
    is_nullable: bool


TEXT, TEXT_ALWAYS = Values[str | None]("string", True), Values[str]("string", False)
COUNT, COUNT_ALWAYS = Values[int | None]("int64", True), Values[int]("int64", False)
NUMBER, NUMBER_ALWAYS = Values[float | None]("double", True), Values[float]("double", False)
FLAG, FLAG_ALWAYS = Values[bool | None]("bool", True), Values[bool]("bool", False)
FACTS = Values[Any]("json", True)


@dataclass(frozen=True)
class RowPart(Generic[R, P]):
    """A part of a row that not every row has; called with what reads a value from it, it reads that from a row."""

    find: Callable[[R], P | None]

    def __call__(self, read: Callable[[P], V]) -> Callable[[R], V | None]:
        """Return what reads a value from a row; ``None`` where it does not have the part."""
        find = self.find

        def of_row(row: R) -> V | None:
            part = find(row)
            return None if part is None else read(part)

        return of_row


@dataclass(frozen=True)
class RowSource:
    """A row, and what it belongs to.

    Attributes:
        table_number: Place of its table in the run, counted from 0.
        table: A :class:`GroupResult`, a ``ColdTable``, a ``SoakTable`` or a ``ServingTable``.
        row: A :class:`CellResult`, a ``ColdRow``, a ``SoakRow`` or a ``ServingRow``.
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
        return sizes_text(self.input_shapes)

    @property
    def input_shapes(self) -> Mapping[str, Sequence[int | str]]:
        """The shapes of its inputs, by name."""
        shapes: Mapping[str, Sequence[int | str]] = getattr(self.row, "shapes", None) or self.table.shapes
        return shapes

    @property
    def prompt(self) -> int | None:
        """Tokens of the prompt that the rows of its table generate after, whether or not it failed itself."""
        generations = (getattr(row, "generation", None) for row in getattr(self.table, "cells", ()))
        prompts = {generation.prompt for generation in generations if generation is not None}
        return prompts.pop() if len(prompts) == 1 else None


def _always(_table: object) -> bool:
    return True


def never(_table: object) -> bool:
    """Return ``False``: of a column that is shown on request."""
    return False


@dataclass(frozen=True)
class ShownColumn(Generic[R, T]):
    """How a table for people shows a column.

    Attributes:
        heading: Its name; made from the table and the confidence of intervals where it says what brackets hold.
        spread: How uncertain a row's value is, relative to it, which decides how many digits are shown.
        words: Whether it holds words, which stand to the left; numbers stand to the right.
        drops: Columns are left out where the table is too wide, that with the largest number first; 0 never.
        is_shown: Whether a table has it at all.
        is_usual: Whether a table shows it where no columns were asked for: those that answer which row to choose.
    """

    place: int
    heading: str | Callable[[T, float], str]
    form: Callable[[Any], str] = significant
    spread: Callable[[R], float | None] | None = None
    text: Callable[[R, T], str] | None = None
    words: bool = False
    drops: int = 0
    is_shown: Callable[[T], bool] = _always
    is_usual: Callable[[T], bool] = _always


@dataclass(frozen=True)
class Legend:
    """Lines below a table that explain a column.

    Attributes:
        place: Among those of other columns.
    """

    place: int
    texts: Callable[[GroupResult, Context], Iterable[str]]


@dataclass(frozen=True)
class ShownSpeed(ShownColumn[CellResult, GroupResult]):
    """How the table of speeds shows a column, which docs/reading-results.md explains.

    Attributes:
        when: When it is shown, in words.
        explained: What it means, in more words than exports have room for.
        spans: The figure over launches, which ``--intervals`` shows in its place.
        documented: What the document calls it, where its heading depends on the table.
    """

    when: str = "always"
    explained: str = ""
    spans: Callable[[CellResult], Spans | None] | None = None
    legend: Legend | None = None
    documented: str = ""


ShownCold: TypeAlias = ShownColumn[ColdRow, ColdTable]
ShownSoak: TypeAlias = ShownColumn[SoakRow, SoakTable]
ShownLoad: TypeAlias = ShownColumn[ServingRow, ServingTable]

_FPS = ("fps", "sustained_fps")
_UNITS = {
    "gflop_per_s": "GFLOP/s",
    "_ms": "ms",
    "_s": "s",
    "_ns": "ns",
    "_bytes": "bytes",
    "_bytes_per_call": "bytes per call",
    "_gb_per_s": "GB/s",
    "_calls_per_s": "calls/s",
    "_j": "J",
    "_w": "W",
    "requests_per_s": "requests/s",
    "tokens_per_s": "tokens/s",
    "answered_per_s": "requests/s",
}
"""By what names end with."""


@dataclass(frozen=True)
class Column(Generic[V]):
    """One column of the run table.

    Its value comes from the first of the functions that a row's kind has; a kind that has none of them has no such
    column.

    Attributes:
        meaning: One sentence, in docs/exports.md, in files of Arrow and Parquet, in OpenMetrics and in Python.
        source: Of a row and what it belongs to.
        kinds: Of rows that ``source`` reads.
        compared: Of a row of speeds or of cold starts.
    """

    name: str
    values: Values[V]
    meaning: str
    run: Callable[[RunDocument], V] | None = None
    source: Callable[[RowSource], V] | None = None
    kinds: tuple[Kind, ...] = KINDS
    group: Callable[[GroupResult], V] | None = None
    cold_table: Callable[[ColdTable], V] | None = None
    soak_table: Callable[[SoakTable], V] | None = None
    load_table: Callable[[ServingTable], V] | None = None
    speed: Callable[[CellResult], V] | None = None
    cold: Callable[[ColdRow], V] | None = None
    soak: Callable[[SoakRow], V] | None = None
    load: Callable[[ServingRow], V] | None = None
    compared: Callable[[ComparedRow], V] | None = None
    any_row: Callable[[AnyRow], V] | None = None
    in_python: bool = False
    in_speeds: ShownSpeed | None = None
    in_cold_starts: ShownCold | None = None
    in_soaks: ShownSoak | None = None
    in_loads: ShownLoad | None = None

    @property
    def type(self) -> ColumnType:
        """The type of its values in exports."""
        return self.values.type

    @property
    def is_nullable(self) -> bool:
        """Whether a row may lack a value."""
        return self.values.is_nullable

    @property
    def unit(self) -> str:
        """The unit of its values; empty for text, counts, ratios and shares."""
        if self.name.startswith(_FPS):
            return "samples/s"
        fitting = [ending for ending in _UNITS if self.name.endswith(ending)]
        return _UNITS[max(fitting, key=len)] if fitting and self.type != "string" else ""

    def of_row(self, kind: Kind) -> Callable[[Any], V] | None:
        """Return what reads its value from a row of a kind alone; ``None`` where nothing does."""
        own: dict[Kind, Callable[[Any], V] | None] = {
            "speed": self.speed or self.compared,
            "cold-start": self.cold or self.compared,
            "soak": self.soak,
            "load": self.load,
        }
        return own[kind] or self.any_row

    def of_source(self, kind: Kind) -> Callable[[RowSource], V] | None:
        """Return what reads its value from a row of a kind with its table and its run; ``None`` where nothing does."""
        own: dict[Kind, Callable[[Any], V] | None] = {
            "speed": self.group,
            "cold-start": self.cold_table,
            "soak": self.soak_table,
            "load": self.load_table,
        }
        of_table = own[kind]
        if of_table is not None:
            return lambda source: of_table(source.table)
        return self.source if kind in self.kinds else None

    def has(self, kind: Kind) -> bool:
        """Return whether rows of a kind have it."""
        return any(read is not None for read in (self.run, self.of_row(kind), self.of_source(kind)))

    def text(self, kind: Kind, shown: ShownColumn[R, T], row: R, table: T) -> str:
        """Return what a table for people shows of a row."""
        if shown.text is not None:
            return shown.text(row, table)
        read = cast("Callable[[R], V]", self.of_row(kind))
        value = read(row)
        if value is None:
            return NOT_MEASURED
        return shown.form(value) if shown.spread is None else significant(cast("float", value), shown.spread(row))


_Number: TypeAlias = Column[float | None]


@dataclass(frozen=True)
class OverLaunches:
    """A figure of a row of speeds over launches, with its interval: six columns.

    Attributes:
        figure: What their names begin with.
        unit: What they end with.
        spans: The figure; ``None`` where it was not measured.
        meaning: Of the median over launches.
        all_blocks: Of the figure over all blocks.
    """

    figure: str
    unit: str
    spans: Callable[[CellResult], Spans | None]
    meaning: str
    all_blocks: str

    @property
    def columns(self) -> tuple[_Number, _Number, _Number, _Number, _Number, _Number]:
        """The columns, in the order of exports."""
        of = RowPart(self.spans)
        name, unit = self.figure, self.unit
        return (
            Column(f"{name}_over_launches{unit}", NUMBER, self.meaning, speed=of(lambda spans: spans.value)),
            Column(f"{name}_low{unit}", NUMBER, "Lower end of its interval; null without one.",
                speed=of(lambda spans: spans.low)),
            Column(f"{name}_high{unit}", NUMBER, "Upper end of its interval.", speed=of(lambda spans: spans.high)),
            Column(f"{name}_all_blocks{unit}", NUMBER, self.all_blocks, speed=of(lambda spans: spans.all_blocks_value)),
            Column(f"{name}_range_low{unit}", NUMBER, "Smallest launch, where there are too few for an interval.",
                speed=of(lambda spans: spans.range_low)),
            Column(f"{name}_range_high{unit}", NUMBER, "Largest launch, likewise.",
                speed=of(lambda spans: spans.range_high)),
        )  # fmt: skip
