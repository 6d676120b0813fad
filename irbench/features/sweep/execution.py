"""Measuring a sweep: table after table, each stored before the next begins."""

from __future__ import annotations

from collections.abc import Sequence

from irbench.api.progress import Reporter
from irbench.errors import IrbenchError
from irbench.features.plan.expansion import SweepTable
from irbench.features.plan.table_options import SweepSetup
from irbench.features.sweep.curve import curve_end
from irbench.features.sweep.swept_tables import measure_table, table_done
from irbench.measure.lock import MeasurementLock, measuring
from irbench.runs.measurement import StoredRun
from irbench.runs.run_destination import RunDestination
from irbench.store.sweeps import CurveEnded, CurvePoint, StateFile, TableBegun, TableFailed
from irbench.system import host
from irbench.system.signals import signals_deferred


def measure_tables(tables: Sequence[SweepTable], state: StateFile, setup: SweepSetup, reporter: Reporter) -> bool:
    """Measure every table that is left, in their order, and return whether none was interrupted.

    A table that cannot be measured is recorded with the reason, and the others go on.
    """
    if all(table.id in state.progress.done or is_left_out(table, state) for table in tables):
        return True  # whoever measures now is not disturbed
    with measuring(f"sweep {setup.name}", insist=setup.no_lock) as lock:
        sweep = _Sweep(tables, state, setup, lock, reporter)
        return all(sweep.measure(number, table) for number, table in enumerate(tables, start=1))


def curve_points(tables: Sequence[SweepTable], state: StateFile, curve: str) -> tuple[CurvePoint, ...]:
    """Return the measured points of a curve, with growing batch."""
    points = (state.progress.point(table.id) for table in tables if table.step and table.step.curve == curve)
    return tuple(sorted((point for point in points if point is not None), key=lambda point: point.batch))


def is_left_out(table: SweepTable, state: StateFile) -> bool:
    """Return whether a table lies beyond the end of its curve."""
    end = None if table.step is None else state.progress.ends.get(table.step.curve)
    return end is not None and table.id not in state.progress.done and table.batch > end.batch


class _Sweep:
    def __init__(
        self,
        tables: Sequence[SweepTable],
        state: StateFile,
        setup: SweepSetup,
        lock: MeasurementLock,
        reporter: Reporter,
    ) -> None:
        self._tables = tables
        self._state = state
        self._setup = setup
        self._lock = lock
        self._reporter = reporter

    def measure(self, number: int, table: SweepTable) -> bool:
        """Measure a table unless it is measured or not wanted any more; return whether it was not interrupted."""
        if table.id in self._state.progress.done or self._is_beyond(table):
            return True
        self._reporter.say(f"table {number} of {len(self._tables)}: {table.label} ({table.id})")
        try:
            stored = measure_table(table, self._setup, self._destination(table), self._lock, self._reporter)
        except IrbenchError as error:
            self._fail(table, error)
            return True
        except KeyboardInterrupt:  # while its model was exported, for example
            return False
        return self._finish(table, stored)

    def _destination(self, table: SweepTable) -> RunDestination:
        begun = self._state.progress.begun.get(table.id)
        return RunDestination(
            results=self._setup.results,
            unfinished=None if begun is None else begun.run,
            begun=lambda run: self._state.add(TableBegun(table.id, run)),
        )

    def _finish(self, table: SweepTable, stored: StoredRun) -> bool:
        if stored.document.was_interrupted:
            return False
        with signals_deferred():
            self._state.add(table_done(table, stored))
        self._reporter.say(f"stored in {stored.folder}")
        return True

    def _fail(self, table: SweepTable, error: IrbenchError) -> None:
        self._state.add(TableFailed(table.id, error.message, error.hint, int(error.exit_code)))
        self._reporter.say(f"error: {table.label}: {error.message}")
        if error.hint:
            self._reporter.say(f"hint: {error.hint}")

    def _is_beyond(self, table: SweepTable) -> bool:
        """Return whether a table lies beyond the end of its curve, which is found here where it was not known."""
        step = table.step
        if step is None:
            return False
        if step.curve not in self._state.progress.ends:
            points = curve_points(self._tables, self._state, step.curve)
            end = curve_end(step.curve, points, step.stop_gain, table.batch, host.available_memory_bytes())
            if end is not None:
                self._state.add(CurveEnded(end))
        return is_left_out(table, self._state) or self._follows_failure(table)

    def _follows_failure(self, table: SweepTable) -> bool:
        """Return whether a smaller batch of the curve could not be measured, which may be fixed."""
        smaller = (other for other in self._tables if other.step == table.step and other.batch < table.batch)
        return any(other.id in self._state.progress.failed for other in smaller)
