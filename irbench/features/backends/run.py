"""The state of each backend, as shown by ``irbench backends`` and ``irbench doctor``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from irbench.api.display import Displayable
from irbench.api.progress import Say
from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.requests import probes
from irbench.spi import Availability, Description

if TYPE_CHECKING:
    from irbench.api.progress import ProgressOption

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class BackendRow:
    """One backend.

    Attributes:
        description: What its metadata says.
        found: What it found when it last looked; ``None`` when it never did.
        problem: Why it could not look, with the way out; empty when nothing went wrong.
    """

    description: Description
    found: Availability | None = None
    problem: str = ""


class BackendListing(Displayable, tuple[BackendRow, ...]):
    """Backends that show themselves as the table of ``irbench backends``."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the table as text."""
        return str(self)

    def __rich__(self) -> Table:
        """Return a line for each backend; called by rich."""
        return as_table(self)


def backend_rows(*, look: bool, say: Say) -> list[BackendRow]:
    """Return what is known of every backend, importing no runtime unless it is to look."""
    described: dict[str, Description] = registry.describe_all(registry.BACKENDS)
    return [_row(description, say if look else None) for description in described.values()]


def as_json(row: BackendRow) -> dict[str, Any]:
    """Return a row as JSON values."""
    return {
        **asdict(row.description),
        "install": row.description.install or None,
        "found": None if row.found is None else asdict(row.found),
        "problem": row.problem or None,
    }


def as_table(rows: Sequence[BackendRow]) -> Table:
    """Return a table of rows."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("backend", "runtime", "version"):
        table.add_column(header, no_wrap=True)
    table.add_column("devices and precisions here", overflow="fold")
    for row in rows:
        description = row.description
        cells = (description.name, description.distribution, description.version or "-", _state(row))
        table.add_row(*(Text(cell) for cell in cells))  # as Text, because markup would eat irbench[openvino]
    return table


def _row(description: Description, say: Say | None) -> BackendRow:
    if description.version is None:
        return BackendRow(description)
    if say is None:
        return BackendRow(description, probes.remembered(description))
    say(f"probing {description.name} ...")
    try:
        return BackendRow(description, probes.probe(description))
    except IrbenchError as error:
        return BackendRow(description, problem=f"{error.message} {error.hint}".strip())


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


def backends(*, probe: bool = False, progress: ProgressOption = "auto") -> tuple[BackendRow, ...]:
    """Return the runtimes, shown as a table: versions, devices and precisions, or what installs them.

    Args:
        probe: Start each runtime and see what it has here; otherwise a former look is remembered.
        progress: ``"auto"`` or ``None``: whether a terminal or notebook hears which runtime is looked at.
    """
    from irbench.api.progress import reporting

    with reporting(progress) as reporter:
        return BackendListing(backend_rows(look=probe, say=reporter.say))
