"""``irbench models``: list the models that can be exported by name."""

from __future__ import annotations

import json
from typing import Any

import click

from irbench.features.models.run import models as list_models
from irbench.options.values import ListingForm
from irbench.spi import ModelSource
from irbench.terminal.completion import FAMILY
from irbench.terminal.formats import TABLE_OR_JSON
from irbench.terminal.stderr import plugin_warnings_shown, say


@click.command(
    "models",
    epilog="\b\nExamples:\n  irbench models\n  irbench models --family transformer\n  irbench models --format json\n",
)
@click.option("--family", default="", type=FAMILY, metavar="TEXT", help="Only models whose family contains TEXT.")
@TABLE_OR_JSON
def command(family: str, form: ListingForm) -> None:
    """List the models of the zoo.

    Parameters are in millions. GMACs are 10^9 multiply-accumulates of matrix products and convolutions at batch 1 and
    the model's default sizes; a multiplication with its addition counts once. Shapes of inputs leave the batch out; a
    dimension with a name is dynamic.
    """
    from irbench.features.models.view import models_table
    from irbench.terminal import console

    with plugin_warnings_shown():
        sources = list_models(family)
    if form == "json":
        console.print_data(json.dumps({"models": [_as_json(source) for source in sources]}, indent=2), None)
    elif sources:
        console.print_data(console.to_text(models_table(sources)), None)
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
