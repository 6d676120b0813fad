"""What a fleet has measured: its targets, its tables, and its rows machine by machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from irbench.api.display import Displayable
from irbench.core.record import Failure
from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import CellResult, Spans, State, distinguish, is_too_slow, name_of
from irbench.core.serving_row import LoadLimit, ServingRow, ServingTable, serving_names
from irbench.errors import ExitCode, IrbenchError
from irbench.features.fleet.asked_models import command_of
from irbench.features.fleet.journal import End, JobRecord, JournalDocument, TargetRecord
from irbench.features.fleet.messages import Command, TargetFacts, Tuned
from irbench.features.fleet.options import FLEET
from irbench.features.fleet.problems import TargetProblem, problems_text
from irbench.features.tune.options import TuneOptions
from irbench.notices.notes import Reference
from irbench.roofline import Bandwidth, ComputePeak
from irbench.runs.results import Run
from irbench.spec import Objective, asked_objective
from irbench.store.listing import find_run
from irbench.store.runs import load_document

if TYPE_CHECKING:
    from rich.console import RenderableType

_INFERENCES = 1e6
_SECONDS_OF_HOUR = 3600


class FoundByDoctor(msgspec.Struct, frozen=True):
    """One finding of a doctor on a target; see :mod:`irbench.features.doctor.findings`."""

    code: str
    found: str = ""
    remedy: str = ""


class BackendFound(msgspec.Struct, frozen=True):
    """A backend on a target: the version of its runtime, and why it cannot run; ``None`` where it can."""

    name: str
    version: str | None = None
    problem: str | None = None


class PeaksFound(msgspec.Struct, frozen=True):
    """What a machine attains at most; see :class:`irbench.roofline.MachinePeaks`."""

    compute: tuple[ComputePeak, ...] = ()
    bandwidth: tuple[Bandwidth, ...] = ()


class DoctorAnswer(msgspec.Struct, frozen=True):
    """What is read of the answer of a doctor on a target."""

    verdict: str
    findings: tuple[FoundByDoctor, ...] = ()
    backends: tuple[BackendFound, ...] = ()
    peak: PeaksFound | None = None


class TargetDiagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about a target.

    Attributes:
        problem: Why it may not measure; ``None`` where it may.
        clock_ahead_s: By how much its clock is ahead of this machine's; ``None`` where nobody knows.
    """

    name: str
    problem: TargetProblem | None = None
    facts: TargetFacts | None = None
    doctor: DoctorAnswer | None = None
    clock_ahead_s: float | None = None


class FleetDiagnosis(Displayable):
    """What was found out about all targets."""

    _command = FLEET

    def __init__(self, targets: Sequence[TargetDiagnosis]) -> None:
        self.targets = tuple(targets)

    @property
    def exit_code(self) -> int:
        """2 where no target may measure, 3 where some may not, otherwise 0."""
        usable = [not target.problem for target in self.targets]
        return int(ExitCode.OK if all(usable) else ExitCode.FAILED_CELL if any(usable) else ExitCode.USAGE)

    def to_json(self) -> str:
        """Return it as JSON."""
        from irbench.render.text_formats import json_text

        return json_text({"targets": msgspec.to_builtins(self.targets)}, indent=2)

    def __repr__(self) -> str:
        """Return how many targets may measure."""
        usable = sum(not target.problem for target in self.targets)
        return f"<FleetDiagnosis: {usable} of {len(self.targets)} targets may measure>"

    def __rich__(self) -> RenderableType:
        """Return the table as ``irbench fleet doctor`` prints it; called by rich."""
        from irbench.features.fleet.view import DiagnosisView

        return DiagnosisView(self.targets)


@dataclass(frozen=True)
class FleetTable:
    """One table of the plan on one pool.

    Attributes:
        target: That measured it; empty where none did.
        run: The id of the run that holds it; empty where none does.
        kind: How its job ended; see :class:`JobRecord`.
        problem: Why it was not measured, as its target said, or what is wrong with each target of its pool; empty where
            nothing is known.
        tuned: What a search found; ``None`` of anything else. ``run`` is then its confirmation, or the search itself
            where there is none.
    """

    label: str
    pool: str
    target: str
    kind: End
    run: str = ""
    exit_code: int = 0
    problem: str = ""
    hint: str = ""
    tuned: Tuned | None = None


