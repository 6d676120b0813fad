"""What a plan asks for: cells, the tables that compare them, and how its lists become tables."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, Literal, TypeAlias, get_args

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.options.option import options_of
from irbench.options.run import RunOptions, plan_key

Settings: TypeAlias = Mapping[str, Any]
"""Values by the key that a plan has for them, in the forms that JSON has; a key without a value has its default."""

Comparable: TypeAlias = Literal[
    "models", "backends", "batch", "threads", "streams", "instances", "precision", "optimize"
]
COMPARABLE: tuple[Comparable, ...] = get_args(Comparable)
"""Keys whose values may be rows of one table."""

USUAL_ROWS: tuple[Comparable, ...] = COMPARABLE[1:]
"""Those that are, unless a plan says otherwise: what is compared is interleaved, and models are different questions."""

AXES = (
    "models",
    "backends",
    "batch",
    "streams",
    "instances",
    "threads",
    "precision",
    "optimize",
    "cpus",
    "io",
    "shape",
    "data",
    "value",
    "prompt",
    "set",
    "seed",
)
"""Keys that may have a list of values, in the order in which cells are named and listed."""

_ID_LENGTH = 12
_NOT_OF_THE_CELL = frozenset(
    plan_key(name) for name, declared in options_of(RunOptions).items() if not declared.changes_cell
)
"""What changes nothing that is measured, and so no id."""
DEFAULTS: Settings = {"streams": 1, "instances": 1, "optimize": "none", "io": "copy", "seed": 0}
"""What a key means that is not there, so that writing it out changes no id."""


@dataclass(frozen=True)
class SweepCell:
    """One setting of a plan: what a row of a table is measured with, or every row where no backend is named."""

    settings: Settings

    @cached_property
    def id(self) -> str:
        """A digest of its settings: the same in every plan that has the cell, whatever else it has."""
        return digest({key: value for key, value in self.settings.items() if self._counts(key, value)})

    @property
    def label(self) -> str:
        """Its settings on the axes in a few words: ``resnet50 ort batch=8``."""
        return _label({key: self.settings[key] for key in AXES if key in self.settings})

    @staticmethod
    def _counts(key: str, value: Any) -> bool:
        return key not in _NOT_OF_THE_CELL and value is not False and DEFAULTS.get(key) != value


@dataclass(frozen=True)
class CurveStep:
    """The place of a table in a curve over batch sizes.

    Attributes:
        smallest: The batch that the curve begins with.
        stop_gain: The curve ends where a larger batch adds less than this share of throughput to every row.
    """

    curve: str
    stop_gain: float
    smallest: int


@dataclass(frozen=True)
class SweepTable:
    """Cells that are measured side by side.

    Attributes:
        cells: At least one; they differ in the keys of ``compare`` only.
        compare: Keys whose values are rows of the table.
        step: Its place in a curve; ``None`` where it is always measured.
    """

    cells: tuple[SweepCell, ...]
    compare: tuple[str, ...]
    step: CurveStep | None = None

    @cached_property
    def id(self) -> str:
        """A digest of its cells, in whichever order."""
        return digest(sorted(cell.id for cell in self.cells))

    @property
    def shared(self) -> Settings:
        """The settings that all of its cells have."""
        return {key: value for key, value in self.cells[0].settings.items() if key not in self.compare}

    @property
    def label(self) -> str:
        """What tells it from other tables, in a few words."""
        return _label({key: self.shared[key] for key in AXES if key in self.shared})

    @property
    def batch(self) -> int:
        """The batch size of all of its cells; 0 where none is given."""
        return int(self.shared.get("batch", 0))

    @property
    def batch_before(self) -> int | None:
        """The batch before its own in a curve, which is measured beside it; ``None`` where there is none."""
        return None if self.step is None or self.batch <= self.step.smallest else self.batch // 2

    @property
    def row_count(self) -> int:
        """How many rows it has: one for each cell, and in a curve another one at the batch before."""
        return len(self.cells) * (1 if self.batch_before is None else 2)

    def values(self, key: str) -> tuple[Any, ...]:
        """Return the different values that its cells have for a key, in their order; none where it is not set."""
        values = [cell.settings[key] for cell in self.cells if key in cell.settings]
        return tuple({json.dumps(value, sort_keys=True): value for value in values}.values())


@dataclass(frozen=True)
class Expansion:
    """Everything that a plan asks for."""

    tables: tuple[SweepTable, ...]
    seed: int

    @property
    def cells(self) -> tuple[SweepCell, ...]:
        """The cells of all tables."""
        return tuple(cell for table in self.tables for cell in table.cells)


def setting_text(value: Any) -> str:
    """Return the value of a setting as one word: ``length=128`` for a table of them."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={setting_text(inner)}" for name, inner in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(setting_text, value))
    return str(value)


