"""From a run's document to its line in a listing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from msgspec.structs import replace

from irbench.core.cold_row import ColdRow, ColdTable
from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import CellResult, State, distinguish, is_too_slow, name_of, row_names
from irbench.core.serving_row import ServingRow, ServingTable, serving_names
from irbench.core.soak_row import SoakRow, SoakTable
from irbench.spec import Goal, Objective
from irbench.store.entries import Outcome, OutcomeKind, RunEntry

_AnyRow: TypeAlias = CellResult | ColdRow | SoakRow | ServingRow
_ON_BUSY_MACHINE: Mapping[OutcomeKind, OutcomeKind] = {"winner": "busy-winner", "same": "busy-same"}
_GRAVEST: tuple[OutcomeKind, ...] = ("mismatch", "failed", "interrupted")
_WITH_LEADER: tuple[OutcomeKind, ...] = (
    "winner",
    "busy-winner",
    "preview",
    "same",
    "busy-same",
    "undecided",
    "busy",
    "only",
)
"""Other tables have no row that could stand for them: none has figures, or figures contradict each other."""


def entry_of(document: RunDocument, folder: str) -> RunEntry:
    """Return what listings show of a run."""
    cells = [row for rows in _rows(document) for row in rows]
    names = (name for rows in _rows(document) for name in _names(rows).values())
    return RunEntry(
        run_id=document.run_id,
        created=document.created,
        folder=folder,
        models=tuple(dict.fromkeys(_models(document))),
        rows=tuple(dict.fromkeys(names)),
        backends=tuple(dict.fromkeys(cell.backend for cell in cells)),
        outcomes=tuple(dict.fromkeys(_outcomes(document))) or (Outcome("not-measured"),),
        measured=any(map(_is_measured, cells)),
        launches=len(document.launches) + sum(table.rounds for table in document.cold_starts),
        complete=document.complete,
        name=document.plan.name,
        note=document.plan.note,
        batches=tuple(sorted({cell.batch for cell in cells})),
        streams=tuple(sorted({cell.requested.streams for cell in cells})),
        threads=next((cell.requested.threads for cell in cells), None),
        precisions=tuple(
            dict.fromkeys(str(cell.effective.get("precision", cell.requested.precision)) for cell in cells)
        ),
        machine=_machine(document.environment),
        resumable=document.is_resumable,
    )


def _models(document: RunDocument) -> Iterator[str]:
    for table in document.tables:
        yield table.model
        if isinstance(table, GroupResult):
            yield from (row.model for row in table.cells if row.model is not None)


def _rows(document: RunDocument) -> Iterator[tuple[_AnyRow, ...]]:
    yield from (group.cells for group in document.groups)
    yield from (table.rows for table in document.cold_starts)
    yield from (table.rows for table in document.soaks)
    yield from (table.rows for table in document.serving)


def _names(rows: Collection[_AnyRow]) -> dict[str, str]:
    return distinguish({row.id: name_of(row, getattr(row, "model", None) or "") for row in rows})


def _is_measured(row: _AnyRow) -> bool:
    if isinstance(row, CellResult):
        return row.latency_ms is not None
    if isinstance(row, ServingRow):
        return row.load is not None
    return row.ready_ms is not None if isinstance(row, ColdRow) else row.memory is not None


def _outcomes(document: RunDocument) -> Iterator[Outcome]:
    yield from map(outcome_of, document.groups)
    yield from map(_cold_outcome, document.cold_starts)
    yield from map(_soak_outcome, document.soaks)
    yield from map(_serving_outcome, document.serving)


def _cold_outcome(table: ColdTable) -> Outcome:
    times = {
        row.id: row.ready_ms.value for row in table.rows if row.cache == "cold" and row.ready_ms and not row.failure
    }
    if not times:
        return _without_figures({row.state for row in table.rows})
    first = min(times, key=times.__getitem__)
    return Outcome("cold-start", _names(table.rows)[first], p50_ms=times[first])


def _soak_outcome(table: SoakTable) -> Outcome:
    """Return the gravest thing that was found of a row's memory."""
    names = _names(table.rows)
    names_by_verdict = {
        row.memory.verdict: names[row.id] for row in reversed(table.rows) if row.memory and not row.failure
    }
    if "grows" in names_by_verdict:
        return Outcome("grows", names_by_verdict["grows"])
    if "undecided" in names_by_verdict:
        return Outcome("growth-undecided", names_by_verdict["undecided"])
    return Outcome("steady") if names_by_verdict else _without_figures({row.state for row in table.rows})


def _serving_outcome(table: ServingTable) -> Outcome:
    """Return the row that keeps the service level at the highest rate."""
    if not any(row.load for row in table.rows):
        return _without_figures({row.state for row in table.rows})
    if table.level is None:
        return Outcome("served")
    names = serving_names(table)
    kept = [row for row in table.rows if _verdict(row) == "pass"]
    if kept:
        best = max(kept, key=_rate)
        return Outcome("holds-load", names[best.id], fps=_rate(best) or None)
    undecided = [names[row.id] for row in table.rows if _verdict(row) == "undecided"]
    return Outcome("load-undecided", undecided[0]) if undecided else Outcome("holds-no-load")


