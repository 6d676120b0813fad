"""Stored sweeps, looked at again."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import msgspec

from irbench.api.arguments import results_folder
from irbench.errors import IrbenchError
from irbench.features.plan.expansion import SweepTable
from irbench.features.sweep.report import Sweep, overview_of
from irbench.store.folders import results_option
from irbench.store.listing import sweep_called
from irbench.store.sweeps import SweepProgress, stored_sweeps
from irbench.system.prepared_types import prepared


def load_sweep(name: str, *, results: str | PathLike[str] | None = None) -> Sweep:
    """Return a stored sweep, as far as it was measured.

    Args:
        name: What it is called.
        results: The folder where runs are kept; ``None`` for the usual place.

    Raises:
        IrbenchError: There is no such sweep, or it is damaged.
    """
    root = results_folder(results)
    found = stored_sweep(root, name)
    if found is None:
        known = ", ".join(state.header.name for state in stored_sweeps(root))
        raise IrbenchError(
            f"There is no sweep {name!r} in {root}.",
            hint=f"Sweeps: {known}" if known else f"List what is stored: irbench results{results_option(root)}",
        )
    return found


def stored_sweep(root: Path, name: str) -> Sweep | None:
    """Return the sweep that a name stands for; ``None`` where it names a run, or nothing."""
    state = sweep_called(root, name)
    if state is None:
        return None
    if not state.progress.asked:
        raise IrbenchError(
            f"The sweep {name} was begun by an older irbench, which did not store its tables.",
            hint=f"Go on with it once: irbench sweep PLAN --name {name} --resume{results_option(root)}",
        )
    return Sweep(state.folder, overview_of(tuple(_asked_tables(state.progress)), state, name, root))


def _asked_tables(progress: SweepProgress) -> Iterator[SweepTable]:
    """Yield the tables of the last call, and those of earlier ones that something happened to."""
    asked = [msgspec.convert(tables, prepared(tuple[SweepTable, ...])) for tables in progress.asked]
    last = {table.id for table in asked[-1]}
    tables = {table.id: table for tables in asked for table in tables}
    yield from (table for table in tables.values() if table.id in last or table.id in progress.tables)
