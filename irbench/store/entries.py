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
        name: What the user called it; empty without a name.
        note: What is to be remembered of it.
        batches: Batch sizes of the tables.
        streams: Numbers of inferences in flight of the rows.
        threads: Threads of each process; ``None`` where the runtimes chose.
        precisions: Effective precisions of the rows, or those asked for where they did not run.
        machine: The processor's model name, and how many processors there were; empty where nobody knows.
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
    name: str = ""
    note: str = ""
    batches: tuple[int, ...] = ()
    streams: tuple[int, ...] = ()
    threads: int | None = None
    precisions: tuple[str, ...] = ()
    machine: str = ""
