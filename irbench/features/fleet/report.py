"""What a fleet has measured: its targets, its tables, and its rows machine by machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from irbench.api.display import Displayable
from irbench.core.row import Spans
from irbench.errors import ExitCode
from irbench.features.fleet.asked_models import command_of
from irbench.features.fleet.journal import JobRecord, JournalDocument, TargetRecord
from irbench.features.fleet.machine_rows import FleetTable, MachineRow, price_per_million, rows_of_tables
from irbench.features.fleet.messages import Command
from irbench.features.fleet.options import FLEET
from irbench.features.fleet.problems import problems_text
from irbench.features.tune.options import TuneOptions
from irbench.notices.notes import Reference
from irbench.runs.results import Run
from irbench.spec import Objective, asked_objective
from irbench.store.listing import find_run
from irbench.store.runs import load_document

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class FleetOverview:
    """A fleet.

    Attributes:
        planned: How many tables its plan has.
        rows: The same rows of different machines are beside each other, the fastest first; of searches, the best first.
        command: What measured its tables.
        objective: What machines are compared by; ``None`` where they are not.
        level: The service level that requests were served with, as the command line takes it; empty of anything else.
        pools: That the last call asked; empty where it is not known.
    """

    name: str
    planned: int
    targets: tuple[TargetRecord, ...]
    tables: tuple[FleetTable, ...]
    rows: tuple[MachineRow, ...]
    command: Command = "sweep"
    objective: Objective | None = None
    level: str = ""
    pools: tuple[str, ...] = ()

    @property
    def all_tables(self) -> int:
        """How many tables there are: those of the plan for each pool, and what other pools have measured before."""
        asked = self._asked
        return self.planned * max(len(asked), 1) + sum(
            bool(table.run) for table in self.tables if table.pool not in asked
        )

    @property
    def left(self) -> int:
        """How many tables of the plan are still to be measured in the pools that were asked last."""
        asked = self._asked
        settled = sum(table.is_settled for table in self.tables if table.pool in asked)
        return max(self.planned * max(len(asked), 1) - settled, 0)

    @property
    def _asked(self) -> set[str]:
        seen = (table.pool for table in self.tables), (target.pool for target in self.targets)
        return set(self.pools) or set(chain.from_iterable(seen))

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

        The cheapest row comes first, and behind it those whose costs overlap its: only a row by itself is a winner. A
        row that is sure to hold no rate of requests yet takes part with the rate at which it fails.
        """
        return self._least([row for row in self._able if row.price_per_hour is not None], _cost)

    @property
    def best(self) -> tuple[tuple[MachineRow, ...], ...]:
        """Which row of each model is the best of all machines, by what was searched for: a setting, or a rate.

        Those whose intervals overlap its are behind it, as in :attr:`cheapest`. Empty where nothing was searched, or
        for processor times, which are of different processors.
        """
        if self.objective not in ("fps", "latency"):
            return ()
        if self.objective == "latency":
            return self._least([row for row in self._able if row.p50 is not None], _latency)
        return self._least([row for row in self._able if row.fps is not None or row.limit is not None], _time)

    @property
    def _able(self) -> Iterator[MachineRow]:
        """The rows that are right and fast enough."""
        return (row for row in self.rows if row.is_right and not row.is_too_slow)

    @staticmethod
    def _least(rows: Sequence[MachineRow], figure: _Figure) -> tuple[tuple[MachineRow, ...], ...]:
        by_model = groupby(sorted(rows, key=_model_and_table), key=_model_and_table)
        least = (_least_of(list(together), figure) for _, together in by_model)
        return tuple(rows for rows in least if figure(rows[0]).value < inf)


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
    if row.fps is None and row.limit is None:
        return _Between(inf if row.cost_per_million is None else row.cost_per_million, 0.0, inf)
    value, low, high = (price_per_million(row.price_per_hour, time) for time in _time(row))
    assert value is not None
    assert low is not None
    assert high is not None
    return _Between(value, low, high)


def _time(row: MachineRow) -> _Between:
    """Return the time of a sample by its FPS, or of a request by the rate that the row holds."""
    if row.limit is not None:
        passes, fails = row.limit.passes_per_s, row.limit.fails_per_s
        longest = 1 / passes if passes else inf
        return _Between(longest, 1 / fails if fails else 0.0, longest)
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
    rows = tuple(sorted(rows_of_tables(tables, prices, root), key=partial(_place, objective)))
    overview = FleetOverview(
        document.name, document.planned, targets, tables, rows, command, objective, level, document.pools
    )
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
    time = inf if row.fps is None and row.limit is None else _time(row).value
    by_table = (row.table, row.model)
    if objective is None:
        return (*by_table, row.row, p50, row.target)
    return (*by_table, p50 if objective == "latency" else time, row.target)
