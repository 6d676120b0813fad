"""The columns of the run table, in the order of exports, and by the headings of docs/exports.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from irbench.render.columns import cold_and_soak, generation, neighbours, row_facts, row_figures, serving
from irbench.render.columns.declaration import Column, Kind, ShownColumn

S = TypeVar("S", bound=ShownColumn[Any, Any])

_PARTS: tuple[tuple[str, tuple[Column[Any], ...]], ...] = (
    ("Every row", row_facts.RUN),
    ("Every row", row_facts.TABLE),
    ("Every row", row_facts.ROW),
    ("Every row", row_facts.ASKED),
    ("Latency", row_figures.LATENCY),
    ("Throughput", row_figures.THROUGHPUT),
    ("Latency", row_figures.MORE_LATENCY),
    ("Generation", generation.GENERATION),
    ("Comparison and correctness", row_figures.COMPARISON),
    ("Neighbours", neighbours.NEIGHBOURS),
    ("Phases and memory", row_figures.PHASES),
    ("Every row", row_facts.GRAPH),
    ("Every row", row_figures.ACCURACY),
    ("Energy", row_figures.ENERGY),
    ("Phases and memory", row_figures.PRIVATE_MEMORY),
    ("Every row", row_figures.WORK),
    ("Phases and memory", row_figures.MEMORY),
    ("Cold starts", cold_and_soak.COLD),
    ("Phases and memory", cold_and_soak.COLD_PHASES),
    ("Cold starts", cold_and_soak.COLD_FILES),
    ("Soaks", cold_and_soak.SOAK),
    ("Loads", serving.LOAD),
)

COLUMNS: Mapping[str, Column[Any]] = {column.name: column for _, part in _PARTS for column in part}
"""Every column by name: those of speeds first, then what cold starts, soaks and loads have besides."""

SECTIONS: Mapping[str, tuple[Column[Any], ...]] = {
    heading: tuple(column for other, part in _PARTS if other == heading for column in part)
    for heading in dict.fromkeys(heading for heading, _ in _PARTS)
}
"""The same by the headings under which docs/exports.md explains them."""


@cache
def columns_of(kind: Kind) -> tuple[Column[Any], ...]:
    """Return the columns that rows of a kind have, in the order of exports."""
    return tuple(column for column in COLUMNS.values() if column.has(kind))


def _in_order(shown: Iterable[tuple[Column[Any], S | None]]) -> tuple[tuple[Column[Any], S], ...]:
    return tuple(sorted(((column, how) for column, how in shown if how), key=lambda item: item[1].place))


IN_SPEEDS = _in_order((column, column.in_speeds) for column in COLUMNS.values())
IN_COLD_STARTS = _in_order((column, column.in_cold_starts) for column in COLUMNS.values())
IN_SOAKS = _in_order((column, column.in_soaks) for column in COLUMNS.values())
IN_LOADS = _in_order((column, column.in_loads) for column in COLUMNS.values())
"""What tables for people show, from left to right."""