def _verdict(row: ServingRow) -> str:
    return row.load.level.verdict if row.load is not None and row.load.level is not None else ""


def _rate(row: ServingRow) -> float:
    return (row.load.rate_per_s or 0.0) if row.load is not None else 0.0


def _machine(environment: Mapping[str, Any]) -> str:
    cpu, count = environment.get("cpu"), environment.get("cpus_allowed")
    model = cpu.get("Model name", "") if isinstance(cpu, Mapping) else ""
    return f"{model} x{count}" if model and count else str(model)


def outcome_of(group: GroupResult) -> Outcome:
    """Return who won by how much, or who leads and why it has not won, or why there is nobody."""
    names = row_names(group.cells)
    lead = group.lead or group.winner  # a document from before leads were stored has winners alone
    if lead is not None:
        result: OutcomeKind = "winner" if group.winner is not None else _why_not(group)
        if group.condition == "busy":
            result = _ON_BUSY_MACHINE.get(result, result)
        outcome = Outcome(result, names[lead.cell], names[lead.rival], lead.value, unverified=group.unverified)
        return _with_figures(outcome, group, next(cell for cell in group.cells if cell.id == lead.cell))
    for cell in group.cells:
        if cell.state == "ok" and cell.latency_ms is not None and not is_too_slow(cell):
            return _with_figures(Outcome("only", names[cell.id]), group, cell)
    return _without_figures({cell.state for cell in group.cells})


def _with_figures(outcome: Outcome, group: GroupResult, leader: CellResult) -> Outcome:
    p50_ms = None if leader.latency_ms is None else leader.latency_ms.p50
    fps = leader.fps if leader.generation is None else leader.generation.tokens_per_s.value
    return replace(outcome, p50_ms=p50_ms, fps=fps, objective=group.objective, throughput_unit=group.throughput_unit)


def _without_figures(states: Collection[State]) -> Outcome:
    gravest: list[OutcomeKind] = [state for state in _GRAVEST if state in states]
    return Outcome(gravest[0] if gravest else "not-measured")


def _why_not(group: GroupResult) -> OutcomeKind:
    return "undecided" if group.lead is None or group.lead.reason is None else group.lead.reason


@dataclass(frozen=True)
class TableLeader:
    """The row that is, or looks, fastest in a table.

    Attributes:
        table: What tells the table from the others: ``batch 8``.
    """

    table: str
    outcome: Outcome

    def figure(self, objective: Objective) -> float | None:
        """Return what tables are compared by: samples or tokens per second, or the median latency in ms."""
        return self.outcome.fps if objective == "fps" else self.outcome.p50_ms


@dataclass(frozen=True)
class BestOfTables:
    """The best row over several tables of one model with the same inputs."""

    model: str
    objective: Objective
    tables: int
    best: TableLeader
    second: TableLeader


def has_leader(outcome: Outcome) -> bool:
    """Return whether some row can stand for its table."""
    return outcome.kind in _WITH_LEADER


def best_of_tables(model: str, leaders: Sequence[TableLeader], objective: Objective | None) -> BestOfTables | None:
    """Return which table's leader is best; ``None`` where there are no two that can be compared."""
    if not leaders:
        return None
    compared_by = leaders[0].outcome.objective if objective is None else objective
    if compared_by == "cost":  # the processor time of a row is not stored apart from its table's ratios
        return None
    figures = [(figure, leader) for leader in leaders if (figure := leader.figure(compared_by)) is not None]
    if len(figures) < 2:
        return None
    ranked = sorted(figures, key=lambda known: known[0], reverse=compared_by == "fps")
    return BestOfTables(model, compared_by, len(ranked), ranked[0][1], ranked[1][1])


def best_of_run(document: RunDocument) -> tuple[BestOfTables, ...]:
    """Return the best row over the batches of each model of a run; none where its tables ask different questions."""
    plan = document.plan
    if plan.sweep or plan.environments:
        return ()
    by_model: dict[str, list[GroupResult]] = {}
    for table in document.groups:
        if all(row.model in (None, table.model) for row in table.cells):
            by_model.setdefault(table.model, []).append(table)
    best_by_model = (_best_of_model(model, tables, plan.goal) for model, tables in by_model.items())
    return tuple(best for best in best_by_model if best is not None)


def _best_of_model(model: str, tables: Sequence[GroupResult], goal: Goal | None) -> BestOfTables | None:
    if len({table.batch for table in tables}) < len(tables) or len(set(_precisions(tables))) > 1:
        return None
    leaders = [TableLeader(f"batch {table.batch}", outcome_of(table)) for table in tables]
    return best_of_tables(
        model, [leader for leader in leaders if has_leader(leader.outcome)], "fps" if goal is None else goal.objective
    )


def _precisions(tables: Sequence[GroupResult]) -> Iterator[str]:
    """Yield what the leader of each table computes in: another precision would be another comparison."""
    for table in tables:
        leading = None if table.lead is None else table.lead.cell
        rows = (row for row in table.cells if leading in (None, row.id) and row.latency_ms is not None)
        yield from (str(row.effective.get("precision")) for row in list(rows)[:1])