@dataclass(frozen=True)
class MachineRow:
    """A row of a table on one machine, beside the same row on others; of a search, the row that is recommended.

    Attributes:
        table: What the settings of its table are.
        row: Its name there.
        p50: Of the latency in milliseconds over launches; ``None`` where it is not known.
        fps: Samples per second over launches. Of served requests the highest rate that keeps the service level, which
            lies below the lowest that does not: the end of its interval.
        cost_per_million: Of inferences of one sample, in the currency of the price; ``None`` without one.
        is_right: Whether its outputs match the reference; ``None`` where they were not compared.
        is_too_slow: Whether it answers later than the plan allows.
        reference: What its outputs were compared with; ``None`` where they were not.
        state: What became of it there.
        failure: Why it has no figures, or answers that do not count; ``None`` elsewhere.
        confidence: Of the intervals of its table.
        tuned: What a search found on the machine; ``None`` of anything else.
    """

    table: str
    model: str
    row: str
    target: str
    run: str
    p50: Spans | None
    fps: Spans | None
    cost_per_million: float | None
    is_right: bool | None
    is_too_slow: bool
    reference: Reference | None = None
    state: State = "ok"
    failure: Failure | None = None
    confidence: float = 0.95
    tuned: Tuned | None = None

    @property
    def has_figures(self) -> bool:
        """Whether it was measured to its end."""
        return self.state in ("ok", "mismatch")


@dataclass(frozen=True)
class FleetOverview:
    """A fleet.

    Attributes:
        planned: How many tables its plan has.
        rows: The same rows of different machines are beside each other, the fastest first; of searches, the best first.
        command: What measured its tables.
        objective: What machines are compared by; ``None`` where they are not.
        level: The service level that requests were served with, as the command line takes it; empty of anything else.
    """

    name: str
    planned: int
    targets: tuple[TargetRecord, ...]
    tables: tuple[FleetTable, ...]
    rows: tuple[MachineRow, ...]
    command: Command = "sweep"
    objective: Objective | None = None
    level: str = ""

    @property
    def references(self) -> tuple[Reference, ...]:
        """What outputs were compared with, each once: several where machines had different ones."""
        return tuple(dict.fromkeys(row.reference for row in self.rows if row.reference is not None))

    @property
    def tables_without_setting(self) -> tuple[FleetTable, ...]:
        """Searches that found nothing to recommend."""
        return tuple(table for table in self.tables if table.tuned is not None and table.tuned.setting is None)

    @property
    def cheapest(self) -> tuple[tuple[MachineRow, ...], ...]:
        """What costs the least of each model in each table, of the rows that are right and fast enough.

        The cheapest row comes first, and behind it those whose costs overlap its: only a row by itself is a winner.
        """
        return self._least([row for row in self._able if row.cost_per_million is not None], _cost)

    @property
    def best(self) -> tuple[tuple[MachineRow, ...], ...]:
        """Which row of each model is the best of all machines, by what was searched for: a setting, or a rate.

        Those whose intervals overlap its are behind it, as in :attr:`cheapest`. Empty where nothing was searched, or
        for processor times, which are of different processors.
        """
        if self.objective not in ("fps", "latency"):
            return ()
        figure = _latency if self.objective == "latency" else _time
        known = (row for row in self._able if (row.p50 if self.objective == "latency" else row.fps) is not None)
        return self._least(list(known), figure)

    @property
    def _able(self) -> Iterator[MachineRow]:
        """The rows that are right and fast enough."""
        return (row for row in self.rows if row.is_right and not row.is_too_slow)

    @staticmethod
    def _least(rows: Sequence[MachineRow], figure: _Figure) -> tuple[tuple[MachineRow, ...], ...]:
        by_model = groupby(sorted(rows, key=_model_and_table), key=_model_and_table)
        return tuple(_least_of(list(together), figure) for _, together in by_model)


def _model_and_table(row: MachineRow) -> tuple[str, str]:
    return (row.model, row.table)


class _Between(NamedTuple):
    """A figure of a row, of which less is better, and between what it lies; between any where that is not known."""

    value: float
    low: float
    high: float


_Figure: TypeAlias = Callable[[MachineRow], _Between]


def _least_of(rows: Sequence[MachineRow], figure: _Figure) -> tuple[MachineRow, ...]:
    """Return the row whose figure is the least, and those whose figures may be as low."""
    first, *others = sorted(rows, key=figure)
    return (first, *(row for row in others if figure(row).low <= figure(first).high))


