"""The models of the zoo as a table."""

from __future__ import annotations

from collections.abc import Sequence

from irbench.render.table import ListingTable, Row, TableColumn, TextTable
from irbench.spec import InputSpec, shape_text
from irbench.spi import ModelSource

_LARGE, _SMALL, _FEWEST = 1000.0, 0.1, 0.001
"""Of a million parameters, or of 10^9 multiply-accumulates: all digits before the point are told above the first, two
below the second, none below the third."""


def models_table(sources: Sequence[ModelSource]) -> ListingTable:
    """Return a row for each model."""
    columns = (
        TableColumn("model", words=True),
        TableColumn("family", words=True),
        TableColumn("M params"),
        TableColumn("GMACs"),
        TableColumn("inputs", words=True, folds=True),
        TableColumn("what it is", words=True, drops=1),
    )
    return ListingTable(TextTable(columns, tuple(Row(_cells(source)) for source in sources)))


def _cells(source: ModelSource) -> tuple[str, ...]:
    figures = (_figure(source.parameters, 1e6), _figure(source.macs, 1e9))
    return (source.name, source.family, *figures, _inputs(source.inputs), source.summary)


def _figure(count: int | None, unit: float) -> str:
    """Return three digits; :mod:`irbench.render.figure_texts` says more, but takes longer to import than the rest."""
    if count is None:
        return "-"
    value = count / unit
    if value < _FEWEST:
        return f"<{_FEWEST}"
    return f"{value:.0f}" if value >= _LARGE else f"{value:#.{3 if value >= _SMALL else 2}g}".rstrip(".")


def _inputs(specs: tuple[InputSpec, ...]) -> str:
    """Return ``image 224x224x3``; inputs of one shape share it."""
    by_shape: dict[str, list[str]] = {}
    for spec in specs:
        _, *shape = spec.tensor.shape
        by_shape.setdefault(shape_text(shape) if shape else "", []).append(spec.tensor.name)
    return "; ".join(
        f"{', '.join(names)}{':' * (len(names) > 1 and bool(shape))} {shape}".strip()
        for shape, names in by_shape.items()
    )
