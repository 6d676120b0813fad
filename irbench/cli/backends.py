"""``irbench backends``: what can run here, or what is missing and the command that installs it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from irbench import registry
from irbench.cli import plugins, probes
from irbench.errors import IrbenchError
from irbench.spi import Availability, Description

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["command"]


@dataclass(frozen=True)
class _Row:
    """One backend.

    Attributes:
        description: What its metadata says.
        found: What it found when it last looked; ``None`` when it never did.
        problem: Why it could not look, with the way out; empty when nothing went wrong.
    """

    description: Description
    found: Availability | None = None
    problem: str = ""


@click.command("backends", short_help="List the runtimes: versions, devices, or what installs them.")
@click.option(
    "--probe", "look", is_flag=True, help="Start each runtime and see which devices and precisions it has here."
)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(look: bool, form: Literal["table", "json"]) -> None:
    """List the runtimes: versions, devices, or what is missing and the command that installs it.

    Nothing is imported: devices and precisions are those a former --probe found with the same versions.
    """
    from irbench.cli import console

    rows = [_row(backend.describe(), look=look) for backend in plugins.load_all(registry.BACKENDS).values()]
    if form == "json":
        click.echo(json.dumps({"backends": [_as_json(row) for row in rows]}, indent=2))
        return
    console.print_data(console.to_text(_table(rows)), None)
    if any(row.description.version is not None and row.found is None and not row.problem for row in rows):
        click.echo("Devices and precisions on this machine: irbench backends --probe", err=True)


def _row(description: Description, *, look: bool) -> _Row:
    if description.version is None:
        return _Row(description)
    if not look:
        return _Row(description, probes.remembered(description))
    click.echo(f"looking at {description.name} ...", err=True)
    try:
        return _Row(description, probes.probe(description))
    except IrbenchError as error:
        return _Row(description, problem=f"{error.message} {error.hint}".strip())


def _as_json(row: _Row) -> dict[str, Any]:
    return {
        **asdict(row.description),
        "install": row.description.install or None,
        "found": None if row.found is None else asdict(row.found),
        "problem": row.problem or None,
    }


def _table(rows: list[_Row]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("backend", "runtime", "version"):
        table.add_column(header, no_wrap=True)
    table.add_column("devices and precisions here", overflow="fold")
    for row in rows:
        one = row.description
        cells = (one.name, one.distribution, one.version or "-", _state(row))
        table.add_row(*(Text(cell) for cell in cells))  # as Text, because markup would eat irbench[openvino]
    return table


def _state(row: _Row) -> str:
    """Say what is known of a backend's devices, or how to get there."""
    if row.description.version is None:
        return f"not installed: {row.description.install}"
    if row.problem:
        return row.problem
    if row.found is None:
        return f"{', '.join(row.description.devices)} (not probed)"
    return "\n".join(_device(row.found, device) for device in row.found.devices) or "none"


def _device(found: Availability, device: str) -> str:
    precisions = ", ".join(one for one in found.precisions.get(device, ()) if one != "native")
    return f"{device}: {precisions}; native is {found.native.get(device, 'unknown')}"