def _cost(row: MachineRow) -> _Between:
    cost = row.cost_per_million
    assert cost is not None
    if row.fps is None:
        return _Between(cost, 0.0, inf)
    time = _time(row)
    return _Between(cost, cost * row.fps.value * time.low, cost * row.fps.value * time.high)


def _time(row: MachineRow) -> _Between:
    """Return the time of a sample by its FPS, which it has."""
    assert row.fps is not None
    value, low, high = _spans(row.fps)
    return _Between(1 / value, 1 / high, inf if low <= 0 else 1 / low)


def _latency(row: MachineRow) -> _Between:
    assert row.p50 is not None
    return _spans(row.p50)


def _spans(spans: Spans) -> _Between:
    if spans.ends is None or spans.ends.is_range:
        return _Between(spans.value, 0.0, inf)
    return _Between(spans.value, spans.ends.low, spans.ends.high)


class Fleet(Displayable):
    """A fleet, as far as it has measured.

    Attributes:
        name: Its name.
        overview: Its targets, its tables and its rows.
    """

    _command = FLEET

    def __init__(self, overview: FleetOverview, root: Path) -> None:
        self.name = overview.name
        self.overview = overview
        self._root = root

    @property
    def targets(self) -> tuple[TargetRecord, ...]:
        """Its machines."""
        return self.overview.targets

    @property
    def tables(self) -> tuple[FleetTable, ...]:
        """Its tables on each pool, and why one was not measured."""
        return self.overview.tables

    @property
    def rows(self) -> tuple[MachineRow, ...]:
        """The same rows of different machines beside each other, the fastest first."""
        return self.overview.rows

    @property
    def cheapest(self) -> tuple[tuple[MachineRow, ...], ...]:
        """What costs the least of each model in each table; several rows where their intervals overlap."""
        return self.overview.cheapest

    @property
    def best(self) -> tuple[tuple[MachineRow, ...], ...]:
        """The best setting or rate of all machines for each model; several rows where their intervals overlap."""
        return self.overview.best

    def runs(self) -> tuple[Run, ...]:
        """Return the run of each measured table.

        Raises:
            IrbenchError: A run is gone or damaged.
        """
        folders = (find_run(self._root, table.run) for table in self.tables if table.run)
        return tuple(Run(load_document(folder), folder) for folder in folders)

    @property
    def exit_code(self) -> int:
        """What the last call ends with: the gravest of its tables, 2 where nothing at all was measured.

        A target counts where something was wrong with it in that call.
        """
        tables = self.overview.tables
        codes = {table.exit_code for table in tables}
        if tables and not any(table.run for table in tables):
            return int(ExitCode.USAGE)
        if ExitCode.DIFFERENT in codes:
            return int(ExitCode.DIFFERENT)
        failed = any(table.problem or table.kind != "measured" for table in tables) or any(
            target.problem for target in self.overview.targets
        )
        return int(ExitCode.FAILED_CELL if codes - {ExitCode.OK} or failed else ExitCode.OK)

    def to_json(self) -> str:
        """Return its targets, its tables with their runs, and its rows machine by machine, as JSON."""
        from irbench.render.text_formats import json_text

        return json_text(msgspec.to_builtins(self.overview), indent=2)

    def __repr__(self) -> str:
        """Return its name and how much was measured."""
        done = sum(bool(table.run) for table in self.overview.tables)
        return f"<Fleet {self.name!r}: {done} of {len(self.overview.tables)} tables measured>"

    def __rich__(self) -> RenderableType:
        """Return the tables as ``irbench fleet`` prints them; called by rich."""
        from irbench.features.fleet.view import FleetView

        return FleetView(self.overview)


def report_of(document: JournalDocument, root: Path) -> Fleet:
    """Return what a journal says, with the figures of its runs in a folder of results."""
    tables = tuple(table for record in document.jobs.values() for table in _tables(record))
    targets = tuple(sorted(document.targets.values(), key=lambda target: target.name))
    prices = {target.name: target.price_per_hour for target in targets}
    command = command_of(document.plan)
    objective = asked_objective(document.plan.get("objective", TuneOptions.objective)) if command != "sweep" else None
    level = document.plan.get("slo", "") if command != "sweep" else ""
    rows = sorted(_rows(tables, prices, root), key=partial(_place, objective))
    overview = FleetOverview(document.name, document.planned, targets, tables, tuple(rows), command, objective, level)
    return Fleet(overview, root)


