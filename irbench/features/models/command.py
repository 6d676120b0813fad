"""``irbench models``: list the models that can be exported by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from irbench.features.models.run import models as list_models
from irbench.options.values import ListingForm
from irbench.spec import InputSpec, shape_text
from irbench.spi import ModelSource
from irbench.terminal.completion import FAMILY
from irbench.terminal.formats import TABLE_OR_JSON
from irbench.terminal.stderr import plugin_warnings_shown, say

if TYPE_CHECKING:
    from irbench.render.table import ListingTable

_LARGE, _SMALL, _FEWEST = 1000.0, 0.1, 0.001
"""Of a million parameters, or of 10^9 multiply-accumulates: all digits before the point are told above the first, two
below the second, none below the third."""


@click.command(
    "models",
    epilog="\b\nExamples:\n  irbench models\n  irbench models --family transformer\n  irbench models --format json\n",
)
@click.option("--family", default="", type=FAMILY, metavar="TEXT", help="Only models whose family contains TEXT.")
@TABLE_OR_JSON
def command(family: str, form: ListingForm) -> None:
    """List the models that can be exported by name. Imports no framework.

    Parameters are in millions. GMACs are 10^9 multiply-accumulates of matrix products and convolutions at batch 1 and
    the model's default sizes; a multiplication with its addition counts once. Shapes of inputs leave the batch out; a
    dimension with a name is dynamic.
    """
    from irbench.terminal import console

    with plugin_warnings_shown():
        sources = list_models(family)
    if form == "json":
        console.print_data(json.dumps({"models": [_as_json(source) for source in sources]}, indent=2), None)
    elif sources:
        console.print_data(console.to_text(_table(sources)), None)
    else:
        say("No installed package provides models.")


def _as_json(source: ModelSource) -> dict[str, Any]:
    return {
        "name": source.name,
        "family": source.family,
        "summary": source.summary,
        "parameters": source.parameters,
        "macs": source.macs,
        "classifier": source.classifier,
        "inputs": [
            {
                "name": tensor.tensor.name,
                "dtype": tensor.tensor.dtype,
                "shape": list(tensor.tensor.shape),
                "low": tensor.low,
                "high": tensor.high,
            }
            for tensor in source.inputs
        ],
        "defaults": dict(source.defaults),
        "requires": list(source.requires),
    }


def _table(sources: Sequence[ModelSource]) -> ListingTable:
    from irbench.render.table import Column, ListingTable, Row, TextTable

    columns = (
        Column("model", words=True),
        Column("family", words=True),
        Column("M params"),
        Column("GMACs"),
        Column("inputs", words=True, folds=True),
        Column("what it is", words=True, drops=1),
    )
    return ListingTable(TextTable(columns, tuple(Row(_cells(source)) for source in sources)))


def _cells(source: ModelSource) -> tuple[str, ...]:
    figures = (_figure(source.parameters, 1e6), _figure(source.macs, 1e9))
    return (source.name, source.family, *figures, _inputs(source.inputs), source.summary)


def _figure(count: int | None, unit: float) -> str:
    """Return three digits; :mod:`irbench.render.figures` has more to say, but takes longer to import than the rest."""
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
