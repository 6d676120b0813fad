"""Measuring a sweep: table after table, each stored before the next begins."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from irbench.api.progress import Reporter
from irbench.errors import IrbenchError
from irbench.features.plan.expansion import SweepTable
from irbench.features.sweep.curve import CurvePoint, curve_end
from irbench.features.sweep.state import CurveEnded, StateFile, TableBegun, TableFailed
from irbench.features.sweep.swept_tables import SweepSetup, measure_table, table_done, table_options
from irbench.measure.lock import MeasurementLock, measuring
from irbench.optimizer import variant
from irbench.options.run import RunOptions
from irbench.requests.resolve import require_model, resolve_backends
from irbench.requests.run_requests import allowed_cpus, refuse_contradictions, requested
from irbench.runs.measurement import StoredRun
from irbench.runs.run_destination import RunDestination
from irbench.system import host
from irbench.system.signals import signals_deferred

_NOT_LOOKED_UP = ("batch", "shape", "data", "seed", "note")
"""Settings of a table that nothing has to be looked up for."""


def measure_tables(tables: Sequence[SweepTable], state: StateFile, setup: SweepSetup, reporter: Reporter) -> bool:
    """Measure every table that is left, in their order, and return whether none was interrupted.

    A table that cannot be measured is recorded with the reason, and the others go on.
    """
    if all(table.id in state.progress.done or is_left_out(table, state) for table in tables):
        return True  # whoever measures now is not disturbed
    with measuring(f"sweep {setup.name}", insist=setup.no_lock) as lock:
        sweep = _Sweep(tables, state, setup, lock, reporter)
        return all(sweep.measure(number, table) for number, table in enumerate(tables, start=1))


def problems_here(tables: Sequence[SweepTable], setup: SweepSetup) -> Iterator[str]:
    """Yield a line for each reason why tables cannot be measured on this machine, before anything is exported."""
    looked_up: set[str] = set()
    models: set[tuple[str, tuple[str, ...]]] = set()
    said: set[str] = set()
    for table in tables:
        shared = {key: value for key, value in table.shared.items() if key not in (*_NOT_LOOKED_UP, "models")}
        key = json.dumps([shared, *(table.values(key) for key in table.compare if key not in _NOT_LOOKED_UP)])
        unchecked = {(model, tuple(shared.get("import", ()))) for model in map(str, table.values("models"))} - models
        if key in looked_up and not unchecked:
            continue
        for problem in _problems(table, setup, known=key in looked_up):
            if problem not in said:
                yield f"{table.label}: {problem}"
            said.add(problem)
        looked_up.add(key)
        models |= unchecked


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


def _problems(table: SweepTable, setup: SweepSetup, *, known: bool) -> Iterator[str]:
    """Yield what is wrong with a table; what every part of it needs is looked up by itself, to name all at once."""
    try:
        options = table_options(table, setup)
    except IrbenchError as error:
        yield _problem_text(error)
        return
    checks = [partial(require_model, model, options.imports) for model in options.models]
    problems = tuple(_failing([*checks, *(() if known else _lookups(options))]))
    yield from problems
    if not (problems or known):
        yield from _failing([partial(requested, options)])


def _lookups(options: RunOptions) -> Iterator[Callable[[], object]]:
    yield partial(refuse_contradictions, options)
    yield from (partial(resolve_backends, (backend,)) for backend in options.backends or ())
    yield from (partial(variant, level) for level in options.optimize)
    yield partial(allowed_cpus, options.cpus)


def _failing(checks: Iterable[Callable[[], object]]) -> Iterator[str]:
    for check in checks:
        try:
            check()
        except IrbenchError as error:
            yield _problem_text(error)


def _problem_text(error: IrbenchError) -> str:
    return f"{error.message} {error.hint}".strip()
