"""What a fleet has measured: its targets, its tables, and its rows machine by machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, repeat
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from irbench.api.display import Displayable
from irbench.core.record import Failure
from irbench.core.result import RunDocument
from irbench.core.row import CellResult, Spans, State, distinguish, is_too_slow, name_of
from irbench.core.serving_row import LoadLimit, ServingRow, ServingTable
from irbench.errors import ExitCode, IrbenchError
from irbench.features.fleet.asked_models import command_of
from irbench.features.fleet.journal import End, JobRecord, JournalDocument, TargetRecord
from irbench.features.fleet.messages import Command, TableOutcome, Tuned
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

_INFERENCES = 1e6
_SECONDS_OF_HOUR = 3600


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

    @property
    def is_settled(self) -> bool:
        """Whether it was measured, or lies beyond the end of its curve: nothing of it is left to measure."""
        return self.kind == "measured" and not self.problem


@dataclass(frozen=True)
class MachineRow:
    """A row of a table on one machine, beside the same row on others; of a search, the row that is recommended.

    Attributes:
        table: What the settings of its table are.
        row: Its name there; of a search without its batch and threads, which its setting has.
        p50: Of the latency in milliseconds over launches; ``None`` where it is not known.
        fps: Samples per second over launches; ``None`` of served requests.
        cost_per_million: Of inferences of one sample, or of requests at the highest rate that keeps the service level,
            in the currency of the price; ``None`` without one.
        is_right: Whether its outputs match the reference; ``None`` where they were not compared.
        is_too_slow: Whether it answers later than the plan allows.
        reference: What its outputs were compared with; ``None`` where they were not.
        state: What became of it there.
        failure: Why it has no figures, or answers that do not count; ``None`` elsewhere.
        confidence: Of the intervals of its table.
        tuned: What a search found on the machine; ``None`` of anything else.
        limit: Of served requests, between which rates it ceases to keep the service level; ``None`` of anything else.
        price_per_hour: What its machine costs; ``None`` where it is not known.
    """

    table: str
    model: str
    row: str
    target: str
    run: str
    p50: Spans | None = None
    fps: Spans | None = None
    cost_per_million: float | None = None
    is_right: bool | None = None
    is_too_slow: bool = False
    reference: Reference | None = None
    state: State = "ok"
    failure: Failure | None = None
    confidence: float = 0.95
    tuned: Tuned | None = None
    limit: LoadLimit | None = None
    price_per_hour: float | None = None

    @property
    def has_figures(self) -> bool:
        """Whether it was measured to its end."""
        return self.state in ("ok", "mismatch")


@dataclass(frozen=True, repr=False, eq=False)
class Fleet(Displayable):
    """A fleet, as far as it has measured.

    Attributes:
        name: Its name.
        planned: How many tables its plan has.
        targets: Its machines.
        tables: Its tables on each pool, and why one was not measured.
        rows: The same rows of different machines are beside each other, the fastest first; of searches, the best first.
        command: What measured its tables.
        objective: What machines are compared by; ``None`` where they are not.
        level: The service level that requests were served with, as the command line takes it; empty of anything else.
        pools: That the last call asked; empty where it is not known.
        root: The folder of results that has its runs.
    """

    _command = FLEET

    name: str
    planned: int
    targets: tuple[TargetRecord, ...]
    tables: tuple[FleetTable, ...]
    rows: tuple[MachineRow, ...]
    command: Command = "sweep"
    objective: Objective | None = None
    level: str = ""
    pools: tuple[str, ...] = ()
    root: Path = Path()

    @property
    def overview(self) -> Fleet:
        """The fleet itself, which has its targets, its tables and its rows."""
        return self

    @property
    def all_tables(self) -> int:
        """How many tables there are: those of the plan for each pool, and what other pools have measured before."""
        asked = self._asked
        before = sum(bool(table.run) for table in self.tables if table.pool not in asked)
        return self.planned * max(len(asked), 1) + before

    @property
    def left(self) -> int:
        """How many tables of the plan are still to be measured in the pools that were asked last."""
        asked = self._asked
        settled = sum(table.is_settled for table in self.tables if table.pool in asked)
        return max(self.planned * max(len(asked), 1) - settled, 0)

    @property
    def _asked(self) -> set[str]:
        return set(self.pools) or {table.pool for table in self.tables} | {target.pool for target in self.targets}

    @property
    def cheapest(self) -> tuple[tuple[MachineRow, ...], ...]:
        """What costs the least of each model in each table, of the rows that are right and fast enough.

        The cheapest row comes first, and behind it those whose costs overlap its: only a row by itself is a winner. A
        row that is sure to hold no rate of requests yet takes part with the rate at which it fails.
        """
        return tuple(self._least(_cost))

    @property
    def best(self) -> tuple[tuple[MachineRow, ...], ...]:
        """Which row of each model is the best of all machines, by what was searched for: a setting, or a rate.

        Those whose intervals overlap its are behind it, as in :attr:`cheapest`. Empty where nothing was searched, or
        for processor times, which are of different processors.
        """
        if self.objective not in ("fps", "latency"):
            return ()
        return tuple(self._least(_time if self.objective == "fps" else lambda row: _between(row.p50)))

    def _least(self, figure: Callable[[MachineRow], _Between | None]) -> Iterator[tuple[MachineRow, ...]]:
        """Yield the row of each model in each table whose figure is the least, and those whose may be as low."""
        able = (row for row in self.rows if row.is_right and not row.is_too_slow)
        known = [(row.model, row.table, between, row) for row in able if (between := figure(row)) is not None]
        known.sort(key=lambda each: each[:3])
        for _, together in groupby(known, key=lambda each: each[:2]):
            (_, _, least, first), *others = together
            if least.value < inf:
                yield (first, *(row for _, _, between, row in others if between.low <= least.high))

    def runs(self) -> tuple[Run, ...]:
        """Return the run of each measured table.

        Raises:
            IrbenchError: A run is gone or damaged.
        """
        folders = (find_run(self.root, table.run) for table in self.tables if table.run)
        return tuple(Run(load_document(folder), folder) for folder in folders)

    @property
    def exit_code(self) -> int:
        """What the last call ends with: the gravest of its tables, 2 where nothing at all was measured.

        A target counts where something was wrong with it in that call.
        """
        codes = {table.exit_code for table in self.tables}
        if self.tables and not any(table.run for table in self.tables):
            return int(ExitCode.USAGE)
        if ExitCode.DIFFERENT in codes:
            return int(ExitCode.DIFFERENT)
        failed = not all(table.is_settled for table in self.tables) or any(target.problem for target in self.targets)
        return int(ExitCode.FAILED_CELL if codes - {ExitCode.OK} or failed else ExitCode.OK)

    def to_json(self) -> str:
        """Return its targets, its tables with their runs, and its rows machine by machine, as JSON."""
        from irbench.render.text_formats import json_text

        document = msgspec.to_builtins(self, enc_hook=str)
        del document["root"]
        return json_text(document, indent=2)

    def __repr__(self) -> str:
        """Return its name and how much was measured."""
        done = sum(bool(table.run) for table in self.tables)
        return f"<Fleet {self.name!r}: {done} of {len(self.tables)} tables measured>"

    def __rich__(self) -> RenderableType:
        """Return the tables as ``irbench fleet`` prints them; called by rich."""
        from irbench.features.fleet.view import fleet_view

        return fleet_view(self)


class _Between(NamedTuple):
    """A figure of a row, of which less is better, and between what it lies; between any where that is not known."""

    value: float
    low: float = 0.0
    high: float = inf


def _cost(row: MachineRow) -> _Between | None:
    price, time = row.price_per_hour, _time(row)
    if price is None:
        return None
    if time is None:
        return _Between(inf if row.cost_per_million is None else row.cost_per_million)
    return _Between(*(price_per_million(price, each) for each in time))


def _time(row: MachineRow) -> _Between | None:
    """Return the time of a sample by its FPS, or of a request by the rate that the row holds."""
    if row.limit is not None:
        passes, fails = row.limit.passes_per_s, row.limit.fails_per_s
        longest = 1 / passes if passes else inf
        return _Between(longest, 1 / fails if fails else 0.0, longest)
    rate = _between(row.fps)
    return rate and _Between(1 / rate.value, 1 / rate.high, 1 / rate.low if rate.low > 0 else inf)


def _between(spans: Spans | None) -> _Between | None:
    if spans is None or spans.ends is None or spans.ends.is_range:
        return None if spans is None else _Between(spans.value)
    return _Between(spans.value, spans.ends.low, spans.ends.high)


def report_of(document: JournalDocument, root: Path) -> Fleet:
    """Return what a journal says, with the figures of its runs in a folder of results."""
    tables = tuple(table for record in document.jobs.values() for table in _tables(record))
    targets = tuple(sorted(document.targets.values(), key=lambda target: target.name))
    command, objective, level = command_of(document.plan), None, ""
    if command != "sweep":
        objective = asked_objective(document.plan.get("objective", TuneOptions.objective))
        level = document.plan.get("slo", "")

    def place(row: MachineRow) -> tuple[str, str, str, float, str]:
        time = _between(row.p50) if objective in (None, "latency") else _time(row)
        return (row.table, row.model, "" if objective else row.row, inf if time is None else time.value, row.target)

    prices = {target.name: target.price_per_hour for target in targets}
    rows = tuple(sorted(rows_of_tables(tables, prices, root), key=place))
    return Fleet(
        document.name, document.planned, targets, tables, rows, command, objective, level, document.pools, root
    )


def _tables(record: JobRecord) -> Iterator[FleetTable]:
    why = record.message or problems_text(record.problems)
    for label, table in zip(record.labels, record.tables or repeat(TableOutcome("")), strict=False):
        problem, hint = table.message or why, table.hint or record.hint
        yield FleetTable(
            label, record.pool, record.target, record.kind, table.run, table.exit_code, problem, hint, table.tuned
        )


def rows_of_tables(
    tables: Sequence[FleetTable], prices: Mapping[str, float | None], root: Path
) -> Iterator[MachineRow]:
    """Yield the rows of the runs of tables that are in a folder of results, with prices of an hour by target."""
    for table in tables:
        if not table.run:
            continue
        try:
            document = load_document(find_run(root, table.run))
        except IrbenchError:
            continue  # it was removed
        yield from _measured(table, document, prices.get(table.target))
        yield from _served(table, document.serving, prices.get(table.target))


def _measured(table: FleetTable, document: RunDocument, price: float | None) -> Iterator[MachineRow]:
    """Yield the rows of a run; of a search, that of the recommended setting."""
    confidence = document.plan.confidence
    for group in document.groups:
        names = distinguish({cell.id: name_of(cell, cell.model or group.model) for cell in group.cells})
        for cell in filter(partial(_is_shown, table), group.cells):
            model, reference = cell.model or group.model, cell.verified_against or group.verified_against
            yield _row(table, cell, names[cell.id], model, reference, confidence, price)


def _served(table: FleetTable, served: Sequence[ServingTable], price: float | None) -> Iterator[MachineRow]:
    """Yield each row that was given requests, once for all of its loads; of a search, the recommended setting."""
    from irbench.render.table_title import sizes_text

    names = distinguish({(number, row.id): name_of(row) for number, each in enumerate(served) for row in each.rows})
    has_shapes = len({each.batch for each in served}) < len(served)
    for number, each in enumerate(served):
        asked = replace(table, label=f"{table.label} {sizes_text(each.shapes)}") if has_shapes else table
        limits = {limit.cell: limit for limit in each.limits}
        for load in filter(partial(_is_shown, table), {row.id: row for row in each.rows}.values()):
            name, limit = names[number, load.id], limits.get(load.id)
            yield _row(asked, load, name, each.model, each.verified_against, each.confidence, price, limit)


def _is_shown(table: FleetTable, cell: CellResult | ServingRow) -> bool:
    """Whether a row is one of the fleet's: of a search, it is the recommended one alone."""
    return table.tuned is None or (table.tuned.setting is not None and table.tuned.setting.row == cell.id)


