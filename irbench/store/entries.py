"""One line of a listing."""

from __future__ import annotations

import msgspec

__all__ = ["RunEntry"]


class RunEntry(msgspec.Struct, frozen=True):
    """One stored run, as listings show it; a struct, because thousands of them are read for every listing.

    Attributes:
        run_id: Its ULID.
        created: ISO 8601, UTC.
        folder: Where it lies.
        models: Names of the models.
        rows: Names of the rows, such as ``ort x4``, or ``ort fp32`` where one ran in several precisions.
        backends: Names of the backends, without device or streams.
        winners: Who won by how much, one sentence for each table that has a winner.
        outcomes: What came of each table: its winner, or what can be said instead; never empty.
        measured: Whether at least one cell has figures.
        launches: How many launches are stored.
        complete: Whether it ended by itself.
    """

    run_id: str
    created: str
    folder: str
    models: tuple[str, ...]
    rows: tuple[str, ...]
    backends: tuple[str, ...]
    winners: tuple[str, ...]
    outcomes: tuple[str, ...]
    measured: bool
    launches: int
    complete: bool
