"""Stored runs, listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from irbench.api.display import Displayable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from irbench.store.entries import RunEntry


class SweepEntry(msgspec.Struct, frozen=True):
    """One stored sweep, as listings show it.

    Attributes:
        created: When it was begun, ISO 8601, UTC.
        tables: How many of its tables were measured.
        failed: How many could not be.
        rows: Of its measured tables.
        runs: Ids of the runs that hold its tables.
    """

    name: str
    created: str
    models: tuple[str, ...]
    tables: int
    failed: int
    rows: int
    runs: tuple[str, ...]


class RunListing(Displayable, tuple["RunEntry", ...]):
    """Stored runs that show themselves as the table of ``irbench results``."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the table as text."""
        return str(self)

    def __rich__(self) -> RenderableType:
        """Return a line for each run; called by rich."""
        from irbench.features.results.view import run_table
        from irbench.measure.clock import utc_now

        return run_table(self, utc_now()) if self else "No stored run fits."