def _tables(record: JobRecord) -> Iterator[FleetTable]:
    why = record.message or problems_text(record.problems)
    if not record.tables:
        for label in record.labels:
            yield FleetTable(label, record.pool, record.target, record.kind, "", 0, why, record.hint)
        return
    by_label = zip(record.labels, record.tables, strict=False)
    for label, table in by_label:
        problem, hint = table.message or why, table.hint or record.hint
        yield FleetTable(
            label, record.pool, record.target, record.kind, table.run, table.exit_code, problem, hint, table.tuned
        )


def _place(objective: Objective | None, row: MachineRow) -> tuple[Any, ...]:
    """Return what rows are sorted by: the best first, of each row where machines are not compared by anything else."""
    p50 = inf if row.p50 is None else row.p50.value
    time = inf if row.fps is None else 1 / row.fps.value
    by_table = (row.table, row.model)
    if objective is None:
        return (*by_table, row.row, p50, row.target)
    return (*by_table, p50 if objective == "latency" else time, row.target)


def _rows(tables: Sequence[FleetTable], prices: Mapping[str, float | None], root: Path) -> Iterator[MachineRow]:
    for table in tables:
        if not table.run:
            continue
        try:
            document = load_document(find_run(root, table.run))
        except IrbenchError:
            continue  # it was removed
        yield from _rows_of(table, document, prices.get(table.target))


def _rows_of(table: FleetTable, document: RunDocument, price: float | None) -> Iterator[MachineRow]:
    """Yield the rows of a run; of a search, that of the recommended setting."""
    from irbench.render.speed_table import confidence_of

    confidence = confidence_of(document.plan)
    for group in document.groups:
        names = distinguish({cell.id: name_of(cell, cell.model or group.model) for cell in group.cells})
        for cell in group.cells:
            row = _row(table, group, cell, names[cell.id], confidence)
            if row.has_figures:
                reference = cell.verified_against or group.verified_against
                row = _with_figures(row, cell, reference, price)
            if table.tuned is None or _is_recommended(cell, table.tuned):
                yield row
    for served in document.serving:
        names = serving_names(served)
        limits = {limit.cell: limit for limit in served.limits}
        for load in {row.id: row for row in served.rows}.values():
            row = _row(table, served, load, names[load.id], served.confidence)
            if row.has_figures:
                row = replace(row, is_right=_is_right(load), reference=served.verified_against)
            if table.tuned is None or _is_recommended(load, table.tuned):
                yield _with_rate(row, limits.get(load.id), price)


def _is_recommended(cell: CellResult | ServingRow, tuned: Tuned) -> bool:
    return tuned.setting is not None and tuned.setting.row == cell.id


def _row(
    table: FleetTable,
    group: GroupResult | ServingTable,
    cell: CellResult | ServingRow,
    name: str,
    confidence: float,
) -> MachineRow:
    return MachineRow(
        table=table.label,
        model=(cell.model if isinstance(cell, CellResult) else None) or group.model,
        row=name,
        target=table.target,
        run=table.run,
        p50=None,
        fps=None,
        cost_per_million=None,
        is_right=None,
        is_too_slow=isinstance(cell, CellResult) and is_too_slow(cell),
        state=cell.state,
        failure=cell.failure,
        confidence=confidence,
        tuned=table.tuned,
    )


def _with_rate(row: MachineRow, limit: LoadLimit | None, price: float | None) -> MachineRow:
    """Return a row with the highest rate of requests that passes, and what a million requests cost at it."""
    if limit is None or limit.passes_per_s is None:
        return row
    rate = Spans(limit.passes_per_s, low=limit.passes_per_s, high=limit.fails_per_s)
    return replace(row, fps=rate, cost_per_million=_price_per_million(price, limit.passes_per_s))


def _price_per_million(price: float | None, per_s: float | None) -> float | None:
    return None if price is None or not per_s else price / _SECONDS_OF_HOUR / per_s * _INFERENCES


def _with_figures(row: MachineRow, cell: CellResult, reference: Reference | None, price: float | None) -> MachineRow:
    fps = cell.fps_over_launches.value if cell.fps_over_launches is not None else cell.fps
    return replace(
        row,
        p50=cell.p50_over_launches,
        fps=cell.fps_over_launches,
        cost_per_million=_price_per_million(price, fps),
        is_right=_is_right(cell),
        reference=reference,
    )


def _is_right(cell: CellResult | ServingRow) -> bool | None:
    return None if cell.state == "ok" and cell.output_error is None else cell.state == "ok"
