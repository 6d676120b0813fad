"""``irbench models``: list the models that can be exported by name."""

from __future__ import annotations

import json
import os
from typing import Any, Literal

import click

from irbench import registry
from irbench.spec import InputSpec
from irbench.spi import ModelSource

__all__ = ["command"]


@click.command("models", short_help="List the models of the zoo.")
@click.option("--format", "shape", type=click.Choice(["table", "json"]), default="table", help="How to print the list.")
def command(shape: Literal["table", "json"]) -> None:
    """List the models that can be exported by name, with their inputs. Imports no framework."""
    sources = [source for _, source in sorted(registry.load_all(registry.MODELS).items())]
    if shape == "json":
        click.echo(json.dumps([_document(source) for source in sources], indent=2))
    elif sources:
        _print_table(sources)
    else:
        click.echo("No package that is installed here brings models.", err=True)


def _document(source: ModelSource) -> dict[str, Any]:
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


def _print_table(sources: list[ModelSource]) -> None:
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("model", "inputs", "summary"):
        table.add_column(heading, no_wrap=heading != "summary")
    for source in sources:
        inputs = ", ".join(_input(one) for one in source.inputs)
        table.add_row(*(Text(cell) for cell in (source.name, inputs, f"{source.family}: {source.summary}")))
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        # A pipe has no width to fit into: lines stay whole.
        console = Console(width=Measurement.get(console, console.options.update(max_width=1000), table).maximum)
    console.print(table)


def _input(spec: InputSpec) -> str:
    return f"{spec.tensor.name} {spec.tensor.dtype}[{', '.join(str(size) for size in spec.tensor.shape)}]"