def _row(
    table: FleetTable,
    cell: CellResult | ServingRow,
    name: str,
    model: str,
    reference: Reference | None,
    confidence: float,
    price: float | None,
    limit: LoadLimit | None = None,
) -> MachineRow:
    row = MachineRow(
        table=table.label,
        model=model,
        row=name if table.tuned is None else cell.label,
        target=table.target,
        run=table.run,
        is_too_slow=isinstance(cell, CellResult) and is_too_slow(cell),
        state=cell.state,
        failure=cell.failure,
        confidence=confidence,
        tuned=table.tuned,
        price_per_hour=price,
    )
    if not row.has_figures:
        return row
    is_right = None if cell.state == "ok" and cell.output_error is None else cell.state == "ok"
    row = replace(row, is_right=is_right, reference=reference, limit=limit)
    rate = None if limit is None else limit.passes_per_s
    if isinstance(cell, CellResult):
        row = replace(row, p50=cell.p50_over_launches, fps=cell.fps_over_launches)
        rate = cell.fps if row.fps is None else row.fps.value
    if price is None or not rate:
        return row
    return replace(row, cost_per_million=price_per_million(price, 1 / rate))


def price_per_million(price_per_hour: float, each_s: float) -> float:
    """Return what a million of something cost that take some seconds each: nothing on a free machine, however long."""
    return price_per_hour and price_per_hour / _SECONDS_OF_HOUR * each_s * _INFERENCES
