"""The state of each backend, as shown by ``irbench backends`` and ``irbench doctor``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from irbench.api.display import Displayable
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


def as_json(row: BackendRow) -> dict[str, Any]:
    """Return a row as JSON values."""
    return {
        **asdict(row.description),
        "install": row.description.install or None,
        "found": None if row.found is None else asdict(row.found),
        "problem": row.problem or None,
    }
