"""Rows of runs that targets measured, with what they cost there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from irbench.core.record import Failure
from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import CellResult, Spans, State, distinguish, is_too_slow, name_of
from irbench.core.serving_row import LoadLimit, ServingRow, ServingTable
from irbench.errors import IrbenchError
from irbench.features.fleet.journal import End
from irbench.features.fleet.messages import Tuned
from irbench.notices.notes import Reference
from irbench.store.listing import find_run
from irbench.store.runs import load_document

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
    limit: LoadLimit | None = None
    price_per_hour: float | None = None

    @property
    def has_figures(self) -> bool:
        """Whether it was measured to its end."""
        return self.state in ("ok", "mismatch")


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
        price = prices.get(table.target)
        yield from (replace(row, price_per_hour=price) for row in _measured_rows(table, document, price))
        yield from (replace(row, price_per_hour=price) for row in _served_rows(table, document.serving, price))


def _measured_rows(table: FleetTable, document: RunDocument, price: float | None) -> Iterator[MachineRow]:
    """Yield the rows of a run; of a search, that of the recommended setting."""
    from irbench.render.speed_table import confidence_of

    confidence = confidence_of(document.plan)
    for group in document.groups:
        names = distinguish({cell.id: name_of(cell, cell.model or group.model) for cell in group.cells})
        for cell in group.cells:
            name = names[cell.id] if table.tuned is None else cell.label
            row = _row(table, group, cell, name, confidence)
            if row.has_figures:
                reference = cell.verified_against or group.verified_against
                row = _with_figures(row, cell, reference, price)
            if table.tuned is None or _is_recommended(cell, table.tuned):
                yield row


def _served_rows(table: FleetTable, served: Sequence[ServingTable], price: float | None) -> Iterator[MachineRow]:
    """Yield each row that was given requests, once for all of its loads."""
    from irbench.render.table_title import sizes_text

    names = distinguish({(number, row.id): name_of(row) for number, each in enumerate(served) for row in each.rows})
    has_shapes = len({each.batch for each in served}) < len(served)
    for number, each in enumerate(served):
        asked = replace(table, label=f"{table.label} {sizes_text(each.shapes)}") if has_shapes else table
        limits = {limit.cell: limit for limit in each.limits}
        for load in {row.id: row for row in each.rows}.values():
            name = names[number, load.id] if table.tuned is None else load.label
            row = _row(asked, each, load, name, each.confidence)
            if row.has_figures:
                row = replace(row, is_right=_is_right(load), reference=each.verified_against)
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
    """Return a row with the rates of requests that it holds, and what a million requests cost at the highest."""
    if limit is None or not row.has_figures:
        return row
    cost = price_per_million(price, 1 / limit.passes_per_s) if limit.passes_per_s else None
    return replace(row, limit=limit, cost_per_million=cost)


def price_per_million(price_per_hour: float | None, each_s: float) -> float | None:
    """Return what a million of something cost that each take some seconds; ``None`` without a price."""
    if not price_per_hour:
        return price_per_hour  # also where nobody knows how long they take
    return price_per_hour / _SECONDS_OF_HOUR * each_s * _INFERENCES


def _with_figures(row: MachineRow, cell: CellResult, reference: Reference | None, price: float | None) -> MachineRow:
    fps = cell.fps_over_launches.value if cell.fps_over_launches is not None else cell.fps
    return replace(
        row,
        p50=cell.p50_over_launches,
        fps=cell.fps_over_launches,
        cost_per_million=price_per_million(price, 1 / fps) if fps else None,
        is_right=_is_right(cell),
        reference=reference,
    )


def _is_right(cell: CellResult | ServingRow) -> bool | None:
    return None if cell.state == "ok" and cell.output_error is None else cell.state == "ok"