def digest(value: Any) -> str:
    """Return the first digits of the SHA-256 of a value's JSON; equal values have equal digests."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_ID_LENGTH]


def _label(settings: Settings) -> str:
    plain = ("models", "backends")
    words = (setting_text(value) if key in plain else f"{key}={setting_text(value)}" for key, value in settings.items())
    return " ".join(words)


MOST_COMBINATIONS = 1 << 18
"""Of a plan: a few lines can ask for more cells than memory holds, and one cell takes seconds to measure."""

Lists = Mapping[str, Any]
"""Settings of a plan before they are combined: a tuple of values for each axis, and a value for any other key."""


@dataclass(frozen=True)
class Doubling:
    """Batch sizes that double until a larger one gains too little."""

    smallest: int = 1
    largest: int = 1024
    stop_gain: float = 0.05


@dataclass(frozen=True)
class Matrix:
    """Lists whose combinations are measured.

    Attributes:
        lists: Its settings, those of the plan's defaults among them.
        compare: Keys whose values are rows of one table.
        exclude: Combinations that are left out: a cell that has one of the values of each key.
        doubling: How the batch grows, in place of a list.
    """

    lists: Lists
    compare: tuple[str, ...]
    exclude: tuple[Lists, ...] = ()
    include: tuple[Lists, ...] = ()
    doubling: Doubling | None = None


class UnmatchedExclusion(Exception):
    """An exclusion leaves nothing out."""

    def __init__(self, matrix: int, exclusion: int) -> None:
        super().__init__(f"matrix[{matrix}].exclude[{exclusion}]")
        self.matrix = matrix
        self.exclusion = exclusion


class TooManyCombinations(Exception):
    """The lists of a plan have more combinations than are looked at."""

    def __init__(self, count: int) -> None:
        super().__init__(str(count))
        self.count = count


def expand(matrices: Sequence[Matrix], seed: int) -> Expansion:
    """Return the tables of a plan in the order in which they are measured.

    Cells that agree in every key outside ``compare`` are one table, also where several matrices name them.

    Args:
        matrices: Those of the plan.
        seed: Decides the order: what is added to a plan does not change the order of the rest.

    Raises:
        TooManyCombinations: There are more than ``MOST_COMBINATIONS``.
        UnmatchedExclusion: An exclusion leaves nothing out.
    """
    if (count := sum(map(_combination_count, matrices))) > MOST_COMBINATIONS:
        raise TooManyCombinations(count)
    tables: dict[tuple[str, tuple[str, ...], CurveStep | None], dict[str, SweepCell]] = defaultdict(dict)
    for number, matrix in enumerate(matrices):
        for cell, step in _cells(number, matrix):
            shared = {key: value for key, value in cell.settings.items() if key not in matrix.compare}
            rows = tuple(key for key in matrix.compare if key in cell.settings)  # a default has no row beside others
            tables[digest(shared), rows, step].setdefault(cell.id, cell)
    expanded = (SweepTable(tuple(cells.values()), rows, step) for (_, rows, step), cells in tables.items())
    return Expansion(in_order(expanded, seed), seed)


def doubled(doubling: Doubling) -> tuple[int, ...]:
    """Return the batch sizes of a curve that never ends early."""
    sizes: list[int] = []
    size = doubling.smallest
    while size <= doubling.largest:
        sizes.append(size)
        size *= 2
    return tuple(sizes)


def _all_lists(matrix: Matrix) -> Lists:
    return matrix.lists if matrix.doubling is None else {**matrix.lists, "batch": doubled(matrix.doubling)}


def _combination_count(matrix: Matrix) -> int:
    lists = _all_lists(matrix)
    own = prod(len(lists[key]) for key in AXES if key in lists)
    further = sum(prod(len(included[key]) for key in AXES if key in included) for included in matrix.include)
    return own * (1 + len(matrix.exclude)) + further


def _cells(number: int, matrix: Matrix) -> Iterator[tuple[SweepCell, CurveStep | None]]:
    doubling = matrix.doubling
    excluded = [0] * len(matrix.exclude)
    for settings in _combinations(_all_lists(matrix)):
        matching = [place for place, exclusion in enumerate(matrix.exclude) if _matches(settings, exclusion)]
        for place in matching:
            excluded[place] += 1
        if not matching:
            yield SweepCell(settings), None if doubling is None else _step(settings, matrix.compare, doubling)
    if 0 in excluded:
        raise UnmatchedExclusion(number, excluded.index(0))
    for lists in matrix.include:
        yield from ((SweepCell(settings), None) for settings in _combinations(lists))


def _combinations(lists: Lists) -> Iterator[Settings]:
    axes = [key for key in AXES if key in lists]
    others = {key: value for key, value in lists.items() if key not in axes}
    for values in product(*(lists[key] for key in axes)):
        yield {**dict(zip(axes, values, strict=True)), **others}


def _matches(settings: Settings, exclusion: Lists) -> bool:
    return all(settings.get(key) in (values if key in AXES else (values,)) for key, values in exclusion.items())


def _step(settings: Settings, compare: Sequence[str], doubling: Doubling) -> CurveStep:
    shared = {key: value for key, value in settings.items() if key not in (*compare, "batch")}
    return CurveStep(digest([shared, doubling.stop_gain]), doubling.stop_gain, doubling.smallest)


def in_order(tables: Iterable[SweepTable], seed: int) -> tuple[SweepTable, ...]:
    """Return tables in random order; those of a curve keep their places and take them with growing batch."""
    ordered = sorted(tables, key=lambda table: hashlib.sha256(f"{seed}/{table.id}".encode()).digest())
    places: dict[str, list[int]] = defaultdict(list)
    for place, table in enumerate(ordered):
        if table.step is not None:
            places[table.step.curve].append(place)
    for taken in places.values():
        growing = sorted((ordered[place] for place in taken), key=lambda table: table.batch)
        for place, table in zip(taken, growing, strict=True):
            ordered[place] = table
    return tuple(ordered)


_SHORTEST_ID = 4


@dataclass(frozen=True)
class Selector:
    """Cells that a user means.

    Attributes:
        settings: Values by key; a cell has all of them.
        beginning: Of a cell's or a table's id; empty where settings are given.
    """

    text: str
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    beginning: str = ""

    @classmethod
    def parse(cls, text: str) -> Selector:
        """Return the selector of ``batch=8,backends=ort``, or of the beginning of an id."""
        if "=" not in text:
            if len(text) < _SHORTEST_ID:
                raise IrbenchError(
                    f"{text!r} selects no cells.",
                    hint=f"Write key=value, or at least {_SHORTEST_ID} characters of an id: irbench plan expand PLAN",
                )
            return cls(text, beginning=text)
        settings = dict(_condition(part) for part in text.split(","))
        return cls(text, settings)

    def fits(self, table: SweepTable, cell: SweepCell) -> bool:
        """Return whether a cell of a table is meant."""
        if self.beginning:
            return cell.id.startswith(self.beginning) or table.id.startswith(self.beginning)
        return all(
            key in cell.settings and setting_text(cell.settings[key]) == value for key, value in self.settings.items()
        )


def select(expansion: Expansion, only: Sequence[str], skip: Sequence[str]) -> Expansion:
    """Return what is left of a plan; a table without cells is left out.

    Args:
        expansion: The whole plan.
        only: Cells that one of these selects are kept; all where there is none.
        skip: Of those, cells that one of these selects are left out.
    """
    kept, dropped = tuple(map(Selector.parse, only)), tuple(map(Selector.parse, skip))
    for selector in (*kept, *dropped):
        if not any(selector.fits(table, cell) for table in expansion.tables for cell in table.cells):
            raise IrbenchError(
                f"{selector.text!r} selects no cell of the plan.", hint="List its cells: irbench plan expand PLAN"
            )
    tables = (_selected(table, kept, dropped) for table in expansion.tables)
    left = tuple(table for table in tables if table.cells)
    if not left:
        raise IrbenchError("`--only` and `--skip` leave no cell of the plan.", hint="Leave one of them out.")
    return replace(expansion, tables=left)


def _selected(table: SweepTable, kept: Sequence[Selector], dropped: Sequence[Selector]) -> SweepTable:
    cells = tuple(
        cell
        for cell in table.cells
        if (not kept or any(selector.fits(table, cell) for selector in kept))
        and not any(selector.fits(table, cell) for selector in dropped)
    )
    return table if cells == table.cells else replace(table, cells=cells)


def _condition(text: str) -> tuple[str, str]:
    key, equals, value = text.strip().partition("=")
    if key not in AXES or not equals or not value:
        raise IrbenchError(
            f"{text!r} is not a setting of a cell.",
            hint=f"{did_you_mean(key, AXES)}Write key=value with one of: {', '.join(AXES)}.",
        )
    return key, value
