"""The state of each backend, as shown by ``irbench backends`` and ``irbench doctor``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from irbench.api.display import Displayable
from irbench.api.progress import ProgressOption, Say, reporting
from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.requests import probes
from irbench.spi import Availability, Description

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
        from irbench.features.backends.view import as_table

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


def backends(*, probe: bool = False, progress: ProgressOption = "auto") -> tuple[BackendRow, ...]:
    """Return the runtimes, shown as a table: versions, devices and precisions, or what installs them.

    Args:
        probe: Start each runtime and see what it has here; otherwise a former look is remembered.
        progress: ``"auto"`` or ``None``: whether a terminal or notebook shows which runtime is examined.
    """
    with reporting(progress) as reporter:
        return BackendListing(backend_rows(look=probe, say=reporter.say))
