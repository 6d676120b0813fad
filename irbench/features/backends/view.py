"""The runtimes as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from irbench.spi import Availability

if TYPE_CHECKING:
    from irbench.features.backends.report import BackendRow


def as_table(rows: Sequence[BackendRow]) -> Table:
    """Return a line for each backend."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("backend", "runtime", "version"):
        table.add_column(header, no_wrap=True)
    table.add_column("devices and precisions here", overflow="fold")
    for row in rows:
        description = row.description
        cells = (description.name, description.distribution, description.version or "-", _state(row))
        table.add_row(*(Text(cell) for cell in cells))  # as Text, because markup would eat [openvino]
    return table


def _state(row: BackendRow) -> str:
    if row.description.version is None:
        return f"not installed: {row.description.install}"
    if row.problem:
        return row.problem
    if row.found is None:
        return f"{', '.join(row.description.devices)} (not probed)"
    return "\n".join(_device(row.found, device) for device in row.found.devices) or "none"


def _device(availability: Availability, device: str) -> str:
    precisions = ", ".join(precision for precision in availability.precisions.get(device, ()) if precision != "native")
    return f"{device}: {precisions}; native is {availability.native.get(device, 'unknown')}"
