"""How far a sweep is, put together from its state and the stored runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from irbench.features.plan.cells import AXES, SweepTable
from irbench.features.sweep.execution import curve_points, is_left_out
from irbench.features.sweep.overview import CurveOverview, SweepOverview, TableOverview, best_of_sweep
from irbench.features.sweep.state import StateFile
from irbench.store.entries import RunEntry
from irbench.store.listing import list_runs


def overview_of(tables: Sequence[SweepTable], state: StateFile, name: str, root: Path) -> SweepOverview:
    """Return the tables of a sweep with how they ended, and its curves.

    Args:
        tables: In any order; they are returned by their settings, as a reader looks for them.
        state: How far the sweep is.
        name: Its name.
        root: The folder of results.
    """
    entries = {entry.run_id: entry for entry in list_runs(root).entries}
    shown = tuple(_table(table, state, entries) for table in sorted(tables, key=_by_settings))
    return SweepOverview(name, shown, tuple(_curves(tables, state)), best_of_sweep(shown))


def _by_settings(table: SweepTable) -> tuple[tuple[float, str], ...]:
    """Return what sorts tables by one setting after the other, numbers by their size."""
    values = (table.shared.get(key, "") for key in AXES)
    return tuple((value, "") if isinstance(value, int | float) else (math.inf, str(value)) for value in values)


def _table(table: SweepTable, state: StateFile, entries: Mapping[str, RunEntry]) -> TableOverview:
    done, failed = state.progress.done.get(table.id), state.progress.failed.get(table.id)
    if done is not None:
        entry = entries.get(done.run)
        return TableOverview(table, "done", done.run, entry, done.exit_code, undecided=done.undecided)
    if failed is not None:
        return TableOverview(table, "failed", "", None, failed.exit_code, failed.message, failed.hint)
    if is_left_out(table, state):
        return TableOverview(table, "left-out")
    begun = state.progress.begun.get(table.id)
    return TableOverview(table, "waiting") if begun is None else TableOverview(table, "interrupted", begun.run)


def _curves(tables: Sequence[SweepTable], state: StateFile) -> Iterator[CurveOverview]:
    first = {table.step.curve: table for table in reversed(tables) if table.step is not None}
    for curve, table in first.items():
        points = curve_points(tables, state, curve)
        if points and table.step is not None:
            label = replace(table, compare=(*table.compare, "batch")).label
            yield CurveOverview(label, points, table.step.stop_gain, state.progress.ends.get(curve))
