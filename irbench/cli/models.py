"""``irbench models``: list the models that can be exported by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import click

from irbench import registry
from irbench.cli import plugins
from irbench.cli.groups import OneOf
from irbench.spec import InputSpec
from irbench.spi import ModelSource

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["command"]


@click.command(
    "models",
    short_help="List the models of the zoo.",
    epilog="\b\nExamples:\n  irbench models\n  irbench models --format json\n",
)
@click.option(
    "--format",
    "form",
    type=OneOf(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print it.",
)
def command(form: Literal["table", "json"]) -> None:
    """List the models that can be exported by name, with their inputs. Imports no framework."""
    from irbench.cli import console

    sources: list[ModelSource] = list(plugins.load_all(registry.MODELS).values())
    if form == "json":
        click.echo(json.dumps({"models": [_as_json(source) for source in sources]}, indent=2))
    elif sources:
        console.print_data(console.to_text(_table(sources)), None)
    else:
        click.echo("No installed package brings models.", err=True)


def _as_json(source: ModelSource) -> dict[str, Any]:
    return {
        "name": source.name,
        "family": source.family,
        "summary": source.summary,
        "classifier": source.classifier,
        "inputs": [
            {
                "name": one.tensor.name,
                "dtype": one.tensor.dtype,
                "shape": list(one.tensor.shape),
                "low": one.low,
                "high": one.high,
            }
            for one in source.inputs
        ],
        "defaults": dict(source.defaults),
    }


def _table(sources: list[ModelSource]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("model", "inputs", "what it is"):
        table.add_column(heading, no_wrap=heading != "what it is")
    for source in sources:
        inputs = ", ".join(_input(one) for one in source.inputs)
        table.add_row(*(Text(cell) for cell in (source.name, inputs, f"{source.family}: {source.summary}")))
    return table


def _input(spec: InputSpec) -> str:
    return f"{spec.tensor.name} {spec.tensor.dtype}[{', '.join(str(size) for size in spec.tensor.shape)}]"
